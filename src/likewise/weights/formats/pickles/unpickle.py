"""A restricted unpickler: it reads a pickle as data and never calls, imports or looks up anything that the file names.

It is a small stack machine over the opcodes that ``pickletools`` decodes. What comes out are Python's plain values,
numpy arrays, torch storages and tensors (as arrays), dicts, and *records*: which class or function the file named,
the arguments it wanted to call it with, and the state it wanted to set. A record does nothing. The reader says which
names may become records (``records``); every other name, extension codes, out-of-band buffers and persistent ids
that no reader asked for are refused.

Memory: an array must bring its own bytes, the memo is a dict (a huge index costs nothing), the number of opcodes is
bounded, and the bytes that calls make are counted as they are made. A result that is nested too deep, refers to itself,
or would grow far beyond the file when it is walked (a list of the same list of the same list ...) is refused.
"""

from __future__ import annotations

import io
import pickletools
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import IO, Any

from likewise.errors import UnsafeFileError
from likewise.weights.formats.pickles.tree import check_tree, growth_limit, made_bytes
from likewise.weights.formats.pickles.values import BUILDERS, INERT, Record, Reference, plain_key

MOST_OPS = 2_000_000  # a checkpoint of a thousand tensors has some ten thousand
MOST_BYTES = 4 << 30

Persistent = Callable[[Any], Any]
"""Turns a persistent id (a tuple of plain values) into a value."""
Builders = Mapping[str, Callable[..., Any]]
"""Functions of ours that stand in for names in the file, beyond those of ``pickle_values``."""


def load(
    source: bytes | Path,
    *,
    records: Collection[str] = (),
    persistent: Persistent | None = None,
    builders: Builders | None = None,
    size: int = 0,
    names: set[str] | None = None,
) -> Any:
    """Read one pickle; names in ``records`` (``module.qualname``, ``module.*``, or ``*``) may become records.

    ``size`` is that of the whole file where the pickle is only a part of it: what it may grow to goes by that.
    ``names`` collects the names that became records.
    """
    data = read_bytes(source) if isinstance(source, Path) else source
    stream = io.BytesIO(data)
    return load_next(stream, records=records, persistent=persistent, builders=builders, size=size, names=names)


def read_bytes(path: Path) -> bytes:
    """Read a file whole, if it is of a size that a checkpoint can have."""
    if path.stat().st_size > MOST_BYTES:
        raise UnsafeFileError(f"{path.name} has {path.stat().st_size:,} bytes, more than {MOST_BYTES:,}")
    return path.read_bytes()


def load_next(
    stream: io.BytesIO,
    *,
    records: Collection[str] = (),
    persistent: Persistent | None = None,
    builders: Builders | None = None,
    size: int = 0,
    names: set[str] | None = None,
) -> Any:
    """Read the pickle that begins here and leave the stream behind it; several may follow each other."""
    most = growth_limit(max(size, stream.getbuffer().nbytes))
    machine = _Machine(frozenset(records), persistent, {**BUILDERS, **(builders or {})}, most)
    made = machine.run(stream)
    check_tree(made, most)
    if names is not None:
        names |= machine.names
    return made


def _names(name: str, allowed: Collection[str]) -> bool:
    parts = name.split(".")
    return name in allowed or "*" in allowed or any(".".join(parts[:n]) + ".*" in allowed for n in range(1, len(parts)))


class _Mark:
    """Where a collection begins on the stack."""


class _Machine:
    def __init__(self, records: frozenset[str], persistent: Persistent | None, builders: Builders, most: int) -> None:
        self._records, self._persistent, self._builders = records, persistent, builders
        self._budget, self._most = most, most
        self.names: set[str] = set()
        """The names that became records."""
        self._stack: list[Any] = []
        self._memo: dict[int, Any] = {}
        self._slots: dict[int, list[int]] = {}
        """Where in the memo lie values that a state will turn into something else, by their identity."""

    def run(self, stream: IO[bytes]) -> Any:
        try:
            for count, (opcode, argument, _) in enumerate(pickletools.genops(stream)):
                if count >= MOST_OPS:
                    raise UnsafeFileError(f"The pickle has more than {MOST_OPS:,} steps")
                if opcode.name == "STOP":
                    break
                self._step(opcode.name, argument)
            return self._one()
        except MemoryError as error:
            raise UnsafeFileError("Reading the pickle takes more memory than there is") from error
        except (ValueError, IndexError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
            reason = f"{type(error).__name__}: {error}"[:200]
            raise UnsafeFileError(f"The pickle is damaged: {reason}", fix="Get the file again.") from error

    def _one(self) -> Any:
        value = self._stack.pop()
        if isinstance(value, _Mark):
            raise ValueError("a mark where a value belongs")
        return value

    def _since_mark(self) -> list[Any]:
        for start in range(len(self._stack) - 1, -1, -1):
            if isinstance(self._stack[start], _Mark):
                items = self._stack[start + 1 :]
                del self._stack[start:]
                return items
        raise ValueError("no mark")

    def _step(self, name: str, argument: Any) -> None:
        if name in _VALUES:
            self._stack.append(argument)
        elif name in _CONSTANTS:
            self._stack.append(_CONSTANTS[name]())
        elif name not in _PASSED:
            step = getattr(self, f"_{name.lower()}", None)
            if step is None:
                raise UnsafeFileError(
                    f"The pickle uses the opcode {name}",
                    fix="Checkpoints do not need it. Do not open the file elsewhere either.",
                )
            step() if argument is None else step(argument)

    # The memo and the stack
    def _mark(self) -> None:
        self._stack.append(_Mark())

    def _pop(self) -> None:
        self._stack.pop()

    def _pop_mark(self) -> None:
        self._since_mark()

    def _dup(self) -> None:
        self._stack.append(self._stack[-1])

    def _put(self, index: int) -> None:
        if isinstance(self._stack[-1], _Mark):
            raise ValueError("a mark in the memo")
        self._memo[index] = self._stack[-1]
        if hasattr(self._stack[-1], "set_state"):
            self._slots.setdefault(id(self._stack[-1]), []).append(index)

    _binput = _long_binput = _put

    def _memoize(self) -> None:
        self._put(len(self._memo))

    def _get(self, index: int) -> None:
        self._stack.append(self._memo[index])

    _binget = _long_binget = _get

    # Collections
    def _tuple(self) -> None:
        self._stack.append(tuple(self._since_mark()))

    def _tuple1(self) -> None:
        self._tuple_of(1)

    def _tuple2(self) -> None:
        self._tuple_of(2)

    def _tuple3(self) -> None:
        self._tuple_of(3)

    def _tuple_of(self, count: int) -> None:
        self._stack.append(tuple([self._one() for _ in range(count)][::-1]))

    def _list(self) -> None:
        self._stack.append(self._since_mark())

    def _dict(self) -> None:
        self._stack.append(_pairs(self._since_mark()))

    def _frozenset(self) -> None:
        self._stack.append(frozenset(map(plain_key, self._since_mark())))

    def _append(self) -> None:
        self._extend([self._one()])

    def _appends(self) -> None:
        self._extend(self._since_mark())

    def _extend(self, items: list[Any]) -> None:
        target = self._stack[-1]
        (target.items if isinstance(target, Record) else _exactly(list, target)).extend(items)

    def _additems(self) -> None:
        items = self._since_mark()
        _exactly(set, self._stack[-1]).update(map(plain_key, items))

    def _setitem(self) -> None:
        value = self._one()
        self._update([self._one(), value])

    def _setitems(self) -> None:
        self._update(self._since_mark())

    def _update(self, items: list[Any]) -> None:
        target = self._stack[-1]
        (target.entries if isinstance(target, Record) else _exactly(dict, target)).update(_pairs(items))

    # Names, and the calls that are not made
    def _global(self, argument: str) -> None:
        module, _, name = argument.partition(" ")
        self._refer(module, name)

    def _stack_global(self) -> None:
        name, module = self._one(), self._one()
        self._refer(_exactly(str, module), _exactly(str, name))

    def _refer(self, module: str, name: str) -> None:
        full = f"{module}.{name}"
        if full not in self._builders and full not in INERT and not _names(full, self._records):
            raise UnsafeFileError(
                f"The pickle refers to {full[:120]!r}, which is no part of a checkpoint",
                fix="Nothing of it was run. If its source is not trusted, do not open it elsewhere either.",
            )
        if full not in self._builders and full not in INERT:
            self.names.add(full)
        self._stack.append(Reference(full))

    def _reduce(self) -> None:
        arguments, called = _exactly(tuple, self._one()), self._one()
        self._stack.append(self._called(called, arguments))

    def _called(self, called: Any, arguments: tuple[Any, ...], kwargs: dict[str, Any] | None = None) -> Any:
        name = _exactly(Reference, called).name
        if name in self._builders and not kwargs:
            return self._counted(self._builders[name](*arguments))
        if name in _RECONSTRUCTORS and not kwargs:  # an object of protocol 0 or 1, or a bare __newobj__
            return self._called(arguments[0], tuple(arguments[1:]))
        if not _names(name, self._records):
            raise UnsafeFileError(f"The pickle calls {name[:120]!r}, which makes no array")
        return Record(name, arguments, kwargs or {})

    def _counted(self, made: Any) -> Any:
        """Count the bytes of what was made: two bytes of a pickle can ask for one more copy of a megabyte."""
        self._budget -= made_bytes(made)
        if self._budget < 0:
            raise UnsafeFileError(f"The pickle makes more than {self._most:,} bytes when it is read")
        return made

    def _newobj(self) -> None:
        self._reduce()

    def _newobj_ex(self) -> None:
        kwargs, arguments, called = _exactly(dict, self._one()), _exactly(tuple, self._one()), self._one()
        self._stack.append(self._called(called, arguments, kwargs))

    def _obj(self) -> None:
        called, *arguments = self._since_mark()
        self._stack.append(self._called(called, tuple(arguments)))

    def _inst(self, argument: str) -> None:
        arguments = tuple(self._since_mark())
        self._global(argument)
        self._stack.append(self._called(self._one(), arguments))

    def _build(self) -> None:
        state, target = self._one(), self._stack[-1]
        if isinstance(target, Record):
            if target.state is not None:
                raise ValueError("a state that is set twice")
            target.state = state
        elif hasattr(target, "set_state"):
            made = self._stack[-1] = self._counted(target.set_state(state))
            for index in self._slots.get(id(target), []) if made is not target else []:
                if self._memo[index] is target:
                    self._memo[index] = made
        elif not (type(target) is dict and state in ({}, None)):
            raise UnsafeFileError(f"The pickle sets a state on a {type(target).__name__}")

    def _binpersid(self) -> None:
        given = self._one()
        if self._persistent is None:
            raise UnsafeFileError("The pickle refers to a persistent id that is not in it")
        self._stack.append(self._persistent(given))


def _exactly(kind: type, value: Any) -> Any:
    if type(value) is not kind:
        raise TypeError(f"{kind.__name__} expected, {type(value).__name__} found")
    return value


def _pairs(items: list[Any]) -> dict[Any, Any]:
    return dict(zip(map(plain_key, items[::2]), items[1::2], strict=True))


_RECONSTRUCTORS = {"copyreg._reconstructor", "copy_reg._reconstructor", "copyreg.__newobj__", "copy_reg.__newobj__"}
_VALUES = {
    "INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT", "STRING", "BINSTRING",
    "SHORT_BINSTRING", "UNICODE", "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8", "BINBYTES", "SHORT_BINBYTES",
    "BINBYTES8", "BYTEARRAY8",
}  # fmt: skip
_CONSTANTS: dict[str, Callable[[], Any]] = {
    "NONE": lambda: None, "NEWTRUE": lambda: True, "NEWFALSE": lambda: False,
    "EMPTY_LIST": list, "EMPTY_TUPLE": tuple, "EMPTY_DICT": dict, "EMPTY_SET": set,
}  # fmt: skip
_PASSED = {"PROTO", "FRAME"}
