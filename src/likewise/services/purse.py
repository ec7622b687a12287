"""The purse: what paid services may cost, said and agreed to before the first call, and held to during all others."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from likewise.errors import CostError

CURRENCY = "USD"
_DUST = 1e-9  # sums of prices are not exact


@dataclass(frozen=True)
class Bill:
    """What one service is expected to cost."""

    service: str
    where: str
    calls: int
    price: float
    most: bool = False
    """Whether ``calls`` is only the most that there can be."""

    @property
    def cost(self) -> float:
        """The price of all calls."""
        return self.calls * self.price

    def __str__(self) -> str:
        bound = "at most " if self.most else ""
        return f"{self.service}: {bound}{self.calls:,} pictures go to {self.where}, {money(self.cost)}"


def money(amount: float) -> str:
    """Write an amount; a fraction of a cent is not nothing."""
    if amount == 0:
        return "free"
    return f"{amount:,.2f} {CURRENCY}" if amount >= 0.01 else f"{amount:.4f} {CURRENCY}"


class Purse:
    """Pays for calls, up to a limit, once somebody has agreed."""

    def __init__(self, *, most: float | None = None, agree: Callable[[str], bool] | None = None) -> None:
        """Take the most that may be spent, or somebody who is asked; with neither, nothing is paid."""
        if most is not None and not 0 <= most < float("inf"):
            raise CostError("the most that may be spent is an amount of money", got=str(most))
        self._most, self._agree, self._agreed = most, agree, most is not None
        self._lock = threading.Lock()
        self.spent = 0.0

    def settle(self, bills: Sequence[Bill]) -> None:
        """Have the bills agreed to, all at once, before the first call."""
        total, told = sum(bill.cost for bill in bills), "; ".join(map(str, bills))
        if total <= _DUST:
            return
        if self._most is not None and self.spent + total > self._most + _DUST:
            fix = f"Allow more with --max-cost {_up(self.spent + total)}, or ask about fewer faces."
            raise CostError(f"the services cost at most {money(self._most)}", got=f"{money(total)} ({told})", fix=fix)
        if not self._agreed and not (self._agree and self._agree(f"{told}. Together {money(total)}.")):
            fix = f"Agree with --yes, or with --max-cost {_up(total)}. Nothing was sent."
            raise CostError("a paid service is asked only when you agree to the cost", got=told, fix=fix)
        self._agreed = True

    def pay(self, price: float) -> None:
        """Pay for one call, before it is made."""
        if price == 0:
            return
        with self._lock:
            if not self._agreed:
                raise CostError("a paid service is asked only when you agree to the cost", got="no agreement")
            if self._most is not None and self.spent + price > self._most + _DUST:
                fix = "What was answered is kept; the same command with a larger --max-cost goes on from there."
                raise CostError(f"the services cost at most {money(self._most)}", got="calls beyond that", fix=fix)
            self.spent += price

    def refund(self, price: float) -> None:
        """Take back the price of a call that the service turned away: those are not charged for."""
        with self._lock:
            self.spent -= price


def _up(amount: float) -> str:
    """Write an amount that is certainly enough."""
    return f"{amount + 0.005:.2f}"
