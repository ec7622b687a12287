"""Does holding co-attributes matter? ``python benchmarks/held_attributes.py``: a simulation.

Images of the world go together with their attribute: women there smile more and wear glasses less. Directions
are fitted
on such faces, and a tagger with known dependences looks at sweeps of other faces. Two of its labels depend on the
attribute; two depend on what goes along with it alone, so that their true slopes are zero. The sweep is made twice,
with and without holding the co-attributes, in many worlds; what is counted is how often the interval holds the truth.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

import likewise as lw
from likewise.analysis.slopes.estimate import slopes
from likewise.counterfactuals.direction_editor import DirectionEditor
from likewise.counterfactuals.placebo import swept
from likewise.counterfactuals.sweep import chosen, sweep_faces
from likewise.counterfactuals.sweep_spec import SweepSpec
from likewise.latents.directions import RULES, USUAL, fit
from likewise.rating.rate import rate_images
from likewise.runtime.registry import Array, Editor, Pictures, to_pictures
from likewise.simulation.components import WorldClassifier, WorldGenerator
from likewise.simulation.scene import draw
from likewise.simulation.world import COVARIATES, Floats
from likewise.tables import Images

NAMES = ("perceived_gender", *(covariate.column for covariate in COVARIATES))
ON_ATTRIBUTE, ON_OTHERS = ("Lipstick", "Necktie"), ("Spectacles", "Grin")


def world_latents(factors: Floats) -> Array:
    """Return latents ``[n, 4, 16]`` that the world's generator draws with these factors: all rows alike."""
    directions = WorldGenerator().directions  # [F, D], orthonormal
    return np.repeat((factors @ directions)[:, None], WorldGenerator.rows, axis=1).astype(np.float32)


def fitted(folder: Path, *, identities: int = 200, seed: int = 10_000, rule: str = USUAL) -> Path:
    """Fit directions on a world of its own, confounded like the others."""
    faces, factors = lw.World(identities=identities, seed=seed).draw()
    vectors = lw.Vectors(faces.keys, world_latents(factors), source="the world's own latents")
    return fit(faces, vectors, NAMES, labels="the world's table", rule=rule).write(folder / "directions.npz")


def sweep(seed: int, directions: Path, *, hold: bool, identities: int) -> pd.DataFrame:
    """Sweep and rate one world along the directions; return each label's slope beside the true one."""
    world = lw.World(identities=identities, seed=seed)
    faces, factors = world.draw()
    vectors = lw.Vectors(faces.keys, world_latents(factors), source="the world's own latents")
    latents = vectors.write(directions.parent / "latents.npz")
    held = None if hold else ()
    editor = DirectionEditor(str(directions), generator="world", latents=str(latents), hold=held, focal="female")
    return beside_truth(world, editor, SweepSpec(most=identities))


def beside_truth(world: lw.World, editor: Editor, spec: SweepSpec) -> pd.DataFrame:
    """Sweep and rate one world by an editor; return each label's slope beside the true one."""
    (faces, factors), seed = world.draw(), world.seed
    images = chosen(faces, spec, seed=seed)
    row = pd.Series(range(len(faces)), index=faces.keys)
    pictures = to_pictures(draw(factors[row.loc[images].to_numpy()]))
    strips = swept(editor, pictures, spec.strengths, images)
    made = sweep_faces(faces, images, spec)
    return _rated(made, strips, spec, images, world)


def _rated(made: Images, strips: Pictures, spec: SweepSpec, images: list[str], world: lw.World) -> pd.DataFrame:
    tagger = WorldClassifier()
    scores = tagger.score(strips.reshape(-1, *strips.shape[2:]))
    keys = [f"{image}@{level:+g}" for image in images for level in spec.strengths]
    ratings = rate_images(keys, list(scores), np.stack(list(scores.values()), axis=1), tagger)
    found = slopes(ratings, made, threshold=tagger.threshold).where(stat="slope").frame.set_index("quantity")
    true = world.truth(spec.strengths).where(stat="slope").frame.set_index("quantity")["estimate"]
    table = found[["estimate", "low", "high"]].assign(true=true)
    inside = (table["low"] - 1e-9 <= table["true"]) & (table["true"] <= table["high"] + 1e-9)
    return table.assign(inside=inside, label=table.index.str.split(": ").str[1]).reset_index(drop=True)


def worlds(seeds: int, directions: Path, *, hold: bool, identities: int) -> pd.DataFrame:
    """Return one row a label: the true slope, the mean estimate, and how often the interval holds the truth."""
    parts = [sweep(seed, directions, hold=hold, identities=identities) for seed in range(seeds)]
    rows = pd.concat(parts).groupby("label", sort=False).agg({"true": "mean", "estimate": "mean", "inside": "mean"})
    return rows.assign(hold=hold).reset_index()


def main() -> None:
    """Print the table of the docs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--identities", type=int, default=200)
    parser.add_argument("--rule", choices=RULES, default=USUAL)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        directions = fitted(Path(folder), rule=given.rule)
        for hold in (True, False):
            table = worlds(given.seeds, directions, hold=hold, identities=given.identities)
            print(table.to_string(index=False, float_format="{:.3f}".format), flush=True)


if __name__ == "__main__":
    main()
