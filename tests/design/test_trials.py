from __future__ import annotations

import pandas as pd
import pytest

import likewise as lw
from invariants import check_noun
from likewise.errors import SpecError, TableError


def test_every_image_is_a_test_image_once_and_a_reference_once(world):
    found = lw.trials(world.faces, seed=1)
    check_noun(found)
    frame = found.frame
    who = world.faces.identities
    assert (who.loc[frame["a"]].to_numpy() == who.loc[frame["b"]].to_numpy()).all()
    assert sorted(frame["a"]) == sorted(frame["b"]) == sorted(world.faces.images)
    shuffled = lw.Faces(world.faces.frame.sample(frac=1, random_state=0))
    assert lw.trials(shuffled, seed=1) == found
    assert lw.trials(world.faces, seed=2) != found


@pytest.mark.parametrize(("groups", "same_group"), [("within", True), ("across", False)])
def test_impostors_are_other_people_of_the_groups_asked_for(world, contrast, groups: str, same_group: bool):
    found = lw.trials(world.faces, seed=1, impostors=2, contrast=contrast, groups=groups).frame
    strangers = found[~found["same"]]
    who, side = world.faces.identities, contrast.side(world.faces)
    assert len(strangers) == 2 * len(world.faces)
    assert (who.loc[strangers["a"]].to_numpy() != who.loc[strangers["b"]].to_numpy()).all()
    assert ((side.loc[strangers["a"]].to_numpy() == side.loc[strangers["b"]].to_numpy()) == same_group).all()
    assert found["pair"].is_unique
    assert set(found["stratum"]) <= {f"{a} / {b}" for a in ("female", "male") for b in ("female", "male")}


def test_a_cap_gives_everybody_a_first_trial_before_a_second(world):
    people = world.faces.identities.nunique()
    found = lw.trials(world.faces, seed=1, most=people + 7)
    per = world.faces.identities.loc[found.frame["a"]].value_counts()
    assert len(found) == people + 7
    assert (per >= 1).all()
    assert (per == 2).sum() == 7


def test_a_matching_brings_its_references(world, contrast):
    pairs = lw.match(world.faces, world.vectors, contrast, lw.MatchSpec(references=True), difficulty=world.vectors)
    found = lw.trials(world.faces, seed=1, references=pairs).frame
    frame = pairs.frame
    wanted = {*zip(frame["a"], frame["ref_a"], strict=True), *zip(frame["b"], frame["ref_b"], strict=True)}
    assert set(zip(found["a"], found["b"], strict=True)) == wanted
    with pytest.raises(TableError, match="without ref_a"):
        lw.trials(world.faces, seed=1, references=lw.match(world.faces, world.vectors, contrast))


def test_an_only_image_has_no_trial_and_is_counted():
    faces = lw.Faces(pd.DataFrame({"image": ["1", "2", "3"], "identity": ["x", "x", "y"]}))
    found = lw.trials(faces, seed=0)
    assert found.dropped.to_dict("records") == [{"side": "all", "reason": "only image of its identity", "images": 1}]


@pytest.mark.parametrize("options", [{"groups": "across"}, {"groups": "elsewhere"}, {"impostors": -1}, {"most": 0}])
def test_options_without_meaning_are_refused(world, options):
    with pytest.raises(SpecError):
        lw.trials(world.faces, seed=0, **options)
