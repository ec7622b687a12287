"""Editors that do not edit what they should, on photographs: how many of their edits are valid? None may be.

    python -m benchmarks.editors project --half choose --photographs 24 --work DIR      needs LIKEWISE_DATA
    python -m benchmarks.hostile_editors --photographs 24 --work DIR

Each editor is the direction editor of perceived gender on refined latents, spoiled in one way, beside the editor
itself. Its edits are validated by the networks that an audit chooses, with the rules of an audit. Photographs are those
of `benchmarks.editors` for choosing settings. It resumes; other weights of the artifact validator measure the edits
that are there again. DIR holds edited photographs of people: keep it to yourself.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy import ndimage

from benchmarks.editors import CONTRASTS, artifacts_again, block, options_of, people, validity
from likewise.counterfactuals.direction_editor import DirectionEditor, Floats
from likewise.counterfactuals.sweep_spec import SweepSpec
from likewise.counterfactuals.validation.default_validators import Edited, choose_validators
from likewise.counterfactuals.validation.validity import ValiditySpec, valid_edits
from likewise.runtime.registry import Pictures
from likewise.tables import Images

STRENGTHS = (-1.0, -0.5, 0.0, 0.5, 1.0)
WAYS = {
    "true": "the editor itself, so that none does not mean that the rules reject everything",
    "nothing": "the photograph at every strength and in the placebo arms",
    "tint": "the skin colored pink at one end and yellow at the other",
    "redrawn": "the face drawn again, the same at every strength",
    "aside": "moved along a direction that does not change the attribute",
    "reverse": "moved the wrong way",
    "ghost": "moved, with a shifted copy of the face in the picture at all strengths but 0",
    "ghost-everywhere": "moved, with the copy at strength 0 and in the reconstruction as well",
    "smiling": "moved, and a smile along with it that it says it holds",
    "aging": "moved, and the age along with it that it says it holds",
    "stranger": "moved, and the next person drawn at all strengths but 0",
}
UNDRAWN = ("nothing", "tint")
ALONG = {"smiling": "predicted_smile", "aging": "predicted_age"}


class Spoiled(DirectionEditor):
    """The direction editor, spoiled in one of the ways of ``WAYS``."""

    def __init__(self, way: str, **options: Any) -> None:
        super().__init__(**options)
        self.way = way
        self.relit = self.relit and way not in UNDRAWN
        if way in ALONG:
            self._step = self._step + self._along(ALONG[way])

    def sweep(self, pictures: Pictures, levels: Sequence[float], images: Sequence[str] | None) -> Pictures:
        """Return what this way makes of the pictures at all levels."""
        if self.way in UNDRAWN:
            return np.stack([tinted(pictures, level if self.way == "tint" else 0) for level in levels], axis=1)
        moved = [level != 0 for level in levels]
        wanted = {"redrawn": [0.0] * len(levels), "reverse": [-level for level in levels]}.get(self.way, levels)
        strips = super().sweep(pictures, wanted, images)
        match self.way:
            case "aside":
                strips = super().random(pictures, levels, images, seed=7)
            case "ghost-everywhere":
                strips = np.stack([ghosted(strip) for strip in strips])
            case "ghost":
                strips[:, moved] = np.stack([ghosted(strip[moved]) for strip in strips])
            case "stranger":
                strips[:, moved] = np.roll(strips, 1, axis=0)[:, moved]
        return strips

    def redraw(self, pictures: Pictures, images: Sequence[str] | None) -> Pictures:
        """Return the reconstruction control."""
        if self.way in UNDRAWN:
            return pictures
        drawn = super().redraw(pictures, images)
        return ghosted(drawn) if self.way == "ghost-everywhere" else drawn

    def random(self, pictures: Pictures, levels: Sequence[float], images: Sequence[str] | None, seed: int) -> Pictures:
        """Return the random arm."""
        if self.way in UNDRAWN:
            return np.repeat(pictures[:, None], len(levels), axis=1)
        return super().random(pictures, levels, images, seed)

    def _along(self, name: str) -> Floats:
        """Return a step that moves another score one and a half times as far, measured by the spread of each."""
        known = self.directions
        spread = np.sqrt(np.diag(known.gradients @ known.covariance @ known.gradients.T))
        own, other = (spread[known.names.index(each)] for each in (self.attribute, name))
        step: Floats = known.step(name, hold=[each for each in known.names if each != name]) * (1.5 * other / own)
        return step


def tinted(pictures: Pictures, level: float) -> Pictures:
    """Shift colors toward pink (negative) or yellow (positive)."""
    shift = np.array([14.0, 10.0 * np.sign(level), -14.0 * np.sign(level)]) * abs(level)
    return np.clip(pictures + shift, 0, 255).astype(np.uint8)


def ghosted(pictures: Pictures) -> Pictures:
    """Return pictures in which a copy, shifted by a thirtieth of the side, shows through."""
    shift = pictures.shape[1] / 30
    moved = ndimage.shift(pictures.astype(float), (0, shift, shift, 0), order=1, mode="nearest")
    return np.rint(0.6 * pictures + 0.4 * moved).astype(np.uint8)


def valid_share(way: str, given: argparse.Namespace) -> str:
    """Edit and measure unless that was done, validate and count."""
    folder = given.work / "hostile" / way
    if not (folder / "measured.parquet").is_file():
        images = people("choose", given.photographs, given.work)
        there = [image for image in images.keys if (given.latents / f"{Path(image).stem}.npz").is_file()]
        images = images.subset(there)
        editor = Spoiled(way, **options_of(given, images), size=256)
        about = Edited(editor.attribute, "female", editor.held, toy=False)
        validators, _ = choose_validators(ValiditySpec(), set(), about)
        block(images, SweepSpec(strengths=STRENGTHS), validators, folder, editor)
    edits, measured = Images.read(folder / "edits.parquet"), artifacts_again(folder / "measured.parquet")
    found, reasons = validity(edits, measured, CONTRASTS["perceived_gender"])
    valid = valid_edits(found, edits).frame["parent"].nunique()
    why = Counter(reason for text in reasons for reason in text.split(", "))
    listed = ", ".join(f"{reason} {count}" for reason, count in why.most_common())
    return f"{way} ({WAYS[way]}): {valid} of {edits.frame['parent'].nunique()} valid; {listed}"


def main() -> None:
    """Print a line for each editor."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--latents", type=Path, help="folder of refined latents; default: DIR/latents")
    parser.add_argument("--photographs", type=int, default=24)
    parser.add_argument("--ways", nargs="+", choices=list(WAYS), default=list(WAYS))
    given = parser.parse_args()
    given.latents = given.latents or given.work / "latents"
    given.editor, given.name, given.options = "direction", "hostile", "{}"
    for way in given.ways:
        print(valid_share(way, given), flush=True)


if __name__ == "__main__":
    main()
