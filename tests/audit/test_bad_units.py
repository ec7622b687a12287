"""Units that cannot be matched, from the command line: each problem is explained where it arises."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from shell import run


def world(people: int = 40, seed: int = 1) -> tuple[pd.DataFrame, np.ndarray]:
    """Three images of each subject; age and light are associated with the group."""
    rng, each = np.random.default_rng(seed), 3
    who = np.repeat(np.arange(people), each)
    side = np.where(who % 2 == 0, 1, -1)
    frame = pd.DataFrame(
        {
            "file": [f"im{k:04d}" for k in range(len(who))], "subject": [f"S{p:03d}" for p in who],
            "assigned_sex": np.where(side > 0, "F", "M"),
            "years": (rng.uniform(-1, 1, people)[who] + 0.1 * side).round(3),
            "lux": (rng.uniform(-1, 1, len(who)) - 0.1 * side).round(3),
        }
    )  # fmt: skip
    return frame, np.column_stack([frame[["years", "lux"]], rng.normal(size=(len(who), 1))])


def audited(capsys, folder: Path, frame: pd.DataFrame, vectors: np.ndarray, rules: str = "") -> tuple[int, str]:
    """Start an audit of these tables, add rules to [match], run it up to the matched trials; return what is printed."""
    keys, rng = frame["file"].tolist(), np.random.default_rng(0)
    frame.to_csv(folder / "people.csv", index=False)
    for name, values in (("own", vectors), ("net", rng.normal(size=(len(frame), 4)))):
        np.savez(folder / f"{name}.npz", keys=np.array(keys), values=values.astype(np.float32))
    options = ["--protected", "assigned_sex", "--focal", "F", "--reference", "M", "--identity", "subject"]
    options += ["--image-column", "file", "--vectors", folder / "own.npz", "--embeddings", f"net={folder}/net.npz"]
    audit = folder / "audit"
    code, _, err = run(capsys, "init", audit, "--table", folder / "people.csv", *options, "--no-times")
    assert code == 0, err
    plan = (audit / "audit.toml").read_text(encoding="utf-8")
    (audit / "audit.toml").write_text(plan.replace("[match]\n", f"[match]\n{rules}\n"), encoding="utf-8")
    shown = ""
    for stage in ("read", "project", "trials", "match", "match-impostors"):
        code, out, err = run(capsys, stage, audit)
        shown += out + err
        if code:
            break
    return code, shown


def test_other_names_are_matched(capsys, tmp_path):
    code, shown = audited(capsys, tmp_path, *world())
    assert code == 0
    assert "Balanced within" in shown


def test_identities_with_one_image_are_counted(capsys, tmp_path):
    frame, vectors = world()
    kept = ~(frame["subject"].isin(["S000", "S001", "S002"]) & (frame.groupby("subject").cumcount() > 0))
    assert "3 identities are in no trial" in audited(capsys, tmp_path, frame[kept], vectors[kept])[1]


def test_an_exact_column_that_nobody_shares_is_named(capsys, tmp_path):
    frame, vectors = world()
    frame["never"] = np.where(frame["assigned_sex"] == "F", "p", "q")
    code, shown = audited(capsys, tmp_path, frame, vectors, 'exact = ["never"]')
    assert code == 0
    assert "No level of never (mean), never (difference) (exact) has units of both groups" in shown
    assert "The vectors may hold the attribute" not in shown


def test_a_covariate_that_is_the_attribute_is_named(capsys, tmp_path):
    frame, vectors = world()
    frame["eye"] = (frame["assigned_sex"] == "F").astype(int)
    shown = audited(capsys, tmp_path, frame, vectors, 'balance = ["eye"]')[1]
    assert "Covariate 'eye (mean)' is constant within each group" in shown
    assert "the closest pairs are taken" in shown


def test_a_covariate_that_is_constant_within_identities_is_balanced(capsys, tmp_path):
    frame, vectors = world()
    frame["eye"] = (frame["subject"].str[1:].astype(int) // 2) % 2
    code, shown = audited(capsys, tmp_path, frame, vectors, 'balance = ["eye"]')
    assert code == 0
    assert "Balanced within" in shown


@pytest.mark.parametrize(("rule", "code"), [("", 2), ('both_sides = "drop"', 0), ('both_sides = "majority"', 0)])
def test_an_identity_of_both_groups_is_an_error_or_dropped(capsys, tmp_path, rule, code):
    frame, vectors = world()
    frame.loc[frame["subject"] == "S003", "assigned_sex"] = ["F", "M", "M"]
    found, shown = audited(capsys, tmp_path, frame, vectors, rule)
    assert found == code, shown
    if code:
        assert "S003" in shown
        assert "both_sides" in shown
    else:
        assert "No impostor trials are matched" not in shown


def test_an_unknown_column_of_balance_is_found_before_any_work(capsys, tmp_path):
    audited(capsys, tmp_path, *world(), 'balance = ["yeras (mean)"]')
    code, out, err = run(capsys, "check", tmp_path / "audit")
    assert code == 2
    assert "Column 'yeras' of [match] not found" in out + err
    assert "Did you mean 'years'?" in out + err
