"""describe: new columns that stay empty where nothing can be said, whatever the chunks; who made them is recorded."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from PIL import Image

import likewise as lw
from invariants import check_faces
from likewise.engine import Engine
from likewise.errors import SpecError
from likewise.images import Album
from likewise.make.attributes import DescribeSpec, _of_masks, describe
from likewise.make.describe_spec import COLUMNS
from likewise.models.found import Found
from likewise.models.seen import Seen
from likewise.models.segmentation import CLASSES
from portraits import portrait

NEEDED = ["dlib-landmarks-5", "gender-v1", "age-v1", "emotion", "face-mesh", "selfie-multiclass"]


@pytest.fixture(scope="module")
def album(tmp_path_factory, weights):
    for name in NEEDED:
        weights(name)
    folder = tmp_path_factory.mktemp("pictures")
    pictures = {
        "plain.png": portrait()[0],
        "mirrored.png": portrait(mirrored=True)[0],
        "small.png": portrait(size=300)[0],
        "nobody.png": np.full((400, 400, 3), 90, np.uint8),
    }
    for name, picture in pictures.items():
        Image.fromarray(picture).save(folder / name)
    return Album(folder, {name: name for name in pictures})


@pytest.fixture(scope="module")
def faces(album):
    return lw.Faces(pd.DataFrame({"image": list(album.files), "identity": ["hopper", "hopper", "hopper", "nobody"]}))


@pytest.fixture(scope="module")
def described(faces, album):
    return describe(faces, album)


def test_every_column_is_made_and_nobody_stays_empty(described, faces):
    check_faces(described.faces)
    frame = described.faces.frame.set_index("image")
    assert list(frame.columns) == ["identity", *COLUMNS]
    found = frame.loc[["plain.png", "mirrored.png", "small.png"]]
    assert found.notna().all(axis=None)
    nobody = frame.loc["nobody.png", [c for c in COLUMNS if c != "measured_background"]]
    assert nobody.drop("measured_brightness").isna().all()
    assert frame.loc["nobody.png", "measured_brightness"] == pytest.approx(38, abs=1)
    assert "predicted_age" not in faces.attributes, "nothing is changed in place"


def test_the_numbers_make_sense(described):
    frame = described.faces.frame.set_index("image")
    assert set(frame["predicted_gender"].dropna()) <= {"female", "male"}
    assert frame["predicted_age"].dropna().between(40, 90).all()
    assert frame.loc["plain.png", "predicted_yaw"] == pytest.approx(-frame.loc["mirrored.png", "predicted_yaw"], abs=6)
    tones = frame["measured_ita"].dropna()
    assert np.ptp(tones) < 5, "one person in one light has one tone"


def test_chunks_do_not_matter_and_a_killed_run_goes_on(described, faces, album, tmp_path):
    spec = DescribeSpec(columns=("measured_ita", "predicted_age"))
    parts = describe(faces, album, spec, engine=Engine(chunk=1), folder=tmp_path)
    whole = described.faces.frame[list(spec.columns)]
    pd.testing.assert_frame_equal(parts.faces.frame[list(spec.columns)], whole, atol=0.05)
    gone = Album(album.root / "gone", album.files)  # nothing can be looked at any more
    again = describe(faces, gone, spec, engine=Engine(chunk=1), folder=tmp_path)
    pd.testing.assert_frame_equal(again.faces.frame, parts.faces.frame)


def test_who_made_a_column_is_recorded(described):
    assert described.made_by["predicted_gender"] == "gender-v1, faces found by dlib"
    assert described.made_by["measured_ita"] == "pixels, mask by selfie-multiclass"
    assert set(described.made_by) == set(COLUMNS)
    assert {"gender-v1", "age-v1", "emotion", "face-mesh", "selfie-multiclass", "finder dlib"} == set(
        described.licences
    )
    assert all(described.licences.values())


def test_only_what_is_wanted_is_loaded(faces, album):
    made = describe(faces, album, DescribeSpec(columns=("measured_brightness",)))
    assert made.licences == {}
    assert made.faces.attributes == ["measured_brightness"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"columns": ("predicted_agee",)}, "Did you mean 'predicted_age'"),
        ({"columns": ()}, "got none"),
        ({"gender": "oracle"}, "gender is one of"),
        ({"pose": "meshes"}, "Did you mean 'mesh'"),
    ],
)
def test_a_wrong_spec_says_what_is_wrong(options, said):
    with pytest.raises(SpecError, match=said):
        DescribeSpec(**options)


def test_a_column_that_is_there_is_not_replaced(faces, album):
    given = faces.with_attribute("measured_brightness", {"plain.png": 1.0})
    with pytest.raises(SpecError, match="replaces none"):
        describe(given, album, DescribeSpec(columns=("measured_brightness",)))


def test_of_several_people_the_tone_is_that_of_the_face_that_is_meant():
    """Two faces of unlike tone: the one at whose points the finder looked counts, whichever is larger."""
    picture, classes = np.full((1, 256, 256, 3), 90, np.uint8), np.zeros((1, 256, 256), np.uint8)
    for columns, colour in ((slice(20, 80), (230, 190, 170)), (slice(140, 250), (110, 70, 50))):
        picture[0, 60:200, columns] = colour
        classes[0, 60:200, columns] = CLASSES.index("face skin")
    tones = []
    for x in (50.0, 195.0):
        seen = Seen(picture, [Found((0, 0, 9, 9), np.full((5, 2), [x, 130.0]), 1.0)], "centres")
        tones.append(float(_of_masks(picture, classes, seen)["measured_ita"][0]))
    assert tones[0] > 30
    assert tones[1] < 0
