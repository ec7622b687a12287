"""Photographs for the artifact validator: FairFace faces as the editors redraw and edit them.

``benchmarks.fairface`` aligns and projects the photographs (CC BY 4.0; no label of theirs is used). Here each is drawn
at its own strength and at two strengths of perceived gender, at the generator's own size, and gets two tones and two
weak changes of gender by the distilled editor. A reconstruction that is another person's, or that holds its head
otherwise, is a projection that failed, not a clean picture: such photographs are left out by ``clean``.
"""

from __future__ import annotations

from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt
from PIL import Image

from benchmarks.artifact_faces import SIZE, Drawing, points_of
from benchmarks.fairface import photographs
from likewise.data.keys import file_of
from likewise.models.detectors.detection import central
from likewise.models.detectors.registry import detector
from likewise.models.distilled.editor import DistilledEditor
from likewise.models.perception.segmentation import one_piece
from likewise.runtime.registry import Pictures, Recognizer, create, to_pictures
from likewise.tables.io import replacing

Arrays = dict[str, npt.NDArray[np.generic]]
Floats = npt.NDArray[np.float32]
Mask = npt.NDArray[np.bool_]
SAME_PERSON, SAME_POSE = 0.45, 0.2
"""Of a clean reconstruction: dlib's distance to the photograph, and how far any landmark moves, in eye distances."""
STRENGTHS, TONES = (0.3, 1.6), (0.3, 1.0)
"""Of gender, where 1 is an end; and of the distilled editor, relative to the picture: from, to."""
ROOM = 0.55
"""Half axes of the ellipse that holds the face, of the detector's box: beyond it an aligned photograph is mirrored."""


class People:
    """Redraws and edits photographs."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.drawing = folder, Drawing()
        self.tone, self.gender = (DistilledEditor(attribute=name) for name in ("skin_tone", "perceived_gender"))
        self.finder = detector("retinaface")

    def block(self, image: str, rng: np.random.Generator) -> Arrays:
        """Return what ``Drawing.block`` does, of one photograph; without pictures if its projection failed."""
        with Image.open(self.folder / "aligned" / file_of(image)) as opened:
            photograph = np.asarray(opened.convert("RGB").resize((SIZE, SIZE), Image.Resampling.LANCZOS))
        w = np.load(self.folder / "latents" / f"{Path(image).stem}.npy")[None]
        drawn = self._drawn(w)
        face = central(self.finder.find(photograph), photograph)
        if face is None or not self.clean(photograph, drawn):
            return {}
        places = np.array([-1, 1]) * rng.uniform(*STRENGTHS, 2)
        moved = [self._drawn(self.drawing.gender.moved(w, place[None])) for place in places]
        tones = np.array([-1, 1]) * rng.uniform(*TONES, 2)
        kept = [editor.sweep(photograph[None], tones.tolist())[0] for editor in (self.tone, self.gender)]
        parts = {
            "photographs": photograph, "drawn": drawn, "moved": np.concatenate([np.stack(moved), *kept]),
            "masks": self._skin(photograph, face.box), "points": points_of(photograph),
        }  # fmt: skip
        return {name: part[None] for name, part in parts.items()}

    def _drawn(self, w: Floats) -> Pictures:
        """Draw at the generator's own size and average down: the exits leave dots on projected latents."""
        signals = self.drawing.generator.synthesize(w)
        ratio = signals.shape[2] // SIZE
        drawn: Pictures = to_pictures(signals.reshape(1, 3, SIZE, ratio, SIZE, ratio).mean(axis=(3, 5)))
        return np.asarray(drawn[0])

    def clean(self, photograph: Pictures, drawn: Pictures) -> bool:
        """Return whether a drawing shows the person of the photograph, with the head held alike."""
        seen = self._recognizer.embed(np.stack([photograph, drawn]))
        apart = float(self._recognizer.distance(seen[:1], seen[1:])[0])
        before, after = points_of(photograph), points_of(drawn)
        eyes = max(np.hypot(*(before[0] - before[1])), 1.0)
        off = float(np.hypot(*(before - after).T).max()) / eyes
        return apart <= SAME_PERSON and off <= SAME_POSE  # false as well where no face was detected

    @cached_property
    def _recognizer(self) -> Recognizer:
        found: Recognizer = create("recognizer", "dlib")
        return found

    def _skin(self, photograph: Pictures, box: tuple[float, float, float, float]) -> Mask:
        """Return the facial skin: what the segmenter takes for it in the mirrored surroundings is none."""
        left, top, right, bottom = box
        x, y = (left + right) / 2, (top + bottom) / 2
        rows, columns = np.mgrid[:SIZE, :SIZE]
        within = np.hypot((columns - x) / (ROOM * (right - left)), (rows - y) / (ROOM * (bottom - top))) < 1
        return one_piece(self.drawing.segmenter.masks(photograph[None], "face skin")[0] & within, near=(x, y))


def edit_photographs(folder: Path, work: Path, count: int, seed: int) -> None:
    """Write a file for each photograph that is projected; those that are there are not made again."""
    people = None
    for number, image in enumerate(photographs(count)):
        path = work / f"photograph-{number:04d}.npz"
        latent = folder / "latents" / f"{Path(image).stem}.npy"
        if path.is_file() or not latent.is_file():
            continue
        people = people or People(folder)
        block = people.block(image, np.random.default_rng([seed, number]))
        with replacing(path) as temporary, temporary.open("wb") as handle:
            np.savez(handle, **block)  # type: ignore[arg-type]
        print(f"{path.name}: {'edited' if block else 'its projection failed'}", flush=True)
