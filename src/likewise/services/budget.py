"""The budget: what paid services may cost, approved before the first call and enforced during the run."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from likewise.errors import CostError

CURRENCY = "USD"
RETRIES = 0.1
"""Share of an approved amount that charged retries may add."""
_DUST = 1e-9  # sums of prices are not exact


@dataclass(frozen=True)
class CostEstimate:
    """The expected cost of one service."""

    service: str
    where: str
    calls: int
    price: float
    most: bool = False
    """Whether ``calls`` is an upper limit."""

    @property
    def cost(self) -> float:
        """The price of all calls."""
        return self.calls * self.price

    def __str__(self) -> str:
        bound = "at most " if self.most else ""
        return f"{self.service}: {bound}{self.calls:,} pictures are sent to {self.where}, {money(self.cost)}"


def money(amount: float) -> str:
    """Format an amount; a fraction of a cent is not nothing.

    >>> money(0.0015), money(12)
    ('0.0015 USD', '12.00 USD')
    """
    if amount == 0:
        return "free"
    return f"{amount:,.2f} {CURRENCY}" if amount >= 0.01 else f"{amount:.4f} {CURRENCY}"


class Budget:
    """Pays for calls, up to a limit: the one that is given, or the amount that was approved.

    Parameters
    ----------
    most : float, optional
        The limit in USD (``--max-cost``).
    agree : callable, optional
        Is asked whether an estimate is approved (the terminal, or ``--yes``). With neither nothing is paid.

    Examples
    --------
    >>> budget = Budget(most=1.0)
    >>> budget.approve([CostEstimate("tagger", "tagger.example", 600, 0.001)])
    >>> budget.pay(0.001)
    >>> budget.spent
    0.001
    """

    def __init__(self, *, most: float | None = None, agree: Callable[[str], bool] | None = None) -> None:
        if most is not None and not 0 <= most < float("inf"):
            raise CostError(f"--max-cost {most} is not an amount of money", fix="Give a number of USD, 0 or more.")
        self._most, self._agree, self._approved = most, agree, 0.0
        self._lock = threading.Lock()
        self.spent = 0.0

    def approve(self, estimates: Sequence[CostEstimate]) -> None:
        """Have estimates approved, all at once, before the first call."""
        total, message = sum(estimate.cost for estimate in estimates), "; ".join(map(str, estimates))
        if total <= _DUST:
            return
        if self._most is not None:
            if self.spent + total > self._most + _DUST:
                fix = f"Raise it with --max-cost {_rounded_up(self.spent + total)}, or rate fewer images."
                problem = (
                    f"The services would cost {money(total)}, more than the limit of {money(self._most)} ({message})"
                )
                raise CostError(problem, fix=fix)
            return
        if self.spent + total <= self._approved + _DUST:
            return  # part of what was approved
        if not (self._agree and self._agree(f"{message}. Together {money(total)}.")):
            fix = f"Approve it with --yes, or with --max-cost {_rounded_up(total)}. Nothing was sent."
            raise CostError(f"The cost of a paid service is not approved: {message}", fix=fix)
        self._approved = self.spent + total * (1 + RETRIES)

    def pay(self, price: float) -> None:
        """Pay for one call, before it is made."""
        if price == 0:
            return
        limit = self._approved if self._most is None else self._most
        with self._lock:
            if limit <= 0 and self._most is None:
                raise CostError(
                    "The cost of a paid service is not approved", fix="Approve it with --yes or --max-cost."
                )
            if self.spent + price > limit + _DUST:
                fix = "Responses that were received are kept; the same command with a larger --max-cost continues."
                raise CostError(f"The limit of {money(limit)} for paid services is reached", fix=fix)
            self.spent += price

    def refund(self, price: float) -> None:
        """Take back the price of a call that the service rejected: such calls are not charged."""
        with self._lock:
            self.spent -= price


def _rounded_up(amount: float) -> str:
    """Format an amount that is certainly enough."""
    return f"{amount + 0.005:.2f}"
