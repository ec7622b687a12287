"""Scores, embeddings and labels that somebody else's program wrote."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import likewise as lw
from invariants import check_ratings
from likewise.data.precomputed_labels import read_labels
from likewise.data.precomputed_scores import rate_embeddings, rate_scores, read_scores, trials_of
from likewise.errors import TableError, VectorError

FACES = lw.Images(
    pd.DataFrame({"image": ["a1.jpg", "a2.jpg", "a3.jpg", "b1.jpg", "b2.jpg"], "identity": list("AAABB")})
)


def scored(tmp_path, text, **options):
    (tmp_path / "s.csv").write_text(text)
    given = {"columns": {}, "measure": "distance", "scale": 1.0, **options}
    return read_scores(tmp_path / "s.csv", FACES, **given)


def test_a_similarity_becomes_a_distance_and_genuine_pairs_are_seen_from_both_ends(tmp_path):
    found = scored(
        tmp_path, "left,right,s\na1,a2,90\na1.jpg,b1.jpg,20\n",
        columns={"a": "left", "b": "right", "score": "s"}, measure="similarity", scale=100,
    )  # fmt: skip
    rows = {(row.a, row.b): row.distance for row in found.itertuples()}
    assert rows == pytest.approx({("a1.jpg", "a2.jpg"): 0.1, ("a2.jpg", "a1.jpg"): 0.1, ("a1.jpg", "b1.jpg"): 0.8})
    trials = trials_of([found], FACES)
    trials.check_images(FACES)
    assert len(trials.genuine()) == 2
    check_ratings(rate_scores(found, "vendor"))
    rate_scores(found, "vendor").check_units(trials.frame["trial"])


def test_a_pair_in_both_directions_is_left_as_it_is(tmp_path):
    found = scored(tmp_path, "a,b,score\na1,a2,0.3\na2,a1,0.4\na3,b1,\n")
    assert found["distance"].tolist() == [0.3, 0.4, pytest.approx(np.nan, nan_ok=True)]


def test_a_trial_is_one_unit_whatever_its_directions(tmp_path):
    text = "a,b,score\na2,a1,0.3\na1,a2,0.4\na3,b1,\nb1,a3,0.9\nb2,b1,0.2\n"
    found = scored(tmp_path, text, from_both_ends=False)
    rows = {(row.a, row.b): row.distance for row in found.itertuples()}
    expected = {("a1.jpg", "a2.jpg"): 0.35, ("a3.jpg", "b1.jpg"): 0.9, ("b1.jpg", "b2.jpg"): 0.2}
    assert rows == pytest.approx(expected)
    assert len(trials_of([found], FACES).genuine()) == 2


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a,b\na1,a2\n", "Column 'score' not found in"),
        ("a,b,score\na1,a1,1\n", "compares images with themselves"),
        ("a,b,score\na1,a2,1\na1.jpg,a2.jpg,1\n", "several scores for"),
        ("a,b,score\na1,z9,1\n", "not in the table: 'z9'"),
        ("a,b,score\na1,a2,near\n", "not finite numbers: 'near'"),
        ("a,b,score\n", "has no rows"),
    ],
)
def test_wrong_scores_are_refused(tmp_path, text, says):
    with pytest.raises(TableError, match=says):
        scored(tmp_path, text)


def test_score_files_of_one_audit_are_about_the_same_pairs(tmp_path):
    one, other = scored(tmp_path, "a,b,score\na1,a2,1\n"), scored(tmp_path, "a,b,score\na1,a3,1\n")
    with pytest.raises(TableError, match="score files hold different trials"):
        trials_of([one, other], FACES)


@pytest.mark.parametrize("measure", ["cosine", "euclidean"])
def test_embeddings_become_distances_and_missing_ones_no_answers(tmp_path, measure):
    values = np.array([[1.0, 0], [0, 2], [np.nan, 0], [3, 0]], dtype=np.float32)
    np.savez(tmp_path / "e.npz", names=np.array(["a1", "a2", "a3", "b1"]), values=values)
    trials = lw.trials(FACES, seed=0)
    rated = rate_embeddings(tmp_path / "e.npz", trials, FACES, "mine", measure=measure).frame.set_index("unit")["value"]
    for row in trials.frame.itertuples():
        ends = {row.a, row.b}
        if ends == {"a1.jpg", "a2.jpg"}:
            assert rated[row.trial] == pytest.approx(1.0 if measure == "cosine" else np.sqrt(5))
        elif "a3.jpg" in ends or "b2.jpg" in ends:
            assert np.isnan(rated[row.trial])
    assert rated.notna().any()
    np.savez(tmp_path / "o.npz", names=np.array(["x"]), values=values[:1])
    with pytest.raises(VectorError, match="no embedding of any image"):
        rate_embeddings(tmp_path / "o.npz", trials, FACES, "mine", measure=measure)


def labeled(tmp_path, name, text, scale=1.0, columns=None):
    (tmp_path / name).write_text(text)
    ratings = read_labels(tmp_path / name, FACES, "api", columns=columns or {}, scale=scale)
    check_ratings(ratings)
    return ratings.frame.pivot(index="unit", columns="question", values="value")


LINES = "\n".join(
    json.dumps({"image": image, "labels": labels})
    for image, labels in [
        ("a1", {"Smile": 0.9, "Hat": 0.2}),
        ("a2.jpg", [{"Name": "Smile", "Confidence": 0.4}]),
        ("b1.jpg", []),
    ]
)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("l.csv", "image,label,confidence\na1,Smile,0.9\na1,Hat,0.2\na2.jpg,Smile,0.4\nb1.jpg,,\n"),
        ("l.csv", "image,Smile,Hat\na1,0.9,0.2\na2.jpg,0.4,0\nb1.jpg,0,0\n"),
        ("l.jsonl", LINES),
    ],
)
def test_all_forms_of_labels_say_the_same(tmp_path, name, text):
    wide = labeled(tmp_path, name, text)
    assert wide["Smile"].to_dict() == {"a1.jpg": 0.9, "a2.jpg": 0.4, "b1.jpg": 0.0}
    assert wide["Hat"].to_dict() == {"a1.jpg": 0.2, "a2.jpg": 0.0, "b1.jpg": 0.0}


def test_labels_without_confidence_are_sure_and_a_refused_picture_has_no_answer(tmp_path):
    text = '{"image": "a1", "labels": ["Smile"]}\n{"image": "a2", "labels": null}\n'
    wide = labeled(tmp_path, "l.ndjson", text)
    assert wide.loc["a1.jpg", "Smile"] == 1.0
    assert np.isnan(wide.loc["a2.jpg", "Smile"])


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("l.csv", "image,label,confidence\na1,Smile,90\n", "Set scale = 100"),
        ("l.csv", "image,label,confidence\na1,Smile,0.9\na1,Smile,0.8\n", "has a label twice"),
        ("l.csv", "image,label,confidence\nz,Smile,0.9\n", "not in the table: 'z'"),
        ("l.csv", "file,label\na1,Smile\n", "Column 'image' not found"),
        ("l.jsonl", "{", "Line 1 of l.jsonl is not JSON"),
        ("l.jsonl", '{"image": "a1", "labels": {"Smile": "yes"}}', "without a number"),
        ("l.jsonl", '{"labels": {}}', "Line 1 of l.jsonl has no 'image'"),
        ("l.jsonl", '{"image": "a1", "labels": []}', "holds no label"),
    ],
)
def test_wrong_labels_are_refused(tmp_path, name, text, says):
    with pytest.raises(TableError, match=says):
        labeled(tmp_path, name, text)
