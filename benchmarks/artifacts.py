"""The artifact validator: draw faces and clean edits, train on planted artifacts, measure on other faces.

    python -m benchmarks.artifacts draw --work DIR --faces 240            # 1.4 CPU-seconds a face; resumes
    python -m benchmarks.artifacts train --work DIR --seconds 1200        # CPU-seconds; resumes; from nothing
    python -m benchmarks.artifacts draw --work OTHER --faces 40 --seed 5151
    python -m benchmarks.artifacts measure --work OTHER --weights DIR/artifacts.npz
    python -m benchmarks.artifacts all --work DIR                         # the four of them

Faces are drawn by the embedded generator and edited along the shipped directions of perceived gender and of skin tone,
inside the facial skin, to both sides. Thresholds are set on every sixth block of DIR, so it is no test. Figures are
measured on faces of another seed, with artifacts by other code (``benchmarks.other_artifacts``), on edits as the
default editors make them: gender in the light of the photograph, beside the reconstruction; tone added to it.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import numpy.typing as npt

from benchmarks.artifact_examples import KEPT, LIGHT, REDRAWN, pair, read
from benchmarks.artifact_forms import LEAST_AREA, LEAST_CHANGE, TRIES
from benchmarks.artifact_training import Trainer
from benchmarks.other_artifacts import OTHER_ARTIFACTS, spoil
from likewise.counterfactuals.validation import artifacts
from likewise.counterfactuals.validation.artifacts import artifact_scores
from likewise.runtime.registry import Pictures
from likewise.tables.io import replacing

SIZE, BLOCK = 256, 20
"""Pixels at which faces are drawn, and faces in a file."""
Arrays = dict[str, npt.NDArray[np.generic]]
Floats = npt.NDArray[np.float32]
LIMIT = 0.5
TONE = 2
"""The first of a face's moves that is one of tone."""
COMPARED = {"gender": (LIGHT, 0), "tone": (KEPT, TONE), "reconstruction": (REDRAWN, 0)}
"""What is measured: how an edit is made, and which of a face's moves it is."""
OFF_W = 0.35
"""Latents of photographs have rows that differ: so far, of the spread of faces, each row is moved at most."""
MISSED = (0.1, 0.45)
"""A projection misses a photograph by a latent of so much of the spread of faces: from, to."""
MISSED_BY_ROW = np.linspace(0.35, 1, 23, dtype=np.float32)
"""Coarse rows hold pose and outline, which a projection hardly misses."""


class Drawing:
    """Draws faces with their edits, and beside each a stand-in for the photograph that it is a projection of."""

    def __init__(self) -> None:
        from likewise.counterfactuals.editor_pairs import ATTRIBUTES, Mover  # noqa: PLC0415  # networks load late
        from likewise.latents.directions import shipped  # noqa: PLC0415
        from likewise.models.perception.segmentation import Segmenter  # noqa: PLC0415
        from likewise.runtime.registry import create  # noqa: PLC0415

        self.generator, self.segmenter = create("generator", "mobilestylegan"), Segmenter()
        self.gender, self.tone = (Mover.of(shipped("mobilestylegan"), attribute) for attribute in ATTRIBUTES)

    def block(self, rng: np.random.Generator) -> Arrays:
        """Return faces: photographs, their drawings, two moves each of gender and of tone, and the masks."""
        from likewise.counterfactuals.editor_pairs import latents  # noqa: PLC0415

        faces = [self._face(w[None], rng) for w in latents(self.generator, BLOCK, rng)]
        names = ("photographs", "drawn", "moved", "masks", "strengths")
        return dict(zip(names, (np.stack(parts) for parts in zip(*faces, strict=True)), strict=True))

    def _face(self, w: Floats, rng: np.random.Generator) -> tuple[npt.NDArray[np.generic], ...]:
        """Gender goes to a place between its ends and beyond, as the direction editor takes it; tone goes so far."""
        from likewise.models.perception.segmentation import one_piece  # noqa: PLC0415
        from likewise.runtime.registry import to_pictures  # noqa: PLC0415

        w = w + rng.uniform(0, OFF_W) * self._apart(rng)
        photograph = w + rng.uniform(*MISSED) * self._apart(rng) * MISSED_BY_ROW[: w.shape[1], None]
        strengths = np.array([-1, 1, -1, 1]) * rng.uniform(0.3, 1.6, 4)
        gender = [self.gender.moved(w, strengths[k : k + 1]) for k in (0, 1)]
        tone = [self.tone.moved(w, self.tone.place(w) + strengths[k]) for k in (2, 3)]
        drawn = to_pictures(self.generator.synthesize(np.concatenate([photograph, w, *gender, *tone]), SIZE))
        mask = one_piece(self.segmenter.masks(drawn[:1], "face skin")[0])
        return drawn[0], drawn[1], drawn[2:], mask, strengths

    def _apart(self, rng: np.random.Generator) -> Floats:
        """Return how far other faces' latents are from the mean, another face in each row: ``[1, L, D]``."""
        others = self.generator.sample_w(self.generator.rows, int(rng.integers(2**31)))
        return np.asarray((others - self.generator.mean_w())[None], dtype=np.float32)


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
    """Train until so many CPU seconds are spent, then set the thresholds and write ``artifacts.npz``."""
    trainer = Trainer(work / "training.pt", read(work, part="training"))
    if trainer.run(seconds, piece):
        trainer.write(work / "artifacts.npz", read(work, part="thresholds"))


def measure(work: Path, faces: int, seed: int = 5) -> None:
    """Print how many clean edits and planted artifacts are rejected, of faces in ``work``, none of them trained on."""
    rng = np.random.default_rng(seed)
    found: dict[tuple[str, str], list[bool]] = {}
    for face in read(work)[:faces]:
        for what, (way, first) in COMPARED.items():
            for move in (first, first + 1):
                before, clean, mask = pair(face, rng, way=way, move=move)
                rows = [("clean", clean), *((kind, visibly(kind, clean, mask, rng)) for kind in OTHER_ARTIFACTS)]
                for kind, made in rows:
                    score = artifact_scores(before, made[None], recolored=first == TONE, redrawn=way == REDRAWN)
                    found.setdefault((what, kind), []).append(bool(score[0] > LIMIT))
    for (what, kind), rejected in found.items():
        print(f"{what}, {kind:16s} rejected {np.mean(rejected):6.1%} of {len(rejected)}")


def visibly(kind: str, edit: Pictures, mask: npt.NDArray[np.bool_], rng: np.random.Generator) -> Pictures:
    """Return the edit with an artifact; one that falls outside the mask or changes next to nothing is drawn again."""
    for _ in range(TRIES):
        made = spoil(kind, edit, mask, rng)
        changed = np.abs(made.astype(int) - edit)[mask].max(axis=-1) >= LEAST_CHANGE
        if changed.mean() >= LEAST_AREA:
            break
    return made


def use(path: Path) -> None:
    """Measure other weights than those that are shipped."""
    artifacts.WEIGHTS = path
    artifacts.weights.cache_clear()


def everything(given: argparse.Namespace) -> None:
    """Draw, train, and measure on other faces."""
    draw(given.work, given.faces, given.seed)
    train(given.work, given.seconds, np.inf)
    use(given.work / "artifacts.npz")
    draw(given.work / "other", 40, 5151)
    measure(given.work / "other", 40)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["draw", "train", "measure", "all"])
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--faces", type=int, default=240)
    parser.add_argument("--seconds", type=float, default=1200)
    parser.add_argument(
        "--piece", type=float, default=np.inf, help="train: stop after so many CPU seconds, to go on later"
    )
    parser.add_argument("--seed", type=int, default=77)
    parser.add_argument("--weights", type=Path, help="measure: other weights than the shipped ones")
    given = parser.parse_args()
    if given.weights:
        use(given.weights)
    if given.what == "draw":
        draw(given.work, given.faces, given.seed)
    elif given.what == "train":
        train(given.work, given.seconds, given.piece)
    elif given.what == "measure":
        measure(given.work, given.faces)
    else:
        everything(given)
