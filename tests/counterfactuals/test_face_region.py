"""Photographs: the right face is edited, inside its skin only, at the photograph's own resolution."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from likewise.counterfactuals import masked_sweep
from likewise.counterfactuals.face_region import BORDER, CUT, GRAY, NO_FACE, SEVERAL, FaceLocator, FaceRegion
from likewise.counterfactuals.masked_sweep import MaskedSweep
from likewise.counterfactuals.placebo import MASK, ORIGINAL, RANDOM, RECONSTRUCT
from likewise.counterfactuals.sweep_spec import SweepSpec
from likewise.data.align import AlignSpec
from likewise.data.keys import file_of, key_of
from likewise.errors import ExecutorError
from likewise.models.detectors.registry import detector
from likewise.models.perception.segmentation import Segmenter
from likewise.runtime.pixels import ImageFolder, decode, traits
from likewise.runtime.registry import register
from portraits import portrait

LEVELS = (-1.0, 0.0, 1.0)


class Tint:
    """Makes everything redder with the level, far outside the skin, too: the mask has to hold it back."""

    name, license, attribute = "tint", "none", "perceived_gender"

    def edit(self, pictures, level):
        shifted = pictures.astype(int) + np.array([60, -60, 30]) * level
        return np.clip(shifted, 0, 255).astype(np.uint8)

    def redraw(self, pictures, images=None):
        return np.clip(pictures.astype(int) + 5, 0, 255).astype(np.uint8)


@pytest.fixture(scope="module")
def place(weights):
    for name in ("selfie-multiclass", "retinaface"):
        weights(name)
    register("editor", "tint", Tint)
    return FaceLocator(detector("retinaface"), Segmenter(), AlignSpec(frame="ffhq", size=256), 256)


def beside(left, right):
    return np.concatenate([left, right], axis=1)


def test_the_edit_shows_in_the_skin_and_nowhere_else(place):
    picture = portrait()[0]
    (face,) = place([picture])
    assert isinstance(face, FaceRegion)
    result = face.put_back(face.crop, Tint().edit(face.crop[None], 1.0)[0])
    changed = (result != picture).any(axis=-1)
    assert 0.02 < changed.mean() < 0.3
    columns = np.nonzero(changed)[1]
    assert abs(np.median(columns) / 400 - 0.5) < 0.15
    assert face.outside_changed(result) == 0
    degraded = result.copy()
    degraded[0, 0] += 1
    assert face.outside_changed(degraded) == 1


def test_a_photograph_keeps_its_own_resolution_and_grain(place):
    """The edit of a crop is brought into a photograph eight times as large; where nothing changes, its grain stays."""
    small = portrait(size=400)[0]
    large = np.asarray(Image.fromarray(small).resize((1600, 1600), Image.Resampling.BICUBIC))
    grain = np.random.default_rng(0).integers(-9, 10, (1600, 1600, 1))
    large = np.clip(large + grain, 0, 255).astype(np.uint8)
    (face,) = place([large])
    same = face.put_back(face.crop, face.crop)
    assert np.array_equal(same, large)
    tinted = face.put_back(face.crop, np.clip(face.crop.astype(int) + 20, 0, 255).astype(np.uint8))
    inside = face.weight == 1
    top, left = face.corner
    window = (slice(top, top + inside.shape[0]), slice(left, left + inside.shape[1]))
    change = tinted[window].astype(int)[inside] - large[window].astype(int)[inside]
    middle = (large[window][inside] > 30) & (large[window][inside] < 200)
    assert np.abs(change[middle] - 20).max() <= 2


class Redrawn(Tint):
    """Draws faces again at every strength, darker than they are, with a line across at +1."""

    name, relit = "redrawn", True

    def edit(self, pictures, level):
        drawn = np.clip(pictures.astype(int) - 30, 0, 255).astype(np.uint8)
        drawn[:, 120:124] = 0 if level == 1 else drawn[:, 120:124]
        return drawn

    def redraw(self, pictures, images=None):
        return self.edit(pictures, 0.0)


def test_faces_that_are_drawn_again_keep_the_light_of_the_photograph(place, tmp_path):
    picture = portrait()[0]
    Image.fromarray(picture).save(tmp_path / "a.png")
    album, levels = ImageFolder(tmp_path, {"a": "a.png"}), (-1.0, 0.0, 1.0)
    arms = (ORIGINAL, RECONSTRUCT, MASK, RANDOM)
    MaskedSweep(
        SweepSpec(editor="redrawn", strengths=levels), album, tmp_path, 0, arms, editor=Redrawn(), align=place.align
    )(["a"])
    pasted = {level: decode(tmp_path / file_of(key_of("a", level))).astype(int) for level in levels}
    apart = np.abs(pasted[0.0] - picture).max(axis=-1)
    assert np.quantile(apart[apart > 0], 0.9) <= 8, "30 of 255 darker, but for the light; features keep what they are"
    assert np.abs(pasted[1.0] - pasted[0.0]).max() > 60, "a feature stays as it was drawn"
    np.testing.assert_array_equal(pasted[0.0], decode(tmp_path / file_of(key_of("a", 0.0, MASK))))


def test_of_several_faces_the_one_nearest_to_the_middle_is_edited(place):
    one = portrait(size=300)[0]
    wide = beside(beside(one, one), one)
    (face,) = place([wide])
    assert SEVERAL in face.remarks
    columns = np.nonzero((face.put_back(face.crop, 255 - face.crop) != wide).any(axis=(0, 2)))[0]
    assert columns.min() > 300
    assert columns.max() < 600


def test_no_face_a_cut_face_and_a_gray_face(place):
    picture = portrait()[0]
    gray = np.repeat(picture.mean(axis=-1, keepdims=True).astype(np.uint8), 3, axis=-1)
    points = detector("retinaface").find(picture)[0].points
    nose = int(points[2, 0])
    nobody = np.full((200, 300, 3), 90, np.uint8)
    answers = place([nobody, gray, picture[:, nose - 40 :], picture[:, nose - 20 :]])
    assert answers[0] == NO_FACE
    assert GRAY in answers[1].remarks
    edited = answers[1].put_back(answers[1].crop, Tint().edit(answers[1].crop[None], 1.0)[0])
    assert (edited[..., 0] == edited[..., 1]).all()
    assert (edited[..., 1] == edited[..., 2]).all()
    assert BORDER in answers[2].remarks, "the cheek is gone"
    assert answers[3] == CUT, "an eye is gone"


def test_a_sweep_over_photographs_of_all_kinds(place, tmp_path):
    """On every picture that is made: nothing outside the mask, its own size, and the placebo arms beside."""
    picture = portrait()[0]
    Image.fromarray(picture).save(tmp_path / "plain.png")
    exif = Image.Exif()
    exif[0x0112] = 6
    Image.fromarray(np.rot90(picture)).save(tmp_path / "side.jpg", exif=exif, quality=95)
    alpha = np.dstack([picture, np.full(picture.shape[:2], 255, np.uint8)])
    alpha[:40, :40, 3] = 0
    Image.fromarray(alpha).save(tmp_path / "alpha.png")
    Image.fromarray(picture).convert("L").resize((500, 480)).save(tmp_path / "gray.png")
    Image.new("RGB", (60, 80)).save(tmp_path / "nobody.png")
    files = {name.split(".")[0]: name for name in ("plain.png", "side.jpg", "alpha.png", "gray.png", "nobody.png")}
    spec = SweepSpec(editor="tint", strengths=LEVELS, mask="skin")
    arms = (ORIGINAL, RECONSTRUCT, MASK, RANDOM)
    album = ImageFolder(tmp_path, files)
    work = MaskedSweep(spec, album, tmp_path / "made", 3, arms, AlignSpec(frame="ffhq", size=256))
    told = work(list(files))
    assert told["reason"].tolist() == ["", "", "", "", NO_FACE]
    assert not told["outside"].any()
    for name in list(files)[:4]:
        original = album([name])[0]
        (face,) = place([original])
        for key in [key_of(name, level) for level in LEVELS] + [key_of(name, level, RANDOM) for level in LEVELS]:
            made = decode(tmp_path / "made" / file_of(key))
            assert made.shape == original.shape
            assert face.outside_changed(made) == 0
        again = decode(tmp_path / "made" / file_of(key_of(name, 0.0, MASK)))
        assert face.outside_changed(again) == 0
        assert (again != original).any()
        whole = decode(tmp_path / "made" / file_of(key_of(name, 0.0, RECONSTRUCT)))
        assert (whole != original).any(axis=-1).mean() > (again != original).any(axis=-1).mean()
    assert album(["alpha"])[0, 0, 0].tolist() == [255, 255, 255]
    shown = {name: traits(tmp_path / file) for name, file in files.items()}
    assert shown == {
        "plain": [], "side": ["rotated upright by EXIF"], "alpha": ["transparency: composited on white"],
        "gray": ["grayscale file"], "nobody": [],
    }  # fmt: skip


def test_a_leak_outside_the_mask_stops_the_sweep(place, tmp_path, monkeypatch):
    Image.fromarray(portrait()[0]).save(tmp_path / "a.png")
    monkeypatch.setattr(masked_sweep.FaceRegion, "put_back", lambda self, crop, edited: 255 - self.picture)
    spec = SweepSpec(editor="tint", strengths=LEVELS)
    work = MaskedSweep(spec, ImageFolder(tmp_path, {"a": "a.png"}), tmp_path, align=AlignSpec(frame="ffhq", size=256))
    with pytest.raises(ExecutorError, match="outside the mask"):
        work(["a"])
    assert not list(tmp_path.glob("a@*"))


def test_a_leak_in_the_mask_arm_alone_stops_the_sweep(place, tmp_path, monkeypatch):
    """Levels and the random direction are clean; only what is drawn again shows outside the mask."""
    Image.fromarray(portrait()[0]).save(tmp_path / "a.png")
    clean = FaceRegion.put_back

    def leaks(self, crop, edited):
        again = np.array_equal(edited, Tint().redraw(crop))
        return 255 - self.picture if again else clean(self, crop, edited)

    monkeypatch.setattr(masked_sweep.FaceRegion, "put_back", leaks)
    spec, album = SweepSpec(editor="tint", strengths=LEVELS), ImageFolder(tmp_path, {"a": "a.png"})
    frame = AlignSpec(frame="ffhq", size=256)
    MaskedSweep(spec, album, tmp_path, arms=(ORIGINAL, RECONSTRUCT, RANDOM), align=frame)(["a"])
    with pytest.raises(ExecutorError, match="outside the mask"):
        MaskedSweep(spec, album, tmp_path, arms=(ORIGINAL, RECONSTRUCT, MASK), align=frame)(["a"])


def test_a_large_photograph_is_edited_at_its_own_size(place, tmp_path):
    large = np.asarray(Image.fromarray(portrait()[0]).resize((4000, 3000)))
    Image.fromarray(large).save(tmp_path / "large.jpg", quality=90)
    assert traits(tmp_path / "large.jpg") == ["12 megapixels or more"]
    (face,) = place([decode(tmp_path / "large.jpg")])
    result = face.put_back(face.crop, Tint().edit(face.crop[None], 1.0)[0])
    assert result.shape == (3000, 4000, 3)
    assert face.outside_changed(result) == 0
    assert pd.Series((result != face.picture).any(axis=-1).ravel()).mean() > 0.02
