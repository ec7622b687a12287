from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import torch
import torch.nn.functional as F  # noqa: N812

from likewise.models.fader.faces import ATTRIBUTES, drawn, latents, write_faces
from likewise.models.generators.mobilestylegan import MobileStyleGAN
from likewise.runtime.registry import to_signals


@pytest.fixture(scope="module")
def generator(weights) -> MobileStyleGAN:
    weights("mobilestylegan-ffhq")
    return MobileStyleGAN()


@pytest.fixture(scope="module")
def unit():
    """Directions that overlap, like real ones."""
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(len(ATTRIBUTES), 512)) + rng.normal(size=512) / 2
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def test_every_attribute_stands_where_its_label_says(generator, unit):
    w, side = latents(generator, 400, unit, seed=0)
    score = (w - generator.mean_w()) @ unit.T
    for k in range(len(ATTRIBUTES)):
        assert score[side[:, k] > 0, k].min() > score[side[:, k] < 0, k].max()
    assert np.abs(side.mean(axis=0)).max() < 0.15
    assert np.abs(np.corrcoef(side.T) - np.eye(len(ATTRIBUTES))).max() < 0.2


def test_more_faces_leave_the_first_alone(generator, unit):
    few, many = (latents(generator, n, unit, seed=0) for n in (5, 9))
    assert np.allclose(few[0], many[0][:5], atol=1e-5)
    assert np.array_equal(few[1], many[1][:5])


def test_every_face_is_drawn_on_both_sides(generator, unit):
    w, side = latents(generator, 401, unit, seed=0)
    assert (side[:400:2, 0] == -side[1:400:2, 0]).all()
    assert 0.4 < (side[:400:2, 1:] == side[1:400:2, 1:]).mean() < 0.6  # coins of their own
    rest = np.eye(512) - np.linalg.pinv(unit) @ unit
    centered = (w - generator.mean_w()) @ rest.T
    assert np.allclose(centered[:400:2], centered[1:400:2], atol=1e-3)  # but for the directions, twins are one
    assert np.abs(centered[::2] - centered[2]).max() > 0.1


def test_faces_are_drawn_much_as_the_whole_network_draws_them(generator):
    w = (generator.mean_w() + 0.65 * (generator.sample_w(3, 5) - generator.mean_w())).astype(np.float32)
    quick = torch.from_numpy(to_signals(drawn(generator, w, 64)))
    exact = torch.cat([F.adaptive_avg_pool2d(generator.draw(torch.from_numpy(row[None])), 64) for row in w])
    error = (quick - exact.clamp(-1, 1)).square().mean(dim=(1, 2, 3))
    assert (10 * torch.log10(4 / error) > 23).all()


def test_faces_and_their_tables_are_written(generator, unit, tmp_path):
    write_faces(tmp_path, generator, unit, n=10, held=3, size=64, seed=0, part=(0, 5))
    assert sorted(path.name for path in (tmp_path / "images").iterdir()) == ["000000.png", "000005.png"]
    learned, held = (pd.read_csv(tmp_path / name, dtype={"image": str}) for name in ("faces.csv", "held.csv"))
    assert learned["face"].tolist() == [0, 0, 1, 1, 2, 2]  # twins stay together
    assert held["image"].tolist() == ["000006", "000007", "000008", "000009"]
    assert list(learned.columns) == ["image", "face", *(attribute.column for attribute in ATTRIBUTES)]
