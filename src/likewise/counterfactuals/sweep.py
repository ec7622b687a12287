"""The sweep: images with one attribute edited to every strength, and the placebo arms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

from likewise.counterfactuals.placebo import MASK, ORIGINAL, RANDOM, RECONSTRUCT, random_arm, redrawn, swept
from likewise.counterfactuals.sweep_spec import PERSON, SweepSpec, editor_of
from likewise.data.keys import file_of, key_of
from likewise.data.pictures import PictureSource
from likewise.runtime.executor import Result
from likewise.runtime.pixels import save
from likewise.runtime.registry import Editor, Pictures
from likewise.tables import Contrast, Images, Trials

AT_ONCE = 16_000_000  # bytes of pictures that are edited together


def chosen(faces: Images, spec: SweepSpec, *, seed: int, contrast: Contrast | None = None) -> list[str]:
    """Choose one image per identity, at most ``spec.most``, by the seed and not by the table's order.

    With a contrast only images of its two groups are chosen: the strengths have no place for a third level.
    """
    rng = np.random.default_rng(seed)
    frame = faces.frame.sort_values("image", ignore_index=True)
    shuffled = frame.iloc[rng.permutation(len(frame))]
    if contrast is not None:
        side = contrast.side(faces)
        shuffled = shuffled[shuffled["image"].map(side).to_numpy() != 0]
    return sorted(shuffled.drop_duplicates("identity")["image"].head(spec.most))


def with_partners(images: Sequence[str], genuine: Trials) -> list[str]:
    """Add to each image the other one of its genuine trial, so that both images of the trial are edited."""
    frame = genuine.frame
    both = pd.concat([frame[["a", "b"]], frame[["b", "a"]].set_axis(["a", "b"], axis=1)], ignore_index=True)
    beside = both.drop_duplicates("a").set_index("a")["b"]  # of all trials of an identity, an image may be second only
    return sorted({*images, *(beside[image] for image in images if image in beside.index)})


def turned_trials(genuine: Trials, made: Images) -> Trials:
    """Return the genuine trials both of whose images were edited, once at each strength."""
    there = set(made.frame["parent"])
    frame = genuine.frame
    whole = frame[frame["a"].isin(there) & frame["b"].isin(there)]
    levels = sorted(made.frame["level"].unique())
    rows = [
        (key_of(pair, level), key_of(a, level), key_of(b, level), True)
        for pair, a, b in zip(whole["trial"], whole["a"], whole["b"], strict=True)
        for level in levels
    ]
    columns = ["trial", "a", "b", "same"]
    return Trials(pd.DataFrame(rows, columns=columns).astype({"trial": "str", "a": "str", "b": "str", "same": "bool"}))


def sweep_faces(faces: Images, images: Sequence[str], spec: SweepSpec) -> Images:
    """Return the counterfactual Images: a parent and a level each, and the parent's other attributes."""
    parts = [_arm(faces, images, "", level, f"editor {spec.editor}") for level in spec.strengths]
    return _together(faces, parts)


def placebo_faces(faces: Images, images: Sequence[str], spec: SweepSpec, arms: Sequence[str]) -> Images:
    """Return the Images of the placebo arms; ``source`` names the arm."""
    parts = [
        _arm(faces, images, arm, level, arm) for arm in arms for level in (spec.strengths if arm == RANDOM else (0.0,))
    ]
    return _together(faces, parts)


def _arm(faces: Images, images: Sequence[str], arm: str, level: float, source: str) -> pd.DataFrame:
    parents = faces.subset(images).frame.drop(columns=["file", "digest"], errors="ignore")
    part = parents.assign(parent=parents["image"], level=level, source=source)
    return part.assign(image=[key_of(image, level, arm) for image in parents["image"]])


def _together(faces: Images, parts: list[pd.DataFrame]) -> Images:
    made = Images(pd.concat(parts, ignore_index=True).sort_values(["parent", "level", "image"], ignore_index=True))
    made.check_parents(faces)
    return made


@dataclass(frozen=True)
class Sweep:
    """The work of one chunk: edits each image to every strength and writes the pictures. Whole pictures are edited."""

    spec: SweepSpec
    album: PictureSource
    folder: Path
    seed: int = 0
    arms: tuple[str, ...] = ()
    """The placebo arms that are made."""
    editor: Editor | None = field(default=None, kw_only=True)
    """The editor where it is given as an object; None creates the one that the spec names."""

    def the_editor(self) -> Editor:
        """Return the editor."""
        return self.editor if self.editor is not None else editor_of(self.spec)

    def __call__(self, images: list[str]) -> Result:
        """Write the pictures; return why an image could not be edited and remarks."""
        editor, levels = self.the_editor(), self.spec.strengths
        message = outcome(len(images), len(levels))
        for place, pictures in self.album.stacks(images, most=AT_ONCE):
            keys = images[place]
            strips = swept(editor, pictures, levels, keys)
            random = random_arm(editor, pictures, strips, levels, keys, seed=self.seed) if RANDOM in self.arms else None
            drawn = redrawn(editor, pictures, keys) if RECONSTRUCT in self.arms else None
            failed = getattr(editor, "failures", {})
            for row, key in enumerate(keys):
                if key in failed:
                    message["reason"][place.start + row] = failed[key]
                    continue
                control = None if drawn is None else drawn[row]
                message["outside"][place.start + row] = self._outside(pictures[row], strips[row], control, editor)
                arms = {ORIGINAL: pictures[row], RECONSTRUCT: control}
                self.write(key, strips[row], None if random is None else random[row], arms)
        return message

    def _outside(
        self, original: Pictures, strip: Pictures, control: Pictures | None, editor: Editor
    ) -> npt.NDArray[np.int64]:
        """Count the pixels of the background that changed, where edits may show on the person only."""
        if self.spec.region(editor) != PERSON:
            return np.zeros(len(strip), np.int64)
        from likewise.counterfactuals.foreign.background import background_changed  # noqa: PLC0415  # networks load late

        return background_changed(original, strip, control)

    def write(self, key: str, strip: Pictures, random: Pictures | None, arms: Mapping[str, Pictures | None]) -> None:
        """Write an image at all strengths, and in the placebo arms that are made."""
        for k, level in enumerate(self.spec.strengths):
            save(self.folder / file_of(key_of(key, level)), strip[k])
            if random is not None:
                save(self.folder / file_of(key_of(key, level, RANDOM)), random[k])
        for arm, picture in arms.items():
            if arm in self.arms and picture is not None:
                save(self.folder / file_of(key_of(key, 0.0, arm)), picture)


def outcome(faces: int, levels: int) -> Result:
    """Return the outcome of a chunk without failures and remarks."""
    return {
        "reason": np.full(faces, "", dtype="U80"),
        "remark": np.full(faces, "", dtype="U240"),
        "outside": np.zeros((faces, levels), np.int64),
    }


def arms_of(spec: SweepSpec, editor: Editor) -> tuple[str, ...]:
    """Return the placebo arms that this editor and this mask can have."""
    if not spec.placebo:
        return ()
    redraws = (RECONSTRUCT, MASK) if spec.masked(editor) else (RECONSTRUCT,)
    return (ORIGINAL, *(redraws if hasattr(editor, "redraw") else ()), RANDOM)
