"""The answer of a text-to-image audit in words, and the checks beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from likewise.report.generated.rows import amplification_row, noise_rows
from likewise.report.numbers import MISSING, points, significant
from likewise.report.sections.front_matter import label_source
from likewise.tables import Estimates

Rows = Sequence[Mapping[str, Any]]


def answer(estimates: Estimates, quantity: str, shares: Rows, share_of: str) -> list[str]:
    """State whom the images show, against the benchmark if there is one."""
    ordered = sorted(shares, key=lambda row: row["value"])
    low, high = ordered[0], ordered[-1]
    rest = f", {_first(low)} of those of {low['term']!r}" if len(ordered) > 1 else ""
    said = [f"{_first(high)} of the images of {high['term']!r} show a person who is taken for {share_of}{rest}."]
    return [*said, *_against(shares), *_amplified(estimates, quantity)]


def _against(shares: Rows) -> list[str]:
    """Say how many terms differ from the benchmark."""
    if all(row["gap"] == MISSING for row in shares):
        return []
    apart = [row for row in shares if row["differs"]]
    above = sum(row["above"] for row in apart)
    count = f"{len(apart)} of {len(shares)} terms {'has' if len(apart) == 1 else 'have'}"
    where = f" ({above} above it, {len(apart) - above} below)" if apart else ""
    return [f"{count} a share that differs from the benchmark{where}; intervals are simultaneous over the terms."]


def _amplified(estimates: Estimates, quantity: str) -> list[str]:
    """Say whether shares exaggerate the benchmark."""
    found = amplification_row(estimates, quantity)
    if found is None:
        return []
    row, fixed = found
    exaggerated = "exaggerate" if row["estimate"] > 0 else "understate"
    verdict = f"On average shares {exaggerated} how far the benchmark is from one half"
    if not significant(row):
        verdict = "On average shares neither exaggerate nor understate the benchmark significantly"
    remark = ", corrected for label noise" if fixed else ""
    return [f"{verdict}: amplification {points(row)}{remark}."]


def _first(row: Mapping[str, Any]) -> str:
    shown = row["corrected"] if row["corrected"] != MISSING else row["share"]
    return str(shown).partition(" (")[0]


def checks(
    estimates: Estimates, quantity: str, attribute: str, facts: Mapping[str, Any], people: Rows, refused: Rows
) -> list[dict[str, str]]:
    """Return what a reader has to know before believing the shares."""
    found = [_labels(estimates, quantity, attribute), _clusters(estimates, facts)]
    if people:
        several = sum(not str(row["one"]).startswith("100.0") for row in people)
        words = "Images without a person or with several people are left out of the shares; see People in the image."
        verdict = f"not in {several} of {len(people)} terms" if several else "in every term"
        found.append(_check("warn" if several else "good", "One person an image", verdict, words))
    if refused:
        words = "A refusal by term changes whom the remaining images show."
        some = sum(row["refused"] for row in refused)
        found.append(_check("warn", "Refusals", f"in {some} of {len(refused)} terms", words))
    return found


def _labels(estimates: Estimates, quantity: str, attribute: str) -> dict[str, str]:
    source = label_source(attribute)
    noise = noise_rows(estimates, quantity)
    if noise is not None:
        words = f"People labeled {noise['labels']} images; where a term has enough of them its share is corrected."
        return _check("good", "Attribute", f"{source}, corrected by people's labels", words)
    if attribute.startswith("predicted"):
        words = "Networks err, and not equally in all groups: have people label a random part (study init --from)."
        return _check("warn", "Attribute", f"{source}, not corrected", words)
    return _check("good", "Attribute", source, "")


def _clusters(estimates: Estimates, facts: Mapping[str, Any]) -> dict[str, str]:
    by_image = estimates.where(stat="share", sample="generated").frame["method"].str.contains("by image")
    if by_image.any():
        words = "A share of a term with one prompt describes that prompt, not other wordings."
        return _check("warn", "Prompts", f"one in {int(by_image.sum())} of {facts['terms']} terms", words)
    words = "Intervals are clustered by prompt, and by seed where prompts share seeds."
    return _check("good", "Prompts", f"{facts['prompts']} prompts of {facts['terms']} terms", words)


def _check(mark: str, name: str, verdict: str, words: str) -> dict[str, str]:
    return {"mark": mark, "name": name, "verdict": verdict, "words": words}
