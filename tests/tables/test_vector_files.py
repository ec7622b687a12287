"""Files of embeddings: .npz, .npy, tables."""

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


def write_text_keys(folder):
    np.save(folder / "e.npy", VALUES.astype(np.float16))
    (folder / "e.txt").write_text("\n".join(NAMES) + "\n")
    return folder / "e.npy"


def write_wide(folder):
    pd.DataFrame(VALUES, columns=["x", "y", "z"]).assign(image=NAMES).to_csv(folder / "e.csv", index=False)
    return folder / "e.csv"


def write_lists(folder):
    pd.DataFrame({"image": NAMES, "embedding": list(VALUES)}).to_parquet(folder / "e.parquet")
    return folder / "e.parquet"


FORMS = [write_npz, write_npy, write_text_keys, write_wide, write_lists]


@pytest.mark.parametrize("write", FORMS, ids=lambda write: write.__name__)
def test_all_layouts_give_the_same_vectors(write, tmp_path):
    assert lw.Vectors.read(write(tmp_path)) == lw.Vectors(NAMES, VALUES, source="e")


def test_source_is_kept(tmp_path):
    lw.Vectors(NAMES, VALUES, source="my encoder").write(tmp_path / "e.npz")
    assert lw.Vectors.read(tmp_path / "e.npz").source == "my encoder"


def test_pickled_objects_are_refused(tmp_path):
    np.save(tmp_path / "e.npy", np.array([{"a": 1}, {"b": 2}], dtype=object), allow_pickle=True)
    (tmp_path / "e.txt").write_text("a\nb\n")
    with pytest.raises(VectorError, match="Python objects"):
        lw.Vectors.read(tmp_path / "e.npy")
    np.savez(tmp_path / "e.npz", names=np.array(["a", None], dtype=object), values=VALUES)
    with pytest.raises(VectorError, match="Save keys as text"):
        lw.Vectors.read(tmp_path / "e.npz")


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("e.csv", "who,x\na,1\n", r"Column 'image' not found in e\.csv \(columns: 'who', 'x'\)"),
        ("e.csv", "image,x,w\na,1,one\n", r"e\.csv has columns that are not numbers: 'w'"),
        ("e.json", "{}", r"Cannot read vectors from 'e\.json'\. Use \.npz"),
    ],
)
def test_invalid_files_are_refused(tmp_path, name, text, says):
    (tmp_path / name).write_text(text)
    with pytest.raises(VectorError, match=says):
        lw.Vectors.read(tmp_path / name)


def test_array_without_keys_is_refused(tmp_path):
    np.save(tmp_path / "e.npy", VALUES)
    with pytest.raises(VectorError, match=r"Put e.csv with a column image beside it"):
        lw.Vectors.read(tmp_path / "e.npy")
    np.savez(tmp_path / "e.npz", VALUES)
    with pytest.raises(VectorError, match=r"0 arrays of e\.npz are named images or image"):
        lw.Vectors.read(tmp_path / "e.npz")


def test_damaged_npz_is_refused(tmp_path):
    path = write_npz(tmp_path)
    whole = path.read_bytes()
    for place in range(0, len(whole), 23):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x41]) + whole[place + 1 :])
        try:
            found = lw.Vectors.read(path)
        except VectorError as error:
            assert "e.npz" in str(error)
        else:
            assert found.keys == NAMES
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(VectorError, match=r"e\.npz"):
        lw.Vectors.read(path)
