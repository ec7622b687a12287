from __future__ import annotations

import pickle

import numpy as np
import pytest

import likewise as lw
from invariants import check_vectors
from likewise.errors import InputError, VectorError
from likewise.tables.vectors import write_stream

VALUES = np.arange(12, dtype=np.float64).reshape(2, 3, 2)


def test_vectors_are_aligned_by_key():
    vectors = lw.Vectors(["b", "a"], VALUES, source="test")
    check_vectors(vectors)
    assert np.array_equal(vectors.take(["a", "b"]), VALUES[::-1])
    assert "a" in vectors
    assert "c" not in vectors


def test_an_image_without_a_vector_is_an_error():
    with pytest.raises(VectorError, match="none for 'c'"):
        lw.Vectors(["b", "a"], VALUES, source="test").take(["a", "c"])


@pytest.mark.parametrize(
    ("images", "values", "source", "says"),
    [
        (["a", "b"], np.where(VALUES == 7, np.nan, VALUES), "s", "NaN or infinity for 'b'"),
        (["a", "b"], np.where(VALUES == 1, np.inf, VALUES), "s", "NaN or infinity for 'a'"),
        (["a"], VALUES, "s", "1 images and shape"),
        (["a", "a"], VALUES, "s", "several for 'a'"),
        (["a", "b"], np.arange(2), "s", "one array an image"),
        (["a", "b"], VALUES, "", "what made them"),
    ],
)
def test_wrong_vectors_are_refused(images, values, source, says):
    with pytest.raises(VectorError, match=says):
        lw.Vectors(images, values, source=source)


def test_they_come_back_from_a_file(tmp_path):
    vectors = lw.Vectors(["b", "a"], VALUES, source="test")
    assert lw.Vectors.read(vectors.write(tmp_path / "v.npz")) == vectors
    with pytest.raises(InputError, match=r"\.npz"):
        vectors.write(tmp_path / "v.csv")


def test_a_stream_is_mapped_and_not_read_whole(tmp_path):
    write_stream(tmp_path, ["b", "a"], [VALUES[:1].astype(np.float32), VALUES[1:].astype(np.float32)], source="test")
    vectors = lw.Vectors.read(tmp_path)
    assert vectors == lw.Vectors(["b", "a"], VALUES, source="test")
    assert vectors.mapped
    assert "memory-mapped" in str(vectors)


def test_a_stream_has_a_vector_for_each_image(tmp_path):
    with pytest.raises(VectorError, match="1 for 2"):
        write_stream(tmp_path, ["b", "a"], [VALUES[:1].astype(np.float32)], source="test")


class _Bomb:
    def __reduce__(self):
        return (pytest.fail, ("code from a file was run",))


def test_no_code_from_a_file_is_run(tmp_path):
    np.savez(tmp_path / "v.npz", images=np.array([_Bomb()], dtype=object), values=VALUES, source="x")
    with pytest.raises(VectorError, match="pickle"):
        lw.Vectors.read(tmp_path / "v.npz")
    (tmp_path / "w.npz").write_bytes(pickle.dumps(_Bomb()))
    with pytest.raises(VectorError):
        lw.Vectors.read(tmp_path / "w.npz")


def test_a_missing_file_is_a_clear_error(tmp_path):
    with pytest.raises(VectorError, match=r"none\.npz"):
        lw.Vectors.read(tmp_path / "none.npz")
