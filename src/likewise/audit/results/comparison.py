"""compare: two audits, as two versions of a system on the same units or as two data sets side by side."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from likewise.analysis.comparison.independent import independent_changes
from likewise.analysis.comparison.paired import paired_changes
from likewise.analysis.labels import LABELED, binarize
from likewise.analysis.verification.shown_rates import supported_rates
from likewise.audit.api import Audit
from likewise.audit.folder.store import Folder
from likewise.audit.raters.planned import label_thresholds, make_rater, own_thresholds
from likewise.audit.raters.precomputed import precomputed_thresholds
from likewise.errors import SpecError, TableError, nearest, some
from likewise.report.comparison import write_comparison
from likewise.report.names import Naming
from likewise.tables import Estimates, Images, Ratings, Trials

Design = Literal["paired", "independent"]
ENOUGH = 0.9  # share of the smaller audit's rated units that both rated, from which units are paired


@dataclass(frozen=True)
class Comparison:
    """What ``compare`` found: ``estimates``, the ``design`` and ``notes``; ``write`` makes the page."""

    old: str
    new: str
    design: Design
    estimates: Estimates
    notes: tuple[str, ...]
    balanced: bool = True
    """Whether the matched samples of both audits are balanced."""

    def write(self, path: str | Path) -> Path:
        """Write the comparison as a page."""
        return write_comparison(
            Path(path), self.estimates, old=self.old, new=self.new, design=self.design, notes=self.notes,
            naming=Naming(balanced=self.balanced),
        )  # fmt: skip

    def plain(self) -> dict[str, Any]:
        """Return everything as plain values, for JSON."""
        rows = json.loads(self.estimates.frame.to_json(orient="records", double_precision=15))
        about: dict[str, Any] = {"old": self.old, "new": self.new, "design": self.design, "notes": list(self.notes)}
        about |= {"balanced": self.balanced}
        return {**about, "estimates": rows}


def compare(
    old: str | Path | Audit,
    new: str | Path | Audit,
    *,
    raters: Mapping[str, str] | None = None,
    design: Design | None = None,
    level: float = 0.95,
) -> Comparison:
    """Compare two finished audits: how rates, means and gaps changed from the old to the new one.

    Parameters
    ----------
    old, new
        Audit folders, or Audit objects.
    raters
        Old names of systems and their new names, where a version has another name. By default systems of one name are
        compared, or the only one of each audit.
    design
        ``paired``: two versions of a system rated the same units, and each unit is its own control. ``independent``:
        two data sets, side by side. By default paired where the units are the same.
    level
        Confidence level of paired changes.

    Returns
    -------
    Comparison
        Its ``estimates`` have ``old_value``, ``new_value`` and ``change`` (new - old) with intervals.

    Raises
    ------
    SpecError
        If the contrasts differ, or it is not clear which systems to compare.
    TableError
        If a paired comparison is asked for and the units are not the same.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import likewise as lw
    >>> folder = Path(tempfile.mkdtemp())
    >>> images, table = lw.World(identities=20, seed=1).write(folder / "photos")
    >>> options = {"contrast": ("perceived_gender", "female", "male"), "generator": "world", "progress": False}
    >>> done = lw.audit(table, images, out=folder / "v1", raters=["recognizer:world"], **options)
    >>> found = lw.compare(done, done)
    >>> found.design, set(found.estimates.where(stat="change").frame["estimate"])
    ('paired', {0.0})
    """
    before, after = (each if isinstance(each, Audit) else Audit(each) for each in (old, new))
    one, other = before.plan.contrast, after.plan.contrast
    if (one.column, str(one.focal), str(one.reference)) != (other.column, str(other.focal), str(other.reference)):
        problem = f"The audits compare other groups: {one.column}: {one.label}, and {other.column}: {other.label}"
        raise SpecError(problem, fix="Compare audits with the same [contrast].")
    names = _names(before, after, dict(raters or {}))
    common, trouble = _common_images(before.images, after.images)
    same = _same_units(before, after, names, common)
    chosen = design or ("paired" if same >= ENOUGH else "independent")
    if chosen == "paired" and same < ENOUGH:
        problem = f"{same:.0%} of the units were rated in both audits".replace("%", " %")
        raise TableError(problem + (f" ({trouble})" if trouble else ""), fix="Use the design 'independent'.")
    work = _paired if chosen == "paired" else _independent
    estimates, notes = work(before, after, names, level)
    notes = [trouble, *notes] if trouble and chosen == "independent" else notes
    balanced = all(Naming.of(each.balance, each.estimates).balanced for each in (before, after))
    return Comparison(str(before.folder), str(after.folder), chosen, estimates, tuple(notes), balanced)


def _names(before: Audit, after: Audit, given: dict[str, str]) -> dict[str, str]:
    """Return for each old system its new name."""
    olds, news = (list(dict.fromkeys(each.ratings.frame["rater"])) for each in (before, after))
    for wrong, known, where in ((set(given) - set(olds), olds, "old"), (set(given.values()) - set(news), news, "new")):
        if wrong:
            raise SpecError(
                f"Unknown system {some(sorted(wrong))} (the {where} audit has: {some(known)})",
                fix=nearest(min(wrong), known),
            )
    if given:
        return given
    both = {name: name for name in olds if name in news}
    if both:
        return both
    if len(olds) == len(news) == 1:
        return {olds[0]: news[0]}
    problem = f"No system has one name in both audits (old: {some(olds)}; new: {some(news)})"
    raise SpecError(problem, fix=f"Say which belong together: --rater {olds[0]}={news[0]}")


def _common_images(old: Images, new: Images) -> tuple[set[str], str]:
    """Return the images of both, and why images of one name are not taken for the same."""
    both = old.frame.merge(new.frame, on="image", suffixes=("_old", "_new"))
    differ = both["identity_old"] != both["identity_new"]
    if {"digest_old", "digest_new"} <= set(both.columns):
        known = both["digest_old"].notna() & both["digest_new"].notna()
        differ |= known & (both["digest_old"] != both["digest_new"])
    if differ.any():
        lost = int(differ.sum())
        return set(both.loc[~differ, "image"]), f"{lost} images have the same name but another identity or content"
    return set(both["image"]), ""


def _same_units(before: Audit, after: Audit, names: Mapping[str, str], common: set[str]) -> float:
    """Return the share of the smaller audit's rated units that both rated, about images of both."""
    first, second = (
        set(each.ratings.frame.loc[each.ratings.frame["rater"].isin(list(raters)), "unit"])
        for each, raters in ((before, names), (after, names.values()))
    )
    first &= {*before.images.keys, *before.trials.keys}  # not edited images, which are made from these
    second &= {*after.images.keys, *after.trials.keys}
    trials = before.trials.frame
    known = set(trials.loc[trials["a"].isin(common) & trials["b"].isin(common), "trial"]) | common
    return len(first & second & known) / max(min(len(first), len(second)), 1)


def _paired(before: Audit, after: Audit, names: Mapping[str, str], level: float) -> tuple[Estimates, list[str]]:
    """Estimate paired changes of recognizers (about trials) and of classifiers (about images)."""
    images, trials, contrast = before.images, before.trials, before.plan.contrast
    old, new = before.ratings, _renamed(after.ratings, {new: old for old, new in names.items()})
    new = Ratings(new.frame[new.frame["rater"].isin(list(names))])
    limits, found = [_thresholds(each) for each in (before, after)], list[Estimates]()
    scored = [_about(each, trials.keys) for each in (old, new)]
    if all(len(each) for each in scored):
        rates, _ = supported_rates(_impostors(scored[0], trials))
        both = {
            name: (limits[0][name], limits[1][to])
            for name, to in names.items()
            if name in limits[0] and to in limits[1]
        }
        options: dict[str, Any] = {"rates": rates[:2], "thresholds": both, "level": level}
        found.append(paired_changes(scored[0], scored[1], trials, images, contrast, **options))
    labeled = [
        _labels(_about(old, images.keys), {name: limits[0].get(name, 0.5) for name in names}),
        _labels(_about(new, images.keys), {name: limits[1].get(to, 0.5) for name, to in names.items()}),
    ]
    if all(len(each) for each in labeled):
        found.append(paired_changes(labeled[0], labeled[1], None, images, contrast, level=level))
    units = [len(set(a.frame["unit"]) & set(b.frame["unit"])) for a, b in (scored, labeled)]
    words = [f"{count:,} {what}" for count, what in zip(units, ("trials", "images"), strict=True) if count]
    return Estimates.together(found), [f"{' and '.join(words)} rated in both audits. Unmatched and unadjusted."]


def _independent(before: Audit, after: Audit, names: Mapping[str, str], level: float) -> tuple[Estimates, list[str]]:
    """Set the estimates side by side; the change has an interval where no identity is in both audits."""
    people = [set(each.images.identities) for each in (before, after)]
    shared = len(people[0] & people[1])
    frame, back = after.estimates.frame, {new: old for old, new in names.items()}
    rater, rest = (frame["quantity"].str.split(": ", n=1).str[k].fillna("") for k in (0, 1))
    frame["quantity"] = rater.map(lambda name: back.get(name, name)) + ": " + rest
    notes = [f"{shared:,} identities are in both audits: changes have no interval."] if shared else []
    found = independent_changes(before.estimates, Estimates(frame), level=level, shared=bool(shared))
    kept = found.frame["quantity"].str.split(": ").str[0].isin([*names, "people"])
    return Estimates(found.frame[kept]), notes


def _thresholds(audit: Audit) -> dict[str, float]:
    plan, folder = audit.plan, Folder(audit.folder)
    recognizers, classifiers = (
        [make_rater(folder, each) for each in raters] for raters in (plan.recognizers, plan.classifiers)
    )
    given = precomputed_thresholds(plan, recognizes=True) | precomputed_thresholds(plan, recognizes=False)
    return own_thresholds(recognizers) | label_thresholds(classifiers) | given


def _labels(ratings: Ratings, thresholds: Mapping[str, float]) -> Ratings:
    given, _ = binarize(ratings, thresholds) if len(ratings) else (ratings, [])
    frame = given.frame
    return Ratings(frame[frame["question"].str.startswith(LABELED)])


def _renamed(ratings: Ratings, names: Mapping[str, str]) -> Ratings:
    frame = ratings.frame
    return Ratings(frame.assign(rater=frame["rater"].map(lambda name: names.get(name, name))))


def _impostors(ratings: Ratings, trials: Trials) -> int:
    frame = trials.frame
    return int((~frame.loc[frame["trial"].isin(set(ratings.frame["unit"])), "same"].astype(bool)).sum())


def _about(ratings: Ratings, units: Sequence[str]) -> Ratings:
    frame = ratings.frame
    return Ratings(frame[frame["unit"].isin(set(units))])
