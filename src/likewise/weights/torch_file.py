"""Reads what ``torch.save`` wrote, both its zip form and its older one, without torch and without running anything.

Tensors come out as numpy arrays that look into the file's bytes. A pickle that holds whole torch objects instead of
going through ``torch.save`` keeps each storage as a small file of the older form inside; ``load_pickle`` reads those.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Collection
from pathlib import Path
from typing import Any

from likewise.errors import UnsafeFileError
from likewise.weights.pickle_values import TENSORS, Storage, storage_of
from likewise.weights.unpickle import load, load_next, read_bytes

_MAGIC = 0x1950A86A20F9469CFC6C
_PROTOCOL = 1001


def load_torch(path: Path, *, records: Collection[str] = ()) -> Any:
    """Read a file of ``torch.save``; names in ``records`` may become records, see ``unpickle.load``."""
    if zipfile.is_zipfile(path):
        return _load_zip(path, records)
    return _load_older(read_bytes(path), records)


def load_pickle(source: bytes | Path, *, records: Collection[str] = ()) -> Any:
    """Read a plain pickle that may hold torch tensors."""
    return load(source, records=records, builders={"torch.storage._load_from_bytes": _storage_file})


def _storage_file(data: Any) -> Storage:
    if not isinstance(data, bytes):
        raise UnsafeFileError("a storage is written as bytes", got=type(data).__name__)
    made = _load_older(data, ())
    if not isinstance(made, Storage):
        raise UnsafeFileError("a file inside a pickle holds one storage", got=type(made).__name__)
    return made


def _load_zip(path: Path, records: Collection[str]) -> Any:
    try:
        with zipfile.ZipFile(path) as opened:
            root = _check_zip(opened, path)
            kept: dict[str, Storage] = {}

            def persistent(given: Any) -> Storage:
                key, empty = _storage(given)
                if key not in kept:
                    empty.data = opened.read(f"{root}/data/{key}")
                    kept[key] = empty
                return _same(kept[key], empty)

            size, pickled = path.stat().st_size, opened.read(f"{root}/data.pkl")
            return load(pickled, records=records, persistent=persistent, size=size)
    except (zipfile.BadZipFile, KeyError, EOFError, NotImplementedError, RuntimeError) as error:
        raise UnsafeFileError(f"{path.name} is a whole file of torch.save", got=str(error)[:120]) from error


def _check_zip(opened: zipfile.ZipFile, path: Path) -> str:
    """Return the folder that holds everything; torch packs nothing, so what is packed is no checkpoint."""
    infos = opened.infolist()
    if any(info.compress_type != zipfile.ZIP_STORED for info in infos):
        raise UnsafeFileError("torch stores its files unpacked", got=f"a packed file in {path.name}")
    if sum(info.file_size for info in infos) > path.stat().st_size:
        raise UnsafeFileError("the parts of a file are no larger than the file", got=path.name)
    roots = [info.filename.removesuffix("/data.pkl") for info in infos if info.filename.endswith("/data.pkl")]
    if len(roots) != 1:
        raise UnsafeFileError("a file of torch.save holds data.pkl", got=f"{len(roots)} of them in {path.name}")
    order = f"{roots[0]}/byteorder"
    if order in opened.namelist() and opened.read(order) != b"little":
        raise UnsafeFileError("numbers are little-endian", got=path.name, fix="Save it again on a usual machine.")
    return roots[0]


def _load_older(data: bytes, records: Collection[str]) -> Any:
    """Read the older form: three headers, the object, the keys of its storages, then their bytes.

    The bytes come last, so the object is read twice: once to learn which storages there are, once to fill it.
    """
    stream = io.BytesIO(data)
    if load_next(stream) != _MAGIC or load_next(stream) != _PROTOCOL:
        raise UnsafeFileError("a checkpoint is a file of torch.save", got="another kind of pickle")
    system = load_next(stream)
    if not isinstance(system, dict) or system.get("little_endian") is not True:
        raise UnsafeFileError("numbers are little-endian", got="big-endian ones")
    start, kept = stream.tell(), dict[str, Storage]()

    def persistent(given: Any) -> Storage:
        key, empty = _storage(given)
        return _same(kept.setdefault(key, empty), empty)

    skipped = dict.fromkeys(TENSORS, lambda *_: None)
    load_next(stream, records=records, persistent=persistent, builders=skipped)
    _fill(stream, kept)
    return load_next(io.BytesIO(data[start:]), records=records, persistent=persistent)


def _fill(stream: io.BytesIO, kept: dict[str, Storage]) -> None:
    keys = load_next(stream)
    view = stream.getbuffer()
    if not isinstance(keys, list) or not all(isinstance(key, str) for key in keys) or sorted(keys) != sorted(kept):
        raise UnsafeFileError("a file names the storages that it holds", got="other ones")
    start = stream.tell()
    for key in keys:
        count, size = int.from_bytes(view[start : start + 8], "little"), kept[key].size
        if count != kept[key].count or start + 8 + count * size > len(view):
            raise UnsafeFileError("a storage brings its own bytes", got=f"{count:,} numbers in storage {key}")
        kept[key].data = bytes(view[start + 8 : start + 8 + count * size])
        start += 8 + count * size


def _storage(given: Any) -> tuple[str, Storage]:
    """Read a persistent id: ``("storage", type, key, location, count)``, and a view that must be empty."""
    if not (isinstance(given, tuple) and len(given) in {5, 6} and given[0] == "storage" and isinstance(given[2], str)):
        raise UnsafeFileError("a persistent id names a storage", got=repr(given)[:80])
    if len(given) == 6 and given[5] is not None:
        raise UnsafeFileError("a storage is no view of another", got=f"storage {given[2]}"[:80])
    return given[2], storage_of(given[1], given[4])


def _same(known: Storage, said: Storage) -> Storage:
    if (known.dtype, known.count) != (said.dtype, said.count):
        raise UnsafeFileError("a storage is of one type and size", got=f"{said.dtype} and {known.dtype}")
    return known
