"""The fast version of benchmarks/coverage.py: intervals hold in about 95 of 100 worlds, naive ones do not."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from benchmarks import coverage as benchmark
from benchmarks.coverage_hard import HARD
from benchmarks.coverage_thresholds import THRESHOLDS

PAGE = Path(__file__).parents[2] / "docs" / "coverage.md"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("experiment", "clusters", "seeds"),
    [
        ("recognition", 120, 100),
        ("adjusted", 100, 100),
        ("missed", 160, 60),
        ("operating", 160, 60),
        ("lowest", 200, 300),
        ("failing", 100, 60),
        ("turned", 60, 100),
        ("shifted", 60, 100),
        ("legs", 60, 100),
        ("observed", 60, 60),
        ("crowd", 80, 100),
        ("arms", 60, 60),
        ("consensus", 100, 100),
        ("resampled", 150, 100),
        ("shown", 80, 100),
        ("leaning", 50, 20),
        ("steps", 60, 60),
        ("tones", 60, 100),
        ("pictures", 60, 60),
    ],
)
def test_intervals_hold(experiment, clusters, seeds):
    """The interval holds as often as it should, the naive one as often as the page says, give or take chance."""
    table, naive = benchmark.coverage(experiment, clusters, seeds), _naive_by_the_page()
    for row in table.to_dict("records"):
        slack = 3 * (0.95 * 0.05 / row["seeds"]) ** 0.5
        assert 0.95 - slack - 0.01 <= row["held"], row
        assert row["held"] <= min(1, 0.95 + slack + 0.03), row
        shares = naive[row["estimator"]]
        assert bool(shares) == (row["naive"] == row["naive"]), row  # NaN where there is no naive interval
        if shares:
            worst = max(share * (1 - share) for share in shares)
            slack = 4 * (worst / row["seeds"]) ** 0.5 + 0.02
            assert min(shares) - slack <= row["naive"] <= max(shares) + slack, row


def _naive_by_the_page() -> dict[str, list[float]]:
    """Return for each estimator of docs/coverage.md how often its naive interval held, at each size."""
    found = {}
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        name, *cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("| ") and cells:
            found[name] = [float(share) / 100 for cell in cells for share in re.findall(r"/ ([\d.]+)", cell)]
    return found


def test_every_experiment_runs_here_and_all_of_it_is_on_the_page():
    """Hard worlds have a fast version in test_hard_worlds.py and verification/test_estimated_threshold.py."""
    run = {name for mark in test_intervals_hold.pytestmark if mark.name == "parametrize" for name, *_ in mark.args[1]}
    assert run | set(HARD) | set(THRESHOLDS) == set(benchmark.EXPERIMENTS)
    assert len(_naive_by_the_page()) > 50


def test_naive_intervals_are_shown_failing():
    table = benchmark.coverage("resampled", 100, 60)
    assert (table["naive"] < 0.9).all() and (table["held"] > table["naive"]).all()


def test_the_table_is_drawn():
    table = benchmark.coverage("shown", 40, 5)
    drawn = benchmark.as_markdown(table)
    assert drawn.startswith("| estimator | 40 clusters |") and "Wilson by identity" in drawn


def test_a_world_with_too_few_labels_has_no_interval_and_the_run_goes_on(tmp_path, monkeypatch, capsys):
    """'Only 4 identities are labeled' ended the whole run."""
    options = ["--only", "label noise", "tones", "--clusters", "30", "--seeds", "2", "--keep", str(tmp_path / "a.csv")]
    monkeypatch.setattr("sys.argv", ["coverage", *options])
    benchmark.main()
    assert "rank correlation of tones" in capsys.readouterr().out
    monkeypatch.setitem(benchmark.EXPERIMENTS, "label noise", lambda n, seed: pytest.fail("run again"))
    benchmark.main()


def test_files_of_kept_chunks_are_pooled_and_sizes_without_an_interval_say_so(tmp_path):
    kept = benchmark.Kept([tmp_path / "new.csv"])
    row = {"estimator": ["share"], "seeds": [100], "held": [0.9], "naive": [0.5]}
    kept.add("shown", 200, 0, pd.DataFrame(row))
    kept.add("shown", 50, 0, pd.DataFrame(row).head(0))
    other = benchmark.Kept([tmp_path / "other.csv"])
    other.add("shown", 200, 100, pd.DataFrame({**row, "seeds": [900], "held": [1.0]}))
    both = benchmark.Kept([tmp_path / "new.csv", tmp_path / "other.csv"])
    assert both.has("shown", 200, 100) and not both.has("shown", 200, 200)
    assert benchmark.as_markdown(both.table()).splitlines()[-1] == "| share | no interval | 99.0 / 50.0 |"


def test_the_counts_of_a_page_are_pooled_with_other_seeds():
    page = "\n".join([
        "# Coverage", "<!-- table -->", "| estimator | 50 clusters | 1000 clusters |", "|---|---|---|",
        "| gap (by pair) | no interval | 94.8 / 80.2 (400 seeds) |", "| rate | 95.1 | 93.0 (400 seeds) |",
        "| of no part | 90.0 | 90.0 |", "<!-- end -->",
    ])  # fmt: skip
    part = {"experiment": "adjusted", "clusters": 1000, "first": 400, "seeds": 600, "naive": np.nan}
    parts = pd.DataFrame([part | {"estimator": "gap (by pair)", "held": 0.95}, part | {"estimator": "rate", "held": 1}])
    counts = benchmark.counts_of(page, parts)
    assert (counts["held"] * counts["seeds"]).round(9).tolist() == [379, 951, 372]
    assert counts["naive"].dropna().tolist() == [pytest.approx(321 / 400)]


def test_a_page_and_a_run_make_one_table(tmp_path):
    (tmp_path / "page.md").write_text(
        "<!-- table -->\n| estimator | 50 clusters | 200 clusters |\n|---|---|---|\n"
        "| gap | 94.0 | 95.0 (400 seeds) |\n<!-- end -->"
    )
    kept = benchmark.Kept([tmp_path / "parts.csv"])
    kept.add(
        "adjusted", 200, 400, pd.DataFrame({"estimator": ["gap"], "seeds": [600], "held": [0.9], "naive": [np.nan]})
    )
    pooled = benchmark.Kept([tmp_path / "parts.csv"], tmp_path / "page.md").table()
    assert benchmark.as_markdown(pooled).splitlines()[-1] == "| gap | 94.0 | 92.0 |"
