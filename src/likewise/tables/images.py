"""Images: the images under study, with identities and attributes."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, ClassVar, Self

import pandas as pd

from likewise.errors import ColumnNameWarning, TableError, some
from likewise.tables.checks import as_keys, need_columns, need_frame, need_numbers, need_unique, need_values
from likewise.tables.io import read_frame
from likewise.tables.table import Table, counted, listed

RESERVED = ("image", "identity", "parent", "level", "source", "file", "digest")
_NAMED = "Name the column with {key}= (on the command line {option}), or rename it."
_UNSOURCED = {"gender", "sex", "race", "ethnicity", "age", "skin_tone", "skintone"}


class Images(Table):
    """A table with one row per image: its key, the identity of the person, and attributes.

    Parameters
    ----------
    frame
        A data frame with the columns ``image`` (unique) and ``identity`` (never missing). Optional: ``parent`` and
        ``level`` of a counterfactual image (the image it was edited from, and the edit strength), ``source``, ``file``
        and ``digest``. All other columns are attributes; their names start with the source of the label, e.g.
        ``perceived_gender``, ``self_gender``, ``predicted_age``, ``measured_brightness``.

    Examples
    --------
    >>> frame = pd.DataFrame({"image": ["1", "2", "3"], "identity": ["a", "a", "b"], "perceived_sex": ["F", "F", "M"]})
    >>> images = Images(frame)
    >>> print(images)
    Images: 3 images of 2 identities (1 to 2 images each)
      attributes (1): perceived_sex
      perceived_sex: F 2, M 1
    >>> images.subset(["3"]).keys
    ['3']
    """

    text_columns: ClassVar[tuple[str, ...]] = ("image", "identity", "parent", "source", "file", "digest")

    @classmethod
    def read(
        cls,
        path: str | Path,
        *,
        image: str = "image",
        identity: str = "identity",
        rename: Mapping[str, str] | None = None,
    ) -> Self:
        """Read a CSV, TSV or Parquet table.

        Parameters
        ----------
        path
            The file.
        image, identity
            The columns with the image key and the identity; the same column when every image is of another person.
        rename
            New names of further columns, e.g. ``{"gender": "perceived_gender"}``.

        Raises
        ------
        TableError
            The file cannot be read, lacks a column, has no rows or duplicate keys.
        """
        source = Path(path)
        frame, meta = read_frame(source, text=(*cls.text_columns, image, identity))
        need_columns(frame, [image], source.name, fix=_NAMED.format(key="image", option="--image-column"))
        need_columns(frame, [identity], source.name, fix=_NAMED.format(key="identity", option="--identity"))
        need_columns(frame, [*(rename or {})], source.name)
        if frame.empty and not meta and source.suffix.lower() != ".parquet":
            raise TableError(f"{source.name} has no rows", fix="Check that the export finished.")
        if identity == image:  # one image per person
            frame, identity = frame.assign(identity=frame[image]), "identity"
        frame = frame.rename(columns={**(rename or {}), image: "image", identity: "identity"})
        need_values(frame, ["image", "identity"], "image", source.name)
        need_unique(frame, ["image"], source.name)
        return cls(frame)

    def _checked(self, frame: pd.DataFrame) -> pd.DataFrame:
        frame = need_frame(frame, "Images")
        need_columns(frame, ["image", "identity"], "Images")
        for name in ("image", "identity", "parent"):
            if name in frame.columns:
                frame[name] = as_keys(frame[name])
        need_values(frame, ["image", "identity"], "image", "Images")
        need_unique(frame, ["image"], "Images")
        if "level" in frame.columns:
            need_numbers(frame, ["level"], "Images")
            self._check_levels(frame)
        return frame

    @staticmethod
    def _check_levels(frame: pd.DataFrame) -> None:
        need_columns(frame, ["parent"], "Images with a level")
        orphan = frame["level"].notna() & frame["parent"].isna()
        if orphan.any():
            raise TableError(
                f"Images with a level but without a parent: {some(frame.loc[orphan, 'image'])}",
                fix="Name the original of each in the column parent.",
            )

    @property
    def keys(self) -> list[str]:
        """The image keys, in the table's order."""
        return self._frame["image"].tolist()

    @property
    def identities(self) -> pd.Series:
        """The identity of each image, indexed by image."""
        return pd.Series(self._frame["identity"].to_numpy(), index=self._frame["image"], name="identity")

    @property
    def attributes(self) -> list[str]:
        """The names of the attribute columns."""
        return [name for name in self._frame.columns if name not in RESERVED]

    def attribute(self, name: str) -> pd.Series:
        """Return one attribute, indexed by image."""
        need_columns(self._frame, [name], "Images")
        return pd.Series(self._frame[name].array, index=self._frame["image"], name=name)

    def subset(self, images: Iterable[str]) -> Images:
        """Return the named images, in the given order."""
        wanted = list(images)
        unknown = set(wanted) - set(self.keys)
        if unknown:
            raise TableError(
                f"Images not in the table: {some(sorted(unknown))}", fix="Check the keys; they are compared as text."
            )
        return Images(self._frame.set_index("image").loc[wanted].reset_index()[list(self._frame.columns)])

    def with_attribute(self, name: str, values: Mapping[str, Any] | pd.Series) -> Images:
        """Return new Images with an attribute added or replaced; ``values`` are indexed by image."""
        if name in RESERVED:
            raise TableError(f"Column name {name!r} is reserved", fix="Choose another name for the attribute.")
        given = pd.Series(values)
        unknown = set(given.index) - set(self.keys)
        if unknown:
            raise TableError(
                f"Values of {name!r} for images that are not in the table: {some(sorted(map(str, unknown)))}",
                fix="Index the values by the keys of the table.",
            )
        return Images(self._frame.assign(**{name: self._frame["image"].map(given)}))

    def check_parents(self, originals: Images) -> None:
        """Check that every parent is one of the original images."""
        parents = set(self._frame.get("parent", pd.Series(dtype="str")).dropna())
        unknown = parents - set(originals.keys)
        if unknown:
            raise TableError(
                f"Parents that are not among the original images: {some(sorted(unknown))}",
                fix="Keep the originals in the table.",
            )

    def warn_of_unsourced_columns(self) -> None:
        """Warn of attribute columns whose names lack the source of the label."""
        plain = [name for name in self.attributes if name.lower() in _UNSOURCED]
        if plain:
            problem = f"Column {plain[0]!r} does not name the source of the label"
            fix = f'Rename it in the plan, e.g. rename = {{ {plain[0]} = "perceived_{plain[0]}" }}.'
            warnings.warn(f"{problem}. {fix}", ColumnNameWarning, stacklevel=2)

    def _lines(self) -> list[str]:
        frame = self._frame
        edited = int(frame["parent"].notna().sum()) if "parent" in frame.columns else 0
        per = frame.groupby("identity").size()
        each = f" ({per.min()} to {per.max()} images each)" if len(per) else ""
        few = [name for name in self.attributes if frame[name].nunique() <= 8][:2]
        missing = int(frame[self.attributes].isna().sum().sum())
        return [
            f"Images: {len(frame)} images of {len(per)} identities{each}",
            *([f"  {edited} counterfactual images"] if edited else []),
            f"  attributes ({len(self.attributes)}): {listed(self.attributes)}",
            *[f"  {name}: {counted(frame[name])}" for name in few],
            *([f"  missing values: {missing}"] if missing else []),
        ]
