"""Services in an audit: estimated costs, approval, recorded responses, and keys that are never written."""

from __future__ import annotations

import json
import logging
import re
from pathlib import Path

import pandas as pd
import pytest

import likewise as lw
from likewise.simulation.components import WorldClassifier
from shell import run
from tagging_services import KEY, NAMES, OWN, tagger


def labels(picture):
    scores = WorldClassifier().score(picture[None])
    return [(label, float(value[0])) for label, value in scores.items() if value[0] >= 0.5]


@pytest.fixture
def server(monkeypatch):
    for name in ("GOOGLE_API_KEY", "CLARIFAI_PAT", "AZURE_VISION_KEY", "TAGGER_KEY", "AWS_ACCESS_KEY_ID"):
        monkeypatch.setenv(name, KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", KEY + "-secret")
    with tagger() as running:
        running.see = labels
        yield running


def audited_by(audit: Path, raters: str) -> None:
    """Put services in the place of the world's classifier, and sweep few faces."""
    text = (audit / "audit.toml").read_text()
    text = re.sub(r"\[\[rater\]\].*?(?=\[counterfactual\])", raters + "\n", text, flags=re.DOTALL)
    text, sections = re.subn(r"\[collect\].*?(?=\[estimate\])", "", text, flags=re.DOTALL)
    text = text.replace("strengths = [-2.0, -1.0, 0.0, 1.0, 2.0]", "strengths = [-1, 0, 1]\nmost = 8\nplacebo = false")
    assert sections == 1 and "most = 8" in text
    (audit / "audit.toml").write_text(text)


def azure(server, more: str = "") -> str:
    return (
        f'[[rater]]\nkind = "classifier"\nname = "azure"\noptions = {{ endpoint = "{server.url}", wait = 0.001{more} }}'
    )


@pytest.fixture
def ready(audit, server, capsys) -> Path:
    """An audit that waits for its rater."""
    audited_by(audit, azure(server))
    for stage in ("read", "trials", "counterfactual"):
        assert run(capsys, stage, audit, "--quiet")[0] == 0
    return audit


def test_a_dry_run_shows_the_costs_of_services(audit, server, capsys):
    audited_by(audit, azure(server))
    code, out, _ = run(capsys, "run", audit, "--dry-run")
    assert code == 0
    assert f"azure: at most 24 pictures are sent to 127.0.0.1:{server.server_port}, 0.02 USD" in out
    _, out, _ = run(capsys, "run", audit, "--dry-run", "--json")
    assert ["azure: at most" in str(stage["notes"]) for stage in json.loads(out)["stages"]].count(True) == 1
    assert not (audit / "cassettes").exists()


def test_costs_must_be_approved(ready, server, capsys):
    code, _, err = run(capsys, "rate", ready)
    assert code == 2
    assert "Approve it with --yes, or with --max-cost 0.03" in err
    code, _, err = run(capsys, "rate", ready, "--max-cost", "0.01")
    assert code == 2
    assert "would cost 0.02 USD, more than the limit of 0.01 USD" in err
    assert server.calls == 0


def test_ratings_of_a_service_equal_those_of_its_model(ready, server, capsys):
    code, _, _ = run(capsys, "rate", ready, "--yes", "--json")
    assert code == 0
    rated = lw.Ratings.read(ready / "ratings.parquet").frame
    assert set(rated["rater"]) == {"azure"}
    direct = _directly(ready)
    both = rated.merge(direct, on=["unit", "question"])
    assert len(both) == len(rated)
    assert (both["value_x"] == both["value_y"].where(both["value_y"] >= 0.5, 0.0)).all()
    sidecar = json.loads((ready / "ratings.parquet.json").read_text())
    assert re.search(r"azure: responses of 20.* by model 3.0 \(24\)", str(sidecar["notes"]))


def _directly(audit: Path) -> pd.DataFrame:
    from likewise.audit.context import StageContext
    from likewise.audit.folder.store import Folder
    from likewise.audit.stages import read_plan

    made, album = StageContext(Folder(audit), read_plan(audit / "audit.toml")).counterfactuals()
    wide = pd.DataFrame(WorldClassifier().score(album(made.keys))).assign(unit=made.keys)
    return wide.melt(id_vars="unit", var_name="question", value_name="value")


def test_a_failed_run_resumes_and_pays_only_for_the_rest(ready, server, capsys):
    server.moods = [""] * 10 + ["expired"] * 24
    code, _, err = run(capsys, "rate", ready, "--yes")
    assert code == 5
    assert "azure refused the key" in err
    kept = len((ready / "cassettes" / "azure.jsonl").read_text().splitlines())
    assert kept >= 10
    server.moods, before = [], server.calls
    _, out, _ = run(capsys, "rate", ready, "--dry-run")
    assert f"azure: {24 - kept} pictures are sent to" in out
    assert run(capsys, "rate", ready, "--max-cost", "0.02")[0] == 0
    assert server.calls - before == 24 - kept


def test_a_finished_audit_is_rated_again_offline(ready, server, capsys):
    assert run(capsys, "run", ready, "--yes", "--quiet")[0] == 0
    report = (ready / "report.html").read_text()
    assert "azure: responses of" in report
    ratings, calls = (ready / "ratings.parquet").read_bytes(), server.calls
    (ready / "ratings.parquet").unlink()
    server.shutdown()
    code, _, err = run(capsys, "rate", ready)
    assert (code, server.calls) == (0, calls), err
    assert (ready / "ratings.parquet").read_bytes() == ratings


def test_a_service_without_labels_is_an_error(ready, server, capsys):
    server.see = lambda picture: []
    code, _, err = run(capsys, "rate", ready, "--yes")
    assert code == 2
    assert "The classifier 'azure' returned no label for any picture" in err


def test_labels_in_another_script_reach_the_report(ready, server, capsys):
    server.see = lambda picture: [("眼鏡", 0.9)] + ([("Krawatte", 0.9)] if picture.mean() > 120 else [])
    code, _, err = run(capsys, "run", ready, "--yes", "--quiet")
    assert code == 0, err
    assert "眼鏡" in (ready / "report.html").read_text()


def test_labels_of_two_languages_are_kept_apart_and_noted(audit, server, capsys):
    """'Bart' is a beard for one of them and a name for the other: two labels, and a warning."""
    german = azure(server, ', language = "de"')
    english = f'[[rater]]\nkind = "classifier"\nname = "google-vision"\noptions = {{ endpoint = "{server.url}" }}'
    (audit / "tagger.toml").write_text(OWN.format(url=server.url))
    unsaid = '[[rater]]\nkind = "classifier"\nname = "http"\noptions = { path = "tagger.toml" }'
    text = (audit / "audit.toml").read_text()
    raters = "\n".join([german, english, unsaid])
    text, sections = re.subn(r"\[\[rater\]\].*?(?=\[estimate\])", raters + "\n", text, flags=re.DOTALL)
    assert sections == 1
    (audit / "audit.toml").write_text(text.replace('truth = "truth.parquet"', 'labels = ["Bart", "Hemd"]'))
    server.see = lambda picture: (
        [("Ding", 0.9)] + [(word, 0.9) for word, n in (("Bart", 2), ("Hemd", 3)) if int(picture.sum()) % n == 0]
    )
    code, _, err = run(capsys, "run", audit, "--yes", "--quiet")
    assert code == 0, err
    report = (audit / "report.html").read_text()
    sidecars = [json.loads((audit / f"{name}.parquet.json").read_text()) for name in ("ratings", "estimates")]
    notes = [note for sidecar in sidecars for note in sidecar["notes"]]
    for words in (
        "azure: its 3 labels are in the language 'de', e.g. 'Bart', 'Ding', 'Hemd'.",
        "own-tagger: the language of its 3 labels is not known",
        "several languages: azure (de), google-vision (en).",
        "azure: labels of the plan that also exist in the language 'de': 'Bart', 'Hemd'.",
    ):
        assert [words in note for note in notes].count(True) == 1, (words, notes)
    assert "labels in “de”" in report
    assert "several languages" in report
    quantities = set(lw.Estimates.read(audit / "estimates.parquet").frame["quantity"])
    assert {f"{rater}: Share labeled Bart" for rater in ("azure", "google-vision", "own-tagger")} <= quantities
    assert {rater["name"]: rater["language"] for rater in sidecars[0]["summary"]["raters"]} == {
        "azure": "de",
        "google-vision": "en",
        "own-tagger": "",
    }


def test_the_description_of_a_service_is_part_of_the_plan(ready, server, capsys):
    (ready / "tagger.toml").write_text(OWN.format(url=server.url))
    audited = (ready / "audit.toml").read_text()
    (ready / "audit.toml").write_text(
        re.sub(r'name = "azure"\noptions = .*', 'name = "http"\noptions = { path = "tagger.toml" }', audited)
    )
    assert run(capsys, "rate", ready, "--yes")[0] == 0
    assert set(lw.Ratings.read(ready / "ratings.parquet").frame["rater"]) == {"own-tagger"}
    (ready / "tagger.toml").write_text(OWN.format(url=server.url).replace("0.55", "0.60"))
    _, out, _ = run(capsys, "rate", ready, "--dry-run")
    assert "options or inputs changed" in out


def test_keys_are_never_written_or_printed(ready, server, capsys, caplog):
    """All services answer, fail, and repeat the key in their errors; then everything is searched for it."""
    (ready / "tagger.toml").write_text(OWN.format(url=server.url))
    own = {"http": 'path = "tagger.toml"'}
    raters = [
        f'[[rater]]\nkind = "classifier"\nname = "{name}"\n'
        f"options = {{ {own.get(name, f'''endpoint = {server.url!r}''')}, wait = 0.001, concurrency = 1 }}"
        for name in NAMES
    ]
    said = []
    caplog.set_level(logging.DEBUG)
    for name in ("boto3", "botocore", "urllib3", "httpx2", "httpcore2", "google", "google.auth", "grpc"):
        caplog.set_level(logging.DEBUG, logger=name)
    for rater in raters:
        text = (ready / "audit.toml").read_text()
        text = re.sub(r"\[\[rater\]\].*?(?=\[counterfactual\])", lambda _, r=rater: r + "\n", text, flags=re.DOTALL)
        (ready / "audit.toml").write_text(text)
        for moods in (["", "broken", "expired"], ["cut", "half", "bad picture"]):
            server.moods = list(moods)
            said.append(run(capsys, "rate", ready, "--yes", "--json"))
            said.append(run(capsys, "rate", ready, "--dry-run"))
    assert sorted({code for code, _, _ in said}) == [0, 5]
    assert sum(code == 5 for code, _, _ in said) == len(NAMES)
    files = {path: path.read_bytes() for path in ready.rglob("*") if path.is_file()}
    assert len([path for path in files if path.suffix == ".jsonl"]) == len(NAMES)
    assert not [path for path, content in files.items() if KEY.encode() in content]
    assert KEY not in str(said)
    assert KEY not in caplog.text
