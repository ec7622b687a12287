"""Calipers: the largest difference allowed, as a plain number or in standard deviations (``"0.2sd"``)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from likewise.errors import SpecError, some

Limit = float | str
"""As a spec holds it: ``3.0`` in the unit of what is compared, ``"0.2sd"`` in standard deviations within the groups."""
_RULE = "Use a number of at least 0, or one in standard deviations, such as '0.2sd'."


@dataclass(frozen=True)
class Width:
    """A parsed caliper."""

    value: float
    in_sd: bool = False

    @classmethod
    def of(cls, limit: object) -> Width:
        """Parse a limit as a spec or a plan holds it."""
        in_sd = isinstance(limit, str) and limit.strip().endswith("sd")
        text = str(limit).strip().removesuffix("sd") if isinstance(limit, str) else limit
        if isinstance(limit, bool) or (isinstance(limit, str) and not in_sd):
            raise ValueError(limit)
        return cls(float(text), in_sd)  # type: ignore[arg-type]

    @property
    def plain(self) -> Limit:
        """The form that specs and files hold."""
        return f"{self.value!r}sd" if self.in_sd else self.value


def calipers(given: Mapping[str, Limit] | tuple[tuple[str, Limit], ...]) -> tuple[tuple[str, Limit], ...]:
    """Return calipers in the order of their names; only that of the score may be infinite (none)."""
    pairs = list(given.items() if isinstance(given, Mapping) else given)
    try:
        widths = {str(name): Width.of(limit) for name, limit in pairs}
    except (TypeError, ValueError):
        raise SpecError(f"Not a caliper: {str(dict(pairs))[:200]}", fix=_RULE) from None
    wrong = [
        name
        for name, width in widths.items()
        if not (0 <= width.value < float("inf") or (name == "score" and width.value > 0 and not width.in_sd))
    ]
    if wrong:
        raise SpecError(f"Calipers of {some(wrong)} are negative or infinite", fix=_RULE)
    return tuple((name, widths[name].plain) for name in sorted(widths))
