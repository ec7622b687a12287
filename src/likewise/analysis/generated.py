"""Whom a text-to-image model draws: shares by term, amplification of a benchmark, paired prompts.

Images of one prompt are more similar than images of different prompts, so the share of a term that several prompts
describe is clustered by prompt. With one prompt a term, each seed is an independent draw, and the share describes that
prompt only.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np
import numpy.typing as npt
import pandas as pd

from likewise.errors import SpecError, TableError, some
from likewise.stats.intervals import Interval, share_interval
from likewise.stats.jackknife import jackknife
from likewise.tables import Estimates, Images
from likewise.tables.estimates import row

Floats = npt.NDArray[np.float64]
_FEWEST = 2  # prompts of a term, or images of a prompt, that an interval needs


def generated_shares(
    images: Images,
    *,
    attribute: str,
    share_of: str,
    term: str = "term",
    prompt: str = "prompt",
    benchmark: Mapping[str, float] | None = None,
    level: float = 0.95,
) -> Estimates:
    """Estimate for each term the share of generated images whose ``attribute`` is ``share_of``.

    Parameters
    ----------
    images
        One row a generated image. Images without the attribute (no person was detected, or several) are excluded;
        ``people_counts`` reports them.
    attribute, share_of
        A perceived or predicted attribute and the level whose share is estimated.
    term, prompt
        The columns that hold the term and the prompt of an image.
    benchmark
        A share for every term, taken as known. Adds the difference from it (``reference_gap``) and, over all terms, the
        ``amplification``: the mean distance by which shares lie beyond the benchmark, away from one half.
    level
        Confidence level.

    Returns
    -------
    Estimates
        ``share`` and ``reference_gap`` by term, ``amplification`` over all terms.

    Examples
    --------
    >>> import pandas as pd
    >>> rows = [(f"{p}-{s}", "doctor", p, "male" if s else "female") for p in ("a", "b", "c") for s in range(5)]
    >>> frame = pd.DataFrame(rows, columns=["image", "term", "prompt", "predicted_gender"]).assign(identity="x")
    >>> about = {"attribute": "predicted_gender", "share_of": "male", "benchmark": {"doctor": 0.6}}
    >>> found = generated_shares(Images(frame), **about)
    >>> found.where(stat="share").frame["estimate"].tolist()
    [0.8]
    """
    frame = _rows(images, attribute, share_of, term, prompt)
    _check_benchmark(benchmark, frame["term"].unique())
    quantity, rows = f"{attribute}: {share_of}", []
    for name, part in frame.groupby("term", sort=True):
        found, method = _share(part, level)
        write = partial(row, quantity, sample="generated", group=str(name), n=len(part), method=method, level=level)
        rows.append(write("share", found=found))
        if benchmark is not None:
            known = float(benchmark[str(name)])
            gap = Interval(found.estimate - known, found.low - known, found.high - known, found.clusters)
            rows.append(write("reference_gap", found=gap))
    if benchmark is not None and frame["term"].nunique() >= _FEWEST:
        rows.append(_amplification(quantity, frame, benchmark, level))
    return Estimates.of(rows)


def people_counts(
    images: Images, *, column: str = "people", term: str = "term", prompt: str = "prompt", level: float = 0.95
) -> Estimates:
    """Estimate by term the share of images that show no person, one, or several; clustered by prompt.

    ``column`` holds the number of people that a detector found. A table without prompts has one prompt a term.

    Examples
    --------
    >>> import pandas as pd
    >>> rows = {"image": list("abcd"), "identity": "x", "term": "doctor", "prompt": list("ppqq")}
    >>> found = people_counts(Images(pd.DataFrame({**rows, "people": [1, 0, 1, 2]})))
    >>> dict(zip(found.frame["group"], found.frame["estimate"]))
    {'doctor: none': 0.25, 'doctor: one': 0.5, 'doctor: several': 0.25}
    """
    counts = pd.to_numeric(images.attribute(column), errors="coerce")
    prompts = images.attribute(prompt) if prompt in images.attributes else "one"
    frame = pd.DataFrame({"term": images.attribute(term).astype(str), "prompt": prompts, "count": counts}).dropna()
    if frame.empty:
        raise TableError(f"No image has a number of people in column {column!r}", fix="Fill that column.")
    rows = []
    for name, part in frame.groupby("term", sort=True):
        for group, hit in (("none", part["count"] == 0), ("one", part["count"] == 1), ("several", part["count"] > 1)):
            found, method = _share(part.assign(hit=hit.astype(float)), level)
            write = partial(row, "people in the image", "share", "generated", f"{name}: {group}")
            rows.append(write(found, n=len(part), method=method, level=level))
    return Estimates.of(rows)


def paired_prompts(
    images: Images, *, value: str, pair: str = "pair", variant: str = "variant", seed: str = "seed", level: float = 0.95
) -> Estimates:
    """Estimate the difference of ``value`` between the two prompts of each pair ("female doctor" less "doctor").

    Images of one pair and one seed are compared with each other. The interval is a jackknife over seeds within a pair,
    and over pairs for the mean of all pairs.
    """
    frame = pd.DataFrame({name: images.attribute(name) for name in (value, pair, variant, seed)}).dropna()
    variants = sorted(frame[variant].astype(str).unique())
    if len(variants) != 2:
        raise TableError(
            f"Column {variant!r} must have two levels, not {len(variants)} ({some(variants)})",
            fix="Keep two variants, or compare them two by two.",
        )
    wide = frame.assign(**{value: pd.to_numeric(frame[value], errors="coerce")}).pivot_table(
        index=[pair, seed], columns=variant, values=value
    )
    gap = (wide[variants[1]] - wide[variants[0]]).dropna()
    if gap.empty:
        raise TableError(
            "No pair of prompts has an image of both variants with the same seed",
            fix="Draw both variants with the same seeds.",
        )
    group, rows = f"{variants[1]} - {variants[0]}", []
    for name, part in gap.groupby(level=0, sort=True):
        if len(part) >= _FEWEST:
            rows.append(_mean_row(value, f"{name}: {group}", part.to_numpy(), np.arange(len(part)), "seed", level))
    codes = pd.factorize(gap.index.get_level_values(0))[0]
    if codes.max() >= 1:
        rows.append(_mean_row(value, f"all pairs: {group}", gap.to_numpy(), codes, "pair", level))
    return Estimates.of(rows)


def _mean_row(
    value: str, group: str, values: Floats, codes: npt.NDArray[np.int64], by: str, level: float
) -> dict[str, object]:
    columns = np.column_stack([np.ones(len(values)), values])
    found = jackknife(columns, lambda total: total[..., 1] / total[..., 0], [codes], level=level)
    return row(value, "gap", "paired prompts", group, found, n=len(values), method=f"jackknife by {by}", level=level)


def _rows(images: Images, attribute: str, share_of: str, term: str, prompt: str) -> pd.DataFrame:
    frame = pd.DataFrame(
        {"term": images.attribute(term), "prompt": images.attribute(prompt), "hit": images.attribute(attribute)}
    ).dropna()
    if frame.empty:
        raise TableError(
            f"No generated image has a value of {attribute!r}", fix="Fill that column, or name another attribute."
        )
    known = sorted(frame["hit"].astype(str).unique())
    if share_of not in known:
        raise SpecError(
            f"No generated image is {share_of!r} in {attribute!r} (values: {some(known)})",
            fix="Name one of these values.",
        )
    return frame.assign(term=frame["term"].astype(str), hit=(frame["hit"].astype(str) == share_of).astype(float))


def _share(part: pd.DataFrame, level: float) -> tuple[Interval, str]:
    """Return the share of one term, clustered by prompt where it has several."""
    prompts, share, n = int(part["prompt"].nunique()), float(part["hit"].mean()), len(part)
    if prompts >= _FEWEST:
        away = (part["hit"] - share).groupby(part["prompt"]).sum()
        variance, clusters, by = float((away**2).sum()) / n**2 * prompts / (prompts - 1), prompts, "by prompt"
    else:
        variance, clusters, by = share * (1 - share) / n, n, "by image"
    low, high, word = share_interval(share, variance, n=n, clusters=clusters, level=level)
    return Interval(share, low, high, clusters), f"Wilson {by}" + (f"; {word}" if word else "")


def _amplification(
    quantity: str, frame: pd.DataFrame, benchmark: Mapping[str, float], level: float
) -> dict[str, object]:
    """Average over terms how far the share lies beyond the benchmark, away from one half; jackknife over terms."""
    shares = frame.groupby("term")["hit"].mean()
    known = np.array([float(benchmark[name]) for name in shares.index])
    beyond = (shares.to_numpy() - known) * np.sign(known - 0.5)
    columns = np.column_stack([np.ones(len(beyond)), beyond])
    found = jackknife(columns, lambda total: total[..., 1] / total[..., 0], [np.arange(len(beyond))], level=level)
    method = "jackknife by term"
    return row(quantity, "amplification", "generated", "all terms", found, n=len(frame), method=method, level=level)


def _check_benchmark(benchmark: Mapping[str, float] | None, terms: npt.NDArray[np.object_]) -> None:
    if benchmark is None:
        return
    missing = sorted(set(map(str, terms)) - set(benchmark))
    if missing:
        raise SpecError(
            f"The benchmark has no share for {some(missing)}",
            fix="Add them.",
        )
    wrong = [name for name, share in benchmark.items() if not 0 <= share <= 1]
    if wrong:
        raise SpecError(
            f"A benchmark share must be between 0 and 1; it is not for {some(wrong)}", fix="Divide percentages by 100."
        )
