"""Shares by term, corrected for errors of the networks that predict the attribute, by labels of a random part.

The difference estimator of two-phase sampling, as in ``label_noise``: the mean of what the predictions say, calibrated
on all labels, plus the mean error of the labeled images of the term. It is unbiased whatever the predictions are,
because the labeled part is random by design.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
import pandas as pd

from likewise.analysis.generated.clustering import clustered_share, clustered_variance, joined
from likewise.analysis.generated.shares import amplification, benchmark_gap, check_benchmark, hits
from likewise.analysis.label_noise import CORRECTED
from likewise.errors import TableError, some
from likewise.stats.intervals import Interval, share_interval
from likewise.tables import Estimates, Images
from likewise.tables.estimates import remarked, row

FEWEST, FEWEST_TERM, FEWEST_EACH = 30, 15, 5
"""Labels in all, labels of a term, and labels of either kind, below which nothing is corrected."""
_METHOD = "two-phase difference estimator"


def corrected_shares(
    images: Images,
    *,
    attribute: str,
    share_of: str,
    labels: Mapping[str, str],
    benchmark: Mapping[str, float] | None = None,
    levels: Sequence[str] = (),
    level: float = 0.95,
) -> Estimates:
    """Estimate shares by term and over all terms when the attribute is predicted and a random part is labeled.

    Parameters
    ----------
    images
        Generated images with ``term``, ``prompt``, the predicted ``attribute`` and, if known, ``seed``.
    attribute, share_of
        The predicted attribute and the level whose share is estimated.
    labels
        What people said about a *random* part of the images, by image.
    benchmark
        As in ``generated_shares``; the difference from it and the amplification are corrected as well.
    levels
        Values that the attribute can have although no image has them.
    level
        Confidence level.

    Returns
    -------
    Estimates
        ``share`` (sample ``corrected for label noise``) of each term with enough labels and of all terms together,
        ``reference_gap``, ``amplification``, and ``label_accuracy`` by predicted level (sample ``labeled``).
    """
    frame = hits(images, attribute, share_of, levels, {"term": "term", "prompt": "prompt", "seed": "seed"})
    frame = _labeled(frame, labels, images, share_of)
    check_benchmark(benchmark, frame["term"].unique())
    quantity, parts, terms = f"{attribute}: {share_of}", dict[str, pd.DataFrame](), int(frame["term"].nunique())
    others = sorted({*images.attribute(attribute).dropna().astype(str), *levels} - {share_of})
    rows = _accuracy(quantity, frame, share_of, others[0] if len(others) == 1 else "other", level)
    for name, part in frame.groupby("term", sort=True):
        if int(part["labeled"].sum()) >= min(FEWEST_TERM, len(part)):
            parts[str(name)] = _rectified(part)
            rows.append(_term_row(quantity, parts[str(name)], level))
            if benchmark is not None:
                gap = benchmark_gap(quantity, parts[str(name)], float(benchmark[str(name)]), CORRECTED, level, terms)
                rows.append({**gap, "method": f"{_METHOD}, {gap['method']}"})
    rows.append(_whole(quantity, frame, level))
    if benchmark is not None and len(parts) == frame["term"].nunique() >= 2:
        shares = pd.Series({name: part["hit"].mean() for name, part in parts.items()})
        line = amplification(quantity, shares, benchmark, n=len(frame), sample=CORRECTED, level=level)
        rows.append({**line, "method": f"{_METHOD}, {line['method']}"})
    return Estimates.of(rows)


def _labeled(frame: pd.DataFrame, labels: Mapping[str, str], images: Images, share_of: str) -> pd.DataFrame:
    """Add ``labeled``, ``true`` and ``chance``: how likely the level is, given the prediction."""
    unknown = sorted(set(labels) - set(images.keys))
    if unknown:
        raise TableError(f"Labels of unknown images: {some(unknown)}", fix="Labels belong to images of this folder.")
    said = frame.index.to_series().map(dict(labels))
    labeled = said.notna()
    if int(labeled.sum()) < FEWEST:
        problem = f"Only {int(labeled.sum())} images with one person are labeled"
        raise TableError(problem, fix=f"Label at least {FEWEST}, drawn at random.")
    true = said.astype(str).eq(share_of).astype(float)
    if share_of not in set(map(str, labels.values())):
        raise TableError(f"No label is {share_of!r} (labels: {some(sorted(set(labels.values())))})",
                         fix="Labels use the levels of the attribute.")  # fmt: skip
    fewest = int(min(true[labeled].sum(), (1 - true[labeled]).sum()))
    if fewest < FEWEST_EACH:
        problem = f"Only {fewest} labels are of the rarer of {share_of!r} and the rest"
        raise TableError(problem, fix=f"Label more images, drawn at random: at least {FEWEST_EACH} of each.")
    chance = frame["hit"].copy()
    for value in (0.0, 1.0):
        seen = labeled & (frame["hit"] == value)
        if seen.any():
            chance[frame["hit"] == value] = float(true[seen].mean())
    return frame.assign(labeled=labeled, true=true, chance=chance)


def _rectified(part: pd.DataFrame) -> pd.DataFrame:
    """Return the part with values whose mean is the corrected share."""
    known = part["labeled"].mean()
    return part.assign(hit=part["chance"] + part["labeled"] * (part["true"] - part["chance"]) / known)


def _term_row(quantity: str, part: pd.DataFrame, level: float) -> dict[str, object]:
    found, method = clustered_share(part, level)
    write = partial(row, quantity, "share", CORRECTED, str(part["term"].iloc[0]), n=len(part), level=level)
    return write(found, method=f"{_METHOD}, {method}")


def _whole(quantity: str, frame: pd.DataFrame, level: float) -> dict[str, object]:
    """Return the mean over terms; errors of the predictions are averaged over all labels, whatever their term."""
    weight = 1.0 / frame.groupby("term")["term"].transform("size")  # every term weighs the same
    weight = weight / weight.mean()
    sampled = float((weight * frame["labeled"]).sum() / weight.sum())
    value = weight * (frame["chance"] + frame["labeled"] * (frame["true"] - frame["chance"]) / sampled)
    parts = [part.assign(hit=value.loc[part.index]) for _, part in frame.groupby("term", sort=True)]
    found = [clustered_variance(part) for part in parts]
    sizes = np.array([len(part) / len(frame) * len(parts) for part in parts])
    variance, dof = joined(np.array([each[0] for each in found]) * sizes**2, np.array([each[2] for each in found]))
    share, clusters = float(np.clip(value.mean(), 0.0, 1.0)), sum(each[1] for each in found)
    low, high, word = share_interval(share, variance, n=len(frame), clusters=clusters, level=level, dof=dof)
    method = remarked(f"{_METHOD}, mean over terms, Wilson", word)
    interval = Interval(share, low, high, clusters)
    return row(quantity, "share", CORRECTED, "all terms", interval, n=len(frame), method=method, level=level)


def _accuracy(quantity: str, frame: pd.DataFrame, share_of: str, other: str, level: float) -> list[dict[str, object]]:
    """Report by predicted level which share of the predictions people confirm."""
    rows = []
    for value, name in ((1.0, f"predicted {share_of}"), (0.0, f"predicted {other}")):
        part = frame[frame["labeled"] & (frame["hit"] == value)]
        if len(part) > 1:
            right = part.assign(hit=(part["true"] == value).astype(float))
            found, method = clustered_share(right, level)
            write = partial(row, quantity, "label_accuracy", "labeled", name, n=len(part), level=level)
            rows.append(write(found, method=method))
    return rows
