"""The editor for photographs, set up completely: the one whose edits pass validation most often.

docs/counterfactuals.md has the figures of all editors side by side.
"""

from __future__ import annotations

from typing import Any

from likewise.errors import PlanError

AUTO = "auto"
GENERATOR = "mobilestylegan"
GENDER_STRENGTHS = (-1.5, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5)
TONE_STRENGTHS = (-1.0, -0.5, 0.0, 0.5, 1.0)


def photo_editor(column: str, *, generator: str = "", projects: bool = True) -> dict[str, Any]:
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
            "options": direction_options(generator=generator, projects=projects),
        }
    raise PlanError(
        f"No editor of {column!r} is known to pass validation on photographs",
        fix="Name one with --editor; `likewise components` lists them. Perceived gender and skin tone have one.",
    )


def direction_options(*, generator: str = "", projects: bool = True) -> dict[str, Any]:
    """Return the options of the direction editor: the audit's own latents, or how pictures are projected.

    Faces are drawn at the generator's own size, so that edits of large photographs are sharp. 256 px cost two thirds.
    """
    name = generator or GENERATOR
    options: dict[str, Any] = {"generator": name}
    if projects:
        options["latents"] = "latents"
    elif name == GENERATOR:
        options |= {"perceptual": "lpips-alex", "method": "refine"}
    return options
