"""What was asked about whom: answers about trials, the faces that they show, and between whom a gap is taken."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from likewise.errors import InputError, some
from likewise.tables import Contrast, Faces, Pairs, Ratings


@dataclass(frozen=True)
class Asked:
    """Ratings of ``trials``; a trial belongs to the group and the identity of its test image ``a``.

    Without trials they are ratings of the images themselves (a classifier's labels).

    Without ``panel`` every rater stands for itself (models); with it all raters are one panel of that name (people).
    """

    ratings: Ratings
    trials: Pairs | None
    faces: Faces
    contrast: Contrast
    panel: str | None = None

    def by_quantity(self) -> Iterator[tuple[str, pd.DataFrame]]:
        """Return the answers, quantity by quantity, beside each its image, side (+1, -1) and identity.

        No answer is no row, and images of neither group are left out.
        """
        units = self._units()
        self.ratings.check_units(units.index)
        frame = self.ratings.frame.dropna(subset=["value"])
        frame["image"] = frame["unit"].map(units["a"])
        frame["side"] = frame["image"].map(self.contrast.side(self.faces))
        frame["identity"] = frame["image"].map(self.faces.identities)
        frame["quantity"] = (frame["rater"] if self.panel is None else self.panel) + ": " + frame["question"]
        for name, part in frame[frame["side"] != 0].groupby("quantity", sort=True):
            yield str(name), part

    def covariates(self, names: Sequence[str]) -> pd.DataFrame:
        """Return by unit the mean of each covariate over its two images, and how far apart the two are in it.

        Both matter to a comparison: eyeglasses on one picture and not on the other make it harder than on both. Who
        wears them at times has such trials more often, so leaving the difference out would leave confounding in.
        """
        wide = pd.DataFrame({name: self.faces.attribute(name) for name in names}, index=pd.Index(self.faces.images))
        words = [name for name in wide.columns if not pd.api.types.is_numeric_dtype(wide[name].dtype)]
        if words:
            wide = pd.get_dummies(wide, columns=words, drop_first=True, dtype=float)
        plain = wide.astype("float64")
        if plain.isna().any(axis=None):
            got, fix = f"some in {some(plain.columns[plain.isna().any()])}", "Leave the column out."
            raise InputError("covariates that are adjusted for have no empty cells", got=got, fix=fix)
        units = self._units()
        a, b = (plain.loc[units[end]].to_numpy() for end in ("a", "b"))
        apart = pd.DataFrame(np.abs(a - b), index=units.index, columns=[f"{name}, apart" for name in plain.columns])
        means = pd.DataFrame((a + b) / 2, index=units.index, columns=plain.columns)
        return pd.concat([means, apart.loc[:, (apart != 0).any()]], axis=1)

    def _units(self) -> pd.DataFrame:
        """Return the two images of each unit: of a trial, or of an image, which is both."""
        if self.trials is not None:
            return self.trials.frame.set_index("pair")[["a", "b"]]
        return pd.DataFrame({"a": self.faces.images, "b": self.faces.images}, index=pd.Index(self.faces.images))
