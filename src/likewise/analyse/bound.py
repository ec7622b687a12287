"""What pairs bind together: how much an image counts among look-alikes, and who is left out with whom."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from likewise.tables import Pairs

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]


def of_both(pairs: Pairs, images: pd.Series) -> pd.DataFrame:
    """Return the pairs of which both sides are among the images: without a partner nobody is matched."""
    frame = pairs.frame
    return frame[frame["a"].isin(images) & frame["b"].isin(images)]


def answer_weights(pairs: pd.DataFrame, images: pd.Series) -> Floats:
    """Return how much each answer counts, ``[n]``, from the image that it is about: all answers to one count as one.

    A focal image counts once, the k references of a 1:k set one k-th each. So both sides have the same distribution
    over sets: the gap is the mean over sets of focal less mean reference, which is about the focal images that were
    matched. Who was not answered about leaves its set; the others count for more.
    """
    share = 1 / pairs.groupby("a")["b"].transform("size")
    both = [pd.Series(1.0, index=pairs["a"].unique()), share.groupby(pairs["b"].to_numpy()).sum()]
    counted = images.map(pd.concat(both)).fillna(0.0).to_numpy(dtype=np.float64)
    weights: Floats = counted / images.groupby(images.to_numpy()).transform("size").to_numpy()
    return weights


def linked(ends: npt.NDArray[np.str_], names: pd.Index) -> Codes:
    """Return for each identity of ``names`` the code of the group that pairs of identities ``[m, 2]`` bind it into."""
    rows, columns = (names.get_indexer(pd.Index(ends[:, column])) for column in (0, 1))
    graph = coo_array((np.ones(len(ends)), (rows, columns)), shape=(len(names), len(names)))
    return connected_components(graph, directed=False)[1].astype(np.int64)
