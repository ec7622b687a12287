"""likewise study simulate: a rehearsal with simulated raters, over HTTP, on a database of its own."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from likewise.analysis.crowd.consensus import Votes, majority
from likewise.cli.study.server import folder_of, open_site
from likewise.errors import StudyError, TableError, nearest, some
from likewise.runtime.config import read_toml
from likewise.study.config.load import NAME, read_study
from likewise.study.plan import Study
from likewise.study.rehearsal.crowd import quick_clock, send
from likewise.study.rehearsal.simulate import RaterSession, chooser
from likewise.study.server.context import Site
from likewise.study.store.export import export_all, ratings, read_collected
from likewise.study.store.schema import sqlite_url
from likewise.tables import Ratings
from likewise.tables.io import read_frame

_AT_ONCE = 20


def truth_of(study: Study, folder: Path, column: str, true_value: str) -> dict[str, float]:
    """Return the correct value of every unit from a column of the unit table."""
    if not column:
        return {}
    table = read_toml(folder / NAME).plain["units"]["table"]
    frame, _ = read_frame(folder / table)
    if column not in frame.columns:
        text = f"Column {column!r} not found in {table} (columns: {some(frame.columns, 8)})"
        raise TableError(text, fix=nearest(column, frame.columns))
    values = (frame[column].astype(str) == true_value).astype(float) if true_value else frame[column].astype(float)
    return dict(zip((unit.key for unit in study.units), values, strict=True))


def rehearse(
    path: Path, *, raters: int, ability: float, truth: str, true_value: str, target: Path | None, seed: int
) -> list[str]:
    """Send simulated raters through a study and export their responses."""
    if not 0 <= ability <= 1:
        raise StudyError(f"--ability is {ability:g}", fix="It is a probability, 0 to 1.")
    study, folder = read_study(path), folder_of(path)
    known = truth_of(study, folder, truth, true_value)
    place = target or folder / "rehearsal"
    place.mkdir(parents=True, exist_ok=True)
    database = place / "rehearsal.sqlite"
    if database.exists():
        raise StudyError(f"{place} already has a rehearsal ({database.name})", fix="Choose another folder with --to.")
    site = open_site(folder, sqlite_url(database), clock=quick_clock())
    spread = np.clip(np.random.default_rng(seed).normal(ability, 0.08, raters or study.raters), 0, 1)
    walks = run_raters(site, study, known, [float(a) for a in spread], seed)
    data = read_collected(site.engine, study)
    found, paths = ratings(data), export_all(data, site.plan_hash, place)
    site.engine.dispose()
    lines = [f"{len(walks)} raters, {sum(len(w.acknowledged) for w in walks)} responses with practice and controls"]
    return [*lines, *str(found).splitlines(), *_recovered(study, found, known), *(str(path) for path in paths)]


def _recovered(study: Study, found: Ratings, known: dict[str, float]) -> list[str]:
    if not known:
        return []
    winners = majority(Votes.of(found, study.questions[0].name)).idxmax(axis=1)
    share = float(np.mean([known[str(unit)] == value for unit, value in winners.items()]))
    return [f"majority vote is correct for {share:.0%} of {len(winners)} units"]


def run_raters(
    site: Site, study: Study, truth: dict[str, float], abilities: list[float], seed: int
) -> list[RaterSession]:
    """Serve the study on a free port and run raters of these abilities, a few at a time."""
    choosers = [chooser(study, site.item_of, truth, ability, seed * 100_003 + k) for k, ability in enumerate(abilities)]
    return send(site, choosers, at_once=_AT_ONCE)
