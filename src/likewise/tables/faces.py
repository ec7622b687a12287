"""Faces: what is looked at."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, ClassVar, Self

import pandas as pd

from likewise.errors import TableError, WordingWarning, some
from likewise.tables.checks import as_keys, need_columns, need_frame, need_numbers, need_unique, need_values
from likewise.tables.files import read_frame
from likewise.tables.table import Table, counted

RESERVED = ("image", "identity", "parent", "level", "source", "file", "digest")
_UNSAID = {"gender", "sex", "race", "ethnicity", "age", "skin_tone", "skintone"}


class Faces(Table):
    """One row an image: its key, whose it is, and attributes.

    ``image`` is unique and ``identity`` is never empty. A counterfactual is a face too: it has a ``parent``
    (the image it was made from) and a ``level`` (where the dial stood). Attribute columns say whose word they
    are: ``perceived_gender``, ``self_gender``, ``predicted_age``.
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
        """Read a CSV, TSV or Parquet table, naming which columns hold the key and the identity."""
        frame, _ = read_frame(Path(path), text=(*cls.text_columns, image, identity))
        need_columns(frame, [image, identity, *(rename or {})], f"the table {Path(path).name}")
        if identity == image:  # every image is somebody else's
            frame, identity = frame.assign(identity=frame[image]), "identity"
        return cls(frame.rename(columns={**(rename or {}), image: "image", identity: "identity"}))

    def _checked(self, frame: pd.DataFrame) -> pd.DataFrame:
        frame = need_frame(frame, "Faces")
        need_columns(frame, ["image", "identity"], "Faces")
        for name in ("image", "identity", "parent"):
            if name in frame.columns:
                frame[name] = as_keys(frame[name])
        need_values(frame, ["image"], "identity", "Faces")
        need_values(frame, ["identity"], "image", "Faces")
        need_unique(frame, ["image"], "Faces")
        if "level" in frame.columns:
            need_numbers(frame, ["level"], "Faces")
            self._check_levels(frame)
        return frame

    @staticmethod
    def _check_levels(frame: pd.DataFrame) -> None:
        need_columns(frame, ["parent"], "Faces with a level")
        orphan = frame["level"].notna() & frame["parent"].isna()
        if orphan.any():
            raise TableError("a face with a level has a parent", got=f"none for {some(frame.loc[orphan, 'image'])}")

    @property
    def images(self) -> list[str]:
        """The keys, in the table's order."""
        return self._frame["image"].tolist()

    @property
    def identities(self) -> pd.Series:
        """Whose image it is, indexed by image."""
        return pd.Series(self._frame["identity"].to_numpy(), index=self._frame["image"], name="identity")

    @property
    def attributes(self) -> list[str]:
        """The names of the attribute columns."""
        return [name for name in self._frame.columns if name not in RESERVED]

    def attribute(self, name: str) -> pd.Series:
        """One attribute, indexed by image."""
        need_columns(self._frame, [name], "Faces")
        return pd.Series(self._frame[name].array, index=self._frame["image"], name=name)

    def subset(self, images: Iterable[str]) -> Faces:
        """Return the named faces, in the order named."""
        wanted = list(images)
        unknown = set(wanted) - set(self.images)
        if unknown:
            raise TableError("every image asked for is in Faces", got=some(sorted(unknown)))
        return Faces(self._frame.set_index("image").loc[wanted].reset_index()[list(self._frame.columns)])

    def with_attribute(self, name: str, values: Mapping[str, Any] | pd.Series) -> Faces:
        """Return new Faces with one attribute more (or replaced), given by image key."""
        if name in RESERVED:
            raise TableError(f"an attribute has a name of its own; {name!r} is reserved")
        given = pd.Series(values)
        unknown = set(given.index) - set(self.images)
        if unknown:
            raise TableError(f"values of {name!r} belong to images of Faces", got=some(sorted(map(str, unknown))))
        return Faces(self._frame.assign(**{name: self._frame["image"].map(given)}))

    def check_parents(self, originals: Faces) -> None:
        """Every parent is one of these originals."""
        parents = set(self._frame.get("parent", pd.Series(dtype="str")).dropna())
        unknown = parents - set(originals.images)
        if unknown:
            raise TableError("every parent is an image of the original Faces", got=some(sorted(unknown)))

    def warn_of_wording(self) -> None:
        """Warn of columns that do not say whose word they are."""
        plain = [name for name in self.attributes if name.lower() in _UNSAID]
        if plain:
            rule = f"the column {plain[0]!r} does not say whose word it is"
            fix = f'Rename it in the plan, e.g. rename = {{ {plain[0]} = "perceived_{plain[0]}" }}.'
            warnings.warn(f"{rule}. {fix}", WordingWarning, stacklevel=2)

    def _lines(self) -> list[str]:
        frame = self._frame
        made = int(frame["parent"].notna().sum()) if "parent" in frame.columns else 0
        per = frame.groupby("identity").size()
        spread = f"{per.min()} to {per.max()} images each" if len(per) else "no images"
        counts = [f"{name}: {counted(frame[name])}" for name in self.attributes if frame[name].nunique() <= 8][:2]
        return [
            f"Faces: {len(frame)} images of {len(per)} identities",
            f"  {spread}; {made} counterfactual",
            f"  attributes ({len(self.attributes)}): {', '.join(self.attributes[:8]) or 'none'}",
            *[f"  {line}" for line in [*counts, "", ""][:2]],
            f"  empty cells: {int(frame[self.attributes].isna().sum().sum())}",
        ]
