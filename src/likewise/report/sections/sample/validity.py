"""Validity of the design in words: balance, overlap, fidelity, edit validity and independence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from likewise.report.names import imbalance, plain, unbalanced
from likewise.report.numbers import number
from likewise.tables import Contrast, Estimates, Matches
from likewise.tables.matching.match_spec import SEPARATED


@dataclass(frozen=True)
class Check:
    """One condition of a valid design: its mark (``good``, ``warn``, ``bad``, ``none``) and what was found."""

    name: str
    mark: str
    verdict: str
    words: str = ""


def checks(
    balance: Estimates,
    matches: Matches,
    contrast: Contrast,
    *,
    fidelity: Sequence[Mapping[str, str]] = (),
    fidelity_gap: bool = False,
    validity: Mapping[str, Any] | None = None,
    left: Sequence[str] = (),
    notes: Sequence[str] = (),
    has_images: bool = True,
    reconstructs: bool = True,
) -> list[Check]:
    """Return the validity of the design: balance, overlap, independence; of images also fidelity and edit validity."""
    of_images = [_fidelity_check(fidelity, gap=fidelity_gap)] if has_images and reconstructs else []
    of_images += [_edit_check(validity)] if has_images else []
    return [
        _balance_check(balance, left),
        _overlap_check(balance, matches, contrast),
        *of_images,
        _independence_check(notes),
    ]


def _balance_check(balance: Estimates, left: Sequence[str]) -> Check:
    smd = balance.where(stat="smd", sample="matched").frame
    if smd.empty:
        return Check("Balance", "none", "not measured", "no covariates, or no matched sample")
    apart = unbalanced(balance)
    worst = smd.iloc[int(smd["estimate"].abs().to_numpy().argmax())]
    words = f"largest SMD after matching {number(worst['estimate'])} ({plain(worst['quantity'])})"
    units = f"; above 0.1 in the compared units: {', '.join(left[:4])}" if left else ""
    if not apart and not left:
        return Check("Balance", "good", "balanced", f"{words}; limit 0.1")
    return Check("Balance", "bad", "not balanced", f"{len(apart)} of {len(smd)} covariates above 0.1; {words}{units}")


def _overlap_check(balance: Estimates, matches: Matches, contrast: Contrast) -> Check:
    sides = [str(contrast.focal), str(contrast.reference)]
    offered = [matches.offered.get(side, 0) for side in sides]
    if not len(matches):
        return Check("Overlap", "bad", "no matches", "no unit has a counterpart in the other group")
    unit = f"{matches.unit}s"
    words = " and ".join(
        f"{len(matches)} of {count} {side}" for count, side in zip(offered, sides, strict=True) if count
    )
    if overlap_warning(balance):
        return Check(
            "Overlap", "bad", "almost none", f"{words} {unit} matched; the propensity score separates the groups"
        )
    part = 2 * len(matches) < min(offered, default=0)
    kept = f"{words} {unit} matched" if words else f"{len(matches)} pairs"
    restricted = f"; results describe the matched {unit} only"
    return Check("Overlap", "warn" if part else "good", "partial" if part else "sufficient", kept + restricted * part)


def _fidelity_check(fidelity: Sequence[Mapping[str, str]], *, gap: bool) -> Check:
    if not fidelity:
        return Check("Fidelity", "none", "not measured", "reconstructions were not compared with their originals")
    if gap:
        return Check(
            "Fidelity", "warn", "differs between the groups", "reconstructions are less faithful for one group"
        )
    return Check("Fidelity", "good", "no significant difference", "reconstructions are compared by group")


def _edit_check(validity: Mapping[str, Any] | None) -> Check:
    if not validity:
        return Check("Edit validity", "none", "no validated edits", "no counterfactual edits, or edits not validated")
    total = int(validity.get("originals", 0))
    valid = int(validity.get("valid", validity.get("certified", 0)))
    words = f"{valid} of {total} images have valid edits at all strengths"
    if valid == 0:
        return Check("Edit validity", "bad", "no valid edits", words)
    return Check(
        "Edit validity", "good" if valid == total else "warn", "valid" if valid == total else "partly valid", words
    )


def _independence_check(notes: Sequence[str]) -> Check:
    found = dependence(notes)
    if found:
        return Check("Independence", "bad", "not independent", " ".join(found))
    return Check(
        "Independence", "good", "no shared model family found", "between the design and the systems under audit"
    )


def residual(estimates: Estimates) -> list[str]:
    """Name the covariates that matched gaps leave unbalanced, as the analysis remarks them."""
    frame = estimates.frame
    gaps = frame["stat"].isin(["gap", "adjusted_gap"]) & (frame["sample"] == "matched")
    remarks = frame.loc[gaps, "method"].map(imbalance)
    words = (word for remark in remarks for word in remark.removesuffix(" ...").split(", ") if word)
    return [plain(word) for word in dict.fromkeys(words)]


def dependence(notes: Sequence[str]) -> list[str]:
    """Return the notes that a system under audit is not independent of the design."""
    return [note for note in notes if "not independent" in note]


def overlap_sentence(balance: Estimates, contrast: Contrast) -> str:
    """State how well the score separates the groups and how far they overlap; empty without scores."""
    rows = balance.where(quantity="propensity").frame
    auc = rows.loc[rows["stat"] == "auc", "estimate"]
    if auc.empty:
        return ""
    common = rows.loc[rows["stat"] == "overlap", "estimate"].iloc[0]
    worth = rows[rows["stat"] == "effective_size"]
    sizes = {str(group): f"{size:.0f} of {n}" for group, size, n in worth[["group", "estimate", "n"]].to_numpy()}
    kept = " and ".join(f"{sizes[str(side)]} {side}" for side in (contrast.focal, contrast.reference))
    return (
        f"The propensity score separates the groups with an AUC of {auc.iloc[0]:.3f} (0.5: not at all). The two "
        f"distributions overlap by {100 * common:.0f} %; the effective sample size under overlap weights is {kept} "
        "images."
    )


def overlap_warning(balance: Estimates) -> str:
    """Warn when the groups separate almost completely."""
    auc = balance.where(quantity="propensity", stat="auc").frame["estimate"]
    if auc.empty or auc.iloc[0] < SEPARATED:
        return ""
    return (
        "The propensity score separates the groups almost completely. Matching on it has little overlap to work "
        "with: the images that remain are atypical of their groups."
    )
