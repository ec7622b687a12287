"""The strict TOML reader: types, unknown keys, suggestions, line numbers, all problems at once."""

from __future__ import annotations

import doctest
from dataclasses import dataclass, field
from typing import Literal

import pytest

from likewise.errors import PlanError, SpecError, StudyError
from likewise.runtime import config
from likewise.runtime.config import parse_toml, read_toml, validate


@dataclass(frozen=True, kw_only=True)
class Rater:
    name: str
    kind: Literal["recognizer", "classifier"] = "recognizer"
    options: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class File:
    path: str
    columns: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Match:
    caliper: float = 0.2
    ratio: int = 1

    def __post_init__(self) -> None:
        if self.ratio < 1:
            raise SpecError(f"Option ratio is {self.ratio}", fix="Use at least 1.")


@dataclass(frozen=True, kw_only=True)
class Plan:
    seed: int = 0
    title: str = ""
    show: bool = False
    match: Match = Match()
    rater: tuple[Rater, ...] = ()
    source: File | Rater | str | None = None
    limit: int | str = 0
    named: dict[str, Match] = field(default_factory=dict)
    groups: tuple[tuple[Rater, ...], ...] = ()


def read(text: str) -> Plan:
    return validate(Plan, parse_toml(text, "audit.toml"))


def problem(text: str) -> str:
    with pytest.raises(PlanError) as caught:
        read(text)
    return str(caught.value)


def test_values_become_the_dataclass():
    plan = read('seed = 3\nmatch.caliper = 1\n[[rater]]\nname = "dlib"\n[named.wide]\nratio = 2')
    assert plan == Plan(seed=3, match=Match(caliper=1.0), rater=(Rater(name="dlib"),), named={"wide": Match(ratio=2)})
    assert isinstance(plan.match.caliper, float)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('seed = "3"', "seed must be a whole number, not '3' (audit.toml, line 1)."),
        ("seed = 3.0", "seed must be a whole number, not 3.0 (audit.toml, line 1)."),
        ("seed = true", "seed must be a whole number, not True (audit.toml, line 1)."),
        ("show = 1", "show must be true or false, not 1 (audit.toml, line 1)."),
        ("title = 1", "title must be text, not 1 (audit.toml, line 1)."),
        ("[match]\n\ncaliper = 'wide'", "match.caliper must be a number, not 'wide' (audit.toml, line 3)."),
        ("rater = 3", "rater must be a list, not 3 (audit.toml, line 1)."),
    ],
)
def test_types_are_strict(text, says):
    assert problem(text) == says


def test_unknown_keys_get_a_suggestion_and_a_line():
    assert problem("seed = 1\n[match]\nratoi = 2") == (
        "Unknown key 'ratoi' in [match] (audit.toml, line 3). Did you mean 'ratio'?"
    )
    assert "Known keys: 'caliper', 'ratio'." in problem("[match]\nzzzzzz = 2")


def test_suggestions_work_in_lists_and_mappings():
    assert problem('[[rater]]\nname = "a"\n[[rater]]\nname = "b"\noptins = {}') == (
        "Unknown key 'optins' in [[rater]] (audit.toml, line 5). Did you mean 'options'?"
    )
    assert "Did you mean 'caliper'?" in problem("[named.wide]\ncalliper = 1.0")
    assert "Did you mean 'kind'?" in problem('groups = [[{ name = "a", kin = "classifier" }]]')


def test_missing_keys_are_named():
    assert problem("[[rater]]\nkind = 'classifier'") == "Missing key 'name' in [[rater]] (audit.toml, line 1)."


def test_choices_are_listed_or_suggested():
    assert problem("[[rater]]\nname = 'a'\nkind = 'recogniser'") == (
        "rater.0.kind is 'recogniser' (audit.toml, line 3). Did you mean 'recognizer'?"
    )
    assert "Choose one of 'recognizer', 'classifier'." in problem("[[rater]]\nname = 'a'\nkind = 'x'")


def test_errors_of_the_dataclass_itself_keep_their_text():
    assert problem("[match]\nratio = 0") == "[match] (audit.toml, line 1): Option ratio is 0. Use at least 1."


def test_union_of_plain_types_is_one_problem():
    assert problem("limit = 1.5") == "limit must be a whole number or text, not 1.5 (audit.toml, line 1)."


def test_union_of_sections_reports_the_member_that_fits_best():
    said = problem('[source]\npath = "a.csv"\ncolums = ["x"]')
    assert said == "Unknown key 'colums' in [source] (audit.toml, line 3). Did you mean 'columns'?"


def test_all_problems_are_reported_at_once():
    said = problem("sed = 1\nshow = 1\n[match]\nratio = 'x'")
    assert said.startswith("3 problems in audit.toml:\n")
    assert all(line in said for line in ("line 1", "line 2", "line 4"))
    many = problem("\n".join(f"key{k} = 1" for k in range(40)))
    assert "and 28 more" in many


def test_long_values_are_shortened():
    assert len(problem(f"seed = '{'x' * 10_000}'")) < 300


def test_a_part_of_a_file_keeps_its_lines():
    source = parse_toml("[one]\nratio = 1\n[two]\nratio = 'x'", "audit.toml")
    with pytest.raises(PlanError, match=r"two\.ratio must be a whole number, not 'x' \(audit\.toml, line 4\)"):
        validate(Match, source, plain=source.plain["two"], where=("two",))


@pytest.mark.parametrize(("text", "says"), [("seed = ", "not valid TOML"), ("a = " + "[" * 5000, "audit.toml")])
def test_broken_toml_is_an_error(text, says):
    with pytest.raises(PlanError, match=says):
        parse_toml(text, "audit.toml")


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(StudyError, match="File not found"):
        read_toml(tmp_path / "none.toml", error=StudyError)
    (tmp_path / "latin.toml").write_bytes(b'title = "\xe4"')
    with pytest.raises(PlanError, match=r"latin\.toml is not UTF-8 text"):
        read_toml(tmp_path / "latin.toml")
    with pytest.raises(PlanError, match="Cannot read"):
        read_toml(tmp_path)


def test_examples_in_docstrings_run():
    assert doctest.testmod(config, optionflags=doctest.IGNORE_EXCEPTION_DETAIL).failed == 0


@pytest.mark.parametrize("depth", [60, 300, 3000])
def test_a_plan_that_is_nested_too_deeply_is_an_error_message(depth):
    for text in (f"x = {'[' * depth}{']' * depth}", f"{'a.' * depth}b = 1", f"x = {'{a=' * depth}1{'}' * depth}"):
        with pytest.raises(PlanError, match=r"audit\.toml is nested too deeply"):
            parse_toml(text, "audit.toml")
    assert parse_toml("x = [[[[1]]]]", "audit.toml")
