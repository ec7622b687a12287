from __future__ import annotations

import errno
import json
import subprocess
from pathlib import Path

import pytest

from likewise.audit.folder.store import PLAN, Folder, Sidecar, digest_of, key_of
from likewise.errors import BusyError, ReadOnlyError, SpaceError, StoreError, VersionError
from likewise.tables.io import replacing, write_text


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    (tmp_path / PLAN).touch()
    return Folder(tmp_path)


def seal(folder: Folder, key: str = "k") -> None:
    write_text(folder.path("a.txt"), "hello")
    side = Sidecar(stage="s", key=key, digest=digest_of(folder.path("a.txt")), inputs={}, options={}, seed=0)
    folder.seal("a.txt", side)


def test_a_folder_without_a_plan_is_none(tmp_path):
    with pytest.raises(StoreError, match="likewise init"):
        Folder(tmp_path)


def test_an_artifact_is_fresh_until_something_changes(folder):
    assert folder.stale("a.txt", "k") == "not written yet"
    write_text(folder.path("a.txt"), "hello")
    assert folder.stale("a.txt", "k") == "no sidecar"
    seal(folder)
    assert folder.stale("a.txt", "k") == ""
    assert folder.stale("a.txt", "other") == "options or inputs changed"
    folder.path("a.txt").write_text("hand-made")
    assert folder.stale("a.txt", "k") == "the artifact was modified"


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", '{"stage": 1}'])
def test_a_broken_sidecar_counts_as_none(folder, content):
    seal(folder)
    folder.path("a.txt.json").write_text(content)
    assert folder.stale("a.txt", "k") == "no sidecar"


def test_a_folder_of_a_newer_version_is_left_alone(folder):
    seal(folder)
    path = folder.path("a.txt.json")
    path.write_text(json.dumps({**json.loads(path.read_text()), "format": 99, "likewise": "9.0"}))
    with pytest.raises(VersionError, match=r"was written by likewise 9.0 \(format 99\).*Install likewise 9.0"):
        folder.stale("a.txt", "k")


def test_keys_depend_on_everything_and_not_on_order():
    base = key_of("s", {"a": 1, "b": 2}, 0, {"x": "1"})
    assert base == key_of("s", {"b": 2, "a": 1}, 0, {"x": "1"})
    others = [key_of("t", {"a": 1, "b": 2}, 0, {"x": "1"}), key_of("s", {"a": 1, "b": 3}, 0, {"x": "1"})]
    others += [key_of("s", {"a": 1, "b": 2}, 1, {"x": "1"}), key_of("s", {"a": 1, "b": 2}, 0, {"x": "2"})]
    assert len({base, *others}) == 5


def test_one_run_at_a_time(folder):
    with folder.locked(), pytest.raises(BusyError, match="Another run is working on"), Folder(folder.root).locked():
        pass
    with folder.locked():
        pass


def test_a_folder_artifact_is_swapped_whole(folder):
    with folder.replaced("latents") as fresh:
        (fresh / "a").write_text("old")
    with pytest.raises(RuntimeError), folder.replaced("latents") as fresh:
        (fresh / "a").write_text("half")
        raise RuntimeError
    assert (folder.path("latents") / "a").read_text() == "old"
    with folder.replaced("latents") as fresh:
        (fresh / "b").write_text("new")
    assert [p.name for p in folder.path("latents").iterdir()] == ["b"]


def test_a_failed_write_leaves_the_old_file(tmp_path):
    write_text(tmp_path / "a", "old")
    with pytest.raises(RuntimeError), replacing(tmp_path / "a") as temporary:
        temporary.write_text("half")
        raise RuntimeError
    assert [p.name for p in tmp_path.iterdir()] == ["a"]
    assert (tmp_path / "a").read_text() == "old"


@pytest.mark.parametrize(
    ("number", "kind"),
    [
        (errno.ENOSPC, SpaceError),
        (errno.EDQUOT, SpaceError),
        (errno.EROFS, ReadOnlyError),
        (errno.EACCES, ReadOnlyError),
    ],
)
def test_the_systems_refusals_are_explained(tmp_path, number, kind):
    with pytest.raises(kind, match=r"No space left|cannot be written"), replacing(tmp_path / "a"):
        raise OSError(number, "no")


@pytest.fixture
def small_disk(tmp_path: Path):
    """A real file system of 64 kB."""
    mount = tmp_path / "disk"
    mount.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(mount)], capture_output=True, check=False
    )
    if done.returncode:
        pytest.skip("mounting a small disk needs root")
    yield mount
    subprocess.run(["umount", str(mount)], check=True)


def test_a_full_disk_keeps_what_was_there(small_disk):
    write_text(small_disk / "a", "old")
    with pytest.raises(SpaceError, match="No space left to write a"):
        write_text(small_disk / "a", "x" * 200_000)
    assert (small_disk / "a").read_text() == "old"
    assert [p.name for p in small_disk.iterdir()] == ["a"]


def test_a_read_only_disk_is_said_to_be_one(small_disk):
    write_text(small_disk / PLAN, "")
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    with pytest.raises(ReadOnlyError, match="cannot be written to"):
        write_text(small_disk / "a", "x")
    with pytest.raises(ReadOnlyError, match="cannot be written to"), Folder(small_disk).locked():
        pass
