"""Documents are tested: their code runs, their links lead somewhere, and nothing public is left out."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

import likewise as lw
from likewise.cli.main import cli
from likewise.cli.plan import _PLAIN, _SECTIONS
from likewise.plugins import SLOTS
from likewise.tables import STATS, MatchSpec

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
TEXT = {path: path.read_text() for path in PAGES}
AS_A_WHOLE = ROOT / "docs" / "tutorial.md"  # its steps rest on each other: tests/test_tutorial.py follows them


def blocks(language: str) -> list[tuple[str, str]]:
    found = []
    for path, text in TEXT.items():
        if path == AS_A_WHOLE:
            continue
        for number, code in enumerate(re.findall(rf"```{language}\n(.*?)```", text, flags=re.DOTALL)):
            found.append((f"{path.relative_to(ROOT)} {number}", code))
    return found


@pytest.mark.parametrize(("place", "code"), blocks("python"), ids=lambda value: value if len(value) < 60 else "")
def test_python_in_documents_runs(place, code, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(compile(code, place, "exec"), {})  # noqa: S102  # our own documents


@pytest.mark.parametrize(("place", "code"), blocks("toml"), ids=lambda value: value if len(value) < 60 else "")
def test_toml_in_documents_is_toml(place, code):
    assert tomllib.loads(code)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(path):
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", TEXT[path]):
        assert (path.parent / target).exists(), target


@pytest.mark.parametrize("verb", sorted(cli.commands))
def test_every_verb_has_a_page(verb):
    page = ROOT / "docs" / "verbs" / f"{verb}.md"
    assert page.read_text().startswith(f"# likewise {verb}\n")
    assert cli.commands[verb].get_short_help_str()


@pytest.mark.parametrize("name", lw.__all__)
def test_every_public_name_is_documented(name):
    assert getattr(lw, name).__doc__
    assert any(f"lw.{name}" in text or f"# {name}\n" in text for text in TEXT.values())


def test_there_are_at_most_twenty_public_names():
    assert len(lw.__all__) <= 20
    assert set(lw.__all__) <= set(dir(lw))


@pytest.mark.parametrize("slot", sorted(SLOTS))
def test_every_slot_is_documented(slot):
    assert f"| `{slot}` |" in TEXT[ROOT / "docs" / "slots.md"]


@pytest.mark.parametrize("option", list(MatchSpec.__dataclass_fields__))
def test_every_option_of_a_matching_is_documented(option):
    assert f"`{option}`" in TEXT[ROOT / "docs" / "nouns" / "match-spec.md"]


@pytest.mark.parametrize("key", [*_PLAIN, *_SECTIONS])
def test_every_key_of_the_plan_is_documented(key):
    page = TEXT[ROOT / "docs" / "verbs" / "init.md"]
    assert f"`{key}`" in page or f"`[{key}]`" in page


@pytest.mark.parametrize("stat", list(STATS.values()), ids=lambda stat: stat.name)
def test_every_statistic_is_documented(stat):
    assert f"| `{stat.name}` | {stat.label} |" in TEXT[ROOT / "docs" / "statistics.md"]


def test_the_versions_agree():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["version"] == lw.__version__
    assert f"## {lw.__version__}" in TEXT[ROOT / "CHANGELOG.md"]
