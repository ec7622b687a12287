"""Documentation: its code runs, its links resolve, and everything public is documented."""

from __future__ import annotations

import dataclasses
import doctest
import inspect
import pydoc
import re
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

import likewise as lw
from likewise.audit.plan.design_sections import (
    PrecomputedAnswers,
    PrecomputedDistances,
    ReferenceDifficulty,
    SecondaryDistance,
    UnitsPlan,
)
from likewise.audit.plan.model import Plan
from likewise.audit.plan.sections import (
    CollectPlan,
    DataPlan,
    EncodePlan,
    EstimatePlan,
    GroupsPlan,
    PrivacyPlan,
    RaterPlan,
    ReportPlan,
    TrialsPlan,
)
from likewise.cli.main import cli
from likewise.cli.stage_commands import stage_help
from likewise.counterfactuals.sweep_spec import SweepSpec
from likewise.counterfactuals.validation.validity import ValiditySpec
from likewise.runtime.executor import Executor
from likewise.runtime.registry import KINDS
from likewise.tables import STATS, MatchSpec

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
TEXT = {path: path.read_text() for path in PAGES}
README = ROOT / "README.md"
ELSEWHERE = (README, ROOT / "docs" / "tutorial.md")  # below, and in tests/test_tutorial.py: with what they print


def blocks(language: str) -> list[tuple[str, str]]:
    found = []
    for path, text in TEXT.items():
        if path in ELSEWHERE and language == "python":
            continue
        for number, code in enumerate(re.findall(rf"```{language}\n(.*?)```", text, flags=re.DOTALL)):
            found.append((f"{path.relative_to(ROOT)} {number}", code))
    return found


@pytest.mark.parametrize(("place", "code"), blocks("python"), ids=lambda value: value if len(value) < 60 else "")
def test_python_in_documents_runs(place, code, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(compile(code, place, "exec"), {})  # noqa: S102  # our own documents


def test_the_readme_prints_what_it_says(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    code, shown = re.search(r"```python\n(.*?)```.*?```text\n(.*?)```", TEXT[README], flags=re.DOTALL).groups()
    exec(compile(code, "README.md", "exec"), {})  # noqa: S102  # our own document
    printed = capsys.readouterr().out.splitlines()
    assert set(shown.splitlines()) <= set(printed)
    assert (tmp_path / "audit" / "report.html").is_file()


@pytest.mark.parametrize(("place", "code"), blocks("toml"), ids=lambda value: value if len(value) < 60 else "")
def test_toml_in_documents_is_toml(place, code):
    assert tomllib.loads(code)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_resolve(path):
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", TEXT[path]):
        assert (path.parent / target).exists(), target


@pytest.mark.parametrize("command", sorted([*cli.commands, *stage_help()]))
def test_every_command_has_a_page(command):
    page = ROOT / "docs" / "commands" / f"{command}.md"
    assert page.read_text().startswith(f"# likewise {command}\n")


FUNCTIONS = [name for name in lw.__all__ if name != "figures"]  # a package of functions


def public(name: str) -> Any:
    """Return a public function or class; packages that can be called stand for a function."""
    return inspect.unwrap(getattr(lw, name))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_public_name_is_in_the_api_reference(name):
    found = public(name)
    shown = re.findall(r"^::: ([\w.]+)$", TEXT[ROOT / "docs" / "api.md"], flags=re.MULTILINE)
    assert any(path.rpartition(".")[2] == found.__name__ and pydoc.locate(path) is found for path in shown)


def test_the_api_reference_has_only_what_exists():
    shown = re.findall(r"^::: ([\w.]+)$", TEXT[ROOT / "docs" / "api.md"], flags=re.MULTILINE)
    assert len(shown) == len(set(shown)) == len(FUNCTIONS)
    assert set(lw.__all__) <= set(dir(lw))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_public_name_has_a_docstring_with_an_example(name):
    found = public(name)
    text = inspect.getdoc(found) or ""
    assert ">>>" in text
    assert "doctest: +SKIP" not in text, "an example that does not run"
    if inspect.isfunction(found):
        assert "\nReturns\n-------\n" in text
    section = text.partition("\nParameters\n----------\n")[2].partition("\n\n")[0]
    named = set(
        re.findall(
            r"\*{0,2}(\w+)", " ".join(line.partition(" :")[0] for line in section.splitlines() if line[0] != " ")
        )
    )
    assert set(inspect.signature(found).parameters) <= named


@pytest.mark.parametrize("name", ["audit", "report"])
def test_help_of_a_package_that_is_called_is_that_of_the_function(name):
    text = pydoc.plain(pydoc.render_doc(getattr(lw, name)))
    assert all(part in text for part in ("Parameters", "Returns", ">>> "))


def test_help_explains_the_choices_of_a_matching():
    text = pydoc.plain(pydoc.render_doc(MatchSpec))
    assert "distance : {'euclidean', 'mahalanobis', 'propensity', 'precomputed'}, default 'euclidean'" in text
    assert "propensity: the difference of propensity scores" in text


@pytest.mark.parametrize("name", FUNCTIONS)
def test_examples_of_docstrings_run(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = public(name)
    module = sys.modules[found.__module__]
    tests = doctest.DocTestFinder(recurse=False).find(found, name, module=module, globs=dict(vars(module)))
    assert tests
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    for test in tests:
        assert not runner.run(test).failed


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_every_component_kind_is_documented(kind):
    assert f"| `{kind}` |" in TEXT[ROOT / "docs" / "components.md"]


@pytest.mark.parametrize("option", list(MatchSpec.__dataclass_fields__))
def test_every_option_of_a_matching_is_documented(option):
    assert f"`{option}`" in TEXT[ROOT / "docs" / "tables" / "match-spec.md"]


@pytest.mark.parametrize("key", [entry.name for entry in dataclasses.fields(Plan) if entry.init])
def test_every_key_of_the_plan_is_documented(key):
    page = TEXT[ROOT / "docs" / "commands" / "init.md"]
    assert any(f"`{shown}`" in page for shown in (key, f"[{key}]", f"[[{key}]]"))


SECTIONS = {
    "data": DataPlan, "units": UnitsPlan, "trials": TrialsPlan, "rater": RaterPlan, "precomputed": PrecomputedAnswers,
    "counterfactual": SweepSpec, "validity": ValiditySpec, "collect": CollectPlan, "estimate": EstimatePlan,
    "groups": GroupsPlan, "privacy": PrivacyPlan, "report": ReportPlan, "executor": Executor, "encode": EncodePlan,
    "secondary_distance": SecondaryDistance, "reference_difficulty": ReferenceDifficulty,
    "precomputed_distances": PrecomputedDistances,
}  # fmt: skip


@pytest.mark.parametrize("section", SECTIONS)
def test_every_key_of_a_section_is_documented(section):
    page = TEXT[ROOT / "docs" / "commands" / "init.md"]
    line = next(line for line in page.splitlines() if re.match(rf"\| `\[+{section}\]+`", line))
    assert [key.name for key in dataclasses.fields(SECTIONS[section]) if f"`{key.name}`" not in line] == []


@pytest.mark.parametrize("stat", list(STATS.values()), ids=lambda stat: stat.name)
def test_every_statistic_is_documented(stat):
    assert f"| `{stat.name}` | {stat.label} |" in TEXT[ROOT / "docs" / "statistics.md"]


def test_the_versions_agree():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["version"] == lw.__version__
    assert f"## {lw.__version__}" in TEXT[ROOT / "CHANGELOG.md"]
