"""A stage is one object: added to the list it runs, is skipped when up to date, and appears in check and commands."""

from __future__ import annotations

import ast
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import likewise as lw
from likewise.audit import stages
from likewise.audit.context import StageContext
from likewise.audit.folder.artifacts import IMAGES
from likewise.audit.folder.store import Folder
from likewise.audit.folder.table_cache import TableCache
from likewise.audit.plan.model import Plan
from likewise.audit.stage import ComponentUse, Stage
from likewise.cli.stage_commands import stage_help
from likewise.tables.table import Table
from shell import run


@dataclass(frozen=True, kw_only=True)
class CountSpec:
    """The section of the toy stage."""

    column: str
    by: str = "world"


class CountLevels(Stage):
    """Count the levels of a column."""

    name, artifact, section, section_type = "count-levels", "counts.csv", "count_levels", CountSpec
    help = "Count the levels of a column."

    def needs(self, plan: Plan) -> tuple[str, ...]:
        return (IMAGES,)

    def options(self, plan: Plan) -> dict[str, Any]:
        return {"column": plan.sections["count_levels"].column}

    def components(self, folder: Folder, plan: Plan) -> list[ComponentUse]:
        return [ComponentUse("recognizer", plan.sections["count_levels"].by)]

    def run(self, context: StageContext) -> None:
        column = context.images().attribute(context.plan.sections["count_levels"].column)
        column.value_counts().to_csv(context.path(self.artifact))
        context.summary = {"levels": int(column.nunique())}


@pytest.fixture
def counting(audit, monkeypatch) -> Path:
    monkeypatch.setattr(stages, "STAGES", [stages.STAGES[0], CountLevels(), *stages.STAGES[1:]])
    with (audit / "audit.toml").open("a") as plan:
        plan.write('\n[count_levels]\ncolumn = "smiling"\n')
    return audit


def test_a_stage_is_added_by_one_entry_of_the_list(counting, capsys):
    assert "count-levels" in stage_help()
    assert run(capsys, "read", counting, "--quiet")[0] == 0
    code, _, err = run(capsys, "count-levels", counting)
    assert code == 0
    assert "count-levels    wrote counts.csv" in err
    assert "levels 2" in err
    assert (counting / "counts.csv.json").is_file()
    _, _, err = run(capsys, "count-levels", counting)
    assert "count-levels    up to date" in err
    code, out, _ = run(capsys, "check", counting)
    assert code == 0
    assert "read > count-levels > project" in out


def test_the_section_of_an_added_stage_is_read_strictly(counting, capsys):
    text = (counting / "audit.toml").read_text()
    (counting / "audit.toml").write_text(text.replace('column = "smiling"', 'colum = "smiling"\nby = "wrld"'))
    code, _, err = run(capsys, "check", counting)
    assert code == 2
    assert "Unknown key 'colum' in [count_levels]" in err
    (counting / "audit.toml").write_text(text + 'by = "wrld"\n')
    code, out, _ = run(capsys, "check", counting)
    assert code == 2
    assert "Unknown recognizer 'wrld'. Did you mean 'world'?" in out


def test_a_stage_without_its_section_is_not_run(audit, monkeypatch, capsys):
    monkeypatch.setattr(stages, "STAGES", [stages.STAGES[0], CountLevels(), *stages.STAGES[1:]])
    assert run(capsys, "count-levels", audit)[0] == 2


def test_every_stage_declares_itself():
    assert len({stage.name for stage in stages.STAGES}) == len({stage.artifact for stage in stages.STAGES}) == 19
    folder = Path(stages.__file__).parent
    files = {path.stem for path in folder.rglob("*.py")} - {"__init__"}
    assert files == {stage.name.replace("-", "_") for stage in stages.STAGES}
    for stage in stages.STAGES:
        assert stage.help.endswith(".")
        assert stage.section


def test_a_run_reads_every_table_once(audit, capsys, monkeypatch):
    reads: Counter[str] = Counter()

    def counted(kind: type) -> None:
        original = kind.read.__func__  # type: ignore[attr-defined]

        def read(cls: type, path: object, **options: Any) -> Any:
            place = Path(str(path))
            reads[f"{cls.__name__} {place.relative_to(audit) if place.is_relative_to(audit) else place}"] += 1
            return original(cls, path, **options)

        monkeypatch.setattr(kind, "read", classmethod(read))

    counted(Table)
    counted(lw.Vectors)
    assert run(capsys, "run", audit, "--quiet")[0] == 0
    artifacts = {name: count for name, count in reads.items() if not name.endswith("faces.csv")}
    assert {"Matches matches.parquet", "Trials trials.parquet", "Ratings ratings.parquet"} <= set(artifacts)
    assert set(artifacts.values()) == {1}, artifacts


def test_a_table_that_was_replaced_is_read_again(tmp_path, world):
    tables, path = TableCache(), tmp_path / "images.parquet"
    world.faces.write(path)
    first = tables.read(lw.Images, path)
    assert tables.read(lw.Images, path) is first
    world.faces.subset(world.faces.keys[:5]).write(path)
    assert len(tables.read(lw.Images, path)) == 5


def test_the_context_is_typed():
    source = ast.parse((Path(stages.__file__).parents[1] / "context.py").read_text())
    annotated = [
        ast.unparse(node.annotation) for node in ast.walk(source) if isinstance(node, ast.arg) and node.annotation
    ]
    assert "Any" not in annotated
