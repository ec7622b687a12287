"""The editor for photographs, set up completely: the one whose edits pass validation most often.

docs/counterfactuals.md has the figures of all editors side by side.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from likewise.errors import PlanError

AUTO = "auto"
GENERATOR = "mobilestylegan"
GENDER_STRENGTHS = (-1.5, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5)
TONE_STRENGTHS = (-1.0, -0.5, 0.0, 0.5, 1.0)
SMALL, SMALL_SIZE = 384, 256
"""Photographs of up to SMALL pixels a side are drawn at SMALL_SIZE, for a quarter of the work."""
_LOOKED_AT = 16  # photographs whose size is read
_PICTURES = (".jpg", ".jpeg", ".png", ".webp", ".bmp", ".tif", ".tiff")


def photo_editor(column: str, *, images: Path | None, generator: str = "", projects: bool = True) -> dict[str, Any]:
    """Return the keys of [counterfactual] for photographs and the column of the contrast.

    ``projects`` says that the audit projects its photographs: then the editor takes those latents, and no picture is
    projected twice.
    """
    from likewise.counterfactuals.validation.default_validators import kind_of  # noqa: PLC0415  # --help stays quick

    kind = kind_of(column)
    if kind == "tone":
        return {"editor": "distilled", "attribute": "skin_tone", "strengths": TONE_STRENGTHS}
    if kind == "gender":
        return {
            "editor": "direction",
            "strengths": GENDER_STRENGTHS,
            "options": direction_options(images=images, generator=generator, projects=projects),
        }
    raise PlanError(
        f"No editor of {column!r} is known to pass validation on photographs",
        fix="Name one with --editor; `likewise components` lists them. Perceived gender and skin tone have one.",
    )


def direction_options(*, images: Path | None, generator: str = "", projects: bool = True) -> dict[str, Any]:
    """Return the options of the direction editor: the audit's own latents, and the size at which faces are drawn."""
    name = generator or GENERATOR
    options: dict[str, Any] = {"generator": name}
    if projects:
        options["latents"] = "latents"
    elif name == GENERATOR:
        options |= {"perceptual": "lpips-alex", "method": "refine"}
    if name == GENERATOR and images is not None and _small(images):
        options["size"] = SMALL_SIZE
    return options


def _small(folder: Path) -> bool:
    """Return whether the photographs are small, by the first ones that are found."""
    from PIL import Image  # noqa: PLC0415

    sides = []
    for path in islice(_pictures(folder), _LOOKED_AT):
        try:
            with Image.open(path) as picture:
                sides.append(max(picture.size))
        except (OSError, ValueError, Image.DecompressionBombError):
            continue  # `read` reports files that do not open
    return bool(sides) and max(sides) <= SMALL


def _pictures(folder: Path) -> Iterator[Path]:
    return (path for path in folder.rglob("*") if path.suffix.lower() in _PICTURES)
