"""Alignment templates: where facial landmarks are in the crop of a network, or in the frame of a generator.

There are two landmark schemes. *corners* are dlib's five: the outer and inner corner of the eye on the right of the
image, the same of the eye on the left, and the base of the nose. *centers* are the five of most newer networks: the
eye on the left of the image, the eye on the right, the tip of the nose, the left and right corner of the mouth.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from likewise.errors import PluginError, nearest, some
from likewise.models.geometry import Floats, similarity

SCHEMES = ("corners", "centers")
FITS = ("similarity", "affine", "quad")


@dataclass(frozen=True, kw_only=True)
class AlignmentTemplate:
    """A crop: where landmarks are in a square of ``side`` pixels, and which transform maps a face there."""

    name: str
    side: int
    points: Mapping[str, Mapping[int, tuple[float, float]]]
    """By scheme, the target of each landmark that is used, by its number in the scheme."""
    fit: str = "similarity"
    """similarity or affine: by least squares; quad: see ``_quad``."""

    def transform(self, points: npt.ArrayLike, scheme: str, size: int) -> Floats:
        """Return the transform ``[2, 3]`` that maps an image's landmarks ``[5, 2]`` into a crop of ``size`` pixels."""
        if scheme not in self.points:
            raise PluginError(
                f"The alignment template {self.name!r} has no {scheme!r} landmarks (schemes: {some(self.points)})",
                fix="Choose another detector.",
            )
        given = np.asarray(points, dtype=np.float64)
        if self.fit == "quad" and scheme == "centers":
            return _quad(given, size)
        used = list(self.points[scheme])
        target = (np.array(list(self.points[scheme].values()), dtype=np.float64) + 0.5) * size / self.side - 0.5
        return affine(given[used], target) if self.fit == "affine" else similarity(given[used], target)

    def typical(self, scheme: str, size: int) -> Floats:
        """Return the five landmarks of an aligned face in a crop of ``size`` pixels."""
        points = self.points.get(scheme, {})
        if len(points) < 5:
            raise PluginError(
                f"The alignment template {self.name!r} has {len(points)} of five {scheme} landmarks",
                fix="Give five points, as x and y.",
            )
        return (np.array([points[number] for number in range(5)], dtype=np.float64) + 0.5) * size / self.side - 0.5


def affine(source: Floats, target: Floats) -> Floats:
    """Return the least-squares affine transform; through three points it is exact."""
    design = np.column_stack([source, np.ones(len(source))])
    return np.asarray(np.linalg.lstsq(design, target, rcond=None)[0].T, dtype=np.float64)


def _quad(points: Floats, size: int) -> Floats:
    """Return the crop of FFHQ (Karras et al. 2019, appendix A): upright along the eyes and the mouth's perpendicular.

    Its side is four times the distance of the eyes, or 3.6 times that from eyes to mouth, whichever is more, so a
    head in profile is not drawn larger. It is a similarity, but not one that fits a fixed set of points.
    """
    eye = points[:2].mean(axis=0)
    across, down = points[1] - points[0], points[3:5].mean(axis=0) - eye
    x = across - down[::-1] * [-1, 1]
    x = x / np.hypot(*x) * max(np.hypot(*across) * 2.0, np.hypot(*down) * 1.8)
    y = x[::-1] * [-1, 1]
    center = eye + down * 0.1
    corners = np.stack([center - x - y, center + x - y, center - x + y])
    edge = size - 0.5
    return similarity(corners, [[-0.5, -0.5], [edge, -0.5], [-0.5, edge]])


_Points = tuple[tuple[float, float], ...]
_ARCFACE: _Points = (
    (38.2946, 51.6963), (73.5318, 51.5014), (56.0252, 71.7366), (41.5493, 92.3655), (70.7299, 92.2041),
)  # fmt: skip
_CHIP: _Points = (
    (0.8595674595992, 0.2134981538014), (0.6460604764104, 0.2289674387677), (0.1205750620789, 0.2137274526848),
    (0.3340850613712, 0.2290642403242), (0.4901123135679, 0.6277975316475),
)  # fmt: skip
# Where points lie on average in 200 CelebA-HQ crops, which share the frame (benchmarks/recognizers.py --frame).
_FFHQ: _Points = ((388.9, 483.6), (636.4, 485.0), (511.8, 643.9), (401.8, 744.9), (619.4, 746.0))
_OPENFACE = {0: (0.788859, 0.158171), 2: (0.194157, 0.169267), 4: (0.494951, 0.514441)}


def _widened(points: _Points, side: float, padding: float, to: int) -> dict[int, tuple[float, float]]:
    """Return points of a square of ``side``, widened by ``padding`` sides all around, at ``to`` pixels."""
    wide = (np.asarray(points) / side + padding) / (1 + 2 * padding) * to
    return {number: (float(x), float(y)) for number, (x, y) in enumerate(wide)}


TEMPLATES: dict[str, AlignmentTemplate] = {
    template.name: template
    for template in (
        # The crop of most networks since SphereFace and ArcFace.
        AlignmentTemplate(name="arcface", side=112, points={"centers": _widened(_ARCFACE, 112, 0, 112)}),
        # dlib's face chip: its mean face and a quarter more on each side.
        AlignmentTemplate(name="chip", side=150, points={"corners": _widened(_CHIP, 1, 0.25, 150)}),
        # The same face cut closer or wider, for the networks that describe it.
        AlignmentTemplate(name="face-20", side=150, points={"corners": _widened(_CHIP, 1, 0.2, 150)}),
        AlignmentTemplate(name="face-40", side=150, points={"corners": _widened(_CHIP, 1, 0.4, 150)}),
        AlignmentTemplate(name="mesh", side=192, points={"corners": _widened(_CHIP, 1, 0.45, 192)}),
        # OpenFace's mean face between its extremes; three points, through which an affine map is exact.
        AlignmentTemplate(
            name="openface", side=96, fit="affine",
            points={"corners": {number: (96 * x, 96 * y) for number, (x, y) in _OPENFACE.items()}},
        ),
        # What StyleGANs that were trained on FFHQ draw.
        AlignmentTemplate(name="ffhq", side=1024, fit="quad", points={"centers": dict(enumerate(_FFHQ))}),
    )
}  # fmt: skip


def template(name: str) -> AlignmentTemplate:
    """Return the alignment template of this name."""
    if name not in TEMPLATES:
        fix = nearest(name, TEMPLATES) or f"Choose one of {some(TEMPLATES, 8)}."
        raise PluginError(f"Unknown alignment template {name!r}", fix=fix)
    return TEMPLATES[name]
