"""Foreign recognizer files: read without running anything, every tensor accounted for."""

from __future__ import annotations

import struct

import h5py
import numpy as np
import pytest
import torch
from safetensors.numpy import load_file

from likewise.errors import UnsafeFileError, WeightsError
from likewise.models.recognizers.mobilefacenet import MobileFaceNet
from likewise.weights.convert import mobilefacenet
from likewise.weights.convert.fold_batchnorm import Donor, fold, torch_tensors
from likewise.weights.formats.hdf5 import read_datasets


@pytest.fixture
def stored(tmp_path):
    """A file as h5py writes it: enough groups for a B-tree of several nodes, and attributes as Keras has them."""
    path, rng = tmp_path / "weights.h5", np.random.default_rng(0)
    with h5py.File(path, "w") as file:
        file.attrs["layer_names"] = [f"layer{k}".encode() for k in range(70)]
        for k in range(70):
            group = file.create_group(f"layer{k}/layer{k}")
            group["kernel:0"] = rng.normal(size=(3, 3, k + 1, 2)).astype(np.float32)
            group["count:0"] = np.arange(k, k + 4, dtype=np.int64)
    return path


def test_arrays_are_read_as_h5py_reads_them(stored):
    found = read_datasets(stored)
    assert len(found) == 140
    with h5py.File(stored) as file:
        for name, array in found.items():
            assert array.dtype == file[name].dtype
            assert np.array_equal(array, file[name][()])


def test_what_holds_no_plain_numbers_is_refused(tmp_path):
    with h5py.File(tmp_path / "packed", "w") as file:
        file.create_dataset("x", data=np.arange(8.0), compression="gzip")
    with pytest.raises(UnsafeFileError, match="filtered"):
        read_datasets(tmp_path / "packed")
    with h5py.File(tmp_path / "words", "w") as file:
        file["x"] = np.array([b"abc"])
    with pytest.raises(UnsafeFileError, match="type"):
        read_datasets(tmp_path / "words")
    (tmp_path / "none").write_bytes(b"PK\x03\x04" + bytes(100))
    with pytest.raises(WeightsError, match="HDF5"):
        read_datasets(tmp_path / "none")


def test_hdf5_that_reaches_into_other_files_is_refused(tmp_path):
    secret = tmp_path / "secret"
    with h5py.File(secret, "w") as file:
        file["x"] = np.arange(4.0)
    virtual = h5py.VirtualLayout((4,), np.float64)
    virtual[:] = h5py.VirtualSource(secret, "x", (4,))
    ways = {
        "linked": lambda file: file.__setitem__("y", h5py.ExternalLink(str(secret), "x")),
        "soft": lambda file: file.__setitem__("y", h5py.SoftLink("/y")),
        "stored": lambda file: file.create_dataset("y", (4,), np.float64, external=[(str(secret), 0, 32)]),
        "virtual": lambda file: file.create_virtual_dataset("y", virtual),
    }
    for name, write in ways.items():
        with h5py.File(tmp_path / name, "w") as file:
            write(file)
        with pytest.raises(UnsafeFileError, match=r"a link|external, virtual"):
            read_datasets(tmp_path / name)


def test_hdf5_that_declares_more_than_it_stores_is_refused(tmp_path):
    with h5py.File(tmp_path / "large", "w") as file:
        file.create_dataset("x", (1 << 40,), np.float32, chunks=(1 << 20,))  # terabytes of fill values
    with pytest.raises(UnsafeFileError, match="more numbers"):
        read_datasets(tmp_path / "large")


def test_hdf5_with_a_cycle_of_groups_is_refused(tmp_path):
    with h5py.File(tmp_path / "cycle", "w") as file:
        group = file.create_group("a")
        group["again"] = group
    with pytest.raises(UnsafeFileError, match="deep"):
        read_datasets(tmp_path / "cycle")


def test_a_damaged_file_ends_in_an_error_and_never_in_a_loop(stored, tmp_path):
    data, rng = stored.read_bytes(), np.random.default_rng(1)
    for end in (40, 100, 800, len(data) // 2):
        (tmp_path / "cut").write_bytes(data[:end])
        with pytest.raises(WeightsError):
            read_datasets(tmp_path / "cut")
    for _ in range(60):  # numbers of the structures turned into others, also into ones that lead back
        changed = bytearray(data)
        for place in rng.integers(0, 4000, 6):
            struct.pack_into("<Q", changed, int(place) // 8 * 8, int(rng.integers(0, 5000)) // 8 * 8)
        (tmp_path / "changed").write_bytes(changed)
        try:
            read_datasets(tmp_path / "changed")
        except WeightsError:
            continue


class Evil:
    def __reduce__(self):
        return (print, ("this must never run",))


def test_a_torch_file_with_code_is_refused(tmp_path, capsys):
    torch.save({"x": Evil()}, tmp_path / "evil.pt")
    with pytest.raises(WeightsError, match="tensors only"):
        torch_tensors(tmp_path / "evil.pt")
    assert capsys.readouterr().out == ""


def test_folding_leaves_the_function_as_it_was():
    torch.manual_seed(0)
    convolution, norm = torch.nn.Conv2d(3, 5, 3, bias=False), torch.nn.BatchNorm2d(5)
    norm.running_mean.normal_()
    norm.running_var.uniform_(0.1, 3)
    norm.weight.data.normal_()
    norm.bias.data.normal_()
    x = torch.randn(2, 3, 8, 8)
    expected = norm.eval()(convolution(x)).detach()
    state = {f"c.{k}": v.detach().numpy() for k, v in convolution.state_dict().items()}
    state |= {f"n.{k}": v.detach().numpy() for k, v in norm.state_dict().items()}
    donor = Donor(state, "test")
    donor.drop("num_batches_tracked")
    weight, bias = fold(donor, "c", "n")
    donor.done()
    found = torch.nn.functional.conv2d(x.double(), torch.from_numpy(weight), torch.from_numpy(bias))
    assert torch.allclose(found.float(), expected, atol=1e-5)


def test_a_tensor_too_few_or_too_many_is_an_error():
    donor = Donor({"a": np.zeros(2), "b": np.zeros(2)}, "file.pt")
    donor.take("a")
    with pytest.raises(WeightsError, match="'c'"):
        donor.take("c")
    with pytest.raises(WeightsError, match="'b'"):
        donor.done()


def test_a_network_file_of_the_wrong_kind_is_refused_and_the_right_one_fits(tmp_path, weights):
    torch.save({"conv1.0.weight": torch.zeros(64, 3, 3, 3)}, tmp_path / "part.pt")
    with pytest.raises(WeightsError, match=r"conv1\.1\.weight"):
        mobilefacenet.convert({"m": tmp_path / "part.pt"}, tmp_path / "out.safetensors")
    assert not (tmp_path / "out.safetensors").exists()
    held = load_file(weights("mobilefacenet"))
    assert {name: tuple(value.shape) for name, value in MobileFaceNet().state_dict().items()} == {
        name: value.shape for name, value in held.items()
    }
