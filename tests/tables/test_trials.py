from __future__ import annotations

import pandas as pd
import pytest

import likewise as lw
from invariants import check_table
from likewise.errors import TableError

ROWS = pd.DataFrame({"trial": ["t", "u"], "a": ["1", "2"], "b": ["3", "4"], "same": [True, False]})
IMAGES = lw.Images(pd.DataFrame({"image": list("12345"), "identity": list("xyxzw")}))


def test_trials_are_kept_as_they_were_made(tmp_path):
    dropped = pd.DataFrame({"side": ["all"], "reason": ["beyond the cap"], "images": [1]})
    asked = lw.Trials(ROWS, dropped=dropped, offered={"all": 5})
    check_table(asked)
    back = lw.Trials.read(asked.write(tmp_path / "trials.parquet"))
    assert back == asked
    assert (back.offered, back.dropped.to_dict()) == (asked.offered, asked.dropped.to_dict())
    assert str(asked).splitlines()[0] == "Trials: 1 genuine and 1 impostor trials of 4 images"


def test_genuine_and_impostor_trials_are_separated():
    asked = lw.Trials(ROWS)
    assert (asked.genuine().keys, asked.impostors().keys) == (["t"], ["u"])
    asked.check_same(IMAGES)


def test_trials_written_before_they_had_a_table_of_their_own_are_read(tmp_path):
    ROWS.rename(columns={"trial": "pair"}).to_csv(tmp_path / "old.csv", index=False)
    assert lw.Trials.read(tmp_path / "old.csv") == lw.Trials(ROWS)


@pytest.mark.parametrize(
    ("frame", "says"),
    [
        (ROWS.assign(b=ROWS["a"]), "compare an image with itself: 't', 'u'"),
        (ROWS.assign(trial="t"), "Duplicate trial in Trials: 't'"),
        (ROWS.assign(weight=1), "no column 'weight'"),
        (ROWS.drop(columns="same"), "Column 'same' not found"),
        (ROWS.assign(same=[True, None]), "no value for trial 'u'"),
        (ROWS.assign(distance="far"), "not finite numbers"),
    ],
)
def test_wrong_trials_are_refused(frame, says):
    with pytest.raises(TableError, match=says):
        lw.Trials(frame)


def test_images_that_are_lost_are_named():
    with pytest.raises(TableError, match="hold 4 images and dropped 0, but 9 were offered"):
        lw.Trials(ROWS, offered={"all": 9})


def test_trials_agree_with_the_identities():
    with pytest.raises(TableError, match="contradicts the identities: 'u'"):
        lw.Trials(ROWS.assign(same=True)).check_same(IMAGES)
    with pytest.raises(TableError, match="1 images that Images does not have: '9'"):
        lw.Trials(ROWS.assign(b=["3", "9"])).check_same(IMAGES)
