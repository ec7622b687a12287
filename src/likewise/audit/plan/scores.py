"""The plan of an audit of scores: columns, levels and the kind of score are recognized where they are obvious."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd
import tomlkit

from likewise.audit.plan.file import plan_of
from likewise.audit.plan.request import AuditRequest
from likewise.audit.plan.scaffold import plan_document
from likewise.audit.plan.toml import commented, listed, relative, section
from likewise.data.precomputed_scores import read_scores
from likewise.data.scores.columns import (
    ScoreColumns,
    TableColumns,
    as_text,
    guess_identity,
    guess_image_column,
    guess_levels,
    guess_protected,
    score_columns,
)
from likewise.data.scores.measure import Separation, need_consistent, need_direction, separation
from likewise.errors import SpecError, TableError, some
from likewise.tables import Images
from likewise.tables.checks import need_columns
from likewise.tables.io import read_frame

MEASURES = ("auto", "similarity", "distance")


@dataclass(frozen=True, kw_only=True)
class ScoresRequest:
    """What ``likewise scores`` and ``lw.scores`` receive; what is empty is guessed, or an error."""

    files: tuple[str, ...]
    """FILE or NAME=FILE."""
    table: Path
    columns: tuple[str, ...] = ()
    """Of the score files: the two images, then one or more scores."""
    system_column: str = ""
    """Of the score files: the column that names the system of a row."""
    image_column: str = ""
    identity: str = ""
    protected: str = ""
    focal: str = ""
    reference: str = ""
    covariates: str = ""
    by: tuple[str, ...] = ()
    measure: str = "auto"
    threshold: tuple[str, ...] = ()
    """VALUE or SYSTEM=VALUE, in the units of the file."""
    title: str = "Audit of scores"
    seed: int = 0

    def __post_init__(self) -> None:
        if not self.files:
            raise SpecError("No score file is given", fix="Give one or more: FILE, or NAME=FILE.")
        if self.measure not in MEASURES:
            raise SpecError(f"Unknown measure {self.measure!r}", fix=f"Use {', '.join(MEASURES)}.")


@dataclass(frozen=True)
class System:
    """The scores of one system: its file, its columns, its rows, and what the scores are."""

    name: str
    path: Path
    columns: dict[str, str]
    where: dict[str, str]
    measure: str = ""
    found: Separation | None = None

    @property
    def line(self) -> str:
        """What was recognized, for the terminal."""
        images = f"{self.columns['a']!r} and {self.columns['b']!r}"
        return f"  {self.name}: {self.path.name}, images {images}, score {self.columns['score']!r}: {self.said}"

    @property
    def said(self) -> str:
        """What the scores are, and why."""
        return f"{'similarities' if self.measure == 'similarity' else 'distances'} ({self.found})"


def scores_plan(folder: Path | None, request: ScoresRequest) -> tuple[str, list[str]]:
    """Return the text of the plan and lines that say what was recognized; without a folder, paths are absolute."""
    files = [_named(entry) for entry in request.files]
    seen = _table_columns(request, files[0][1])
    asked = AuditRequest(
        protected=seen.protected, focal=seen.focal, reference=seen.reference, table=request.table,
        identity=seen.identity, image_column=seen.image, covariates=request.covariates, by=request.by,
        encoder="columns", title=request.title, seed=request.seed,
    )  # fmt: skip
    images = asked.source.faces()
    systems = _unique([system for name, path in files for system in _systems(request, name, path, images)])
    systems = [_measured(system, request.measure, images) for system in systems]
    _need_covariates(asked, images)
    document, summary = plan_document(folder, asked)
    _of_trials(document)
    limits = _thresholds(request.threshold, [system.name for system in systems])
    document["precomputed"] = listed([_section(system, folder, limits.get(system.name)) for system in systems])
    text = tomlkit.dumps(document)
    plan_of(text)
    chosen = f"  table {request.table.name}: image {seen.image!r}, identity {seen.identity!r}, {seen.protected!r}"
    return text, [chosen, *summary, *(system.line for system in systems)]


def _named(entry: str) -> tuple[str, Path]:
    name, sign, rest = entry.partition("=")
    if sign and not Path(entry).is_file():
        return name, Path(rest)
    return Path(entry).stem, Path(entry)


def _table_columns(request: ScoresRequest, scores: Path) -> TableColumns:
    table, name = as_text(request.table), request.table.name
    given = (request.image_column, request.identity, request.protected)
    need_columns(table, [column for column in given if column], name)
    image = request.image_column or guess_image_column(table, as_text(scores), name)
    identity = request.identity or guess_identity(table, image, name)
    protected = request.protected or guess_protected(table, name)
    if bool(request.focal) != bool(request.reference):
        raise SpecError("Only one of --focal and --reference is given", fix="Give both.")
    focal, reference = (request.focal, request.reference) if request.focal else guess_levels(table, protected)
    return TableColumns(image, identity, protected, focal, reference)


def _systems(request: ScoresRequest, name: str, path: Path, images: Images) -> list[System]:
    """Return the systems of a file: its rows by system, or one a score column."""
    columns = score_columns(path, request.columns, images.keys, request.system_column)
    if columns.system and len(columns.scores) > 1:
        fix = "Name one score column, or leave out the system column."
        raise SpecError(f"{path.name} has both a system column and several score columns", fix=fix)
    if columns.system:
        found = read_frame(path, text=(columns.system,))[0][columns.system]
        if found.isna().any():
            raise TableError(
                f"{int(found.isna().sum())} rows of {path.name} have no {columns.system}",
                fix="Fill in these cells, or remove the rows.",
            )
        return [_system(str(each), path, columns, columns.scores[0], str(each)) for each in pd.unique(found)]
    several = len(columns.scores) > 1
    return [_system(score if several else name, path, columns, score) for score in columns.scores]


def _system(name: str, path: Path, columns: ScoreColumns, score: str, value: str = "") -> System:
    where = {columns.system: value} if columns.system else {}
    return System(name, path, {"a": columns.a, "b": columns.b, "score": score}, where)


def _unique(systems: list[System]) -> list[System]:
    names = [system.name for system in systems]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise SpecError(f"Several systems have the name {some(twice)}", fix="Name the files: NAME=FILE.")
    return systems


def _measured(system: System, measure: str, images: Images) -> System:
    """Return the system with what its scores are; a declared measure that the pairs contradict is an error."""
    scored = read_scores(
        system.path, images, columns=system.columns, measure="distance", scale=1.0, where=system.where
    )  # fmt: skip
    found = separation(scored, images)
    if measure == "auto":
        return replace(system, measure=need_direction(found, system.name), found=found)
    turned = scored if measure == "distance" else scored.assign(distance=-scored["distance"])
    need_consistent(separation(turned, images), system.name, measure)
    return replace(system, measure=measure, found=found)


def _need_covariates(asked: AuditRequest, images: Images) -> None:
    others = [name for name in images.attributes if name != asked.protected]
    if not others:
        table = asked.table.name if asked.table else "the table"
        fix = "Add columns that describe the images, e.g. perceived_age, eyeglasses, yaw."
        raise TableError(f"{table} has no covariates to match on", fix=fix)


def _of_trials(document: tomlkit.TOMLDocument) -> None:
    """Match the trials of the file, balanced within a bound that the matching proves."""
    report = document.pop("report")
    for name in ("trials", "units", "match"):
        document.pop(name, None)
    document["units"] = section(kind=commented("trials", "the pairs of the file are matched, not single images"))
    document["match"] = section(
        method=commented("cardinality", "the largest sample that is balanced within max_smd"),
        max_smd=commented(0.1, "largest standardized mean difference"),
    )
    document["report"] = report


def _section(system: System, folder: Path | None, threshold: float | None) -> Any:
    values: dict[str, Any] = {"rater": system.name, "scores": relative(system.path, folder)}
    columns = tomlkit.inline_table()
    columns.update(system.columns)
    values["columns"] = columns
    if system.where:
        values["where"] = tomlkit.inline_table()
        values["where"].update(system.where)
    values["measure"] = commented(system.measure, str(system.found))
    if system.measure == "similarity" and system.found is not None and system.found.scale != 1:
        values["scale"] = commented(system.found.scale, "a similarity s is read as the distance 1 - s / scale")
    if threshold is not None:
        values["threshold"] = threshold
    return section(**values)


def _thresholds(given: Sequence[str], names: list[str]) -> dict[str, float]:
    found: dict[str, float] = {}
    for entry in given:
        name, sign, value = entry.rpartition("=")
        if sign and name not in names:
            raise SpecError(f"--threshold is for {name!r}, which is no system", fix=f"Systems: {some(names, 12)}.")
        try:
            found |= dict.fromkeys([name] if sign else names, float(value))
        except ValueError as error:
            raise SpecError(f"--threshold {entry!r} is not a number", fix="Use VALUE or SYSTEM=VALUE.") from error
    return found
