"""What a checkpoint's pickle may hold beyond plain values: arrays, storages, tensors, and records of calls not made.

``BUILDERS`` are functions of ours that stand in for the few names that numpy and torch write into their pickles. Each
checks its arguments, because a pickle can say anything; none makes more bytes than it was given.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from likewise.errors import UnsafeFileError
from likewise.weights.formats.describe import describe

Array = npt.NDArray[Any]
_KINDS = {f"{kind}{size}" for kind, sizes in {"f": "248", "i": "1248", "u": "1248", "b": "1"}.items() for size in sizes}
_STORAGES = {
    "FloatStorage": "f4", "HalfStorage": "f2", "DoubleStorage": "f8", "LongStorage": "i8", "IntStorage": "i4",
    "ShortStorage": "i2", "CharStorage": "i1", "ByteStorage": "u1", "BoolStorage": "b1", "BFloat16Storage": "bf16",
}  # fmt: skip
_LONGEST_KEY = 32  # parts of a tuple; its hash is computed at every use
_DTYPES = ("float16", "float32", "float64", "bfloat16", "int8", "int16", "int32", "int64", "uint8", "bool")


@dataclass(frozen=True)
class Reference:
    """A name that the file mentions; it is a string and is never looked up."""

    name: str


@dataclass(eq=False)
class Record:
    """A call that the file asked for and that was not made."""

    name: str
    """``module.qualname`` of what would have been called."""
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = field(default_factory=dict)
    state: Any = None
    """What the file wanted to set on the result."""
    items: list[Any] = field(default_factory=list)
    """What the file wanted to append to the result."""
    entries: dict[Any, Any] = field(default_factory=dict)
    """What the file wanted to set in the result by key."""


@dataclass(eq=False)
class Storage:
    """The numbers of one or more tensors; ``data`` may come after the tensors that look into it."""

    dtype: str
    """As numpy calls it, or ``bf16``."""
    count: int
    data: bytes | memoryview = b""

    @property
    def size(self) -> int:
        """Bytes of one number."""
        return 2 if self.dtype == "bf16" else np.dtype(self.dtype).itemsize

    @cached_property
    def values(self) -> Array:
        """The numbers ``[count]``; bfloat16 becomes float32, which holds all of them."""
        if len(self.data) != self.count * self.size:
            got = f"{len(self.data):,} bytes for {self.count:,} numbers of {self.dtype}"
            raise UnsafeFileError(f"A tensor storage has {got}")
        if self.dtype == "bf16":
            wide = np.frombuffer(self.data, "<u2").astype(np.uint32) << np.uint32(16)
            return wide.view(np.float32)
        return np.frombuffer(self.data, np.dtype(self.dtype).newbyteorder("<")).astype(self.dtype, copy=False)


def storage_of(kind: Any, count: Any) -> Storage:
    """Return an empty storage of a torch type such as ``torch.FloatStorage``."""
    name = kind.name.removeprefix("torch.") if isinstance(kind, Reference) else describe(kind)
    if name not in _STORAGES or not _natural(count):
        raise UnsafeFileError(f"Unknown tensor storage: {name[:40]} of {describe(count)}")
    return Storage(_STORAGES[name], count)


@dataclass(eq=False)
class Dtype:
    """numpy's type of one number."""

    kind: str
    order: str = "<"

    def set_state(self, state: Any) -> Dtype:
        """Take the byte order; fields, sub-arrays and metadata have no place in weights."""
        if not (isinstance(state, tuple) and len(state) >= 5) or any(part is not None for part in state[2:5]):
            raise UnsafeFileError("An array has a structured type; only plain numbers are read")
        if state[1] not in ("<", ">", "|", "="):  # no set: hashing a nested tuple from a file may overflow the stack
            raise UnsafeFileError(f"Unknown byte order {describe(state[1])}")
        self.order = state[1]
        return self

    def numpy(self) -> np.dtype[Any]:
        """Return it as numpy's own."""
        return np.dtype(self.kind) if self.order in "|=" else np.dtype(self.order + self.kind)


class _Unfilled:
    """An array between ``_reconstruct`` and its state."""

    def set_state(self, state: Any) -> Array:
        if not (isinstance(state, tuple) and len(state) == 5):
            raise UnsafeFileError(f"The state of an array is {describe(state)}, not five values")
        _, shape, dtype, fortran, data = state
        return _filled(data, dtype, shape, "F" if fortran else "C")


def _natural(value: Any) -> bool:
    return type(value) is int and 0 <= value < 1 << 48


def _shape(value: Any) -> tuple[int, ...]:
    if not (isinstance(value, tuple) and len(value) <= 32 and all(map(_natural, value))):
        raise UnsafeFileError(f"Invalid shape {describe(value)}")
    return value


def _filled(data: Any, dtype: Any, shape: Any, order: Any) -> Array:
    if not isinstance(dtype, Dtype):
        raise UnsafeFileError(f"The type of an array is {describe(dtype)}, not a plain number")
    raw = data.encode("latin1") if isinstance(data, str) else data  # Python 2 wrote bytes as text
    if not isinstance(raw, bytes | bytearray):
        raise UnsafeFileError(f"The numbers of an array are {describe(raw)}, not bytes")
    shape, kind = _shape((shape,) if isinstance(shape, int) else shape), dtype.numpy()
    if math.prod(shape) * kind.itemsize != len(raw):
        got = f"{len(raw):,} bytes for the shape {shape} of {kind}"
        raise UnsafeFileError(f"An array has {got}")
    flat = np.frombuffer(bytes(raw), kind).astype(kind.newbyteorder("="), copy=False)
    return flat.reshape(shape, order="F" if order == "F" else "C")


def _from_buffer(data: Any, dtype: Any, shape: Any, order: Any, axes: Any = None) -> Array:
    """Fill an array of protocol 5; newer numpy keeps one of swapped axes as it lies in memory, and names the swap."""
    made = _filled(data, dtype, shape, order)
    if axes is None:
        return made
    if sorted(_shape(axes)) != list(range(made.ndim)):
        raise UnsafeFileError(f"Invalid axes {describe(axes)} of an array")
    return made.transpose(axes)


def _dtype(kind: Any, *_: Any) -> Dtype:
    text = kind if isinstance(kind, str) and len(kind) < 16 else ""
    if text.lstrip("<>|=") not in _KINDS:
        raise UnsafeFileError(f"Unknown type of number {describe(kind)}")
    return Dtype(text.lstrip("<>|="), ">" if text.startswith(">") else "<")


def _reconstruct(kind: Any, shape: Any, code: Any) -> _Unfilled:
    if not (isinstance(kind, Reference) and kind.name == "numpy.ndarray"):
        raise UnsafeFileError(f"{describe(kind)} is used as an array")
    return _Unfilled()


def _scalar(dtype: Any, data: Any) -> Any:
    return _filled(data, dtype, (), "C")[()]


def _encode(text: Any, encoding: Any) -> bytes:
    if not isinstance(text, str) or encoding not in ("latin1", "latin-1"):
        raise UnsafeFileError(f"Bytes are encoded as {describe(encoding)}, not as latin1")
    return text.encode("latin1")


def tensor(storage: Any, offset: Any, size: Any, stride: Any, *_: Any) -> Array:
    """View a storage as torch would; a view that shows more numbers than there are is refused."""
    size, stride = _shape(size), _shape(stride)
    if not isinstance(storage, Storage) or not _natural(offset) or len(size) != len(stride):
        raise UnsafeFileError(f"A tensor is a view of {describe(storage)}, not of a storage")
    last = offset + sum((n - 1) * s for n, s in zip(size, stride, strict=True))
    if math.prod(size) > storage.count or (math.prod(size) and last >= storage.count):
        got = f"size {size} and stride {stride} from {offset} of {storage.count}"
        raise UnsafeFileError(f"A tensor reaches beyond its storage: {got}")
    flat = storage.values[offset:]
    return np.lib.stride_tricks.as_strided(flat, size, [s * flat.itemsize for s in stride], writeable=False)


def _parameter(data: Any, *_: Any) -> Any:
    return data


def _bytes(*arguments: Any) -> bytes:
    """Copy bytes; a number, which would ask for so many zeros, is refused."""
    data = arguments[0] if arguments else b""
    raw = data.encode("latin1") if isinstance(data, str) and arguments[1:] in (("latin1",), ("latin-1",)) else data
    if not isinstance(raw, bytes):
        raise UnsafeFileError(f"Bytes are made of {describe(data)}")
    return raw


def _size(*arguments: Any) -> tuple[int, ...]:
    return _shape(tuple(arguments[0])) if arguments else ()


def _set(*arguments: Any) -> set[Any]:
    return set(map(plain_key, arguments[0])) if arguments else set()


def plain_key(value: Any) -> Any:
    """Return a key that is hashed at once; a tuple of tuples of tuples would be hashed until the stack overflows."""
    parts = value if isinstance(value, tuple) else (value,)
    if len(parts) > _LONGEST_KEY or not all(map(_is_plain, parts)):
        raise UnsafeFileError(f"A key of a dict is {describe(value)}; only plain keys are read")
    return value


def _is_plain(part: Any) -> bool:
    if isinstance(part, int):  # hashing a number of a megabyte takes a millisecond, each time
        return part.bit_length() <= 128
    return isinstance(part, str | bytes | float | None | Reference)


def _keyed(*arguments: Any) -> dict[Any, Any]:
    """An ordered or default dict; what its default would be is of no interest."""
    pairs = arguments[-1] if arguments and isinstance(arguments[-1], list | dict) else []
    return {plain_key(key): value for key, value in (pairs.items() if isinstance(pairs, dict) else pairs)}


TENSORS = ("torch._utils._rebuild_tensor", "torch._utils._rebuild_tensor_v2")
BUILDERS: dict[str, Callable[..., Any]] = {
    **{f"numpy.{core}.multiarray._reconstruct": _reconstruct for core in ("core", "_core")},
    **{f"numpy.{core}.multiarray.scalar": _scalar for core in ("core", "_core")},
    **{f"numpy.{core}.numeric._frombuffer": _from_buffer for core in ("core", "_core")},
    "numpy.dtype": _dtype,
    "_codecs.encode": _encode,
    **dict.fromkeys(TENSORS, tensor),
    "torch._utils._rebuild_parameter": _parameter,
    "torch.Size": _size,
    "collections.OrderedDict": _keyed,
    "collections.defaultdict": _keyed,
    **{f"{module}.{name}": _bytes for module in ("builtins", "__builtin__") for name in ("bytes", "bytearray")},
    **{f"{module}.{name}": _set for module in ("builtins", "__builtin__") for name in ("set", "frozenset")},
}
INERT = {
    "numpy.ndarray", "builtins.object", "__builtin__.object", "copyreg._reconstructor", "copy_reg._reconstructor",
    *(f"torch.{name}" for name in (*_STORAGES, *_DTYPES)),
}  # fmt: skip
"""Names that may be mentioned as arguments; calling one of them makes nothing."""
