"""Small files that would hang, exhaust memory or end in a traceback: each ends in one message, quickly."""

from __future__ import annotations

import io
import json
import pickle
import pickletools
import signal
import struct
import zipfile
from pathlib import Path

import numpy as np
import pytest

from likewise.errors import InputError, UnsafeFileError, WeightsError
from likewise.weights.add import add_file, recognize
from likewise.weights.formats.describe import brief_names, describe
from likewise.weights.formats.pickles.checkpoint import forget
from likewise.weights.formats.pickles.torch_file import load_pickle, load_torch
from likewise.weights.formats.pickles.unpickle import load
from likewise.weights.formats.tfjs import read_tfjs

DOUBLED = b"]" + b"".join(b"q%c](h%ch%ce" % (k, k, k) for k in range(45))
"""Puts a list on the stack that holds the former list twice, 45 times: 2^45 leaves in some 400 bytes."""
PAIRED = b")" + b"".join(b"q%ch%c\x86" % (k, k) for k in range(45))
"""The same with tuples, in some 200 bytes."""
ALL = ("*",)


@pytest.fixture(autouse=True)
def quickly(tmp_path, monkeypatch):
    """Fail a test that takes longer than some seconds, instead of hanging."""

    def late(*_):
        raise TimeoutError("the file made the reader hang")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(20)
    monkeypatch.setenv("LIKEWISE_HOME", str(tmp_path / "home"))
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)
    forget()


def name(module: str, attribute: str) -> bytes:
    return f"c{module}\n{attribute}\n".encode()


ARRAY = name("numpy.core.multiarray", "_reconstruct") + b"(" + name("numpy", "ndarray") + b"(I0\ntS'b'\ntR"
BOMBS = {
    "type": name("numpy", "dtype") + b"(" + PAIRED + b"tR.",
    "byte order": name("numpy", "dtype") + b"(S'f4'\ntR(I3\n" + PAIRED + b"NNNtb.",
    "shape": ARRAY + b"(I1\n" + PAIRED + name("numpy", "dtype") + b"(S'f4'\ntRI00\nS''\ntb.",
    "state": ARRAY + PAIRED + b"b.",
    "size": name("torch", "Size") + b"(" + PAIRED + b"tR.",
    "encoding": name("_codecs", "encode") + b"(S'a'\n" + PAIRED + b"tR.",
    "bytes": name("builtins", "bytes") + b"(" + DOUBLED + b"tR.",
    "key": b"}" + DOUBLED + b"Ns.",
    "class of an array": name("numpy.core.multiarray", "_reconstruct") + b"(" + PAIRED + b"NNtR.",
    "tensor": name("torch._utils", "_rebuild_tensor_v2") + b"(" + PAIRED + b"I0\n)))tR.",
    "persistent id": PAIRED + b"Q.",
}


@pytest.mark.parametrize("kind", BOMBS)
def test_a_value_of_two_to_the_45_leaves_reaches_no_message(kind):
    with pytest.raises(UnsafeFileError) as raised:
        load(
            BOMBS[kind],
            records=ALL,
            persistent=lambda given: pytest.fail("no id here") if given is None else bad(given),
        )
    assert len(str(raised.value)) < 400


def bad(given):
    raise UnsafeFileError(f"A persistent id does not name a storage: {describe(given)}")


def test_a_zip_of_torch_with_such_an_id_is_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.pt", "w") as file:
        file.writestr("a/data.pkl", PAIRED + b"Q.")
    with pytest.raises(UnsafeFileError, match="persistent id"):
        load_torch(tmp_path / "a.pt")


NETWORK = "dnnlib.tflib.network.Network"
TENSORFLOW = {
    "version": b"S'version'\n" + DOUBLED + b"S'static_kwargs'\n}S'variables'\n]",
    "option": b"S'version'\nI4\nS'static_kwargs'\n(S'swirl'\n" + DOUBLED + b"dS'variables'\n]",
    "name": b"S'version'\nI4\nS'static_kwargs'\n}S'variables'\n(" + b"(" + PAIRED + b"I1\ntl",
}


@pytest.mark.parametrize("kind", TENSORFLOW)
def test_a_tensorflow_pickle_with_such_a_value_is_refused(kind, tmp_path):
    made = b"\x80\x02" + name("dnnlib.tflib.network", "Network") + b")\x81(" + TENSORFLOW[kind] + b"db."
    (tmp_path / "x.pkl").write_bytes(made)
    with pytest.raises(WeightsError) as raised:
        recognize(tmp_path / "x.pkl")
    assert len(str(raised.value)) < 600


def test_an_nvidia_pickle_with_such_a_value_is_refused(tmp_path):
    persistent = name("torch_utils.persistence", "_reconstruct_persistent_obj")
    for class_name in (DOUBLED, b"S'Generator'\n"):
        state = b"(S'img_resolution'\n" + DOUBLED + b"S'_modules'\n" + DOUBLED + b"d"
        made = b"(S'G_ema'\n" + persistent + b"((S'class_name'\n" + class_name + b"S'state'\n" + state + b"dtRd."
        (tmp_path / "x.pkl").write_bytes(b"\x80\x02" + made)
        with pytest.raises(WeightsError) as raised:
            recognize(tmp_path / "x.pkl")
        assert len(str(raised.value)) < 600


def test_copies_of_the_same_bytes_are_counted_while_they_are_made():
    text = "é" * 300_000
    calls = b"h\x01(h\x00S'latin1'\ntR0" * 2_000  # 26 kB that ask for 600 MB
    made = (
        b"X" + struct.pack("<I", len(text.encode())) + text.encode() + b"q\x000" + name("_codecs", "encode") + b"q\x010"
    )
    with pytest.raises(UnsafeFileError, match="makes more than"):
        load(made + calls + b"N.")


def test_copies_of_the_same_dict_are_counted():
    entries = b"".join(b"I%d\nN" % k for k in range(2_000))
    made = b"(" + entries + b"dq\x000" + name("collections", "OrderedDict") + b"q\x010"
    with pytest.raises(UnsafeFileError, match="makes more than"):
        load(made + b"h\x01(h\x00tR0" * 5_000 + b"N.")


def test_a_lack_of_memory_is_a_message(tmp_path, monkeypatch):
    def greedy(*_, **__):
        raise MemoryError

    (tmp_path / "x.pkl").write_bytes(pickle.dumps({"a": 1}))
    monkeypatch.setattr("likewise.weights.formats.pickles.checkpoint.load_pickle", greedy)
    with pytest.raises(WeightsError, match="more memory than there is"):
        add_file(tmp_path / "x.pkl", name="mine")
    monkeypatch.setattr(np, "frombuffer", greedy)
    with pytest.raises(UnsafeFileError, match="more memory than there is"):
        load_pickle(pickle.dumps(np.arange(3)))


def test_a_pickle_is_read_once_however_many_readers_look_at_it(tmp_path, monkeypatch):
    counted = []
    real = pickletools.genops

    def genops(stream):
        counted.append(stream)
        return real(stream)

    monkeypatch.setattr(pickletools, "genops", genops)
    (tmp_path / "x.pkl").write_bytes(pickle.dumps({"step": [1] * 1000}))
    with pytest.raises(WeightsError, match="the keys 'step'"):
        add_file(tmp_path / "x.pkl", name="mine")
    assert len(counted) == 1
    (tmp_path / "y.pkl").write_bytes(b"\x80\x02" + b"N0" * 5000 + b"\x99.")  # ends badly after many steps
    with pytest.raises(WeightsError, match="refused"):
        add_file(tmp_path / "y.pkl", name="mine")
    assert len(counted) == 2


def test_long_keys_are_refused_before_they_are_hashed_again_and_again():
    key = b"(" + b"I1\n" * 1000 + b"t"
    with pytest.raises(UnsafeFileError, match="key"):
        load(b"}" + key + b"Ns.")
    number = b"\x8b" + struct.pack("<i", 10_000) + b"\x01" * 10_000
    with pytest.raises(UnsafeFileError, match="key"):
        load(b"}" + number + b"Ns.")


def test_every_file_of_one_byte_is_a_message(tmp_path):
    for byte in range(256):
        (tmp_path / "x").write_bytes(bytes([byte]))
        with pytest.raises(WeightsError):
            add_file(tmp_path / "x", name="mine")
        forget()


def bent_zip(offset: int) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        file.writestr("a/data.pkl", pickle.dumps({"a": 1}))
    data = bytearray(buffer.getvalue())
    central = data.rindex(b"PK\x01\x02")
    data[central + 42 : central + 46] = struct.pack("<I", offset)  # where the member begins
    return bytes(data)


@pytest.mark.parametrize("offset", [1, 77, 2**31 - 1, 2**32 - 2])
def test_a_zip_with_a_bad_offset_is_a_message(offset, tmp_path):
    (tmp_path / "x.pt").write_bytes(bent_zip(offset))
    with pytest.raises(WeightsError):
        add_file(tmp_path / "x.pt", name="mine")
    data = bytearray(bent_zip(0))
    end = data.rindex(b"PK\x05\x06")
    data[end + 16 : end + 20] = struct.pack("<I", offset)  # where the directory begins
    (tmp_path / "y.pt").write_bytes(bytes(data))
    with pytest.raises(WeightsError):
        add_file(tmp_path / "y.pt", name="mine")


def safetensors(header: str, data: bytes = bytes(16)) -> bytes:
    return struct.pack("<Q", len(header.encode())) + header.encode() + data


def one(**changed: object) -> str:
    return json.dumps({"a": {"dtype": "F32", "shape": [2, 2], "data_offsets": [0, 16], **changed}})


ODD = {
    "negative sizes": one(shape=[-2, -2]),
    "a float": one(shape=[2.0, 2]),
    "a boolean": one(shape=[True, 4]),
    "a negative offset": one(data_offsets=[-16, 0]),
    "a float offset": one(data_offsets=[0, 16.0]),
    "a boolean offset": one(data_offsets=[False, 16]),
    "doubled keys": one()[:-1] + ", " + one()[1:],
    "doubled keys inside": one().replace('"dtype": "F32"', '"dtype": "F32", "dtype": "F32"'),
    "control characters": one().replace('"a"', json.dumps("a\x1b[2J")),
    "a line break": one().replace('"a"', '"a\\nb"'),
    "numbers as metadata": one()[:-1] + ', "__metadata__": {"a": 1}}',
    "another key": one(more=1),
}


@pytest.mark.parametrize("kind", ODD)
def test_odd_safetensors_are_refused(kind, tmp_path):
    (tmp_path / "x").write_bytes(safetensors(ODD[kind]))
    with pytest.raises(WeightsError) as raised:
        add_file(tmp_path / "x", name="mine")
    assert "\x1b" not in str(raised.value)
    assert "\n" not in str(raised.value)


def test_plain_safetensors_are_still_taken(tmp_path):
    (tmp_path / "x").write_bytes(safetensors(one()))
    assert add_file(tmp_path / "x", name="mine").finding.summary.startswith("safetensors, 1 tensors")


def test_control_characters_in_a_license_are_refused(tmp_path):
    (tmp_path / "x").write_bytes(safetensors(one()))
    with pytest.raises(WeightsError, match="control characters"):
        add_file(tmp_path / "x", name="mine", license="MIT\x1b[2J")


def test_deeply_nested_tfjs_is_a_message(tmp_path):
    (tmp_path / "m.json").write_text("[" * 100_000 + "]" * 100_000)
    (tmp_path / "m.bin").write_bytes(b"")
    with pytest.raises(WeightsError, match=r"m\.json is not a TensorFlow\.js graph model"):
        read_tfjs(tmp_path / "m.json", tmp_path / "m.bin", outputs=("y",))


def test_a_deeply_nested_model_card_is_a_message(tmp_path):
    from likewise.models.recognizers.onnx import read_card

    for depth in (150, 100_000):
        (tmp_path / "card.toml").write_text("name = " + "[" * depth + "]" * depth)
        with pytest.raises(InputError):
            read_card(tmp_path / "card.toml")


def test_descriptions_are_short():
    deep = []
    for _ in range(45):
        deep = [deep, deep]
    wide = tuple([deep] * 1000)
    for value in (deep, wide, "x" * 10**6, b"x" * 10**6, 1 << 10**6, {1: deep}, load(b"N.")):
        assert len(describe(value)) < 120
    assert len(brief_names(["x" * 10**6] * 10)) < 500


SHIPPED = ("models/fader/shipped", "models/generators/encoders", "models/generators/exits", "latents/shipped")


@pytest.mark.parametrize("folder", SHIPPED)
def test_research_only_weights_in_the_package_have_their_license_beside_them(folder):
    import likewise

    text = (Path(likewise.__file__).parent / folder / "LICENSE.txt").read_text()
    assert "non-commercial" in text
    assert "StyleGAN2" in text
