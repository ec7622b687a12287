"""Ratings joined with what they are about: units, images, groups, identities and covariates."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from likewise.errors import InputError, TableError, some
from likewise.tables import Contrast, Images, Ratings, Trials

APART = ", apart"


@dataclass(frozen=True)
class RatingTable:
    """Ratings of ``trials``; a trial belongs to the group and the identity of its first image ``a``.

    Without trials the ratings are of the images themselves (a classifier's labels). Without ``panel`` every rater is
    analyzed on its own (models); with it all raters are one panel of that name (people).
    """

    ratings: Ratings
    trials: Trials | None
    images: Images
    contrast: Contrast
    panel: str | None = None

    def by_quantity(self) -> Iterator[tuple[str, pd.DataFrame]]:
        """Yield the ratings of each quantity with the image, side (+1, -1) and identity of each.

        Missing answers and images of neither group are left out.

        Raises
        ------
        TableError
            If nothing is left of a quantity: an empty result would read as "no gap".
        """
        units = self.units()
        self.ratings.check_units(units.index)
        frame = self.ratings.frame
        frame["image"] = frame["unit"].map(units["a"])
        frame["side"] = frame["image"].map(self.contrast.side(self.images))
        frame["identity"] = frame["image"].map(self.images.identities)
        frame["quantity"] = (frame["rater"] if self.panel is None else self.panel) + ": " + frame["question"]
        for name, part in frame.groupby("quantity", sort=True):
            answered = part[part["value"].notna() & (part["side"] != 0)]
            if answered.empty:
                raise TableError(self._nothing(str(name), part), fix="Check the rater's output or leave it out.")
            yield str(name), answered

    def _nothing(self, name: str, part: pd.DataFrame) -> str:
        missing, groups = int(part["value"].isna().sum()), (self.contrast.focal, self.contrast.reference)
        outside = int((part["side"] == 0).sum())
        return (
            f"No gap of {name}: none of its {len(part)} ratings has a value and an image of {groups[0]!r} or "
            f"{groups[1]!r} ({missing} missing values, {outside} of neither group)"
        )

    def covariates(self, names: Sequence[str]) -> pd.DataFrame:
        """Return by unit the mean of each covariate over its two images, and their absolute difference.

        Both matter to a comparison: glasses on one image and not on the other make a trial harder than glasses on
        both. Identities that wear them at times have such trials more often, so leaving the difference out would leave
        confounding in.
        """
        wide = pd.DataFrame({name: self.images.attribute(name) for name in names}, index=pd.Index(self.images.keys))
        words = [name for name in wide.columns if not pd.api.types.is_numeric_dtype(wide[name].dtype)]
        if words:
            wide = pd.get_dummies(wide, columns=words, drop_first=True, dtype=float)
        plain = wide.astype("float64")
        if plain.isna().any(axis=None):
            empty = some(plain.columns[plain.isna().any()])
            raise InputError(f"Covariates with empty cells: {empty}", fix="Fill them or leave the columns out.")
        units = self.units()
        a, b = (plain.loc[units[end]].to_numpy() for end in ("a", "b"))
        apart = pd.DataFrame(np.abs(a - b), index=units.index, columns=[f"{name}{APART}" for name in plain.columns])
        means = pd.DataFrame((a + b) / 2, index=units.index, columns=plain.columns)
        return pd.concat([means, apart.loc[:, (apart != 0).any()]], axis=1)

    def units(self) -> pd.DataFrame:
        """Return the two images of each unit: of a trial, or of an image, which is both."""
        if self.trials is not None:
            return self.trials.frame.set_index("trial")[["a", "b"]]
        return pd.DataFrame({"a": self.images.keys, "b": self.images.keys}, index=pd.Index(self.images.keys))
