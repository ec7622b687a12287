from __future__ import annotations

import pandas as pd
import pytest

import likewise as lw
from likewise.errors import ContrastError

FACES = lw.Images(
    pd.DataFrame(
        {
            "image": list("abcd"),
            "identity": list("abcd"),
            "perceived_gender": ["f", "m", "x", None],
            "Male": [0, 1, 1, 0],
        }
    )
)


def test_every_difference_is_focal_minus_reference():
    contrast = lw.Contrast("perceived_gender", focal="f", reference="m")
    assert contrast.side(FACES).tolist() == [1, -1, 0, 0]
    assert contrast.label == "f - m"


@pytest.mark.parametrize(("focal", "reference"), [(0, 1), ("0", "1"), (0.0, 1.0), (False, True)])
def test_a_level_is_compared_as_it_is_written(focal, reference):
    assert lw.Contrast("Male", focal=focal, reference=reference).side(FACES).tolist() == [1, -1, -1, 1]


def test_a_level_that_does_not_occur_is_an_error():
    with pytest.raises(ContrastError, match=r"Level 'female' does not occur.*The levels are 'f', 'm', 'x'"):
        lw.Contrast("perceived_gender", focal="female", reference="m").side(FACES)


def test_a_column_that_is_not_there_is_an_error():
    with pytest.raises(ContrastError, match="Did you mean 'perceived_gender'"):
        lw.Contrast("percieved_gender", focal="f", reference="m").side(FACES)


def test_focal_and_reference_differ():
    with pytest.raises(ContrastError, match="two different levels"):
        lw.Contrast("Male", focal=1, reference="1")
