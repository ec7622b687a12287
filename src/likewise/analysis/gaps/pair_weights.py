"""Weights of matched units, and which identities matched pairs link into one cluster."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from likewise.tables import Matches
from likewise.tables.checks import among

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]


def unit_column(pairs: Matches) -> str:
    """Return which column of ratings the pairs are about: ``unit`` for matched trials, ``image`` for matched images."""
    return "unit" if getattr(pairs, "unit", "image") == "trial" else "image"


def complete_pairs(pairs: Matches, units: pd.Series) -> pd.DataFrame:
    """Return the pairs of which both units were rated: an unrated unit takes its pair out of the sample."""
    frame = pairs.frame
    return frame[among(frame["a"], units) & among(frame["b"], units)]


def match_weights(pairs: pd.DataFrame, units: pd.Series) -> Floats:
    """Return the weight of each rating ``[n]`` in the matched sample; all ratings of one unit weigh 1 together.

    A focal unit weighs 1, the k references of a 1:k set 1 / k each. Both groups then have the same distribution over
    sets, and the gap is the mean over sets of focal less mean reference. An unrated reference leaves its set; the
    others weigh more.
    """
    share = 1 / pairs.groupby("a")["b"].transform("size")
    both = [pd.Series(1.0, index=pairs["a"].unique()), share.groupby(pairs["b"].to_numpy()).sum()]
    counted = units.map(pd.concat(both)).fillna(0.0).to_numpy(dtype=np.float64)
    weights: Floats = counted / units.groupby(units.to_numpy()).transform("size").to_numpy()
    return weights


def identity_weights(identity: Codes, side: Floats) -> Floats:
    """Return weights ``[n]`` under which every identity weighs 1 in its group, however often it was rated.

    Matching takes every identity once. Counting ratings in the unmatched sample instead would compare two estimands:
    that of identities with many images and that of all.
    """
    cell = np.unique(identity * 2 + (side > 0), return_inverse=True)[1]
    weights: Floats = 1.0 / np.bincount(cell)[cell]
    return weights


def linked(ends: npt.NDArray[np.str_], names: pd.Index) -> Codes:
    """Return for each identity of ``names`` the code of the cluster that matched pairs ``[m, 2]`` link it into."""
    rows, columns = (names.get_indexer(pd.Index(ends[:, column])) for column in (0, 1))
    graph = coo_array((np.ones(len(ends)), (rows, columns)), shape=(len(names), len(names)))
    return connected_components(graph, directed=False)[1].astype(np.int64)
