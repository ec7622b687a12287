"""Beyond faces: does a classifier miss beds in poorer homes, or are their photographs only darker and more cluttered?

Run: python examples/rooms.py [FOLDER] [--encoder grid|lpips-alex|efficientnet-lite]

There is no generator of rooms here, so matching uses an encoder: a grid of mean colors, or a network whose weights are
fetched first (likewise weights fetch lpips-alexnet efficientnet-lite0). The rooms are rendered, so the ground truth is
known: each room is rendered a second time with only the household's income changed, and the classifier labels both.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

import likewise as lw
from likewise.cli.main import main as likewise
from likewise.runtime.pixels import save
from likewise.runtime.registry import Array, Pictures, Signals, register

SIZE, HOMES, PHOTOS = 48, 240, 2
PLAN = """
covariates = ["light", "clutter", "distance"]

[data]
images = "images"
table = "rooms.csv"
identity = "home"

[contrast]
column = "reported_income"
focal = "lower"
reference = "higher"

[encode]
{kind} = "{encoder}"

[match]
caliper = {{ light = 0.05, clutter = 1 }}

[[rater]]
kind = "classifier"
name = "tagger"

[report]
title = "Is the bed seen?"
"""


class Grid:
    """A simple encoder: the mean color of each cell of an 8 x 8 grid."""

    name, license = "grid", "part of the examples"

    def features(self, signals: Signals) -> Array:
        """Return ``[n, 192]``."""
        n, channels, height, width = signals.shape
        fields = signals.reshape(n, channels, 8, height // 8, 8, width // 8)
        return np.asarray(fields.mean(axis=(3, 5)).reshape(n, -1), dtype=np.float32)

    def distance(self, a: Signals, b: Signals) -> Array:
        """Return the mean squared difference of the features."""
        return np.asarray(np.square(self.features(a) - self.features(b)).mean(axis=1), dtype=np.float32)


class Tagger:
    """The classifier under audit: it expects beds to be raised, and looks for something bright above the floor."""

    name, license, threshold = "tagger", "part of the examples", 0.5

    def score(self, pictures: Pictures) -> dict[str, Array]:
        """Return the confidence that there is a bed, and that there is a window."""
        gray = pictures.astype(np.float32).mean(axis=3) / 255
        raised = gray[:, 31:35, 20:36].mean(axis=(1, 2)) - gray[:, 40:47].mean(axis=(1, 2))
        window = gray[:, 4:14, 6:20].mean(axis=(1, 2)) - gray[:, 4:14, 28:].mean(axis=(1, 2))
        return {"Bed": _sure(40 * (raised - 0.24)), "Window": _sure(30 * (window - 0.1))}


def _sure(evidence: npt.NDArray[np.float32]) -> Array:
    return np.asarray(1 / (1 + np.exp(-evidence)), dtype=np.float32)


def draw_homes(seed: int) -> pd.DataFrame:
    """Simulate a table of photographs; poorer homes are darker and more cluttered, and the bed is often a mat."""
    rng = np.random.default_rng(seed)
    home = np.repeat(np.arange(HOMES), PHOTOS)
    lower = np.repeat(rng.random(HOMES) < 0.5, PHOTOS)
    photo = np.tile(np.arange(PHOTOS), HOMES)
    return pd.DataFrame({
        "image": [f"home{h:03d}-{p}.png" for h, p in zip(home, photo, strict=True)],
        "home": [f"home{h:03d}" for h in home],
        "reported_income": np.where(lower, "lower", "higher"),
        "light": np.clip(rng.normal(0.75 - 0.10 * lower, 0.12), 0.3, 1.0).round(3),
        "clutter": rng.poisson(2 + 2 * lower),
        "distance": rng.uniform(0, 1, len(home)).round(3),
        "chance": rng.uniform(size=len(home)),  # decides whether the bed would be a mat if the income were lower
        "seed": rng.integers(1 << 30, size=len(home)),
    })  # fmt: skip


def render(row: pd.Series, *, lower: bool) -> npt.NDArray[np.uint8]:
    """Render one room ``[48, 48, 3]``: wall, floor, window, bed (or mat) and boxes, at its brightness."""
    rng = np.random.default_rng(int(row["seed"]))
    room = np.empty((SIZE, SIZE, 3))
    room[:30], room[30:] = (0.75, 0.70, 0.62), (0.45, 0.35, 0.28)
    room[4:14, 6:20] = (0.80, 0.90, 1.00)
    mat = lower and row["chance"] < 0.3
    top, left = (36 if mat else 27), 12 + round(6 * float(row["distance"]))
    room[top:40, left : left + 28] = (0.85, 0.85, 0.80)
    for _ in range(int(row["clutter"])):
        x, y, size = rng.integers(0, 40), rng.integers(28, 42), rng.integers(4, 8)
        room[y : y + size, x : x + size] = rng.uniform(0.1, 0.6, size=3)
    noisy = room * float(row["light"]) + rng.normal(0, 0.02, room.shape)
    return np.clip(255 * noisy, 0, 255).astype(np.uint8)


def ground_truth(rooms: pd.DataFrame) -> float:
    """Return the true difference: the same rooms with only the income changed."""
    both = [np.stack([render(row, lower=lower) for _, row in rooms.iterrows()]) for lower in (True, False)]
    seen = [Tagger().score(pictures)["Bed"] >= Tagger.threshold for pictures in both]
    return float(seen[0].mean() - seen[1].mean())


def main(folder: Path, encoder: str = "grid") -> lw.Estimates:
    """Write the audit, run it, and print the gap in detected beds beside the ground truth."""
    register("perceptual", "grid", Grid)
    register("classifier", "tagger", Tagger)
    rooms = draw_homes(seed=3)
    for _, row in rooms.iterrows():
        save(folder / "images" / row["image"], render(row, lower=row["reported_income"] == "lower"))
    rooms.drop(columns=["chance", "seed"]).to_csv(folder / "rooms.csv", index=False)
    kind = "classifier" if encoder == "efficientnet-lite" else "perceptual"
    (folder / "audit.toml").write_text(PLAN.format(kind=kind, encoder=encoder), encoding="utf-8")
    likewise(["run", str(folder), "--quiet"])
    found = lw.Estimates.read(folder / "estimates.parquet")
    bed = found.frame[found.frame["quantity"] == "tagger: Share labeled Bed"]
    for entry in bed[bed["stat"].isin(["gap", "adjusted_gap"])].itertuples():
        print(f"{entry.stat:<13} {entry.sample:<8} {entry.estimate:+.2f} ({entry.low:+.2f} to {entry.high:+.2f})")
    matched = lw.Matches.read(folder / "matches.parquet").images
    print(f"ground truth, in {len(matched)} matched rooms: {ground_truth(rooms[rooms['image'].isin(matched)]):+.2f}")
    print(f"report: {folder / 'report.html'}")
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, help="the audit folder; default: a temporary one")
    parser.add_argument("--encoder", default="grid", choices=["grid", "lpips-alex", "efficientnet-lite"])
    given = parser.parse_args()
    main(given.folder or Path(tempfile.mkdtemp(prefix="rooms-")), given.encoder)
