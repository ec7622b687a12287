"""The gallery: what is chosen, with facts, with and without pictures, and pixelated."""

from __future__ import annotations

import base64
import io

import numpy as np
import pandas as pd
import pytest
from PIL import Image

import likewise as lw
from likewise.report.sections.sample.gallery import BLOCKS, SIDE, Exhibit, Gallery, Shot, Wall, strip, thumbnail
from likewise.tables.trials import Trials

PEOPLE = 6


@pytest.fixture
def images() -> lw.Images:
    keys = [f"{k}-{n}" for k in range(PEOPLE) for n in (1, 2)]
    frame = pd.DataFrame(
        {
            "image": keys,
            "identity": [key[0] for key in keys],
            "perceived_gender": ["female" if int(key[0]) % 2 == 0 else "male" for key in keys],
            "perceived_age": np.linspace(20, 40, len(keys)),
        }
    )
    return lw.Images(frame)


def look(keys: list[str]) -> np.ndarray:
    """Return pictures whose brightness names the image."""
    return np.stack([np.full((40, 60, 3), 10 * sum(map(ord, key)) % 255, np.uint8) for key in keys])


@pytest.fixture
def trials(images) -> Trials:
    keys = images.keys
    genuine = [(a, b, True) for a, b in zip(keys[::2], keys[1::2], strict=True)]
    impostor = [(keys[2 * i], keys[2 * j + 1], False) for i in range(PEOPLE) for j in range(PEOPLE) if i != j]
    rows = pd.DataFrame(genuine + impostor, columns=["a", "b", "same"])
    return Trials(rows.assign(trial=rows["a"] + "|" + rows["b"]))


def distances(trials: Trials, rater: str = "arcface") -> lw.Ratings:
    frame = trials.frame
    values = np.arange(len(frame)) / 10
    return lw.Ratings(pd.DataFrame({"unit": frame["trial"], "rater": rater, "question": "distance", "value": values}))


def pairs(count: int) -> lw.Matches:
    keys = [f"p{k}" for k in range(count)]
    ends = {"a": [f"0-{k}" for k in keys], "b": [f"1-{k}" for k in keys]}
    return lw.Matches(pd.DataFrame({"pair": keys, **ends, "distance": np.linspace(2, 1, count)}))


def picture(uri: str) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(uri.partition(",")[2]))))


def gallery(images, contrast, **options) -> Gallery:
    return Gallery(images=images, contrast=contrast, covariates=("perceived_age", "missing"), **options)


@pytest.mark.parametrize(("count", "titles"), [
    (1, ["closest"]), (3, ["closest", "median", "worst"]), (4, ["closest", "closest", "median", "worst"]),
    (30, 3 * ["closest"] + 3 * ["median"] + 3 * ["worst"]),
])  # fmt: skip
def test_matched_units_are_closest_median_and_worst_each_once(images, contrast, count, titles):
    (wall,) = gallery(images, contrast).pairs(pairs(count))
    assert [exhibit.title for exhibit in wall.exhibits] == titles
    shown = [float(exhibit.facts[0][1]) for exhibit in wall.exhibits]
    assert shown == sorted(shown) and shown[0] == min(np.linspace(2, 1, count))
    assert len({exhibit.shots[0].caption for exhibit in wall.exhibits}) == len(titles)


def test_pairs_have_their_covariates_side_by_side(images, contrast):
    frame = pd.DataFrame({"pair": ["p"], "a": ["0-1"], "b": ["1-2"], "distance": [1.5]})
    (wall,) = gallery(images, contrast).pairs(lw.Matches(frame))
    assert wall.exhibits[0].facts == (("distance", "1.500"), ("perceived age", "20.0", "25.5"))
    assert [shot.caption for shot in wall.exhibits[0].shots] == ["female: 0-1", "male: 1-2"]
    assert gallery(images, contrast).pairs(lw.Matches(frame.iloc[:0])) == []


def test_matched_trials_show_both_images_of_each(images, contrast):
    ends = {"a_first": ["0-1"], "a_second": ["0-2"], "b_first": ["1-1"], "b_second": ["1-2"]}
    frame = pd.DataFrame({"pair": ["p"], "a": ["t1"], "b": ["t2"], "distance": [1.5], **ends})
    (wall,) = gallery(images, contrast).pairs(lw.Matches(frame, unit="trial"))
    (exhibit,) = wall.exhibits
    assert [shot.caption for shot in exhibit.shots] == [
        "female, first: 0-1", "female, second: 0-2", "male, first: 1-1", "male, second: 1-2",
    ]  # fmt: skip
    assert len(exhibit.facts[1]) == 5, "a covariate has one value an image"


def test_the_hardest_trials_of_each_group(images, contrast, trials):
    (wall,) = gallery(images, contrast).trials(trials, distances(trials))
    assert wall.title == "Hardest trials of arcface"
    by_kind: dict[str, list[float]] = {}
    for exhibit in wall.exhibits:
        by_kind.setdefault(exhibit.title, []).append(float(exhibit.facts[0][1]))
    assert list(by_kind) == ["female, genuine", "male, genuine", "female, impostor", "male, impostor"]
    assert by_kind["female, genuine"] == [0.4, 0.2, 0.0], "largest genuine distance first"
    assert by_kind["female, impostor"] == sorted(by_kind["female, impostor"]), "smallest impostor distance first"


def test_trials_across_groups_and_without_answers_are_no_extremes(images, contrast, trials):
    ratings = distances(trials).frame
    ratings.loc[0, "value"] = np.nan
    (wall,) = gallery(images, contrast).trials(trials, lw.Ratings(ratings))
    keys = {exhibit.shots[0].caption + exhibit.shots[1].caption for exhibit in wall.exhibits}
    assert "0-10-2" not in keys
    group = images.frame.set_index("image")["perceived_gender"]
    for exhibit in wall.exhibits:
        assert group[exhibit.shots[0].caption] == group[exhibit.shots[1].caption]
    (lost,) = gallery(images, contrast).unanswered(trials, lw.Ratings(ratings))
    assert [exhibit.shots[0].caption for exhibit in lost.exhibits] == ["0-1"]
    assert gallery(images, contrast).unanswered(trials, distances(trials)) == []


def test_edits_stand_beside_their_original_and_rejected_ones_have_a_reason(images, contrast):
    frame = pd.concat([images.frame.assign(parent=images.keys, level=float(level)) for level in (1, -1)])
    frame["image"] = frame["parent"] + frame["level"].map("@{:+g}".format)
    edited = lw.Images(frame)
    shown, rejected = gallery(images, contrast, look=look, edited=look).edits(
        edited, reconstructions={"0-1": "0-1~r"}, rejected={"1-1": "identity changed"}
    )
    assert [shot.caption for shot in shown.exhibits[0].shots] == ["original", "reconstruction", "−1", "+1"]
    assert all(exhibit.title != "1-1" for exhibit in shown.exhibits)
    assert rejected.exhibits[0].facts == (("reason", "identity changed"),)
    assert all(shot.uri for shot in shown.exhibits[0].shots)


def test_without_pictures_units_are_named_and_nothing_is_drawn(images, contrast, trials):
    walls = gallery(images, contrast).trials(trials, distances(trials))
    assert not any(shot.uri for wall in walls for exhibit in wall.exhibits for shot in exhibit.shots)
    assert strip(walls) == []


def test_pixelated_pictures_keep_a_few_blocks():
    rng = np.random.default_rng(0)
    noise = rng.integers(0, 255, (90, 120, 3), dtype=np.uint8)
    sharp, blurred = (picture(thumbnail(noise, blur=blur)) for blur in (False, True))
    assert sharp.shape == blurred.shape == (SIDE, SIDE, 3)
    step = SIDE // BLOCKS
    inside = blurred[2 : step - 2, 2 : step - 2].astype(float).std(axis=(0, 1)).max()
    assert inside < 12 < sharp.astype(float).std(), "one color a block, up to what JPEG adds"


def test_the_strip_shows_one_of_each_kind():
    shot = Shot("data:image/jpeg;base64,AA==", "x")
    exhibits = tuple(Exhibit(title, (shot, shot)) for title in ("closest", "closest", "median", "worst"))
    walls = [Wall("trials-1", "", "", exhibits), Wall("pairs", "", "", exhibits)]
    assert [exhibit.title for exhibit in strip(walls)] == ["closest", "median", "worst"]
