from __future__ import annotations

import numpy as np
import pytest

from invariants import check_images
from likewise.counterfactuals.sweep import Sweep, chosen, sweep_faces
from likewise.counterfactuals.sweep_spec import SweepSpec
from likewise.data.keys import file_of
from likewise.errors import SpecError
from likewise.runtime.pixels import ImageFolder, decode, save
from likewise.simulation.scene import see


def test_a_counterfactual_is_a_face_with_a_parent_and_a_level(world):
    spec = SweepSpec(most=10)
    images = chosen(world.faces, spec, seed=1)
    made = sweep_faces(world.faces, images, spec)
    check_images(made)
    assert len(made) == 10 * 5
    assert made.frame.groupby("parent")["level"].apply(list).map(lambda levels: levels == [-2, -1, 0, 1, 2]).all()
    parents = world.faces.frame.set_index("image").loc[made.frame["parent"], "perceived_age"].tolist()
    assert made.frame["perceived_age"].tolist() == parents


def test_faces_are_chosen_by_the_seed_and_one_an_identity(world):
    spec = SweepSpec(most=20)
    images = chosen(world.faces, spec, seed=1)
    shuffled = world.faces.subset(sorted(world.faces.keys, reverse=True))
    assert images == chosen(shuffled, spec, seed=1) != chosen(world.faces, spec, seed=2)
    assert world.faces.identities.loc[images].is_unique


def test_only_the_attribute_is_edited(world, tmp_path):
    image = world.faces.keys[0]
    save(tmp_path / "a.png", world.pictures[0])
    spec = SweepSpec(most=2, strengths=(-1, 0, 1))
    Sweep(spec, ImageFolder(tmp_path, {image: "a.png"}), tmp_path / "made")([image])
    for level in spec.strengths:
        factors = see(decode(tmp_path / "made" / file_of(f"{image}@{level:+g}"))[None])[0]
        assert factors[0] == pytest.approx(level, abs=0.01)
        assert np.abs(factors[1:] - world.factors[0, 1:]).max() < 0.03


@pytest.mark.parametrize(
    "options", [{"strengths": (0, 1)}, {"strengths": (1, 0, 2)}, {"strengths": (-1, 1, 2)}, {"most": 1}]
)
def test_a_sweep_without_meaning_is_refused(options):
    with pytest.raises(SpecError):
        SweepSpec(**options)
