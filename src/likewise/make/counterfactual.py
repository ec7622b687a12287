"""counterfactual: the same faces with only one attribute turned, at every level of a sweep, and the placebo arms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from likewise.engine import Result
from likewise.images import Album, save
from likewise.make.arms import MASK, ORIGINAL, RANDOM, RECONSTRUCT, random_arm, redrawn, swept
from likewise.make.sweep_spec import SweepSpec, editor_of
from likewise.plugins import Editor, Pictures
from likewise.tables import Contrast, Faces, Pairs

AT_ONCE = 16_000_000  # bytes of pictures that are edited together


def chosen(faces: Faces, spec: SweepSpec, *, seed: int, contrast: Contrast | None = None) -> list[str]:
    """Choose one image an identity, at most ``spec.most``, by the seed and not by the table's order.

    With a contrast only faces on one of its two sides are chosen: the dial has no place for a third level.
    """
    rng = np.random.default_rng(seed)
    frame = faces.frame.sort_values("image", ignore_index=True)
    shuffled = frame.iloc[rng.permutation(len(frame))]
    if contrast is not None:
        side = contrast.side(faces)
        shuffled = shuffled[shuffled["image"].map(side).to_numpy() != 0]
    return sorted(shuffled.drop_duplicates("identity")["image"].head(spec.most))


def with_partners(images: Sequence[str], genuine: Pairs) -> list[str]:
    """Add to each image the one it is compared with in its genuine trial, so that the whole trial can be turned."""
    beside = genuine.frame.drop_duplicates("a").set_index("a")["b"]
    return sorted({*images, *(beside[image] for image in images if image in beside.index)})


def turned_trials(genuine: Pairs, made: Faces) -> Pairs:
    """Return the genuine trials both of whose pictures were turned, once at each level."""
    there = set(made.frame["parent"])
    frame = genuine.frame
    whole = frame[frame["a"].isin(there) & frame["b"].isin(there)]
    levels = sorted(made.frame["level"].unique())
    rows = [
        (key_of(pair, level), key_of(a, level), key_of(b, level), True)
        for pair, a, b in zip(whole["pair"], whole["a"], whole["b"], strict=True)
        for level in levels
    ]
    columns = ["pair", "a", "b", "same"]
    return Pairs(pd.DataFrame(rows, columns=columns).astype({"pair": "str", "a": "str", "b": "str", "same": "bool"}))


def sweep_faces(faces: Faces, images: Sequence[str], spec: SweepSpec) -> Faces:
    """Return the counterfactual Faces: a parent and a level each, and the parent's other attributes."""
    parts = [_arm(faces, images, "", level, f"editor {spec.editor}") for level in spec.levels]
    return _together(faces, parts)


def placebo_faces(faces: Faces, images: Sequence[str], spec: SweepSpec, arms: Sequence[str]) -> Faces:
    """Return the Faces of the placebo arms; ``source`` names the arm."""
    parts = [
        _arm(faces, images, arm, level, arm) for arm in arms for level in (spec.levels if arm == RANDOM else (0.0,))
    ]
    return _together(faces, parts)


def _arm(faces: Faces, images: Sequence[str], arm: str, level: float, source: str) -> pd.DataFrame:
    parents = faces.subset(images).frame.drop(columns=["file", "digest"], errors="ignore")
    part = parents.assign(parent=parents["image"], level=level, source=source)
    return part.assign(image=[key_of(image, level, arm) for image in parents["image"]])


def _together(faces: Faces, parts: list[pd.DataFrame]) -> Faces:
    made = Faces(pd.concat(parts, ignore_index=True).sort_values(["parent", "level", "image"], ignore_index=True))
    made.check_parents(faces)
    return made


def key_of(image: str, level: float, arm: str = "") -> str:
    """Return the key of a counterfactual, or of a placebo."""
    return f"{image}~{arm}@{level:+g}" if arm else f"{image}@{level:+g}"


def file_of(key: str) -> str:
    """Return the file name of a counterfactual; keys may hold a path."""
    return key.replace("/", "__") + ".png"


@dataclass(frozen=True)
class Sweep:
    """The work of one chunk: edits each face to every level and writes the pictures. Whole pictures are edited."""

    spec: SweepSpec
    album: Album
    folder: Path
    seed: int = 0
    arms: tuple[str, ...] = ()
    """The placebo arms that are made."""

    def __call__(self, images: list[str]) -> Result:
        """Write the pictures; say of each face why it could not be edited (never, here) and what there is to say."""
        editor, levels = editor_of(self.spec), self.spec.levels
        for place, pictures in self.album.stacks(images, most=AT_ONCE):
            keys = images[place]
            strips = swept(editor, pictures, levels, keys)
            random = random_arm(editor, pictures, strips, levels, keys, seed=self.seed) if RANDOM in self.arms else None
            drawn = redrawn(editor, pictures, keys) if RECONSTRUCT in self.arms else None
            for row, key in enumerate(keys):
                arms = {ORIGINAL: pictures[row], RECONSTRUCT: None if drawn is None else drawn[row]}
                self.write(key, strips[row], None if random is None else random[row], arms)
        return outcome(len(images), len(levels))

    def write(self, key: str, strip: Pictures, random: Pictures | None, arms: Mapping[str, Pictures | None]) -> None:
        """Write a face at all levels, and in the placebo arms that are made."""
        for k, level in enumerate(self.spec.levels):
            save(self.folder / file_of(key_of(key, level)), strip[k])
            if random is not None:
                save(self.folder / file_of(key_of(key, level, RANDOM)), random[k])
        for arm, picture in arms.items():
            if arm in self.arms and picture is not None:
                save(self.folder / file_of(key_of(key, 0.0, arm)), picture)


def outcome(faces: int, levels: int) -> Result:
    """Return what is said of a chunk's faces, when there is nothing to say."""
    return {
        "reason": np.full(faces, "", dtype="U80"),
        "remark": np.full(faces, "", dtype="U240"),
        "outside": np.zeros((faces, levels), np.int64),
    }


def arms_of(spec: SweepSpec, editor: Editor) -> tuple[str, ...]:
    """Name the placebo arms that this editor and this mask can have."""
    if not spec.placebo:
        return ()
    redraws = (RECONSTRUCT, MASK) if spec.masked(editor) else (RECONSTRUCT,)
    return (ORIGINAL, *(redraws if hasattr(editor, "redraw") else ()), RANDOM)
