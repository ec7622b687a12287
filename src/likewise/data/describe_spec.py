"""The spec of describe: which columns, and the networks that predict them."""

from __future__ import annotations

from dataclasses import dataclass

from likewise.errors import SpecError, nearest, some

POSE = ("predicted_yaw", "predicted_pitch", "predicted_roll")
TONE = ("measured_ita", "measured_hue", "measured_background")
LOOK = ("measured_brightness", "measured_sharpness")
SHAPE = ("measured_mouth_opening", "measured_mouth_width", "measured_face_width", "measured_jaw_width")
"""Measured on the mesh; only where they are named."""
HEADWEAR = "measured_headwear"
"""Measured on the segmentation; only where it is named."""
THINGS = (HEADWEAR,)
"""Columns about things in the picture: a hat is a hat on anyone, so that nothing of them is owed to an attribute."""
BALANCED = ("predicted_age", "predicted_smile", *SHAPE)
"""What is balanced beside latents of photographs by default: chosen on half of a pool of photographs, measured on the
other half (docs/matching.md)."""
COLUMNS = (
    "predicted_gender", "predicted_age", "predicted_smile", "predicted_eyeglasses", *POSE, *TONE, *LOOK,
)  # fmt: skip
OF_FACES = (
    "predicted_gender", "predicted_age", "predicted_smile", "predicted_eyeglasses", *POSE, *SHAPE, HEADWEAR,
    "measured_sharpness",
)  # fmt: skip
"""The columns for which faces have to be found."""
TEXT = ("predicted_gender", "predicted_eyeglasses")
"""The columns of words; the others hold numbers."""
KNOWN = {"gender": ("gender-v1", "faceres"), "age": ("age-v1", "faceres"), "pose": ("mesh", "points")}


@dataclass(frozen=True, kw_only=True)
class DescribeSpec:
    """Which columns are added, and by which networks."""

    columns: tuple[str, ...] = COLUMNS
    """The columns that are wanted; a network that none of them needs is not loaded."""
    gender: str = "gender-v1"
    """The network of ``predicted_gender``: gender-v1 or faceres."""
    age: str = "age-v1"
    """The network of ``predicted_age``: age-v1 or faceres."""
    pose: str = "mesh"
    """What the angles are read from: the mesh, or the detector's five points (rougher, no network of its own)."""
    detector: str = "dlib"
    """The face detector."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", tuple(self.columns))
        every = (*COLUMNS, *SHAPE, HEADWEAR)
        unknown = [column for column in self.columns if column not in every]
        if unknown or not self.columns:
            fix = (nearest(unknown[0], every) if unknown else "") or f"Choose from {some(every, 16)}."
            problem = f"Unknown column to describe: {some(unknown)}" if unknown else "columns of [describe] is empty"
            raise SpecError(problem, fix=fix)
        for option, known in KNOWN.items():
            if getattr(self, option) not in known:
                fix = nearest(getattr(self, option), known) or f"Choose one of {some(known)}."
                raise SpecError(f"Unknown {option} network {getattr(self, option)!r}", fix=fix)

    def wants(self, *columns: str) -> bool:
        """Say whether one of these columns is wanted."""
        return any(column in self.columns for column in columns)
