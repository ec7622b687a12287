"""Units: what a rater answers about. An image for a classifier; a trial, two images, for a recognizer.

A trial is described by the mean of its two images and by their absolute difference: in every number of the vectors and
in every covariate. Both matter. Eyeglasses on one image only make a comparison harder than on both, and who wears them
at times has such trials more often, so trials that agree in their means alone are not alike. The table of units has the
form of Images (one row per unit), so that the same search matches images and trials.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from likewise.design.eligible import ESTIMANDS, on_the_wrong_side
from likewise.errors import SpecError, TableError, VectorError, nearest, some
from likewise.tables import Contrast, Images, Matches, MatchSpec, Trials, Vectors
from likewise.tables.matching.caliper import Limit

MEAN, DIFFERENCE = " (mean)", " (difference)"
ONE_SIDE = "its images are of both groups"
ONE_GROUP = "identity on both sides"
_AT_ONCE = 4096  # trials whose vectors are computed together
_MOST_BYTES = 3 * 2**30


@dataclass(frozen=True)
class TrialUnits:
    """Trials in the form that the search takes."""

    images: Images
    """One row per trial: its key as ``image``, its identity, the contrast's column and the covariates asked for."""
    ends: pd.DataFrame
    """By trial: columns ``a`` and ``b`` (images), ``first`` and ``second`` (their identities)."""
    genuine: bool
    spec: MatchSpec
    """The spec in terms of units: a column becomes its mean and its difference."""
    one_side: frozenset[str]
    """The trials whose two images are of the same group."""
    one_group: frozenset[str]
    """Trials whose images are all on the side of their identity, as the spec treats identities with images on both
    sides; with ``both_sides = "error"`` all genuine ones (their identity is that of the unit, so the sides check)."""
    groups: tuple[frozenset[str], frozenset[str]]
    """All identities of the focal and of the reference group, also those that are in no trial."""

    def vectors(self, vectors: Vectors) -> Vectors:
        """Return the mean and the absolute difference of the two vectors, ``[u, ..., 2 D]``, where both exist."""
        there = _both(self.ends, vectors)
        shape = vectors.values.shape[1:]
        need = 8 * len(there) * prod(shape)
        if need > _MOST_BYTES:
            fix = "Set rows = 'mean', or match on scores or principal components (likewise.design.features)."
            raise VectorError(f"{len(there)} trials of {prod(shape)} numbers take {need / 2**30:.0f} GB", fix=fix)
        made = np.empty((len(there), *shape[:-1], 2 * shape[-1]), dtype=np.float32)
        first, second = (vectors.rows(there[end].tolist()) for end in ("a", "b"))
        for start in range(0, len(there), _AT_ONCE):
            run = slice(start, start + _AT_ONCE)
            x, y = (np.asarray(vectors.values[rows[run]], dtype=np.float64) for rows in (first, second))
            made[run] = np.concatenate([(x + y) / 2, np.abs(x - y)], axis=-1)
        return Vectors(there.index.tolist(), made, source=f"{vectors.source}, mean and difference of a trial")

    def people(self, units: Sequence[str]) -> npt.NDArray[np.str_]:
        """Return who is shown: ``[u]`` for genuine trials, ``[u, 2]`` for impostor trials."""
        ends = self.ends.loc[list(units)]
        if self.genuine:
            return ends["first"].to_numpy(dtype=str)
        return ends[["first", "second"]].to_numpy(dtype=str)

    def dress(self, found: Matches, spec: MatchSpec) -> Matches:
        """Return the matched trials with their images and, of impostors, the proof that no identity recurs."""
        frame, proof = found.frame, found.ledger.drop(columns="pair")
        for side in ("a", "b"):
            ends = self.ends.loc[frame[side]]
            frame[f"{side}_first"], frame[f"{side}_second"] = ends["a"].to_numpy(str), ends["b"].to_numpy(str)
        if not self.genuine and "antiexact identity" in proof:
            proof["antiexact identity"] = self._nobody_twice(frame)
        without = len((self.groups[0] | self.groups[1]) - self._shown(self.ends.index.tolist()))
        note = f"{without} identities are in no trial" if without else ""
        return Matches(
            frame.astype(dict.fromkeys(("a_first", "a_second", "b_first", "b_second"), "str")),
            spec=spec, ledger=proof, dropped=found.dropped, offered=found.offered,
            note=". ".join(filter(None, (found.note, note))), estimand=self._estimand(found), unit="trial",
        )  # fmt: skip

    def _shown(self, units: Sequence[str]) -> set[str]:
        """Return the people of some units."""
        return set(self.people(units).ravel().tolist())

    def _estimand(self, found: Matches) -> str:
        """Name whom a matched estimate is about: identities without a trial, e.g. with one image, are left out."""
        if not found.estimand:
            return ""
        whole = [
            people <= self._shown(found.frame[end].tolist()) for people, end in zip(self.groups, "ab", strict=True)
        ]
        return ESTIMANDS.get((whole[0], whole[1]), "ATM")

    def _nobody_twice(self, frame: pd.DataFrame) -> npt.NDArray[np.bool_]:
        """Whether the people of each row are in no other unit; a focal unit may recur in its own set."""
        units = sorted({*frame["a"], *frame["b"]})
        names, counts = np.unique(self.people(units).ravel(), return_counts=True)
        several = names[counts > 1]
        hit = [np.isin(self.people(frame[side].tolist()), several).any(axis=1) for side in ("a", "b")]
        return np.asarray(~(hit[0] | hit[1]))


def trial_units(images: Images, trials: Trials, contrast: Contrast, spec: MatchSpec) -> TrialUnits:
    """Return the trials as units, with the covariates that the spec names.

    Raises
    ------
    SpecError
        If genuine and impostor trials are mixed, or the spec has rules that are for single images only.
    TableError
        If the trials do not belong to the images.
    """
    trials.check_same(images)
    _check(trials, spec)
    frame, whose = trials.frame, images.identities
    ends = pd.DataFrame({"a": frame["a"].to_numpy(str), "b": frame["b"].to_numpy(str)}, index=pd.Index(frame["trial"]))
    ends["first"], ends["second"] = whose.loc[ends["a"]].to_numpy(str), whose.loc[ends["b"]].to_numpy(str)
    side = contrast.side(images)
    both = [side.loc[ends[end]].to_numpy() for end in ("a", "b")]
    genuine, alike = bool(frame["same"].all()), both[0] == both[1]
    names = ends["first"].to_numpy(str) if genuine else _joined(ends, alike)
    table = pd.DataFrame({"image": ends.index.to_numpy(str), "identity": names})
    table[contrast.column] = images.attribute(contrast.column).loc[ends["a"]].to_numpy()
    known = np.ones(len(ends), dtype=bool)
    if not genuine or spec.both_sides != "error":
        known = _of_one_group(images, ends, side, spec)
    if genuine and spec.both_sides != "error":
        table[contrast.column] = _level_of_identity(images, ends, contrast, side, spec)
    in_units, columns = _expanded(images, ends, spec, contrast)
    made = Images(pd.concat([table, columns.reset_index(drop=True)], axis=1))
    one_side, one_group = (frozenset(ends.index[mask]) for mask in (alike, known))
    focal, reference = (frozenset(map(str, whose.loc[side.index[side == sign]])) for sign in (1, -1))
    return TrialUnits(made, ends, genuine, in_units, one_side, one_group, (focal, reference))


def _of_one_group(images: Images, ends: pd.DataFrame, side: pd.Series, spec: MatchSpec) -> npt.NDArray[np.bool_]:
    """Say whether both images are on the side of their identity."""
    wrong = on_the_wrong_side(side[side != 0], images, spec)
    out = set(wrong.index[wrong])
    return ~(ends["a"].isin(out) | ends["b"].isin(out)).to_numpy()


def _level_of_identity(
    images: Images, ends: pd.DataFrame, contrast: Contrast, side: pd.Series, spec: MatchSpec
) -> npt.NDArray[Any]:
    """Return the level of genuine trials; of an identity on both sides that of the images which the spec keeps.

    The majority is one of images: counted by trials, those of one image of each side would blur it.
    """
    column, offered = images.attribute(contrast.column), side[side != 0]
    wrong = on_the_wrong_side(offered, images, spec)
    people = images.identities.loc[wrong.index[wrong]].unique()
    of_image = images.identities.loc[offered.index]
    kept = wrong[of_image.isin(people).to_numpy()].sort_values(kind="stable").index  # images that are kept come first
    one = column.loc[kept].groupby(of_image.loc[kept].to_numpy()).first()
    level = column.loc[ends["a"]].to_numpy(dtype=object)
    change = ends["first"].isin(people).to_numpy() & (side.loc[ends["a"]] != 0).to_numpy()
    level[change] = one.loc[ends["first"].to_numpy()[change]].to_numpy()
    return level


def _check(trials: Trials, spec: MatchSpec) -> None:
    kinds = trials.frame["same"].unique()
    if len(trials) == 0:
        raise TableError("There are no trials to match", fix="People with one image have no genuine trial.")
    if len(kinds) > 1:
        fix = "Match them one after the other: units=trials.genuine(), then units=trials.impostors()."
        raise SpecError("Genuine and impostor trials are different units and cannot be matched together", fix=fix)
    if spec.references:
        fix = "Remove references: a trial has its second image already."
        raise SpecError("references = true chooses second images, and the units are trials", fix=fix)
    once = "identity" in spec.antiexact
    if kinds[0] and not once:
        fix = "Keep antiexact = ['identity']."
        raise SpecError("Without antiexact identity two matched trials could share an image", fix=fix)
    if not kinds[0] and once and spec.method != "nearest":
        fix = (
            "Use method = 'nearest', or antiexact = []: an identity may then be in several trials, which "
            "lw.error_rates counts as dependent."
        )
        raise SpecError(
            f"Impostor trials show two people each, and method = {spec.method!r} keeps one person once", fix=fix
        )


def _joined(ends: pd.DataFrame, alike: npt.NDArray[np.bool_]) -> npt.NDArray[np.str_]:
    """Name the two people of impostor trials; of two groups in the order shown, because each order has its own side."""
    people = ends[["first", "second"]].to_numpy(dtype=str)
    people[alike] = np.sort(people[alike], axis=1)
    return np.array([" & ".join(row) for row in people], dtype=str)


def _both(ends: pd.DataFrame, vectors: Vectors) -> pd.DataFrame:
    there = np.array([a in vectors and b in vectors for a, b in zip(ends["a"], ends["b"], strict=True)], dtype=bool)
    return ends[there]


def _expanded(
    images: Images, ends: pd.DataFrame, spec: MatchSpec, contrast: Contrast
) -> tuple[MatchSpec, pd.DataFrame]:
    """Put the spec's columns into terms of units, and compute those columns."""
    limits: list[tuple[str, Limit]] = []
    for name, limit in spec.caliper:
        limits += [(name, limit)] if name in ("distance", "score") else [(part, limit) for part in parts_of(name)]
    lists = {
        option: tuple(part for name in getattr(spec, option) for part in parts_of(name))
        for option in ("exact", "balance", "score_on")
    }
    wanted = {name for names in lists.values() for name in names} | {name for name, _ in limits}
    wanted -= {"distance", "score"}
    plain = sorted({_plain(name) for name in wanted})
    if contrast.column in plain:
        fix = f"The contrast already separates {contrast.column!r}: remove it from the rules."
        raise SpecError(f"Column {contrast.column!r} is the contrast and cannot be a covariate of trials", fix=fix)
    columns = pd.concat([pd.DataFrame(index=ends.index), *covariates(images, ends, plain)], axis=1)
    options: dict[str, Any] = {"preset": "", "rows": "all", "caliper": tuple(limits), **lists}
    spec = replace(spec, **options)
    return spec, columns[[name for name in columns.columns if name in wanted]]


def parts_of(name: str) -> tuple[str, ...]:
    """Return the unit columns that a name stands for: both, unless it names one of them."""
    return (name,) if name.endswith((MEAN, DIFFERENCE)) else (name + MEAN, name + DIFFERENCE)


def _plain(name: str) -> str:
    return name.removesuffix(MEAN).removesuffix(DIFFERENCE)


def covariates(images: Images, ends: pd.DataFrame, names: Sequence[str]) -> Iterator[pd.DataFrame]:
    """Yield mean and difference of each column, by unit.

    The mean of a text column is the two levels in alphabetical order, its difference is 1 where they differ. A unit
    with an empty cell has an empty mean and difference.
    """
    for name in names:
        if name not in images.attributes:
            fix = nearest(name, images.attributes) or f"The columns are {some(images.attributes, 8)}."
            raise SpecError(f"Column {name!r} not found in Images", fix=fix)
        column = images.attribute(name)
        if pd.api.types.is_numeric_dtype(column.dtype) or pd.api.types.is_bool_dtype(column.dtype):
            x, y = (column.astype("float64").loc[ends[end]].to_numpy() for end in ("a", "b"))
            parts = pd.Series((x + y) / 2), pd.Series(np.abs(x - y))
        else:
            parts = _of_words(column, ends)
        made = {key: part.to_numpy() for key, part in zip(parts_of(name), parts, strict=True)}
        yield pd.DataFrame(made, index=ends.index)


def _of_words(column: pd.Series, ends: pd.DataFrame) -> tuple[pd.Series, pd.Series]:
    x, y = (column.loc[ends[end]].to_numpy(dtype=object) for end in ("a", "b"))
    empty = pd.isna(x) | pd.isna(y)
    levels = [" & ".join(sorted((str(one), str(other)))) for one, other in zip(x, y, strict=True)]
    return pd.Series(levels, dtype="object").mask(empty), pd.Series((x != y).astype(np.float64)).mask(empty)


def every_genuine(images: Images) -> list[tuple[str, str]]:
    """Return all two images of one identity, each couple once, sorted by identity and key."""
    frame = images.frame.sort_values("image")
    found: list[tuple[str, str]] = []
    for _, keys in frame.groupby("identity", sort=True)["image"]:
        names = keys.tolist()
        found += [(a, b) for place, a in enumerate(names) for b in names[place + 1 :]]
    return found


def unit_side(images: Images, trials: Trials, contrast: Contrast) -> pd.Series:
    """Return by trial +1, -1, or 0 where its images are of neither group or of both."""
    frame, side = trials.frame, contrast.side(images)
    x, y = (side.loc[frame[end]].to_numpy() for end in ("a", "b"))
    return pd.Series(np.where(x == y, x, 0), index=pd.Index(frame["trial"], name="trial"), name="side")
