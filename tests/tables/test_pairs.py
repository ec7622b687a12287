from __future__ import annotations

import pandas as pd
import pytest

import likewise as lw
from invariants import check_noun
from likewise.errors import SpecError, TableError

ROWS = pd.DataFrame({"pair": ["p1", "p2"], "a": ["1", "2"], "b": ["3", "4"], "distance": [0.1, 0.2]})
LEDGER = pd.DataFrame({"contrast": [True, True]})
DROPPED = pd.DataFrame({"side": ["f", "m"], "reason": ["no vector", "partners used up"], "images": [1, 3]})


def made() -> lw.Pairs:
    return lw.Pairs(
        ROWS, spec=lw.MatchSpec(exact="age"), ledger=LEDGER, dropped=DROPPED, offered={"f": 3, "m": 5}, note="Only 2"
    )


def test_pairs_remember_how_they_were_made(tmp_path):
    pairs = made()
    check_noun(pairs)
    back = lw.Pairs.read(pairs.write(tmp_path / "pairs.parquet"))
    assert back == pairs
    assert (back.spec, back.offered, back.note) == (pairs.spec, pairs.offered, pairs.note)
    assert back.ledger.equals(pairs.ledger)
    assert back.dropped.equals(pairs.dropped)
    assert str(pairs).splitlines()[0] == "Pairs: 2 pairs of 4 images. Only 2"


def test_a_broken_rule_cannot_be_a_pair():
    with pytest.raises(TableError, match="every pair keeps 'contrast'; got broken by 'p2'"):
        lw.Pairs(ROWS, ledger=pd.DataFrame({"contrast": [True, False]}))


def test_nobody_is_lost():
    with pytest.raises(TableError, match=r"matched \+ dropped = offered; got 2 \+ 1 != 9 \(f\)"):
        lw.Pairs(ROWS, dropped=DROPPED, offered={"f": 9})


@pytest.mark.parametrize(
    ("frame", "says"),
    [
        (ROWS.assign(b=ROWS["a"]), "a and b are different images"),
        (ROWS.assign(ref_a=ROWS["a"]), "a and ref_a are different"),
        (ROWS.assign(pair="p"), "more than one for 'p'"),
        (ROWS.assign(weight=1), "got 'weight'"),
        (ROWS.drop(columns="b"), "needs the column 'b'"),
        (ROWS.assign(distance="far"), "holds numbers"),
    ],
)
def test_wrong_pairs_are_refused(frame, says):
    with pytest.raises(TableError, match=says):
        lw.Pairs(frame)


def test_images_of_pairs_are_faces():
    with pytest.raises(TableError, match="got '2', '3', '4'"):
        made().check_faces(lw.Faces(pd.DataFrame({"image": ["1"], "identity": ["x"]})))


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"method": "gredy"}, "Did you mean 'greedy'"),
        ({"max_pairs": 0}, "at least 1"),
        ({"caliper": {"age": -1}}, "at least 0"),
        ({"caliper": {"age": "wide"}}, "such as '0.2sd'"),
        ({"antiexact": ["person"]}, "identity"),
        ({"both_sides": "keep"}, "one of"),
    ],
)
def test_a_spec_without_meaning_is_refused(options, says):
    with pytest.raises(SpecError, match=says):
        lw.MatchSpec(**options)


def test_a_spec_says_what_is_not_as_usual():
    assert str(lw.MatchSpec()) == "greedy"
    assert str(lw.MatchSpec(exact="age", max_pairs=5)) == "greedy, exact = ['age'], max_pairs = 5"


def test_an_unknown_option_names_the_nearest():
    with pytest.raises(SpecError, match=r"no option 'calliper'\. Did you mean 'caliper'"):
        lw.MatchSpec.from_dict({"calliper": {}})
    assert hash(lw.MatchSpec(caliper={"b": 1, "a": 2})) == hash(lw.MatchSpec(caliper={"a": 2, "b": 1}))


def test_genuine_trials_are_those_of_one_person():
    frame = pd.DataFrame({"pair": ["p", "q"], "a": ["1", "2"], "b": ["3", "4"], "same": [True, False]})
    assert lw.Pairs(frame).genuine().frame["pair"].tolist() == ["p"]
    assert len(lw.Pairs(frame.drop(columns="same")).genuine()) == 2
