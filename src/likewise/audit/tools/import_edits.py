"""import-edits: a ready set of counterfactual images becomes the [counterfactual] of an audit.

The set is checked and listed in a manifest (``edits.csv`` in the audit folder), with a hash of every picture, and the
plan gets the editor ``import``. From there on the edits are treated like any others: placebo arms, validators, slopes.
"""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from likewise.audit.folder.store import PLAN, Folder
from likewise.audit.plan.file import edit_plan
from likewise.audit.stages import read_plan
from likewise.counterfactuals.foreign.manifest import EditSet, complete
from likewise.counterfactuals.foreign.published import PUBLISHED, published_edits, published_images
from likewise.counterfactuals.sweep_spec import IMPORT
from likewise.errors import TableError
from likewise.tables import Contrast, Images
from likewise.tables.contrast import written
from likewise.tables.io import write_text

MANIFEST, ORIGINALS = "edits.csv", "originals.csv"


@dataclass(frozen=True)
class Imported:
    """What was found in a set of edits."""

    strengths: tuple[float, ...]
    complete: int
    by_group: dict[str, int]
    incomplete: int
    placebo: tuple[str, ...]

    def lines(self) -> list[str]:
        """Say what was found."""
        groups = ", ".join(f"{group} {count}" for group, count in self.by_group.items())
        shown = ", ".join(f"{strength:+g}" for strength in self.strengths)
        said = [f"{self.complete} images with edits at the strengths {shown} ({groups})"]
        if self.incomplete:
            said.append(
                f"{self.incomplete} images lack an edit at one of these strengths; they are counted and left out"
            )
        if len(self.strengths) < 3:
            said.append("two strengths: the change between them is estimated; a slope needs three")
        arms = ", ".join(self.placebo) or "none; a random change of pixels of the same size is made"
        return [*said, f"placebo arms in the set: {arms}"]


def import_edits(
    folder: str | Path, edits: EditSet, *, attribute: str = "", mask: str = "", name: str = ""
) -> Imported:
    """Check a set of edits, list it in the audit folder, and write the section of the plan.

    Parameters
    ----------
    folder : path
        The audit folder; its table holds the originals.
    edits : EditSet
        Where the edits are, and how they are laid out.
    attribute : str
        What the edits change; by default the contrast's column.
    mask : {"", "skin", "person", "none"}
        Where an edit may show; see [counterfactual]. By default ``person``.
    name : str
        What the set is called in the report; by default the name of its folder.

    Returns
    -------
    Imported
        How many images have all edits, by group.
    """
    store = Folder(str(folder))
    plan = read_plan(store.root / PLAN)
    if edits.layout in PUBLISHED and not edits.attribute:
        edits = replace(edits, attribute=attribute or plan.contrast.column)
    originals = plan.data.source(store.root).faces()
    manifest = edits.read(originals.keys)
    strengths, whole, rest = complete(manifest)
    if len(whole) < 2 or len(strengths) < 2:
        fix = "Two images need edits at two strengths. Check --level and the columns."
        raise TableError(f"{len(whole)} images have edits at all of the strengths {list(strengths)}", fix=fix)
    write_text(store.root / MANIFEST, manifest.to_csv(index=False))
    options = {"path": MANIFEST, "images": _relative(edits.images, store.root),
               "attribute": attribute or plan.contrast.column, "name": name or edits.images.resolve().name}  # fmt: skip
    changes: dict[str, Any] = {"editor": IMPORT, "strengths": list(strengths), "most": len(whole), "options": options}
    edit_plan(store.root / PLAN, "counterfactual", changes | ({"mask": mask} if mask else {}))
    arms = tuple(arm for arm in dict.fromkeys(manifest["arm"]) if arm)
    return Imported(strengths, len(whole), _groups(originals, whole, plan.contrast), len(rest), arms)


def write_originals(folder: Path, edits: EditSet, attribute: str) -> list[str]:
    """Write the table of a published set, and say how an audit of it begins; there is none in the folder yet."""
    images = published_images(edits.layout, edits.images, edits.table)
    rows = published_edits(images, attribute, edits.levels)
    table = folder / ORIGINALS
    write_text(table, images.to_csv(index=False))
    column = f"prompted_{attribute.removeprefix('prompted_')}"
    ends = rows.sort_values("strength", kind="stable")["file"]
    low, high = (images.set_index("image").loc[name, column] for name in (ends.iloc[0], ends.iloc[-1]))
    begin = f"likewise init {folder} --images {edits.images} --table {table} --protected {column}"
    return [
        f"wrote {table}: {len(images)} images of {images['identity'].nunique()} scenes",
        f"{rows['parent'].nunique()} scenes have a version of every level of {attribute}",
        "there is no audit in this folder yet; next:",
        f"  {begin} --focal {high} --reference {low} --rater classifier:NAME",
        "  and this command again",
    ]


def _relative(path: Path, root: Path) -> str:
    return Path(os.path.relpath(path.resolve(), root.resolve())).as_posix()


def _groups(originals: Images, keys: list[str], contrast: Contrast) -> dict[str, int]:
    frame = originals.frame.set_index("image")
    if contrast.column not in frame.columns:  # a column that the stage describe adds
        return {"all": len(keys)}
    values: pd.Series = frame.loc[keys, contrast.column].map(written)
    return dict(Counter(values.tolist()))
