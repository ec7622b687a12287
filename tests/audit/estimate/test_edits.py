"""A handful of valid edits is no finding."""

from __future__ import annotations

import pandas as pd
import pytest

import likewise as lw
from likewise.audit.estimate.edits import too_few
from likewise.tables.estimates import FEW_CLUSTERS


def edited(identities: int) -> lw.Images:
    rows = [(f"{k}@{strength}", f"p{k}", str(k), strength) for k in range(identities) for strength in (-1.0, 1.0)]
    return lw.Images(pd.DataFrame(rows, columns=["image", "identity", "parent", "level"]))


@pytest.mark.parametrize(("identities", "few"), [(0, True), (2, True), (FEW_CLUSTERS - 1, True), (FEW_CLUSTERS, False)])
def test_people_with_valid_edits_are_counted_and_not_their_images(identities, few):
    assert too_few(edited(max(identities, 1)).subset(edited(identities).keys if identities else [])) is few
