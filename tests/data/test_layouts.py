"""The layouts that people have, written as they are handed out."""

from __future__ import annotations

import pytest

from invariants import check_images
from likewise.cli.options.plan import LAYOUTS as OFFERED
from likewise.data.layouts import LAYOUTS, Source
from likewise.errors import ImageError, SpecError, TableError

CELEBA = """3
5_o_Clock_Shadow Male Young
000001.jpg -1 -1  1
000002.jpg  1  1 -1
000003.jpg -1  1  1
"""


@pytest.fixture
def people(tmp_path):
    """A folder a person, as LFW has it."""
    for name in ("Ann_A/Ann_A_0001.jpg", "Ann_A/Ann_A_0002.jpg", "Bo_B/Bo_B_0001.jpg", "Cy/Cy_0001.png"):
        path = tmp_path / "lfw" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"no picture yet")
    (tmp_path / "lfw" / "Ann_A" / "notes.txt").write_text("not an image")
    return tmp_path


@pytest.fixture
def celeba(tmp_path):
    (tmp_path / "list_attr_celeba.txt").write_text(CELEBA)
    (tmp_path / "identity_CelebA.txt").write_text("000001.jpg 2880\n000002.jpg 11\n000003.jpg 11\n")
    (tmp_path / "list_eval_partition.txt").write_text("000001.jpg 0\n000002.jpg 2\n000003.jpg 1\n")
    return tmp_path


def test_the_command_line_offers_all_layouts():
    assert set(OFFERED) == set(LAYOUTS)


def test_a_folder_a_person_needs_no_table(people):
    faces = Source(layout="folders", images=people / "lfw", table=None).faces()
    check_images(faces)
    assert faces.keys == ["Ann_A/Ann_A_0001.jpg", "Ann_A/Ann_A_0002.jpg", "Bo_B/Bo_B_0001.jpg", "Cy/Cy_0001.png"]
    assert faces.identities.tolist() == ["Ann_A", "Ann_A", "Bo_B", "Cy"]


@pytest.mark.parametrize(
    ("table", "options"),
    [
        ("person,gender\nAnn_A,female\nBo_B,male\n", {"identity": "person"}),
        (
            "image,gender\nAnn_A/Ann_A_0001,female\nAnn_A/Ann_A_0002.jpg,female\nBo_B/Bo_B_0001.jpg,male\nDi/1.jpg,male\n",
            {},
        ),
    ],
)
def test_a_table_adds_what_is_known_of_people_or_images(people, table, options):
    (people / "t.csv").write_text(table)
    rename = {"gender": "perceived_gender"}
    faces = Source(layout="folders", images=people / "lfw", table=people / "t.csv", rename=rename, **options).faces()
    check_images(faces)
    assert faces.attribute("perceived_gender").tolist() == ["female", "female", "male"]
    assert faces.identities.tolist() == ["Ann_A", "Ann_A", "Bo_B"]


def test_celeba_is_read_from_its_text_files(celeba):
    faces = Source(layout="celeba", images=None, table=celeba).faces()
    check_images(faces)
    frame = faces.frame.set_index("image")
    assert frame["identity"].tolist() == ["2880", "11", "11"]
    assert frame["perceived_gender"].tolist() == ["female", "male", "male"]
    assert frame["young"].tolist() == [1, 0, 1]
    assert frame["partition"].tolist() == ["train", "test", "valid"]
    assert "male" not in frame.columns


def test_celeba_hq_finds_its_people_over_the_mapping(celeba):
    (celeba / "list_attr_celeba.txt").unlink()
    (celeba / "CelebAMask-HQ-attribute-anno.txt").write_text("2\nMale Young\n0.jpg 1 1\n1.jpg -1 1\n")
    (celeba / "CelebA-HQ-to-CelebA-mapping.txt").write_text(
        "idx    orig_idx    orig_file\n0    2    000003.jpg\n1    0    000001.jpg\n"
    )
    faces = Source(layout="celeba", images=None, table=celeba).faces()
    assert faces.identities.to_dict() == {"0.jpg": "11", "1.jpg": "2880"}


def test_without_identities_everybody_is_somebody_else_if_one_says_so(celeba):
    (celeba / "identity_CelebA.txt").unlink()
    with pytest.raises(TableError, match="--identity image"):
        Source(layout="celeba", images=None, table=celeba).faces()
    faces = Source(layout="celeba", images=None, table=celeba, identity="image").faces()
    assert faces.identities.nunique() == 3


def test_fairface_says_whose_word_its_columns_are(tmp_path):
    (tmp_path / "f.csv").write_text(
        "file,age,gender,race,service_test\ntrain/1.jpg,50-59,Male,East Asian,True\n"
        "train/2.jpg,more than 70,Female,Black,False\n"
    )
    faces = Source(layout="fairface", images=None, table=tmp_path / "f.csv").faces()
    check_images(faces)
    assert faces.attribute("perceived_age").tolist() == [54.5, 75.0]
    assert faces.attribute("perceived_gender").tolist() == ["male", "female"]
    assert faces.attribute("perceived_race").tolist() == ["East Asian", "Black"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("2\nMale Young\n0.jpg 1 1\n", "has 1 rows, and its first line says 2"),
        ("1\nMale Young\n000001.jpg 1 7\n", "values other than 1 and -1"),
        ("image,Male\n", "Its first line is the number"),
        ("1\nMale\n000009.jpg 1\n", "1 images have no identity or partition, the first is '000009.jpg'"),
    ],
)
def test_what_is_no_celeba(celeba, text, says):
    (celeba / "list_attr_celeba.txt").write_text(text)
    with pytest.raises(TableError, match=says):
        Source(layout="celeba", images=None, table=celeba).faces()


def test_other_mistakes_are_named(people):
    with pytest.raises(SpecError, match="Did you mean 'folders'"):
        Source(layout="folder", images=people, table=None).faces()
    (people / "lfw" / "loose.jpg").write_bytes(b"")
    with pytest.raises(ImageError, match=r"'loose.jpg'"):
        Source(layout="folders", images=people / "lfw", table=None).faces()
    with pytest.raises(TableError, match="needs a table"):
        Source(layout="fairface", images=people, table=None).faces()
