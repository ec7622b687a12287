"""Alignment: faces come to lie where the frame wants them, and what cannot be aligned is counted."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from likewise.data.align import ALREADY, FAILED, MOVED, Alignment, AlignSpec, align, settled, tally
from likewise.errors import PluginError, SpecError
from likewise.models.detectors import registry
from likewise.models.detectors.detection import Detection
from likewise.models.geometry import moved
from likewise.runtime.executor import Executor
from likewise.runtime.pixels import ImageFolder

FACE = np.array([[385.6, 487.9], [631.2, 484.7], [506.6, 646.6], [403.0, 746.8], [620.2, 744.0]]) / 1024
COLORS = np.array([[255, 0, 0], [0, 255, 0], [0, 0, 255], [255, 255, 0], [0, 255, 255]])


def painted(size: int, transform: np.ndarray) -> np.ndarray:
    """A gray picture with a colored spot at each point of a face."""
    picture = np.full((size, size, 3), 128, np.uint8)
    for color, (x, y) in zip(COLORS, moved(FACE * 256, transform), strict=True):
        picture[int(y) - 2 : int(y) + 4, int(x) - 2 : int(x) + 4] = color
    return picture


class Spots:
    """Finds the five colored spots: a face whose points are known."""

    name, license, scheme = "spots", "none", "centers"

    def find(self, picture):
        places = [np.argwhere((np.abs(picture.astype(int) - color) < 40).all(axis=-1)) for color in COLORS]
        if not all(len(place) for place in places):
            return []
        points = np.array([place.mean(axis=0)[::-1] for place in places])
        return [Detection((*points.min(axis=0), *points.max(axis=0)), points, 1.0)]


@pytest.fixture
def spots(monkeypatch):
    monkeypatch.setitem(registry.DETECTORS, "spots", f"{__name__}:Spots")
    registry.detector.cache_clear()
    yield AlignSpec(frame="ffhq", size=128, detector="spots")
    registry.detector.cache_clear()


TURNED = np.array([[0.9, -0.5, 150], [0.5, 0.9, 40]])


def test_a_turned_face_comes_to_lie_in_the_frame(spots):
    state, aligned = align(painted(500, TURNED), Spots(), spots)
    assert state == MOVED
    assert aligned.shape == (128, 128, 3)
    (there,) = Spots().find(aligned)
    assert np.abs(there.points - FACE * 128).max() < 3


def test_a_picture_in_the_frame_is_only_brought_to_size(spots):
    whole = painted(256, np.eye(2, 3))
    state, aligned = align(whole, Spots(), spots)
    assert state == ALREADY
    assert np.array_equal(aligned, np.asarray(Image.fromarray(whole).resize((128, 128), Image.Resampling.LANCZOS)))
    assert align(whole[:200], Spots(), spots)[0] == MOVED, "a picture that is not square is in no frame"


def test_no_face_is_an_answer(spots):
    assert align(np.zeros((20, 20, 3), np.uint8), Spots(), spots) == (FAILED, None)


def test_files_of_all_kinds_are_gone_through_and_upright(tmp_path, spots):
    turned = painted(500, TURNED)
    Image.fromarray(turned).save(tmp_path / "plain.png")
    exif = Image.Exif()
    exif[0x0112] = 6  # taken with the camera on its side
    Image.fromarray(np.rot90(turned, 1)).save(tmp_path / "side.jpg", exif=exif, quality=95, subsampling=0)
    Image.fromarray(np.dstack([turned, np.full(turned.shape[:2], 255, np.uint8)])).save(tmp_path / "alpha.png")
    Image.new("L", (20, 20)).save(tmp_path / "tiny.png")
    files = {name.split(".")[0]: name for name in ("plain.png", "side.jpg", "alpha.png", "tiny.png")}
    (tmp_path / "out").mkdir()
    work = Alignment(spots, ImageFolder(tmp_path, files), tmp_path / "out")
    (result,) = Executor().map(work, list(files))
    assert result["state"].tolist() == [MOVED, MOVED, MOVED, FAILED]
    seen = {name: np.asarray(Image.open(tmp_path / "out" / f"{name}.png")).astype(int) for name in list(files)[:3]}
    assert not (tmp_path / "out" / "tiny.png").exists()
    assert np.array_equal(seen["plain"], seen["alpha"])
    assert np.abs(seen["plain"] - seen["side"]).mean() < 6
    counts = tally(list(files), result["state"].tolist(), dict.fromkeys(files, "female") | {"tiny": "male"})
    assert counts["male"] == {
        "no face found": 1,
        "aligned": 0,
        "aligned already": 0,
        "cannot be opened": 0,
        "face too small": 0,
    }
    assert counts["female"]["aligned"] == 3


def test_the_generator_says_the_frame_or_the_plan_does():
    class Drawing:
        name, frame, resolution = "drawing", "ffhq", 512

    assert settled(AlignSpec(), Drawing()) == AlignSpec(frame="ffhq", size=512)
    with pytest.raises(PluginError, match="frame"):
        settled(AlignSpec(), object())
    with pytest.raises(PluginError, match="Did you mean 'ffhq'"):
        settled(AlignSpec(frame="ffhk"), Drawing())


@pytest.mark.parametrize("wrong", [{"size": 7}, {"slack": 0.5}])
def test_meaningless_options_are_refused(wrong):
    with pytest.raises(SpecError):
        AlignSpec(**wrong)
