from __future__ import annotations

import pytest

from likewise.cli.plan import plan_from, read_plan
from likewise.errors import PlanError

PLAN = """
seed = 3
covariates = ["age"]
[faces]
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
        "[engine]\nchunk = 9\n"
    )
    assert (plan.seed, plan.covariates, plan.project.lambda_) == (3, ("age",), 1.0)
    assert (plan.match.exact, plan.engine.chunk) == (("age",), 9)
    assert plan.match.caliper == (("age", "0.2sd"), ("distance", 4.0))


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ("[match]\nmetod = 'greedy'", r"\[match\] has no key 'metod' \(line 12\). Did you mean 'method'"),
        ("[mtach]\n", r"has no key 'mtach' \(line 11\). Did you mean 'match'"),
        ("[faces2]\n", "Did you mean 'faces'"),
        ("[project]\nlamda = 1", r"no key 'lamda' \(line 12\). Did you mean 'lambda'"),
        ("[project]\nlambda = 'x'", "project.lambda_ is a number; got 'x'"),
        ("[match]\nmax_pairs = 0", r"in \[match\]: max_pairs is a whole number"),
        ("[[rater]]\nslot = 'recognizer'\nname = 'x'", "Did you mean 'recogniser'"),
        ("[[rater]]\nslot = 'recogniser'", r"\[rater\] says 'name'; got no such line"),
        ("[counterfactual]\nlevels = [1, 2, 3]", "the middle level 0"),
        ("[counterfactual]\nlevels = 3", "counterfactual.levels is a list"),
        ("[analyse]\nlevel = 95", "between 0 and 1"),
        ("[match]\nreferences = true", r"goes with a section \[difficulty\]"),
        ("[difficulty]\nperceptual = 'pixels'", r"references = true in \[match\] goes with"),
        ("[match]\nreferences = true\n[difficulty]\nperceptual = 'pixels'\npairs = 'x'", "says one of perceptual"),
        ("[[within]]\nvectors = 'v.npz'", "limit of a second distance is above 0"),
        ("[[within]]\nrecogniser = 'world'\nlimit = -1", "above 0"),
        ("[[within]]\nlimit = 1", "one of recogniser, vectors; got none of them"),
        ("[[within]]\nvectors = 'v.npz'\nlimit = 1\noptions = {a = 1}", "options are those of a recogniser"),
        ("[match]\ndistance = 'given'", r"goes with distances in \[given\]"),
        ("[given]\nscores = 's.csv'", "need method = 'propensity'"),
        ("[match]\nmethod = 'propensity'\nscore_on = ['age']\n[given]\nscores = 's.csv'", "or fitted on score_on"),
        ("[match]\ncaliper = {age = '2 years'}", r"in \[match\]: a caliper is a number"),
        ("[given]\n", "one of distances, scores; got none"),
        ("[engine]\nkind = 'here'\nworkers = 4", "several workers need"),
        ("[ask]\ncrowd = 3", "ask.crowd is text; got 3"),
        ("x = [", "is TOML"),
    ],
)
def test_what_a_plan_may_not_say(written, more, says):
    with pytest.raises(PlanError, match=says):
        written(PLAN + more)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("seed = 3", "seed = 'three'", "seed is a whole number"),
        ("seed = 3", "seed = true", "seed is a whole number"),
        ("seed = 3", "format = 2", "Update likewise"),
        ("seed = 3", "sead = 3", r"no key 'sead' \(line 2\). Did you mean 'seed'"),
        ('focal = "female"', "", r"\[contrast\] says 'focal'"),
        ('focal = "female"', 'focal = "male"', "different levels"),
        ('table = "faces.csv"', 'tabel = "faces.csv"', "Did you mean 'table'"),
        ('table = "faces.csv"', "table = 4", "faces.table is text"),
        ("[contrast]", "[contrasts]", "Did you mean 'contrast'"),
    ],
)
def test_a_slip_in_a_plan_is_pointed_out(written, old, new, says):
    assert old in PLAN
    with pytest.raises(PlanError, match=says):
        written(PLAN.replace(old, new))


def test_a_plan_needs_its_faces():
    with pytest.raises(PlanError, match=r"has a section \[faces\]"):
        plan_from({"seed": 1})


def test_impostors_are_planned_and_never_fewer_than_none(written):
    assert written(PLAN).trials.impostors == 10
    assert written(PLAN + "[trials]\nimpostors = 3\n").trials.impostors == 3
    with pytest.raises(PlanError, match="not negative"):
        written(PLAN + "[trials]\nimpostors = -1\n")
