"""``true_labels`` in [estimate]: corrected gaps beside uncorrected ones, from a file to the report."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from benchmarks.null_worlds import NullWorld

from likewise.audit.estimate.label_noise import label_noise_estimates, true_labels
from likewise.audit.plan.sections import EstimatePlan
from likewise.errors import TableError
from likewise.report.sections.findings.crowd import families
from likewise.tables import Estimates, Ratings


def context_with(tmp_path, labels: pd.DataFrame):
    context = NullWorld(0, identities=60, raters=10).context(tmp_path)
    labels.to_csv(tmp_path / "labels.csv", index=False)
    object.__setattr__(context.plan, "estimate", EstimatePlan(true_labels="labels.csv"))
    return context


def test_corrected_gaps_stand_beside_uncorrected_ones_in_the_report(tmp_path):
    drawn = NullWorld(0, identities=60, raters=10).context(tmp_path).images().frame.iloc[::2]
    flipped = np.where(np.arange(len(drawn)) % 9 == 0, "m", drawn["perceived_group"])
    context = context_with(tmp_path, pd.DataFrame({"image": drawn["image"], "label": flipped}))
    genuine, frame = context.trials().genuine(), context.ratings().frame
    own = Ratings(frame[frame["unit"].isin(genuine.keys) & frame["rater"].eq("one")])
    found = Estimates.together(label_noise_estimates(context, own, genuine))
    assert not context.notes
    gaps = found.where(stat="gap").frame
    assert gaps["sample"].tolist() == ["as predicted", "corrected for label noise", "labels imputed", "MC-SIMEX"]
    (family,) = [each for each in families(found) if each["key"] == "label-noise"]
    assert {table["name"] for table in family["tables"]} >= {"perceived group"}


def test_an_image_with_two_labels_is_refused(tmp_path):
    context = context_with(tmp_path, pd.DataFrame({"image": ["i1", "i1"], "label": ["f", "m"]}))
    with pytest.raises(TableError, match="two labels of 'i1'"):
        true_labels(context)
