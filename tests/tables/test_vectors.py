from __future__ import annotations

import doctest
import pickle

import numpy as np
import pytest

import likewise as lw
from invariants import check_vectors
from likewise.errors import InputError, VectorError
from likewise.tables import vectors as vectors_module
from likewise.tables.vectors import write_stream

VALUES = np.arange(12, dtype=np.float64).reshape(2, 3, 2)


def test_vectors_are_aligned_by_key():
    vectors = lw.Vectors(["b", "a"], VALUES, source="test")
    check_vectors(vectors)
    assert np.array_equal(vectors.take(["a", "b"]), VALUES[::-1])
    assert "a" in vectors
    assert "c" not in vectors


def test_an_image_without_a_vector_is_an_error():
    with pytest.raises(VectorError, match="No vector for 'c'"):
        lw.Vectors(["b", "a"], VALUES, source="test").take(["a", "c"])


@pytest.mark.parametrize(
    ("images", "values", "source", "says"),
    [
        (["a", "b"], np.where(VALUES == 7, np.nan, VALUES), "s", "NaN or infinity: 'b'"),
        (["a", "b"], np.where(VALUES == 1, np.inf, VALUES), "s", "NaN or infinity: 'a'"),
        (["a"], VALUES, "s", r"Vectors of shape \(2, 3, 2\) for 1 images"),
        (["a", "a"], VALUES, "s", "More than one vector for 'a'"),
        (["a", "b"], np.arange(2), "s", "Give one row per image"),
        (["a", "b"], VALUES, "", "source of the vectors is empty"),
    ],
)
def test_invalid_vectors_are_refused(images, values, source, says):
    with pytest.raises(VectorError, match=says):
        lw.Vectors(images, values, source=source)


def test_write_then_read(tmp_path):
    vectors = lw.Vectors(["b", "a"], VALUES, source="test")
    assert lw.Vectors.read(vectors.write(tmp_path / "v.npz")) == vectors
    with pytest.raises(InputError, match=r"\.npz"):
        vectors.write(tmp_path / "v.csv")


def test_stream_is_memory_mapped(tmp_path):
    write_stream(tmp_path, ["b", "a"], [VALUES[:1].astype(np.float32), VALUES[1:].astype(np.float32)], source="test")
    vectors = lw.Vectors.read(tmp_path)
    assert vectors == lw.Vectors(["b", "a"], VALUES, source="test")
    assert vectors.mapped
    assert "memory-mapped" in str(vectors)


def test_stream_must_cover_every_image(tmp_path):
    with pytest.raises(VectorError, match="1 vectors for 2 images"):
        write_stream(tmp_path, ["b", "a"], [VALUES[:1].astype(np.float32)], source="test")


class _Bomb:
    def __reduce__(self):
        return (pytest.fail, ("code from a file was run",))


def test_files_never_run_code(tmp_path):
    np.savez(tmp_path / "v.npz", images=np.array([_Bomb()], dtype=object), values=VALUES, source="x")
    with pytest.raises(VectorError, match="pickle"):
        lw.Vectors.read(tmp_path / "v.npz")
    (tmp_path / "w.npz").write_bytes(pickle.dumps(_Bomb()))
    with pytest.raises(VectorError):
        lw.Vectors.read(tmp_path / "w.npz")


def test_missing_file_is_named(tmp_path):
    with pytest.raises(VectorError, match=r"none\.npz"):
        lw.Vectors.read(tmp_path / "none.npz")


def test_print_is_short_and_informative():
    shown = str(lw.Vectors(["b", "a"], VALUES, source="my encoder")).splitlines()
    assert shown == [
        "Vectors: 2 images, 3 x 2-d",
        "  source: my encoder",
        "  mean 5.5, sd 3.452",
        "  in memory, 0.0 MB",
    ]
    assert len(str(lw.Vectors([], np.empty((0, 4)), source="none")).splitlines()) <= 6


def test_examples_in_docstrings_run():
    assert doctest.testmod(vectors_module).failed == 0
