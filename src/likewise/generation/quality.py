"""Quality by group: drawn images of each group against photographs of the same group, on Inception features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from likewise.analysis.images.manifold import manifold_estimates
from likewise.analysis.images.quality import feature_distances
from likewise.errors import ImageError
from likewise.runtime.executor import Progress
from likewise.runtime.pixels import decode, digest, inside
from likewise.runtime.registry import create
from likewise.tables import Contrast, Estimates, Images, Vectors
from likewise.tables.checks import need_columns
from likewise.tables.io import read_frame, replacing

FEATURES = "features.npz"
_CHUNK = 16
_PERMUTATIONS = 0  # intervals are reported; a permutation test of FID takes hours
Floats = npt.NDArray[np.float32]


@dataclass(frozen=True, kw_only=True)
class RealImages:
    """Photographs to compare with: a folder, and a table with the columns ``image`` and the attribute."""

    folder: Path
    table: Path

    def read(self, attribute: str) -> Images:
        """Return the photographs that have the attribute; without the column ``identity`` each shows another person."""
        frame, _ = read_frame(self.table, text=("image", "identity"))
        need_columns(frame, ["image", attribute], self.table.name)
        frame = frame.dropna(subset=["image", attribute])
        if frame.empty:
            raise ImageError(f"{self.table.name} has no image with {attribute!r}", fix="Fill that column.")
        identity = frame["identity"] if "identity" in frame.columns else frame["image"]
        return Images(pd.DataFrame({"image": frame["image"], "identity": identity, attribute: frame[attribute]}))


def quality_by_group(
    drawn: Images, root: Path, real: RealImages, contrast: Contrast, keep: Path, progress: Progress, level: float
) -> list[Estimates]:
    """Return FID and KID, precision, recall, density and coverage of each group, and their gaps.

    Features are kept by the digest of the file in ``keep``.
    """
    photographs = real.read(contrast.column)
    shown = drawn.subset([str(key) for key, side in contrast.side(drawn).items() if side])
    parts = [_named(shown, "drawn", contrast.column), _named(photographs, "real", contrast.column)]
    images = Images(pd.concat(parts, ignore_index=True))
    places = [(root, key) for key in shown.keys] + [(real.folder, key) for key in photographs.keys]
    values = kept_features(places, keep, progress)
    features = Vectors(images.keys, values, source="inception-2015, pooled features")
    about: dict[str, Any] = {"made_by": "made_by", "generated": "drawn", "level": level}
    distances = feature_distances(features, images, contrast, **about, permutations=_PERMUTATIONS)
    return [
        distances,
        manifold_estimates(features, images, contrast, **about, k=min(5, _smallest(images, contrast) - 1)),
    ]


def _smallest(images: Images, contrast: Contrast) -> int:
    sides = contrast.side(images)
    made = images.attribute("made_by")
    return int(min(((sides == side) & (made == kind)).sum() for side in (1, -1) for kind in ("drawn", "real")))


def _named(images: Images, kind: str, column: str) -> pd.DataFrame:
    frame = images.frame
    return pd.DataFrame(
        {"image": f"{kind}/" + frame["image"], "identity": f"{kind}/" + frame["identity"], "made_by": kind,
         column: frame[column].astype(str)}
    )  # fmt: skip


def kept_features(places: Sequence[tuple[Path, str]], keep: Path, progress: Progress) -> Floats:
    """Return the features ``[n, 2048]`` of files; those that were computed before are read again."""
    names = [digest(inside(root, key)) for root, key in places]
    known = _read(keep)
    missing = [place for place, name in enumerate(names) if name not in known]
    progress.advance(len(names) - len(missing))
    inception: Any = create("perceptual", "inception") if missing else None
    for start in range(0, len(missing), _CHUNK):
        chunk = missing[start : start + _CHUNK]
        for place in chunk:
            root, key = places[place]
            known[names[place]] = inception.features_of_pictures(decode(inside(root, key))[None])[0]
        _write(keep, known)
        progress.advance(len(chunk))
    return np.stack([known[name] for name in names])


def _read(keep: Path) -> dict[str, Floats]:
    if not keep.is_file():
        return {}
    with np.load(keep, allow_pickle=False) as found:
        return dict(zip(found["sha256"].tolist(), found["features"], strict=True))


def _write(keep: Path, known: dict[str, Floats]) -> None:
    with replacing(keep) as temporary, temporary.open("wb") as handle:
        np.savez(handle, sha256=np.array(list(known)), features=np.stack(list(known.values())).astype(np.float32))
