"""describe: new columns that stay empty where nothing can be said, whatever the chunks; who made them is recorded."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from PIL import Image

import likewise as lw
from invariants import check_images
from likewise.data.describe import DescribeSpec, _of_masks, describe, describer
from likewise.data.describe_spec import COLUMNS
from likewise.errors import SpecError
from likewise.models.detectors.detected_faces import DetectedFaces
from likewise.models.detectors.detection import Detection
from likewise.models.perception.segmentation import CLASSES
from likewise.runtime.executor import Executor
from likewise.runtime.pixels import ImageFolder
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
    return ImageFolder(folder, {name: name for name in pictures})


@pytest.fixture(scope="module")
def faces(album):
    return lw.Images(pd.DataFrame({"image": list(album.files), "identity": ["hopper", "hopper", "hopper", "nobody"]}))


@pytest.fixture(scope="module")
def described(faces, album):
    return describe(faces, album)


def test_every_column_is_made_and_nobody_stays_empty(described, faces):
    check_images(described)
    frame = described.frame.set_index("image")
    assert list(frame.columns) == ["identity", *COLUMNS]
    found = frame.loc[["plain.png", "mirrored.png", "small.png"]]
    assert found.notna().all(axis=None)
    nobody = frame.loc["nobody.png", [c for c in COLUMNS if c != "measured_background"]]
    assert nobody.drop("measured_brightness").isna().all()
    assert frame.loc["nobody.png", "measured_brightness"] == pytest.approx(38, abs=1)
    assert "predicted_age" not in faces.attributes, "nothing is changed in place"


def test_the_numbers_make_sense(described):
    frame = described.frame.set_index("image")
    assert set(frame["predicted_gender"].dropna()) <= {"female", "male"}
    assert frame["predicted_age"].dropna().between(40, 90).all()
    assert frame.loc["plain.png", "predicted_yaw"] == pytest.approx(-frame.loc["mirrored.png", "predicted_yaw"], abs=6)
    tones = frame["measured_ita"].dropna()
    assert np.ptp(tones) < 5, "one person in one light has one tone"


def test_chunks_do_not_matter_and_a_killed_run_goes_on(described, faces, album, tmp_path):
    spec = DescribeSpec(columns=("measured_ita", "predicted_age"))
    parts = describe(faces, album, spec=spec, executor=Executor(chunk=1), folder=tmp_path)
    whole = described.frame[list(spec.columns)]
    pd.testing.assert_frame_equal(parts.frame[list(spec.columns)], whole, atol=0.05)
    gone = ImageFolder(album.root / "gone", album.files)  # nothing can be looked at any more
    again = describe(faces, gone, spec=spec, executor=Executor(chunk=1), folder=tmp_path)
    pd.testing.assert_frame_equal(again.frame, parts.frame)


def test_the_source_of_a_column_is_recorded():
    networks = describer(DescribeSpec())
    made_by, licenses = networks.made_by(), networks.licenses()
    assert made_by["predicted_gender"] == "gender-v1, faces found by dlib"
    assert made_by["measured_ita"] == "pixels, mask by selfie-multiclass"
    assert set(made_by) == set(COLUMNS)
    assert {"gender-v1", "age-v1", "emotion", "face-mesh", "selfie-multiclass", "detector dlib"} == set(licenses)
    assert all(licenses.values())


def test_only_what_is_wanted_is_loaded(faces, album):
    spec = DescribeSpec(columns=("measured_brightness",))
    assert describer(spec).licenses() == {}
    assert describe(faces, album, spec=spec).attributes == ["measured_brightness"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"columns": ("predicted_agee",)}, "Did you mean 'predicted_age'"),
        ({"columns": ()}, "is empty"),
        ({"gender": "oracle"}, "Unknown gender network 'oracle'"),
        ({"pose": "meshes"}, "Did you mean 'mesh'"),
    ],
)
def test_a_wrong_spec_says_what_is_wrong(options, said):
    with pytest.raises(SpecError, match=said):
        DescribeSpec(**options)


def test_a_column_that_is_there_is_not_replaced(faces, album):
    given = faces.with_attribute("measured_brightness", {"plain.png": 1.0})
    with pytest.raises(SpecError, match="already has the columns"):
        describe(given, album, spec=DescribeSpec(columns=("measured_brightness",)))


def test_of_several_people_the_tone_is_that_of_the_face_that_is_meant():
    """Two faces of unlike tone: the one at whose points the detector looked counts, whichever is larger."""
    picture, classes = np.full((1, 256, 256, 3), 90, np.uint8), np.zeros((1, 256, 256), np.uint8)
    for columns, color in ((slice(20, 80), (230, 190, 170)), (slice(140, 250), (110, 70, 50))):
        picture[0, 60:200, columns] = color
        classes[0, 60:200, columns] = CLASSES.index("face skin")
    tones = []
    for x in (50.0, 195.0):
        seen = DetectedFaces(picture, [Detection((0, 0, 9, 9), np.full((5, 2), [x, 130.0]), 1.0)], "centers")
        tones.append(float(_of_masks(picture, classes, seen)["measured_ita"][0]))
    assert tones[0] > 30
    assert tones[1] < 0


def test_a_uniform_cap_is_headwear_and_where_nobody_is_there_is_none(faces, album):
    found = describe(faces, album, spec=DescribeSpec(columns=("measured_headwear",))).frame.set_index("image")
    assert found.loc[["plain.png", "mirrored.png", "small.png"], "measured_headwear"].between(0.6, 1).all()
    assert np.isnan(found.loc["nobody.png", "measured_headwear"])
