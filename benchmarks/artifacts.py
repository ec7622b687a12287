"""The artifact validator: draw faces and clean edits, train on planted artifacts, measure on other faces.

    python -m benchmarks.fairface --work FACES                            # projects photographs; see there
    python -m benchmarks.artifacts draw --work DIR --faces 240            # 1.4 CPU-seconds a face; resumes
    python -m benchmarks.artifacts edit --work DIR --fairface FACES       # 3 CPU-seconds a photograph; resumes
    python -m benchmarks.artifacts train --work DIR --steps 6000          # 0.3 CPU-seconds a step; resumes
    python -m benchmarks.artifacts draw --work OTHER --faces 40 --seed 6262
    python -m benchmarks.artifacts measure --work OTHER --weights DIR/artifacts.npz
    python -m benchmarks.artifacts measure --work DIR --part apart --weights DIR/artifacts.npz
    python -m benchmarks.artifacts all --work DIR --fairface FACES        # all but the first

Faces are drawn by the embedded generator, or are photographs (``artifact_people``), and are edited inside the facial
skin, to both sides. Thresholds are set on faces and photographs that are not trained on. Figures are measured on drawn
faces of another seed and on photographs that had no part in either, with artifacts by other code
(``benchmarks.other_artifacts``), on edits as the default editors make them: gender in the light of the photograph,
beside the reconstruction; tone added to it. ``--start`` goes on from weights; without it training begins from nothing.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import numpy.typing as npt

from benchmarks.artifact_examples import KEPT, LIGHT, REDRAWN, Face, pair, read
from benchmarks.artifact_faces import BLOCK, Drawing
from benchmarks.artifact_forms import LEAST_AREA, LEAST_CHANGE, TRIES
from benchmarks.artifact_people import edit_photographs
from benchmarks.artifact_training import Maker, Trainer
from benchmarks.other_artifacts import OTHER_ARTIFACTS, spoil
from likewise.counterfactuals.validation import artifacts
from likewise.counterfactuals.validation.artifacts import artifact_scores
from likewise.runtime.registry import Pictures
from likewise.tables.io import replacing

LIMIT, CLEAN = 0.5, "clean"
TONE = 2
"""The first of a face's moves that is one of tone."""
COMPARED = {"gender": (LIGHT, 0), "tone": (KEPT, TONE), "reconstruction": (REDRAWN, 0)}
"""What is measured: how an edit is made, and which of a face's moves it is."""


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


def train(given: argparse.Namespace) -> None:
    """Train for so many steps, then set the thresholds and write ``artifacts.npz``."""
    trainer = Trainer(given.work / "training.pt", Maker(read(given.work, "training"), given.workers), given.start)
    if trainer.run(given.steps, given.piece):
        trainer.write(given.work / "artifacts.npz", Maker(read(given.work, "thresholds"), given.workers))


def measure(faces: list[Face], workers: int, seed: int = 5) -> None:
    """Print how many clean edits and planted artifacts are rejected, of faces none of which was trained on."""
    found: dict[tuple[str, str], list[bool]] = {}
    with ProcessPoolExecutor(workers, get_context("fork")) as pool:
        for scores in pool.map(_scored, faces, ((seed, number) for number in range(len(faces)))):
            for row, score in scores:
                found.setdefault(row, []).append(score > LIMIT)
    for (what, kind), rejected in found.items():
        print(f"{what}, {kind:16s} rejected {np.mean(rejected):6.1%} of {len(rejected)}")


def _scored(face: Face, seed: tuple[int, int]) -> list[tuple[tuple[str, str], float]]:
    """Return the validator's scores of one face by what is compared and which artifact was planted."""
    return [
        ((what, kind), float(artifact_scores(before, made[None], recolored=what == "tone", redrawn=way == REDRAWN)[0]))
        for what, way, kind, before, made in planted(face, np.random.default_rng(seed))
    ]


def planted(face: Face, rng: np.random.Generator) -> Iterator[tuple[str, str, str, Pictures, Pictures]]:
    """Return what is compared and how, the artifact or "clean", the picture before, and the edit."""
    for what, (way, first) in COMPARED.items():
        for move in (first, first + 1) if way != REDRAWN else (first,):
            before, clean, mask = pair(face, rng, way=way, move=move, spoil=not face.real)
            yield what, way, CLEAN, before, clean
            for kind in OTHER_ARTIFACTS:
                yield what, way, kind, before, visibly(kind, clean, mask, rng)


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
    artifacts.WEIGHTS = artifacts.RECONSTRUCTION_WEIGHTS = path
    artifacts.weights.cache_clear()


def everything(given: argparse.Namespace) -> None:
    """Draw, edit, train, and measure on other faces."""
    draw(given.work, given.faces, given.seed)
    if given.fairface:
        edit_photographs(given.fairface, given.work, given.photographs, given.seed)
    train(given)
    use(given.work / "artifacts.npz")
    draw(given.work / "other", 40, 6262)
    measure(read(given.work / "other", "all"), given.workers)
    measure(read(given.work, "apart"), given.workers)


def main() -> None:
    """Run a command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["draw", "edit", "train", "measure", "all"])
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--fairface", type=Path, help="edit: the folder of benchmarks.fairface")
    parser.add_argument("--photographs", type=int, default=240)
    parser.add_argument("--faces", type=int, default=240)
    parser.add_argument("--steps", type=int, default=6000)
    parser.add_argument("--piece", type=int, default=10**9, help="train: stop after so many steps, and resume")
    parser.add_argument("--workers", type=int, default=2, help="train, measure: processes beside this one")
    parser.add_argument("--start", type=Path, help="train: go on from these weights")
    parser.add_argument("--seed", type=int, default=77)
    parser.add_argument("--part", default="all", help="measure: all, or the photographs kept apart (apart)")
    parser.add_argument("--weights", type=Path, help="measure: other weights than the shipped ones")
    given = parser.parse_args()
    if given.weights:
        use(given.weights)
    if given.what == "draw":
        draw(given.work, given.faces, given.seed)
    elif given.what == "edit":
        edit_photographs(given.fairface, given.work, given.photographs, given.seed)
    elif given.what == "train":
        train(given)
    elif given.what == "measure":
        measure(read(given.work, given.part)[: given.faces], given.workers)
    else:
        everything(given)


if __name__ == "__main__":
    main()
