"""likewise study export and import: the database's answers to files, and the platforms' files to Ratings."""

from __future__ import annotations

from pathlib import Path

from likewise.cli.study_server import database_of, folder_of
from likewise.errors import StoreError
from likewise.study.export import export_all
from likewise.study.frozen import freeze
from likewise.study.platforms import read_answers, write_tasks
from likewise.study.reading import read_study
from likewise.study.schema import begin_study, open_database
from likewise.tables.files import write_frame


def export_study(path: Path, target: Path, database: str) -> list[Path]:
    """Write what a study's database holds."""
    study, folder = read_study(path), folder_of(path)
    if not database and not (folder / "study.sqlite").is_file():
        fix = "Serve it first, or name its database with --database."
        raise StoreError(f"{folder} has answers to export", got="no study.sqlite", fix=fix)
    found = freeze(study, folder)
    engine = open_database(database_of(folder, database))
    with engine.begin() as connection:
        begin_study(connection, study, found)
        paths = export_all(connection, study, found, target)
    engine.dispose()
    return paths


def export_tasks(path: Path, target: Path, platform: str, address: str) -> list[Path]:
    """Write the units as a platform's task file; the plan is frozen by it, as by serving."""
    study, folder = read_study(path), folder_of(path)
    freeze(study, folder)
    return [write_tasks(study, platform, target, address)]


def import_answers(path: Path, file: Path, platform: str, target: Path) -> list[str]:
    """Read a platform's answers; write them as Ratings that carry the plan's hash."""
    study, folder = read_study(path), folder_of(path)
    found = read_answers(study, platform, file)
    write_frame(target, found.frame, {"study": freeze(study, folder)})
    return [*str(found).splitlines(), f"written: {target}"]
