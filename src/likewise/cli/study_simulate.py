"""likewise study simulate: a rehearsal with simulated raters, over HTTP, on a database that is thrown away."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from likewise.analyse.consensus import Votes, majority
from likewise.cli.study_server import folder_of, open_site
from likewise.errors import StudyError, TableError
from likewise.study.export import export_all, ratings
from likewise.study.plan import Study
from likewise.study.reading import read_study
from likewise.study.rehearsal import quick_clock, send
from likewise.study.schema import sqlite_url
from likewise.study.simulate import Walk, chooser
from likewise.study.site import Site
from likewise.tables import Ratings
from likewise.tables.files import read_frame

_AT_ONCE = 20


def truth_of(study: Study, folder: Path, column: str, true_value: str) -> dict[str, float]:
    """Return the right value of every unit from a column of the unit table."""
    if not column:
        return {}
    import tomllib  # noqa: PLC0415  # only for where the table lies

    section = tomllib.loads((folder / "study.toml").read_text(encoding="utf-8"))["units"]
    frame, _ = read_frame(folder / section["table"])
    if column not in frame.columns:
        raise TableError(f"the unit table has the column {column!r}", got="none")
    values = (frame[column].astype(str) == true_value).astype(float) if true_value else frame[column].astype(float)
    return dict(zip((unit.key for unit in study.units), values, strict=True))


def rehearse(
    path: Path, *, raters: int, ability: float, truth: str, true_value: str, target: Path | None, seed: int
) -> list[str]:
    """Send simulated raters through a study and export what they answered."""
    if not 0 <= ability <= 1:
        raise StudyError("ability is a chance, 0 to 1", got=str(ability))
    study, folder = read_study(path), folder_of(path)
    known = truth_of(study, folder, truth, true_value)
    place = target or folder / "rehearsal"
    place.mkdir(parents=True, exist_ok=True)
    database = place / "rehearsal.sqlite"
    if database.exists():
        raise StudyError(f"{place} has no rehearsal yet", got=database.name, fix="Choose another folder with --to.")
    site = open_site(folder, sqlite_url(database), clock=quick_clock())
    spread = np.clip(np.random.default_rng(seed).normal(ability, 0.08, raters or study.raters), 0, 1)
    walks = run_raters(site, study, known, [float(a) for a in spread], seed)
    engine = site.engine
    with engine.connect() as connection:
        found = ratings(connection, study)
        paths = export_all(connection, study, site.plan_hash, place)
    engine.dispose()
    lines = [f"{len(walks)} raters, {sum(len(w.acknowledged) for w in walks)} answers with practice and controls"]
    return [*lines, *str(found).splitlines(), *_recovered(study, found, known), *(str(path) for path in paths)]


def _recovered(study: Study, found: Ratings, known: dict[str, float]) -> list[str]:
    if not known:
        return []
    winners = majority(Votes.of(found, study.questions[0].name)).idxmax(axis=1)
    share = float(np.mean([known[str(unit)] == value for unit, value in winners.items()]))
    return [f"majority vote is right about {share:.0%} of {len(winners)} units"]


def run_raters(site: Site, study: Study, truth: dict[str, float], abilities: list[float], seed: int) -> list[Walk]:
    """Serve the study on a free port and have raters of these abilities go through it, a few at a time."""
    choosers = [chooser(study, site.item_of, truth, ability, seed * 100_003 + k) for k, ability in enumerate(abilities)]
    return send(site, choosers, at_once=_AT_ONCE)
