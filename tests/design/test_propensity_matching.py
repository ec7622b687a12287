"""Scores may be fitted on columns instead of latents."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import likewise as lw
from likewise.design.propensity.matching import on_columns, scored_by
from likewise.errors import SpecError

CONTRAST = lw.Contrast("perceived_gender", focal="female", reference="male")


def faces(n: int = 120) -> lw.Images:
    rng = np.random.default_rng(3)
    side = np.arange(n) % 2 == 0
    frame = pd.DataFrame({"image": [f"i{k:03d}" for k in range(n)], "identity": [f"p{k:03d}" for k in range(n)]})
    frame["perceived_gender"] = np.where(side, "female", "male")
    frame["age"] = rng.normal(40 - 5 * side, 10)
    frame["hair"] = rng.choice(["dark", "fair", "red"], n)
    return lw.Images(frame)


def test_the_score_is_that_of_a_regression_on_the_columns():
    own = faces()
    spec = lw.MatchSpec(distance="propensity", score_on=("age", "hair"), folds=0)
    found = scored_by(own, None, CONTRAST, spec, None).scores
    wide = pd.get_dummies(own.frame.set_index("image")[["age", "hair"]], columns=["hair"], drop_first=True, dtype=float)
    z = (wide - wide.mean()) / wide.std(ddof=0)
    model = LogisticRegression(max_iter=10_000, tol=1e-10).fit(z, own.frame["perceived_gender"] == "female")
    np.testing.assert_allclose(found, model.decision_function(z.loc[found.index]), atol=1e-4)


def test_images_without_the_column_have_no_score():
    frame = faces().frame
    frame.loc[5, "age"] = np.nan
    assert "i005" not in on_columns(lw.Images(frame), ["age"])


def test_columns_without_the_method_are_refused():
    with pytest.raises(SpecError, match="score_on needs distance"):
        lw.MatchSpec(score_on=("age",))
