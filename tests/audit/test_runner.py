"""The audit folder from outside: verbs, exit codes, what is made again and what is not, and every way to go wrong."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest

import likewise as lw
from likewise.audit.folder.store import Folder, digest_of
from likewise.cli.main import main
from shell import PROJECT, run

STAGES = [
    "read",
    "project",
    "match",
    "balance",
    "trials",
    "counterfactual",
    "validate-edits",
    "rate",
    "collect",
    "estimate",
    "export",
    "report",
]


def statuses(out: str) -> dict[str, str]:
    return {entry["stage"]: entry["status"] for entry in json.loads(out)["stages"]}


def change(audit: Path, old: str, new: str) -> None:
    text = (audit / "audit.toml").read_text()
    assert old in text
    (audit / "audit.toml").write_text(text.replace(old, new))


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> Path:
    """An audit that ran to its end."""
    folder = tmp_path_factory.mktemp("finished") / "audit"
    main(["demo", "--toy", str(folder), "--identities", "40", "--seed", "3", "--quiet"])
    return folder


@pytest.fixture
def done(finished, tmp_path) -> Path:
    """A copy of it that a test may spoil."""
    shutil.copytree(finished, tmp_path / "audit")
    return tmp_path / "audit"


def test_a_run_makes_every_artifact_and_names_the_report(audit, capsys):
    code, out, err = run(capsys, "run", audit)
    assert (code, out) == (0, f"report: {audit}/report.html\n")
    assert [line.split()[0] for line in err.splitlines() if " wrote " in line] == STAGES
    assert not list(audit.glob(".*.tmp"))
    assert not (audit / ".work").exists()


def test_what_is_fresh_is_skipped(done, capsys):
    code, out, _ = run(capsys, "run", done, "--json")
    assert code == 0
    assert statuses(out) == dict.fromkeys(STAGES, "up to date")


def test_only_what_depends_on_a_change_is_made_again(done, capsys):
    change(done, "distance = 4.5", "distance = 5.5")
    _, out, _ = run(capsys, "run", done, "--json")
    made = [stage for stage, status in statuses(out).items() if status == "wrote"]
    assert made == ["match", "balance", "estimate", "export", "report"]
    change(done, "seed = 3", "seed = 4")
    _, out, _ = run(capsys, "run", done, "--json")
    made = [stage for stage, status in statuses(out).items() if status == "wrote"]
    assert made == ["trials", "counterfactual", "validate-edits", "rate", "collect", "estimate", "export", "report"]


def test_a_touched_image_is_read_again_but_nothing_else_is(done, capsys):
    os.utime(done / "images" / "w0000-1.png")
    _, out, _ = run(capsys, "run", done, "--json")
    assert [stage for stage, status in statuses(out).items() if status == "wrote"] == ["read"]


def test_an_artifact_changed_by_hand_is_made_again(done, capsys):
    before = digest_of(done / "matches.parquet")
    lw.Matches(lw.Matches.read(done / "matches.parquet").frame.head(1)).write(done / "matches.parquet")
    _, out, _ = run(capsys, "match", done, "--dry-run", "--json")
    assert json.loads(out)["stages"][0]["why"] == "the artifact was modified"
    run(capsys, "run", done, "--quiet")
    assert digest_of(done / "matches.parquet") == before


def test_a_dry_run_lists_stages_with_reasons_and_writes_nothing(audit, capsys):
    before = sorted(path.name for path in audit.iterdir())
    code, out, err = run(capsys, "run", audit, "--dry-run")
    assert (code, err) == (0, "")
    assert out.splitlines()[0].split() == ["read", "would", "run", "images.parquet", "not", "written", "yet"]
    assert sorted(path.name for path in audit.iterdir()) == before


def test_a_dry_run_follows_dependencies(done, capsys):
    change(done, "distance = 4.5", "distance = 5.5")
    _, out, _ = run(capsys, "run", done, "--dry-run", "--json")
    why = {entry["stage"]: (entry["status"], entry["why"]) for entry in json.loads(out)["stages"]}
    assert why["match"] == ("would run", "options or inputs changed")
    assert why["balance"] == ("may run", "if the result of match changes")
    assert why["rate"] == ("up to date", "")


def test_each_stage_is_a_command(audit, capsys):
    for stage in STAGES:
        code, _, err = run(capsys, stage, audit)
        assert code == 0
        assert f"{stage:<15} wrote" in err


def test_a_command_names_the_missing_input(audit, capsys):
    code, _, err = run(capsys, "match", audit)
    assert code == 3
    assert "match needs images.parquet, which is stale: not written yet. Run: likewise read" in err


def test_a_stage_that_is_not_planned_is_an_error(audit, capsys):
    text = (audit / "audit.toml").read_text()
    (audit / "audit.toml").write_text(re.sub(r"\[collect\].*\ncrowd = .*\n", "", text))
    code, _, err = run(capsys, "collect", audit)
    assert (code, "The plan has no stage 'collect'" in err) == (2, True)
    assert run(capsys, "run", audit, "--quiet")[0] == 0
    assert not (audit / "responses.parquet").exists()


def test_the_same_seed_gives_the_same_bytes(finished, tmp_path, capsys):
    run(capsys, "demo", "--toy", tmp_path / "again", "--identities", 40, "--seed", 3, "--quiet")
    for name in ("report.html", "estimates.parquet", "latents", "counterfactuals"):
        assert digest_of(tmp_path / "again" / name) == digest_of(finished / name)


@pytest.mark.parametrize("kind", ["processes", "ray"])
def test_several_workers_give_the_same_bytes(finished, tmp_path, capsys, kind):
    shutil.copytree(
        finished, tmp_path / "audit", ignore=shutil.ignore_patterns("*.parquet*", "latents*", "counterf*", "report*")
    )
    shutil.copy(finished / "truth.parquet", tmp_path / "audit")
    with (tmp_path / "audit" / "audit.toml").open("a") as plan:
        plan.write(f'\n[executor]\nkind = "{kind}"\nworkers = 2\nchunk = 7\n')
    assert run(capsys, "run", tmp_path / "audit", "--quiet")[0] == 0
    for name in ("latents", "ratings.parquet", "counterfactuals", "estimates.parquet"):
        assert digest_of(tmp_path / "audit" / name) == digest_of(finished / name)


@pytest.mark.slow
def test_a_run_that_is_killed_at_any_moment_goes_on_where_it_was(finished, audit):
    command = [sys.executable, "-m", "likewise", "run", str(audit)]
    kills = 0
    for wait in (0.8, 1.1, 1.4, 1.7, 2.0, 2.3, 2.6, 3.0, 3.4):
        child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(wait)
        kills += child.poll() is None
        child.send_signal(signal.SIGKILL)
        child.wait()
        folder = Folder(audit)
        for path in audit.glob("*.json"):  # whatever counts as made is whole
            sidecar = folder.sidecar(path.stem)
            assert sidecar is not None
            assert digest_of(audit / path.stem) == sidecar.digest
    assert kills >= 2
    subprocess.run(command, check=True, capture_output=True)
    assert digest_of(audit / "report.html") == digest_of(finished / "report.html")
    assert not list(audit.rglob(".*.tmp"))


def test_what_a_killed_run_left_half_written_never_gets_into_an_artifact(finished, audit, capsys):
    for stage in ("read", "trials", "counterfactual"):
        assert run(capsys, stage, audit, "--quiet")[0] == 0
    (pictures,) = (audit / ".work").glob("*-pictures")
    (pictures / ".w0000-2@+0.png.7.tmp").write_bytes(b"half a picture")
    (audit / "counterfactuals.json").unlink()
    assert run(capsys, "counterfactual", audit, "--quiet")[0] == 0
    assert digest_of(audit / "counterfactuals") == digest_of(finished / "counterfactuals")


def test_two_runs_on_one_folder(done, capsys):
    with Folder(done).locked():
        code, _, err = run(capsys, "run", done)
    assert code == 4
    assert "Another run is working on" in err


def test_a_folder_of_a_newer_version(done, capsys):
    path = done / "matches.parquet.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "format": 99, "likewise": "9.9"}))
    before = digest_of(done / "matches.parquet")
    code, out, _ = run(capsys, "run", done, "--json")
    assert (code, json.loads(out)["error"]["kind"]) == (3, "VersionError")
    assert digest_of(done / "matches.parquet") == before


def test_an_error_is_one_line_and_not_a_traceback(done, capsys):
    change(done, "[match] ", "[mtach] ")
    code, out, err = run(capsys, "run", done)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "Did you mean 'match'?" in err


def test_no_folder_no_audit(tmp_path, capsys):
    code, _, err = run(capsys, "run", tmp_path)
    assert (code, "likewise init" in err) == (3, True)


def edit_table(audit: Path, edit) -> None:
    edit(pd.read_csv(audit / "faces.csv")).to_csv(audit / "faces.csv", index=False)


@pytest.mark.parametrize(
    ("edit", "says"),
    [
        (lambda t: t.drop(columns="identity"), "Column 'identity' not found in"),
        (lambda t: pd.concat([t, t.head(1)]), "'w0000-1' (rows 1, "),
        (lambda t: t.assign(image=t["image"].replace("w0000-1", "nobody")), "have no file: 'nobody'"),
        (lambda t: t.assign(image=t["image"].replace("w0000-1", "../faces.csv")), "is outside the image folder"),
        (lambda t: t.assign(perceived_gender="male"), "No cell of 'perceived_gender' is 'female'"),
        (lambda t: t.assign(perceived_gender=None), "No cell of 'perceived_gender' is 'female'"),
    ],
)
def test_a_wrong_table_stops_the_run_before_any_work(audit, capsys, edit, says):
    edit_table(audit, edit)
    code, _, err = run(capsys, "run", audit)
    assert code == 2
    assert says in err
    assert not (audit / "images.parquet").exists()


def test_an_image_that_does_not_decode(audit, capsys):
    (audit / "images" / "w0001-2.png").write_bytes(b"not an image")
    change(audit, 'table = "faces.csv"', 'table = "faces.csv"\nbad_images = "error"')
    code, _, err = run(capsys, "run", audit)
    assert code == 2
    assert "1 images do not decode: 'w0001-2'" in err
    change(audit, '\nbad_images = "error"', "")
    code, _, err = run(capsys, "run", audit)
    assert code == 0
    assert "1 images do not decode and are excluded: {'male': 1}" in err
    assert "w0001-2" not in lw.Images.read(audit / "images.parquet").keys
    assert "do not decode" in (audit / "report.html").read_text()


def test_vectors_of_other_images(audit, capsys):
    lw.Vectors(["somebody"], [[1.0, 2.0]], source="elsewhere").write(audit / "own.npz")
    change(audit, "seed = 3", 'seed = 3\nvectors = "own.npz"')
    change(audit, PROJECT, "")
    code, _, err = run(capsys, "run", audit)
    assert code == 2
    assert "own.npz has no vector of an image of the table" in err


def test_own_vectors_take_the_place_of_projecting(audit, finished, capsys):
    lw.Vectors.read(finished / "latents").write(audit / "own.npz")
    change(audit, "seed = 3", 'seed = 3\nvectors = "own.npz"')
    change(audit, PROJECT, "")
    assert run(capsys, "run", audit, "--quiet")[0] == 0
    assert digest_of(audit / "matches.parquet") == digest_of(finished / "matches.parquet")


def test_a_caliper_without_pairs_is_reported(audit, capsys):
    change(audit, "distance = 4.5", "distance = 0.1")
    code, _, err = run(capsys, "run", audit)
    assert code == 0
    assert "pairs 0, unit image, estimand ATM, note No pair satisfies all constraints" in err
    assert "note: Fewer than two matched pairs were found" in err
    page = (audit / "report.html").read_text()
    assert "No pair satisfies all constraints" in page
    assert "unmatched, unadjusted" in page


def test_nobody_has_two_images(audit, capsys):
    edit_table(audit, lambda t: t.drop_duplicates("identity"))
    code, _, err = run(capsys, "run", audit)
    assert (code, "there are no genuine trials" in err) == (2, True)


def mounted(audit: Path, size: str) -> bool:
    shutil.move(audit, audit.with_name("saved"))
    audit.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(audit)], capture_output=True, check=False
    )
    shutil.copytree(audit.with_name("saved"), audit, dirs_exist_ok=True)
    return done.returncode == 0


def test_no_space_left_and_then_more(audit, capsys):
    if not mounted(audit, "1200k"):
        pytest.skip("mounting a small disk needs root")
    try:
        code, _, err = run(capsys, "run", audit)
        assert (code, "No space left" in err) == (3, True)
        assert (audit / "images.parquet.json").exists(), "what was finished is kept"
        subprocess.run(["mount", "-o", "remount,size=20m", str(audit)], check=True)
        code, out, _ = run(capsys, "run", audit, "--json")
        assert (code, statuses(out)["read"]) == (0, "up to date")
        subprocess.run(["mount", "-o", "remount,ro", str(audit)], check=True)
        code, _, err = run(capsys, "run", audit)
        assert (code, "cannot be written to" in err) == (3, True)
        assert run(capsys, "run", audit, "--dry-run")[0] == 0, "looking is allowed"
    finally:
        subprocess.run(["umount", str(audit)], check=True)


def test_ctrl_c_is_not_a_crash(audit, capsys, monkeypatch):
    def interrupted(*_args: object, **_options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("likewise.audit.runner.run", interrupted)
    code, _, err = run(capsys, "run", audit)
    assert (code, "finished work is kept" in err) == (130, True)
