from __future__ import annotations

import pytest

from likewise.audit.stages import plan_of, read_plan
from likewise.errors import LikewiseWarning, PlanError

PLAN = """
seed = 3
covariates = ["age"]
[data]
images = "images"
table = "faces.csv"
[contrast]
column = "perceived_gender"
focal = "female"
reference = "male"
"""


@pytest.fixture
def written(tmp_path):
    def write(text: str):
        (tmp_path / "audit.toml").write_text(text)
        return read_plan(tmp_path / "audit.toml")

    return write


def test_a_plan_is_read(written):
    plan = written(
        PLAN + "[project]\nlambda = 1\n[match]\nexact = ['age']\ncaliper = {distance = 4, age = '0.2sd'}\n"
        "[executor]\nchunk = 9\n"
    )
    assert (plan.seed, plan.covariates, plan.project.lambda_) == (3, ("age",), 1.0)
    assert (plan.match.exact, plan.executor.chunk) == (("age",), 9)
    assert plan.match.caliper == (("age", "0.2sd"), ("distance", 4.0))


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (
            "[match]\nmetod = 'nearest'",
            r"Unknown key 'metod' in \[match\] \(audit.toml, line 12\). Did you mean 'method'",
        ),
        ("[mtach]\n", r"Unknown key 'mtach' \(audit.toml, line 11\). Did you mean 'match'"),
        ("[data2]\n", "Did you mean 'data'"),
        ("[project]\nlamda = 1", r"Unknown key 'lamda' in \[project\] \(audit.toml, line 12\). Did you mean 'lambda'"),
        ("[project]\nlambda = 'x'", r"project.lambda must be a number, not 'x' \(audit.toml, line 12\)"),
        ("[match]\nmax_pairs = 0", r"\[match\] \(audit.toml, line 11\): max_pairs = 0"),
        ("[[rater]]\nkind = 'recogniser'\nname = 'x'", "Did you mean 'recognizer'"),
        ("[[rater]]\nkind = 'recognizer'", r"Missing key 'name' in \[\[rater\]\]"),
        ("[counterfactual]\nstrengths = [1, 2, 3]", r"\[counterfactual\] \(audit.toml, line 11\)"),
        ("[counterfactual]\nstrengths = 3", "a list"),
        ("[estimate]\nlevel = 95", "level is 95 in .estimate.. Use a number between 0 and 1"),
        ("[match]\nreferences = true", r"needs a section \[reference_difficulty\]"),
        ("[reference_difficulty]\nperceptual = 'pixels'", r"no effect without references = true in \[match\]"),
        (
            "[match]\nreferences = true\n[reference_difficulty]\nperceptual = 'pixels'\npairs = 'x'",
            "names perceptual and pairs. Name exactly one",
        ),
        ("[[secondary_distance]]\nvectors = 'v.npz'", "limit is 0 in"),
        ("[[secondary_distance]]\nrecognizer = 'world'\nlimit = -1", "above 0"),
        ("[[secondary_distance]]\nlimit = 1", "names no source. Name exactly one of recognizer, vectors"),
        ("[[secondary_distance]]\nvectors = 'v.npz'\nlimit = 1\noptions = {a = 1}", "options have no effect"),
        ("[match]\ndistance = 'precomputed'", r"needs distances in \[precomputed_distances\]"),
        ("[precomputed_distances]\nscores = 's.csv'", "no effect without distance = 'propensity'"),
        (
            "[match]\ndistance = 'propensity'\nscore_on = ['age']\n[precomputed_distances]\nscores = 's.csv'",
            "both scores in .* and score_on",
        ),
        ("[match]\ncaliper = {age = '2 years'}", r"\[match\] \(audit.toml, line 11\): "),
        ("[precomputed_distances]\n", "Name exactly one of distances, scores"),
        ("[executor]\nkind = 'local'\nworkers = 4", "4 workers"),
        ("[collect]\ncrowd = 3", r"collect.crowd must be text, not 3 \(audit.toml, line 12\)"),
        ("x = [", "is not valid TOML"),
    ],
)
def test_what_a_plan_may_not_say(written, more, says):
    with pytest.raises(PlanError, match=says):
        written(PLAN + more)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("seed = 3", "seed = 'three'", "seed must be a whole number"),
        ("seed = 3", "seed = true", "seed must be a whole number"),
        ("seed = 3", "format = 3", "The plan has format 3 .* Install the version"),
        ("seed = 3", "sead = 3", r"Unknown key 'sead' \(audit.toml, line 2\). Did you mean 'seed'"),
        ('focal = "female"', "", r"Missing key 'focal' in \[contrast\]"),
        ('focal = "female"', 'focal = "male"', "both 'male'"),
        ('table = "faces.csv"', 'tabel = "faces.csv"', "Did you mean 'table'"),
        ('table = "faces.csv"', "table = 4", "data.table must be text, not 4"),
        ("[contrast]", "[contrasts]", "Did you mean 'contrast'"),
    ],
)
def test_a_slip_in_a_plan_is_pointed_out(written, old, new, says):
    assert old in PLAN
    with pytest.raises(PlanError, match=says):
        written(PLAN.replace(old, new))


def test_all_problems_are_listed_at_once(written):
    with pytest.raises(PlanError) as caught:
        written(PLAN + "[match]\nmetod = 'x'\n[trials]\nimpostors = 'many'\n[estimate]\nlevel = 2\n")
    assert "3 problems in audit.toml" in str(caught.value)
    assert all(word in str(caught.value) for word in ("line 12", "line 14", "level is 2"))


def test_a_plan_needs_its_data():
    with pytest.raises(PlanError, match="Missing key 'data'"):
        plan_of("seed = 1")


OLD = """
format = 1
[faces]
images = "images"
table = "faces.csv"
[contrast]
column = "perceived_gender"
focal = "female"
reference = "male"
[match]
method = "greedy"
[[rater]]
slot = "recogniser"
name = "world"
[[answered]]
rater = "mine"
scores = "s.csv"
[counterfactual]
editor = "world"
levels = [-1, 0, 1]
[certificate]
recogniser = "world"
[ask]
crowd = "world"
[analyse]
level = 0.9
[engine]
kind = "here"
[align]
finder = "dlib"
"""


@pytest.mark.filterwarnings("default")
def test_an_older_plan_is_read_with_one_warning_that_lists_the_keys():
    with pytest.warns(LikewiseWarning) as caught:
        plan = plan_of(OLD)
    (message,) = [str(entry.message) for entry in caught if "older format" in str(entry.message)]
    assert all(part in message for part in ("[faces] -> [data]", "slot -> kind in [rater]", "levels -> strengths"))
    assert plan.format == 2
    assert [rater.kind for rater in plan.rater] == ["recognizer"]
    assert (plan.precomputed[0].rater, plan.estimate.level, plan.executor.kind) == ("mine", 0.9, "local")
    assert plan.align is not None
    assert plan.align.detector == "dlib"
    assert plan.validity is not None
    assert plan.validity.recognizer == "world"


def test_a_slip_in_an_older_plan_names_its_line_as_written():
    with (
        pytest.warns(LikewiseWarning),
        pytest.raises(PlanError, match=r"Unknown key 'tabel' in \[data\] \(audit.toml, line 5\)"),
    ):
        plan_of(OLD.replace("table", "tabel"))


def test_impostors_are_planned_and_never_fewer_than_none(written):
    assert written(PLAN).trials.impostors == 10
    assert written(PLAN + "[trials]\nimpostors = 3\n").trials.impostors == 3
    with pytest.raises(PlanError, match="impostors is -1"):
        written(PLAN + "[trials]\nimpostors = -1\n")
