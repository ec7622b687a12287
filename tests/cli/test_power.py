"""likewise power: how many identities an audit needs."""

from __future__ import annotations

import likewise as lw
from likewise.simulation.system_ratings import CONTRAST, VerificationTrials
from shell import run


def test_power_of_a_design_is_printed(capsys):
    code, out, _ = run(capsys, "power", "--identities", "200", "--fnmr", "0.05", "--gap", "0.1", "--repeats", "10")
    assert code == 0 and "power" in out and "1,000 impostor trials" in out


def test_a_pilot_without_artifacts_says_what_is_missing(tmp_path, capsys):
    code, _, err = run(capsys, "power", "--pilot", str(tmp_path))
    assert code == 3 and "images.parquet not found" in err


def test_a_pilot_without_error_rates_says_what_to_give_instead(tmp_path, capsys):
    """'Check --rater' was the advice to somebody who had given none."""
    ratings, trials, images, _ = VerificationTrials(40, seed=0).tables()
    found = {"images": images, "trials": trials, "ratings": ratings}
    for name, table in {**found, "estimates": lw.gaps(ratings, trials, images, CONTRAST)}.items():
        table.write(tmp_path / f"{name}.parquet")
    code, _, err = run(capsys, "power", "--pilot", str(tmp_path))
    assert code == 3 and "give --fnmr and --images" in err
    lw.error_rates(ratings, trials, images, CONTRAST, rates=[0.05]).write(tmp_path / "estimates.parquet")
    code, _, err = run(capsys, "power", "--pilot", str(tmp_path), "--rater", "other")
    assert code == 3 and "Its recognizers: 'simulated'" in err


def test_rates_outside_zero_and_one_are_refused(capsys):
    code, _, err = run(capsys, "power", "--fnmr", "0.9", "--gap", "0.2")
    assert code == 2 and "between 0 and 1" in err


def test_labels_of_a_two_phase_design_are_planned(capsys):
    code, out, _ = run(capsys, "power", "--labels", "20000", "--error", "0.1", "--half-width", "0.1")
    assert code == 0 and out.startswith("582 of 20,000 images")
    code, _, err = run(capsys, "power", "--labels", "20000", "--error", "0.1")
    assert code == 2 and "--half-width missing" in err
    code, _, err = run(capsys, "power", "--labels", "20000", "--error", "0.7", "--half-width", "0.1")
    assert code == 2 and "out of range" in err
