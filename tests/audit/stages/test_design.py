"""What a matching goes by, from audit.toml: recognizers, difficulties, given distances and scores."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest

import likewise as lw
from likewise.audit.plan.design_sections import DesignRecognizer
from likewise.audit.runner import run
from likewise.errors import PlanError, StageError, TableError
from likewise.runtime.progress import Quiet
from likewise.runtime.registry import register
from likewise.simulation.components import WorldRecognizer

LIMIT = 1.1


def add(audit, text: str, match: str = "") -> None:
    """Put options into [match] and sections behind everything."""
    plan = (audit / "audit.toml").read_text()
    if match:
        head, found, tail = re.split(r"(\[match\][^\n]*\n)", plan, maxsplit=1)
        plan = f"{head}{found}{match}\n{tail}"
    (audit / "audit.toml").write_text(f"{plan}\n{text}\n")


def do(audit, *stages: str) -> lw.Matches:
    for stage in stages:
        run(str(audit), reporter=Quiet(), only=stage)
    return lw.Matches.read(audit / "matches.parquet")


def statuses(audit) -> dict[str, str]:
    return {outcome.stage: outcome.status for outcome in run(str(audit), reporter=Quiet(), dry_run=True)}


def test_a_recognizer_and_a_perceptual_distance_take_part_in_the_design(audit):
    add(
        audit,
        f'[[secondary_distance]]\nrecognizer = "world"\nlimit = {LIMIT}\n[reference_difficulty]\nperceptual = "pixels"',
        "references = true\ndifficulty_ratio = 4.0",
    )
    pairs = do(audit, "read", "project", "embed", "match")
    faces = lw.Images.read(audit / "images.parquet")
    vectors = lw.Vectors.read(audit / "embeddings" / DesignRecognizer("world", {}).folder)
    hard = lw.Trials.read(audit / "embeddings" / "difficulty.parquet")
    by_hand = lw.match(
        faces,
        lw.Vectors.read(audit / "latents"),
        lw.Contrast("perceived_gender", focal="female", reference="male"),
        pairs.spec,
        within=[(vectors, LIMIT)],
        difficulty=hard,
    )
    assert pairs == by_hand
    assert len(pairs) > 0
    assert {f"{vectors.source} < {LIMIT:g}", "reference of a", "equally difficult"} <= set(pairs.ledger.columns)
    whose = faces.identities
    assert (whose.loc[hard.frame["a"]].to_numpy() == whose.loc[hard.frame["b"]].to_numpy()).all()
    again = statuses(audit)
    assert again["embed"] == again["match"] == "up to date"


def test_raters_are_asked_about_the_references_of_the_matching(audit):
    add(audit, '[reference_difficulty]\nperceptual = "pixels"', "references = true\ndifficulty_ratio = 4.0")
    assert statuses(audit)["trials"] == "would run"
    outcomes = {outcome.stage: outcome for outcome in run(str(audit), reporter=Quiet())}
    pairs, faces = lw.Matches.read(audit / "matches.parquet"), lw.Images.read(audit / "images.parquet")
    frame, genuine = pairs.frame, lw.Trials.read(audit / "trials.parquet").genuine().frame
    of = genuine.set_index("a")["b"]
    assert of.index.is_unique
    assert of.loc[frame["a"]].tolist() == frame["ref_a"].tolist()
    assert of.loc[frame["b"]].tolist() == frame["ref_b"].tolist()
    assert len(of) > 2 * len(frame)
    found = lw.Estimates.read(audit / "estimates.parquet").frame
    gaps = found[(found["stat"] == "gap") & (found["quantity"] == "world-recognizer: distance")]
    gaps = gaps.set_index("sample")["n"]
    side = lw.Contrast("perceived_gender", focal="female", reference="male").side(faces)
    assert gaps["all"] == int((side.loc[of.index] != 0).sum())
    assert gaps["matched"] == 2 * len(frame)
    assert any("chosen at random" in note for note in outcomes["trials"].notes)
    hard = lw.Trials.read(audit / "embeddings" / "difficulty.parquet")
    contrast = lw.Contrast("perceived_gender", focal="female", reference="male")
    by_hand = lw.trials(faces, seed=3, references=pairs, difficulty=hard, contrast=contrast)
    assert set(by_hand.frame["trial"]) == set(genuine["trial"])
    (audit / "audit.toml").write_text((audit / "audit.toml").read_text().replace("difficulty_ratio = 4.0", ""))
    assert statuses(audit)["trials"] == "may run"  # if the pairs turn out to be others


def test_a_family_on_both_sides_of_the_bench_is_said(audit, capsys):
    add(audit, f'[[secondary_distance]]\nrecognizer = "world"\nlimit = {LIMIT}')
    outcomes = run(str(audit), reporter=Quiet())
    notes = next(outcome.notes for outcome in outcomes if outcome.stage == "match")
    assert any("same family (world)" in note for note in notes)
    assert "same family (world)" in (audit / "report.html").read_text()
    assert next(outcome for outcome in outcomes if outcome.stage == "embed").summary
    with_other = (audit / "audit.toml").read_text().replace(f"limit = {LIMIT}", "limit = 9.0")
    (audit / "audit.toml").write_text(with_other)
    changed = statuses(audit)
    assert (changed["embed"], changed["match"]) == ("up to date", "would run")


def test_a_plan_without_measures_has_no_such_stage(audit):
    assert "embed" not in statuses(audit)


def test_matching_waits_for_embeddings(audit):
    add(audit, f'[[secondary_distance]]\nrecognizer = "world"\nlimit = {LIMIT}')
    with pytest.raises(StageError, match="embed"):
        do(audit, "read", "project", "match")


def test_files_of_vectors_difficulties_and_distances(audit):
    run(str(audit), reporter=Quiet(), only="read")
    faces = lw.Images.read(audit / "images.parquet")
    rng = np.random.default_rng(0)
    second = lw.Vectors(faces.keys, rng.normal(size=(len(faces), 3)), source="mine")
    second.write(audit / "mine.npz")
    add(
        audit,
        '[[secondary_distance]]\nvectors = "mine.npz"\nlimit = 2.0\n'
        '[reference_difficulty]\nvectors = "mine.npz"\n[precomputed_distances]\ndistances = "d.csv"',
        'references = true\ndistance = "precomputed"',
    )
    side = lw.Contrast("perceived_gender", focal="female", reference="male").side(faces)
    names = [list(side.index[side == sign]) for sign in (1, -1)]
    table = pd.DataFrame(rng.random((len(names[0]), len(names[1]))), index=names[0], columns=names[1])
    table.rename_axis("image").reset_index().to_csv(audit / "d.csv", index=False)
    pairs = do(audit, "project", "match")
    assert "mine < 2" in pairs.ledger.columns
    assert "embed" not in statuses(audit)
    first = pairs.frame.iloc[0]
    assert first["distance"] == pytest.approx(table.loc[first["a"], first["b"]])
    lw.Vectors(faces.keys, second.values * 0.5, source="mine").write(audit / "mine.npz")
    assert statuses(audit)["match"] == "would run"


def test_a_file_of_scores(audit):
    run(str(audit), reporter=Quiet(), only="read")
    faces = lw.Images.read(audit / "images.parquet")
    scores = pd.DataFrame({"image": faces.keys, "score": np.random.default_rng(0).normal(size=len(faces))})
    scores.to_csv(audit / "scores.csv", index=False)
    plan = re.sub(r"caliper = [^\n]*\n", "", (audit / "audit.toml").read_text())
    (audit / "audit.toml").write_text(plan)
    add(audit, '[precomputed_distances]\nscores = "scores.csv"', 'distance = "propensity"')
    pairs = do(audit, "project", "match")
    known = scores.set_index("image")["score"]
    assert np.allclose(pairs.frame["score_a"], known.loc[pairs.frame["a"]])
    scores.rename(columns={"score": "skore"}).to_csv(audit / "scores.csv", index=False)
    with pytest.raises(TableError, match="image and score"):
        do(audit, "match")


def test_a_recognizer_that_cannot_say_its_threshold_needs_a_limit(audit):
    add(audit, '[[secondary_distance]]\nrecognizer = "world"')
    with pytest.raises(PlanError, match="limit"):
        do(audit, "read", "project", "embed", "match")


def test_a_limit_is_in_the_recognizers_own_distance(audit):
    """An angle of 60 degrees between embeddings of length one is a euclidean distance of one."""

    class Angular(WorldRecognizer):
        name, family, threshold = "angular", "angular", 60.0

        def as_euclidean(self, limit):
            return float(2 * np.sin(np.radians(limit) / 2))

    register("recognizer", "angular", Angular)
    add(audit, '[[secondary_distance]]\nrecognizer = "angular"')
    pairs = do(audit, "read", "project", "embed", "match")
    assert "recognizer angular, family angular < 1" in pairs.ledger.columns
