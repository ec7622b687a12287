from __future__ import annotations

import re

import numpy as np
import pytest

import likewise as lw
from likewise.audit.tools.lambda_sweep import HEAVY
from likewise.data.image_grid import GAP
from likewise.latents.projection import ProjectSpec, solver
from likewise.runtime.pixels import ImageFolder, decode, find
from likewise.runtime.registry import create, to_pictures, to_signals
from likewise.simulation.scene import FACTORS, SIZE, see
from shell import run


@pytest.fixture
def projected(audit, capsys):
    for stage in ("read", "project"):
        assert run(capsys, stage, audit, "--quiet")[0] == 0
    return audit, lw.Vectors.read(audit / "latents").keys[0]


def cells(page, rows, columns):
    """Cut the pictures ``[rows, columns, SIZE, SIZE, 3]`` out of a sheet, from its lower right corner."""
    step = SIZE + GAP
    top, left = page.shape[0] - rows * step, page.shape[1] - columns * step
    return np.stack(
        [
            [page[top + r * step :][:SIZE, left + c * step :][:, :SIZE] for c in range(columns)]
            for r in range(rows)
        ]
    )  # fmt: skip


def test_a_direction_is_drawn_in_three_spaces(projected, capsys, tmp_path):
    """A row a space, a column an amount: 0 is the reconstruction, the others move the attribute in one direction."""
    audit, image = projected
    code, out, err = run(
        capsys, "directions", "spaces", audit, "--image", image, "--out", tmp_path / "s.png", "--size", SIZE
    )
    assert code == 0, err
    apart = [float(found) for found in re.findall(r"(?:restricted|regularized) ([\d.e-]+)", out)]
    assert "measured_gender in three spaces" in out  # the first of the shipped directions
    restricted, regularized, free = apart
    assert restricted <= regularized < 1e-6 < free, "the world's faces lie in W, so lambda finds them there"
    drawn = cells(decode(tmp_path / "s.png"), 3, 5)
    album = ImageFolder(audit / "images", {image: find(audit / "images", image).name})
    for row, lambda_ in enumerate((HEAVY, None, 0.0)):
        _, _, solve = solver(ProjectSpec(lambda_=lambda_))
        w, _ = solve(to_signals(album([image], size=solve.size)))
        again = to_pictures(create("generator", "world").synthesize(w))[0]
        np.testing.assert_array_equal(drawn[row, 2], again)
        gender = see(drawn[row])[:, FACTORS.index("gender")]
        assert (np.diff(gender) > 0).all() or (np.diff(gender) < 0).all(), gender
        assert np.ptp(gender) > 0.5
    original = album([image])[0].astype(float)
    missed = [np.square(original - drawn[row, 2]).mean() for row in range(3)]
    assert missed[2] <= missed[1] <= missed[0], "the freer the rows, the nearer the reconstruction"


def test_an_unknown_image_is_an_error(projected, capsys, tmp_path):
    audit, _ = projected
    code, _, err = run(capsys, "directions", "spaces", audit, "--image", "unknown", "--out", tmp_path / "s.png")
    assert code == 2
    assert "No image 'unknown' in the audit" in err


def test_fidelity_and_semantics_over_lambdas(audit, capsys):
    assert run(capsys, "read", audit, "--quiet")[0] == 0
    arguments = ("lambdas", audit, "--recognizer", "world", "--images", 40, "--lambda", 0, "--lambda", "inf", "--quiet",
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


def test_a_recognizer_is_needed(audit, capsys):
    assert run(capsys, "read", audit, "--quiet")[0] == 0
    code, _, err = run(capsys, "lambdas", audit, "--images", 4, "--lambda", 0, "--quiet")
    assert code == 2
    assert "--recognizer" in err
