"""How often intervals hold the truth: planted tables, many seeds, and the naive interval beside.

    python benchmarks/coverage.py [--only NAME] [--first 200000] [--keep parts.csv] [--write docs/coverage.md]

Every experiment draws tables whose true values are known (likewise.world.planted), calls the public function on them,
and counts how often the 95 % interval holds the truth. Naive means: the same estimate with the interval that takes
every row for independent (or, for slopes, the paper's line through the rates).
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import stats
from scipy.special import ndtri

import likewise as lw
from likewise.analyse.agreement import agreement
from likewise.analyse.features import kernel_distance
from likewise.analyse.gaps import gaps
from likewise.analyse.image_quality import feature_distances, inception_scores
from likewise.analyse.panel import panel
from likewise.analyse.quality import mixed_quality, quality
from likewise.analyse.representation import representation
from likewise.analyse.resample import bootstrap
from likewise.analyse.scales import scales
from likewise.analyse.shares import wilson
from likewise.analyse.skin_tone import tone_agreement
from likewise.analyse.slope_tests import slope_tests
from likewise.analyse.slopes import slopes
from likewise.analyse.verification import det, verification
from likewise.world.planted import CONTRAST, LEVELS, Crowd, Recognition, Turned
from likewise.world.planted_people import TONE, Classes, Features, Leaning, Steps, Tones

Floats = npt.NDArray[np.float64]
RATE = 0.01


class Outcome(NamedTuple):
    """One interval and what it should hold."""

    name: str
    truth: float
    low: float
    high: float
    naive: tuple[float, float] | None


def _ends(found: pd.DataFrame, **where: str) -> tuple[float, float, float, int]:
    hit = np.logical_and.reduce(
        [np.ones(len(found), dtype=bool)] + [found[name].to_numpy() == value for name, value in where.items()]
    )
    row = found.iloc[int(np.flatnonzero(hit)[0])]
    return float(row["estimate"]), float(row["low"]), float(row["high"]), int(row["n"])


def _normal(mean: float, variance: float) -> tuple[float, float]:
    half = 1.96 * variance**0.5
    return mean - half, mean + half


def recognition(n: int, seed: int) -> Iterator[Outcome]:
    """Four genuine trials an identity, impostor trials that share identities."""
    world = Recognition(n, seed, impostors=8)
    ratings, trials, faces, pairs = world.tables()
    frame = trials.frame
    same = lw.Pairs(frame[frame["same"].astype(bool)])
    own = lw.Ratings(ratings.frame[ratings.frame["unit"].isin(same.frame["pair"])])
    side = own.frame["unit"].str.split("|").str[0].map(CONTRAST.side(faces)).to_numpy()
    d = own.frame["value"].to_numpy()
    crude, alike = world.gaps
    plain = gaps(own, same, faces, CONTRAST, pairs=pairs).frame
    naive = d[side == 1].var(ddof=1) / (side == 1).sum() + d[side == -1].var(ddof=1) / (side == -1).sum()
    gap, low, high, _ = _ends(plain, stat="gap", sample="all")
    yield Outcome("gap of a mean (jackknife by identity)", crude, low, high, _normal(gap, float(naive)))
    gap, low, high, _ = _ends(plain, stat="gap", sample="matched")
    yield Outcome("matched gap (jackknife by pair)", alike, low, high, None)
    _, low, high, _ = _ends(plain, stat="share_gone")
    if np.isfinite(low):  # without a crude gap to speak of there is no interval, and the row says so
        yield Outcome("share of the gap that goes away (Fieller)", 1 - alike / crude, low, high, None)


def operating(n: int, seed: int) -> Iterator[Outcome]:
    """The same, at a threshold that is set on the impostor trials."""
    world = Recognition(n, seed, impostors=8)
    ratings, trials, faces, _ = world.tables()
    rates = verification(ratings, trials, faces, CONTRAST, rates=[RATE]).frame
    true = world.fnmr(RATE)
    for group in ("female", "male"):
        share, low, high, count = _ends(rates, stat="fnmr", group=group)
        yield Outcome(
            f"FNMR at FMR 1e-2, {group} (clustered)", true[group], low, high, wilson(share, count, level=0.95)
        )
    gap, low, high, _ = _ends(rates, stat="gap")
    p, q = (_ends(rates, stat="fnmr", group=group) for group in ("female", "male"))
    naive = p[0] * (1 - p[0]) / p[3] + q[0] * (1 - q[0]) / q[3]
    yield Outcome("gap in FNMR (clustered, Newcombe)", true["female"] - true["male"], low, high, _normal(gap, naive))
    share, low, high, count = _ends(rates, stat="fmr", group="within female")
    yield Outcome("FMR within a group (clustered)", RATE, low, high, wilson(share, count, level=0.95))
    _, low, high, _ = _ends(rates, stat="max_min", group="FNMR, all groups")
    if np.isfinite(low):  # too few errors bound no ratio, and the row says so
        yield Outcome("max / min of FNMR (clustered)", true["female"] / true["male"], low, high, None)
        _, low, high, _ = _ends(rates, stat="gini", group="FNMR, all groups")
        truth = (true["female"] - true["male"]) / (true["female"] + true["male"])
        yield Outcome("Gini coefficient of FNMR (clustered)", truth, low, high, None)
    curve = det(ratings, trials, faces, CONTRAST, points=3).where(group="female").frame
    for place, quantity in zip(("at FMR 0.5", "in the middle", "at its lowest FMR"), curve["quantity"], strict=True):
        _, low, high, _ = _ends(curve, quantity=quantity)
        truth = world.fnmr(float(quantity.rsplit(" ", 1)[-1]))["female"]
        yield Outcome(f"DET curve {place} (clustered)", truth, low, high, None)


def turned(n: int, seed: int) -> Iterator[Outcome]:
    """Five faces an identity, each at five levels."""
    world = Turned(n, seed, faces_each=5)
    ratings, faces = world.tables()
    found, tests = slopes(ratings, faces, threshold=0.5).frame, slope_tests(ratings, faces, threshold=0.5).frame
    y = ratings.frame["value"].to_numpy().reshape(-1, len(LEVELS)).mean(axis=0)
    line = stats.linregress(np.array(LEVELS), y / y[2])
    half = stats.t.ppf(0.975, 3) * line.stderr
    _, low, high, count = _ends(found, stat="slope")
    naive = (line.slope - half, line.slope + half)
    yield Outcome("slope of a label (jackknife by identity)", world.relative, low, high, naive)
    share, low, high, _ = _ends(found, stat="rate", group="level +0")
    yield Outcome(
        "label rate (jackknife by identity, Wilson)", world.middle, low, high, wilson(share, count, level=0.95)
    )
    _, low, high, _ = _ends(tests, stat="log_odds_slope")
    yield Outcome("slope of the log odds (GEE logit)", world.log_odds_slope, low, high, None)


def crowd(n: int, seed: int) -> Iterator[Outcome]:
    """Ten answers an image, twenty a rater: n images and n / 2 raters."""
    world = Crowd(n, n // 2, seed, each=10, passes=(0.42, 0.52), misses=0.42, image_reach=0.25, rater_reach=0.15)
    ratings, faces = world.tables()
    found = quality(ratings, faces, TONE, made_by="made_by", generated="generator").frame
    (darker, lighter), miss = world.passes, world.misses
    share, low, high, count = _ends(found, stat="pass_rate", group="darker")
    yield Outcome("pass rate (jackknife, crossed)", darker, low, high, wilson(share, count, level=0.95))
    other, *_, others = _ends(found, stat="pass_rate", group="lighter")
    naive = share * (1 - share) / count + other * (1 - other) / others
    gap, low, high, _ = _ends(found, stat="gap", quantity="people: judged_real, pass_rate")
    yield Outcome("gap in pass rate (jackknife, crossed)", darker - lighter, low, high, _normal(gap, naive))
    _, low, high, _ = _ends(found, stat="quality", group="darker")
    yield Outcome("quality (jackknife, crossed)", darker / (1 - miss), low, high, None)
    _, low, high, _ = _ends(found, stat="d_prime", group="darker")
    yield Outcome("d' (jackknife, crossed)", float(ndtri(1 - darker) - ndtri(miss)), low, high, None)
    _, low, high, _ = _ends(found, stat="log_odds_gap")
    truth = float(np.log(darker / (1 - darker)) - np.log(lighter / (1 - lighter)))
    yield Outcome("gap in log odds (GEE logit, crossed)", truth, low, high, None)
    _, low, high, _ = _ends(agreement(ratings, question="judged_real").frame, stat="alpha")
    yield Outcome("Krippendorff's alpha (jackknife by unit)", world.alpha, low, high, None)


def resampled(n: int, seed: int) -> Iterator[Outcome]:
    """A skewed answer, three rows a cluster; and a grid of n raters and n units, a tenth of it filled."""
    rng = np.random.default_rng(seed)
    codes = np.repeat(np.arange(n), 3)
    y = rng.exponential(1, n)[codes] + rng.normal(0, 0.5, 3 * n)
    columns = np.column_stack([np.ones(len(y)), y])
    found = bootstrap(columns, _mean, [codes], level=0.95, seed=seed, resamples=500)
    naive = _normal(float(y.mean()), float(y.var(ddof=1)) / len(y))
    yield Outcome("mean of skewed answers (cluster bootstrap)", 1.0, found.low, found.high, naive)
    rater, unit = (rng.integers(0, n, 10 * n) for _ in range(2))
    rater, unit = (np.unique(code, return_inverse=True)[1].astype(np.int64) for code in (rater, unit))
    y = rng.normal(0, 0.5, n)[rater] + rng.normal(0, 0.7, n)[unit] + rng.normal(0, 1, len(rater))
    columns = np.column_stack([np.ones(len(y)), y])
    found = bootstrap(columns, _mean, [rater, unit], level=0.95, seed=seed, resamples=500)
    naive = _normal(float(y.mean()), float(y.var(ddof=1)) / len(y))
    yield Outcome("mean of crossed answers (crossed bootstrap)", 0.0, found.low, found.high, naive)


def _mean(total: Floats) -> Floats:
    mean: Floats = total[..., 1] / total[..., 0]
    return mean


def shown(n: int, seed: int) -> Iterator[Outcome]:
    """Three photographs of each of n people, under one term."""
    rng = np.random.default_rng(seed)
    chance = rng.choice([0.05, 0.75], n, p=[0.6, 0.4])
    who = np.repeat(np.arange(n), 3)
    woman = rng.random(3 * n) < chance[who]
    frame = pd.DataFrame({"image": [f"i{k}" for k in range(3 * n)], "identity": [f"p{k}" for k in who]})
    faces = lw.Faces(frame.assign(search_term="nurse", perceived_gender=np.where(woman, "woman", "man")))
    found = representation(faces, term="search_term", attribute="perceived_gender", share_of="woman").frame
    share, low, high, count = _ends(found, stat="share")
    yield Outcome("share under a term (Wilson by identity)", 0.33, low, high, wilson(share, count, level=0.95))


def leaning(n: int, seed: int) -> Iterator[Outcome]:
    """Eight answers an image in log odds: n images, half as many raters but no more than 60."""
    world = Leaning(n, min(n // 2, 60), seed)
    ratings, faces = world.tables()
    try:
        found = mixed_quality(ratings, faces, TONE, made_by="made_by", generated="generator").frame
    except lw.LikewiseError:  # there is no fit, and the error says so
        return
    _, low, high, _ = _ends(found, stat="mixed_log_odds_gap")
    generated = faces.frame["made_by"].eq("generator")
    y = ratings.frame["value"].to_numpy().reshape(n, -1)[generated]
    (p, k), (q, m) = ((part.mean(), part.size) for part in (y[::2], y[1::2]))
    plain = float(np.log(p / (1 - p)) - np.log(q / (1 - q)))
    naive = _normal(plain, float(1 / (k * p * (1 - p)) + 1 / (m * q * (1 - q))))
    yield Outcome("gap in log odds, one image and rater (mixed logit)", world.gap, low, high, naive)


def steps(n: int, seed: int) -> Iterator[Outcome]:
    """Eight answers an image in four steps: n images and n / 2 raters."""
    world = Steps(n, n // 2, seed)
    ratings, faces = world.tables()
    found = scales(ratings, faces, TONE, question="how_sure").frame
    value = ratings.frame["value"].to_numpy().reshape(n, -1)
    focal, reference = (value[k::2].ravel() for k in (0, 1))
    test = stats.mannwhitneyu(focal, reference)
    chance = float(test.statistic) / (focal.size * reference.size)
    naive = _normal(chance, (focal.size + reference.size + 1) / (12 * focal.size * reference.size))
    _, low, high, _ = _ends(found, stat="superiority")
    yield Outcome("superiority of ordinal answers (jackknife, crossed)", world.superiority, low, high, naive)
    mean, low, high, _ = _ends(found, stat="mean", group="darker")
    truth = float(world.shares[0] @ np.arange(1, 5))
    naive = _normal(mean, float(focal.var(ddof=1)) / focal.size)
    yield Outcome("mean of ordinal answers (jackknife, crossed)", truth, low, high, naive)
    yes = lw.Ratings(ratings.frame.assign(value=(ratings.frame["value"] > 2).astype(float)))
    kind = dict(faces.attribute("perceived_skin_tone"))
    found = panel(yes, kind, question="how_sure", compare=("darker", "lighter")).frame
    true = [float(part[2:].sum()) for part in world.shares]
    share, low, high, count = _ends(found, stat="share", group="darker")
    yield Outcome("panel: share of yes (jackknife, crossed)", true[0], low, high, wilson(share, count, level=0.95))
    other, *_ = _ends(found, stat="share", group="lighter")
    gap, low, high, _ = _ends(found, stat="gap")
    naive = _normal(gap, share * (1 - share) / count + other * (1 - other) / count)
    yield Outcome("panel: gap in shares (jackknife, crossed)", true[0] - true[1], low, high, naive)


def tones(n: int, seed: int) -> Iterator[Outcome]:
    """Eight answers an image about its tone: n images and n / 2 raters."""
    world = Tones(n, n // 2, seed)
    ratings, faces = world.tables()
    r, low, high, _ = _ends(tone_agreement(ratings, faces, question="tone", measured="measured_ita").frame)
    half = 1.96 / (n - 3) ** 0.5
    naive = (float(np.tanh(np.arctanh(r) - half)), float(np.tanh(np.arctanh(r) + half)))
    yield Outcome("rank correlation of tones (influence, crossed)", world.correlation, low, high, naive)


def pictures(n: int, seed: int) -> Iterator[Outcome]:
    """Two real and two generated pictures an identity, n / 2 identities of each in a group."""
    world = Features(n, seed)
    found = feature_distances(*world.tables(), TONE, made_by="made_by", generated="generator", permutations=0).frame
    values, faces = world.tables()
    mine = faces.frame["perceived_skin_tone"].eq("darker").to_numpy()
    fake = faces.frame["made_by"].eq("generator").to_numpy()
    own, other = (values.values[mine & kind].astype(np.float64) for kind in (fake, ~fake))
    naive = _normal(*kernel_distance(own, other))
    _, low, high, _ = _ends(found, stat="kid", group="darker")
    yield Outcome("KID (U-statistic, jackknife by identity)", world.kid, low, high, naive)
    classes = Classes(n, seed)
    found = inception_scores(*classes.tables(), TONE, made_by="made_by", generated="generator").frame
    _, low, high, _ = _ends(found, stat="inception_score", sample="generated", group="darker")
    yield Outcome("Inception Score (jackknife by identity)", classes.score, low, high, None)


EXPERIMENTS: dict[str, Callable[[int, int], Iterator[Outcome]]] = {
    "recognition": recognition,
    "operating": operating,
    "turned": turned,
    "crowd": crowd,
    "resampled": resampled,
    "shown": shown,
    "leaning": leaning,
    "steps": steps,
    "tones": tones,
    "pictures": pictures,
}


def coverage(experiment: str, n: int, seeds: int, first: int = 0) -> pd.DataFrame:
    """Return for each estimator how often its interval, and the naive one, held the truth."""
    rows = [
        (one.name, one.low <= one.truth <= one.high, one.naive[0] <= one.truth <= one.naive[1] if one.naive else np.nan)
        for seed in range(first, first + seeds)
        for one in EXPERIMENTS[experiment](n, seed)
    ]
    frame = pd.DataFrame(rows, columns=["estimator", "held", "naive"])
    table = frame.groupby("estimator", sort=False).agg(
        seeds=("held", "size"), held=("held", "mean"), naive=("naive", "mean")
    )
    return table.reset_index().assign(clusters=n)


def as_markdown(table: pd.DataFrame) -> str:
    """Draw one line an estimator, its coverage at each number of clusters and the naive one after a stroke."""
    sizes = sorted(table["clusters"].unique())
    lines = ["| estimator | " + " | ".join(f"{n} clusters" for n in sizes) + " |", "|---|" + "---|" * len(sizes)]
    for name, part in table.groupby("estimator", sort=False):
        cells = []
        for n in sizes:
            here = part[part["clusters"] == n]
            if here.empty:
                cells.append("not run")
                continue
            row = here.iloc[0]
            naive = "" if pd.isna(row["naive"]) else f" / {100 * float(row['naive']):.1f}"
            fewer = "" if row["seeds"] == 1000 else f" ({row['seeds']} seeds)"
            cells.append(f"{100 * float(row['held']):.1f}{naive}{fewer}")
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _newest(parts: list[pd.DataFrame]) -> pd.DataFrame:
    return pd.concat(parts, ignore_index=True).drop_duplicates(["estimator", "clusters"], keep="last")


def main() -> None:
    """Run all experiments and print, or write, the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0, help="the first seed; fresh ones judge what old ones tuned")
    parser.add_argument("--clusters", type=int, nargs="*", default=[50, 200, 1000], help="none: only draw the kept")
    parser.add_argument("--only", choices=sorted(EXPERIMENTS))
    parser.add_argument("--keep", type=Path, help="CSV to which results are added; the table is drawn from all of it")
    parser.add_argument("--write", type=Path, help="file in which the table between the marks is replaced")
    options = parser.parse_args()
    parts = [pd.read_csv(options.keep)] if options.keep and options.keep.exists() else []
    for n in options.clusters:
        for experiment in [options.only] if options.only else list(EXPERIMENTS):
            start = time.monotonic()
            parts.append(coverage(experiment, n, options.seeds, options.first))
            print(f"{experiment}, {n} clusters: {time.monotonic() - start:.0f} s", flush=True)
            print(parts[-1].round(3).to_string(index=False), flush=True)
            if options.keep:
                _newest(parts).to_csv(options.keep, index=False)
    text = as_markdown(_newest(parts))
    print(text)
    if options.write:
        whole = options.write.read_text(encoding="utf-8")
        before, rest = whole.split("<!-- table -->\n", 1)
        after = rest.split("<!-- end -->", 1)[1]
        options.write.write_text(f"{before}<!-- table -->\n{text}\n<!-- end -->{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
