"""What check says before any work."""

from __future__ import annotations

import json
import re

import pandas as pd
import pytest

from shell import run


def checked(capsys, audit, *more: str) -> tuple[int, dict]:
    code, out, err = run(capsys, "check", audit, "--json", *more)
    assert err == ""
    return code, json.loads(out)


@pytest.fixture
def before(audit):
    """Everything in the folder, to be compared afterwards."""
    return {path: path.stat().st_mtime_ns for path in audit.rglob("*")}


def test_a_folder_that_is_ready(audit, before, capsys):
    code, found = checked(capsys, audit)
    assert (code, found["problems"]) == (0, [])
    assert found["groups"][0] == {"group": "female", "images": 60, "identities": 20, "with two images": 20}
    assert found["images"]["files"] == 120
    assert {row["component"]: row["state"] for row in found["components"]}["recognizer world"] == "ready"
    assert {path: path.stat().st_mtime_ns for path in audit.rglob("*")} == before
    code, out, _ = run(capsys, "check", audit)
    assert code == 0
    assert "ready: everything that a run needs is there" in out
    assert "no paid service" in out


def test_what_is_missing_is_counted_and_named(audit, capsys):
    images = sorted((audit / "images").iterdir())
    images[0].unlink()
    images[1].write_bytes(b"no picture")
    images[2].rename(images[2].with_name("spare.png"))
    code, found = checked(capsys, audit)
    assert code == 2
    assert len(found["images"]["rows without a file"]) == 2
    assert found["images"]["files without a row"] == ["spare.png"]
    assert len(found["images"]["unreadable"]) == 1
    assert any("2 rows of the table have no file" in str(line) for line in found["problems"])
    code, out, _ = run(capsys, "check", audit)
    assert code == 2
    assert out.rstrip().splitlines()[-2].startswith("  2 rows") or "a run would fail" in out


def test_rows_without_an_image_can_be_left_out(audit, capsys):
    sorted((audit / "images").iterdir())[0].unlink()
    text = (audit / "audit.toml").read_text()
    (audit / "audit.toml").write_text(text.replace("[contrast]", 'missing_images = "drop"\n[contrast]', 1))
    code, found = checked(capsys, audit)
    assert (code, len(found["images"]["rows without a file"])) == (0, 1)
    assert sum(row["images"] for row in found["groups"]) == 119
    code, _, err = run(capsys, "read", audit)
    assert code == 0
    assert "1 rows of the table have no image and are excluded" in err


def test_a_picture_that_ends_early_is_found_by_decoding(audit, capsys):
    path = sorted((audit / "images").iterdir())[0]
    path.write_bytes(path.read_bytes()[:-200])
    assert checked(capsys, audit)[1]["images"]["unreadable"] == []
    assert len(checked(capsys, audit, "--decode")[1]["images"]["unreadable"]) == 1


def test_weights_keys_and_money(audit, capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("LIKEWISE_HOME", str(tmp_path / "empty"))
    monkeypatch.delenv("GOOGLE_API_KEY", raising=False)
    text = (audit / "audit.toml").read_text()
    more = '\n[[rater]]\nkind = "classifier"\nname = "google-vision"\n'
    more += '[[rater]]\nkind = "recognizer"\nname = "openface"\n'
    (audit / "audit.toml").write_text(text + more)
    code, found = checked(capsys, audit)
    assert code == 2
    states = {row["component"]: row["state"] for row in found["components"]}
    assert states["recognizer openface"] == "missing"
    assert states["service google-vision"] == "key missing"
    assert "USD" in found["costs"][0]
    assert any("GOOGLE_API_KEY" in str(line) for line in found["problems"])
    assert any("likewise weights fetch" in str(line) for line in found["problems"])


@pytest.mark.parametrize(
    ("name", "options", "variable"),
    [
        ("clarifai", "{}", "CLARIFAI_PAT"),
        ("azure", '{ endpoint = "https://own.example" }', "AZURE_VISION_KEY"),
    ],
)
def test_a_client_without_its_key_is_said(audit, capsys, monkeypatch, name, options, variable):
    monkeypatch.delenv(variable, raising=False)
    text = (audit / "audit.toml").read_text()
    more = f'\n[[rater]]\nkind = "classifier"\nname = "{name}"\noptions = {options}\n'
    (audit / "audit.toml").write_text(text + more)
    code, found = checked(capsys, audit)
    assert code == 2
    assert {row["component"]: row["state"] for row in found["components"]}[f"service {name}"] == "key missing"
    assert any(variable in str(line) for line in found["problems"])


def test_the_table_is_looked_at(audit, capsys):
    table = pd.read_csv(audit / "faces.csv")
    table.loc[:4, "light"] = None
    table.loc[0, "perceived_gender"] = "male" if table.loc[0, "perceived_gender"] == "female" else "female"
    table.to_csv(audit / "faces.csv", index=False)
    _, found = checked(capsys, audit)
    assert any("'light' has 5 empty cells" in str(line) for line in found["problems"])
    assert any("1 identity has images in both groups" in str(line) for line in found["problems"])


def test_time_is_measured_on_an_image_or_two(audit, capsys):
    _, found = checked(capsys, audit, "--measure")
    named = {row["what"]: row for row in found["times"]}
    assert {"read", "project (world)", "rate (world)"} <= set(named)
    assert all(row["seconds"] > 0 for row in named.values())
    assert named["project (world)"]["images"] == 120


def problems(found: dict) -> str:
    return " | ".join(f"{entry['problem']} {entry['fix']}" for entry in found["problems"])


def test_everything_that_is_missing_is_listed_at_once(audit, capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("LIKEWISE_HOME", str(tmp_path / "empty"))
    text = (audit / "audit.toml").read_text().replace('truth = "truth.parquet"', 'truth = "lost.parquet"')
    more = '\n[[rater]]\nkind = "recognizer"\nname = "dlib"\n[[rater]]\nkind = "classifier"\nname = "wrld"\n'
    text = text.replace("covariates = [", 'covariates = ["lihgt", ') + more
    (audit / "audit.toml").write_text(text + '[[precomputed]]\nrater = "x"\nlabels = "labels.csv"\n')
    (audit / "labels.csv").write_text("image,label\nnobody,cat\n")
    code, found = checked(capsys, audit)
    assert code == 2
    reported = problems(found)
    for part in (
        "Unknown classifier 'wrld' Did you mean 'world'?",
        "Weights not fetched: dlib-landmarks-5, dlib-resnet",
        f"likewise weights fetch --for {audit}",
        "File not found: lost.parquet",
        "Column 'lihgt' of covariates not found",
        "Did you mean 'light'?",
        "[[precomputed]] 'x'",
    ):
        assert part in reported, part
    code, _, err = run(capsys, "run", audit)
    assert code == 2
    assert "Did you mean 'world'?" in err
    assert "dlib-landmarks-5" in err
    assert not (audit / "images.parquet").exists(), "nothing was done"


def test_missing_weights_include_those_of_the_detector(audit, monkeypatch, tmp_path):
    from likewise.audit.preflight import missing_weights

    monkeypatch.setenv("LIKEWISE_HOME", str(tmp_path / "empty"))
    assert missing_weights(audit) == []
    with (audit / "audit.toml").open("a") as plan:
        plan.write('\n[[rater]]\nkind = "recognizer"\nname = "openface"\n[describe]\ncolumns = ["measured_ita"]\n')
    assert set(missing_weights(audit)) == {"openface", "dlib-landmarks-5", "selfie-multiclass"}


def test_a_package_that_is_not_installed_is_named_with_its_extra(audit, capsys, monkeypatch):
    import likewise.runtime.requirements as needed

    real = needed.find_spec
    monkeypatch.setattr(needed, "find_spec", lambda name, *more: None if name == "torch" else real(name, *more))
    with (audit / "audit.toml").open("a") as plan:
        plan.write('\n[[rater]]\nkind = "recognizer"\nname = "mobilefacenet"\n')
    code, found = checked(capsys, audit)
    assert code == 2
    assert "needs the package 'torch', which is not installed" in problems(found)
    assert "likewise[torch]" in problems(found)


@pytest.mark.parametrize(
    ("edit", "says"),
    [
        (lambda t: t.head(0), "no rows"),
        (lambda t: t.groupby("perceived_gender").head(1), "Too few images"),
        (lambda t: t.replace({"perceived_gender": {"female": "FEMALE"}}), "Did you mean 'FEMALE'?"),
    ],
)
def test_a_table_that_cannot_be_audited(audit, capsys, edit, says):
    edit(pd.read_csv(audit / "faces.csv")).to_csv(audit / "faces.csv", index=False)
    code, out, err = run(capsys, "check", audit)
    assert code == 2
    assert says in out + err


def test_what_is_up_to_date_needs_nothing(audit, capsys, monkeypatch, tmp_path):
    assert run(capsys, "run", audit, "--quiet")[0] == 0
    (audit / "images" / "spare.txt").write_text("")
    code, _, err = run(capsys, "run", audit)
    assert (code, "problem" in err) == (0, False)


def replaced(audit, old: str, new: str) -> None:
    text = (audit / "audit.toml").read_text()
    assert old in text
    (audit / "audit.toml").write_text(text.replace(old, new, 1))


@pytest.mark.parametrize(
    ("units", "says"),
    [
        (
            'features = "components"',
            r"components = 40, but 120 vectors of \d+ numbers have \d+.*Set components to \d+ or less",
        ),
        ('features = "scores"\nown = "measured_gendr"', "Unknown direction 'measured_gendr' as own"),
    ],
)
def test_features_that_the_latents_do_not_have_are_found_before_any_work(audit, capsys, units, says):
    replaced(audit, "[project]", f"[units]\n{units}\n\n[project]")
    code, found = checked(capsys, audit)
    assert (code, bool(re.search(says, problems(found)))) == (2, True), problems(found)
    code, _, err = run(capsys, "run", audit)
    assert (code, bool(re.search(says, err))) == (2, True)
    assert not (audit / "images.parquet").exists(), "nothing was done"


def test_keys_of_precomputed_answers_are_checked_when_the_table_is_up_to_date(audit, capsys):
    assert run(capsys, "run", audit, "--quiet")[0] == 0
    with (audit / "audit.toml").open("a") as plan:
        plan.write('[[precomputed]]\nrater = "x"\nlabels = "labels.csv"\n')
    (audit / "labels.csv").write_text("image,label\nnobody,cat\n")
    code, _, err = run(capsys, "run", audit)
    assert (code, "[[precomputed]] 'x'" in err) == (2, True)


def test_labels_of_estimate_beside_counterfactuals(audit, capsys, monkeypatch):
    """Classifiers that cost nothing rate the unedited images too; services rate the edits only."""
    monkeypatch.setenv("GOOGLE_API_KEY", "none")
    replaced(audit, "[estimate]", '[estimate]\nlabels = ["smiling"]')
    assert checked(capsys, audit)[0] == 0
    replaced(audit, 'kind = "classifier"\nname = "world"', 'kind = "classifier"\nname = "google-vision"')
    _, found = checked(capsys, audit)
    assert "services rate the edits only" in problems(found)
    replaced(
        audit,
        '[[rater]]                        # a classifier under audit\nkind = "classifier"\nname = "google-vision"',
        "",
    )
    code, _, err = run(capsys, "check", audit)
    assert (code, "the plan has no classifier" in err) == (2, True)
