"""Gates: conditions of --fail-if are read strictly, decided on the interval, and give their own exit code."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
import yaml

from likewise.audit.results.gate import METRICS, Gate, check_gates, decide
from likewise.cli.main import cli
from likewise.errors import SpecError
from likewise.stats.intervals import Interval
from likewise.tables import Estimates
from likewise.tables.estimates import row
from scored_audit import scored_audit
from shell import run

GAP = ("female - male", Interval(-0.03, -0.08, 0.02, 50))


def estimates() -> Estimates:
    made = {"n": 100, "level": 0.95, "method": "t"}
    return Estimates.of(
        [
            row("dlib: distance at FMR 0.01", "gap", "matched", *GAP, **made),
            row("dlib: distance at FMR 0.001", "gap", "all", "female - male", Interval(0.2, 0.1, 0.3, 50), **made),
            row("dlib: distance at FMR 0.01", "fnmr", "all", "female", Interval(0.1, 0.05, 0.2, 50), **made),
            row("dlib: distance at FMR 0.01", "max_min", "all", "FNMR, all groups", 3.0, **made),
            row("dlib: distance", "gap", "all", "female - male", Interval(0.02, 0.01, 0.03, 50), **made),
            row("tags: Share labeled Neck tie", "gap", "all", "female - male", Interval(0.4, 0.3, 0.5, 50), **made),
            row("tags: Neck tie", "slope", "counterfactual", "per level", Interval(0.6, 0.5, 0.7, 50), **made),
        ]
    )


@pytest.mark.parametrize(
    ("text", "failed"),
    [
        ("fnmr_gap(dlib) > 0.05", False), ("abs(fnmr_gap(dlib)) > 0.02", True), ("fnmr_gap(dlib) < -2 %", True),
        ("upper(abs(fnmr_gap(dlib))) > 0.079", True), ("lower(abs(fnmr_gap(dlib))) > 0", False),
        ("upper(fnmr_gap(dlib)) > 0.02", False), ("upper(fnmr_gap(dlib)) >= 0.02", True),
        ("lower(fnmr_gap(dlib, fmr=0.001, sample=all)) > 0.05", True), ("fnmr(dlib, group=female) > 5%", True),
        ("point(fnmr_ratio('dlib')) >= 3", True), ("distance_gap(dlib) > 0.05", False),
        ('label_gap(tags, "Neck tie") > 0.3', True), ("label_slope(tags, 'Neck tie') > 0.9", False),
    ],
)  # fmt: skip
def test_conditions_are_decided_on_the_estimate_or_its_interval(text, failed):
    outcome = decide(Gate.parse(text), estimates())
    assert outcome.failed is failed
    assert outcome.line.startswith("gate failed: " if failed else "gate not triggered: ") and "\n" not in outcome.line


@pytest.mark.parametrize("text", ["fnmr_gap(other) > 0", "upper(fnmr_ratio(dlib)) > 9", "fnmr_gap(dlib, fmr=0.5) > 0"])
def test_what_cannot_be_decided_fails(text):
    outcome = decide(Gate.parse(text), estimates())
    assert outcome.failed and "cannot be decided" in outcome.line


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("fnmr_gap(dlib)", "missing before 'the end'"), ("fnmr_gap(dlib) > ", "a number is missing"),
        ("fmnr_gap(dlib) > 0.05", "unknown metric 'fmnr_gap'"), ("fnmr_gap dlib > 0.05", r"\( is missing"),
        ("fnmr_gap(dlib) == 0.05", "missing before '='"), ("fnmr_gap(dlib) > 0.05 and 1 < 2", "unexpected 'and'"),
        ("__import__('os').system('true') > 0", r"unexpected '\.'"), ("fnmr_gap(dlib) > x", "a number is"),
        ("abs(upper(fnmr_gap(dlib))) > 0", r"upper\(abs"), ("upper(lower(fnmr_gap(dlib))) > 0", "each of them once"),
        ("eval('1') > 0", "unknown metric 'eval'"),
        ("fnmr_gap() > 0", "a name is missing"), ("fnmr_gap(dlib, sample=some) > 0", "unknown sample 'some'"),
        ("fnmr_gap(dlib, group=female) > 0", "unknown option 'group'"), ("fnmr(dlib) > 0", "fnmr is of a group"),
        ("fnmr_gap(dlib, fmr=low) > 0", "not a number"), ("label_gap(tags) > 0", "takes 2 names"),
        ("fnmr_gap(dlib) > 0; exit", "unexpected ';'"), ("x" * 501, "501 characters"), ("", "a metric is missing"),
    ],
)  # fmt: skip
def test_malformed_conditions_are_named(text, problem):
    with pytest.raises(SpecError, match=problem):
        Gate.parse(text)


def test_every_metric_can_be_written():
    for name, (kind, _) in METRICS.items():
        rest = ", 'Neck tie'" if kind in ("label", "slope") else ", group=female" if name == "fnmr" else ""
        assert Gate.parse(f"upper({name}(dlib{rest})) > 0").metric == name


def test_an_unknown_system_is_refused_before_any_work():
    with pytest.raises(SpecError, match="unknown system 'dlbi'"):
        check_gates(["fnmr_gap(dlbi) > 0"], ["dlib", "people"])


def test_the_exit_code_is_that_of_a_gate(tmp_path, capsys):
    done = scored_audit(tmp_path)
    (done.folder / "estimates.parquet").unlink()
    code, _, err = run(capsys, "run", done.folder, "--fail-if", "fnmr_gap(nobody) > 0")
    assert code == 2 and "unknown system 'nobody'" in err
    assert not (done.folder / "estimates.parquet").exists()
    code, _, err = run(capsys, "run", done.folder, "--quiet", "--fail-if", "upper(abs(fnmr_gap(vendor))) > 0.0001")
    assert code == 7 and err.strip().count("\n") == 0 and err.startswith("gate failed: ")
    code, out, _ = run(capsys, "run", done.folder, "--quiet", "--fail-if", "fnmr_gap(vendor) > 0.99")
    assert code == 0 and "gate not triggered" in out


def test_the_workflow_of_the_documentation_is_valid():
    page = (Path(__file__).parents[2] / "docs" / "how-to" / "continuous-integration.md").read_text(encoding="utf-8")
    workflow = yaml.safe_load(page.partition("```yaml\n")[2].partition("```")[0])
    commands = [shlex.split(step["run"]) for step in workflow["jobs"]["audit"]["steps"] if "run" in step]
    ours = [command[1:] for command in commands if command[0] == "likewise"]
    assert [command[0] for command in ours] == ["run", "compare"]
    for name, *rest in ours:
        with cli.commands[name].make_context(name, rest) as context:
            for condition in context.params.get("fail_if", ()):
                assert Gate.parse(condition).system == "vendor"
    for name in METRICS:
        assert f"`{name}(" in page
