"""45 occupations in image search against the official share of women (Kay, Matuszek and Munson, CHI 2015)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats

from likewise.analysis.representation import representation
from likewise.reproduce.common import LEVEL, Reproduction, read
from likewise.tables import Estimates, Images
from likewise.tables.estimates import row

_ALPHA = 1 - LEVEL


def occupations(data: Path) -> Reproduction:
    """Compare the share of women among the images of each occupation with the official share.

    45 occupations are tested, so discoveries are counted after correction for multiple testing: exact binomial tests,
    Benjamini-Hochberg (false discovery rate) and Bonferroni (family-wise error rate).
    """
    frame = read(data, "occupations/image_search_2013.csv")
    official = {str(term): float(share) for term, share in frame.groupby("search_term")["bls_p_women"].first().items()}
    found = representation(
        _images(frame),
        term="search_term",
        attribute="perceived_gender",
        share_of="woman",
        reference=official,
        level=LEVEL,
    )
    tests = _tests(frame, official)
    quantity = str(found.frame["quantity"].iloc[0])
    many = f"over {len(tests)} occupations"
    rows = [
        row(
            quantity,
            stat,
            "all",
            str(term),
            float(test[stat]),
            n=int(test["n"]),
            clusters=int(test["n"]),
            method=method,
        )
        for term, test in tests.iterrows()
        for stat, method in (("p_value", "exact binomial test"), ("q_bh", f"Benjamini-Hochberg {many}"))
    ]
    return Reproduction(Estimates.together([found, Estimates.of(rows)]), _notes(found, tests))


def _images(frame: pd.DataFrame) -> Images:
    keys = [f"{term}/{rank}" for term, rank in zip(frame["search_term"], frame["rank"], strict=True)]
    columns = {"search_term": frame["search_term"], "perceived_gender": frame["image_gender"]}
    return Images(pd.DataFrame({"image": keys, "identity": keys, **columns}))


def _tests(frame: pd.DataFrame, official: dict[str, float]) -> pd.DataFrame:
    """Return for each occupation an exact test of its share against the official one, and the corrected p-values."""
    women = (frame["image_gender"] == "woman").groupby(frame["search_term"]).agg(["sum", "size"])
    tests = pd.DataFrame({"n": women["size"], "share": women["sum"] / women["size"]})
    tests["official"] = [official[str(term)] for term in tests.index]
    tests["p_value"] = [
        stats.binomtest(int(hits), int(n), p).pvalue
        for hits, n, p in zip(women["sum"], women["size"], tests["official"], strict=True)
    ]
    tests["q_bh"] = stats.false_discovery_control(tests["p_value"], method="bh")
    tests["bonferroni"] = np.minimum(tests["p_value"] * len(tests), 1.0)
    return tests


def _notes(found: Estimates, tests: pd.DataFrame) -> list[str]:
    gaps = found.where(stat="reference_gap").frame
    fewer, more = int((gaps["high"] < 0).sum()), int((gaps["low"] > 0).sum())
    fdr, family = tests["q_bh"] < _ALPHA, tests["bonferroni"] < _ALPHA
    below = tests["share"] < tests["official"]
    return [
        f"Of {len(tests)} occupations, {int(fdr.sum())} differ from the official share of women after correction for "
        f"multiple testing (Benjamini-Hochberg, false discovery rate {_ALPHA:.0%}): {int((fdr & below).sum())} show "
        f"fewer women, {int((fdr & ~below).sum())} more. By Bonferroni: {int(family.sum())}.",
        f"Uncorrected, {fewer} show fewer women and {more} more, beyond the 95 % interval of the images.",
    ]
