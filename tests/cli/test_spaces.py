from __future__ import annotations

import numpy as np
import pytest

import likewise as lw
from likewise.images import decode
from shell import run


@pytest.fixture
def projected(audit, capsys):
    for stage in ("read", "project"):
        assert run(capsys, stage, audit, "--quiet")[0] == 0
    return audit, lw.Vectors.read(audit / "latents").images[0]


def test_a_direction_is_drawn_in_three_spaces(projected, capsys, tmp_path):
    audit, image = projected
    code, out, err = run(
        capsys, "directions", "spaces", audit, "--image", image, "--out", tmp_path / "s.png", "--size", 32
    )
    assert code == 0, err
    assert "restricted" in out
    page = decode(tmp_path / "s.png")
    assert page.shape[0] > 3 * 32
    assert page.shape[1] > 5 * 32
    assert np.ptp(page) > 100


def test_an_image_that_is_not_there_is_said(projected, capsys, tmp_path):
    audit, _ = projected
    code, _, err = run(capsys, "directions", "spaces", audit, "--image", "nobody", "--out", tmp_path / "s.png")
    assert code == 2
    assert "the audit has this image" in err


def test_fidelity_and_semantics_over_lambdas(audit, capsys):
    assert run(capsys, "read", audit, "--quiet")[0] == 0
    arguments = ("lambdas", audit, "--recogniser", "world", "--images", 40, "--lambda", 0, "--lambda", "inf", "--quiet",
                 "--attribute", "perceived_gender")  # fmt: skip
    code, _, err = run(capsys, *arguments)
    assert code == 0, err
    estimates = lw.Estimates.read(audit / "lambdas" / "estimates.parquet").frame
    assert set(estimates["sample"]) == {"lambda 0", "lambda inf"}
    apart = estimates[estimates["quantity"] == "projection: R"].set_index("sample")["estimate"]
    assert apart["lambda inf"] == pytest.approx(0, abs=1e-6)
    assert apart["lambda 0"] > 0
    assert estimates["quantity"].str.contains("distance to the reconstruction").any()
    assert (estimates["stat"] == "skill").sum() == 2
    assert decode(audit / "lambdas" / "lambdas.png").shape[0] > 100
    before = (audit / "lambdas" / "estimates.parquet").read_bytes()
    assert run(capsys, *arguments)[0] == 0
    assert (audit / "lambdas" / "estimates.parquet").read_bytes() == before


def test_somebody_has_to_judge(audit, capsys):
    assert run(capsys, "read", audit, "--quiet")[0] == 0
    code, _, err = run(capsys, "lambdas", audit, "--images", 4, "--lambda", 0, "--quiet")
    assert code == 2
    assert "--recogniser" in err
