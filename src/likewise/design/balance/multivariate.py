"""Balance beyond one covariate at a time: two together, the latent space as a whole, and who was dropped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np
import pandas as pd

from likewise.design.balance.covariate_summary import Sample, numeric_covariates
from likewise.design.balance.table import Weights, balance, row, samples_of
from likewise.design.search.metric import Euclid
from likewise.design.search.points import Floats, Points, blocks
from likewise.errors import SpecError, VectorError
from likewise.tables import Contrast, Estimates, Images, Matches, Vectors


def joint(
    faces: Images,
    contrast: Contrast,
    pairs: Matches | Mapping[str, Matches] | None = None,
    *,
    covariates: Sequence[str],
    weights: Weights | None = None,
    level: float = 0.95,
) -> Estimates:
    """Return how often every two binary covariates occur together: A & B, A & not B, not A & B, not A & not B.

    A column of two words is binary as well; of a column of more words no two levels are set beside each other.
    """
    columns = _binary(faces, covariates)
    if len({source for source, _ in columns.values()}) < 2:
        raise SpecError(
            f"{len(columns)} binary covariates are too few for a joint table", fix="Name at least two binary ones."
        )
    rows = []
    for one, other in combinations(columns, 2):
        if columns[one][0] == columns[other][0]:
            continue
        for name, cell in _cells(one, other, columns[one][1], columns[other][1]).items():
            for sample, sides in samples_of(faces, contrast, pairs, weights).items():
                for group, images in zip((contrast.focal, contrast.reference), sides, strict=True):
                    side = _side(cell, faces, images)
                    if len(side):
                        low, high, method = side.interval(level)
                        message = row(
                            name, "joint_share", sample, str(group), side.mean, [side], low, high, level, method
                        )
                        rows.append(message)
    return Estimates.of(rows)


def most_apart(faces: Images, message: Estimates, covariates: Sequence[str], most: int = 3) -> list[str]:
    """Return the binary covariates that differ most between the groups before matching: for a small joint table."""
    smd = message.where(stat="smd", sample="all").frame.set_index("quantity")["estimate"].abs()
    sizes: dict[str, float] = {}
    for name, (source, _) in _binary(faces, covariates).items():
        if (faces.attribute(source).nunique() == 2) and name in smd.index:
            sizes[source] = max(sizes.get(source, 0.0), float(smd[name]))
    return sorted(sizes, key=lambda source: (-sizes[source], source))[:most]


def _binary(faces: Images, covariates: Sequence[str]) -> dict[str, tuple[str, pd.Series]]:
    """Return the columns of yes and no by name, and which covariate each belongs to; of two words one will do."""
    found: dict[str, tuple[str, pd.Series]] = {}
    for source in covariates:
        parts = {
            name: column
            for name, column in numeric_covariates(faces, [source]).items()
            if column.dropna().isin((0.0, 1.0)).all()
        }
        kept = list(parts)[1:] if len(parts) == 2 else list(parts)
        found |= {name: (source, parts[name]) for name in kept}
    return found


def _cells(one: str, other: str, left: pd.Series, right: pd.Series) -> dict[str, pd.Series]:
    there = left.notna() & right.notna()
    cells = {}
    for says_one, is_one in ((one, 1.0), (f"not {one}", 0.0)):
        for says_other, is_other in ((other, 1.0), (f"not {other}", 0.0)):
            both = ((left == is_one) & (right == is_other)).astype("float64")
            cells[f"{says_one} & {says_other}"] = both.where(there)
    return cells


def _side(column: pd.Series, faces: Images, weights: pd.Series) -> Sample:
    values = column.loc[list(weights.index)]
    there = values.notna().to_numpy()
    clusters = pd.factorize(faces.identities.loc[list(weights.index)])[0].astype(np.int64)
    return Sample(values.to_numpy(dtype=np.float64)[there], clusters[there], weights.to_numpy()[there])


def dropped_profile(
    faces: Images, contrast: Contrast, pairs: Matches, *, covariates: Sequence[str], level: float = 0.95
) -> Estimates:
    """Compare, within each group, those who were left out with those who were matched.

    Rows of the sample "left out": the means of those left out, by group, and how far they are from the matched of their
    group (left out minus matched) in standard deviations, ``excluded_smd``.
    """
    side, inside = contrast.side(faces), set(pairs.frame["a"]) | set(pairs.frame["b"])
    parts = []
    for sign, group in ((1, contrast.focal), (-1, contrast.reference)):
        own = faces.subset(list(side.index[side == sign]))
        fate = {image: "matched" if image in inside else "left out" for image in own.keys}
        if min(list(fate.values()).count(word) for word in ("matched", "left out")) < 2:
            continue
        message = balance(
            own.with_attribute("fate", fate),
            Contrast("fate", focal="left out", reference="matched"),
            covariates=[name for name in covariates if name != contrast.column],
            level=level,
        ).frame
        message = message[
            (message["sample"] == "all") & ((message["group"] == "left out") | (message["stat"] == "smd"))
        ]
        message = message.assign(
            sample="left out", group=str(group), stat=message["stat"].replace("smd", "excluded_smd")
        )
        parts.append(Estimates(message))
    return Estimates.together(parts)


def energy(
    faces: Images,
    vectors: Vectors,
    contrast: Contrast,
    pairs: Matches | Mapping[str, Matches] | None = None,
    *,
    weights: Weights | None = None,
    most: int = 2000,
    seed: int = 0,
) -> Estimates:
    """Return the energy distance of the two groups in the vectors' space: 2 E|X-Y| - E|X-X'| - E|Y-Y'|.

    (Szekely and Rizzo 2013.) It is 0 when the distributions are equal. Nobody is compared with themselves, so that
    a small matched sample can be set beside a large one; it may then fall a little below 0 by chance.
    Of larger groups ``most`` images are drawn by seed; ``n`` says how many were compared.
    """
    rows = []
    for sample, sides in samples_of(faces, contrast, pairs, weights).items():
        drawn = [_drawn(side[[image in vectors for image in side.index]], most, seed) for side in sides]
        if min(map(len, drawn)) < 2:
            raise VectorError(
                f"A group of the sample {sample!r} has fewer than two vectors",
                fix="Add images to that group.",
            )
        between = _mean_distance(vectors, *drawn)
        within = [_mean_distance(vectors, side, side) / (1 - ((side / side.sum()) ** 2).sum()) for side in drawn]
        message = row(
            "vectors", "energy_distance", sample, contrast.label, 2 * between - sum(within), [], method=vectors.source
        )
        n = sum(map(len, drawn))
        rows.append({**message, "n": n, "clusters": faces.identities.loc[[*drawn[0].index, *drawn[1].index]].nunique()})
    return Estimates.of(rows)


def _drawn(side: pd.Series, most: int, seed: int) -> pd.Series:
    side = side.sort_index()
    if len(side) <= most:
        return side
    return side.iloc[np.sort(np.random.default_rng(seed).choice(len(side), most, replace=False))]


def _mean_distance(vectors: Vectors, left: pd.Series, right: pd.Series) -> float:
    sides = [Points(vectors.values, vectors.rows(list(side.index))) for side in (left, right)]
    metric, total = Euclid(sides[0], sides[1]), 0.0
    share: list[Floats] = [side.to_numpy() / side.sum() for side in (left, right)]
    everyone = np.arange(len(right), dtype=np.intp)
    for rows in blocks(len(left), 256):
        total += float(share[0][rows] @ (metric.lower(rows, everyone, np.float64) @ share[1]))
    return total
