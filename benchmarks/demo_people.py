"""People of the demo with both potential outcomes: every image and its counterfactual twin, encoded and embedded.

Run: python -m benchmarks.demo_people FOLDER [--identities 480] [--seed 1000]

Draws ``Portraits(identities=..., seed=...)`` of `likewise demo` and their twins, and keeps for each image and twin what
an audit needs: the encoder's latents and the embeddings of both recognizers. About a CPU-second an image and its twin;
a stopped run goes on. `benchmarks.demo_seeds --people FOLDER` draws worlds from the identities that are there.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd
import torch

import likewise as lw
from likewise.demo.portraits import AXES, GENERATOR, RECOGNIZERS, RESPONSE_FACES, attribute_axes
from likewise.design.features import scores, without_direction
from likewise.latents.directions import shipped
from likewise.latents.encoder import Start, encoded_step
from likewise.rating.rate import rate_trials
from likewise.runtime.registry import create
from likewise.simulation.portraits import CONTRAST, COVARIATES, Portraits

Floats = npt.NDArray[np.float64]
ARMS = ("images", "twins")
CHUNK = 4  # identities
_ROWS = [0, 5, 15]  # one of each group of rows that the encoder places together
GROUPS = (4, 6, 13)  # sizes of these groups


def draw(folder: Path, portraits: Portraits) -> None:
    """Draw, encode and embed what is missing in the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    generator = create("generator", GENERATOR)
    axes, start = attribute_axes(shipped(GENERATOR), generator), Start(generator)
    if not (folder / "own_step.npy").exists():
        step = encoded_step(generator, axes.steps[0], faces=RESPONSE_FACES, seed=portraits.seed)
        np.save(folder / "own_step.npy", step.values)
    models = {name: create("recognizer", name) for name in RECOGNIZERS}
    works = [
        portraits.work(folder, portraits.latents(generator, axes, twins=arm == "twins"), GENERATOR) for arm in ARMS
    ]
    each = portraits.images_each * CHUNK
    for at in range(0, len(portraits.images), each):
        target = folder / f"{at // each:04d}.npz"
        if target.exists():
            continue
        kept: dict[str, npt.NDArray[np.float32]] = {}
        for arm, work in zip(ARMS, works, strict=True):
            pictures = work.pictures(portraits.images[at : at + each])
            signals = pictures.transpose(0, 3, 1, 2).astype(np.float32) / 127.5 - 1
            kept[f"{arm} latents"] = start(torch.from_numpy(signals)).numpy()[:, _ROWS]
            kept |= {f"{arm} {name}": np.asarray(model.embed(pictures)) for name, model in models.items()}
        np.savez(target.with_suffix(".part.npz"), **kept)  # type: ignore[arg-type]
        target.with_suffix(".part.npz").rename(target)


@dataclass(frozen=True)
class People:
    """What `draw` kept, of whole identities: latents and embeddings of images (arm 0) and twins (arm 1)."""

    portraits: Portraits
    folder: Path

    @cached_property
    def _files(self) -> list[Path]:
        return sorted(file for file in self.folder.glob("*.npz") if file.stem.isdigit())

    @cached_property
    def _parts(self) -> dict[str, npt.NDArray[np.float32]]:
        loaded = [dict(np.load(file)) for file in self._files]
        return {name: np.concatenate([part[name] for part in loaded]) for name in loaded[0]}

    @cached_property
    def _frame(self) -> pd.DataFrame:
        """The table's rows of the images that are there."""
        each = self.portraits.images_each * CHUNK
        rows = np.concatenate([int(file.stem) * each + np.arange(each) for file in self._files])
        return self.portraits.table().frame.iloc[rows].reset_index(drop=True)

    @property
    def identities(self) -> int:
        """How many identities are drawn."""
        return len(self._parts["images latents"]) // self.portraits.images_each

    def arms(self, name: str) -> npt.NDArray[np.float32]:
        """Return an array of images and twins, ``[2, n, ...]``."""
        return np.stack([self._parts[f"{arm} {name}"] for arm in ARMS])

    def own_step(self) -> Floats:
        """Return what the encoder reads as the contrast alone, ``[D]``."""
        step: Floats = np.load(self.folder / "own_step.npy").astype(np.float64).mean(axis=(0, 1))
        return step

    def chance_of_focal(self) -> Floats:
        """Return the probability of the focal group given the covariates of all images, one per identity.

        The covariates are drawn given the group, half of the identities in each, so this is Bayes' rule.
        """
        frame, odds = self._frame, np.ones((self.identities, 2))
        for covariate in COVARIATES:
            values = frame[covariate.column].to_numpy(dtype=np.float64).reshape(self.identities, -1)
            values = values[:, :1] if covariate.per_identity else values
            for place, side in enumerate((1, -1)):
                mean = covariate.mean(side, self.portraits.confounding)
                inside = (np.abs(values - mean) <= covariate.half + 1e-3).astype(np.float64)  # the table is rounded
                density = inside if covariate.half else np.where(values == 1, mean, 1 - mean)
                odds[:, place] *= density.prod(axis=1)
        return np.asarray(odds[:, 0] / odds.sum(axis=1))

    def world(self, seed: int, size: int, *, first: int = 0, last: int | None = None) -> World:
        """Draw a world: identities ``first`` to ``last`` at random, each of a group by its chance, without labels seen.

        This is the joint distribution of group and covariates in `Portraits`; which of the two drawings of an identity
        is seen follows from its group.
        """
        rng, chance = np.random.default_rng([seed, 7]), self.chance_of_focal()
        whose = np.sort(rng.choice(np.arange(first, last or self.identities), size, replace=False))
        focal = rng.random(size) < chance[whose]
        rows = (whose[:, None] * self.portraits.images_each + np.arange(self.portraits.images_each)).ravel()
        frame = self._frame.iloc[rows].reset_index(drop=True)
        sides = np.repeat(np.where(focal, CONTRAST.focal, CONTRAST.reference), self.portraits.images_each)
        arm = (frame[CONTRAST.column].to_numpy() != sides).astype(np.int64)
        return World(lw.Images(frame.assign(**{CONTRAST.column: sides})), rows, arm, self)


@dataclass(frozen=True)
class World:
    """Images of some of the people, as an audit sees them, and what it does not see: their twins."""

    images: lw.Images
    rows: npt.NDArray[np.int64]
    arm: npt.NDArray[np.int64]
    people: People

    def features(self) -> lw.Vectors:
        """Return what the demo's plan balances: scores of the encoded latents without the contrast's own step."""
        known, own = shipped(GENERATOR), AXES["gender"]
        named = dict(zip(known.names, known.gradients, strict=True))
        values = self.people.arms("latents")[self.arm, self.rows].astype(np.float64)  # [n, 3, D]
        mean = np.einsum("ngd,g->nd", values, np.array(GROUPS) / sum(GROUPS))
        vectors = lw.Vectors(self.images.keys, mean, source="encoder")
        freed = without_direction(vectors, step=self.people.own_step(), gradient=named[own])
        return scores(freed, {name: gradient for name, gradient in named.items() if name != own})

    def rate(self, trials: lw.Trials) -> tuple[lw.Ratings, pd.DataFrame]:
        """Return the recognizers' distances, and the known effect on every trial."""
        found, effects = [], []
        place = {image: row for row, image in enumerate(self.images.keys)}
        a, b = (trials.frame[end].map(place).to_numpy() for end in ("a", "b"))
        focal = self.images.attribute(CONTRAST.column).eq(CONTRAST.focal).to_numpy()[a]
        for name in RECOGNIZERS:
            model, both = create("recognizer", name), self.people.arms(name)
            own, twin = both[self.arm, self.rows], both[1 - self.arm, self.rows]
            found.append(rate_trials(trials, own, self.images.keys, model))
            change = model.distance(own[a], own[b]) - model.distance(twin[a], twin[b])
            effect = pd.DataFrame(
                {"a": trials.frame["a"], "b": trials.frame["b"], "quantity": f"{model.name}: distance"}
            )
            effects.append(effect.assign(effect=np.where(focal, change, -change)).dropna(subset=["effect"]))
        return lw.Ratings.together(found), pd.concat(effects, ignore_index=True)


def main() -> None:
    """Draw the people."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--identities", type=int, default=480)
    parser.add_argument("--seed", type=int, default=1000)
    given = parser.parse_args()
    draw(given.folder, Portraits(identities=given.identities, seed=given.seed))


if __name__ == "__main__":
    main()
