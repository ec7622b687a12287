from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import likewise as lw
from invariants import check_table
from likewise.design.references import references
from likewise.errors import SpecError, TableError


def test_every_image_is_a_test_image_once_and_a_reference_once(world):
    found = lw.trials(world.faces, seed=1)
    check_table(found)
    frame = found.frame
    who = world.faces.identities
    assert (who.loc[frame["a"]].to_numpy() == who.loc[frame["b"]].to_numpy()).all()
    assert sorted(frame["a"]) == sorted(frame["b"]) == sorted(world.faces.keys)
    shuffled = lw.Images(world.faces.frame.sample(frac=1, random_state=0))
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
    assert found["trial"].is_unique
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
    with pytest.raises(TableError, match="has no references"):
        lw.trials(world.faces, seed=1, references=lw.match(world.faces, world.vectors, contrast))


SPEC = lw.MatchSpec(
    references=True, reference_where={"eyeglasses": 0}, difficulty_ratio=1.5, difficulty_at_least=0.5, max_pairs=15
)


def ruled(world, contrast, **options) -> tuple[lw.Matches, lw.Matches]:
    pairs = lw.match(world.faces, world.vectors, contrast, SPEC, difficulty=world.vectors)
    common = {"references": pairs, "difficulty": world.vectors, "contrast": contrast, "seed": 1}
    return pairs, lw.trials(world.faces, **{**common, **options})


def test_before_matching_everybody_has_a_reference_by_the_same_rule(world, contrast):
    pairs, found = ruled(world, contrast)
    check_table(found)
    frame, who = found.frame, world.faces.identities
    chosen = {**pairs.frame.set_index("a")["ref_a"].to_dict(), **pairs.frame.set_index("b")["ref_b"].to_dict()}
    of = frame.set_index("a")["b"]
    assert of.index.is_unique
    assert len(of) > 2 * len(chosen)
    assert of.loc[list(chosen)].to_dict() == chosen
    assert (who.loc[of.index].to_numpy() == who.loc[of].to_numpy()).all()
    assert (world.faces.attribute("eyeglasses").loc[of] == 0).all()
    apart = world.vectors.take(list(of.index)).astype(float) - world.vectors.take(of.tolist())
    hard = pd.Series(np.sqrt((apart**2).reshape(len(of), -1).sum(axis=1)), index=of.index)
    assert (hard >= 0.5).all()
    valid = references(world.faces, world.vectors, SPEC)
    side = contrast.side(world.faces)
    for image, own in hard.items():
        others = [h for other in side.index[side == -side[image]] for _, h in valid.of.get(other, [])]
        assert any(max(own, h) <= 1.5 * min(own, h) * (1 + 1e-12) for h in others)
    tested = {image for image in world.faces.keys if valid.has(image)}
    assert set(of.index) <= tested
    assert int(found.dropped["images"].sum()) == len(world.faces) - len(set(frame["a"]) | set(frame["b"]))
    shuffled = lw.Images(world.faces.frame.sample(frac=1, random_state=0))
    again = {"references": pairs, "difficulty": world.vectors, "contrast": contrast}
    assert lw.trials(shuffled, seed=1, **again) == found
    assert lw.trials(world.faces, seed=2, **again) != found


def test_references_are_as_difficult_in_both_groups_before_matching_too():
    """One group's pictures of a person lie twice as far apart; by the rule its trials are no harder."""
    rng = np.random.default_rng(0)
    who = np.repeat(np.arange(120), 8)
    group = np.where(who % 2, "male", "female")
    table = pd.DataFrame({"image": [f"i{k:04d}" for k in range(len(who))], "identity": who, "perceived_gender": group})
    faces = lw.Images(table)
    own = rng.normal(size=(len(who), 2)) * np.where(who % 2, 1.0, 2.0)[:, None]
    near = lw.Vectors(faces.keys, rng.normal(size=(120, 2))[who] * 4 + own, source="pictures")
    contrast = lw.Contrast("perceived_gender", focal="female", reference="male")
    pairs = lw.match(faces, near, contrast, lw.MatchSpec(references=True, max_pairs=10), difficulty=near)

    def gap(trials: lw.Trials) -> float:
        frame = trials.frame
        apart = np.linalg.norm(near.take(frame["a"].tolist()) - near.take(frame["b"].tolist()), axis=1)
        return float(pd.Series(apart).groupby(contrast.side(faces).loc[frame["a"]].to_numpy()).mean().diff().iloc[1])

    assert gap(lw.trials(faces, seed=1)) > 1.0
    assert abs(gap(lw.trials(faces, seed=1, references=pairs, difficulty=near, contrast=contrast))) < 0.15


def test_impostors_show_a_valid_reference(world, contrast):
    _, found = ruled(world, contrast, impostors=3, groups="any")
    strangers = found.frame[~found.frame["same"]]
    assert len(strangers) == 3 * int(found.frame["same"].sum())
    assert (world.faces.attribute("eyeglasses").loc[strangers["b"]] == 0).all()


def test_difficulty_needs_what_it_belongs_to(world, contrast):
    for given in ({"contrast": contrast}, {"references": ruled(world, contrast)[0]}):
        with pytest.raises(SpecError, match="difficulty needs"):
            lw.trials(world.faces, seed=0, difficulty=world.vectors, **given)


def test_an_only_image_has_no_trial_and_is_counted():
    faces = lw.Images(pd.DataFrame({"image": ["1", "2", "3"], "identity": ["x", "x", "y"]}))
    found = lw.trials(faces, seed=0)
    assert found.dropped.to_dict("records") == [{"side": "all", "reason": "only image of its identity", "images": 1}]


@pytest.mark.parametrize("options", [{"groups": "across"}, {"groups": "elsewhere"}, {"impostors": -1}, {"most": 0}])
def test_options_without_meaning_are_refused(world, options):
    with pytest.raises(SpecError):
        lw.trials(world.faces, seed=0, **options)
