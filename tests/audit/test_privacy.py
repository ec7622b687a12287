"""forget erases a person everywhere; audits of files contain no pixel; retention dates are kept."""

from __future__ import annotations

import json
import re
import shutil
from datetime import date, timedelta

import numpy as np
import pandas as pd
import pytest

import likewise as lw
from likewise.audit.folder.store import Folder
from likewise.audit.plan.sections import PrivacyPlan
from likewise.audit.privacy.ledger import Ledger
from likewise.audit.privacy.sources import Person, _answers, mentions
from likewise.cli.main import main
from likewise.data.keys import known_keys
from likewise.errors import PlanError, TableError
from likewise.services.cassette import Cassette, Recorded

PIXELS = re.compile(rb"\x89PNG\r\n|\xff\xd8\xff[\xe0-\xef]|GIF8[79]a|RIFF....WEBP|data:image/(?!svg)", re.DOTALL)


def code_of(*arguments: object) -> int:
    try:
        main([str(argument) for argument in arguments])
    except SystemExit as stop:
        return int(stop.code or 0)
    return 0


@pytest.fixture
def files(tmp_path):
    """A table, scores and embeddings of 40 people."""
    images, _ = lw.World(identities=40, seed=4).draw()
    images.write(tmp_path / "people.csv")
    pairs = lw.trials(images, seed=0, impostors=6).frame
    score = np.where(pairs["same"], 0.8, 0.3) + np.random.default_rng(0).normal(0, 0.1, len(pairs))
    pairs[["a", "b"]].assign(score=score).to_csv(tmp_path / "scores.csv", index=False)
    lw.Vectors(images.keys, np.random.default_rng(1).normal(size=(len(images), 4)), source="x").write(
        tmp_path / "e.npz"
    )
    return tmp_path


def scored(files):
    return lw.scores(files / "scores.csv", files / "people.csv", out=files / "audit", progress=False)


def test_a_person_is_erased_from_every_file(files, capsys):
    audit = scored(files)
    who = audit.images.frame["identity"].iloc[0]
    keys = audit.images.frame.loc[audit.images.frame["identity"] == who, "image"].tolist()
    assert mentions(files, keys)
    assert code_of("forget", who, "--in", files / "audit", "--dry-run") == 0
    assert "scores.csv:" in capsys.readouterr().out
    assert (files / "audit" / "report.html").is_file()
    assert code_of("forget", who, "--in", files / "audit", "--yes") == 0
    (files / "e.npz").unlink()  # not part of this audit
    assert mentions(files, keys) == []
    after = lw.Audit(files / "audit")
    assert (after.stages()["status"] == "up to date").all()
    assert len(after.images) == 120 - len(keys)
    entries = json.loads((files / "audit" / "erasures.json").read_text())["erasures"]
    assert entries[0]["images"] == len(keys)
    assert who not in (files / "audit" / "erasures.json").read_text()


@pytest.mark.parametrize("name", ["", ".", "..", "/", "a.png/..", float("nan"), None, 3])
def test_names_that_no_image_has_are_nobodys(name):
    assert not Person("A", ("a.png", "..", "x")).has(name) or name == ".."
    images, _ = lw.World(identities=24, seed=4).draw()
    names = pd.Series([images.keys[0], name], dtype="object")
    assert known_keys(names, images, "scores.csv", strict=False).isna().tolist() == [False, True]
    with pytest.raises(TableError, match=r"1 images in scores\.csv are not in the table|not in the table"):
        known_keys(names, images, "scores.csv")


@pytest.mark.parametrize("line", ["{", "[" * 100_000])
def test_what_cannot_be_read_is_not_erased(tmp_path, line):
    path = tmp_path / "labels.jsonl"
    path.write_text(f'{{"image": "a.png"}}\n{line}\n')
    with pytest.raises(TableError, match=r"labels\.jsonl"):
        _answers(path, Person("A", ("a.png",)))


@pytest.mark.parametrize("content", [b"[" * 100_000, b'{"format": "9"}', b"[]", b"\x80"])
def test_a_damaged_sidecar_counts_as_none(tmp_path, content):
    (tmp_path / "images.parquet.json").write_bytes(content)
    assert Folder(tmp_path, new=True).sidecar("images.parquet") is None


def test_an_erased_person_does_not_come_back(files):
    shutil.copy(files / "people.csv", files / "old.csv")
    audit = scored(files)
    who = audit.images.frame["identity"].iloc[0]
    assert code_of("forget", who, "--in", files / "audit", "--yes", "--no-run") == 0
    shutil.copy(files / "old.csv", files / "people.csv")
    audit.run(progress=False)
    assert who not in set(lw.Audit(files / "audit").images.frame["identity"])


def test_images_and_embeddings_are_erased(audit, tmp_path, capsys):
    given = ["--protected=perceived_gender", "--focal=female", "--reference=male", "--generator=world", "--no-times"]
    data = ["--images", audit / "images", "--table", audit / "faces.csv", "--rater", "recognizer:world"]
    assert code_of("init", tmp_path / "mine", *data, *given) == 0
    frame = pd.read_csv(audit / "faces.csv", dtype=str)
    who = frame["identity"].iloc[0]
    keys = frame.loc[frame["identity"] == who, "image"].tolist()
    assert code_of("run", tmp_path / "mine", "--quiet") == 0
    assert code_of("forget", who, "--in", tmp_path / "mine", "--yes", "--no-run") == 0
    assert mentions(tmp_path / "mine", keys) == []
    assert mentions(audit / "images", keys) == []
    assert not (pd.read_csv(audit / "faces.csv", dtype=str)["identity"] == who).any()


def test_nobody_of_that_name_is_an_error(files, capsys):
    scored(files)
    assert code_of("forget", "nobody", "--in", files / "audit", "--yes") == 2
    assert "No image of the identity 'nobody'" in capsys.readouterr().err
    assert (files / "audit" / "report.html").is_file()


def test_recorded_responses_of_others_stay(tmp_path):
    def entry(request: str) -> Recorded:
        return Recorded(request=request, date="2026-01-01", model="m", answer={}, asked={})

    kept = Cassette(tmp_path / "c.jsonl")
    for request in ("one", "two", "one"):
        kept.add(entry(request))
    assert kept.count({"one"}) == 2
    kept.remove({"one"})
    again = Cassette(tmp_path / "c.jsonl")
    assert again.find("one") is None
    assert again.find("two") is not None


def test_names_of_units_are_recognized():
    person = Person("p", ("a/1.jpg",))
    assert all(map(person.has, ["a/1.jpg", "a/1", "x|a/1.jpg", "a/1.jpg@+1", "a/1.jpg~random@-1"]))
    assert not any(map(person.has, ["a/11.jpg", "x|y", "1", None]))


def test_the_ledger_of_another_folder_cannot_be_joined(tmp_path):
    first, second = Ledger.read(tmp_path / "x"), Ledger.read(tmp_path / "y")
    assert first.hash_of("p") != second.hash_of("p")


def test_scores_only_audits_contain_no_pixel(files):
    scored(files)
    assert [path for path in (files / "audit").rglob("*") if path.is_file() and PIXELS.search(path.read_bytes())] == []


def test_embeddings_only_audits_contain_no_pixel(files):
    given = ["--protected=perceived_gender", "--focal=female", "--reference=male"]
    assert code_of("audit", files / "audit", "--table", files / "people.csv", *given, "--embeddings",
                   f"arc={files / 'e.npz'}", "--quiet") == 0  # fmt: skip
    assert [path for path in (files / "audit").rglob("*") if path.is_file() and PIXELS.search(path.read_bytes())] == []


def test_the_search_for_pixels_finds_them(tmp_path, audit):
    found = [path for path in (audit / "images").iterdir() if PIXELS.search(path.read_bytes())]
    assert len(found) == len(list((audit / "images").iterdir()))


def test_a_retention_date_that_passed_stops_check_and_run(files, capsys):
    scored(files)
    plan = files / "audit" / "audit.toml"
    text = plan.read_text()
    plan.write_text(f'{text}\n[privacy]\nretain_until = "{date.today() - timedelta(days=1)}"\n')
    assert code_of("check", files / "audit") == 2
    assert "were to be kept until" in capsys.readouterr().out
    assert code_of("run", files / "audit", "--quiet") == 2
    plan.write_text(f'{text}\n[privacy]\nretain_until = "{date.today() + timedelta(days=9)}"\n')
    assert code_of("check", files / "audit") == 0
    assert "for 9 more days" in capsys.readouterr().out


def test_a_retention_date_is_a_date():
    with pytest.raises(PlanError, match="Write a date"):
        PrivacyPlan(retain_until="next year")
