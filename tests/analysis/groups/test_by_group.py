"""by_group: agrees with plain arithmetic, with error_rates, and refuses what it cannot show."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from benchmarks import coverage_group_errors
from benchmarks.coverage_groups import SIZES, coverage, world

import likewise as lw
from likewise.errors import SpecError, TableError
from likewise.simulation.system_ratings import CONTRAST, VerificationTrials

BY = ["perceived_one", "perceived_two"]


def test_every_cell_has_the_mean_over_its_identities() -> None:
    ratings, images = world("shares, unequal", 3)
    found = lw.by_group(ratings, None, images, BY).where(stat="group_rate").frame.set_index("group")
    joined = images.frame.assign(value=ratings.frame["value"].to_numpy())
    person = joined.groupby([*BY, "identity"])["value"].mean()
    for cell, size in SIZES.items():
        name = ", ".join(cell)
        assert found.loc[name, "estimate"] == pytest.approx(person.loc[cell].mean())
        assert found.loc[name, "clusters"] == size
        assert found.loc[name, "n"] == int((joined[BY] == list(cell)).all(axis=1).sum())
    assert found.loc["overall", "estimate"] == pytest.approx(person.mean())


def test_differences_are_to_the_overall_value_or_to_a_cell() -> None:
    ratings, images = world("means, unequal", 1)
    values = lw.by_group(ratings, None, images, BY).where(stat="group_mean").frame.set_index("group")["estimate"]
    plain = lw.by_group(ratings, None, images, BY).where(stat="group_difference").frame.set_index("group")
    assert plain.loc["a, x - overall", "estimate"] == pytest.approx(values["a, x"] - values["overall"])
    cell = lw.by_group(ratings, None, images, BY, reference="c, y").where(stat="group_difference").frame
    assert len(cell) == len(SIZES) - 1
    first = cell.set_index("group").loc["b, x - c, y", "estimate"]
    assert first == pytest.approx(values["b, x"] - values["c, y"])
    apart = lw.by_group(ratings, None, images, BY).where(stat="max_difference").frame.iloc[0]
    assert apart["estimate"] == pytest.approx(np.ptp(values.drop("overall")))


def test_error_rates_are_those_of_error_rates() -> None:
    ratings, trials, images, _ = VerificationTrials(60, seed=1).tables()
    found = lw.by_group(ratings, trials, images, "perceived_gender", rates=[0.05])
    known = lw.error_rates(ratings, trials, images, CONTRAST, rates=[0.05]).where(stat="fnmr").frame
    own = found.where(stat="group_rate", quantity="simulated: FNMR at FMR 0.05").frame.set_index("group")
    for _, row in known.iterrows():
        assert own.loc[row["group"], ["estimate", "low", "high"]].tolist() == pytest.approx(
            row[["estimate", "low", "high"]].tolist(), abs=0.01
        )
    assert own.loc["female", "estimate"] == pytest.approx(float(known.iloc[0]["estimate"]))


def test_small_cells_leave_everything() -> None:
    ratings, images = world("shares, unequal", 2)
    found = lw.by_group(ratings, None, images, BY, suppress_below=20)
    assert not found.frame["group"].str.contains("a, x").any()
    hidden = found.where(stat="suppressed_groups").frame.iloc[0]
    assert hidden["estimate"] == 1 and hidden["method"] == "fewer than 20 identities; a, x"
    whole = lw.by_group(ratings, None, images, BY).where(group="overall").frame.iloc[0]["clusters"]
    assert found.where(group="overall").frame.iloc[0]["clusters"] == whole - 12
    with pytest.raises(SpecError, match="fewer than 20 identities"):
        lw.by_group(ratings, None, images, BY, suppress_below=20, reference="a, x")
    with pytest.raises(TableError, match="Fewer than two groups"):
        lw.by_group(ratings, None, images, BY, suppress_below=150)


def test_bad_requests_are_named() -> None:
    ratings, images = world("means, equal", 0)
    with pytest.raises(SpecError, match="Unknown reference group 'c, z'"):
        lw.by_group(ratings, None, images, BY, reference="c, z")
    with pytest.raises(SpecError, match="named twice"):
        lw.by_group(ratings, None, images, ["perceived_one", "perceived_one"])
    with pytest.raises(TableError, match="perceived_three"):
        lw.by_group(ratings, None, images, "perceived_three")
    numbers = images.with_attribute("age", pd.Series(np.arange(len(images)) / 7, index=images.keys))
    with pytest.raises(SpecError, match="more than 100"):
        lw.by_group(ratings, None, numbers, "age")


def test_answers_that_are_missing_are_counted_by_group() -> None:
    ratings, images = world("means, equal", 0)
    frame = ratings.frame
    frame.loc[frame.index % 5 == 0, "value"] = np.nan
    both = pd.concat([frame, frame.assign(question="other label")])
    found = lw.by_group(lw.Ratings(both), None, images, "perceived_one")
    failed = found.where(quantity="net: failure to acquire", group="overall", stat="group_rate").frame.iloc[0]
    assert failed["n"] == len(frame) and 0.1 < failed["estimate"] < 0.3


@pytest.mark.parametrize("name", ["shares, unequal", "means, equal"])
def test_intervals_hold_the_truth(name: str) -> None:
    """A fast look at what ``benchmarks.coverage_groups`` measures over 400 seeds."""
    found = coverage(name, 12, 500_000).set_index("interval")["mean"]
    assert found.min() >= 0.66  # 95 % of 12: below 8 has a chance under 1 in 5,000
    assert found.mean() >= 0.9


def test_error_rates_of_groups_hold_the_truth() -> None:
    """A fast look at what ``benchmarks.coverage_group_errors`` measures."""
    found = coverage_group_errors.coverage(5, 900_000)
    assert len(found) == 24  # four cells, their differences and the largest one, of four rates
    assert found["sum"].sum() >= 0.85 * found["size"].sum()
