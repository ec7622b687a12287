"""Terms of use that were accepted once, remembered in the cache."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable

from likewise.errors import TermsError, some
from likewise.tables.io import write_text
from likewise.weights.cache import home, locked
from likewise.weights.record import Weight

RESTRICTED = ("research-only",)


def remembered() -> set[str]:
    """Return the terms that were accepted on this machine."""
    try:
        plain = json.loads((home() / "terms.json").read_text(encoding="utf-8"))
        return {str(term) for term in plain["accepted"]}
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return set()


def remember(terms: Iterable[str]) -> None:
    """Remember that these terms were accepted."""
    accepted = check(terms)
    if accepted:
        with locked("terms"):
            write_text(home() / "terms.json", json.dumps({"accepted": sorted(remembered() | accepted)}) + "\n")


def check(terms: Iterable[str]) -> set[str]:
    """Return the terms as a set; an unknown one is an error."""
    given = set(terms)
    if given - set(RESTRICTED):
        raise TermsError(f"Unknown terms {some(sorted(given - set(RESTRICTED)))}", fix=f"Choose {some(RESTRICTED)}.")
    return given


def require(weights: Collection[Weight], allow: Iterable[str]) -> None:
    """Refuse weights whose terms were not accepted, all at once and before anything is fetched."""
    accepted = check(allow) | remembered()
    held_back = [weight for weight in weights if weight.terms != "open" and weight.terms not in accepted]
    if held_back:
        names = some(weight.name for weight in held_back)
        why = "; ".join(dict.fromkeys(f"{weight.license}, but {weight.caution}" for weight in held_back))
        raise TermsError(
            f"The terms of {names} have not been accepted ({held_back[0].terms}: {why})",
            fix=f"If your use is within them, accept them once: --allow {held_back[0].terms}",
        )
