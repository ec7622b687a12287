"""Answers go out as Ratings with the plan's hash; platforms' files come in with all their quirks."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import likewise as lw
from likewise.cli.study.files import export_study, export_tasks, import_responses
from likewise.errors import StoreError, StudyError, TableError
from likewise.study.config.load import read_study
from likewise.study.platforms import read_responses
from likewise.study.store.export import controls, progress, rater_table, ratings, read_collected
from likewise.tables.io import read_frame
from small_study import ATTENTION, GOLD, PLAN, TRAINING, Visitor, form, open_small, write_study

ARMS = '[[arm]]\nname = "with"\n[[arm]]\nname = "without"\nattention = false\n'


@pytest.fixture
def answered(tmp_path):
    """A study with three raters: one done, one half-way who skipped, one who failed the practice."""
    plan = "certainty = true\ncomment = true\nskip = true\n" + PLAN
    site = open_small(write_study(tmp_path, plan=plan, more=TRAINING + GOLD + ATTENTION + ARMS))
    done, half, poor = (Visitor(site, worker=name) for name in ("done", "half", "poor"))
    done.to_the_end(done.join())
    page = half.join()
    for _ in range(3):
        while form(page) is None:
            page = half.get("/task").text
        item = site.study.items[half.item(page)]
        page = half.answer(page, f"{next(iter(item.answer.values()), 0):g}", certainty="1", comment="hm").text
    while form(page) is None:
        page = half.get("/task").text
    half.post("/task", **form(page), skip="1")
    poor.to_the_end(poor.join(), right=False)
    yield site, tmp_path
    site.close()


def test_only_answers_that_count_are_ratings(answered):
    site, _ = answered
    data = read_collected(site.engine, site.study)
    found, rest, who, far = ratings(data), controls(data), rater_table(data), progress(data)
    frame = found.frame
    assert list(frame.columns) == ["unit", "rater", "question", "value", "seconds", "session", "confidence"]
    assert set(frame["unit"]) <= {unit.key for unit in site.study.units}
    assert set(frame["session"]) <= {"with", "without"}
    assert (frame["seconds"] >= 0).all()
    assert set(rest["kind"]) >= {"training", "gold"}
    assert not set(rest["unit"]) & set(frame["unit"])
    assert list(who["state"]) == ["done", "working", "unqualified"]
    assert far["answered"] == len(frame)
    skipped = pd.concat([frame, rest])["value"].isna()
    assert skipped.sum() == 1


def test_every_export_carries_the_hash_of_the_plan(answered):
    site, folder = answered
    paths = export_study(folder, folder / "out", "")
    assert {path.name for path in paths} == {
        "ratings.parquet", "ratings.csv", "raters.csv", "controls.csv", "comments.csv", "export.json",
    }  # fmt: skip
    _, meta = read_frame(folder / "out" / "ratings.parquet")
    record = json.loads((folder / "out" / "export.json").read_text())
    assert meta["study"] == record["plan"] == site.plan_hash
    assert lw.Ratings.read(folder / "out" / "ratings.parquet") == lw.Ratings.read(folder / "out" / "ratings.csv")
    assert set(pd.read_csv(folder / "out" / "comments.csv")["comment"]) == {"hm"}


def test_a_study_that_was_never_served_has_nothing_to_export(tmp_path):
    with pytest.raises(StoreError, match=r"No responses to export"):
        export_study(write_study(tmp_path), tmp_path / "out", "")


@pytest.fixture
def study(tmp_path):
    return read_study(write_study(tmp_path, more=GOLD))


def test_toloka_files_with_their_quirks(study, tmp_path):
    """Columns in another order, a blank row, gold, a rejected assignment, an unanswered item, a byte-order mark."""
    path = tmp_path / "answers.tsv"
    path.write_text(
        "\ufeffOUTPUT:seen\tASSIGNMENT:worker_id\tINPUT:image\tGOLDEN:seen\tASSIGNMENT:status\n"
        "1\tw1\thttps://x.example/img/u0.png?sig=1\t\tAPPROVED\n"
        "\t\t\t\t\n"
        "false\tw2\tu0.png\t\tAPPROVED\n"
        "\tw1\tu1.png\t\tAPPROVED\n"
        "1\tw1\tg0.png\t1\tAPPROVED\n"
        "0\tw3\tu0.png\t\tREJECTED\n",
        encoding="utf-8",
    )
    frame = read_responses(study, "toloka", path).frame.sort_values(["unit", "rater"]).reset_index(drop=True)
    assert list(frame["unit"]) == ["u0.png", "u0.png", "u1.png"]
    assert list(frame["rater"]) == ["w1", "w2", "w1"]
    np.testing.assert_equal(frame["value"].to_numpy(), [1.0, 0.0, np.nan])


def test_mturk_files_with_their_quirks(study, tmp_path):
    path = tmp_path / "batch.csv"
    path.write_text(
        '"HITId","WorkerId","AssignmentStatus","WorkTimeInSeconds","Answer.seen.1","Answer.seen.0","Input.image"\n'
        '"h1","A1","Submitted","12","true","false","u0.png"\n'
        '"h1","A2","Approved","9","false","true","u0.png"\n'
        "\n"
        '"h2","A1","Approved","7","false","false","u1.png"\n'
        '"h3","A1","Rejected","1","true","false","u2.png"\n'
        '"h4","A1","Approved","5","true","false","g1.png"\n'
    )
    frame = read_responses(study, "mturk", path).frame
    assert [tuple(row) for row in frame[["unit", "rater", "seconds"]].to_numpy()] == [
        ("u0.png", "A1", 12.0), ("u0.png", "A2", 9.0), ("u1.png", "A1", 7.0),
    ]  # fmt: skip
    np.testing.assert_equal(frame["value"].to_numpy(), [1.0, 0.0, np.nan])
    path.write_text("WorkerId,Input.unit,Answer.seen\nA1,u3.png,Yes\nA2,u3.png,{}\n")
    frame = read_responses(study, "mturk", path).frame
    np.testing.assert_equal(frame["value"].to_numpy(), [1.0, np.nan])


def test_sagemaker_manifests_with_their_quirks(study, tmp_path):
    path = tmp_path / "answers.manifest"
    lines = [
        {"source-ref": "s3://bucket/faces/u0.png", "answers": [
            {"workerId": "p1", "answerContent": {"seen": {"label": "Yes"}}},
            {"workerId": "p2", "answerContent": {"seen": 0}},
        ]},
        None,
        {"source-ref": "s3://bucket/faces/u1.png", "annotations": [
            {"workerId": "p1", "annotationData": {"content": '{"seen": {}}'}},
            {"workerId": "p2", "annotationData": {"content": "{}"}},
        ]},
    ]  # fmt: skip
    path.write_text("\n".join("" if line is None else json.dumps(line) for line in lines))
    frame = read_responses(study, "sagemaker", path).frame
    np.testing.assert_equal(frame["value"].to_numpy(), [1.0, 0.0, np.nan, np.nan])
    path.write_text("{broken")
    with pytest.raises(TableError, match=r"line 1"):
        read_responses(study, "sagemaker", path)


@pytest.mark.parametrize(
    ("platform", "content"),
    [
        ("sagemaker", b"[" * 100_000),
        ("sagemaker", b'{"source-ref": "u0.png", "source": 3, "annotations": [{"annotationData": 1}]}'),
        ("sagemaker", b'{"source-ref": "u0.png", "answers": [{"answerContent": "' + b"[" * 100_000 + b'"}]}'),
        ("sagemaker", b'{"source-ref": "\x80"}'),
        ("mturk", b"WorkerId,Input.unit,Answer.seen\nA1,u0.png," + b"x" * 200_000),
        ("toloka", b"\xff\xfe"),
    ],
    ids=["nested", "types", "nested answer", "not UTF-8", "endless cell", "not UTF-8 either"],
)
def test_a_hostile_file_of_a_platform_is_an_error_message(study, tmp_path, platform, content):
    path = tmp_path / "answers"
    path.write_bytes(content)
    with pytest.raises(TableError, match=r"answers") as found:
        read_responses(study, platform, path)
    assert len(str(found.value)) < 2000


@pytest.mark.parametrize("content", [b"{", b"[" * 100_000, b"[]", b'{"hash": 3}', b"\x80"])
def test_a_damaged_frozen_plan_is_an_error_message(tmp_path, content):
    folder = write_study(tmp_path)
    open_small(folder).close()
    (folder / "study.frozen.json").write_bytes(content)
    with pytest.raises(StudyError, match=r"study\.frozen\.json is damaged"):
        open_small(folder)


@pytest.mark.parametrize(
    ("row", "rule"),
    [
        ("A1,u99.png,1", "is not in the study"),
        ("A1,u0.png,maybe", "is not an option of question"),
        ("A1,u0.png,1\nA1,u0.png,0", "has two different responses"),
    ],
)
def test_what_is_no_answer_is_refused(row, rule, study, tmp_path):
    path = tmp_path / "batch.csv"
    path.write_text(f"WorkerId,Input.unit,Answer.seen\n{row}\n")
    with pytest.raises(TableError, match=rule):
        read_responses(study, "mturk", path)
    path.write_text("WorkerId,Input.unit,Answer.sen\nA1,u0.png,1\n")
    with pytest.raises(TableError, match=r"Answer.seen"):
        read_responses(study, "mturk", path)


@pytest.mark.parametrize("platform", ["toloka", "mturk", "sagemaker"])
def test_tasks_go_out_and_their_answers_come_home(platform, tmp_path):
    """A worker on the platform fills in the very task file; what comes home is what was answered."""
    folder = write_study(tmp_path, more=GOLD)
    (path,) = export_tasks(folder, tmp_path / "out", platform, "https://example.org/images/")
    text = path.read_text()
    assert "https://example.org/images/u0.png" in text
    back = tmp_path / "answers"
    if platform == "sagemaker":
        filled = [json.loads(line) for line in text.splitlines()]
        for k, entry in enumerate(filled):
            entry["answers"] = [{"workerId": "w", "answerContent": {"seen": k % 2}}]
        back.write_text("\n".join(map(json.dumps, filled)))
    else:
        separator, given, who = ("\t", "OUTPUT:seen", "ASSIGNMENT:worker_id") if platform == "toloka" else (
            ",", "Answer.seen", "WorkerId")  # fmt: skip
        frame = pd.read_csv(path, sep=separator, dtype=str)
        if platform == "mturk":
            frame = frame.add_prefix("Input.")
        frame[given], frame[who] = [str(k % 2) for k in range(len(frame))], "w"
        frame[frame.columns[::-1]].to_csv(back, sep=separator, index=False)
    lines = import_responses(folder, back, platform, tmp_path / "home.parquet")
    assert lines[-1].startswith("wrote")
    frame, meta = read_frame(tmp_path / "home.parquet")
    assert dict(zip(frame["unit"], frame["value"], strict=True)) == {f"u{k}.png": float(k % 2) for k in range(8)}
    assert len(meta["study"]) == 64
