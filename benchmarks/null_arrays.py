"""Null worlds by arrays: the decisions behind the first screen's sentences, without the tables and the page.

    python -m benchmarks.null_arrays [--worlds 400] [--first 0] [--keep parts.csv]

The worlds are those of ``benchmarks.null_worlds`` (same seeds, same tables). Error rates are those of ``error_rates``;
other gaps are made by ``Gap`` from arrays, and a verdict is reached by the rules of the estimate stage: recognizers,
people and the classifier are four lines, judged together; labels have intervals that are simultaneous over labels and
designs; edits change labels by q-values. A world takes a tenth of the time of the full route, and a test compares the
decisions of both.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd

from benchmarks.coverage_hard import arrays_of
from benchmarks.null_worlds import CONTRAST, LABELS, RECOGNIZERS, NullWorld, edited_labels, matched_images, run_worlds
from likewise.analysis.gaps.rating_arrays import RatingArrays
from likewise.analysis.gaps.rows import Gap
from likewise.analysis.labels import simultaneous_level
from likewise.analysis.verdict import verdict
from likewise.analysis.verification.error_rates import error_rates
from likewise.report.sentences import slope_finding
from likewise.stats.intervals import Interval
from likewise.tables import Images, Matches, Ratings, Trials

Codes = npt.NDArray[np.int64]
LEVEL, LINES = 0.95, 4


class ArrayWorld:
    """The tables of a null world, and arrays of each question."""

    def __init__(self, seed: int, **sizes: int) -> None:
        self.world = NullWorld(seed, **sizes)
        self.images, self.trials, self.distances, self.labels, self.responses = self.world.frames()
        self.pairs = matched_images(self.images)
        self.own = self.images.set_index("image")

    def arrays(self, answers: pd.DataFrame, image: pd.Series, other: pd.Series, panel: bool) -> RatingArrays:
        """Lay out answers about units whose first and second images are given."""
        own = self.own.loc[image]
        ages = [self.own.loc[each, "age"].to_numpy() for each in (image, other)]
        x = np.column_stack([(ages[0] + ages[1]) / 2, np.abs(ages[0] - ages[1])])
        place = pd.Series(np.arange(len(image)), index=image.to_numpy())
        match = [place.loc[self.pairs[end]].to_numpy(dtype=np.int64) for end in ("a", "b")]
        rater = pd.factorize(answers["rater"])[0].astype(np.int64) if panel else None
        focal = own["perceived_group"].eq("f").to_numpy().astype(np.float64)
        identity = pd.factorize(own["identity"])[0].astype(np.int64)
        return arrays_of(
            answers["value"].to_numpy(), focal, x[:, x.std(axis=0) > 0], identity, (match[0], match[1]), rater
        )

    def of_trials(self, answers: pd.DataFrame, panel: bool = False) -> RatingArrays:
        """Lay out answers about genuine trials."""
        about = self.trials.set_index("trial").loc[answers["unit"]]
        return self.arrays(answers, about["a"], about["b"], panel)

    def rejected(self) -> bool:
        """Whether the verdict on a recognizer's first operating point, or on its mean distance, is "different"."""
        genuine = set(self.trials.loc[self.trials["same"], "trial"])
        if self.world.with_impostors:
            about = (Ratings(self.distances), Trials(self.trials), Images(self.images), CONTRAST)
            found = error_rates(*about, pairs=Matches(self.pairs), rates=[0.01]).where(stat="gap", sample="matched")
            ends = found.frame[["estimate", "low", "high"]].to_numpy(dtype=np.float64)
            clusters = found.frame["clusters"].to_numpy(dtype=np.int64)
            return any(
                _different(Interval(float(row[0]), float(row[1]), float(row[2]), int(k)))
                for row, k in zip(ends, clusters, strict=True)
            )
        frame = self.distances[self.distances["unit"].isin(genuine)]
        parts = [frame[frame["rater"] == name] for name in RECOGNIZERS]
        return any(_different(Gap(self.of_trials(part), "matched", LEVEL).gap()[0]) for part in parts)

    def label_intervals(self) -> dict[str, list[Interval]]:
        """Return the gaps of all labels by design, simultaneous over labels and designs."""
        level = simultaneous_level(LEVEL, LABELS * 2)
        found: dict[str, list[Interval]] = {"matched": [], "adjusted": [], "all": []}
        layout = None
        for _, part in self.labels.groupby("question"):  # always about the same images in the same order
            layout = layout or self.arrays(part, part["unit"], part["unit"], panel=False)
            arrays = layout.with_answers(part["value"].to_numpy())
            found["matched"].append(Gap(arrays, "matched", level).gap()[0])
            found["adjusted"].append(Gap(arrays, "matched", level).adjusted()[0])
            found["all"].append(Gap(arrays, "all", level).gap()[0])
        return found


def _different(gap: Interval) -> bool:
    word = verdict(gap.estimate, gap.low, gap.high, level=LEVEL, clusters=gap.clusters, comparisons=LINES)
    return word == "different"


def world_decisions(seed: int, **sizes: int) -> dict[str, bool]:
    """Return for each type of sentence of the first screen whether it claims a difference."""
    world = ArrayWorld(seed, **sizes)
    labels = {name: any(one.low > 0 or one.high < 0 for one in each) for name, each in world.label_intervals().items()}
    if world.world.confounded:
        del labels["all"]  # it is a true difference
    return {
        "a recognizer is different (FNMR or mean distance)": world.rejected(),
        "people are different": _different(
            Gap(world.of_trials(world.responses, panel=True), "matched", LEVEL).gap()[0]
        ),
        "labels differ, matched": labels["matched"],
        "labels differ, under any design": any(labels.values()),
        "edits change labels": "not shown to change" not in slope_finding(edited_labels(seed)),
    }


if __name__ == "__main__":
    run_worlds(__doc__, world_decisions)
