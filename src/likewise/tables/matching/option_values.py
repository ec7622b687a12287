"""The values of a spec's options: checked, and in one form."""

from __future__ import annotations

from collections.abc import Mapping

from likewise.errors import SpecError, nearest, some
from likewise.tables.contrast import written


def one_of(value: object, known: tuple[str, ...], option: str) -> None:
    """Refuse a word that is not one of the known ones."""
    if value not in known:
        close = nearest(str(value), known)
        raise SpecError(f"{option} = {value!r} is unknown", fix=f"{close} Known: {some(known, 8)}.".strip())


def check_number(name: str, value: object, least: float, *, above: bool = False) -> None:
    """Refuse what is not a number within its limit; None is allowed."""
    if value is None:
        return
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not (least < value if above else least <= value) or value == float("inf"):  # type: ignore[operator]
        rule = f"{'above' if above else 'of at least'} {least:g}"
        raise SpecError(f"{name} = {value!r} is not a number {rule}")


def words_of(value: object, option: str) -> tuple[str, ...]:
    """Return column names, each once."""
    words = (value,) if isinstance(value, str) else tuple(value)  # type: ignore[arg-type]
    if not all(isinstance(word, str) for word in words):
        raise SpecError(f"{option} = {value!r} does not hold column names", fix='Write a list, e.g. ["age_group"].')
    return tuple(dict.fromkeys(words))


def conditions(value: Mapping[str, object] | tuple[tuple[str, object], ...]) -> tuple[tuple[str, str], ...]:
    """Return the levels that columns must have, as text."""
    pairs = value.items() if isinstance(value, Mapping) else value
    return tuple(sorted((str(column), written(level)) for column, level in pairs))


def weights_of(value: object) -> tuple[float, ...]:
    """Return the weights of the rows of the latents."""
    weights = tuple(float(weight) for weight in value)  # type: ignore[attr-defined]
    if any(not 0 <= weight < float("inf") for weight in weights) or (weights and not any(weights)):
        raise SpecError(
            f"row_weights = {weights} are not numbers of at least 0 with one above 0",
            fix="Give one weight per row of the latents, e.g. [1, 1, 0.5].",
        )
    return weights
