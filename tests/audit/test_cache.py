"""Results of networks are kept across audits by content."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

from likewise.audit.folder.cached_work import CachedWork
from likewise.cli.main import main
from likewise.data.keys import file_of
from likewise.runtime.content_cache import ContentCache, file_digest
from likewise.runtime.pixels import ImageFolder


@dataclass
class Counting:
    """Work that counts what it computes: the first byte of each file."""

    root: Path
    pictures: Path | None = None
    seen: list[str] = field(default_factory=list)

    def __call__(self, images: list[str]) -> dict[str, np.ndarray]:
        self.seen += images
        for image in images if self.pictures else []:
            (self.pictures / file_of(image)).write_bytes(image.encode())
        return {"e": np.array([[(self.root / image).read_bytes()[0]] for image in images], np.float32)}


@pytest.fixture
def album(tmp_path):
    for number in range(4):
        (tmp_path / f"{number}.png").write_bytes(bytes([number]) * 10)
    return ImageFolder(tmp_path, {f"{number}.png": f"{number}.png" for number in range(4)})


@pytest.fixture
def cache(tmp_path):
    return ContentCache(tmp_path / "cache")


def test_only_what_is_missing_is_computed_and_order_is_kept(album, cache):
    first, second = Counting(album.root), Counting(album.root)
    CachedWork(first, album, "k" * 64, cache)(["1.png", "3.png"])
    found = CachedWork(second, album, "k" * 64, cache)(["3.png", "0.png", "1.png", "2.png"])
    assert second.seen == ["0.png", "2.png"]
    assert found["e"].ravel().tolist() == [3, 0, 1, 2]


def test_other_bytes_and_other_work_are_other_entries(album, cache):
    CachedWork(Counting(album.root), album, "k" * 64, cache)(["1.png"])
    (album.root / "1.png").write_bytes(b"\x09")
    work = Counting(album.root)
    assert CachedWork(work, album, "k" * 64, cache)(["1.png"])["e"].item() == 9
    CachedWork(work, album, "m" * 64, cache)(["1.png"])
    assert work.seen == ["1.png", "1.png"]


def test_a_damaged_entry_is_computed_again(album, cache):
    CachedWork(Counting(album.root), album, "k" * 64, cache)(["1.png"])
    path = next(cache.entries())
    path.write_bytes(path.read_bytes()[:-3] + b"xyz")
    work = Counting(album.root)
    assert CachedWork(work, album, "k" * 64, cache)(["1.png"])["e"].item() == 1
    assert work.seen == ["1.png"]
    assert cache.get(file_digest(album.root / "1.png"), "k" * 64) is not None


def test_pictures_are_restored(album, cache, tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        work = Counting(album.root, tmp_path / name)
        CachedWork(work, album, "k" * 64, cache, tmp_path / name)(["2.png"])
    assert work.seen == []
    assert (tmp_path / "b" / file_of("2.png")).read_bytes() == b"2.png"


def test_the_oldest_entries_go_first(cache):
    small = ContentCache(cache.root, limit=3000)
    for number in range(6):
        small.put(f"{number:064d}", "k" * 64, {"e": np.zeros(100)})
    kept = small.get(f"{0:064d}", "k" * 64)  # used last
    assert kept is not None
    assert small.clean() > 0
    assert small.size() <= 3000
    assert small.get(f"{0:064d}", "k" * 64) is not None


def test_a_person_can_be_erased(album, cache):
    CachedWork(Counting(album.root), album, "k" * 64, cache)(list(album.files))
    assert cache.erase([file_digest(album.root / "1.png")]) == 1
    assert sum(1 for _ in cache.entries()) == 3


def test_concurrent_audits_share_it(album, cache):
    def audit(_: int) -> list[float]:
        return CachedWork(Counting(album.root), album, "k" * 64, cache)(list(album.files))["e"].ravel().tolist()

    with ThreadPoolExecutor(4) as pool:
        assert all(found == [0, 1, 2, 3] for found in pool.map(audit, range(20)))


def test_the_commands(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("LIKEWISE_HOME", str(tmp_path))
    ContentCache(tmp_path / "content").put("a" * 64, "b" * 64, {"e": np.zeros(2)})
    main(["cache", "list"])
    assert "1 entries of 1 images" in capsys.readouterr().out
    main(["cache", "clear"])
    assert "removed 1 entries" in capsys.readouterr().out
