from __future__ import annotations

import pandas as pd
import pytest

import likewise as lw
from invariants import check_table
from likewise.errors import LikewiseWarning, SpecError, TableError

ROWS = pd.DataFrame({"pair": ["p1", "p2"], "a": ["1", "2"], "b": ["3", "4"], "distance": [0.1, 0.2]})
LEDGER = pd.DataFrame({"contrast": [True, True]})
DROPPED = pd.DataFrame({"side": ["f", "m"], "reason": ["no vector", "partners used up"], "images": [1, 3]})


def made() -> lw.Matches:
    return lw.Matches(
        ROWS, spec=lw.MatchSpec(exact="age"), ledger=LEDGER, dropped=DROPPED, offered={"f": 3, "m": 5}, note="Only 2"
    )


def test_pairs_remember_how_they_were_made(tmp_path):
    pairs = made()
    check_table(pairs)
    back = lw.Matches.read(pairs.write(tmp_path / "pairs.parquet"))
    assert back == pairs
    assert (back.spec, back.offered, back.note) == (pairs.spec, pairs.offered, pairs.note)
    assert back.ledger.equals(pairs.ledger)
    assert back.dropped.equals(pairs.dropped)
    assert str(pairs).splitlines()[0] == "Matches: 2 pairs of 4 images. Only 2"


def test_a_broken_rule_cannot_be_a_pair():
    with pytest.raises(TableError, match="Constraint 'contrast' is broken by 'p2'"):
        lw.Matches(ROWS, ledger=pd.DataFrame({"contrast": [True, False]}))


def test_nobody_is_lost():
    with pytest.raises(TableError, match=r"Matched 2 and dropped 1 do not add up to 9 offered \(f\)"):
        lw.Matches(ROWS, dropped=DROPPED, offered={"f": 9})


@pytest.mark.parametrize(
    ("frame", "says"),
    [
        (ROWS.assign(b=ROWS["a"]), "Columns 'a' and 'b' are the same in 'p1', 'p2'"),
        (ROWS.assign(ref_a=ROWS["a"]), "'a' and 'ref_a' are the same"),
        (ROWS.assign(pair="p"), "Duplicate pair in Matches: 'p'"),
        (ROWS.assign(weight=1), "no column 'weight'"),
        (ROWS.drop(columns="b"), "Column 'b' not found in Matches"),
        (ROWS.assign(distance="far"), "not finite numbers"),
    ],
)
def test_wrong_pairs_are_refused(frame, says):
    with pytest.raises(TableError, match=says):
        lw.Matches(frame)


def test_images_of_pairs_are_faces():
    with pytest.raises(TableError, match="3 images that Images does not have: '2', '3', '4'"):
        made().check_images(lw.Images(pd.DataFrame({"image": ["1"], "identity": ["x"]})))


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"method": "nearst"}, "Did you mean 'nearest'"),
        ({"max_pairs": 0}, "at least 1"),
        ({"caliper": {"age": -1}}, "negative or infinite"),
        ({"caliper": {"age": "wide"}}, "such as '0.2sd'"),
        ({"antiexact": ["person"]}, "identity"),
        ({"both_sides": "keep"}, "is unknown"),
    ],
)
def test_a_spec_without_meaning_is_refused(options, says):
    with pytest.raises(SpecError, match=says):
        lw.MatchSpec(**options)


def test_a_spec_says_what_is_not_as_usual():
    assert str(lw.MatchSpec()) == "nearest"
    assert str(lw.MatchSpec(exact="age", max_pairs=5)) == "nearest, exact = ['age'], max_pairs = 5"


def test_an_unknown_option_names_the_nearest():
    with pytest.raises(SpecError, match=r"no option 'calliper'\. Did you mean 'caliper'"):
        lw.MatchSpec.from_dict({"calliper": {}})
    assert hash(lw.MatchSpec(caliper={"b": 1, "a": 2})) == hash(lw.MatchSpec(caliper={"a": 2, "b": 1}))


@pytest.mark.parametrize(
    ("older", "today"),
    [
        ({"method": "greedy"}, {}),
        ({"method": "propensity", "order": "optimal"}, {"method": "optimal", "distance": "propensity"}),
        ({"distance": "given"}, {"distance": "precomputed"}),
        ({"distance": "mean_row"}, {"rows": "mean"}),
        ({"distance": "mahalanobis_mean_row"}, {"distance": "mahalanobis", "rows": "mean"}),
    ],
)
def test_older_names_are_read_with_a_warning(older, today):
    with pytest.warns(LikewiseWarning, match="older names"):
        assert lw.MatchSpec.from_dict(older) == lw.MatchSpec(**today)


def test_remove_contrast_is_refused_and_the_reason_is_given():
    assert lw.MatchSpec.from_dict({"remove_contrast": False}) == lw.MatchSpec()
    with pytest.raises(SpecError, match="contains the confounders"):
        lw.MatchSpec.from_dict({"remove_contrast": True})


def test_matches_name_their_estimand_and_units(tmp_path):
    ends = {"a_first": ["1", "3"], "a_second": ["2", "4"], "b_first": ["5", "7"], "b_second": ["6", "8"]}
    rows = ROWS.assign(a=["1|2", "3|4"], b=["5|6", "7|8"], **ends)
    found = lw.Matches(rows, estimand="ATT", unit="trial")
    back = lw.Matches.read(found.write(tmp_path / "m.parquet"))
    assert (back.estimand, back.unit, back.images) == ("ATT", "trial", list("12345678"))
    assert "estimand: ATT (every focal identity is matched)" in str(back)
    with pytest.raises(TableError, match="Column 'a_first' not found"):
        lw.Matches(ROWS, unit="trial")
    with pytest.raises(TableError, match="'ATX'"):
        lw.Matches(ROWS, estimand="ATX")
