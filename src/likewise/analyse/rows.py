"""One row of Estimates, written the same way by every file of this room."""

from __future__ import annotations

from likewise.analyse.resample import Interval


def row(
    quantity: str, stat: str, sample: str, group: str, found: Interval, *, level: float, n: int, method: str
) -> dict[str, object]:
    """Return a row for Estimates; a remark (rare, separated ...) comes after the method's name and a semicolon.

    An interval without width means that nothing varied, which is not the same as no doubt: that is remarked here, once
    for all.
    """
    if found.low == found.high and "; " not in method:
        method = remarked(method, "no spread seen: not a sure thing")
    return {
        "quantity": quantity, "stat": stat, "sample": sample, "group": group, "estimate": found.estimate,
        "low": found.low, "high": found.high, "level": level, "n": n, "clusters": found.clusters, "method": method,
    }  # fmt: skip


def bare(value: float, clusters: int) -> Interval:
    """Return an estimate that has no interval of its own: a p-value, a bound."""
    return Interval(value, float("nan"), float("nan"), clusters)


def remarked(method: str, word: str) -> str:
    """Return the method with a remark, if there is one."""
    return f"{method}; {word}" if word else method
