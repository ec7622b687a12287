from __future__ import annotations

import doctest

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import likewise as lw
from invariants import check_images
from likewise.errors import ColumnNameWarning, TableError, VersionError
from likewise.tables import checks, images, table
from likewise.tables.io import read_frame, write_frame

ROWS = pd.DataFrame({"image": ["007", "8", "9"], "identity": ["a", "a", "b"], "perceived_gender": ["f", "f", "m"]})


def test_keys_identities_and_attributes():
    faces = lw.Images(ROWS)
    check_images(faces)
    assert faces.keys == ["007", "8", "9"]
    assert faces.attributes == ["perceived_gender"]
    assert faces.identities.to_dict() == {"007": "a", "8": "a", "9": "b"}


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet"])
def test_keys_stay_text_on_disk(tmp_path, ending):
    path = tmp_path / f"faces.{ending}"
    odd = ROWS.assign(identity=["NA", "NA", "1e5"], age=[1.5, None, 3.0])
    if ending == "tsv":
        odd.to_csv(path, sep="\t", index=False)
    else:
        lw.Images(odd).write(path)
    assert lw.Images.read(path) == lw.Images(odd)


def test_columns_can_be_chosen_and_renamed(tmp_path):
    ROWS.rename(columns={"image": "file_name", "identity": "person", "perceived_gender": "gender"}).to_csv(
        tmp_path / "t.csv"
    )
    faces = lw.Images.read(
        tmp_path / "t.csv", image="file_name", identity="person", rename={"gender": "perceived_gender"}
    )
    assert faces.frame["perceived_gender"].tolist() == ["f", "f", "m"]


@given(st.lists(st.integers(0, 99), min_size=1, max_size=20, unique=True))
def test_integers_and_their_text_are_the_same_key(numbers):
    frame = pd.DataFrame({"image": numbers, "identity": 1.0})
    assert lw.Images(frame).keys == [str(number) for number in numbers]
    assert lw.Images(frame).frame["identity"].unique().tolist() == ["1"]


@pytest.mark.parametrize(
    ("frame", "says"),
    [
        (
            ROWS.drop(columns="identity"),
            r"Column 'identity' not found in Images \(columns: 'image', 'perceived_gender'\)",
        ),
        (ROWS.rename(columns={"identity": "identty"}), "Did you mean 'identty'"),
        (ROWS.assign(image=["1", "1", "2"]), r"Duplicate image in Images: '1' \(rows 1, 2\)"),
        (ROWS.assign(identity=["a", None, "b"]), "Column 'identity' of Images has no value for image '8'"),
        (ROWS.assign(level=1.0), "Column 'parent' not found in Images with a level"),
        (ROWS.assign(level=1.0, parent=["1", None, "1"]), "without a parent: '8'"),
        (
            ROWS.assign(level="high", parent="1"),
            "Column 'level' of Images has values that are not finite numbers: 'high'",
        ),
        (pd.concat([ROWS, ROWS[["image"]]], axis=1), "Duplicate column names in Images: 'image'"),
        ({"image": ["1"]}, "Images needs a pandas DataFrame, not dict"),
    ],
)
def test_invalid_tables_are_refused(frame, says):
    with pytest.raises(TableError, match=says):
        lw.Images(frame)


def test_a_few_culprits_are_named():
    frame = pd.DataFrame({"image": [f"i{k}" for k in range(9)], "identity": None})
    with pytest.raises(TableError, match=r"'i0', 'i1', 'i2', 'i3', 'i4' and 4 more"):
        lw.Images(frame)


def test_missing_file_is_named(tmp_path):
    with pytest.raises(TableError, match=r"File not found: .*none\.csv"):
        lw.Images.read(tmp_path / "none.csv")


def test_file_that_is_no_parquet_is_refused(tmp_path):
    (tmp_path / "t.parquet").write_bytes(b"not a table")
    with pytest.raises(TableError, match=r"Cannot read t\.parquet: the file is damaged or not \.parquet"):
        lw.Images.read(tmp_path / "t.parquet")


def test_images_are_immutable():
    faces = lw.Images(ROWS)
    more = faces.with_attribute("certainty", {"007": 0.5})
    assert "certainty" not in faces.attributes
    assert more.attribute("certainty").to_dict()["007"] == 0.5
    assert more.frame["certainty"].isna().sum() == 2
    with pytest.raises(AttributeError, match="immutable"):
        faces.keys = []  # type: ignore[misc]
    with pytest.raises(TableError, match="not in the table: 'x'"):
        faces.with_attribute("certainty", {"x": 1})
    with pytest.raises(TableError, match="reserved"):
        faces.with_attribute("identity", {})


def test_subset_keeps_the_given_order():
    faces = lw.Images(ROWS)
    assert faces.subset(["9", "007"]).keys == ["9", "007"]
    with pytest.raises(TableError, match="Images not in the table: 'x'"):
        faces.subset(["x"])


def test_parents_must_exist():
    made = lw.Images(pd.DataFrame({"image": ["8@+1"], "identity": ["a"], "parent": ["x"], "level": [1]}))
    with pytest.raises(TableError, match="not among the original images: 'x'"):
        made.check_parents(lw.Images(ROWS))


def test_column_without_the_source_of_the_label_gets_a_warning():
    with pytest.warns(ColumnNameWarning, match="perceived_gender"):
        lw.Images(ROWS.rename(columns={"perceived_gender": "gender"})).warn_of_unsourced_columns()


def test_cells_are_escaped_in_notebooks():
    shown = lw.Images(ROWS.assign(perceived_gender="<script>alert(1)</script>"))._repr_html_()
    assert "<script>" not in shown


FORMS: dict[str, dict[str, str]] = {
    "comma": {},
    "semicolon": {"sep": ";"},
    "tab": {"sep": "\t"},
    "semicolon, decimal comma": {"sep": ";", "decimal": ","},
    "UTF-8 with BOM": {"encoding": "utf-8-sig"},
    "UTF-16": {"encoding": "utf-16"},
    "UTF-16, tab": {"encoding": "utf-16", "sep": "\t"},
    "UTF-16 LE without BOM": {"encoding": "utf-16-le"},
    "UTF-16 BE without BOM": {"encoding": "utf-16-be"},
}


@pytest.mark.parametrize("form", FORMS)
def test_csv_dialects_are_recognized(tmp_path, form):
    odd = ROWS.assign(identity=["Zoë", "Zoë", "b; c"], predicted_age=[1.5, 2.25, 30.0], note=["a, b", "x", "y"])
    odd.to_csv(tmp_path / "t.csv", index=False, **FORMS[form])
    assert lw.Images.read(tmp_path / "t.csv") == lw.Images(odd)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", r"t\.csv is empty"),
        (b"image,identity\n", r"t\.csv has no rows"),
        (b"image,identity\nM\xfcller,a\n", r"t\.csv: not UTF-8 text .*Save the table as UTF-8"),
        (b"image,identity\n1,a\n1,b\n2,c\n1,d\n", r"Duplicate image in t\.csv: '1' \(rows 1, 2, 4\)"),
        (b"image,identity\n1,a\n2,\n", r"Column 'identity' of t\.csv has no value for image '2'"),
        (b"image,identity\n1,a\n,b\n", r"Column 'image' of t\.csv has no value for row 2"),
        (
            b"image;person\n1;a\n",
            r"Column 'identity' not found in t\.csv \(columns: 'image', 'person'\)\. Name the column with identity="
            r" \(on the command line --identity\)",
        ),
        (b"image,identity\n1,a,b,c\n2,a\n3,a,b\n", r"t\.csv"),
    ],
)
def test_invalid_csv_files_are_refused(tmp_path, content, says):
    (tmp_path / "t.csv").write_bytes(content)
    with pytest.raises(TableError, match=says):
        lw.Images.read(tmp_path / "t.csv")


def test_other_formats_are_refused(tmp_path):
    (tmp_path / "t.xlsx").write_bytes(b"PK")
    with pytest.raises(TableError, match=r"Cannot read 't\.xlsx' as a table\. Export the sheet as CSV"):
        lw.Images.read(tmp_path / "t.xlsx")


@pytest.mark.parametrize("name", ["t.csv", "t.tsv", "t.parquet"])
def test_absurdly_wide_tables_are_refused(tmp_path, name, monkeypatch):
    monkeypatch.setattr("likewise.tables.io.MOST_COLUMNS", 100)
    wide = pd.DataFrame({f"c{k}": [k] for k in range(300)})
    if name.endswith("parquet"):
        wide.to_parquet(tmp_path / name)
    else:
        wide.to_csv(tmp_path / name, index=False, sep="\t" if name.endswith("tsv") else ",")
    with pytest.raises(TableError, match=r"has 300 columns, the limit is 100"):
        lw.Images.read(tmp_path / name)


def test_300000_columns_are_refused_quickly(tmp_path):
    (tmp_path / "t.csv").write_text("image," + ",".join(map(str, range(300_000))) + "\n1\n")
    with pytest.raises(TableError, match="300,001 columns"):
        lw.Images.read(tmp_path / "t.csv")


def test_tables_of_a_newer_version_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("likewise.tables.io.TABLE_FORMAT", 99)
    lw.Images(ROWS).write(tmp_path / "t.parquet")
    monkeypatch.undo()
    with pytest.raises(VersionError, match=r"t\.parquet was written by a newer version of likewise \(table format 99"):
        lw.Images.read(tmp_path / "t.parquet")


def test_tables_without_a_version_are_read(tmp_path):
    ROWS.to_parquet(tmp_path / "t.parquet")
    assert lw.Images.read(tmp_path / "t.parquet") == lw.Images(ROWS)


def test_every_flipped_byte_is_harmless_or_an_error(tmp_path):
    """A damaged Parquet file never gives other data: pages have checksums, and the rest does not parse."""
    frame = pd.DataFrame({"image": [f"i{k}" for k in range(200)], "identity": "a", "x": range(200)})
    path = tmp_path / "t.parquet"
    write_frame(path, frame)
    whole, errors = path.read_bytes(), 0
    for place in range(4, len(whole), 37):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x10]) + whole[place + 1 :])
        try:
            found = read_frame(path)[0]
        except (TableError, VersionError):
            errors += 1
        else:  # a flip in the statistics or in a name
            assert len(found) == 200
    assert errors > 5
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(TableError, match="damaged"):
        read_frame(path)


def test_print_is_short_and_informative():
    frame = ROWS.assign(**{f"predicted_{k}": [0.1, 0.2, None] for k in range(12)})
    shown = str(lw.Images(frame)).splitlines()
    assert len(shown) <= 6
    assert shown[0] == "Images: 3 images of 2 identities (1 to 2 images each)"
    assert shown[1].endswith("and 5 more")
    assert "  perceived_gender: f 2, m 1" in shown
    assert "  missing values: 12" in shown
    edited = pd.DataFrame({"image": ["8@+1"], "identity": ["a"], "parent": ["8"], "level": [1]})
    assert "1 counterfactual images" in str(lw.Images(edited))


@pytest.mark.parametrize("module", [images, checks, table], ids=lambda module: module.__name__)
def test_examples_in_docstrings_run(module):
    assert doctest.testmod(module).failed == 0
