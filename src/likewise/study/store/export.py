"""Export: valid responses as Ratings, and the tables around them, each file with the hash of the frozen plan.

``collected`` fetches everything in one short read; what follows is computed without a connection, so that a large
export holds up no rater.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import sqlalchemy as sa

from likewise.runtime.pixels import digest
from likewise.study.config.sections import StudyPlan
from likewise.study.store.schema import fetched, rater, reading, task
from likewise.tables import Ratings
from likewise.tables.io import write_frame, write_text

_ROWS = (
    sa.select(
        task.c.item, task.c.rater, task.c.kind, task.c.position, task.c.value, task.c.certainty, task.c.comment,
        task.c.shown_at, task.c.answered_at,
    )
    .where(task.c.answered_at.is_not(None) & task.c.rater.is_not(None))
)  # fmt: skip
"""Not sorted here: the database answers raters meanwhile, and the table is sorted where that holds up none."""
_COLUMNS = ["unit", "number", "kind", "position", "values", "confidence", "comment", "shown", "answered"]
_RATERS = sa.select(
    rater.c.id, rater.c.name, rater.c.arm, rater.c.state, rater.c.reason, rater.c.language, rater.c.attempts
).order_by(rater.c.id)  # fmt: skip
_FORMULA = re.compile(r"(^|[;,|])(\s*)([=+\-@])")


@dataclass(frozen=True)
class Collected:
    """What a study has collected at one moment."""

    study: StudyPlan
    responses: pd.DataFrame
    """One row per response: unit, rater, arm, state, kind, position, values, confidence, comment, seconds."""
    raters: pd.DataFrame
    """One row per rater: rater, arm, state, reason, language, attempts."""


def collected(connection: sa.Connection, study: StudyPlan) -> Collected:
    """Fetch all responses and raters; close the connection, then compute."""
    return _frames(study, fetched(connection, _ROWS), fetched(connection, _RATERS))


def _frames(study: StudyPlan, rows: Sequence[Any], people: Sequence[Any]) -> Collected:
    columns = ["number", "rater", "arm", "state", "reason", "language", "attempts"]
    raters, frame = _frame(people, columns), _frame(rows, _COLUMNS)
    frame = frame.sort_values(["number", "position"], kind="stable", ignore_index=True)
    frame = frame.merge(raters[["number", "rater", "arm", "state"]], on="number", how="inner")
    seconds = (frame["answered"].astype("float64") - frame["shown"].astype("float64")).round(3)
    frame["seconds"] = seconds.where(seconds >= 0)  # the clock was set back: the time is unknown
    frame["set_back"] = seconds < 0
    return Collected(study, frame.drop(columns="number"), raters.drop(columns="number"))


def _frame(rows: Sequence[Any], columns: list[str]) -> pd.DataFrame:
    """Return rows as a table, column by column: several times faster than row by row."""
    values = zip(*rows, strict=True) if rows else ((),) * len(columns)
    return pd.DataFrame({name: list(column) for name, column in zip(columns, values, strict=True)})


def read_collected(engine: sa.Engine, study: StudyPlan) -> Collected:
    """Fetch all responses and raters in one short read that holds up no rater."""
    with reading(engine) as connection:
        rows, people = fetched(connection, _ROWS), fetched(connection, _RATERS)
    return _frames(study, rows, people)


def _long(frame: pd.DataFrame) -> pd.DataFrame:
    """Return one row per question; no answer is a missing value."""
    codes, texts = pd.factorize(frame["values"])  # few different ones: each is parsed once
    parsed = [sorted(json.loads(text).items()) for text in texts]
    sizes = np.array([len(pairs) for pairs in parsed], dtype=np.intp)
    wide = frame.loc[np.repeat(frame.index.to_numpy(), sizes[codes])].reset_index(drop=True)
    flat = [pair for code in codes for pair in parsed[code]]
    wide["question"] = [name for name, _ in flat]
    wide["value"] = np.array([np.nan if value is None else float(value) for _, value in flat], dtype=np.float64)
    return wide


def ratings(data: Collected) -> Ratings:
    """Return the valid responses: about units, by raters whom no rule excludes. ``session`` is the arm."""
    frame, study = data.responses, data.study
    frame = _long(frame[(frame["kind"] == "work") & (frame["state"] != "excluded")])
    columns = ["unit", "rater", "question", "value", "seconds"]
    if study.arms:
        frame["session"] = frame["arm"]
        columns.append("session")
    if study.certainty:
        frame["confidence"] = frame["confidence"].astype("float64")
        columns.append("confidence")
    return Ratings(frame[columns], units=[unit.key for unit in study.units])


def controls(data: Collected) -> pd.DataFrame:
    """Return the other responses: training, gold, attention, and those of excluded raters."""
    frame = data.responses
    frame = _long(frame[(frame["kind"] != "work") | (frame["state"] == "excluded")])
    return frame[["kind", "unit", "rater", "arm", "position", "question", "value", "seconds"]]


def comments(data: Collected) -> pd.DataFrame:
    """Return the free text, as spreadsheets may open it: nothing in it can be taken for a formula."""
    frame = data.responses
    frame = frame[frame["comment"].notna()][["unit", "rater", "kind", "comment"]].reset_index(drop=True)
    frame["comment"] = [spreadsheet_safe(text) for text in frame["comment"]]
    return frame


def spreadsheet_safe(text: str) -> str:
    r"""Return one line of text in which no cell starts like a formula, whatever separator a spreadsheet assumes.

    >>> spreadsheet_safe("=1+1")
    "'=1+1"
    >>> spreadsheet_safe("odd teeth;=cmd()")
    "odd teeth;'=cmd()"
    """
    return _FORMULA.sub(r"\1\2'\3", re.sub(r"\s*[\t\r\n\v\f]+\s*", " | ", text))


def rater_table(data: Collected) -> pd.DataFrame:
    """Return one row per rater: state, arm, responses, pace, score on the controls, and agreement with the majority."""
    frame, study = data.responses, data.study
    right = {key: json.dumps({name: item.answer[name] for name in sorted(item.answer)})
             for key, item in study.items.items() if item.answer}  # fmt: skip
    correct = (frame["values"] == frame["unit"].map(right)).astype("float64")
    by = frame["rater"]
    of = {kind: frame["kind"] == kind for kind in ("training", "gold", "attention")}
    work = frame["kind"].isin(["work", "void"])
    found = data.raters.copy()
    found["answers"] = found["rater"].map(by[work].value_counts()).fillna(0).astype(int)
    found["seconds"] = found["rater"].map(frame["seconds"][work].groupby(by[work]).median())
    last = frame[of["training"]].groupby("rater", sort=False).tail(len(study.training.items) or 1).index
    found["training"] = found["rater"].map(correct[last].groupby(by[last]).mean())
    found["gold"] = found["rater"].map(correct[of["gold"]].groupby(by[of["gold"]]).mean())
    found["missed"] = found["rater"].map((1 - correct[of["attention"]]).groupby(by[of["attention"]]).sum())
    found["majority"] = found["rater"].map(_agreement_with_majority(frame))
    columns = ["rater", "arm", "state", "reason", "language", "answers", "seconds", "training", "gold", "missed",
               "majority"]  # fmt: skip
    found = found[columns].astype(object)
    return found.where(found.notna(), None)


def _agreement_with_majority(frame: pd.DataFrame) -> pd.Series:
    """Return how often each rater gives the response that most others gave to a unit; ties are left out.

    Linear in the responses: the counts among the others follow from the counts of the unit.
    """
    work = frame[frame["kind"] == "work"][["unit", "rater", "values"]]
    counts = work.groupby(["unit", "values"], sort=False).size().rename("count").reset_index()
    work = work.merge(counts, on=["unit", "values"], how="left")
    largest = counts.sort_values("count", ascending=False, kind="stable").groupby("unit", sort=False)
    top = largest["count"].first()
    second = largest.nth(1).set_index("unit")["count"]
    at_top = work["unit"].map(_ties(counts, top))
    is_top = work["count"] == work["unit"].map(top)
    leads = is_top & (at_top == 1)  # this rater's response is the only one with the largest count
    rival = work["unit"].map(second).fillna(0).where(leads, work["unit"].map(top))
    rivals = work["unit"].map(_ties(counts, second)).fillna(0).where(leads, at_top - is_top)
    own = work["count"] - 1  # other raters with the same response
    decided = (own > rival) | ((rival > own) & (rivals == 1))
    return (own > rival)[decided].astype("float64").groupby(work["rater"][decided]).mean()


def _ties(counts: pd.DataFrame, size: pd.Series) -> pd.Series:
    """Return how many different responses to each unit have exactly this count."""
    return counts[counts["count"] == counts["unit"].map(size)].groupby("unit").size()


def progress(data: Collected) -> dict[str, Any]:
    """Return how far the study is, how long a task takes, and the hourly wage that this implies."""
    frame, study = data.responses, data.study
    valid = frame[(frame["kind"] == "work") & (frame["state"] != "excluded")]
    per_unit = valid["unit"].value_counts()
    timed = frame.loc[frame["position"] >= 0, "seconds"].dropna()
    middle = float(timed.median()) if len(timed) else 0.0
    states = data.raters["state"].value_counts().sort_index()
    return {
        "answered": len(valid),
        "wanted": study.responses,
        "units": len(study.units),
        "complete": int((per_unit >= study.raters_per_unit).sum()),
        "raters": len(data.raters),
        "states": {str(state): int(number) for state, number in states.items()},
        "seconds": middle,
        "untimed": int(frame["set_back"].sum()),
        "wage": study.pay.per_task * 3600 / middle if middle else 0.0,
    }


def export_all(data: Collected, plan_hash: str, folder: Path) -> list[Path]:
    """Write every table; ``export.json`` names the plan and the bytes of each file.

    Parameters
    ----------
    data
        What ``collected`` fetched.
    plan_hash
        The hash of the frozen plan; every file carries it.
    folder
        Where to write.

    Returns
    -------
    list of Path
        The files.
    """
    found = ratings(data)
    tables = {
        "ratings.parquet": found.frame,
        "ratings.csv": found.frame,
        "raters.csv": rater_table(data),
        "controls.csv": controls(data),
        "comments.csv": comments(data),
    }
    paths = []
    for name, frame in tables.items():
        write_frame(folder / name, frame, {"study": plan_hash})
        paths.append(folder / name)
    record = {
        "plan": plan_hash,
        "files": {path.name: digest(path) for path in paths},
        "progress": progress(data),
    }
    write_text(folder / "export.json", json.dumps(record, indent=1, sort_keys=True))
    return [*paths, folder / "export.json"]
