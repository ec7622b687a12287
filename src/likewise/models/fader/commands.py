"""fader: train the network that turns an attribute of a face, and show what one does."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from likewise.errors import SpecError
from likewise.models.fader.data import Attribute, Lessons, read_lessons
from likewise.models.fader.editor import DRAWN, FaderEditor
from likewise.models.fader.erase import erased
from likewise.models.fader.network import save_fader
from likewise.models.fader.training import Training, TrainSpec, train
from likewise.runtime.pixels import ImageFolder, save
from likewise.runtime.progress import Reporter
from likewise.runtime.registry import Pictures
from likewise.tables.io import write_text

WEIGHTS, LOG = "fader.safetensors", "log.csv"
LEVELS = (-2.0, -1.0, 0.0, 1.0, 2.0)
_SHOWN = 8  # faces of a grid


def train_fader(
    out: Path, *, images: Path, table: Path, attributes: list[str], image_column: str, size: int, every: int,
    reporter: Reporter, pairs: str = "", alike: float | None = None, erase: bool = False, **options: Any,
) -> list[str]:  # fmt: skip
    """Train, with checkpoints, a log and grids of samples in ``out``; return lines that say what came of it."""
    if alike is not None and not pairs:
        raise SpecError("--alike has no effect without --pairs", fix="Add --pairs, or remove it.")
    spec = TrainSpec(**options) if alike is None else TrainSpec(**options, alike=alike)
    if not images.is_dir():
        raise SpecError(f"Folder of images not found: {images}", fix="Check --images.")
    if every < 1:
        raise SpecError(f"--every is {every}", fix="Use 1 or more.")
    with reporter.busy("reading"):
        parsed = [Attribute.parse(text) for text in attributes]
        lessons = read_lessons(images, table, parsed, size=size, image=image_column, pairs=pairs)
    watched = _Watch(out, lessons, spec, every)
    with reporter.task("train", spec.steps) as progress:

        def watch(training: Training, losses: dict[str, float]) -> None:
            progress.advance(training.step if watched.last is None else 1)  # what was done before counts, too
            watched(training, losses)

        training = train(lessons, spec, out, every=every, watch=watch)
    weights, fader = out / WEIGHTS, erased(training.fader, lessons) if erase else training.fader
    save_fader(weights, fader, {"trained": asdict(spec), "faces": len(lessons.pictures), "likewise": "fader"})
    lines = [f"wrote {weights}", f"  {len(lessons.pictures)} faces, {lessons.left_out} without a value left out"]
    return [*lines, *(f"  {name} {value:.4g}" for name, value in (watched.last or {}).items())]


class _Watch:
    """Writes a line of the log and a grid of samples now and then."""

    def __init__(self, out: Path, lessons: Lessons, spec: TrainSpec, every: int) -> None:
        self._out, self._lessons, self._every, self._end = out, lessons, every, spec.steps
        self.last: dict[str, float] | None = None

    def __call__(self, training: Training, losses: dict[str, float]) -> None:
        self.last = losses
        if training.step % self._every and training.step != self._end:
            return
        self._note(losses)
        save_fader(self._out / WEIGHTS, training.fader, {"trained": asdict(training.spec), "step": training.step})
        editor = FaderEditor(weights=str(self._out / WEIGHTS), detail=DRAWN)
        grid = sample_grid(editor, self._lessons.pictures[:_SHOWN])
        save(self._out / "samples" / f"{training.step:06d}.png", grid)

    def _note(self, losses: dict[str, float]) -> None:
        """Add a line; lines of steps that a killed training had done beyond its checkpoint are replaced."""
        path = self._out / LOG
        header = ",".join(losses)
        lines = path.read_text(encoding="utf-8").splitlines()[1:] if path.is_file() else []
        kept = [line for line in lines if float(line.split(",")[0]) < losses["step"]]
        row = ",".join(f"{value:.6g}" for value in losses.values())
        write_text(path, "\n".join([header, *kept, row]) + "\n")


def sample_grid(editor: FaderEditor, pictures: Pictures, levels: tuple[float, ...] = LEVELS) -> Pictures:
    """Draw one row per face: the picture, and the picture at every level."""
    columns = [pictures, *(editor.edit(pictures, level) for level in levels)]
    return np.ascontiguousarray(np.concatenate([np.concatenate(list(column)) for column in columns], axis=1))


def _card_lines(card: Mapping[str, object], depth: int = 1) -> list[str]:
    """Draw a card: a line a name; what has names within is indented, unless it fits on its line."""
    lines = []
    for name, value in card.items():
        short = ", ".join(f"{key} {json.dumps(part)}" for key, part in value.items()) if isinstance(value, dict) else ""
        if isinstance(value, dict) and (len(short) > 100 or any(isinstance(part, dict) for part in value.values())):
            lines += [f"{'  ' * depth}{name}:", *_card_lines(value, depth + 1)]
        else:
            lines.append(f"{'  ' * depth}{name}: {short or value}")
    return lines


def show_fader(
    path: str, *, images: Path | None, out: Path | None, attribute: str, detail: str, levels: tuple[float, ...]
) -> list[str]:
    """Say what a fader is, and draw some faces at every level."""
    editor = FaderEditor(weights=path, attribute=attribute, detail=detail)
    shape = editor.fader.shape
    lines = [
        f"{editor.name}: {shape.size} px, width {shape.width}",
        f"  turns {editor.attribute}, holds {', '.join(editor.held) or 'nothing'}",
        f"  license: {editor.license}",
        *_card_lines(editor.card),
    ]
    if (images is None) != (out is None):
        raise SpecError("--images and --out are needed together", fix="Add the other one.")
    if images is not None and out is not None:
        files = sorted(path.name for path in images.iterdir() if path.is_file())[:_SHOWN]
        pictures = ImageFolder(images, {name: name for name in files})(files, size=shape.size)
        save(out, sample_grid(editor, pictures, levels))
        lines.append(f"wrote {out}: {len(files)} faces; the picture, then levels {', '.join(f'{x:g}' for x in levels)}")
    return lines
