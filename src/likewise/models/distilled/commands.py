"""What ``likewise editor show`` does."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from likewise.errors import SpecError
from likewise.models.distilled.editor import DistilledEditor
from likewise.runtime.pixels import ImageFolder, save
from likewise.runtime.registry import Pictures

_SHOWN = 8


def sample_grid(editor: DistilledEditor, pictures: Pictures, strengths: tuple[float, ...]) -> Pictures:
    """Draw one row per face: the picture, and the picture at every strength."""
    strips = np.concatenate([pictures[:, None], editor.sweep(pictures, strengths)], axis=1)  # [n, 1 + K, s, s, 3]
    return np.ascontiguousarray(np.concatenate([np.concatenate(list(strip), axis=1) for strip in strips]))


def show_editor(
    weights: str, *, images: Path | None, out: Path | None, attribute: str, strengths: tuple[float, ...]
) -> list[str]:
    """Return the model card as lines, and draw some faces at every strength."""
    if (images is None) != (out is None):
        raise SpecError("--images and --out are needed together", fix="Add the other one.")
    editor = DistilledEditor(weights=weights, attribute=attribute)
    lines = [
        f"{editor.name}: {editor.network.shape.size} px",
        f"  edits {editor.attribute} (+1: {editor.focal}), holds {', '.join(editor.held) or 'nothing'}",
        f"  license: {editor.license}",
        *(f"  {name}: {json.dumps(value)}" for name, value in editor.card.items()),
    ]
    if images is not None and out is not None:
        files = sorted(path.name for path in images.iterdir() if path.is_file())[:_SHOWN]
        pictures = ImageFolder(images.resolve(), {name: name for name in files})(files, size=editor.resolution)
        save(out, sample_grid(editor, pictures, strengths))
        lines.append(f"wrote {out}: {len(files)} faces; the picture, then {', '.join(f'{x:g}' for x in strengths)}")
    return lines
