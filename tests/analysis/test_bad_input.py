"""Every estimator on data that say nothing: an error that names the rule, or a flagged row, never a silent number."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import likewise as lw
from likewise.analysis.crowd.agreement import agreement, rater_quality
from likewise.analysis.crowd.panel import panel
from likewise.analysis.crowd.quality import mixed_quality, quality
from likewise.analysis.crowd.scales import scales
from likewise.analysis.crowd.skin_tone import tone_agreement
from likewise.analysis.images.means import image_means
from likewise.analysis.images.quality import feature_distances, inception_scores
from likewise.analysis.representation import representation
from likewise.analysis.sensitivity.matched_gaps import sensitivity
from likewise.analysis.slopes.estimate import slopes
from likewise.analysis.slopes.tests import slope_tests
from likewise.analysis.verification.error_rates import det, error_rates
from likewise.errors import LikewiseError
from likewise.simulation.panel_ratings import TONE, ImageFeatures, OrdinalResponses, ToneResponses
from likewise.simulation.system_ratings import CONTRAST, EditedLabels, RealOrGenerated, VerificationTrials

Case = tuple[str, Callable[[], lw.Estimates]]
MADE = {"made_by": "made_by", "generated": "generator"}
CONSTANTS = {"p_value", "ols_p", "q_bh", "q_by", "linearity_p", "gamma", "e_value", "e_value_limit", "fid",
             "random_effect_sd", "sd_over_images", "threshold"}  # fmt: skip
"""Numbers that have no interval, or (a threshold that is given) one without width."""


def degraded(
    ratings: lw.Ratings, faces: lw.Images, whose: Any, contrast: lw.Contrast
) -> Iterator[tuple[str, lw.Ratings]]:
    """Ratings in which a group is silent, or of one person, or all say the same, or the groups never meet."""
    frame = ratings.frame
    side, identity = frame["unit"].map(whose).map(contrast.side(faces)), frame["unit"].map(whose).map(faces.identities)
    one = identity[side == 1].iloc[0]
    high, low = float(frame["value"].max()), float(frame["value"].min())
    yield "a group without ratings", lw.Ratings(frame[side != 1])
    yield "one identity", lw.Ratings(frame[(side != 1) | (identity == one)])
    yield "one rating", lw.Ratings(frame.iloc[:1])
    yield "all answers equal", lw.Ratings(frame.assign(value=high))
    yield "separated", lw.Ratings(frame.assign(value=np.where(side == 1, high, low)))
    yield "no answers", lw.Ratings(frame.assign(value=np.nan))


def trials() -> Iterator[Case]:
    ratings, asked, faces, pairs = VerificationTrials(40, 0, impostors=8).tables()
    genuine = asked.genuine()
    whose = asked.frame.set_index("trial")["a"]
    for what, bad in degraded(ratings, faces, whose, CONTRAST):
        own = lw.Ratings(bad.frame[bad.frame["unit"].isin(genuine.frame["trial"])])
        yield f"gaps: {what}", lambda own=own: lw.gaps(own, genuine, faces, CONTRAST, pairs=pairs)
        yield f"sensitivity: {what}", lambda own=own: sensitivity(own, genuine, faces, CONTRAST, pairs=pairs)
        yield f"verification: {what}", lambda bad=bad: error_rates(bad, asked, faces, CONTRAST, rates=[0.05])
        yield f"det: {what}", lambda bad=bad: det(bad, asked, faces, CONTRAST, points=3)
    same = asked.frame.set_index("trial")["same"].astype(bool)
    frame = ratings.frame
    reported = frame["unit"].map(same).to_numpy(dtype=bool)
    for what, value in {
        "no impostor has a distance": np.where(reported, frame["value"], np.nan),
        "genuine and impostors are separated": np.where(reported, 0.1, 0.9),
        "nobody has a distance": np.full(len(frame), np.nan),
    }.items():
        bad = lw.Ratings(frame.assign(value=value))
        yield f"verification: {what}", lambda bad=bad: error_rates(bad, asked, faces, CONTRAST, rates=[0.05])
        yield f"det: {what}", lambda bad=bad: det(bad, asked, faces, CONTRAST, points=3)
    yield "verification: a rate too low", lambda: error_rates(ratings, asked, faces, CONTRAST, rates=[1e-4])
    far = {"simulated": 99.0}
    yield (
        "verification: a threshold beyond all",
        lambda: error_rates(ratings, asked, faces, CONTRAST, rates=[0.05], thresholds=far),
    )


def sweeps() -> Iterator[Case]:
    ratings, faces = EditedLabels(30, 0).tables()
    frame, level = ratings.frame, ratings.frame["unit"].map(faces.attribute("level"))
    one = frame["unit"].map(faces.identities) == faces.identities.iloc[0]
    for what, bad in {
        "one identity": frame[one],
        "one rating": frame.iloc[:1],
        "always": frame.assign(value=1.0),
        "never": frame.assign(value=0.0),
        "separated": frame.assign(value=(level > 0).astype(float)),
        "a level is missing": frame[level != 0],
        "no answers": frame.assign(value=np.nan),
    }.items():
        given = lw.Ratings(bad)
        yield f"slopes: {what}", lambda given=given: slopes(given, faces, threshold=0.5)
        yield f"slope_tests: {what}", lambda given=given: slope_tests(given, faces, threshold=0.5)


def crowds() -> Iterator[Case]:
    ratings, faces = RealOrGenerated(40, 12, 0).tables()
    kind = dict(faces.attribute("perceived_skin_tone"))
    whose = {image: image for image in faces.keys}
    for what, bad in degraded(ratings, faces, whose, TONE):
        yield f"quality: {what}", lambda bad=bad: quality(bad, faces, TONE, **MADE)
        yield f"mixed: {what}", lambda bad=bad: mixed_quality(bad, faces, TONE, **MADE)
        yield f"agreement: {what}", lambda bad=bad: agreement(bad, question="judged_real")
        yield f"raters: {what}", lambda bad=bad: rater_quality(bad, question="judged_real")
        yield f"panel: {what}", lambda bad=bad: panel(bad, kind, question="judged_real", compare=("darker", "lighter"))
        yield f"image_means: {what}", lambda bad=bad: image_means(bad, faces, TONE)
    frame = ratings.frame
    alone = lw.Ratings(frame[frame["rater"] == frame["rater"].iloc[0]])
    yield "quality: one rater", lambda: quality(alone, faces, TONE, **MADE)
    yield "agreement: one rater", lambda: agreement(alone, question="judged_real")
    answers, shown = OrdinalResponses(40, 12, 0).tables()
    for what, bad in degraded(answers, shown, {image: image for image in shown.keys}, TONE):
        yield f"scales: {what}", lambda bad=bad: scales(bad, shown, TONE, question="how_sure")
    tones, people = ToneResponses(40, 12, 0).tables()
    for what, bad in degraded(tones, people, {image: image for image in people.keys}, TONE):
        yield f"tone: {what}", lambda bad=bad: tone_agreement(bad, people, question="tone", measured="measured_ita")


def images() -> Iterator[Case]:
    vectors, faces = ImageFeatures(20, 0).tables()
    table = faces.frame
    focal = (table["perceived_skin_tone"] == "darker").to_numpy()
    cases = {
        "a group without images": (vectors, table.assign(perceived_skin_tone=np.where(focal, "other", "lighter"))),
        "one identity": (vectors, table.assign(identity=np.where(focal, "p", table["identity"]))),
        "one kind": (vectors, table.assign(made_by="generator")),
        "all features equal": (lw.Vectors(vectors.keys, np.ones_like(vectors.values), source="same"), table),
        "far apart": (
            lw.Vectors(vectors.keys, vectors.values + 50 * focal[:, None].astype(np.float32), source="far"),
            table,
        ),
    }
    for what, (values, frame) in cases.items():
        shown = lw.Images(frame)
        yield f"distances: {what}", lambda v=values, f=shown: feature_distances(v, f, TONE, **MADE, permutations=3)
        yield f"scores: {what}", lambda v=values, f=shown: inception_scores(v, f, TONE, **MADE)
    for what, frame in {
        "one identity": table.assign(identity="p", search_term="nurse"),
        "one term": table.assign(search_term="nurse"),
        "separated": table.assign(search_term=np.where(focal, "nurse", "clerk")),
        "all alike": table.assign(search_term="nurse", perceived_skin_tone="darker"),
    }.items():
        shown = lw.Images(frame)
        yield (
            f"representation: {what}",
            lambda f=shown: representation(f, term="search_term", attribute="perceived_skin_tone", share_of="darker"),
        )


CASES = dict([*trials(), *sweeps(), *crowds(), *images()])


@pytest.mark.parametrize("case", list(CASES))
def test_an_error_or_a_flag(case):
    try:
        found = CASES[case]().frame
    except LikewiseError as error:
        assert len(str(error)) > 20
        return
    assert np.isfinite(found["estimate"]).all()
    none = ~np.isfinite(found["low"]) | ~np.isfinite(found["high"]) | (found["low"] == found["high"])
    silent = found[none & ~found["method"].str.contains("; ") & ~found["stat"].isin(CONSTANTS)]
    assert silent.empty, silent[["quantity", "stat", "group", "estimate", "low", "high", "method"]].to_string()
