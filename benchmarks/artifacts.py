"""The artifact validator: draw faces and clean edits, train on synthetic artifacts, measure on other faces.

    python -m benchmarks.artifacts draw --work DIR --faces 300            # 1.5 CPU-seconds a face; resumes
    python -m benchmarks.artifacts train --work DIR --seconds 1400        # CPU-seconds; resumes
    python -m benchmarks.artifacts draw --work OTHER --faces 100 --seed 4242
    python -m benchmarks.artifacts measure --work OTHER

Faces are drawn by the embedded generator and edited along the shipped directions of perceived gender and of skin tone,
inside the facial skin, to both sides. The last sixth of DIR is not trained on, but settings were chosen on it, so it is
no test. Figures are measured on faces of another seed, with artifacts by other code (``benchmarks.other_artifacts``).
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import numpy.typing as npt

from benchmarks.artifact_training import SHARE, Trainer, read
from benchmarks.other_artifacts import OTHER_ARTIFACTS, spoil
from likewise.counterfactuals.validation.artifacts import artifact_scores
from likewise.tables.io import replacing

SIZE, BLOCK = 256, 20
"""Pixels at which faces are drawn, and faces in a file."""
Arrays = dict[str, npt.NDArray[np.generic]]
Floats = npt.NDArray[np.float32]
LIMIT = 0.5


class Drawing:
    """Draws faces with their edits."""

    def __init__(self) -> None:
        from likewise.counterfactuals.editor_pairs import ATTRIBUTES, Mover  # noqa: PLC0415  # networks load late
        from likewise.latents.directions import shipped  # noqa: PLC0415
        from likewise.models.perception.segmentation import Segmenter  # noqa: PLC0415
        from likewise.runtime.registry import create  # noqa: PLC0415

        self.generator, self.segmenter = create("generator", "mobilestylegan"), Segmenter()
        self.gender, self.tone = (Mover.of(shipped("mobilestylegan"), attribute) for attribute in ATTRIBUTES)

    def block(self, rng: np.random.Generator) -> Arrays:
        """Return faces: pictures ``[n, s, s, 3]``, two edits each of gender and of tone, and the masks."""
        from likewise.counterfactuals.editor_pairs import latents  # noqa: PLC0415

        faces = [self._face(w[None], rng) for w in latents(self.generator, BLOCK, rng)]
        names = ("pictures", "edits", "masks", "strengths")
        return dict(zip(names, (np.stack(parts) for parts in zip(*faces, strict=True)), strict=True))

    def _face(self, w: Floats, rng: np.random.Generator) -> tuple[npt.NDArray[np.generic], ...]:
        """Gender goes to a place between its ends and beyond, as the direction editor takes it; tone goes so far."""
        from likewise.counterfactuals.masks import feathered, pasted  # noqa: PLC0415
        from likewise.models.perception.segmentation import one_piece  # noqa: PLC0415
        from likewise.runtime.registry import to_pictures  # noqa: PLC0415

        strengths = np.array([-1, 1, -1, 1]) * rng.uniform(0.4, 1.6, 4)
        gender = [self.gender.moved(w, strengths[k : k + 1]) for k in (0, 1)]
        tone = [self.tone.moved(w, self.tone.place(w) + strengths[k]) for k in (2, 3)]
        drawn = to_pictures(self.generator.synthesize(np.concatenate([w, *gender, *tone]), SIZE))
        mask = one_piece(self.segmenter.masks(drawn[:1], "face skin")[0])
        weight = feathered(mask, 0.03 * SIZE)
        return drawn[0], np.stack([pasted(drawn[0], edit, weight) for edit in drawn[1:]]), mask, strengths


def draw(work: Path, faces: int, seed: int) -> None:
    """Draw the blocks that are not there yet."""
    drawing = Drawing()
    work.mkdir(parents=True, exist_ok=True)
    for number in range(-(-faces // BLOCK)):
        path = work / f"{number:04d}.npz"
        if path.is_file():
            continue
        with replacing(path) as temporary, temporary.open("wb") as handle:
            np.savez(handle, **drawing.block(np.random.default_rng([seed, number])))  # type: ignore[arg-type]
        print(f"{path.name}: {BLOCK} faces", flush=True)


def train(work: Path, seconds: float, piece: float) -> None:
    """Train until so many CPU seconds are spent, then fit the last layer and write ``artifacts.npz``."""
    faces = read(work)
    trainer = Trainer(work / "training.pt", faces[: int(SHARE * len(faces))])
    if trainer.run(seconds, piece):
        trainer.write(work / "artifacts.npz", faces[int(SHARE * len(faces)) :])


def measure(work: Path, faces: int, seed: int = 5) -> None:
    """Print how many clean edits and added artifacts are rejected, of faces in ``work``, none of them trained on."""
    rng = np.random.default_rng(seed)
    found: dict[tuple[str, str], list[bool]] = {}
    for number, face in enumerate(read(work)[:faces]):
        for attribute, edits in (("gender", face.edits[:2]), ("tone", face.edits[2:])):
            one = edits[number % 2]
            rows = [("clean", edits), *((kind, spoil(kind, one, face.mask, rng)[None]) for kind in OTHER_ARTIFACTS)]
            for kind, made in rows:
                scores = artifact_scores(face.picture, made, recolored=attribute == "tone")
                found.setdefault((attribute, kind), []).extend((scores > LIMIT).tolist())
    for (attribute, kind), rejected in found.items():
        print(f"edits of {attribute}, {kind:16s} rejected {np.mean(rejected):6.1%} of {len(rejected)}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["draw", "train", "measure"])
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--faces", type=int, default=300)
    parser.add_argument("--seconds", type=float, default=1400)
    parser.add_argument(
        "--piece", type=float, default=np.inf, help="train: stop after so many CPU seconds, to go on later"
    )
    parser.add_argument("--seed", type=int, default=77)
    given = parser.parse_args()
    if given.what == "draw":
        draw(given.work, given.faces, given.seed)
    elif given.what == "train":
        train(given.work, given.seconds, given.piece)
    else:
        measure(given.work, given.faces)
