"""Beyond faces: does an ImageNet network miss the wall clock in poorer homes, or are their photographs only darker?

Run: likewise weights fetch efficientnet-lite0
     python examples/clocks.py [FOLDER] [--encoder columns|lpips-alex]

The network under audit is EfficientNet-Lite0 with its published weights. Rooms are rendered, so the ground truth is
known: a home with less money more often has a digital clock instead of one with hands, and its photographs are darker,
taken from farther away and more cluttered. Each room is rendered a second time with only the income changed, and the
network labels both.

By default homes are matched on the recorded light, distance and clutter. With ``--encoder lpips-alex`` they are
matched on what the photographs look like (features of AlexNet, which is not under audit). Then a digital clock is
matched with a digital clock, and the gap that is due to the kind of clock disappears: matching on a consequence of the
attribute hides that part of its effect.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd
from PIL import Image, ImageDraw

import likewise as lw
from likewise.runtime.pixels import save
from likewise.runtime.registry import create

SIDE, FINER, HOMES = 192, 2, 320
NETWORK, LABEL = "efficientnet-lite", "wall clock"
SEGMENTS = ("abcdef", "bc", "abged", "abgcd", "fgbc", "afgcd", "afgedc", "abc", "abcdefg", "abcfgd")
Picture = npt.NDArray[np.uint8]
Numbers = npt.NDArray[np.float64]


def draw_homes(seed: int) -> pd.DataFrame:
    """Simulate a table of photographs; poorer homes are photographed darker, from farther away, and more cluttered."""
    rng = np.random.default_rng(seed)
    lower = rng.random(HOMES) < 0.5
    return pd.DataFrame({
        "image": [f"home{home:03d}.png" for home in range(HOMES)],
        "home": [f"home{home:03d}" for home in range(HOMES)],
        "reported_income": np.where(lower, "lower", "higher"),
        "light": np.clip(rng.normal(0.65 - 0.2 * lower, 0.15), 0.2, 1.0).round(3),
        "clutter": rng.poisson(2 + 1 * lower),
        "distance": np.clip(rng.normal(4.0 + 1.0 * lower, 0.9), 1.0, 7.0).round(2),
        "chance": rng.uniform(size=HOMES),  # decides whether the clock would be digital if the income were lower
        "seed": rng.integers(1 << 30, size=HOMES),
    })  # fmt: skip


def render(row: pd.Series, *, lower: bool) -> Picture:
    """Render one room ``[SIDE, SIDE, 3]``: wall, floor, boxes and a clock, at its brightness."""
    rng = np.random.default_rng(int(row["seed"]))
    whole = SIDE * FINER
    room = Image.new("RGB", (whole, whole), (205, 196, 180))
    pen = ImageDraw.Draw(room)
    pen.rectangle((0, 0.72 * whole, whole, whole), fill=(120, 88, 62))
    for _ in range(int(row["clutter"])):
        x, width, height, foot = rng.uniform((0, 0.06, 0.06, 0.7), (0.9, 0.16, 0.18, 0.95)) * whole
        pen.rectangle((x, foot - height, x + width, foot), fill=tuple(rng.integers(40, 200, 3).tolist()))
    middle, radius = rng.uniform((0.35, 0.3), (0.65, 0.4)) * whole, 0.2 * whole / float(row["distance"])
    paint = digital_clock if lower and row["chance"] < 0.3 else clock_with_hands
    paint(pen, middle, radius, rng.uniform(size=4))
    shot = np.asarray(room.resize((SIDE, SIDE), Image.Resampling.LANCZOS)) * float(row["light"])
    return np.clip(shot + rng.normal(0, 4, shot.shape), 0, 255).astype(np.uint8)


def clock_with_hands(pen: ImageDraw.ImageDraw, middle: Numbers, radius: float, time: Numbers) -> None:
    """Paint a dial with sixty marks and two hands."""
    for size, color in ((1.12, (60, 40, 30)), (1.0, (245, 243, 235))):
        pen.ellipse((*(middle - size * radius), *(middle + size * radius)), fill=color)
    for mark in range(60):
        inner, width = (0.78, 0.05) if mark % 5 == 0 else (0.88, 0.015)
        _ray(pen, middle, radius, mark / 60, inner, 0.94, width)
    _ray(pen, middle, radius, time[0], 0.0, 0.5, 0.07)
    _ray(pen, middle, radius, time[1], 0.0, 0.78, 0.05)


def _ray(pen: ImageDraw.ImageDraw, middle: Numbers, radius: float, turn: float,
         start: float, end: float, width: float) -> None:  # fmt: skip
    way = radius * np.array([np.sin(2 * np.pi * turn), -np.cos(2 * np.pi * turn)])
    pen.line((*(middle + start * way), *(middle + end * way)), fill=(20, 20, 20), width=max(1, round(width * radius)))


def digital_clock(pen: ImageDraw.ImageDraw, middle: Numbers, radius: float, time: Numbers) -> None:
    """Paint a dark box with four digits of seven segments."""
    half = radius * np.array([1.2, 0.6])
    pen.rounded_rectangle((*(middle - half), *(middle + half)), radius / 10, fill=(25, 25, 28))
    for place, digit in enumerate((1, int(3 * time[1]), int(6 * time[2]), int(10 * time[3]))):
        left, top, wide, high = radius * np.array([-1.0 + 0.52 * place, -0.36, 0.36, 0.36])
        corner = middle + np.array([left, top])
        ends = {"a": (0, 0, 1, 0), "b": (1, 0, 1, 1), "c": (1, 1, 1, 2), "d": (0, 2, 1, 2), "e": (0, 1, 0, 2),
                "f": (0, 0, 0, 1), "g": (0, 1, 1, 1)}  # fmt: skip
        for segment in SEGMENTS[digit]:
            line = np.array(ends[segment]).reshape(2, 2) * (wide, high) + corner
            pen.line(tuple(line.ravel()), fill=(255, 60, 40), width=max(1, round(0.1 * radius)))


def ground_truth(homes: pd.DataFrame) -> float:
    """Return the true difference: the same rooms with only the income changed."""
    network = create("classifier", NETWORK)
    found = []
    for lower in (True, False):
        rooms = np.stack([render(row, lower=lower) for _, row in homes.iterrows()])
        found.append(float((network.score(rooms)[LABEL] >= network.threshold).mean()))
    return found[0] - found[1]


def main(folder: Path, encoder: str = "columns") -> lw.Estimates:
    """Write the photographs, run the audit, and print the gap in found clocks beside the ground truth."""
    homes = draw_homes(seed=3)
    for _, row in homes.iterrows():
        save(folder / "photos" / row["image"], render(row, lower=row["reported_income"] == "lower"))
    done = lw.audit(
        homes.drop(columns=["chance", "seed"]).rename(columns={"home": "identity"}),
        folder / "photos",
        out=folder / "audit",
        contrast=("reported_income", "lower", "higher"),
        raters=[f"classifier:{NETWORK}"],
        encoder=encoder,
        covariates=["light", "distance", "clutter"],
        title="Is the clock found?",
        estimate={"labels": [LABEL]},
        progress=False,
    )
    frame = done.estimates.frame
    clock = frame[frame["quantity"].str.endswith(f"labeled {LABEL}")]
    for entry in clock[clock["stat"].isin(["gap", "adjusted_gap"])].itertuples():
        print(f"{entry.stat:<13} {entry.sample:<8} {entry.estimate:+.2f} ({entry.low:+.2f} to {entry.high:+.2f})")
    matched = homes[homes["image"].isin(done.matches.images)]
    print(f"ground truth, in {len(matched)} matched rooms: {ground_truth(matched):+.2f}")
    print(f"report: {done.report()}")
    return done.estimates


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, help="where everything is written; default: a temporary one")
    parser.add_argument("--encoder", default="columns", choices=["columns", "lpips-alex"])
    given = parser.parse_args()
    main(given.folder or Path(tempfile.mkdtemp(prefix="clocks-")), given.encoder)
