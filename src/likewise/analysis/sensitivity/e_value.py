"""E-values (VanderWeele and Ding 2017): how strong an unmeasured confounder must be to explain a ratio.

The E-value is the risk ratio that the confounder needs with both the attribute and the answer.
"""

from __future__ import annotations

import numpy as np

from likewise.errors import InputError


def e_value(ratio: float) -> float:
    """Return the E-value of a risk ratio, above or below 1.

    Examples
    --------
    >>> round(e_value(3.9), 2)
    7.26
    """
    if not (np.isfinite(ratio) and ratio > 0):
        raise InputError(f"A risk ratio of {ratio} has no E-value", fix="It must be positive.")
    up = max(ratio, 1 / ratio)
    return float(up + (up * (up - 1)) ** 0.5)


def e_value_limit(low: float, high: float) -> float:
    """Return the E-value of the end of the interval that is closer to 1; 1 when the interval contains 1."""
    return 1.0 if low <= 1 <= high else e_value(low if low > 1 else high)


def ratio_of_difference(gap: float, spread: float) -> float:
    """Return the approximate risk ratio of a difference of means, exp(0.91 gap / sd) (VanderWeele and Ding 2017)."""
    if not spread > 0:
        raise InputError(
            "All answers are equal: there is no gap to explain", fix="Leave out the sensitivity of this question."
        )
    return float(np.exp(0.91 * gap / spread))
