"""Files of torch.save and pickles that hold tensors, read without torch."""

from __future__ import annotations

import pickle
import zipfile
from collections import OrderedDict
from pathlib import Path

import numpy as np
import pytest

from likewise.errors import UnsafeFileError
from likewise.weights.formats.pickles.torch_file import load_pickle, load_torch

torch = pytest.importorskip("torch")


def state() -> OrderedDict:
    torch.manual_seed(0)
    whole = torch.randn(6, 4)
    return OrderedDict(
        weight=whole, bias=torch.nn.Parameter(torch.randn(3)), view=whole[1:5:2].T, count=torch.tensor(7),
        half=torch.randn(2).half(), brain=torch.randn(5).bfloat16(), flags=torch.tensor([True, False]),
        empty=torch.zeros(0, 3),
    )  # fmt: skip


def check(back: dict, expected: OrderedDict) -> None:
    assert list(back) == list(expected)
    for key, given in expected.items():
        plain = given.detach().float() if key == "brain" else given.detach()
        np.testing.assert_array_equal(back[key], plain.numpy(), err_msg=key)


@pytest.mark.parametrize("new", [True, False], ids=["zip", "older form"])
def test_what_torch_saved_comes_out_equal(tmp_path, new):
    given = {"g_ema": state(), "args": {"size": 256}, "step": 3}
    torch.save(given, tmp_path / "a.pt", _use_new_zipfile_serialization=new)
    back = load_torch(tmp_path / "a.pt")
    check(back["g_ema"], given["g_ema"])
    assert (back["args"], back["step"]) == ({"size": 256}, 3)


@pytest.mark.parametrize("protocol", [2, 4, 5])
def test_tensors_in_a_plain_pickle_come_out_equal(protocol):
    check(load_pickle(pickle.dumps(state(), protocol)), state())


def test_a_whole_module_becomes_records():
    module = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.ReLU())
    back = load_pickle(pickle.dumps(module), records=["torch.nn.modules.*"])
    linear = back.state["_modules"]["0"]
    assert linear.name == "torch.nn.modules.linear.Linear"
    np.testing.assert_array_equal(linear.state["_parameters"]["weight"], module[0].weight.detach().numpy())


@pytest.mark.parametrize("new", [True, False], ids=["zip", "older form"])
def test_a_module_that_nobody_asked_for_is_refused(tmp_path, new):
    torch.save(torch.nn.Linear(3, 2), tmp_path / "a.pt", _use_new_zipfile_serialization=new)
    with pytest.raises(UnsafeFileError, match=r"torch.nn.modules.linear.Linear"):
        load_torch(tmp_path / "a.pt")


def rewritten(path: Path, **changed: bytes) -> Path:
    """Write the zip again with other parts."""
    target = path.with_name("b.pt")
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(target, "w") as new:
        for info in old.infolist():
            last = info.filename.split("/", 1)[1]
            new.writestr(info.filename, changed.get(last, old.read(info)))
    return target


@pytest.fixture
def saved(tmp_path) -> Path:
    torch.save({"a": torch.arange(6.0)}, tmp_path / "a.pt")
    return tmp_path / "a.pt"


def test_a_storage_that_is_too_short_is_refused(saved):
    with pytest.raises(UnsafeFileError, match=r"A tensor storage has 4 bytes for 6 numbers|lacks bytes"):
        load_torch(rewritten(saved, **{"data/0": b"1234"}))


def test_big_endian_numbers_are_refused(saved):
    with pytest.raises(UnsafeFileError, match="little-endian"):
        load_torch(rewritten(saved, byteorder=b"big"))


def storage(count: int) -> bytes:
    kind = b"ctorch\nFloatStorage\n"
    return b"(S'storage'\n" + kind + b"S'0'\nS'cpu'\nI%d\ntQ" % count


def tensor(size: bytes, stride: bytes, *, offset: int = 0, count: int = 6) -> bytes:
    view = storage(count) + b"I%d\n(%st(%stI00\nNt" % (offset, size, stride)
    return b"ctorch._utils\n_rebuild_tensor_v2\n(" + view + b"R."


TENSORS = {
    "a shape of terabytes from one number": tensor(b"I1000000\nI1000000\n", b"I0\nI0\n"),
    "beyond the end": tensor(b"I7\n", b"I1\n"),
    "an offset beyond the end": tensor(b"I2\n", b"I1\n", offset=5),
    "a stride beyond the end": tensor(b"I2\n", b"I6\n"),
    "a negative stride": tensor(b"I2\n", b"I-1\n"),
    "a negative size": tensor(b"I-2\n", b"I1\n"),
    "a negative offset": tensor(b"I1\n", b"I1\n", offset=-1),
    "unequal lengths": tensor(b"I1\nI1\n", b"I1\n"),
    "a storage of another size": tensor(b"I1\n", b"I1\n", count=1 << 40),
    "a storage of a negative size": tensor(b"I0\n", b"I1\n", count=-1),
    "no storage": b"S'x'\nQ.",
    "a storage of an unknown type": b"(S'storage'\nS'ComplexStorage'\nS'0'\nS'cpu'\nI6\ntQ.",
    "a path as a key": b"(S'storage'\nctorch\nFloatStorage\nS'../../x'\nS'cpu'\nI6\ntQ.",
}


@pytest.mark.parametrize("kind", TENSORS)
def test_views_outside_their_storage_are_refused(saved, kind):
    with pytest.raises(UnsafeFileError):
        load_torch(rewritten(saved, **{"data.pkl": TENSORS[kind]}))


def test_a_packed_zip_is_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.pt", "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("a/data.pkl", pickle.dumps({}))
        made.writestr("a/data/0", bytes(100_000_000))
    with pytest.raises(UnsafeFileError, match="compressed parts"):
        load_torch(tmp_path / "a.pt")


@pytest.mark.parametrize("new", [True, False], ids=["zip", "older form"])
def test_a_cut_off_file_is_refused(tmp_path, new):
    torch.save({"a": torch.arange(600.0)}, tmp_path / "a.pt", _use_new_zipfile_serialization=new)
    whole = (tmp_path / "a.pt").read_bytes()
    for length in range(0, len(whole), 97):
        (tmp_path / "a.pt").write_bytes(whole[:length])
        with pytest.raises(UnsafeFileError):
            load_torch(tmp_path / "a.pt")


def test_a_file_inside_a_file_inside_a_pickle_is_refused():
    inner = pickle.dumps(torch.arange(3.0))
    outer = b"ctorch.storage\n_load_from_bytes\n(B" + len(inner).to_bytes(4, "little") + inner + b"tR."
    with pytest.raises(UnsafeFileError):
        load_pickle(outer)
