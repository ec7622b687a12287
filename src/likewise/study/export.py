"""Export: answers that count as Ratings, and everything around them, each file with the hash of the frozen plan."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import sqlalchemy as sa

from likewise.images import digest
from likewise.study.parts import Parts
from likewise.study.schema import rater, task
from likewise.tables import Ratings
from likewise.tables.files import write_frame, write_text

_ROWS = (
    sa.select(
        task.c.item, rater.c.name, rater.c.arm, rater.c.state, task.c.kind, task.c.position, task.c.value,
        task.c.certainty, task.c.comment, task.c.shown_at, task.c.answered_at,
    )
    .select_from(task.join(rater, task.c.rater == rater.c.id))
    .where(task.c.answered_at.is_not(None))
    .order_by(rater.c.id, task.c.position)
)  # fmt: skip
_RISKY = ("=", "+", "-", "@", "\t", "\r")


def _answers(connection: sa.Connection) -> pd.DataFrame:
    columns = [
        "unit",
        "rater",
        "arm",
        "state",
        "kind",
        "position",
        "values",
        "confidence",
        "comment",
        "shown",
        "answered",
    ]
    frame = pd.DataFrame([tuple(row) for row in connection.execute(_ROWS)], columns=columns)
    frame["seconds"] = (frame["answered"] - frame["shown"]).astype("float64").round(3)
    return frame


def _long(frame: pd.DataFrame) -> pd.DataFrame:
    """Return one row a question; no answer stays empty."""
    given = [sorted(json.loads(values).items()) for values in frame["values"]]
    wide = frame.loc[np.repeat(frame.index.to_numpy(), [len(pairs) for pairs in given])].reset_index(drop=True)
    flat = [pair for pairs in given for pair in pairs]
    wide["question"] = [name for name, _ in flat]
    wide["value"] = np.array([np.nan if value is None else float(value) for _, value in flat], dtype=np.float64)
    return wide


def ratings(connection: sa.Connection, study: Parts) -> Ratings:
    """Return the answers that count: about units, by raters whom no rule excludes. ``session`` is the arm."""
    frame = _answers(connection)
    frame = _long(frame[(frame["kind"] == "work") & (frame["state"] != "excluded")])
    columns = ["unit", "rater", "question", "value", "seconds"]
    if study.arms:
        frame["session"] = frame["arm"]
        columns.append("session")
    if study.certainty:
        frame["confidence"] = frame["confidence"].astype("float64")
        columns.append("confidence")
    return Ratings(frame[columns], units=[unit.key for unit in study.units])


def controls(connection: sa.Connection) -> pd.DataFrame:
    """Return the answers that do not count: training, gold, attention, and those of excluded raters."""
    frame = _answers(connection)
    frame = _long(frame[(frame["kind"] != "work") | (frame["state"] == "excluded")])
    return frame[["kind", "unit", "rater", "arm", "position", "question", "value", "seconds"]]


def comments(connection: sa.Connection) -> pd.DataFrame:
    """Return the free text. A cell that a spreadsheet would run as a formula gets a quote before it."""
    frame = _answers(connection)
    frame = frame[frame["comment"].notna()][["unit", "rater", "kind", "comment"]].reset_index(drop=True)
    frame["comment"] = [f"'{text}" if text.startswith(_RISKY) else text for text in frame["comment"]]
    return frame


def people(connection: sa.Connection, study: Parts) -> pd.DataFrame:
    """Return one row a rater: state, arm, answers, pace, how they did on the controls and beside the majority."""
    columns = [rater.c.name, rater.c.arm, rater.c.state, rater.c.reason, rater.c.language]
    rows = connection.execute(sa.select(*columns).order_by(rater.c.id)).all()
    frame = _answers(connection)
    right = {key: dict(item.answer) for key, item in study.items.items()}
    frame["right"] = [json.loads(v) == right[unit] for v, unit in zip(frame["values"], frame["unit"], strict=True)]
    majority = _with_majority(frame)
    return pd.DataFrame(
        [
            {"rater": name, "arm": arm, "state": state, "reason": reason, "language": language}
            | _figures(frame[frame["rater"] == name], study)
            | {"majority": majority.get(name)}
            for name, arm, state, reason, language in rows
        ]
    ).astype(object)


def _figures(own: pd.DataFrame, study: Parts) -> dict[str, Any]:
    work = own[own["kind"].isin(["work", "void"])]
    share = {kind: own.loc[own["kind"] == kind, "right"] for kind in ("training", "gold", "attention")}
    number = len(study.training.items)
    practice = share["training"].tail(number)
    return {
        "answers": len(work),
        "seconds": float(work["seconds"].median()) if len(work) else None,
        "training": float(practice.mean()) if len(practice) else None,
        "gold": float(share["gold"].mean()) if len(share["gold"]) else None,
        "missed": int((~share["attention"]).sum()) if len(share["attention"]) else None,
    }


def _with_majority(frame: pd.DataFrame) -> dict[str, float]:
    """Return how often each rater gives the answer that most others gave to a unit; ties are left out."""
    work = frame[frame["kind"] == "work"]
    hits: dict[str, list[bool]] = {}
    for _, unit in work.groupby("unit", sort=False):
        for name, value in zip(unit["rater"], unit["values"], strict=True):
            others = unit.loc[unit["rater"] != name, "values"].value_counts()
            if len(others) and (len(others) == 1 or others.iloc[0] > others.iloc[1]):
                hits.setdefault(name, []).append(bool(others.index[0] == value))
    return {name: float(np.mean(found)) for name, found in hits.items()}


def progress(connection: sa.Connection, study: Parts) -> dict[str, Any]:
    """Return how far the study is, how long a task takes, and what hour's wage that makes."""
    done = task.c.answered_at.is_not(None) & (task.c.kind == "work") & (rater.c.state != "excluded")
    of_rater = task.join(rater, task.c.rater == rater.c.id)
    counted = sa.select(task.c.item, sa.func.count()).select_from(of_rater).where(done).group_by(task.c.item)
    per_unit = dict(tuple(row) for row in connection.execute(counted))
    spent = sa.select(task.c.answered_at - task.c.shown_at).where(task.c.answered_at.is_not(None), task.c.position >= 0)
    seconds = connection.execute(spent).scalars().all()
    middle = float(np.median(seconds)) if seconds else 0.0
    by_state = sa.select(rater.c.state, sa.func.count()).group_by(rater.c.state).order_by(rater.c.state)
    states = dict(tuple(row) for row in connection.execute(by_state))
    return {
        "answered": int(sum(per_unit.values())),
        "wanted": study.answers,
        "units": len(study.units),
        "complete": sum(count >= study.raters_per_unit for count in per_unit.values()),
        "raters": int(sum(states.values())),
        "states": states,
        "seconds": middle,
        "wage": study.pay.per_task * 3600 / middle if middle else 0.0,
    }


def export_all(connection: sa.Connection, study: Parts, plan_hash: str, folder: Path) -> list[Path]:
    """Write every table; ``export.json`` names the plan and the bytes of each file."""
    found = ratings(connection, study)
    tables = {
        "ratings.parquet": found.frame,
        "ratings.csv": found.frame,
        "raters.csv": people(connection, study),
        "controls.csv": controls(connection),
        "comments.csv": comments(connection),
    }
    paths = []
    for name, frame in tables.items():
        write_frame(folder / name, frame, {"study": plan_hash})
        paths.append(folder / name)
    record = {
        "plan": plan_hash,
        "files": {path.name: digest(path) for path in paths},
        "progress": progress(connection, study),
    }
    write_text(folder / "export.json", json.dumps(record, indent=1, sort_keys=True))
    return [*paths, folder / "export.json"]
