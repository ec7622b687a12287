"""A user's own file is recognized by its content, converted safely, or refused with what was found in it."""

from __future__ import annotations

import json
import pickle
import struct
from pathlib import Path

import numpy as np
import pytest

from likewise.errors import WeightsError
from likewise.weights import record, where
from likewise.weights.add import READERS, add_file, recognize
from likewise.weights.finding import Finding

onnx = pytest.importorskip("onnx")
safetensors = pytest.importorskip("safetensors.numpy")


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LIKEWISE_HOME", str(tmp_path / "home"))


@pytest.fixture
def tensors(tmp_path: Path) -> Path:
    path = tmp_path / "any.name"
    safetensors.save_file({"a.weight": np.ones((2, 3), np.float32), "b": np.zeros(4, np.float16)}, path)
    return path


def graph(path: Path, *, outside: bool = False, valid: bool = True) -> Path:
    helper, kind = onnx.helper, onnx.TensorProto.FLOAT
    given = helper.make_tensor_value_info("x", kind, ["n", 3])
    made = helper.make_tensor_value_info("y", kind, ["n", 2])
    weight = onnx.numpy_helper.from_array(np.ones((3, 2), np.float32), "w")
    if outside:
        weight.ClearField("raw_data")
        weight.data_location = onnx.TensorProto.EXTERNAL
        weight.external_data.add(key="location", value="../../etc/passwd")
    node = helper.make_node("MatMul" if valid else "NoSuchOp", ["x", "w"], ["y"])
    model = helper.make_model(helper.make_graph([node], "g", [given], [made], [weight]))
    path.write_bytes(model.SerializeToString())
    return path


def test_safetensors_are_taken_in(tensors):
    made = add_file(tensors, name="mine", license="MIT")
    assert made.finding.summary == "safetensors, 2 tensors, 10 numbers, F16, F32"
    assert where("mine").read_bytes() == tensors.read_bytes()
    assert record("mine").license == "MIT"
    assert record("mine").registry == "file"


def test_onnx_is_taken_in_and_says_its_ends(tmp_path):
    made = add_file(graph(tmp_path / "net"), name="mine")
    assert made.finding.summary.startswith("ONNX, opset ")
    assert made.finding.details == {"inputs": "x [n, 3]", "outputs": "y [n, 2]"}
    assert where("mine").name == "model.onnx"
    assert "not stated" in record("mine").notice


def test_onnx_that_points_at_other_files_is_refused(tmp_path):
    with pytest.raises(WeightsError, match="are in other files"):
        add_file(graph(tmp_path / "net", outside=True), name="mine")


def test_onnx_that_is_not_valid_is_refused(tmp_path):
    with pytest.raises(WeightsError, match="valid ONNX graph"):
        add_file(graph(tmp_path / "net", valid=False), name="mine")


def header(**tensors: dict) -> bytes:
    text = json.dumps(tensors).encode()
    return struct.pack("<Q", len(text)) + text


BROKEN = {
    "cut off": header(a={"dtype": "F32", "shape": [4], "data_offsets": [0, 16]}) + bytes(12),
    "too long": header(a={"dtype": "F32", "shape": [4], "data_offsets": [0, 16]}) + bytes(20),
    "a shape of terabytes": header(a={"dtype": "F32", "shape": [1 << 40], "data_offsets": [0, 16]}) + bytes(16),
    "an unknown type": header(a={"dtype": "X1", "shape": [4], "data_offsets": [0, 16]}) + bytes(16),
    "a gap": header(a={"dtype": "F32", "shape": [1], "data_offsets": [4, 8]}) + bytes(8),
    "no offsets": header(a={"dtype": "F32", "shape": [1]}) + bytes(4),
    "a negative shape": header(a={"dtype": "F32", "shape": [-1, -1], "data_offsets": [0, "4"]}) + bytes(4),
    "nothing": header(),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_broken_safetensors_are_refused(kind, tmp_path):
    (tmp_path / "x").write_bytes(BROKEN[kind])
    said = r"truncated|gap or an overlap|bytes of data|unknown type|lacks dtype|natural numbers|holds no tensors"
    with pytest.raises(WeightsError, match=said):
        add_file(tmp_path / "x", name="mine")


def test_an_unknown_checkpoint_says_which_keys(tmp_path):
    (tmp_path / "x.pkl").write_bytes(pickle.dumps({"G": {"conv.weight": np.ones(3)}, "step": 7}))
    with pytest.raises(WeightsError, match=r"the keys 'G', 'step', among them 'G.conv.weight'"):
        add_file(tmp_path / "x.pkl", name="mine")


def test_an_unknown_torch_file_says_which_keys(tmp_path):
    torch = pytest.importorskip("torch")
    for new in (True, False):
        torch.save({"decoder.weight": torch.ones(3)}, tmp_path / "x.pt", _use_new_zipfile_serialization=new)
        with pytest.raises(WeightsError, match=r"the keys 'decoder.weight'"):
            recognize(tmp_path / "x.pt")


class Hostile:
    def __reduce__(self):
        return Path.touch, (Path("pwned"),)


def test_a_hostile_file_runs_nothing_and_says_its_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.pkl").write_bytes(pickle.dumps({"G": Hostile()}))
    with pytest.raises(WeightsError, match="the keys 'G'"):
        add_file(tmp_path / "x.pkl", name="mine")
    assert not (tmp_path / "pwned").exists()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"\x89HDF\r\n\x1a\n", "HDF5"),
        (b"GGUF1234", "GGUF"),
        (b"hello there", "bytes that begin with b'hell'"),
        (b"\x80\x04.", "a pickle that is refused"),
        (b"", "is empty"),
    ],
)
def test_other_files_are_described(content, said, tmp_path):
    (tmp_path / "x").write_bytes(content)
    with pytest.raises(WeightsError, match=said):
        add_file(tmp_path / "x", name="mine")


@pytest.mark.parametrize("name", ["", "../out", "A B", "gender-v1", ".hidden", "a/b", "x" * 65])
def test_names_are_plain_and_free(name, tensors):
    with pytest.raises(WeightsError, match="name"):
        add_file(tensors, name=name)


def test_a_name_that_is_taken_needs_force(tensors, tmp_path):
    add_file(tensors, name="mine")
    with pytest.raises(WeightsError, match="--force"):
        add_file(tensors, name="mine")
    add_file(graph(tmp_path / "net"), name="mine", force=True)
    assert where("mine").name == "model.onnx"
    assert [path.name for path in where("mine").parent.iterdir() if path.suffix == ".safetensors"] == []


def test_a_file_that_is_not_there_and_odd_terms_are_said(tensors, tmp_path):
    with pytest.raises(WeightsError, match="File not found"):
        add_file(tmp_path / "none", name="mine")
    with pytest.raises(WeightsError, match="Unknown terms"):
        add_file(tensors, name="mine", terms="mine")


def test_a_new_recognizer_is_asked_before_a_file_is_unknown(tmp_path, monkeypatch):
    (tmp_path / "x").write_bytes(b"MAGIC")

    def magic(path: Path) -> Finding | None:
        if path.read_bytes() != b"MAGIC":
            return None
        return Finding(role="generator", summary="magic", converter="passthrough", form="m.bin")

    monkeypatch.setattr("likewise.weights.add.READERS", [*READERS, magic])
    assert add_file(tmp_path / "x", name="mine").entry.found == "magic"
    assert where("mine").read_bytes() == b"MAGIC"
