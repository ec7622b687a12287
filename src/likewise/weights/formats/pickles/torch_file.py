"""Reads what ``torch.save`` wrote, both its zip form and its older one, without torch and without running anything.

Tensors come out as numpy arrays that look into the file's bytes. A pickle that holds whole torch objects instead of
going through ``torch.save`` keeps each storage as a small file of the older form inside; ``load_pickle`` reads those.
"""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from collections.abc import Collection
from pathlib import Path
from typing import Any

from likewise.errors import UnsafeFileError
from likewise.weights.formats.describe import describe
from likewise.weights.formats.pickles.unpickle import load, load_next, read_bytes
from likewise.weights.formats.pickles.values import TENSORS, Storage, storage_of

_MAGIC = 0x1950A86A20F9469CFC6C
MAGIC = b"\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19"
"""How the older form writes its magic number, a few bytes after its beginning."""
_BROKEN = (  # OSError: an offset before the beginning of the file
    zipfile.BadZipFile, KeyError, EOFError, NotImplementedError, RuntimeError, ValueError, OverflowError, struct.error,
    zlib.error, OSError,
)  # fmt: skip
_PROTOCOL = 1001


def load_torch(path: Path, *, records: Collection[str] = (), names: set[str] | None = None) -> Any:
    """Read a file of ``torch.save``; names in ``records`` may become records, see ``unpickle.load``."""
    if zipfile.is_zipfile(path):
        return _load_zip(path, records, names)
    return _load_older(read_bytes(path), records, names)


def load_pickle(source: bytes | Path, *, records: Collection[str] = (), names: set[str] | None = None) -> Any:
    """Read a plain pickle that may hold torch tensors."""
    return load(source, records=records, builders={"torch.storage._load_from_bytes": _storage_file}, names=names)


def _storage_file(data: Any) -> Storage:
    if not isinstance(data, bytes):
        raise UnsafeFileError(f"A storage is {describe(data)}, not bytes")
    made = _load_older(data, ())
    if not isinstance(made, Storage):
        raise UnsafeFileError(f"A file inside the pickle holds {describe(made)}, not one storage")
    return made


def _load_zip(path: Path, records: Collection[str], names: set[str] | None) -> Any:
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
            return load(pickled, records=records, persistent=persistent, size=size, names=names)
    except _BROKEN as error:
        raise UnsafeFileError(f"{path.name} is not a complete file of torch.save: {str(error)[:120]}") from error


def _check_zip(opened: zipfile.ZipFile, path: Path) -> str:
    """Return the folder that holds everything. What is read is stored uncompressed, in both forms.

    TorchScript files have the same form and also hold compressed source code, which is never opened.
    """
    infos = opened.infolist()
    roots = [info.filename.removesuffix("/data.pkl") for info in infos if info.filename.endswith("/data.pkl")]
    if len(roots) != 1:
        raise UnsafeFileError(f"{path.name} has {len(roots)} files data.pkl; a file of torch.save has one")
    read = [info for info in infos if info.filename.startswith((f"{roots[0]}/data", f"{roots[0]}/byteorder"))]
    if any(info.compress_type != zipfile.ZIP_STORED for info in read):
        raise UnsafeFileError(f"{path.name} has compressed parts; torch.save writes none")
    if sum(info.file_size for info in read) > path.stat().st_size:
        raise UnsafeFileError(f"The parts of {path.name} are larger than the file")
    order = f"{roots[0]}/byteorder"
    if order in opened.namelist() and opened.read(order) != b"little":
        raise UnsafeFileError(f"{path.name} has big-endian numbers", fix="Save it again on a little-endian machine.")
    return roots[0]


def _load_older(data: bytes, records: Collection[str], names: set[str] | None = None) -> Any:
    """Read the older form: three headers, the object, the keys of its storages, then their bytes.

    The bytes come last, so the object is read twice: once to learn which storages there are, once to fill it.
    """
    stream = io.BytesIO(data)
    if load_next(stream) != _MAGIC or load_next(stream) != _PROTOCOL:
        raise UnsafeFileError("The file is a pickle, but not one of torch.save")
    system = load_next(stream)
    if not isinstance(system, dict) or system.get("little_endian") is not True:
        raise UnsafeFileError("The file has big-endian numbers", fix="Save it again on a little-endian machine.")
    start, kept = stream.tell(), dict[str, Storage]()

    def persistent(given: Any) -> Storage:
        key, empty = _storage(given)
        return _same(kept.setdefault(key, empty), empty)

    skipped = dict.fromkeys(TENSORS, lambda *_: None)
    load_next(stream, records=records, persistent=persistent, builders=skipped)
    _fill(stream, kept)
    return load_next(io.BytesIO(data[start:]), records=records, persistent=persistent, names=names)


def _fill(stream: io.BytesIO, kept: dict[str, Storage]) -> None:
    keys = load_next(stream)
    view = stream.getbuffer()
    if not isinstance(keys, list) or not all(isinstance(key, str) for key in keys) or sorted(keys) != sorted(kept):
        raise UnsafeFileError("The list of storages differs from those that the file uses")
    start = stream.tell()
    for key in keys:
        count, size = int.from_bytes(view[start : start + 8], "little"), kept[key].size
        if count != kept[key].count or start + 8 + count * size > len(view):
            raise UnsafeFileError(f"Storage {describe(key)} lacks bytes for its {count:,} numbers")
        kept[key].data = bytes(view[start + 8 : start + 8 + count * size])
        start += 8 + count * size


def _storage(given: Any) -> tuple[str, Storage]:
    """Read a persistent id: ``("storage", type, key, location, count)``, and a view that must be empty."""
    if not (isinstance(given, tuple) and len(given) in {5, 6} and given[0] == "storage" and isinstance(given[2], str)):
        raise UnsafeFileError(f"A persistent id does not name a storage: {describe(given)}")
    if len(given) == 6 and given[5] is not None:
        raise UnsafeFileError(f"Storage {describe(given[2])} is a view of another, which is not supported")
    return given[2], storage_of(given[1], given[4])


def _same(known: Storage, said: Storage) -> Storage:
    if (known.dtype, known.count) != (said.dtype, said.count):
        raise UnsafeFileError(f"A storage has two types or sizes: {said.dtype} and {known.dtype}")
    return known
