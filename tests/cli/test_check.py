"""What check says before any work."""

from __future__ import annotations

import json

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
    assert (code, found["wrong"]) == (0, [])
    assert found["groups"][0] == {"group": "female", "images": 60, "people": 20, "with two images": 20}
    assert found["images"]["files"] == 120
    assert {row["who"]: row["state"] for row in found["occupants"]}["recogniser world"] == "ready"
    assert {path: path.stat().st_mtime_ns for path in audit.rglob("*")} == before
    code, out, _ = run(capsys, "check", audit)
    assert code == 0
    assert "ready: nothing that a run needs is missing" in out
    assert "nothing is sent to a paid service" in out


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
    assert any("2 rows of the table have no file" in line for line in found["wrong"])
    code, out, _ = run(capsys, "check", audit)
    assert code == 2
    assert out.rstrip().splitlines()[-2].startswith("  2 rows") or "a run would fail:" in out


def test_rows_without_an_image_can_be_left_out(audit, capsys):
    sorted((audit / "images").iterdir())[0].unlink()
    text = (audit / "audit.toml").read_text()
    (audit / "audit.toml").write_text(text.replace("[contrast]", 'missing_images = "drop"\n[contrast]', 1))
    code, found = checked(capsys, audit)
    assert (code, len(found["images"]["rows without a file"])) == (0, 1)
    assert sum(row["images"] for row in found["groups"]) == 119
    code, _, err = run(capsys, "read", audit)
    assert code == 0
    assert "1 rows of the table have no image and are left out" in err


def test_a_picture_that_ends_early_is_found_by_decoding(audit, capsys):
    path = sorted((audit / "images").iterdir())[0]
    path.write_bytes(path.read_bytes()[:-200])
    assert checked(capsys, audit)[1]["images"]["unreadable"] == []
    assert len(checked(capsys, audit, "--decode")[1]["images"]["unreadable"]) == 1


def test_weights_keys_and_money(audit, capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("LIKEWISE_HOME", str(tmp_path / "empty"))
    monkeypatch.delenv("GOOGLE_API_KEY", raising=False)
    text = (audit / "audit.toml").read_text()
    more = '\n[[rater]]\nslot = "classifier"\nname = "google-vision"\n'
    more += '[[rater]]\nslot = "recogniser"\nname = "openface"\n'
    (audit / "audit.toml").write_text(text + more)
    code, found = checked(capsys, audit)
    assert code == 2
    states = {row["who"]: row["state"] for row in found["occupants"]}
    assert states["recogniser openface"] == "missing"
    assert states["service google-vision"] == "key missing"
    assert "USD" in found["costs"][0]
    assert any("GOOGLE_API_KEY" in line for line in found["wrong"])
    assert any("likewise weights fetch" in line for line in found["wrong"])


def test_googles_client_without_credentials_is_said(audit, capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("NO_GCE_CHECK", "true")
    monkeypatch.setenv("CLOUDSDK_CONFIG", str(tmp_path))
    monkeypatch.delenv("GOOGLE_APPLICATION_CREDENTIALS", raising=False)
    text = (audit / "audit.toml").read_text()
    (audit / "audit.toml").write_text(text + '\n[[rater]]\nslot = "classifier"\nname = "google-cloud"\n')
    code, found = checked(capsys, audit)
    assert code == 2
    assert {row["who"]: row["state"] for row in found["occupants"]}["service google-cloud"] == "key missing"
    assert any("GOOGLE_APPLICATION_CREDENTIALS" in line for line in found["wrong"])


@pytest.mark.parametrize(
    ("name", "options", "variable"),
    [
        ("clarifai-grpc", "{}", "CLARIFAI_PAT"),
        ("azure-client", '{ endpoint = "https://own.example" }', "AZURE_VISION_KEY"),
    ],
)
def test_a_client_without_its_key_is_said(audit, capsys, monkeypatch, name, options, variable):
    monkeypatch.delenv(variable, raising=False)
    text = (audit / "audit.toml").read_text()
    more = f'\n[[rater]]\nslot = "classifier"\nname = "{name}"\noptions = {options}\n'
    (audit / "audit.toml").write_text(text + more)
    code, found = checked(capsys, audit)
    assert code == 2
    assert {row["who"]: row["state"] for row in found["occupants"]}[f"service {name}"] == "key missing"
    assert any(variable in line for line in found["wrong"])


def test_the_table_is_looked_at(audit, capsys):
    table = pd.read_csv(audit / "faces.csv")
    table.loc[:4, "light"] = None
    table.loc[0, "perceived_gender"] = "male" if table.loc[0, "perceived_gender"] == "female" else "female"
    table.to_csv(audit / "faces.csv", index=False)
    _, found = checked(capsys, audit)
    assert any("covariate light: 5 empty cells" in line for line in found["wrong"])
    assert any("1 people have images on both sides" in line for line in found["wrong"])


def test_time_is_measured_on_an_image_or_two(audit, capsys):
    _, found = checked(capsys, audit, "--measure")
    named = {row["what"]: row for row in found["times"]}
    assert {"read", "project (world)", "rate (world)"} <= set(named)
    assert all(row["seconds"] > 0 for row in named.values())
    assert named["project (world)"]["images"] == 120
