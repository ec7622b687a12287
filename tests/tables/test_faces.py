from __future__ import annotations

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import likewise as lw
from invariants import check_faces
from likewise.errors import TableError, WordingWarning

ROWS = pd.DataFrame({"image": ["007", "8", "9"], "identity": ["a", "a", "b"], "perceived_gender": ["f", "f", "m"]})


def test_a_table_becomes_faces():
    faces = lw.Faces(ROWS)
    check_faces(faces)
    assert faces.images == ["007", "8", "9"]
    assert faces.attributes == ["perceived_gender"]
    assert faces.identities.to_dict() == {"007": "a", "8": "a", "9": "b"}


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet"])
def test_keys_survive_the_way_to_disk_as_text(tmp_path, ending):
    path = tmp_path / f"faces.{ending}"
    odd = ROWS.assign(identity=["NA", "NA", "1e5"], age=[1.5, None, 3.0])
    if ending == "tsv":
        odd.to_csv(path, sep="\t", index=False)
    else:
        lw.Faces(odd).write(path)
    assert lw.Faces.read(path) == lw.Faces(odd)


def test_columns_can_be_named_and_renamed(tmp_path):
    ROWS.rename(columns={"image": "file_name", "identity": "person", "perceived_gender": "gender"}).to_csv(
        tmp_path / "t.csv"
    )
    faces = lw.Faces.read(
        tmp_path / "t.csv", image="file_name", identity="person", rename={"gender": "perceived_gender"}
    )
    assert faces.frame["perceived_gender"].tolist() == ["f", "f", "m"]


@given(st.lists(st.integers(0, 99), min_size=1, max_size=20, unique=True))
def test_whole_numbers_and_their_text_are_one_key(numbers):
    frame = pd.DataFrame({"image": numbers, "identity": 1.0})
    assert lw.Faces(frame).images == [str(number) for number in numbers]
    assert lw.Faces(frame).frame["identity"].unique().tolist() == ["1"]


@pytest.mark.parametrize(
    ("frame", "says"),
    [
        (ROWS.drop(columns="identity"), "needs the column 'identity'"),
        (ROWS.rename(columns={"identity": "identty"}), "Did you mean 'identty'"),
        (ROWS.assign(image=["1", "1", "2"]), "more than one for '1'"),
        (ROWS.assign(identity=["a", None, "b"]), "no value for '8'"),
        (ROWS.assign(level=1.0), "needs the column 'parent'"),
        (ROWS.assign(level=1.0, parent=["1", None, "1"]), "has a parent; got none for '8'"),
        (ROWS.assign(level="high", parent="1"), "'level' holds numbers"),
        (pd.concat([ROWS, ROWS[["image"]]], axis=1), "each column once"),
        ({"image": ["1"]}, "made from a pandas DataFrame; got dict"),
    ],
)
def test_a_wrong_table_is_refused(frame, says):
    with pytest.raises(TableError, match=says):
        lw.Faces(frame)


def test_a_handful_of_culprits_is_named():
    frame = pd.DataFrame({"image": [f"i{k}" for k in range(9)], "identity": None})
    with pytest.raises(TableError, match=r"'i0', 'i1', 'i2', 'i3', 'i4' and 4 more"):
        lw.Faces(frame)


def test_a_missing_table_is_said_to_be_missing(tmp_path):
    with pytest.raises(TableError, match="is not there"):
        lw.Faces.read(tmp_path / "none.csv")


def test_a_file_that_is_no_table_is_refused(tmp_path):
    (tmp_path / "t.parquet").write_bytes(b"not a table")
    with pytest.raises(TableError, match="cannot be read"):
        lw.Faces.read(tmp_path / "t.parquet")


def test_nothing_is_changed_in_place():
    faces = lw.Faces(ROWS)
    more = faces.with_attribute("certainty", {"007": 0.5})
    assert "certainty" not in faces.attributes
    assert more.attribute("certainty").to_dict()["007"] == 0.5
    assert more.frame["certainty"].isna().sum() == 2
    with pytest.raises(AttributeError, match="cannot be changed"):
        faces.images = []  # type: ignore[misc]
    with pytest.raises(TableError, match="belong to images of Faces; got 'x'"):
        faces.with_attribute("certainty", {"x": 1})
    with pytest.raises(TableError, match="reserved"):
        faces.with_attribute("identity", {})


def test_a_subset_comes_in_the_order_asked_for():
    faces = lw.Faces(ROWS)
    assert faces.subset(["9", "007"]).images == ["9", "007"]
    with pytest.raises(TableError, match="got 'x'"):
        faces.subset(["x"])


def test_a_parent_exists():
    made = lw.Faces(pd.DataFrame({"image": ["8@+1"], "identity": ["a"], "parent": ["nobody"], "level": [1]}))
    with pytest.raises(TableError, match="got 'nobody'"):
        made.check_parents(lw.Faces(ROWS))


def test_a_column_that_does_not_say_whose_word_it_is_is_pointed_out():
    with pytest.warns(WordingWarning, match="perceived_gender"):
        lw.Faces(ROWS.rename(columns={"perceived_gender": "gender"})).warn_of_wording()


def test_a_cell_cannot_break_out_of_the_notebook():
    shown = lw.Faces(ROWS.assign(perceived_gender="<script>alert(1)</script>"))._repr_html_()
    assert "<script>" not in shown
