"""Intersections: the share of each combination of attributes, by term and over all terms."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
import pandas as pd

from likewise.analysis.generated.clustering import clustered_share, clustered_variance, joined
from likewise.errors import TableError, some
from likewise.stats.intervals import Interval, share_interval
from likewise.tables import Estimates, Images
from likewise.tables.estimates import remarked, row

ALL = "all terms"
_MOST = 60  # combinations, beyond which a table tells nothing


def intersection_shares(
    images: Images, *, by: Sequence[str], term: str = "term", prompt: str = "prompt", level: float = 0.95
) -> Estimates:
    """Estimate the share of every combination of attributes that occurs, by term and over all terms.

    Over all terms each term weighs the same: the terms are those that were asked about, not a sample of others.

    Parameters
    ----------
    images
        One row a generated image; images that lack one of the attributes are left out.
    by
        Columns, e.g. ``["predicted_gender", "measured_tone"]``. One column gives the shares of all its levels.
    term, prompt
        The columns that hold the term and the prompt of an image; seeds are in the column ``seed``, if there is one.
    level
        Confidence level; intervals are not adjusted for the number of combinations.

    Examples
    --------
    >>> rows = {"image": list("abcd"), "identity": "x", "term": "doctor", "prompt": list("ppqq")}
    >>> images = Images(pd.DataFrame({**rows, "g": list("fmmm"), "tone": ["light", "light", "dark", "light"]}))
    >>> found = intersection_shares(images, by=["g", "tone"])
    >>> dict(zip(found.frame["group"], found.frame["estimate"]))
    {'doctor: f, light': 0.25, 'doctor: m, dark': 0.25, 'doctor: m, light': 0.5}
    """
    frame = pd.DataFrame({"term": images.attribute(term).astype(str), "prompt": images.attribute(prompt)})
    if "seed" in images.attributes:
        frame["seed"] = images.attribute("seed")
    values = pd.DataFrame({name: images.attribute(name) for name in by}).dropna()
    if values.empty:
        raise TableError(f"No generated image has values of {some(by)}", fix="Fill these columns.")
    frame = frame.loc[values.index].assign(cell=values.astype(str).agg(", ".join, axis=1))
    cells = sorted(frame["cell"].unique())
    if len(cells) > _MOST:
        raise TableError(
            f"{len(cells)} combinations of {some(by)}; at most {_MOST} can be reported",
            fix="Name fewer columns, or columns with fewer levels.",
        )
    quantity = " x ".join(by)
    return Estimates.of([line for cell in cells for line in _cell_rows(quantity, frame, cell, level)])


def _cell_rows(quantity: str, frame: pd.DataFrame, cell: str, level: float) -> list[dict[str, object]]:
    marked = frame.assign(hit=(frame["cell"] == cell).astype(float))
    write = partial(row, quantity, "share", "intersection", level=level)
    parts = list(marked.groupby("term", sort=True))
    rows = []
    for name, part in parts:
        found, method = clustered_share(part, level)
        rows.append(write(f"{name}: {cell}", found, n=len(part), method=method))
    if len(parts) > 1:
        found, word = _over_terms([part for _, part in parts], level)
        rows.append(write(f"{ALL}: {cell}", found, n=len(marked), method=remarked("mean over terms, Wilson", word)))
    return rows


def _over_terms(parts: list[pd.DataFrame], level: float) -> tuple[Interval, str]:
    found = [clustered_variance(part) for part in parts]
    variance, dof = joined(np.array([each[0] for each in found]), np.array([each[2] for each in found]))
    share, n = float(np.mean([part["hit"].mean() for part in parts])), sum(map(len, parts))
    clusters = sum(each[1] for each in found)
    low, high, word = share_interval(share, variance, n=n, clusters=clusters, level=level, dof=dof)
    return Interval(share, low, high, clusters), word
