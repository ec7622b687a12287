"""Coverage of the intervals: simulated tables with known ground truth, many seeds, and naive intervals beside.

    python -m benchmarks.coverage [--only NAME ...] [--first 200000] [--keep parts.csv ...] [--page before.md]
                                  [--write docs/coverage.md]

Every experiment draws tables whose true values are known (likewise.simulation.system_ratings), calls the public
function on them,
and counts how often the 95 % interval holds the truth. Naive means: the same estimate with the interval that takes
every row for independent (or, for slopes, the paper's line through the rates). A world without an interval, because
the function says that there is too little to estimate it from, is no seed of that cell.
"""

from __future__ import annotations

import argparse
import re
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks import coverage_labels, coverage_models, coverage_people
from benchmarks.coverage_hard import HARD
from benchmarks.coverage_thresholds import THRESHOLDS
from benchmarks.outcome import Outcome

EXPERIMENTS: dict[str, Callable[[int, int], Iterator[Outcome]]] = {
    "recognition": coverage_models.recognition,
    "adjusted": coverage_models.adjusted,
    "missed": coverage_models.missed,
    "operating": coverage_models.operating,
    "lowest": coverage_models.lowest,
    "failing": coverage_models.failing,
    "turned": coverage_labels.turned,
    "shifted": coverage_labels.shifted,
    "legs": coverage_labels.legs,
    "observed": coverage_labels.observed,
    "crowd": coverage_people.crowd,
    "arms": coverage_people.arms,
    "consensus": coverage_people.consensus,
    "resampled": coverage_models.resampled,
    "shown": coverage_people.shown,
    "leaning": coverage_people.leaning,
    "steps": coverage_people.steps,
    "tones": coverage_people.tones,
    "pictures": coverage_people.pictures,
    **HARD,
    **THRESHOLDS,
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


class Kept:
    """Results by chunks of seeds in CSV files, so that a stopped run loses one chunk. New chunks go to the first."""

    def __init__(self, paths: Sequence[Path] = (), page: Path | None = None) -> None:
        self.path = paths[0] if paths else None
        self.frame, *others = [_read(path) for path in paths] or [_read(None)]
        self.others = others
        if page:
            self.others.append(counts_of(page.read_text(encoding="utf-8"), self._all()))

    def _all(self) -> pd.DataFrame:
        return pd.concat([part for part in (self.frame, *self.others) if len(part)] or [self.frame], ignore_index=True)

    def has(self, experiment: str, n: int, first: int) -> bool:
        """Whether the chunk that begins at this seed is there."""
        frame = self._all()
        return bool(((frame["experiment"] == experiment) & (frame["clusters"] == n) & (frame["first"] == first)).any())

    def add(self, experiment: str, n: int, first: int, table: pd.DataFrame) -> None:
        """Add a chunk and write the file; a chunk without any interval has one row without an estimator."""
        if table.empty:
            table = pd.DataFrame({"estimator": [_NONE], "seeds": [0], "held": [np.nan], "naive": [np.nan]})
        new = table.assign(experiment=experiment, clusters=n, first=first)[_COLUMNS]
        self.frame = new if self.frame.empty else pd.concat([self.frame, new], ignore_index=True)
        if self.path:
            self.frame.to_csv(self.path, index=False)

    def table(self) -> pd.DataFrame:
        """Pool the chunks of every estimator and number of clusters; no seeds where a run gave no interval."""
        frame = self._all()
        order = {name: k for k, name in enumerate(EXPERIMENTS)}
        frame = frame.sort_values("experiment", key=lambda names: names.map(order), kind="stable")
        frame = frame.assign(held=frame["held"] * frame["seeds"], naive=frame["naive"] * frame["seeds"])
        keys = ["experiment", "estimator", "clusters"]
        pooled = frame.groupby(keys, sort=False)[["seeds", "held", "naive"]].sum(min_count=1).reset_index()
        sizes, names = (pooled[["experiment", key]].drop_duplicates() for key in ("clusters", "estimator"))
        whole = names.merge(sizes, on="experiment").merge(pooled, how="left", on=keys)
        whole = whole[whole["estimator"] != _NONE]
        whole["seeds"] = whole["seeds"].fillna(0).astype(int)
        return whole.assign(held=whole["held"] / whole["seeds"], naive=whole["naive"] / whole["seeds"])


def _read(path: Path | None) -> pd.DataFrame:
    return pd.read_csv(path) if path and path.exists() else pd.DataFrame(columns=_COLUMNS)


def counts_of(page: str, parts: pd.DataFrame) -> pd.DataFrame:
    """Return the counts behind a page's table as a chunk, of those estimators that the parts name the experiment of.

    A share of up to 1,000 seeds with a decimal in per cent gives the count exactly. Seeds of the page and of the parts
    must differ; the page does not say which they were.
    """
    known = parts.drop_duplicates("estimator").set_index("estimator")["experiment"]
    table = page.split("<!-- table -->\n", 1)[1].split("\n<!-- end -->", 1)[0].splitlines()
    sizes = [int(cell.split()[0]) for cell in table[0].strip("| ").split(" | ")[1:]]
    rows: list[tuple[object, ...]] = []
    for line in table[2:]:
        name, *cells = line.strip("| ").split(" | ")
        for n, cell in zip(sizes, cells, strict=True):
            if name in known.index and (found := _CELL.fullmatch(cell)):
                seeds = int(found["seeds"] or 1000)
                shares = [_share(found[part], seeds) for part in ("held", "naive")]
                rows.append((known[name], n, -1, name, seeds, *shares))
    return pd.DataFrame(rows, columns=_COLUMNS)


def _share(cell: str | None, seeds: int) -> float:
    return round(seeds * float(cell) / 100) / seeds if cell else np.nan


_CELL = re.compile(r"(?P<held>[\d.]+)( / (?P<naive>[\d.]+))?( \((?P<seeds>\d+) seeds\))?")
_COLUMNS = ["experiment", "clusters", "first", "estimator", "seeds", "held", "naive"]
_CHUNK = 100
_NONE = "no interval"


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
            if not row["seeds"]:
                cells.append(_NONE)
                continue
            naive = "" if pd.isna(row["naive"]) else f" / {100 * float(row['naive']):.1f}"
            fewer = "" if row["seeds"] == 1000 else f" ({row['seeds']} seeds)"
            cells.append(f"{100 * float(row['held']):.1f}{naive}{fewer}")
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _run(kept: Kept, experiment: str, n: int, firsts: range) -> None:
    """Run the chunks of seeds that are missing."""
    start = time.process_time()
    for first in firsts:
        if not kept.has(experiment, n, first):
            kept.add(experiment, n, first, coverage(experiment, n, min(_CHUNK, firsts.stop - first), first))
    print(f"{experiment}, {n} clusters: {time.process_time() - start:.0f} CPU s", flush=True)


def main() -> None:
    """Run all experiments and print, or write, the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=1000)
    parser.add_argument(
        "--first", type=int, default=0, help="the first seed; use new seeds to evaluate what old ones tuned"
    )
    parser.add_argument("--clusters", type=int, nargs="*", default=[50, 200, 1000], help="none: only draw the kept")
    parser.add_argument("--only", choices=sorted(EXPERIMENTS), nargs="*")
    parser.add_argument(
        "--keep", type=Path, nargs="+", default=[], help="CSV of results by chunks of seeds: what is there is not run "
        "again. Further files are read and pooled",
    )  # fmt: skip
    parser.add_argument(
        "--page", type=Path, help="a page with such a table: its counts, of other seeds, are pooled with those kept"
    )
    parser.add_argument("--write", type=Path, help="file in which the table between the marks is replaced")
    options = parser.parse_args()
    kept = Kept(options.keep, options.page)
    for n in options.clusters:
        for experiment in options.only or list(EXPERIMENTS):
            _run(kept, experiment, n, range(options.first, options.first + options.seeds, _CHUNK))
    text = as_markdown(kept.table())
    print(text)
    if options.write:
        whole = options.write.read_text(encoding="utf-8")
        before, rest = whole.split("<!-- table -->\n", 1)
        after = rest.split("<!-- end -->", 1)[1]
        options.write.write_text(f"{before}<!-- table -->\n{text}\n<!-- end -->{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
