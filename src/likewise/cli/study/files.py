"""likewise study export and import: responses of the database to files, and files of platforms to Ratings."""

from __future__ import annotations

from pathlib import Path

from likewise.cli.study.server import database_of, folder_of
from likewise.errors import StoreError
from likewise.study.config.load import read_study
from likewise.study.config.plan_hash import freeze
from likewise.study.long_table import LongColumns, read_long_table
from likewise.study.platforms import read_responses, write_tasks
from likewise.study.store.export import export_all, read_collected
from likewise.study.store.schema import begin_study, open_database
from likewise.tables.io import write_frame


def export_study(path: Path, target: Path, database: str) -> list[Path]:
    """Write what the database of a study holds."""
    study, folder = read_study(path), folder_of(path)
    if not database and not (folder / "study.sqlite").is_file():
        fix = "Serve the study first, or name its database with --database."
        raise StoreError(f"No responses to export: {folder / 'study.sqlite'} is missing", fix=fix)
    found = freeze(study, folder)
    engine = open_database(database_of(folder, database))
    try:
        with engine.begin() as connection:
            begin_study(connection, study, found)
        return export_all(read_collected(engine, study), found, target)
    finally:
        engine.dispose()


def export_tasks(path: Path, target: Path, platform: str, address: str) -> list[Path]:
    """Write the units as the task file of a platform; this freezes the plan, as serving does."""
    study, folder = read_study(path), folder_of(path)
    freeze(study, folder)
    return [write_tasks(study, platform, target, address)]


def import_responses(
    path: Path, file: Path, platform: str, target: Path, columns: LongColumns | None = None
) -> list[str]:
    """Read responses from a platform's file or a long table; write them as Ratings with the hash of the plan."""
    study, folder = read_study(path), folder_of(path)
    long = platform == "table"
    found = read_long_table(study, file, columns) if long else read_responses(study, platform, file)
    write_frame(target, found.frame, {"study": freeze(study, folder)})
    return [*str(found).splitlines(), f"wrote {target}"]
