"""Whom a text-to-image model draws: shares by term, amplification of a benchmark, people in the image.

Shares are clustered by prompt and seed: see ``clustering``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
import numpy.typing as npt
import pandas as pd

from likewise.analysis.generated.clustering import clustered_share
from likewise.analysis.labels import simultaneous_level
from likewise.errors import SpecError, TableError, some
from likewise.stats.intervals import Interval
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
    seed: str = "seed",
    benchmark: Mapping[str, float] | None = None,
    levels: Sequence[str] = (),
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
    term, prompt, seed
        The columns that hold the term, the prompt and the seed of an image; a table without seeds is clustered by
        prompt only.
    benchmark
        A share for every term, taken as known. Adds the difference from it (``reference_gap``) and, over all terms, the
        ``amplification``: the mean distance by which shares lie beyond the benchmark, away from one half.
    levels
        Values that the attribute can have. A ``share_of`` that no image has is an error unless it is named here.
    level
        Confidence level.

    Returns
    -------
    Estimates
        ``share`` and ``reference_gap`` by term, the latter simultaneous over the terms (Bonferroni);
        ``amplification`` over all terms.

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
    frame = hits(images, attribute, share_of, levels, {"term": term, "prompt": prompt, "seed": seed})
    check_benchmark(benchmark, frame["term"].unique())
    quantity, rows, terms = f"{attribute}: {share_of}", [], int(frame["term"].nunique())
    for name, part in frame.groupby("term", sort=True):
        found, method = clustered_share(part, level)
        write = partial(row, quantity, sample="generated", group=str(name), n=len(part), method=method, level=level)
        rows.append(write("share", found=found))
        if benchmark is not None:
            rows.append(benchmark_gap(quantity, part, float(benchmark[str(name)]), "generated", level, terms))
    if benchmark is not None and frame["term"].nunique() >= _FEWEST:
        shares = frame.groupby("term")["hit"].mean()
        rows.append(amplification(quantity, shares, benchmark, n=len(frame), sample="generated", level=level))
    return Estimates.of(rows)


def benchmark_gap(
    quantity: str, part: pd.DataFrame, known: float, sample: str, level: float, terms: int
) -> dict[str, object]:
    """Return a term's share less its benchmark; the interval is simultaneous over the terms."""
    each = simultaneous_level(level, terms)
    found, method = clustered_share(part, each)
    gap = Interval(found.estimate - known, found.low - known, found.high - known, found.clusters)
    term = str(part["term"].iloc[0])
    return row(quantity, "reference_gap", sample, term, gap, n=len(part), method=method, level=each)


def people_counts(
    images: Images, *, column: str = "people", term: str = "term", prompt: str = "prompt", level: float = 0.95
) -> Estimates:
    """Estimate by term the share of images that show no person, one, or several; clustered by prompt and seed.

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
    frame = _seeded(frame, images, "seed")
    if frame.empty:
        raise TableError(f"No image has a number of people in column {column!r}", fix="Fill that column.")
    rows = []
    for name, part in frame.groupby("term", sort=True):
        for group, hit in (("none", part["count"] == 0), ("one", part["count"] == 1), ("several", part["count"] > 1)):
            found, method = clustered_share(part.assign(hit=hit.astype(float)), level)
            write = partial(row, "people in the image", "share", "generated", f"{name}: {group}")
            rows.append(write(found, n=len(part), method=method, level=level))
    return Estimates.of(rows)


def hits(
    images: Images, attribute: str, share_of: str, levels: Sequence[str], columns: Mapping[str, str]
) -> pd.DataFrame:
    """Return ``term``, ``prompt``, ``seed`` (if known) and ``hit`` of the images that have a value."""
    frame = pd.DataFrame(
        {"term": images.attribute(columns["term"]), "prompt": images.attribute(columns["prompt"]),
         "hit": images.attribute(attribute)}
    ).dropna()  # fmt: skip
    if frame.empty:
        raise TableError(
            f"No generated image has a value of {attribute!r}", fix="Fill that column, or name another attribute."
        )
    known = sorted({*frame["hit"].astype(str), *levels})
    if share_of not in known:
        raise SpecError(
            f"No generated image is {share_of!r} in {attribute!r} (values: {some(known)})",
            fix="Name one of these values, or add it to levels if it can occur and never does.",
        )
    frame = frame.assign(term=frame["term"].astype(str), hit=(frame["hit"].astype(str) == share_of).astype(float))
    return _seeded(frame, images, columns["seed"])


def _seeded(frame: pd.DataFrame, images: Images, seed: str) -> pd.DataFrame:
    """Add the seeds, where the table has them."""
    return frame.assign(seed=images.attribute(seed).reindex(frame.index)) if seed in images.attributes else frame


def amplification(
    quantity: str, shares: pd.Series, benchmark: Mapping[str, float], *, n: int, sample: str, level: float
) -> dict[str, object]:
    """Average over terms how far the share lies beyond the benchmark, away from one half; jackknife over terms."""
    known = np.array([float(benchmark[str(name)]) for name in shares.index])
    beyond = (shares.to_numpy(dtype=np.float64) - known) * np.sign(known - 0.5)
    columns = np.column_stack([np.ones(len(beyond)), beyond])
    found = jackknife(columns, lambda total: total[..., 1] / total[..., 0], [np.arange(len(beyond))], level=level)
    write = partial(row, quantity, "amplification", sample, "all terms", level=level)
    return write(found, n=n, method="jackknife by term")


def check_benchmark(benchmark: Mapping[str, float] | None, terms: npt.NDArray[np.object_]) -> None:
    """Refuse a benchmark that lacks a term, or has a share that is none."""
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
