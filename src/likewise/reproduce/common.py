"""What the reproductions share: their result, the readers of the published data, and constants of the paper."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

from likewise.tables import Contrast, Estimates, Images
from likewise.tables.io import read_frame

LEVEL = 0.95
GENDER = Contrast("Male", focal=0, reference=1)
PENALTY = 1e6
"""Added to a pair's distance in the authors' release where the recognizer's constraint is violated."""
BENCHMARKED = 500
"""Number of pairs in the authors' benchmark."""
_COLUMNS = {
    "gender_0": "a", "gender_1": "b", "female": "a", "male": "b", "gender_0_ref": "ref_a", "gender_1_ref": "ref_b",
}  # fmt: skip


@dataclass(frozen=True)
class Reproduction:
    """Recomputed estimates, and how they compare with the published ones."""

    estimates: Estimates
    notes: list[str] = field(default_factory=list)


def read(data: Path, name: str, text: tuple[str, ...] = ()) -> pd.DataFrame:
    """Read a published table."""
    return read_frame(data / name, text=text)[0]


def celebahq(data: Path) -> Images:
    """Read the images of CelebA-HQ with their identities and labels."""
    frame = read(data, "celebahq/faces.parquet").drop(columns=["image", "orig_file"])
    return Images(frame.rename(columns={"celebahq_index": "image"}))


def matched_pairs(data: Path, name: str) -> pd.DataFrame:
    """Read the authors' pairs with the column names of Matches: ``a`` is perceived female, ``b`` male."""
    frame = read(data, f"singh2021/matches_{name}.csv").rename(columns=_COLUMNS)
    keys = [column for column in ("a", "b", "ref_a", "ref_b") if column in frame.columns]
    return frame.astype(dict.fromkeys(keys, "str")).assign(pair=[f"m{k:04d}" for k in range(len(frame))])


def consistent_labels(frame: pd.DataFrame, images: Images) -> pd.Series:
    """Return which pairs have ``a`` labeled female and ``b`` labeled male."""
    male = images.attribute("Male")
    return (frame["a"].map(male) == 0) & (frame["b"].map(male) == 1)
