"""Brings one archive over: resumed where the index promises a hash, checked, never taken for whole too early."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path
from typing import Any

from likewise.errors import ChecksumError, OfflineError, WeightsError
from likewise.runtime.executor import Progress
from likewise.runtime.pixels import digest
from likewise.runtime.progress import Reporter
from likewise.tables.io import explained
from likewise.weights.fetch.index import Link
from likewise.weights.fetch.net import Net, plain

_CHUNK = 1 << 16  # a connection that breaks loses at most this much
_MOST = 8 << 30  # bytes; no package index takes larger files


def download(link: Link, target: Path, net: Net, reporter: Reporter) -> None:
    """Write the archive to ``target``; what a broken try left in ``target`` is continued if it can be checked."""
    if link.local is not None:
        if not link.local.is_file():
            raise WeightsError(
                f"File not found: {link.local}, which the index names",
                fix="Check the folder of --find-links or of the index in the settings of pip.",
            )
        with explained(target):
            shutil.copyfile(link.local, target)
        _check(link, target)
        return
    resumed = bool(link.sha256) and target.is_file() and target.stat().st_size > 0
    if not resumed:
        target.unlink(missing_ok=True)
    _stream_on(link, target, net, reporter)
    if resumed and digest(target) != link.sha256:  # what was there was not the beginning of this file
        target.unlink()
        _stream_on(link, target, net, reporter)
    _check(link, target)


def _stream_on(link: Link, target: Path, net: Net, reporter: Reporter) -> None:
    """Stream, and go on after a broken connection as often as pip would try again, while something arrives."""
    for left in range(net.retries, -1, -1):
        before = target.stat().st_size if target.is_file() else 0
        try:
            return _stream(link, target, net, reporter)
        except OfflineError:
            after = target.stat().st_size if target.is_file() else 0
            if not (left and link.sha256 and after > before):
                raise
            reporter.say(f"{target.name}: the connection broke, going on from {after / 1e6:.1f} MB")
    return None


def _stream(link: Link, target: Path, net: Net, reporter: Reporter) -> None:
    start = target.stat().st_size if target.is_file() else 0
    # A compressed transfer could not be resumed, and its length would not be the file's.
    headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={start}-"} if start else {})
    with net.get(link.url, auth=link.auth, headers=headers) as response:
        if start and response.status_code == 416:  # nothing is left to send, or the file is shorter than what we have
            return
        if response.status_code not in {200, 206}:
            raise _refused(link, response.status_code)
        if not _continues(response, start):
            start = 0
        length = int(response.headers.get("Content-Length") or 0)
        with reporter.task(target.name, start + length if length else 0, unit="bytes") as counter, explained(target):
            counter.advance(start)
            _write(response, target, start, length, counter)


def _write(response: Any, target: Path, start: int, length: int, counter: Progress) -> None:
    got = 0
    with target.open("ab" if start else "wb") as handle:
        for block in response.iter_content(_CHUNK):
            handle.write(block)
            got += len(block)
            counter.advance(len(block))
            if start + got > _MOST:
                raise WeightsError(
                    f"The archive is larger than {_MOST:,} bytes",
                    fix="Check that the package index is the right one; no weight is that large.",
                )
    if length and got != length:
        fix = "Run the same command again; it goes on where it was."
        raise OfflineError(f"The download stopped at {got:,} of {length:,} bytes", fix=fix)


def _continues(response: Any, start: int) -> bool:
    return bool(response.status_code == 206) and str(response.headers.get("Content-Range", "")).startswith(
        f"bytes {start}-"
    )


def _refused(link: Link, status: int) -> WeightsError:
    if status in {401, 403, 407}:
        fix = "Check the credentials in pip's index-url or in netrc."
        return WeightsError(f"{plain(link.url)} refused access (status {status})", fix=fix)
    return OfflineError(f"{plain(link.url)} did not send the file (status {status})")


def _check(link: Link, target: Path) -> None:
    if not link.sha256:
        return
    with target.open("rb") as handle:
        got = hashlib.file_digest(handle, "sha256").hexdigest()
    if got != link.sha256:
        target.unlink()
        fix = "Nothing was kept. Run it again; if it stays so, the mirror holds another file."
        raise ChecksumError(f"{target.name} has the sha256 {got}, not {link.sha256}, which its index states", fix=fix)
