"""Who is shown under a term: plain shares, shrinkage that helps, and a ranking that small samples do not lead."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import likewise as lw
from likewise.analysis.representation import representation
from likewise.errors import SpecError, TableError
from likewise.stats.shrinkage import shrunk_shares
from picked import only


def shown(counts):
    """Images for terms with (women, images)."""
    rows = [(term, "woman" if k < women else "man") for term, (women, n) in counts.items() for k in range(n)]
    frame = pd.DataFrame(rows, columns=["search_term", "perceived_gender"])
    return lw.Images(
        frame.assign(image=[f"i{k}" for k in range(len(frame))], identity=[f"p{k}" for k in range(len(frame))])
    )


WANTED: dict[str, Any] = {"term": "search_term", "attribute": "perceived_gender", "share_of": "woman"}
COUNTS = {"nurse": (80, 100), "engineer": (18, 100), "author": (55, 100), "clerk": (3, 3)}


def test_shares_are_wilsons():
    found = representation(shown(COUNTS), **WANTED)
    row = only(found, stat="share", group="engineer")
    other = stats.binomtest(18, 100).proportion_ci(method="wilson")
    assert row["estimate"] == 0.18 and row["n"] == 100
    assert (row["low"], row["high"]) == pytest.approx((other.low, other.high), abs=0.004)  # t for z: a little wider


def test_small_samples_do_not_lead_the_ranking():
    found = representation(shown({**COUNTS, "cook": (42, 100), "writer": (50, 100), "chemist": (36, 90)}), **WANTED)
    order = list(dict.fromkeys(found.frame["group"]))
    assert order.index("clerk") > max(order.index("nurse"), order.index("engineer"))
    small = only(found, stat="shrunk_share", group="clerk")
    assert small["estimate"] < 0.95 and only(found, stat="share", group="clerk")["estimate"] == 1


def test_against_a_reference():
    reference = {"nurse": 0.9, "engineer": 0.15, "author": 0.55, "clerk": 0.8}
    found = representation(shown(COUNTS), reference=reference, **WANTED)
    gap = only(found, stat="reference_gap", group="nurse")
    share = only(found, stat="share", group="nurse")
    assert (gap["estimate"], gap["low"]) == pytest.approx((share["estimate"] - 0.9, share["low"] - 0.9))


@pytest.mark.parametrize(("terms", "worlds"), [(2, 150), (45, 12)], ids=["two terms", "many terms"])
def test_shrinking_lessens_the_error_and_its_intervals_hold(terms, worlds):
    rng, held, errors = np.random.default_rng(0), [], []
    for _ in range(worlds):
        true, sizes = rng.beta(6, 9, terms), rng.integers(3, 40, terms).astype(float)
        hits = rng.binomial(sizes.astype(int), true).astype(float)
        mean, low, high = shrunk_shares(hits, sizes, level=0.95).T
        held += [*((low <= true) & (true <= high))]
        errors.append(np.sum([np.square(mean - true), np.square(hits / sizes - true)], axis=1))
    assert np.mean(held) == pytest.approx(0.95, abs=0.04)
    shrunk, raw = np.sum(errors, axis=0)
    assert shrunk < 0.85 * raw


def test_terms_that_do_not_differ_are_drawn_together_but_not_to_a_point():
    """The likeliest distribution is a point here; taken for known it would give an interval of no width."""
    mean, low, high = shrunk_shares(np.array([20.0, 20.0]), np.array([40.0, 40.0]), level=0.95)[0]
    assert mean == pytest.approx(0.5, abs=1e-6) and 0.15 < high - low < 0.35


def test_images_of_one_person_count_together():
    faces = shown({"nurse": (20, 40), "clerk": (20, 40)})
    four = lw.Images(faces.frame.assign(identity=[f"p{k // 4}" for k in range(80)]))
    one, other = (only(representation(table, **WANTED), stat="share", group="nurse") for table in (faces, four))
    assert other["high"] - other["low"] > 1.7 * (one["high"] - one["low"]) and other["clusters"] == 10


def test_shrunk_shares_hold_when_several_images_show_one_person():
    """Five images a person, all alike in four of five; 40 people a term, 200 terms: taken for 200 images it fails."""
    rng = np.random.default_rng(1)
    true = rng.beta(6, 6, 200)
    person = rng.random((200, 40)) < true[:, None]
    own = rng.random((200, 40, 5)) < true[:, None, None]
    hit = np.where(rng.random((200, 40, 5)) < 0.8, person[:, :, None], own)
    frame = pd.DataFrame({"perceived_gender": np.where(hit.ravel(), "woman", "man")})
    frame["search_term"] = np.repeat([f"t{k:03d}" for k in range(200)], 200)
    frame["identity"] = np.repeat([f"p{k}" for k in range(8000)], 5)
    frame["image"] = [f"i{k}" for k in range(len(frame))]
    truth = dict(zip(sorted(frame["search_term"].unique()), true, strict=True))

    def held(faces):
        rows = representation(faces, **WANTED).where(stat="shrunk_share").frame
        known = rows["group"].map(truth)
        return ((rows["low"] <= known) & (known <= rows["high"])).mean()

    assert held(lw.Images(frame)) == pytest.approx(0.95, abs=0.05)
    assert held(lw.Images(frame.assign(identity=frame["image"]))) < 0.8


def test_bad_input_is_refused():
    with pytest.raises(TableError, match="nothing to compare"):
        representation(shown(COUNTS), **{**WANTED, "share_of": "nobody"})
    with pytest.raises(SpecError, match="No reference share"):
        representation(shown(COUNTS), reference={"nurse": 0.9}, **WANTED)
    with pytest.raises(SpecError, match="0 to 1"):
        representation(shown(COUNTS), reference=dict.fromkeys(COUNTS, 90.0), **WANTED)
