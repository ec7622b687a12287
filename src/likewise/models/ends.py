"""The two ends of an attribute, and the words that tables have for them."""

from __future__ import annotations

_WORDS = (
    ({"female", "f", "woman", "women", "girl", "girls"}, {"male", "m", "man", "men", "boy", "boys"}),
    ({"darker", "dark", "deep"}, {"lighter", "light", "pale"}),
    ({"young", "younger"}, {"old", "older"}),
)


def same_end(one: str, other: str) -> bool | None:
    """Return whether two words name the same end of an attribute; None where that is not known.

    >>> same_end("F", "female"), same_end("M", "female"), same_end("group 1", "female")
    (True, False, None)
    """
    a, b = one.strip().lower(), other.strip().lower()
    if a == b:
        return True
    for ends in _WORDS:
        sides = [next((k for k, words in enumerate(ends) if word in words), None) for word in (a, b)]
        if None not in sides:
            return sides[0] == sides[1]
    return None
