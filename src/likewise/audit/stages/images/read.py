"""read: find, open and fingerprint the images of the table."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import pandas as pd

from likewise.audit.context import StageContext
from likewise.audit.folder.artifacts import EXCLUDED, IMAGES
from likewise.audit.folder.store import Folder
from likewise.audit.plan.model import Plan
from likewise.audit.privacy.ledger import Ledger
from likewise.audit.stage import Stage
from likewise.data.read import listing_digest, read_images
from likewise.errors import ImageError
from likewise.runtime.pixels import find
from likewise.tables import Images
from likewise.tables.io import write_frame

WITHOUT_IMAGES = (
    "The plan has no images. No image was opened, projected, edited or rated here: all answers come from files."
)


class Read(Stage):
    """Read the table and its images."""

    name, artifact, section = "read", IMAGES, "data"
    help = "Find, open and fingerprint the images of the table."

    def options(self, plan: Plan) -> dict[str, Any]:
        """Return the data section and the contrast."""
        return {"data": asdict(plan.data), "contrast": asdict(plan.contrast)}

    def files(self, plan: Plan) -> tuple[str, ...]:
        """Return the table."""
        return (plan.data.table,) if plan.data.table else ()

    def outside(self, folder: Folder, plan: Plan) -> dict[str, str]:
        """Fingerprint the table (or the files of a layout that has several) and the listing of the images."""
        table, images = folder.root / plan.data.table, plan.data.images
        files = (
            {"table": listing_digest(table)} if plan.data.table and table.is_dir() else super().outside(folder, plan)
        )
        return files | ({"images": listing_digest(folder.root / images)} if images else {})

    def run(self, context: StageContext) -> None:
        """Write the images that can be read; the others are listed in excluded.csv."""
        data, contrast = context.plan.data, context.plan.contrast
        table = data.source(context.folder.root).faces()
        table.warn_of_unsourced_columns()
        contrast.side(table)
        table = _without_erased(context, table)
        excluded: dict[str, str] = {}
        found = table
        if data.images:
            kept = _present(context, table, excluded) if data.missing_images == "drop" else table
            found = _decodable(context, kept, excluded)
        else:
            context.notes.append(WITHOUT_IMAGES)
        side = contrast.side(found)
        context.summary = {"images": len(found), "focal": int((side == 1).sum()), "reference": int((side == -1).sum())}
        _list_excluded(context, excluded)
        found.write(context.path(IMAGES))


def _without_erased(context: StageContext, table: Images) -> Images:
    """Exclude people who were erased before and are in the table again."""
    again = Ledger.read(context.folder.root).erased(table.identities.unique())
    if not again:
        return table
    context.notes.append(f"{len(again)} people of the table were erased before (erasures.json) and are excluded")
    frame = table.frame
    return table.subset(frame.loc[~frame["identity"].isin(again), "image"].tolist())


def _decodable(context: StageContext, table: Images, excluded: dict[str, str]) -> Images:
    data = context.plan.data
    with context.reporter.task("read", len(table)) as progress:
        found, bad = read_images(
            table, context.folder.root / data.images, bad_images=data.bad_images, progress=progress
        )
    if bad:
        excluded |= dict.fromkeys(bad, "does not decode")
        lost = table.subset(bad).attribute(context.plan.contrast.column).value_counts().to_dict()
        context.notes.append(f"{len(bad)} images do not decode and are excluded: {lost}; listed in {EXCLUDED}")
    return found


def _present(context: StageContext, table: Images, excluded: dict[str, str]) -> Images:
    """Exclude rows whose image is not in the folder, and count them by group."""
    root, column = context.folder.root / context.plan.data.images, context.plan.contrast.column
    there = {key for key in table.keys if find(root, key) is not None}
    missing = [key for key in table.keys if key not in there]
    if not there:
        raise ImageError(f"None of the {len(table)} images of the table is in {root}", fix="Check images in [data].")
    if missing:
        excluded |= dict.fromkeys(missing, "no file")
        lost = table.frame.loc[table.frame["image"].isin(missing), column].value_counts().to_dict()
        context.notes.append(f"{len(missing)} rows of the table have no image and are excluded: {lost}")
    return table.subset([key for key in table.keys if key in there])


def _list_excluded(context: StageContext, excluded: dict[str, str]) -> None:
    path = context.path(EXCLUDED)
    path.unlink(missing_ok=True)
    if excluded:
        write_frame(path, pd.DataFrame({"image": list(excluded), "reason": list(excluded.values())}))
