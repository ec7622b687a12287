"""Embeddings in the files that people have."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import likewise as lw
from likewise.errors import VectorError

NAMES, VALUES = ["007.jpg", "a/b.png"], np.array([[1, 2, 3], [4, 5, 6]], dtype=np.float32)


def write_npz(folder):
    np.savez(folder / "e.npz", names=np.array(NAMES), embeddings=VALUES)
    return folder / "e.npz"


def write_npy(folder):
    np.save(folder / "e.npy", VALUES)
    pd.DataFrame({"image": NAMES}).to_csv(folder / "e.csv", index=False)
    return folder / "e.npy"


def write_names_in_lines(folder):
    np.save(folder / "e.npy", VALUES.astype(np.float16))
    (folder / "e.txt").write_text("\n".join(NAMES) + "\n")
    return folder / "e.npy"


def write_wide(folder):
    pd.DataFrame(VALUES, columns=["x", "y", "z"]).assign(image=NAMES).to_csv(folder / "e.csv", index=False)
    return folder / "e.csv"


def write_lists(folder):
    pd.DataFrame({"image": NAMES, "embedding": list(VALUES)}).to_parquet(folder / "e.parquet")
    return folder / "e.parquet"


FORMS = [write_npz, write_npy, write_names_in_lines, write_wide, write_lists]


@pytest.mark.parametrize("write", FORMS, ids=lambda write: write.__name__)
def test_all_forms_are_one_table(write, tmp_path):
    assert lw.Vectors.read(write(tmp_path)) == lw.Vectors(NAMES, VALUES, source="e")


def test_a_source_that_is_said_is_kept(tmp_path):
    lw.Vectors(NAMES, VALUES, source="my encoder").write(tmp_path / "e.npz")
    assert lw.Vectors.read(tmp_path / "e.npz").source == "my encoder"


def test_nothing_pickled_is_read(tmp_path):
    np.save(tmp_path / "e.npy", np.array([{"a": 1}, {"b": 2}], dtype=object), allow_pickle=True)
    (tmp_path / "e.txt").write_text("a\nb\n")
    with pytest.raises(VectorError, match="Python objects"):
        lw.Vectors.read(tmp_path / "e.npy")
    np.savez(tmp_path / "e.npz", names=np.array(["a", None], dtype=object), values=VALUES)
    with pytest.raises(VectorError, match="allow_pickle=False"):
        lw.Vectors.read(tmp_path / "e.npz")


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("e.csv", "who,x\na,1\n", "has a column image; got 'who', 'x'"),
        ("e.csv", "image,x,w\na,1,one\n", "are numbers; got 'w'"),
        ("e.json", "{}", r"are read from .npz, .npy, .parquet, .csv or .tsv; got e.json"),
    ],
)
def test_what_is_no_file_of_vectors(tmp_path, name, text, says):
    (tmp_path / name).write_text(text)
    with pytest.raises(VectorError, match=says):
        lw.Vectors.read(tmp_path / name)


def test_a_lonely_array_says_what_it_lacks(tmp_path):
    np.save(tmp_path / "e.npy", VALUES)
    with pytest.raises(VectorError, match=r"Put e.csv with a column image beside it"):
        lw.Vectors.read(tmp_path / "e.npy")
    np.savez(tmp_path / "e.npz", VALUES)
    with pytest.raises(VectorError, match="one array called images or image"):
        lw.Vectors.read(tmp_path / "e.npz")
