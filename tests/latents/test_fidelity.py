from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from likewise.errors import PluginError, SpecError
from likewise.latents.fidelity import (
    AGREES,
    DISTANCE,
    GATE,
    FidelitySpec,
    MeasureFidelity,
    at_the_gate,
    fidelity_ratings,
    passed,
)
from likewise.latents.projection import ProjectSpec, solver
from likewise.runtime.pixels import ImageFolder, save
from likewise.runtime.registry import create, to_signals
from likewise.tables.vectors import write_stream

KEYS = [f"i{k}" for k in range(6)]


@pytest.fixture(scope="module")
def work(world, tmp_path_factory):
    """Six faces drawn faithfully, but the last has the latent of somebody else."""
    folder = tmp_path_factory.mktemp("faces")
    for key, picture in zip(KEYS, world.pictures[:6], strict=True):
        save(folder / f"{key}.png", picture)
    _, _, solve = solver(ProjectSpec())
    w, _ = solve(to_signals(world.pictures[:6]))
    w[5] = solve(to_signals(world.pictures[100:101]))[0][0]
    latents = tmp_path_factory.mktemp("latents")
    write_stream(latents, KEYS, [w], source="test")
    spec = FidelitySpec(recognizer="world", classifier="world")
    return MeasureFidelity(
        spec, "world", {}, "pixels", ImageFolder(folder, {key: f"{key}.png" for key in KEYS}), latents
    )


@pytest.fixture(scope="module")
def judgment(work):
    return fidelity_ratings(KEYS, [work(KEYS[:4]), work(KEYS[4:])])


def test_everybody_looks_at_both(judgment):
    frame = judgment.frame
    recognizer, classifier = create("recognizer", "world").name, create("classifier", "world").name
    assert set(frame["rater"]) == {"pixels", recognizer, classifier}
    near = frame[(frame["rater"] == recognizer)].set_index("unit")["value"]
    assert near.iloc[:5].max() < 0.5 * near.iloc[5]
    assert frame["question"].str.startswith((DISTANCE, AGREES)).all()


def test_the_gate_keeps_out_another_person(judgment):
    recognizer = create("recognizer", "world")
    assert passed(judgment, recognizer=recognizer.name, limit=0.5 * _far(judgment)) == [f"i{k}" for k in range(5)]
    assert len(passed(judgment)) == 6  # nobody at the gate


def _far(judgment):
    name = create("recognizer", "world").name
    frame = judgment.frame
    return float(frame["value"][frame["rater"] == name].max())


def test_a_face_that_is_not_found_does_not_pass(judgment):
    frame = judgment.frame.copy()
    name = create("recognizer", "world").name
    frame.loc[(frame["rater"] == name) & (frame["unit"] == "i0"), "value"] = np.nan
    assert "i0" not in passed(type(judgment)(frame), recognizer=name, limit=1e9)


def test_another_answer_does_not_pass(judgment):
    frame = judgment.frame.copy()
    name = create("classifier", "world").name
    row = frame.index[(frame["rater"] == name) & (frame["unit"] == "i1")][0]
    frame.loc[row, "value"] = 0.0
    assert "i1" not in passed(type(judgment)(frame), classifier=name)


def test_chunks_do_not_matter(work, judgment):
    by = ["unit", "rater", "question"]
    whole = fidelity_ratings(KEYS, [work(KEYS)]).frame.sort_values(by, ignore_index=True)
    apart = judgment.frame.sort_values(by, ignore_index=True)
    assert whole[by].equals(apart[by])
    np.testing.assert_allclose(whole["value"], apart["value"], atol=1e-6)


def test_a_file_that_is_broken_by_now_has_no_answer_and_does_not_pass(work, tmp_path):
    (tmp_path / "i0.png").write_bytes(b"no picture")
    (tmp_path / "i1.png").write_bytes((work.album.root / "i1.png").read_bytes())
    album = ImageFolder(tmp_path, {"i0": "i0.png", "i1": "i1.png", "i2": "gone.png"})
    reported = fidelity_ratings(KEYS[:3], [replace(work, album=album)(KEYS[:3])])
    empty = reported.frame[reported.frame["value"].isna()]
    assert set(empty["unit"]) == {"i0", "i2"}
    name = create("recognizer", "world").name
    assert passed(reported, recognizer=name, limit=1e9) == ["i1"]


def test_a_chunk_of_broken_files_is_no_end(work, tmp_path):
    album = ImageFolder(tmp_path, dict.fromkeys(KEYS, "gone.png"))
    lost = replace(work, album=album)
    reported = fidelity_ratings(KEYS, [lost(KEYS[:2]), work(KEYS[2:])])
    assert passed(reported, classifier=create("classifier", "world").name)[0] == "i2"


def test_only_the_labels_of_the_contrast_count_when_they_are_named(judgment):
    frame = judgment.frame.copy()
    name = create("classifier", "world").name
    asked = frame["question"][(frame["rater"] == name)].unique()
    frame.loc[(frame["question"] == asked[0]) & (frame["unit"] == "i2"), "value"] = 0.0
    reported = type(judgment)(frame)
    other = asked[1].removeprefix(f"{AGREES}: ")
    assert "i2" not in passed(reported, classifier=name)
    assert "i2" in passed(reported, classifier=name, labels=(other,))
    with pytest.raises(PluginError, match="has none of the labels"):
        passed(reported, classifier=name, labels=("no such label",))


def test_the_gate_says_itself_who_passed(judgment):
    frame = at_the_gate(judgment, KEYS[:5]).frame
    answers = frame[frame["rater"] == GATE].set_index("unit")["value"]
    assert answers.to_dict() == {key: float(key != "i5") for key in KEYS}


def test_latents_of_another_generator_are_refused(work, tmp_path):
    write_stream(tmp_path, KEYS, [np.zeros((6, 3, 5), np.float32)], source="another")
    with pytest.raises(PluginError, match=r"Latents of 3 x 5 do not fit"):
        replace(work, latents=tmp_path)(KEYS)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"classifier": "world", "limit": 0.5},
        {"recognizer": "world", "limit": -1.0},
        {"recognizer": "world", "labels": ("a",)},
        {"recognizer": "world", "size": 4},
    ],
)
def test_a_gate_without_a_meaning_is_refused(options):
    with pytest.raises(SpecError):
        FidelitySpec(**options)
