"""How numbers are written: one format for each kind, used by sentences, tables and figures alike."""

from __future__ import annotations

import pandas as pd

TINY = 1e-9
"""Below this a value is zero up to floating-point error. It is printed as zero and is never called significant."""
MISSING = "–"
_MINUS = "−"


def number(value: float, *, decimals: int = 3) -> str:
    """Write a number with a typographic minus sign; zero never has a sign.

    Examples
    --------
    >>> number(-0.25), number(-1e-17), number(float("nan"))
    ('−0.250', '0.000', '–')
    """
    if pd.isna(value):
        return MISSING
    text = f"{value:.{decimals}f}"
    return (text if text.strip("-0.") else text.lstrip("-")).replace("-", _MINUS)


def magnitude(*values: float) -> int:
    """Return the decimals that leave about three digits of the largest value: ages need one, shares three.

    Examples
    --------
    >>> magnitude(36.51, 45.57), magnitude(-3.2, 0.1), magnitude(0.083)
    (1, 2, 3)
    """
    largest = max((abs(value) for value in values if not pd.isna(value)), default=0.0)
    return 3 if largest < 1 else 2 if largest < 10 else 1 if largest < 100 else 0


def signed(value: float) -> str:
    """Write a number that always has its sign, except zero.

    Examples
    --------
    >>> signed(0.25), signed(-0.25), signed(0.0)
    ('+0.250', '−0.250', '0.000')
    """
    text = number(value)
    return f"+{text}" if value > TINY and text.strip("0.") else text


def p_value(p: float | None) -> str:
    """Write a p-value or q-value.

    Examples
    --------
    >>> p_value(0.2), p_value(1e-9), p_value(None)
    ('0.200', '< 0.001', '–')
    """
    if p is None or pd.isna(p):
        return MISSING
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def p_equals(p: float) -> str:
    """Write ``p = 0.200`` or ``p < 0.001``."""
    text = p_value(p)
    return f"p {text}" if text.startswith("<") else f"p = {text}"


def interval(row: pd.Series) -> str:
    """Write an estimate with its interval, ``0.200 (0.100 to 0.300)``.

    An end that is not zero is not rounded to zero: the row gets as many decimals as that takes, up to six.
    """
    if pd.isna(row["low"]):
        return number(row["estimate"])
    decimals = _decimals(row)
    middle, low, high = (number(row[end], decimals=decimals) for end in ("estimate", "low", "high"))
    return f"{middle} ({low} to {high})"


def confidence(row: pd.Series) -> str:
    """Write an estimate and name its confidence level, ``0.200 (95 % CI 0.100 to 0.300)``."""
    return interval(row) if pd.isna(row["low"]) else interval(row).replace("(", f"({level(row)} CI ", 1)


def level(row: pd.Series) -> str:
    """Write a confidence level, ``95 %`` or ``98.75 %``."""
    return f"{round(100 * float(row['level']), 2):g} %"


def percent(row: pd.Series | None) -> str:
    """Write a rate with its interval in percent, ``12.0 % (8.1 to 17.2)``."""
    if row is None:
        return MISSING
    if pd.isna(row["low"]):
        return f"{share(row['estimate'])} %"
    return f"{share(row['estimate'])} % ({share(row['low'])} to {share(row['high'])})"


def points(row: pd.Series | None) -> str:
    """Write a difference of rates in percentage points, ``12.0 points (8.1 to 17.2)``."""
    return MISSING if row is None else percent(row).replace(" %", " points", 1)


def ratio(row: pd.Series | None) -> str:
    """Write a ratio with two decimals, ``2.78 (1.89 to 4.09)``."""
    if row is None:
        return MISSING
    ends = "" if pd.isna(row["low"]) else f" ({row['low']:.2f} to {row['high']:.2f})"
    return f"{row['estimate']:.2f}{ends}"


def share(value: float) -> str:
    """Write a share as a percentage without its sign: one decimal, two digits below one percent."""
    if abs(value) < TINY:
        return "0.0"
    hundred = 100 * value
    return (f"{hundred:.1f}" if abs(hundred) >= 1 else f"{hundred:.2g}").replace("-", _MINUS)


def significant(row: pd.Series | None, *, null: float = 0.0) -> bool:
    """Whether an interval exists and excludes the value that means no difference."""
    if row is None or pd.isna(row["low"]):
        return False
    return bool(row["low"] > null + TINY or row["high"] < null - TINY)


def _decimals(row: pd.Series) -> int:
    near = min((abs(row[end]) for end in ("low", "high")), default=0.0)
    decimals = 3
    while significant(row) and round(near, decimals) == 0 and decimals < 6:
        decimals += 1
    return decimals
