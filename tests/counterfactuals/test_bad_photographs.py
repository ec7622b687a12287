"""Photographs that cannot be edited, or are unusual: each is counted by its reason, none passes silently."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from PIL import Image, ImageDraw

from likewise.counterfactuals.edit import counterfactual
from likewise.counterfactuals.face_region import (
    COVERED,
    GRAY,
    NO_FACE,
    NO_SKIN,
    PROFILE,
    SEVERAL,
    TOO_SMALL,
    FaceLocator,
)
from likewise.data.align import AlignSpec
from likewise.errors import LikewiseWarning, TableError
from likewise.models.detectors.registry import detector
from likewise.models.perception.segmentation import Segmenter
from likewise.runtime.pixels import save, traits
from likewise.tables import Images
from portraits import portrait


class Redder:
    """Makes faces redder with the strength."""

    name, license, attribute = "redder", "none", "perceived_gender"

    def edit(self, pictures, level):
        return np.clip(pictures.astype(int) + np.array([40, 0, 0]) * level, 0, 255).astype(np.uint8)


@pytest.fixture(scope="module")
def place(weights):
    for name in ("selfie-multiclass", "retinaface"):
        weights(name)
    return FaceLocator(detector("retinaface"), Segmenter(), AlignSpec(frame="ffhq", size=256), 256)


def cartoon():
    """A face of a few lines, as a child draws it."""
    page = Image.new("RGB", (300, 300), "white")
    pen = ImageDraw.Draw(page)
    pen.ellipse((50, 40, 250, 270), outline="black", width=4)
    for box in ((100, 110, 125, 125), (175, 110, 200, 125)):
        pen.ellipse(box, fill="black")
    pen.arc((105, 170, 195, 230), 20, 160, fill="red", width=4)
    return np.asarray(page)


def covered(picture):
    """Something gray before mouth and cheeks, as a mask is."""
    left, top, right, bottom = detector("retinaface").find(picture)[0].box
    masked = picture.copy()
    middle = int(top + 0.55 * (bottom - top))
    masked[middle : int(bottom) + 5, int(left) : int(right)] = 120
    return masked


def kinds_of(picture):
    gray = np.repeat(picture.mean(axis=-1, keepdims=True).astype(np.uint8), 3, axis=-1)
    small = np.asarray(Image.fromarray(picture).resize((20, 20), Image.Resampling.BOX))
    return {"nobody": np.full((200, 300, 3), 90, np.uint8), "cartoon": cartoon(), "thumbnail": small, "gray": gray,
            "several": np.concatenate([picture, picture], axis=1), "covered": covered(picture), "plain": picture,
            "huge": np.asarray(Image.fromarray(picture).resize((4000, 3000)))}  # fmt: skip


def test_every_kind_has_its_reason_or_its_remark(place):
    found = dict(zip(pictures := kinds_of(portrait()[0]), place(list(pictures.values())), strict=True))
    assert found["nobody"] == NO_FACE
    assert found["cartoon"] in (NO_FACE, NO_SKIN)
    assert found["thumbnail"] in (NO_FACE, TOO_SMALL)
    assert GRAY in found["gray"].remarks
    assert SEVERAL in found["several"].remarks
    assert COVERED in found["covered"].remarks
    assert not found["plain"].remarks
    assert not found["huge"].remarks


class Aside:
    """Finds the face of the drawn portrait as if it were turned: the nose lies beside both eyes."""

    scheme = "centers"

    def find(self, picture):
        (face,) = detector("retinaface").find(picture)
        points = face.points.copy()
        points[2, 0] = points[:2, 0].max() + 0.6 * np.ptp(points[:2, 0])
        return [replace(face, points=points)]


def test_a_face_turned_away_is_a_profile_view(place):
    locate = FaceLocator(Aside(), place.segmenter, place.align, place.size)
    assert locate([portrait()[0]]) == [PROFILE]


def test_counts_add_up_and_no_picture_of_a_refused_one_is_written(place, tmp_path):
    pictures = {**kinds_of(portrait()[0])}
    source = tmp_path / "photographs"
    for name, picture in pictures.items():
        save(source / f"{name}.png", picture)
    assert traits(source / "huge.png") == ["12 megapixels or more"]
    frame = pd.DataFrame({"image": [f"{name}.png" for name in pictures], "identity": list(pictures)})
    with pytest.warns(LikewiseWarning, match=r"3 of 8 images were not edited: .*no face detected"):
        edits = counterfactual(Images(frame), source, editor=Redder(), folder=tmp_path / "made", strengths=(-1, 0, 1))
    assert sorted(edits.frame["parent"].unique()) == sorted(
        f"{name}.png" for name in pictures if name not in ("nobody", "cartoon", "thumbnail")
    )
    assert not list((tmp_path / "made").glob("cartoon*"))


def test_a_folder_without_faces_is_an_error(place, tmp_path):
    for name in ("a.png", "b.png"):
        save(tmp_path / name, cartoon())
    frame = pd.DataFrame({"image": ["a.png", "b.png"], "identity": ["1", "2"]})
    with pytest.raises(TableError, match=r"Only 0 of 2 images could be edited: no fac(e|ial)"):
        counterfactual(Images(frame), tmp_path, editor=Redder(), folder=tmp_path / "made", strengths=(-1, 0, 1))
