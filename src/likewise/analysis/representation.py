"""representation: shares of a group under each term (an occupation, say), against benchmark shares if given.

A share from few images is far from its reference by chance alone, so a ranking by raw shares puts small samples
first. Each raw share has a shrunk one (``shrinkage``), by which terms are ranked. Where several images show
one person, counts are divided by the design effect first.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial

import numpy as np
import numpy.typing as npt
import pandas as pd

from likewise.errors import SpecError, TableError, some
from likewise.stats.dof import cluster_dof
from likewise.stats.intervals import Interval, share_interval
from likewise.stats.shrinkage import shrunk_shares
from likewise.tables import Estimates, Images
from likewise.tables.estimates import remarked, row

Floats = npt.NDArray[np.float64]


def representation(
    images: Images,
    *,
    term: str,
    attribute: str,
    share_of: str,
    reference: Mapping[str, float] | None = None,
    level: float = 0.95,
) -> Estimates:
    """Estimate for each term the share of images whose ``attribute`` is ``share_of``, most skewed term first.

    With ``reference`` (a share for every term, taken as known) skew is the shrunk share less the reference, and the
    difference is reported too; without, it is the distance from the share over all terms. Images of one identity
    count together.
    """
    parts = _by_term(images, term, attribute, share_of)
    _check_reference(reference, parts)
    hits = np.array([part["hit"].sum() for part in parts.values()])
    sizes = np.array([float(len(part)) for part in parts.values()])
    effective_size = 1 / _design_effect(parts)
    drawn = dict(zip(parts, shrunk_shares(hits * effective_size, sizes * effective_size, level=level), strict=True))
    center = dict.fromkeys(parts, float(hits.sum() / sizes.sum())) if reference is None else reference
    ranked = sorted(parts, key=lambda name: -abs(float(drawn[name][0]) - center[name]))
    quantity = f"{attribute}: {share_of}"
    return Estimates.of(
        line for name in ranked for line in _term_rows(quantity, name, parts[name], drawn[name], reference, level)
    )


def _by_term(images: Images, term: str, attribute: str, share_of: str) -> dict[str, pd.DataFrame]:
    """Return for each term its images: whether they are of the share (``hit``), and whose they are."""
    frame = pd.DataFrame({"term": images.attribute(term), "hit": images.attribute(attribute)})
    frame["identity"] = images.identities
    frame = frame.dropna(subset=["term", "hit"])
    frame["hit"] = (frame["hit"].astype(str) == share_of).astype(float)
    if frame["hit"].nunique() < 2:
        share = f"{frame['hit'].mean():.0%}"
        raise TableError(
            f"{share} of {len(frame)} images are {share_of!r} in {attribute!r}: nothing to compare",
            fix="Choose an attribute with both values, or another value.",
        )
    return {str(name): part for name, part in frame.groupby("term", sort=True)}


def _design_effect(parts: Mapping[str, pd.DataFrame]) -> float:
    """Return the design effect of several images per identity, over all terms together."""
    clustered = sum(len(part) ** 2 * _variance(part) for part in parts.values())
    plain = sum(len(part) * float(part["hit"].mean() * (1 - part["hit"].mean())) for part in parts.values())
    alone = all(part["identity"].is_unique for part in parts.values())
    return 1.0 if alone or plain == 0 else max(clustered / plain, 1.0)


def _variance(part: pd.DataFrame) -> float:
    """Return the variance of a term's share, images of one identity together."""
    clusters = int(part["identity"].nunique())
    away = (part["hit"] - part["hit"].mean()).groupby(part["identity"]).sum()
    return float((away**2).sum()) / len(part) ** 2 * clusters / max(clusters - 1, 1)


def _term_rows(
    quantity: str, name: str, part: pd.DataFrame, drawn: Floats, reference: Mapping[str, float] | None, level: float
) -> list[dict[str, object]]:
    share, n, clusters = float(part["hit"].mean()), len(part), int(part["identity"].nunique())
    dof = cluster_dof([pd.factorize(part["identity"])[0]])
    low, high, word = share_interval(share, _variance(part), n=n, clusters=clusters, level=level, dof=dof)
    method = remarked("Wilson by identity", word)
    write = partial(row, quantity, sample="all", group=name, level=level, n=n)
    shrunk = Interval(float(drawn[0]), float(drawn[1]), float(drawn[2]), clusters)
    found = [
        write("share", found=Interval(share, low, high, clusters), method=method),
        write("shrunk_share", found=shrunk, method="beta-binomial"),
    ]
    if reference is not None:
        known = float(reference[name])
        gap = Interval(share - known, low - known, high - known, clusters)
        found.append(write("reference_gap", found=gap, method=method))
    return found


def _check_reference(reference: Mapping[str, float] | None, terms: Iterable[str]) -> None:
    if reference is None:
        return
    missing = sorted(set(terms) - set(reference))
    if missing:
        raise SpecError(f"No reference share for {some(missing)}", fix="Add a row for each term.")
    wrong = [name for name, share in reference.items() if not 0 <= share <= 1]
    if wrong:
        raise SpecError(f"Reference shares outside 0 to 1 for {some(wrong)}", fix="Divide percentages by 100.")
