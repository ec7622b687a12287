"""The examples in docstrings of stats and analysis run."""

from __future__ import annotations

import doctest
import importlib

import pytest

MODULES = [
    *(f"likewise.stats.{name}" for name in ("dof", "intervals", "jackknife")),
    *(
        f"likewise.analysis.{name}"
        for name in (
            "audit_power", "crowd.agreement", "crowd.panel", "crowd.quality", "gaps.estimate", "label_noise", "labels",
            "multiplicity", "sensitivity.e_value", "sensitivity.matched_gaps", "sensitivity.omitted_variable",
            "verdict",
            "verification.adjusted", "verification.error_rates", "verification.orientation",
            "verification.shown_rates",
        )
    ),
    "likewise.tables.estimates",
]  # fmt: skip


@pytest.mark.parametrize("name", MODULES)
def test_examples_run(name):
    found = doctest.testmod(importlib.import_module(name))
    assert found.attempted and not found.failed
