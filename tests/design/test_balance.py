from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import likewise as lw
from invariants import check_estimates
from likewise.design.balance.multivariate import dropped_profile, energy, joint, most_apart
from likewise.design.propensity.scores import propensity, score_weights
from likewise.errors import SpecError, TableError

STORED = Path(__file__).parents[1] / "fixtures" / "matchit"
BY = lw.Contrast("side", focal="focal", reference="reference")


def table(name: str) -> tuple[lw.Images, list[str], pd.Series]:
    frame = pd.read_csv(STORED / f"{name}.csv")
    names = [column for column in frame.columns if column not in ("image", "identity", "side", "treat", "weight")]
    return lw.Images(frame), names, frame.set_index("image")["weight"]


def stored_pairs(name: str, ratio: int) -> lw.Matches:
    frame = pd.read_csv(STORED / f"pairs_{name}_{ratio}.csv")
    return lw.Matches(frame.assign(pair=[f"p{k}" for k in range(len(frame))]))


@pytest.mark.parametrize("name", ["wages", "faces"])
@pytest.mark.parametrize("sample", ["all focal", "all pooled", "ratio1 focal", "ratio2 focal", "weighted"])
def test_balance_is_that_of_matchit(name: str, sample: str):
    """values.R beside the values makes them with MatchIt's own summary()."""
    faces, covariates, weights = table(name)
    values = pd.read_csv(STORED / "values.csv", dtype={"value": float})
    values = values[(values["table"] == name) & (values["sample"] == sample) & (values["covariate"] != "distance")]
    own, _, ruler = sample.partition(" ")
    pairs = stored_pairs(name, int(own[-1])) if own.startswith("ratio") else None
    found = lw.balance(faces, BY, pairs, covariates=covariates, weights=weights, ruler=ruler or "pooled")
    check_estimates(found)
    named = {"all": "all", "weighted": "weighted"}.get(own, "matched")
    rows = found.where(sample=named).frame
    reported = {
        (row.quantity, row.stat if row.stat not in ("mean", "share") else row.group): row.estimate
        for row in rows.itertuples()
    }
    assert len(values) > 30
    for row in values.itertuples():
        covariate = row.covariate if row.covariate in covariates else f"race: {row.covariate.removeprefix('race')}"
        assert reported[covariate, row.stat] == pytest.approx(row.value, abs=1e-8), (covariate, row.stat)


def test_intervals_of_means_cover_when_images_of_a_person_go_together():
    """95 % intervals over 400 seeds; an interval that ignored the people would cover about 75 %."""
    covered = {"share": 0, "mean": 0}
    for seed in range(400):
        rng = np.random.default_rng(seed)
        who = np.repeat(np.arange(60), 5)
        person = rng.normal(size=60)[who]
        frame = pd.DataFrame(
            {"image": np.arange(300), "identity": who, "side": np.where(who % 2, "focal", "reference")}
        )
        frame["mean"] = person + rng.normal(size=300)
        frame["share"] = (person + rng.normal(size=300) > 0).astype(int)
        found = lw.balance(lw.Images(frame), BY, covariates=["share", "mean"]).frame
        for name, truth in (("share", 0.5), ("mean", 0.0)):
            row = found[(found["quantity"] == name) & (found["group"] == "focal")].iloc[0]
            covered[name] += row["low"] <= truth <= row["high"]
    assert all(0.92 <= count / 400 <= 0.98 for count in covered.values()), covered


def test_overlap_is_the_area_that_both_histograms_share():
    frame = pd.DataFrame({"image": range(400), "identity": range(400), "side": ["focal", "reference"] * 200})
    place = np.arange(400) // 2
    frame = frame.assign(
        same=place % 7, apart=place + 1000 * (frame["side"] == "focal"), half=place + 100 * (frame["side"] == "focal"),
        smiling=(place < np.where(frame["side"] == "focal", 50, 150)).astype(int),
    )  # fmt: skip
    names = ["same", "apart", "half", "smiling"]
    found = lw.balance(lw.Images(frame), BY, covariates=names).where(stat="overlap").frame.set_index("quantity")
    assert found["estimate"][names].tolist() == pytest.approx([1.0, 0.0, 0.5, 0.5], abs=0.02)
    twins = lw.Matches(pd.DataFrame({"pair": ["p", "q"], "a": ["0", "2"], "b": ["201", "203"]}))
    after = lw.balance(lw.Images(frame), BY, twins, covariates=["half"]).where(stat="overlap", sample="matched").frame
    assert after["estimate"].item() == pytest.approx(1.0)  # 100, 101 and 100, 101: the bins are everybody's


def test_several_matchings_and_weights_stand_side_by_side(world, contrast):
    fit = propensity(world.faces, world.vectors, contrast, folds=0)
    pairs = {"distance": lw.match(world.faces, world.vectors, contrast), "two": lw.match(
        world.faces, world.vectors, contrast, lw.MatchSpec(ratio=2))}  # fmt: skip
    found = lw.balance(
        world.faces, contrast, pairs, covariates=["perceived_age", "smiling"], weights=score_weights(fit)
    )
    check_estimates(found)
    assert set(found.frame["sample"]) == {"all", "distance", "two", "weighted"}


def test_the_joint_table_adds_up_and_agrees_with_the_margins(world, contrast):
    pairs = lw.match(world.faces, world.vectors, contrast)
    found = joint(world.faces, contrast, pairs, covariates=["eyeglasses", "smiling", "light"])
    check_estimates(found)
    shares = found.frame.groupby(["sample", "group"])["estimate"].sum()
    assert np.allclose(shares, 1)
    margin = lw.balance(world.faces, contrast, pairs, covariates=["smiling"]).where(stat="share").frame
    both = found.frame[found.frame["quantity"].isin(["eyeglasses & smiling", "not eyeglasses & smiling"])]
    assert np.allclose(both.groupby(["sample", "group"])["estimate"].sum().sort_index(),
                       margin.set_index(["sample", "group"])["estimate"].sort_index())  # fmt: skip
    with pytest.raises(SpecError, match="two binary"):
        joint(world.faces, contrast, covariates=["light", "smiling"])


def test_words_are_joined_once_a_column(world, contrast):
    """Of two words one is enough, and no two levels of one column are set beside each other."""
    faces = world.faces
    words = {image: ["no", "yes"][int(value)] for image, value in faces.attribute("eyeglasses").items()}
    hair = {image: "abc"[k % 3] for k, image in enumerate(faces.keys)}
    faces = faces.with_attribute("glasses", words).with_attribute("hair", hair)
    found = joint(faces, contrast, covariates=["glasses", "smiling", "hair"]).frame
    names = {name.replace("not ", "") for name in found["quantity"]}
    pairs = {f"glasses: yes & hair: {level}" for level in "abc"} | {f"smiling & hair: {level}" for level in "abc"}
    assert names == pairs | {"glasses: yes & smiling"}
    plain = joint(faces, contrast, covariates=["eyeglasses", "smiling"]).frame
    same = found[found["quantity"].str.endswith("glasses: yes & smiling")]["estimate"]
    assert np.allclose(same, plain[plain["quantity"].str.endswith("eyeglasses & smiling")]["estimate"])
    reported = lw.balance(faces, contrast, covariates=["glasses", "smiling", "hair", "light"])
    sizes = reported.where(stat="smd").frame.set_index("quantity")["estimate"].abs()
    order = sorted(["glasses", "smiling"], key=lambda name: -sizes[{"glasses": "glasses: yes"}.get(name, name)])
    assert most_apart(faces, reported, ["glasses", "smiling", "hair", "light"]) == order
    assert most_apart(faces, reported, ["glasses", "smiling", "hair", "light"], most=1) == order[:1]


def test_those_left_out_are_set_against_those_matched(world, contrast):
    pairs = lw.match(world.faces, world.vectors, contrast, lw.MatchSpec(max_pairs=10))
    found = dropped_profile(world.faces, contrast, pairs, covariates=["perceived_age"])
    check_estimates(found)
    assert set(found.frame["sample"]) == {"left out"}
    age, side = world.faces.attribute("perceived_age"), contrast.side(world.faces)
    for group, sign, column in (("female", 1, "a"), ("male", -1, "b")):
        matched = age[pairs.frame[column].tolist()]
        left = age[side == sign].drop(matched.index)
        mean, smd = (found.where(group=group, stat=stat).frame for stat in ("mean", "excluded_smd"))
        assert mean["estimate"].item() == pytest.approx(left.mean())
        assert mean["n"].item() == len(left)
        unit = np.sqrt((left.var() + matched.var()) / 2)
        assert smd["estimate"].item() == pytest.approx((left.mean() - matched.mean()) / unit)


def test_energy_is_nought_for_equal_groups_and_right_for_points_on_a_line():
    frame = pd.DataFrame(
        {"image": list("abcd"), "identity": list("abcd"), "side": ["focal", "focal", "reference", "reference"]}
    )
    one = lw.Vectors(list("abcd"), [[1.0], [1.0], [1.0], [1.0]], source="line")
    assert energy(lw.Images(frame), one, BY).frame["estimate"].item() == pytest.approx(0, abs=1e-9)
    apart = lw.Vectors(list("abcd"), [[0.0], [0.0], [3.0], [4.0]], source="line")
    assert energy(lw.Images(frame), apart, BY).frame["estimate"].item() == pytest.approx(2 * 3.5 - 0 - 1, abs=1e-9)


def test_energy_of_equal_groups_is_nought_on_average_however_few():
    """A small matched sample may be set beside a large one: neither is farther from 0 by its size."""
    found = []
    for seed in range(300):
        values = np.random.default_rng(seed).normal(size=(12, 3))
        names = [f"{k:02d}" for k in range(12)]
        table = pd.DataFrame({"image": names, "identity": names, "side": ["focal"] * 4 + ["reference"] * 8})
        weights = {name: 1.0 + k % 3 for k, name in enumerate(names)}
        reported = energy(lw.Images(table), lw.Vectors(names, values, source="w"), BY, weights=weights)
        found.append(reported.frame.set_index("sample")["estimate"])
    wide = pd.DataFrame(found)
    assert (wide.mean().abs() < 3 * wide.std() / np.sqrt(300)).all()
    assert set(wide.columns) == {"all", "weighted"}


def test_bad_balance_is_refused(world, contrast):
    with pytest.raises(SpecError, match="Did you mean 'pooled'"):
        lw.balance(world.faces, contrast, covariates=["light"], ruler="pool")
    with pytest.raises(SpecError, match="The weights"):
        lw.balance(world.faces, contrast, covariates=["light"], weights={"nobody": 1.0})
    pairs = lw.match(world.faces, world.vectors, contrast)
    backward = lw.Contrast("perceived_gender", focal="male", reference="female")
    with pytest.raises(TableError, match="No pair is between"):
        lw.balance(world.faces, backward, pairs, covariates=["light"])


@pytest.mark.realdata
@pytest.mark.parametrize(("rule", "least", "most"), [("0.6", 0.8, 1.0), ("none", 0.5, 0.65)])
def test_how_many_attributes_the_published_pairs_bring_nearer(rule, least, most):
    """The authors' first 500 matched pairs, over CelebA's own attributes.

    With the recognizer's rule (or its penalty) about nine of ten attributes come nearer; without it only little more
    than half. Both are what was found, not what was hoped for.
    """
    data = Path(os.environ.get("LIKEWISE_DATA", Path(__file__).parents[2] / ".." / "shared" / "data"))
    if not (data / "celebahq" / "faces.parquet").is_file():
        pytest.skip("LIKEWISE_DATA has no celebahq/faces.parquet")
    table = pd.read_parquet(data / "celebahq" / "faces.parquet").drop(columns=["image", "orig_file"])
    faces = lw.Images(table.rename(columns={"celebahq_index": "image"}))
    published = pd.read_csv(data / "singh2021" / f"matches_distance_recogniser_{rule}.csv").head(500)
    frame = pd.DataFrame({"a": published["gender_0"], "b": published["gender_1"]})
    pairs = lw.Matches(frame.assign(pair=[f"p{k}" for k in range(len(frame))]))
    contrast = lw.Contrast("Male", focal=0, reference=1)
    covariates = [name for name in faces.attributes if name != "Male"]
    found = lw.balance(faces, contrast, pairs, covariates=covariates).where(stat="smd").frame
    wide = found.pivot(index="quantity", columns="sample", values="estimate").abs()
    assert len(wide) == 39
    assert least < (wide["matched"] < wide["all"]).mean() < most
    shares = lw.balance(faces, contrast, pairs, covariates=["Smiling"]).where(stat="share", sample="all").frame
    truth = table.groupby("Male")["Smiling"].mean()
    assert np.allclose(shares["estimate"], truth.to_numpy())
