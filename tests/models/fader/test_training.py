from __future__ import annotations

import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch
from PIL import Image

from likewise.errors import SpecError, StoreError, TableError
from likewise.models.fader.data import Attribute, Lessons, read_lessons
from likewise.models.fader.training import CHECKPOINT, Training, TrainSpec, train
from likewise.tables import Images

SPEC = TrainSpec(width=4, steps=12, batch=8, rise=6, adversary=0.1, shift=2, turns=2)


@pytest.fixture(scope="module")
def lessons() -> Lessons:
    rng = np.random.default_rng(0)
    pictures = rng.integers(0, 256, (30, 32, 32, 3), dtype=np.uint8)
    return Lessons(pictures, rng.choice([-1, 1], (30, 2)).astype(np.float32), ("a", "b"))


def state(training: Training) -> dict[str, torch.Tensor]:
    return {**training.fader.state_dict(), **{f"critic {k}": v for k, v in training.critic.state_dict().items()}}


def equal(a: Training, b: Training) -> bool:
    left, right = state(a), state(b)
    return left.keys() == right.keys() and all(torch.equal(left[name], right[name]) for name in left)


@pytest.fixture(scope="module")
def paired(lessons) -> Lessons:
    return replace(lessons, faces=np.arange(30) % 15)


def test_a_training_that_stops_goes_on_bit_by_bit(lessons, tmp_path):
    whole = train(lessons, SPEC, tmp_path / "whole", every=100)
    train(lessons, replace(SPEC, steps=5), tmp_path / "parts", every=2)
    parts = train(lessons, SPEC, tmp_path / "parts", every=2)
    assert parts.step == 12
    assert equal(whole, parts)
    assert not equal(whole, train(lessons, replace(SPEC, seed=1), tmp_path / "other"))


def test_a_training_with_pairs_goes_on_bit_by_bit(paired, tmp_path):
    spec = replace(SPEC, code=2)
    whole = train(paired, spec, tmp_path / "whole", every=100)
    train(paired, replace(spec, steps=5), tmp_path / "parts", every=2)
    assert equal(whole, train(paired, spec, tmp_path / "parts", every=2))
    with pytest.raises(StoreError, match="training images differ"):
        train(replace(paired, faces=np.arange(30) // 2), spec, tmp_path / "parts")
    with pytest.raises(StoreError, match=r"alike 0.1 and now 0.2"):
        train(paired, replace(spec, alike=0.2), tmp_path / "parts")


def test_a_twin_is_another_picture_of_the_same_face(lessons):
    three = replace(lessons, faces=np.arange(30) % 10)
    rows = np.random.default_rng(1).permutation(30)
    met = set()
    for seed in range(20):
        twins = three.twins(rows, np.random.default_rng(seed))
        assert (twins != rows).all()
        assert (three.faces[twins] == three.faces[rows]).all()
        met |= set(zip(rows.tolist(), twins.tolist(), strict=True))
    assert len(met) == 60  # every row meets both of its twins


def test_a_batch_with_pairs_has_the_twins_below_varied_alike(paired):
    both = replace(paired, pictures=paired.pictures[np.arange(30) % 15])  # twins look the same
    x, a = Training(both, SPEC)._batch()
    assert x.shape[0] == a.shape[0] == 16
    assert torch.equal(x[:8], x[8:])
    assert Training(both, SPEC).advance()["apart"] == pytest.approx(0, abs=1e-6)
    assert "apart" not in Training(replace(both, faces=None), SPEC).advance()


def test_every_face_of_pairs_has_two_pictures(lessons):
    with pytest.raises(SpecError, match="30 faces have a single image"):
        replace(lessons, faces=np.arange(30))


KILLED = """
import sys; sys.path.insert(0, sys.argv[2])
import numpy as np, torch
from pathlib import Path
from likewise.models.fader.data import Lessons
from likewise.models.fader.training import TrainSpec, train
rng = np.random.default_rng(0)
pictures = rng.integers(0, 256, (30, 32, 32, 3), dtype=np.uint8)
lessons = Lessons(pictures, rng.choice([-1, 1], (30, 2)).astype(np.float32), ("a", "b"))
spec = TrainSpec(width=4, steps=10**6, batch=8, rise=6, adversary=0.1, shift=2, turns=2)
train(lessons, spec, Path(sys.argv[1]), every=3)
"""


def test_a_training_that_is_killed_goes_on_bit_by_bit(lessons, tmp_path):
    process = subprocess.Popen([sys.executable, "-c", KILLED, str(tmp_path / "killed"), "tests"])
    try:
        for _ in range(1200):
            if (tmp_path / "killed" / CHECKPOINT).is_file():
                break
            time.sleep(0.1)
    finally:
        process.kill()
        process.wait()
    again = Training(lessons, replace(SPEC, steps=10**6))
    assert again.resume(tmp_path / "killed")
    assert again.step % 3 == 0
    end = again.step + 4
    while again.step < end:
        again.advance()
    whole = Training(lessons, replace(SPEC, steps=10**6))
    while whole.step < end:
        whole.advance()
    assert equal(whole, again)


def test_a_training_goes_on_only_as_it_began(lessons, tmp_path):
    train(lessons, replace(SPEC, steps=2), tmp_path)
    with pytest.raises(StoreError, match=r"options differ.*batch 8 and now 4"):
        train(lessons, replace(SPEC, batch=4), tmp_path)
    others = Lessons(lessons.pictures[::-1], lessons.attributes, lessons.names)
    with pytest.raises(StoreError, match="training images differ"):
        train(others, SPEC, tmp_path)
    (tmp_path / CHECKPOINT).write_bytes(b"no checkpoint")
    with pytest.raises(StoreError, match="is not a readable checkpoint"):
        train(lessons, SPEC, tmp_path)


def test_the_adversary_s_weight_rises_to_its_end(lessons):
    training = Training(lessons, SPEC)
    weights = [training.advance()["weight"] for _ in range(9)]
    assert weights == pytest.approx([0.1 * min(step / 6, 1) for step in range(1, 10)])


def test_the_rate_falls_at_the_end_and_a_stop_before_it_changes_nothing(lessons, tmp_path):
    spec = replace(SPEC, cool=4)
    whole = Training(lessons, spec)
    rates = []
    while whole.step < 12:
        whole.advance()
        rates.append(whole._hers.param_groups[0]["lr"] / spec.rate)
    assert rates == pytest.approx([1] * 8 + [1, 0.75, 0.5, 0.25])
    train(lessons, replace(SPEC, steps=7), tmp_path)  # not yet decided how long
    train(lessons, replace(spec, steps=12, device="cpu"), tmp_path, every=2)
    again = Training(lessons, spec)
    assert again.resume(tmp_path)
    assert equal(again, whole)
    with pytest.raises(StoreError, match="steps 12 and now 20"):  # it has cooled down
        train(lessons, replace(spec, steps=20), tmp_path)


def test_every_picture_is_seen_once_an_epoch(lessons):
    training = Training(lessons, replace(SPEC, shift=0))
    seen = []
    for _ in range(3):
        x, _ = training._batch()
        seen += [round(float(picture.sum()), 2) for picture in x]
        training.step += 1
    assert len(set(seen)) == len(seen) == 24  # 3 whole batches of 8 out of 30; mirroring keeps the sum


@pytest.mark.parametrize(
    "options",
    [
        {"steps": 0},
        {"batch": 1},
        {"rate": 0},
        {"adversary": -1},
        {"rise": 0},
        {"shift": 9},
        {"turns": 0},
        {"alike": -1},
    ],
)
def test_what_is_no_training(options):
    with pytest.raises(SpecError):
        TrainSpec(**options)


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(1)
    (tmp_path / "images").mkdir()
    for number in range(10):
        pixels = rng.integers(0, 256, (40, 40, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(tmp_path / "images" / f"{number}.png")
    table = pd.DataFrame(
        {
            "image": [str(number) for number in range(10)],
            "perceived_gender": ["female", "male"] * 5,
            "expression": ["grin", "frown", "calm", "grin", "frown"] * 2,
            "smiling": [0, 1] * 5,
            "who": list("aabbccddee"),
            "age": np.linspace(10, 60, 10),
            "young": np.linspace(-1, 1, 10),
        }
    )
    table.to_csv(tmp_path / "faces.csv", index=False)
    return tmp_path


def lessons_of(folder, *attributes: str, pairs: str = "") -> Lessons:
    parsed = [Attribute.parse(text) for text in attributes]
    return read_lessons(folder / "images", folder / "faces.csv", parsed, size=32, image="image", pairs=pairs)


def test_lessons_are_read_from_a_folder_and_a_table(folder):
    read = lessons_of(folder, "perceived_gender=female,male", "smiling", "young")
    assert read.pictures.shape == (10, 32, 32, 3)
    assert read.names == ("perceived_gender", "smiling", "young")
    assert read.attributes[:2].tolist() == [[1, -1, -1], [-1, 1, pytest.approx(-7 / 9)]]


def test_pairs_are_read_from_a_column(folder):
    read = read_lessons(
        folder / "images", folder / "faces.csv", [Attribute("smiling")], size=32, image="image", pairs="who"
    )
    assert read.faces.tolist() == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]
    with pytest.raises(TableError, match="whom"):
        read_lessons(
            folder / "images", folder / "faces.csv", [Attribute("smiling")], size=32, image="image", pairs="whom"
        )


def test_the_folder_may_be_a_link(folder):
    (folder / "images").rename(folder / "elsewhere")
    (folder / "images").symlink_to(folder / "elsewhere")
    assert len(lessons_of(folder, "smiling").pictures) == 10


def test_a_third_level_is_left_out_and_counted(folder):
    read = lessons_of(folder, "expression=grin,frown")
    assert (len(read.pictures), read.left_out) == (8, 2)


@pytest.mark.parametrize(
    ("attribute", "says"),
    [
        ("expression", "holds text .3 levels: 'calm', 'frown', 'grin'.*Name two of its levels"),
        ("perceived_gender=woman,man", "lacks the level 'woman' or 'man' .levels: 'female', 'male'"),
        ("age", "ranges over 10 to 60"),
    ],
)
def test_a_column_that_is_no_attribute(folder, attribute, says):
    with pytest.raises(TableError, match=says):
        lessons_of(folder, attribute)


@pytest.mark.parametrize("text", ["", "a=b", "a=b,b", "a=b,c,d", "a=b,"])
def test_what_is_no_attribute(text):
    with pytest.raises(SpecError, match="Cannot read the attribute"):
        Attribute.parse(text)


def test_an_image_that_is_missing(folder):
    (folder / "images" / "3.png").unlink()
    with pytest.raises(TableError, match=r"1 images of the table are not in .*'3'"):
        lessons_of(folder, "smiling")


def test_values_of_an_attribute():
    faces = Images(pd.DataFrame({"image": ["a", "b", "c"], "identity": list("abc"), "worn": [True, False, True]}))
    assert Attribute.parse("worn").values(faces).tolist() == [1, -1, 1]
