"""Trials as units: equal to a naive full-matrix matching of means and differences; every rule is about units."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import likewise as lw
from likewise.design.balance.table import verdict
from likewise.design.levels import crossed, match_levels
from likewise.design.trials import default_units
from likewise.design.units import DIFFERENCE, MEAN
from likewise.errors import SpecError, TableError, VectorError
from matching_problems import CONTRAST, Problem, problems
from naive_matching import Naive, full_matrix


def described(images: lw.Images, vectors: lw.Vectors, trials: lw.Trials) -> tuple[lw.Images, lw.Vectors]:
    """Build the table of units the plainest way: one trial after the other."""
    table, rows, keys, numbers = images.frame.set_index("image"), [], [], []
    for trial in trials.frame.itertuples():
        if trial.a not in vectors or trial.b not in vectors:
            continue
        one, other = table.loc[trial.a], table.loc[trial.b]
        light = float(one["light"]), float(other["light"])
        rows.append({"image": trial.trial, "identity": one["identity"], "perceived_gender": one["perceived_gender"],
                     "light" + MEAN: sum(light) / 2, "light" + DIFFERENCE: abs(light[0] - light[1])})  # fmt: skip
        x, y = (vectors.take([image]).astype(np.float64)[0] for image in (trial.a, trial.b))
        keys.append(trial.trial)
        numbers.append(np.concatenate([(x + y) / 2, np.abs(x - y)], axis=-1).astype(np.float32))
    return lw.Images(pd.DataFrame(rows)), lw.Vectors(keys, np.array(numbers), source="units")


def there(trials: lw.Trials, vectors: lw.Vectors) -> lw.Trials:
    """Keep the trials both of whose images have vectors."""
    frame = trials.frame
    kept = [a in vectors and b in vectors for a, b in zip(frame["a"], frame["b"], strict=True)]
    return lw.Trials(frame[np.array(kept, dtype=bool)])


@settings(max_examples=200, deadline=None)
@given(problems(), st.sampled_from([{}, {"light": 1.0}]), st.sampled_from([None, 2]))
def test_matching_trials_is_the_naive_argmin_over_units(problem: Problem, caliper, most):
    trials = lw.trials(problem.faces, seed=0, genuine="all")
    assume(len(there(trials, problem.vectors)) > 0)
    images, vectors = described(problem.faces, problem.vectors, trials)
    side = CONTRAST.side
    assume(set(images.frame["perceived_gender"]) == {"female", "male"})
    limits = {name + part: value for name, value in caliper.items() for part in (MEAN, DIFFERENCE)}
    naive = Naive(images, vectors, CONTRAST, lw.MatchSpec(caliper=limits, max_pairs=most))
    found = lw.match(
        problem.faces, problem.vectors, CONTRAST, lw.MatchSpec(caliper=caliper, max_pairs=most), units=trials
    )
    frame = found.frame
    assert list(zip(frame["a"], frame["b"], frame["distance"], strict=True)) == naive.greedy()
    signs = side(problem.faces)
    assert (signs.loc[frame["a_first"]] == 1).all()
    assert (signs.loc[frame["b_second"]] == -1).all()
    assert found.ledger.drop(columns="pair").all(axis=None)
    assert found.unit == "trial"


@settings(max_examples=100, deadline=None)
@given(problems(most_people=8), st.integers(0, 2**32 - 1))
def test_impostor_trials_are_matched_and_nobody_recurs(problem: Problem, seed: int):
    asked = lw.trials(problem.faces, seed=seed, impostors=2, contrast=CONTRAST).impostors()
    asked = there(asked, problem.vectors)
    assume(set(CONTRAST.side(problem.faces).loc[asked.frame["a"]]) == {1, -1})
    found = lw.match(problem.faces, problem.vectors, CONTRAST, units=asked).frame
    assert found[["a", "b"]].to_numpy().tolist() == naive_impostors(problem, asked)
    whose = problem.faces.identities
    people = [whose[image] for name in ("a_first", "a_second", "b_first", "b_second") for image in found[name]]
    assert len(people) == len(set(people))


def naive_impostors(problem: Problem, asked: lw.Trials) -> list[list[str]]:
    """Take the smallest distance of all, remove every trial of the four people, repeat."""
    side, whose, frame = CONTRAST.side(problem.faces), problem.faces.identities, asked.frame.sort_values("trial")
    lists = [frame[side.loc[frame["a"]].to_numpy() == sign] for sign in (1, -1)]
    points = []
    for part in lists:
        x, y = (problem.vectors.take(part[end].tolist()).astype(np.float64) for end in ("a", "b"))
        both = np.concatenate([(x + y) / 2, np.abs(x - y)], axis=-1).astype(np.float32).astype(np.float64)
        points.append(both.reshape(len(part), -1))
    left = full_matrix(*points)
    people = [[{whose[a], whose[b]} for a, b in part[["a", "b"]].itertuples(index=False)] for part in lists]
    left[[[bool(p & q) for q in people[1]] for p in people[0]]] = np.inf
    taken = []
    while np.isfinite(left).any():
        i, j = np.unravel_index(int(np.argmin(left)), left.shape)
        taken.append([lists[0]["trial"].iloc[i], lists[1]["trial"].iloc[j]])
        gone = people[0][i] | people[1][j]
        left[[bool(p & gone) for p in people[0]], :] = np.inf
        left[:, [bool(q & gone) for q in people[1]]] = np.inf
    return taken


def small(rows: list[tuple[str, str, str, float]]) -> tuple[lw.Images, lw.Vectors]:
    frame = pd.DataFrame(rows, columns=["image", "identity", "perceived_gender", "age"]).assign(hair="dark")
    return lw.Images(frame), lw.Vectors(frame["image"], frame[["age"]].to_numpy(), source="age")


PEOPLE = [("1", "a", "female", 0.0), ("2", "a", "female", 4.0), ("3", "b", "male", 2.0), ("4", "b", "male", 2.0),
          ("5", "c", "male", 0.0), ("6", "c", "male", 4.0), ("7", "d", "male", 1.0)]  # fmt: skip


def test_trials_alike_in_mean_only_are_not_alike():
    images, vectors = small(PEOPLE)
    found = lw.match(images, vectors, CONTRAST, units=default_units(images))
    assert found.frame[["a", "b", "distance"]].to_numpy().tolist() == [["1|2", "5|6", 0.0]]
    assert found.estimand == "ATT"
    only = lw.match(images, vectors, CONTRAST, lw.MatchSpec(exact="age (mean)"), units=default_units(images))
    assert only.frame["b"].tolist() == ["5|6"]


def test_people_with_one_image_are_explained_not_lost():
    images, vectors = small(PEOPLE)
    asked = default_units(images)
    assert asked.dropped.to_dict("records") == [{"side": "all", "reason": "only image of its identity", "images": 1}]
    with pytest.raises(TableError, match="no trials to match"):
        lw.match(images.subset(["1", "3"]), vectors, CONTRAST, units=default_units(images.subset(["1", "3"])))


def test_rules_that_no_trial_satisfies_give_an_explained_empty_result():
    images, vectors = small(PEOPLE)
    found = lw.match(images, vectors, CONTRAST, lw.MatchSpec(caliper={"distance": 0}, exact="age"),
                     units=lw.Trials(default_units(images).frame.head(2)))  # fmt: skip
    assert len(found) == 0
    assert found.note.startswith("No pair satisfies all constraints. 2 identities are in no trial")
    assert found.estimand == "ATM"
    assert "no partner keeps: exact age (difference)" in set(found.dropped["reason"])


def test_a_covariate_constant_within_identities_is_matched_by_its_mean():
    people = [*PEOPLE, ("8", "e", "female", 0.0), ("9", "e", "female", 0.0)]
    images, vectors = small([(key, who, sex, float(ord(who))) for key, who, sex, _ in people])
    spec = lw.MatchSpec(caliper={"age": "0.5sd"})
    found = lw.match(images, vectors, CONTRAST, spec, units=default_units(images))
    assert "caliper age (difference)" in found.ledger.columns
    table = lw.balance(images, CONTRAST, covariates=["age"], units=default_units(images)).where(stat="smd").frame
    assert table.set_index("quantity")["estimate"]["age (difference)"] == 0


def test_trials_of_both_groups_are_dropped_with_a_reason():
    images, vectors = small([*PEOPLE, ("8", "e", "female", 1.0), ("9", "e", "male", 1.0)])
    found = lw.match(images, vectors, CONTRAST, lw.MatchSpec(both_sides="drop"), units=default_units(images))
    assert "its images are of both groups" in set(found.dropped["reason"])


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ({"references": True}, "the units are trials"),
        ({"antiexact": ()}, "share an image"),
        ({"exact": "perceived_gender"}, "is the contrast"),
        ({"exact": "agee"}, "Did you mean 'age'"),
    ],
)
def test_rules_for_single_images_are_refused(spec, says):
    images, vectors = small(PEOPLE)
    with pytest.raises(SpecError, match=says):
        lw.match(images, vectors, CONTRAST, lw.MatchSpec(**spec), units=default_units(images))


def test_mixed_trials_and_wrong_trials_are_refused():
    images, vectors = small(PEOPLE)
    mixed = lw.trials(images, seed=0, genuine="all", impostors=1, contrast=CONTRAST)
    with pytest.raises(SpecError, match="cannot be matched together"):
        lw.match(images, vectors, CONTRAST, units=mixed)
    wrong = lw.Trials(default_units(images).frame.assign(same=False))
    with pytest.raises(TableError, match="contradicts the identities"):
        lw.match(images, vectors, CONTRAST, units=wrong)
    with pytest.raises(SpecError, match="keeps one person once"):
        lw.match(images, vectors, CONTRAST, lw.MatchSpec(method="optimal"), units=mixed.impostors())


def test_wide_vectors_need_the_mean_row(monkeypatch):
    images, _ = small(PEOPLE)
    vectors = lw.Vectors(images.keys, np.random.default_rng(0).normal(size=(7, 3, 4)), source="w+")
    monkeypatch.setattr("likewise.design.units._MOST_BYTES", 200)
    with pytest.raises(VectorError, match="Set rows = 'mean'"):
        lw.match(images, vectors, CONTRAST, units=default_units(images))
    assert len(lw.match(images, vectors, CONTRAST, lw.MatchSpec(rows="mean"), units=default_units(images))) == 1


def test_text_columns_agree_in_both_images():
    images, vectors = small(PEOPLE)
    images = images.with_attribute(
        "hair", dict(zip("1234567", ["dark", "fair", "dark", "fair", "fair", "fair", "fair"], strict=True))
    )
    found = lw.match(images, vectors, CONTRAST, lw.MatchSpec(exact="hair"), units=default_units(images))
    assert found.frame[["a", "b"]].to_numpy().tolist() == [["1|2", "3|4"]]


def test_several_levels_and_intersections_of_trials():
    rng = np.random.default_rng(0)
    person = np.repeat(np.arange(30), 2)
    frame = pd.DataFrame({"image": [f"i{k}" for k in range(60)], "identity": [f"p{k}" for k in person]})
    frame["sex"], frame["tone"] = np.array(["f", "m"])[person % 2], np.array(["dark", "light", "mid"])[person % 3]
    images, column = crossed(lw.Images(frame), ["sex", "tone"])
    vectors = lw.Vectors(images.keys, rng.normal(size=(60, 2)), source="v")
    contrasts = [lw.Contrast(column, level, "m & light") for level in ("f & dark", "f & mid")]
    found = match_levels(images, vectors, contrasts, units=default_units(images))
    assert found.unit == "trial"
    assert found.frame["set"].nunique() == 5
    assert found.frame["a_first"].isin(images.keys).all()


def test_balance_and_verdict_are_about_units():
    images, vectors = small(PEOPLE)
    asked = default_units(images)
    matched = lw.match(images, vectors, CONTRAST, units=asked)
    images = images.with_attribute("light", {key: float(key) for key in images.keys})
    more = [(f"{k}x", f"{who}x", sex, age + 1) for k, who, sex, age in PEOPLE]
    images, vectors = small(PEOPLE + more)
    asked = default_units(images)
    matched = lw.match(images, vectors, CONTRAST, units=asked)
    table = lw.balance(images, CONTRAST, matched, covariates=["age"], units=asked)
    assert set(table.frame["quantity"]) == {"age (mean)", "age (difference)"}
    assert verdict(table).balanced
    before = verdict(table, sample="all")
    assert not before.balanced
    assert "age (difference)" in before.sentence
    with pytest.raises(SpecError, match="Give units="):
        lw.balance(images, CONTRAST, matched, covariates=["age"])


def test_identities_without_a_trial_are_no_part_of_the_estimand():
    images, vectors = small([*PEOPLE, ("8", "e", "female", 1.0)])
    found = lw.match(images, vectors, CONTRAST, units=default_units(images))
    assert "identities are in no trial" in found.note
    assert found.estimand == "ATM"


def test_constant_vectors_and_levels_of_one_group_are_explained():
    people = [(f"{k}{end}", f"p{k}", "female" if k % 2 else "male", float(k)) for k in range(12) for end in "ab"]
    images, vectors = small(people)
    spec, asked = lw.MatchSpec(method="cardinality"), default_units(images)
    flat = lw.Vectors(images.keys, np.ones((len(images), 2)), source="flat")
    with pytest.raises(VectorError, match="No number varies"):
        lw.match(images, flat, CONTRAST, spec, units=asked)
    found = lw.match(images, vectors, CONTRAST, lw.MatchSpec(method="cardinality", exact="age"), units=asked)
    assert len(found) == 0
    assert r"No level of age (mean), age (difference) (exact) has units of both groups" in found.note


def test_the_majority_is_one_of_images_not_of_trials():
    """Three images of one side and one of the other make three trials within and three across."""
    frame = pd.DataFrame({"image": [f"p{p}-{k}" for p in range(6) for k in range(4)]})
    frame["identity"] = frame["image"].str[:2]
    frame["sex"] = np.repeat(["F", "M"] * 3, 4)
    frame.loc[0, "sex"] = "M"  # p0: M F F F, and its first image is in every trial across
    images = lw.Images(frame)
    vectors = lw.Vectors(images.keys, np.random.default_rng(0).normal(size=(24, 2)), source="noise")
    contrast, trials = lw.Contrast("sex", "F", "M"), default_units(images)
    found = lw.match(images, vectors, contrast, lw.MatchSpec(both_sides="majority"), units=trials)
    whose = found.frame["a_first"].str[:2]
    assert "p0" in set(whose)
    assert "p0-0" not in set(found.frame[["a_first", "a_second"]].to_numpy().ravel())
    gone = found.dropped.set_index(["side", "reason"])["images"]
    assert gone["F", "its images are of both groups"] == 3
    dropped = lw.match(images, vectors, contrast, lw.MatchSpec(both_sides="drop"), units=trials)
    assert "p0" not in set(dropped.frame["a_first"].str[:2])
    assert dropped.dropped["images"].sum() >= 6
