from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import pytest

import likewise as lw
from likewise.design.levels import crossed, match_levels
from likewise.errors import ContrastError, SpecError

CONTRASTS = [lw.Contrast("skin", focal=level, reference="light") for level in ("dark", "medium")]


def problem(seed: int) -> tuple[lw.Images, lw.Vectors]:
    rng = np.random.default_rng(seed)
    who = np.repeat(np.arange(12), rng.integers(1, 4, 12))
    frame = pd.DataFrame({"image": rng.permutation(len(who)), "identity": who})
    faces = lw.Images(frame.assign(skin=np.array(["light", "medium", "dark"])[who % 3]))
    return faces, lw.Vectors(faces.keys, rng.normal(size=(len(who), 3)), source="w")


def naive(faces: lw.Images, vectors: lw.Vectors) -> list[tuple[str, str, str]]:
    """All sets at once, the cheapest first, everybody in it leaves."""
    skin, identity = faces.attribute("skin"), faces.identities
    groups = [sorted(skin.index[skin == level]) for level in ("light", "dark", "medium")]
    place = {image: vectors.take([image]).astype(float)[0] for image in faces.keys}
    cost = {
        found: sum(np.sqrt(((place[found[0]] - place[member]) ** 2).sum()) for member in found[1:])
        for found in product(*groups)
    }
    sets, used = [], set()
    for found in sorted(cost, key=lambda key: cost[key]):
        people = {identity[image] for image in found}
        if not people & used:
            sets.append(found)
            used |= people
    return sets


@pytest.mark.parametrize("seed", range(12))
def test_sets_are_the_cheapest_of_all_in_turn(seed: int):
    faces, vectors = problem(seed)
    found = match_levels(faces, vectors, CONTRASTS)
    wide = found.frame.pivot(index="set", columns="stratum", values="a").assign(
        b=found.frame.groupby("set")["b"].first()
    )
    assert list(wide[["b", "dark - light", "medium - light"]].itertuples(index=False, name=None)) == naive(
        faces, vectors
    )
    assert found.ledger.drop(columns="pair").all(axis=None)
    assert sum(found.offered.values()) == len(faces)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("most", [None, 1, 2])
def test_whoever_is_in_no_set_is_counted_by_the_rule_that_left_them_out(seed: int, most: int | None):
    """Recount every image by itself: an identity that is used, then the first rule that leaves it without a partner."""
    faces, vectors = problem(seed)
    light = {image: float(k % 5) for k, image in enumerate(sorted(faces.keys))}
    faces = faces.with_attribute("light", light)
    short = lw.Vectors(faces.keys[1:], vectors.take(faces.keys[1:]), source="w")
    spec = lw.MatchSpec(caliper={"light": 1.0, "distance": 1.6}, max_pairs=most)
    found = match_levels(faces, short, CONTRASTS, spec)
    skin, who, frame = faces.attribute("skin"), faces.identities, found.frame
    inside = {*frame["a"], *frame["b"]}
    used = set(who.loc[sorted(inside)])
    place = {image: short.take([image]).astype(float)[0] for image in short.keys}
    full = most is not None and frame["set"].nunique() == most

    def reason(image: str) -> str:
        if image not in short:
            return "no vector"
        if who[image] in used:
            return "identity already matched"
        levels = ["dark", "medium"] if skin[image] == "light" else ["light"]
        for level in levels:
            near = [other for other in short.keys if skin[other] == level and abs(light[other] - light[image]) <= 1]
            word = f", {level}" if skin[image] == "light" else ""
            if not near:
                return f"no partner keeps: caliper light{word}"
            if not any(np.sqrt(((place[o] - place[image]) ** 2).sum()) <= 1.6 for o in near):
                return f"no partner keeps: caliper distance{word}"
        return "beyond max_pairs" if full else "partners used up"

    wanted = pd.Series([(skin[i], reason(i)) for i in faces.keys if i not in inside]).value_counts().to_dict()
    counts = found.dropped.set_index(["side", "reason"])["images"].to_dict()
    assert counts == wanted
    for level, offered in found.offered.items():
        matched = len({image for image in inside if skin[image] == level})
        assert matched + found.dropped.loc[found.dropped["side"] == level, "images"].sum() == offered


def test_deviations_are_those_of_the_two_levels_that_are_compared():
    faces, vectors = problem(3)
    found = match_levels(faces, vectors, CONTRASTS, lw.MatchSpec(caliper={"distance": "0.9sd"}))
    skin, apart = faces.attribute("skin"), found.frame.groupby("stratum")["distance"].max()
    for contrast in CONTRASTS:
        sides = [vectors.take(list(skin.index[skin == level])) for level in (contrast.focal, contrast.reference)]
        unit = np.sqrt(np.mean([side.astype(float).var(axis=0, ddof=1).sum() for side in sides]))
        assert apart[contrast.label] <= 0.9 * unit
    assert 0 < len(found) < len(match_levels(faces, vectors, CONTRASTS))


def test_balance_takes_the_pairs_of_its_contrast():
    faces, vectors = problem(0)
    found = match_levels(faces, vectors, CONTRASTS)
    numbered = faces.with_attribute("light_level", {image: float(k) for k, image in enumerate(faces.keys)})
    reported = lw.balance(numbered, CONTRASTS[0], found, covariates=["light_level"])
    assert reported.where(sample="matched", stat="smd").frame["n"].item() == 2 * found.frame["set"].nunique()


def test_columns_are_crossed(world):
    faces, name = crossed(world.faces, ["perceived_gender", "eyeglasses"])
    assert name == "perceived_gender & eyeglasses"
    assert set(faces.attribute(name)) == {f"{g} & {e}" for g in ("female", "male") for e in (0, 1)}
    with pytest.raises(SpecError, match="Did you mean"):
        crossed(world.faces, ["perceived_gende", "eyeglasses"])


def test_what_makes_no_sense_is_refused():
    faces, vectors = problem(0)
    with pytest.raises(ContrastError, match="do not share their column"):
        match_levels(faces, vectors, [CONTRASTS[0], lw.Contrast("skin", focal="light", reference="dark")])
    with pytest.raises(SpecError, match="one by one"):
        match_levels(faces, vectors, CONTRASTS, lw.MatchSpec(method="optimal"))
    assert "Only 4 of the 99 requested sets" in match_levels(faces, vectors, CONTRASTS, lw.MatchSpec(max_pairs=99)).note


def test_people_on_several_levels_are_named_or_left_out_and_counted():
    faces, vectors = problem(2)
    frame = faces.frame
    who = frame["identity"].value_counts().index[0]
    frame.loc[frame["identity"] == who, "skin"] = ["light", "dark", "medium"][: (frame["identity"] == who).sum()]
    mixed = lw.Images(frame)
    with pytest.raises(ContrastError, match="both_sides"):
        match_levels(mixed, vectors, CONTRASTS)
    found = match_levels(mixed, vectors, CONTRASTS, lw.MatchSpec(both_sides="drop"))
    assert f"{(frame['identity'] == who).sum()} images of people on several levels are left out" in found.note
    lost = found.dropped[found.dropped["reason"] == "identity on several levels"]
    assert lost["images"].sum() == (frame["identity"] == who).sum()
    assert sum(found.offered.values()) == len(faces)
    kept = faces.subset(frame.loc[frame["identity"] != who, "image"])
    own = lw.Vectors(kept.keys, vectors.take(kept.keys), source="w")
    assert found.frame["a"].tolist() == match_levels(kept, own, CONTRASTS).frame["a"].tolist()


def test_an_approximate_search_is_refused():
    faces, vectors = problem(0)
    with pytest.raises(SpecError, match="one by one"):
        match_levels(faces, vectors, CONTRASTS, lw.MatchSpec(search="approximate"))


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"references": "false"}, "neither true nor false"),
        ({"references": True, "difficulty_ratio": "2"}, "difficulty_ratio = '2' is not a number"),
        ({"caliper": {"light": "near"}}, "Not a caliper"),
    ],
)
def test_options_of_the_wrong_kind_are_refused(options, says):
    with pytest.raises(SpecError, match=says):
        lw.MatchSpec(**options)
