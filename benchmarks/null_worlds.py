"""Null worlds: how often the report claims a difference where there is none.

    python -m benchmarks.null_worlds [--worlds 400] [--keep parts.csv]

Every world has two recognizers (FNMR of about 2 and 10 %), a classifier with eight labels, a panel of raters and a
sweep of edits; the group has no effect on any answer. Worlds differ by seed: one identity in five or one in two is in
the focal group; in every second pair of worlds the groups also differ in age by half a standard deviation, and age
matters for every answer, so the unmatched gap is real and the matched one is not; every second four worlds have no
impostor trials, so that recognizers are judged by their mean genuine distance. Identities have 2 to 28 images; few
raters give most answers. The audit's own estimates are made (``estimate_everything`` on tables in memory) and the
report's own sentences are read. At most 5 % of the worlds may have a claim of one type, at most 10 % a claim of any
type. Where the groups differ in age, counts of labels that differ *unmatched* are true and not counted as errors.
"""

from __future__ import annotations

import argparse
import re
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.optimize import linear_sum_assignment

from benchmarks.coverage_hard import sizes
from likewise.analysis.slopes.estimate import slopes
from likewise.analysis.slopes.tests import slope_tests
from likewise.audit.context import StageContext
from likewise.audit.estimate.everything import estimate_everything
from likewise.audit.folder.store import Folder
from likewise.audit.plan.design_sections import PrecomputedAnswers
from likewise.audit.plan.model import Plan
from likewise.audit.plan.sections import CollectPlan, DataPlan
from likewise.report.names import UNMATCHED, Naming
from likewise.report.page import cleaned
from likewise.report.sections.findings.error_rates import error_findings
from likewise.report.sections.findings.labels import label_finding, many_labels
from likewise.report.sections.summary import Summary
from likewise.report.sentences import gap_findings, slope_finding
from likewise.tables import Contrast, Estimates, Images, Matches, MatchSpec, Ratings, Trials

Floats = npt.NDArray[np.float64]
CONTRAST = Contrast("perceived_group", focal="f", reference="m")
LABELS = 8
RECOGNIZERS = ("one", "two")
LATER = ("sensitivity", "DET curves", "agreement", "rater quality")
NOISE = {"one": 0.1, "two": 0.2}
CALIPER = 0.2
"""In standard deviations of age, the usual rule."""


@dataclass
class Tables(StageContext):
    """A stage's context whose tables are in memory."""

    held: dict[str, Any] = field(default_factory=dict)

    def attempt(self, what: str, estimate: Callable[[], Estimates]) -> list[Estimates]:
        """Estimate what the first screen is made of, and leave out what only later sections show."""
        return [] if what.startswith(LATER) else super().attempt(what, estimate)

    def images(self) -> Images:
        """The images."""
        found: Images = self.held["images"]
        return found

    def trials(self) -> Trials:
        """The trials."""
        found: Trials = self.held["trials"]
        return found

    def matches(self) -> Matches:
        """The matched images."""
        found: Matches = self.held["matches"]
        return found

    def image_matches(self) -> Matches:
        """The matched images, for raters of images, too."""
        return self.matches()

    def ratings(self) -> Ratings:
        """The answers of the models."""
        found: Ratings = self.held["ratings"]
        return found

    def responses(self) -> Ratings:
        """The answers of people."""
        found: Ratings = self.held["responses"]
        return found


@dataclass(frozen=True)
class NullWorld:
    """A world without any difference between the groups."""

    seed: int
    identities: int = 120
    raters: int = 20
    impostors: int = 1200
    """As many as an operating point at FMR 1 % needs, and some that fall out."""

    @property
    def confounded(self) -> bool:
        """Whether the groups differ in age."""
        return bool(self.seed // 2 % 2)

    @property
    def with_impostors(self) -> bool:
        """Whether there are impostor trials: without them, recognizers are judged by their mean genuine distance."""
        return not self.seed // 4 % 2

    def context(self, folder: Path) -> Tables:
        """Draw the world and lay it out as an audit's context; nothing is written to the folder but an empty plan."""
        (folder / "audit.toml").touch()
        images, trials, distances, labels, responses = self.frames()
        held = {
            "images": Images(images), "trials": Trials(trials), "matches": Matches(matched_images(images)),
            "ratings": Ratings(pd.concat([distances, labels])), "responses": Ratings(responses),
        }  # fmt: skip
        return Tables(folder=Folder(folder), plan=_plan(), held=held)

    def frames(self) -> tuple[pd.DataFrame, ...]:
        """Draw images, trials, distances, labels and people's responses."""
        rng = np.random.default_rng(self.seed)
        images = self._images(rng)
        trials = self._trials(images, rng)
        if not self.with_impostors:
            trials = trials[trials["same"]].reset_index(drop=True)
        distances = self._distances(images, trials, rng)
        return images, trials, distances, self._labels(images, rng), self._responses(images, trials, rng)

    def _images(self, rng: np.random.Generator) -> pd.DataFrame:
        count = np.minimum(sizes(rng, self.identities) + 1, 28)
        who = np.repeat(np.arange(self.identities), count)
        frame = pd.DataFrame({"image": [f"i{k}" for k in range(len(who))], "identity": [f"p{k}" for k in who]})
        frame["perceived_group"] = np.where(who % (5 if self.seed % 2 else 2) == 0, "f", "m")
        shift = 0.5 * self.confounded * frame["perceived_group"].eq("f").to_numpy()
        frame["age"] = (rng.normal(size=self.identities)[who] + rng.normal(0, 0.5, len(who)) + shift).round(3)
        return frame

    def _trials(self, images: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
        first = ~images["identity"].duplicated()
        anchor = images[first].set_index("identity")["image"]
        rest = images[~first]
        genuine = pd.DataFrame({"a": rest["image"], "b": rest["identity"].map(anchor), "same": True})
        pick = rng.integers(0, len(images), (self.impostors, 2))
        a, b = (images.iloc[pick[:, end]].reset_index(drop=True) for end in (0, 1))
        apart = (a["identity"] != b["identity"]).to_numpy()
        impostor = pd.DataFrame({"a": a["image"][apart], "b": b["image"][apart], "same": False})
        trials = pd.concat([genuine, impostor], ignore_index=True).drop_duplicates(["a", "b"])
        return trials.assign(trial=[f"t{k}" for k in range(len(trials))])

    def _distances(self, images: pd.DataFrame, trials: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
        own = pd.Series(rng.gamma(2, 0.04, self.identities), index=[f"p{k}" for k in range(self.identities)])
        hard = trials["a"].map(images.set_index("image")["identity"]).map(own).to_numpy()
        age = trials["a"].map(images.set_index("image")["age"]).to_numpy()
        parts = []
        for rater in RECOGNIZERS:
            near = 0.3 + hard + 0.03 * age + rng.normal(0, NOISE[rater], len(trials))
            value = np.where(trials["same"], near, 0.9 + rng.normal(0, 0.12, len(trials)))
            parts.append(
                pd.DataFrame({"unit": trials["trial"], "rater": rater, "question": "distance", "value": value})
            )
        return pd.concat(parts)

    def _labels(self, images: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
        who = pd.factorize(images["identity"])[0]
        parts = []
        for label in range(LABELS):
            odds = -1.5 + 0.1 * label + rng.normal(0, 1, self.identities)[who] + 0.5 * images["age"].to_numpy()
            value = (rng.random(len(who)) < 1 / (1 + np.exp(-odds))).astype(float)
            parts.append(
                pd.DataFrame({"unit": images["image"], "rater": "tags", "question": f"l{label}", "value": value})
            )
        return pd.concat(parts)

    def _responses(self, images: pd.DataFrame, trials: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
        shown = trials[trials["same"]]
        who = pd.factorize(shown["a"].map(images.set_index("image")["identity"]))[0]
        work = np.minimum(rng.pareto(1.2, self.raters) + 0.2, 10)
        focal = shown["a"].map(images.set_index("image")["perceived_group"]).eq("f").to_numpy()
        lean, own = rng.normal(0, 0.3, (2, self.raters))
        image, rows = rng.normal(0, 0.7, self.identities)[who], []
        for k, (trial, is_focal) in enumerate(zip(shown["trial"], focal, strict=True)):
            for r in rng.choice(self.raters, 2, replace=False, p=work / work.sum()):
                odds = 1 + image[k] + own[r] + lean[r] * (is_focal - 0.5)
                rows.append((trial, f"r{r}", "same", float(rng.random() < 1 / (1 + np.exp(-odds)))))
        return pd.DataFrame(rows, columns=["unit", "rater", "question", "value"])


def matched_images(images: pd.DataFrame) -> pd.DataFrame:
    """Match focal identities' second images (which are in a trial) to reference ones, optimally within a caliper."""
    second = images[images.groupby("identity").cumcount() == 1]
    focal, free = (second[second["perceived_group"] == group] for group in ("f", "m"))
    apart = np.abs(focal["age"].to_numpy()[:, None] - free["age"].to_numpy()) / images["age"].std()
    rows, columns = linear_sum_assignment(np.where(apart > CALIPER, 1e3, apart))
    near = apart[rows, columns] <= CALIPER
    pairs = {"a": focal["image"].to_numpy()[rows[near]], "b": free["image"].to_numpy()[columns[near]]}
    return pd.DataFrame(pairs).assign(pair=[f"m{k}" for k in range(near.sum())])


def _plan() -> Plan:
    scored = [PrecomputedAnswers(rater=name, scores=f"{name}.csv") for name in RECOGNIZERS]
    return Plan(
        data=DataPlan(table="people.csv"), contrast=CONTRAST, vectors="vectors.npz", match=MatchSpec(),
        precomputed=(*scored, PrecomputedAnswers(rater="tags", labels="tags.csv", threshold=0.5)),
        collect=CollectPlan(crowd="file"),
    )  # fmt: skip


def edited_labels(seed: int, identities: int = 60) -> Estimates:
    """Estimate slopes of labels that edits do not change."""
    rng = np.random.default_rng([seed, 1])
    strengths = np.array([-2.0, -1.0, 0.0, 1.0, 2.0])
    parent, level = np.repeat(np.arange(identities), 5), np.tile(strengths, identities)
    keys = [f"e{p}@{at:+g}" for p, at in zip(parent, level, strict=True)]
    made = pd.DataFrame({"image": keys, "identity": [f"p{p}" for p in parent], "level": level})
    made["parent"] = [f"i{p}" for p in parent]
    parts = []
    for label in range(LABELS):
        chance = 0.4 + rng.uniform(-0.3, 0.3, identities)[parent]
        value = (rng.random(len(parent)) < chance).astype(float)
        parts.append(pd.DataFrame({"unit": keys, "rater": "tags", "question": f"l{label}", "value": value}))
    answers, edited = Ratings(pd.concat(parts)), Images(made)
    return Estimates.together([each(answers, edited, threshold=0.5) for each in (slopes, slope_tests)])


def claims(estimates: Estimates, edits: Estimates, notes: list[str], *, confounded: bool = False) -> dict[str, bool]:
    """Return for each type of sentence of the first screen whether it claims a difference."""
    naming, found = Naming(), cleaned(estimates)
    lines = Summary(found, Estimates.of([]), CONTRAST, naming, notes).lines()
    by_system = {line.system: line.verdict.kind == "different" for line in lines}
    words = gap_findings(found, CONTRAST, many_labels(found.frame), naming)
    counts = [
        int(count)
        for count, design in _counts(label_finding(found, CONTRAST, naming))
        if not (confounded and design == UNMATCHED)
    ]
    return {
        "summary: a recognizer is different": any(by_system[name] for name in RECOGNIZERS),
        "summary: people are different": by_system["people"],
        "summary: labels differ": by_system["tags"],
        "finding: a mean distance is higher": any("higher for" in line for line in words if "people" not in line),
        "finding: people's answers are higher": any("higher for" in line for line in words if "people" in line),
        "finding: an error rate differs": any(
            "different" in line or "worse for" in line for line in error_findings(found, CONTRAST, naming)
        ),
        "finding: labels differ": any(counts),
        "finding: edits change labels": "not shown to change" not in slope_finding(edits),
    }


def _counts(sentence: str) -> Iterator[tuple[str, str]]:
    """Read from the sentence about labels how many differ, and under which design."""
    yield from re.findall(r"(\d+) \(([^)]+)\)", sentence.rpartition(": ")[2])


def world_claims(seed: int, folder: Path, **sizes_: int) -> dict[str, bool]:
    """Draw a world, estimate and read the report's sentences."""
    world = NullWorld(seed, **sizes_)
    context = world.context(folder)
    found = estimate_everything(context)
    return claims(found, edited_labels(seed), context.notes, confounded=world.confounded)


def table_of(rows: pd.DataFrame) -> str:
    """Write the shares of worlds with a claim: all worlds, and those whose groups differ in age or not."""
    shifted = rows.index.to_numpy() // 2 % 2 == 1
    parts = {"all": rows, "same age": rows[~shifted], "other age": rows[shifted]}
    head = " | ".join(f"{name} ({len(part)} worlds)" for name, part in parts.items())
    lines = [f"| sentence | {head} |", "|---|" + "---|" * len(parts)]
    for name in [*rows.columns, "any of them"]:
        shares = [(part.any(axis=1) if name == "any of them" else part[name]).mean() for part in parts.values()]
        lines.append(f"| {name} | " + " | ".join(f"{100 * share:.1f}" for share in shares) + " |")
    return "\n".join(lines)


def run_worlds(description: str | None, decide: Callable[[int], Mapping[str, bool]]) -> None:
    """Print for each type of sentence the share of worlds in which it claims a difference."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--worlds", type=int, default=400)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--keep", type=Path, help="CSV of results: worlds that are there are not drawn again")
    options = parser.parse_args()
    known = pd.read_csv(options.keep, index_col="seed") if options.keep and options.keep.exists() else pd.DataFrame()
    rows = {int(str(seed)): dict(row) for seed, row in known.iterrows()}
    start = time.process_time()
    for seed in range(options.first, options.first + options.worlds):
        if seed not in rows:
            rows[seed] = dict(decide(seed))
            if options.keep and seed % 10 == 9:
                pd.DataFrame.from_dict(rows, orient="index").rename_axis("seed").to_csv(options.keep)
    table = pd.DataFrame.from_dict(rows, orient="index").astype(bool)
    if options.keep:
        table.rename_axis("seed").to_csv(options.keep)
    print(f"{len(table)} worlds, {time.process_time() - start:.0f} CPU s")
    print(table_of(table))


def _claims(seed: int) -> Mapping[str, bool]:
    with tempfile.TemporaryDirectory() as name:
        return world_claims(seed, Path(name))


if __name__ == "__main__":
    run_worlds(__doc__, _claims)
