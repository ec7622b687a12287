"""Does a fader network give known slopes back, and does holding matter to it? ``python -m benchmarks.held_fader``.

A small network is trained on simulated faces, in which women smile more, wear glasses less, are younger and
stand in other light. Its attribute is edited in other worlds, with associated attributes held and not held, and the
tagger of ``held_attributes`` looks. Every face is learned from twice, its attribute set again, at an end or between:
the edit has to be right at every level.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from PIL import Image

import likewise as lw
from benchmarks.held_attributes import beside_truth
from likewise.counterfactuals.sweep_spec import SweepSpec
from likewise.models.fader.data import Lessons
from likewise.models.fader.editor import FaderEditor
from likewise.models.fader.erase import erased
from likewise.models.fader.network import save_fader
from likewise.models.fader.training import Training, TrainSpec
from likewise.runtime.registry import Pictures, to_pictures
from likewise.simulation.scene import FACTORS, draw
from likewise.simulation.world import COVARIATES, Covariate, Floats

HELD = tuple(covariate for covariate in COVARIATES if covariate.shift)
NAMES = ("perceived_gender", *(covariate.column for covariate in HELD))
LEVELS = (-1.0, -0.5, 0.0, 0.5, 1.0)
"""What the network learned from: beyond, it extrapolates, and the world's truth does not."""
SPEC = TrainSpec(width=10, code=4, batch=16, alike=1.0, adversary=0.03, steps=900, cool=300, rise=100, mirror=False)
_SIZE = 32


def small(pictures: Pictures) -> Pictures:
    """Return pictures of the size that the network draws."""
    return np.stack([np.asarray(Image.fromarray(p).resize((_SIZE, _SIZE), Image.Resampling.LANCZOS)) for p in pictures])


def lessons(faces: int, *, seed: int) -> Lessons:
    """Draw the world's faces twice each: the attribute by a coin or between, and with it what goes along."""
    rng = np.random.default_rng(seed)
    factors = np.repeat(lw.World(identities=faces, images_each=2, seed=seed).draw()[1][::2], 2, axis=0)
    n = len(factors)
    factors[:, 0] = np.where(rng.random(n) < 0.5, rng.choice([-1.0, 1.0], n), rng.uniform(-1, 1, n))
    for covariate in HELD:
        factors[:, FACTORS.index(covariate.factor)] = covariate.sample(factors[:, 0], 1.0, rng)
    return Lessons(small(to_pictures(draw(factors))), _dials(factors), NAMES, faces=np.arange(n) // 2)


def _dials(factors: Floats) -> np.ndarray:
    """Return the attributes, each brought to the range from -1 to 1."""
    others = [(factors[:, FACTORS.index(each.factor)] - _middle(each)) / _reach(each) for each in HELD]
    return np.column_stack([factors[:, 0], *others]).astype(np.float32)


def _middle(covariate: Covariate) -> float:
    return covariate.center if covariate.half else 0.5


def _reach(covariate: Covariate) -> float:
    return covariate.half + abs(covariate.shift) / 2 if covariate.half else 0.5


def trained(path: Path, *, faces: int = 800, seed: int = 10_000) -> Path:
    """Train the network on a world of its own, and write it."""
    learned, threads = lessons(faces, seed=seed), torch.get_num_threads()
    torch.set_num_threads(1)  # one sums in one order: the same network everywhere
    training = Training(learned, SPEC)
    for _ in range(SPEC.steps):
        training.advance()
    torch.set_num_threads(threads)
    save_fader(path, erased(training.fader.eval(), learned), {"faces": 2 * faces})
    return path


def sweep(seed: int, weights: Path, *, hold: bool, identities: int) -> pd.DataFrame:
    """Sweep and rate one world by the network; return each label's slope beside the true one."""
    editor = FaderEditor(weights=str(weights), hold=hold)
    spec = SweepSpec(strengths=LEVELS, most=identities)
    return beside_truth(lw.World(identities=identities, seed=seed), editor, spec)


def main() -> None:
    """Print the table of the docs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--identities", type=int, default=200)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        weights = trained(Path(folder) / "world.safetensors")
        for hold in (True, False):
            parts = [sweep(seed, weights, hold=hold, identities=given.identities) for seed in range(given.seeds)]
            kept = {"true": "mean", "estimate": "mean", "inside": "mean"}
            rows = pd.concat(parts).groupby("label", sort=False).agg(kept).assign(hold=hold).reset_index()
            print(rows.to_string(index=False, float_format="{:.3f}".format), flush=True)


if __name__ == "__main__":
    main()
