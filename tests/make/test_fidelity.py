from __future__ import annotations

import numpy as np
import pytest

from likewise.errors import SpecError
from likewise.images import Album, save
from likewise.make.fidelity import AGREES, DISTANCE, FidelitySpec, Judgement, judged, passed
from likewise.make.project import ProjectSpec, solver
from likewise.plugins import create, to_signals
from likewise.tables import Vectors


@pytest.fixture(scope="module")
def judgement(world, tmp_path_factory):
    """Six faces drawn faithfully, but the last has the latent of somebody else."""
    folder = tmp_path_factory.mktemp("faces")
    keys = [f"i{k}" for k in range(6)]
    for key, picture in zip(keys, world.pictures[:6], strict=True):
        save(folder / f"{key}.png", picture)
    _, _, solve = solver(ProjectSpec())
    w, _ = solve(to_signals(world.pictures[:6]))
    w[5] = solve(to_signals(world.pictures[100:101]))[0][0]
    spec = FidelitySpec(recogniser="world", classifier="world")
    album = Album(folder, {key: f"{key}.png" for key in keys})
    work = Judgement(spec, "world", {}, "pixels", album, Vectors(keys, w, source="test"))
    return judged(keys, [work(keys[:4]), work(keys[4:])])


def test_everybody_looks_at_both(judgement):
    frame = judgement.frame
    recogniser, classifier = create("recogniser", "world").name, create("classifier", "world").name
    assert set(frame["rater"]) == {"pixels", recogniser, classifier}
    near = frame[(frame["rater"] == recogniser)].set_index("unit")["value"]
    assert near.iloc[:5].max() < 0.5 * near.iloc[5]
    assert frame["question"].str.startswith((DISTANCE, AGREES)).all()


def test_the_gate_keeps_out_another_person(judgement):
    recogniser = create("recogniser", "world")
    assert passed(judgement, recogniser=recogniser.name, limit=0.5 * _far(judgement)) == [f"i{k}" for k in range(5)]
    assert len(passed(judgement)) == 6  # nobody at the gate


def _far(judgement):
    name = create("recogniser", "world").name
    frame = judgement.frame
    return float(frame["value"][frame["rater"] == name].max())


def test_a_face_that_is_not_found_does_not_pass(judgement):
    frame = judgement.frame.copy()
    name = create("recogniser", "world").name
    frame.loc[(frame["rater"] == name) & (frame["unit"] == "i0"), "value"] = np.nan
    assert "i0" not in passed(type(judgement)(frame), recogniser=name, limit=1e9)


def test_another_answer_does_not_pass(judgement):
    frame = judgement.frame.copy()
    name = create("classifier", "world").name
    row = frame.index[(frame["rater"] == name) & (frame["unit"] == "i1")][0]
    frame.loc[row, "value"] = 0.0
    assert "i1" not in passed(type(judgement)(frame), classifier=name)


@pytest.mark.parametrize("options", [{}, {"classifier": "world", "limit": 0.5}, {"recogniser": "world", "limit": -1.0}])
def test_a_gate_without_a_meaning_is_refused(options):
    with pytest.raises(SpecError):
        FidelitySpec(**options)
