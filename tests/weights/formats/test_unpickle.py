"""Pickles are read as data: what is honest comes out equal, what is hostile is refused and nothing of it runs."""

from __future__ import annotations

import collections
import contextlib
import io
import os
import pickle
import struct
import subprocess
import sys
import threading
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.errors import UnsafeFileError
from likewise.weights.formats.pickles import unpickle
from likewise.weights.formats.pickles.unpickle import load, load_next
from likewise.weights.formats.pickles.values import Record

PROTOCOLS = range(pickle.HIGHEST_PROTOCOL + 1)
plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner) | st.tuples(inner, inner),
    max_leaves=20,
)


class Network:
    """Stands for a stranger's class."""

    def __init__(self, width: int) -> None:
        self.width = width


class Called:
    """Pickles as a call."""

    def __init__(self, *call: object) -> None:
        self.call = call

    def __reduce__(self):
        return self.call


def name(module: str, qualname: str) -> bytes:
    return pickle.GLOBAL + f"{module}\n{qualname}\n".encode()


# What is honest


@given(plain, st.sampled_from(PROTOCOLS))
def test_plain_values_come_out_equal(value, protocol):
    assert load(pickle.dumps(value, protocol)) == value


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i1", "i8", "u1", "?", ">f4"])
def test_arrays_come_out_equal(protocol, dtype):
    array = np.arange(24).reshape(2, 3, 4).astype(dtype)
    back = load(pickle.dumps({"a": array, "t": array.T, "empty": array[:0], "one": array[0, 0, 0]}, protocol))
    np.testing.assert_array_equal(back["a"], array)
    np.testing.assert_array_equal(back["t"], array.T)
    assert back["empty"].shape == (0, 3, 4)
    assert back["one"] == array[0, 0, 0]
    assert back["a"].dtype == array.dtype.newbyteorder("=")


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_an_array_that_is_shared_stays_shared(protocol):
    array = np.arange(3.0)
    back = load(pickle.dumps([array, array, {"again": array}], protocol))
    assert back[0] is back[1] is back[2]["again"]


def test_pickles_of_python_2_are_read():
    data = np.array([1, 2, -3], "<f4")
    made = name("numpy.core.multiarray", "_reconstruct") + b"(" + name("numpy", "ndarray") + b"(I0\ntU\x01btR"
    dtype = name("numpy", "dtype") + b"(U\x02f4I0\nI1\ntR(I3\nU\x01<NNNI-1\nI-1\nI0\ntb"
    text = pickle.BINSTRING + struct.pack("<i", data.nbytes) + data.tobytes()
    np.testing.assert_array_equal(load(b"\x80\x02" + made + b"(I1\n(I3\nt" + dtype + b"I00\n" + text + b"tb."), data)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_ordered_and_default_dicts_become_dicts(protocol):
    ordered = collections.OrderedDict(b=1, a=2)
    default = collections.defaultdict(None, {"x": 1})
    sets = {1, 2}, frozenset("ab")
    back = load(pickle.dumps([ordered, default, *sets], protocol))
    assert back == [{"b": 1, "a": 2}, {"x": 1}, *sets]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_class_that_is_asked_for_becomes_a_record(protocol):
    here = f"{Network.__module__}.Network"
    back = load(pickle.dumps(Network(512), protocol), records=[here])
    assert isinstance(back, Record)
    assert back.name == here
    assert back.state == {"width": 512}


def test_a_record_keeps_arguments_entries_and_items():
    reported = Called(Network, (1, "two"), {"s": 3}, iter([4, 5]), iter([("k", 6)]))
    back = load(pickle.dumps(reported), records=[f"{Network.__module__}.*"])
    assert (back.args, back.state, back.items, back.entries) == ((1, "two"), {"s": 3}, [4, 5], {"k": 6})


def test_pickles_that_follow_each_other_are_read_one_by_one():
    stream = io.BytesIO(pickle.dumps(1) + pickle.dumps([2]) + b"rest")
    assert (load_next(stream), load_next(stream), stream.read()) == (1, [2], b"rest")


# What is hostile: nothing runs


@pytest.fixture
def bait(tmp_path, monkeypatch) -> Path:
    """A file that every hostile pickle tries to make."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "pwned"
    yield path
    assert not path.exists()


TOUCH = "touch pwned"
OBJECTS = {
    "os.system": Called(os.system, (TOUCH,)),
    "eval": Called(eval, ("open('pwned', 'w')",)),
    "subprocess": Called(subprocess.getoutput, (TOUCH,)),
    "nested": [1, {"a": (Called(os.system, (TOUCH,)),)}],
    "as an argument": Called(Network, (Called(os.system, (TOUCH,)),)),
    "as a state": Called(Network, (1,), Called(os.system, (TOUCH,))),
    "getattr": Called(getattr, (os, "system")) if sys.platform == "win32" else Called(getattr, (Network, "mro")),
    "open": Called(open, ("pwned", "w")),
    "numpy load": Called(np.load, ("pwned",)),
    "numpy fromfile": Called(np.fromfile, ("/etc/hostname",)),
    "code": Called(exec, ("open('pwned', 'w')",)),
}


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("kind", OBJECTS)
def test_a_call_is_refused_and_named(kind, protocol, bait):
    with pytest.raises(UnsafeFileError, match=r"system|eval|getoutput|getattr|open|load|fromfile|exec|Network"):
        load(pickle.dumps(OBJECTS[kind], protocol))


def test_a_call_inside_a_known_record_is_refused_too(bait):
    with pytest.raises(UnsafeFileError, match="system"):
        load(pickle.dumps(OBJECTS["as an argument"]), records=[f"{Network.__module__}.Network"])


def test_even_an_allowed_name_is_never_called(bait):
    back = load(pickle.dumps(OBJECTS["os.system"]), records=["posix.system", "nt.system"])
    assert back.name.endswith(".system")
    assert back.args == (TOUCH,)


BYTES = {
    "inst": b"(S'touch pwned'\nios\nsystem\n.",
    "obj": pickle.MARK + name("os", "system") + b"S'touch pwned'\n" + pickle.OBJ + b".",
    "newobj": name("os", "system") + b"(S'touch pwned'\nt" + pickle.NEWOBJ + b".",
    "newobj_ex": name("os", "system") + b"(S'touch pwned'\nt}" + pickle.NEWOBJ_EX + b".",
    "stack global": b"\x8c\x02os\x8c\x06system\x93" + b"(S'touch pwned'\ntR.",
    "a name in disguise": name("numpy.ndarray.os", "system") + b"(S'touch pwned'\ntR.",
    "a dotted name": b"\x8c\x05numpy\x8c\x14ndarray.__class__.mro\x93)R.",
    "an inert name called": name("numpy", "ndarray") + b"(I9\ntR.",
    "extension 1": pickle.EXT1 + b"\x01.",
    "extension 2": pickle.EXT2 + b"\x01\x00.",
    "extension 4": pickle.EXT4 + b"\x01\x00\x00\x00.",
    "persistent id": b"S'x'\n" + pickle.BINPERSID + b".",
    "persistent text": pickle.PERSID + b"x\n.",
    "buffer": pickle.NEXT_BUFFER + b".",
    "build on a dict": pickle.EMPTY_DICT + b"}S'__class__'\nI1\nsb.",
    "build on a list": b"]}b.",
    "build on text": b"S'a'\n}b.",
    "build on a reference": name("numpy", "ndarray") + b"}S'x'\nI1\nsb.",
    "build twice": name("a", "b") + b")R}b}b.",
    "reduce of text": b"S'os.system'\n)R.",
    "reduce without a tuple": name("numpy", "dtype") + b"]R.",
    "global of no text": b"I1\nI2\n\x93.",
}


@pytest.mark.parametrize("kind", BYTES)
def test_hand_made_tricks_are_refused(kind, bait):
    with pytest.raises(UnsafeFileError):
        load(BYTES[kind], records=["a.b"])


# What is hostile: memory and time


def array_of(shape: bytes, data: bytes, dtype: bytes = b"S'f4'\n") -> bytes:
    made = name("numpy.core.multiarray", "_reconstruct") + b"(" + name("numpy", "ndarray") + b"(I0\ntS'b'\ntR"
    return made + b"(I1\n" + shape + name("numpy", "dtype") + b"(" + dtype + b"I0\nI1\ntRI00\n" + data + b"tb."


BOMBS = {
    "a shape of terabytes": array_of(b"(I1000000\nI1000000\nt", b"S''\n"),
    "a negative shape": array_of(b"(I-1\nI-4\nt", b"S'aaaaaaaaaaaaaaaa'\n"),
    "a shape that overflows": array_of(b"(L4294967296L\nL4294967296L\nt", b"S''\n"),
    "a hundred dimensions": array_of(b"(" + b"I1\n" * 100 + b"t", b"S'aaaa'\n"),
    "an object array": array_of(b"(I1\nt", b"]", dtype=b"S'O8'\n"),
    "a void array": array_of(b"(I1\nt", b"S'a'\n", dtype=b"S'V999999999999'\n"),
    "text of claimed terabytes": pickle.BINUNICODE8 + struct.pack("<Q", 1 << 42) + b"x.",
    "bytes of claimed exabytes": pickle.BINBYTES8 + struct.pack("<Q", 1 << 62) + b"x.",
    "a byte array of claimed terabytes": pickle.BYTEARRAY8 + struct.pack("<Q", 1 << 42) + b"x.",
    "a number of claimed gigabytes": pickle.LONG4 + struct.pack("<i", 1 << 30) + b"x.",
    "a negative length": pickle.LONG4 + struct.pack("<i", -5) + b"x.",
    "a number of many digits": b"L" + b"9" * 100_000 + b"L\n.",
    "a circle": b"]q\x00h\x00a.",
    "a circle through a dict": b"}q\x00S'a'\nh\x00s.",
    "a circle through a record": name("a", "b") + b")Rq\x00h\x00b.",
    "a key that is nested": b"}" + b")" + b"\x85" * 15_000 + b"I1\ns.",
    "a list as a key": b"}]I1\ns.",
    "nested lists": b"]" * 5000 + b"a" * 4999 + b".",
    "nested tuples": b")" + b"\x85" * 15_000 + b".",
    "a bytearray of a claimed size": name("builtins", "bytearray") + b"(L99999999999L\ntR.",
    "an array before its state": (
        name("numpy.core.multiarray", "_reconstruct") + b"(" + name("numpy", "ndarray") + b"(I0\ntS'b'\ntR."
    ),
}


@pytest.mark.parametrize("kind", BOMBS)
def test_memory_bombs_are_refused(kind):
    with pytest.raises(UnsafeFileError):
        load(BOMBS[kind], records=["a.b"])


STACK = 512 << 10
DEEP = b")" + b"\x85" * 15_000  # from about 10,000 on, hashing one overflows a stack of that size


def load_on_a_small_stack(made):
    """Read in a thread whose stack a deep value would overflow: what takes 200,000 levels otherwise takes 15,000."""
    before = threading.stack_size(STACK)
    try:
        with ThreadPoolExecutor(1) as thread:
            return thread.submit(load, made).result()
    finally:
        threading.stack_size(before)


@pytest.mark.parametrize(
    "made",
    [
        name("_codecs", "encode") + b"(S'a'\n" + DEEP + b"tR.",
        name("builtins", "bytes") + b"(S'a'\n" + DEEP + b"tR.",
        name("numpy", "dtype") + b"(" + DEEP + b"tR.",
        name("numpy", "dtype") + b"(S'f4'\ntR(I3\n" + DEEP + b"NNNtb.",
        name("numpy.core.multiarray", "_reconstruct") + b"(" + DEEP + b"NNtR.",
        name("builtins", "set") + b"((" + DEEP + b"lttR.",
        name("torch", "Size") + b"(" + DEEP + b"tR.",
        b"}" + DEEP + b"b.",
        DEEP + DEEP + b"R.",
        DEEP + b"\x93.",
        DEEP + DEEP + b"\x93.",
        b"}" + DEEP + b"Ns.",
        b"\x8f(" + DEEP + b"\x90.",
    ],
)
def test_a_deep_tuple_is_refused_wherever_it_stands(made):
    """Hashing or printing one without care ends the whole process, not only the reading."""
    with pytest.raises(UnsafeFileError):
        load_on_a_small_stack(made)


def test_such_a_tuple_does_end_a_process_that_takes_no_care():
    """The depth above is enough: plain pickle with plain hashing dies of it."""
    script = (
        "import pickle, threading\n"
        f"threading.stack_size({STACK})\n"
        f"made = pickle.loads(b')' + b'\\x85' * {DEEP.count(bytes([0x85]))} + b'.')\n"
        "thread = threading.Thread(target=hash, args=(made,))\n"
        "thread.start(); thread.join()\n"
    )
    died = subprocess.run([sys.executable, "-c", script], capture_output=True, check=False)
    assert died.returncode != 0


def test_refusing_a_bomb_costs_little_memory():
    tracemalloc.start()
    try:
        for bomb in BOMBS.values():
            with pytest.raises(UnsafeFileError):
                load(bomb, records=["a.b"])
        assert tracemalloc.get_traced_memory()[1] < 64 << 20
    finally:
        tracemalloc.stop()


def test_a_huge_memo_index_costs_nothing():
    assert load(b"I7\n" + pickle.LONG_BINPUT + b"\xff\xff\xff\xff0" + pickle.LONG_BINGET + b"\xff\xff\xff\xff.") == 7


@pytest.mark.parametrize("wide", [2, 10])
def test_a_billion_laughs_are_refused(wide):
    """Each list holds the one before it several times: small in memory, endless to walk."""
    made = b"]S'ha'\nap\x30\n"
    for level in range(1, 60):
        made += b"]" + b"".join(b"g%d\na" % (level - 1) for _ in range(wide)) + b"p%d\n" % level
    with pytest.raises(UnsafeFileError, match="grows to more than"):
        load(made + b".")


def test_one_array_a_thousand_times_is_refused():
    array = np.zeros(10_000_000, np.uint8)
    with pytest.raises(UnsafeFileError, match="grows to more than"):
        load(pickle.dumps([array] * 1000))


def test_too_many_steps_are_refused(monkeypatch):
    monkeypatch.setattr(unpickle, "MOST_OPS", 1000)
    with pytest.raises(UnsafeFileError, match="more than 1,000 steps"):
        load(b"N0" * 1000 + b"N.")


def test_a_huge_file_is_refused(monkeypatch, tmp_path):
    (tmp_path / "big.pkl").write_bytes(pickle.dumps("x" * 100))
    monkeypatch.setattr(unpickle, "MOST_BYTES", 50)
    with pytest.raises(UnsafeFileError, match="more than 50"):
        load(tmp_path / "big.pkl")


def test_a_cut_off_pickle_is_refused_at_every_length():
    whole = pickle.dumps({"a": np.arange(3), "b": [1, (2, "x")]}, 4)
    for length in range(len(whole)):
        with pytest.raises(UnsafeFileError):
            load(whole[:length])


@given(st.binary(max_size=60))
def test_noise_is_a_value_or_refused(noise):
    with contextlib.suppress(UnsafeFileError):
        load(noise + b".")


@given(st.data())
def test_a_pickle_with_changed_bytes_is_a_value_or_refused(data):
    whole = bytearray(pickle.dumps({"a": np.arange(3), "b": [Network(1)], "c": {1: 2.0}}, 4))
    for _ in range(data.draw(st.integers(1, 4))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(UnsafeFileError):
        load(bytes(whole), records=[f"{Network.__module__}.*"])
