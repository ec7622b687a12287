"""Small synthetic faces whose factors are visible and can be recovered from the pixels.

An image is a base face plus the sum of one pattern for each factor, times the factor: long hair, gray hair, glasses, a
smile, light from the left, head pose, freckles, and three shapes that define the identity. The patterns are linearly
independent, so least squares recovers the factors; rounding to bytes is the only loss.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import numpy.typing as npt

from likewise.runtime.registry import Pictures, Signals, to_signals

SIZE = 48
FACTORS = ("gender", "age", "eyeglasses", "smiling", "light", "yaw", "texture", "shape1", "shape2", "shape3")
SHAPES = slice(7, 10)
Floats = npt.NDArray[np.float64]
Layer = npt.NDArray[np.float64]  # [H, W]

_Y, _X = np.mgrid[-1 : 1 : SIZE * 1j, -1 : 1 : SIZE * 1j]


def _soft(distance: Layer, width: float = 0.06) -> Layer:
    """Return 1 inside (negative distance), 0 outside, with a soft edge."""
    edge: Layer = 1 / (1 + np.exp(np.clip(distance / width, -40, 40) * 2))
    return edge


def _ellipse(x: float, y: float, rx: float, ry: float, width: float = 0.06) -> Layer:
    return _soft((np.hypot((_X - x) / rx, (_Y - y) / ry) - 1) * min(rx, ry), width)


def _blob(x: float, y: float, rx: float, ry: float) -> Layer:
    spot: Layer = np.exp(-(((_X - x) / rx) ** 2) - ((_Y - y) / ry) ** 2)
    return spot


def _ring(x: float, y: float, r: float) -> Layer:
    ring: Layer = np.exp(-(((np.hypot(_X - x, _Y - y) - r) / 0.05) ** 2))
    return ring


def _mouth(bend: float) -> Layer:
    curve: Layer = np.exp(-(((_Y - 0.42 + bend * (_X**2 * 4 - 0.16)) / 0.05) ** 2)) * _soft(np.abs(_X) - 0.26)
    return curve


def _color(layer: Layer, red: float, green: float, blue: float) -> Floats:
    return np.stack([layer * red, layer * green, layer * blue])


@cache
def _parts() -> dict[str, Layer]:
    face, crown = _ellipse(0, 0.08, 0.56, 0.72), _ellipse(0, -0.22, 0.70, 0.66)
    freckled = ((0.28, 0.2), (0.36, 0.3), (0.2, 0.31), (0.4, 0.16))
    return {
        "face": face,
        "hair": crown * (1 - face),
        "sides": (_blob(-0.68, 0.35, 0.16, 0.45) + _blob(0.68, 0.35, 0.16, 0.45)) * (1 - face),
        "eyes": _blob(-0.23, -0.05, 0.10, 0.06) + _blob(0.23, -0.05, 0.10, 0.06),
        "brows": _blob(-0.23, -0.22, 0.15, 0.04) + _blob(0.23, -0.22, 0.15, 0.04),
        "nose": _blob(0, 0.2, 0.05, 0.12),
        "turn": _blob(0.1, 0.2, 0.06, 0.14) - _blob(-0.1, 0.2, 0.06, 0.14),
        "mouth": _mouth(0),
        "grin": _mouth(0.7) - _mouth(-0.35),
        "lips": _mouth(0) * _soft(np.abs(_X) - 0.2),
        "lines": (np.exp(-(((_Y + 0.30) / 0.03) ** 2)) + np.exp(-(((_Y + 0.40) / 0.03) ** 2)))
        * _soft(np.abs(_X) - 0.3),
        "frames": _ring(-0.23, -0.05, 0.19) + _ring(0.23, -0.05, 0.19) + _blob(0, -0.05, 0.06, 0.03),
        "freckles": np.sum([_blob(s * x, y, 0.04, 0.04) for s in (-1, 1) for x, y in freckled], axis=0),
        "jaw": _blob(-0.42, 0.5, 0.12, 0.14) + _blob(0.42, 0.5, 0.12, 0.14),
        "chin": _blob(0, 0.66, 0.16, 0.08),
    }


@cache
def base() -> Floats:
    """Return the face with every factor at zero, ``[3, H, W]`` in [-1, 1]."""
    part = _parts()
    image = _color(np.ones_like(_X), -0.08, -0.02, 0.06)
    for layer, color in ((part["hair"], (-0.48, -0.52, -0.54)), (part["face"], (0.34, 0.10, -0.02))):
        image = image * (1 - layer) + _color(layer, *color)
    image -= _color(part["eyes"], 0.55, 0.40, 0.30) + _color(part["brows"], 0.20, 0.18, 0.16)
    image -= _color(part["mouth"], 0.10, 0.25, 0.22) + _color(part["nose"], 0.12, 0.10, 0.08)
    return image - _color(part["sides"], 0.24, 0.26, 0.26) - _color(part["freckles"], 0.10, 0.14, 0.14)


@cache
def patterns() -> Floats:
    """Return the pattern that one unit of each factor adds, ``[F, 3, H, W]``."""
    part = _parts()
    return np.stack(
        [
            _color(part["sides"], -0.24, -0.26, -0.26) + _color(part["lips"], 0.16, -0.10, -0.06),
            _color(part["hair"], 0.14, 0.15, 0.17) - _color(part["lines"], 0.08, 0.08, 0.08),
            -_color(part["frames"], 0.36, 0.34, 0.30),
            -_color(part["grin"], 0.16, 0.26, 0.24),
            _color(-_X, 0.11, 0.11, 0.10),
            -_color(part["turn"], 0.16, 0.14, 0.12),
            -_color(part["freckles"], 0.10, 0.14, 0.14),
            -_color(part["brows"], 0.16, 0.14, 0.12),
            -_color(part["jaw"], 0.14, 0.12, 0.10),
            _color(part["chin"], 0.14, 0.10, 0.08),
        ]
    )


@cache
def _reader() -> Floats:
    flat = patterns().reshape(len(FACTORS), -1)
    if np.linalg.matrix_rank(flat) < len(FACTORS):
        raise AssertionError("patterns are not linearly independent")
    return np.linalg.pinv(flat).astype(np.float64)  # [3HW, F]


def draw(factors: npt.NDArray[np.floating]) -> Signals:
    """Draw the signals of ``factors [n, F]``."""
    flat = factors @ patterns().reshape(len(FACTORS), -1)
    signals: Signals = (base() + flat.reshape(len(factors), 3, SIZE, SIZE)).astype(np.float32)
    return signals


def see(pictures: Pictures) -> Floats:
    """Recover the factors ``[n, F]`` from pictures by least squares."""
    rest = to_signals(pictures).astype(np.float64) - base()
    factors: Floats = rest.reshape(len(pictures), -1) @ _reader()
    return factors
