"""Which false match rates the impostor trials support.

A threshold for a pooled FMR f that is set on n impostor trials rests on about f n false matches. With fewer than ten
of them the 95 % interval of FNMR is too narrow (docs/coverage.md: with four it covers in about nine cases of ten).
"""

from __future__ import annotations

from collections.abc import Sequence

RATES = (1e-2, 1e-3, 1e-4)
FEW_FALSE_MATCHES = 10


def supported_rates(impostors: int, rates: Sequence[float] = RATES) -> tuple[list[float], str]:
    """Return the false match rates that so many impostor trials support, and a note on those they do not.

    Parameters
    ----------
    impostors
        Number of impostor trials.
    rates
        Pooled false match rates that are asked for.

    Returns
    -------
    supported : list of float
    note : str
        Empty when all are supported.

    Examples
    --------
    >>> supported_rates(5000)[0]
    [0.01]
    """
    supported = [rate for rate in rates if rate * impostors >= FEW_FALSE_MATCHES - 1e-9]
    left = [rate for rate in rates if rate not in supported]
    if not left:
        return supported, ""
    shown, needed = ", ".join(f"{rate:g}" for rate in left), f"{FEW_FALSE_MATCHES / max(left):,.0f}"
    note = (
        f"Error rates at FMR {shown} are not estimated: {impostors:,} impostor trials are too few (FMR {max(left):g} "
        f"needs {needed}). Add impostor trials (impostors in [trials], or pairs in the score file)."
    )
    return supported, note
