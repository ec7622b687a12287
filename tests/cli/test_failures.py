"""The last border: no traceback, one line, an exit code, a log; and --debug."""

from __future__ import annotations

import io
import json

import pytest

from likewise.cli.main import main
from shell import run


def break_run(monkeypatch, error: BaseException) -> None:
    def broken(*_args: object, **_options: object) -> None:
        raise error

    monkeypatch.setattr("likewise.audit.runner.run", broken)


def test_something_unexpected_is_one_line_and_a_log(audit, capsys, monkeypatch):
    break_run(monkeypatch, RuntimeError("a plugin\nbroke"))
    code, out, err = run(capsys, "run", audit)
    assert (code, out, err.count("\n")) == (70, "", 1)
    assert f"internal error: RuntimeError: a plugin broke. Details: {audit}/likewise.log." in err
    assert "Traceback" in (audit / "likewise.log").read_text()


def test_debug_shows_the_traceback(audit, monkeypatch):
    break_run(monkeypatch, RuntimeError("a plugin broke"))
    with pytest.raises(RuntimeError, match="a plugin broke"):
        main(["--debug", "run", str(audit)])


def test_out_of_memory_says_what_to_lower(audit, capsys, monkeypatch):
    break_run(monkeypatch, MemoryError())
    code, _, err = run(capsys, "run", audit)
    assert code == 5
    assert "Lower chunk in [executor]" in err
    assert not (audit / "likewise.log").exists()


def test_json_has_the_error_too(audit, capsys, monkeypatch):
    break_run(monkeypatch, ValueError("odd"))
    code, out, _ = run(capsys, "run", audit, "--json")
    assert (code, json.loads(out)["error"]["kind"]) == (70, "ValueError")


@pytest.mark.parametrize("command", ["", "audit", "init", "run", "rate", "counterfactual", "check", "weights fetch"])
def test_no_line_of_help_is_cut_off(capsys, command):
    code, out, _ = run(capsys, *command.split(), "--help")
    assert code == 0
    assert not [line for line in out.splitlines() if line.endswith("...") and "Usage" not in line]


def test_undecodable_files_are_listed_by_name(audit, capsys):
    (audit / "images" / "w0001-2.png").write_bytes(b"not an image")
    code, _, err = run(capsys, "read", audit)
    assert code == 0
    assert "listed in excluded.csv" in err
    assert (audit / "excluded.csv").read_text().splitlines() == ["image,reason", "w0001-2,does not decode"]
    assert run(capsys, "read", audit, "--quiet")[0] == 0


def test_input_that_ends_at_a_question(monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    code, _, err = run(capsys, "init")
    assert (code, "The input ended" in err) == (130, True), err
