"""The gaps that head the report: one a rater, and none where only labels are rated."""

from __future__ import annotations

import likewise as lw
from likewise.analysis.labels import LABELED
from likewise.audit.estimate.everything import _leads
from likewise.tables.estimates import row


def gap(quantity: str, sample: str = "all") -> dict[str, object]:
    return row(quantity, "gap", sample, "F - M", 0.1, n=40, clusters=20, method="mean")


def test_the_matched_gap_of_each_rater_leads_unless_it_has_error_rates():
    frame = lw.Estimates.of([gap("net: distance"), gap("net: distance", "matched"), gap("rated: distance")]).frame
    found = _leads(frame, {"rated"})
    assert {name: lead.frame["sample"].tolist() for name, lead in found.items()} == {"net: distance": ["matched"]}


def test_an_audit_of_labels_alone_has_no_mean_that_leads():
    frame = lw.Estimates.of([gap(f"service: {LABELED} cat")]).frame
    assert _leads(frame, set()) == {}
    assert _leads(frame.iloc[:0], set()) == {}
