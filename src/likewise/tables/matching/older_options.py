"""Options of a spec under their older names, which are read with a warning."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

from likewise.errors import LikewiseWarning, SpecError

_RETIRED = (
    "remove_contrast is retired: the difference of the groups' mean vectors contains the confounders, so that removing "
    "it made the matched groups less comparable"
)


def current_options(plain: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options under today's names."""
    new = dict(plain)
    if new.pop("remove_contrast", False):
        raise SpecError(
            _RETIRED, fix="Remove the option; to ignore the attribute itself, match on scores (docs/matching.md)."
        )
    older = {}
    if new.get("method") in ("greedy", "propensity"):
        older["method"] = new.pop("method")
        if older["method"] == "propensity":
            new["distance"] = "propensity"
    if new.get("distance") in ("given", "mean_row", "mahalanobis_mean_row"):
        older["distance"] = word = new.pop("distance")
        new |= {"distance": "precomputed"} if word == "given" else {"rows": "mean"}
        new |= {"distance": "mahalanobis"} if word.startswith("mahalanobis") else {}
    if new.get("order") == "optimal":
        older["order"], new["method"] = new.pop("order"), "optimal"
    if older:
        now = {name: new[name] for name in ("method", "distance", "rows") if name in new}
        today = f"today {now}" if now else "today the default"
        warnings.warn(f"MatchSpec: older names {older}; {today}.", LikewiseWarning, stacklevel=3)
    return new
