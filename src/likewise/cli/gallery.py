"""The gallery of a report: a few pairs of look-alikes, each with the pictures that its people are compared with."""

from __future__ import annotations

import io

import numpy as np
import pandas as pd
from PIL import Image

from likewise.cli.making import PAIRS, TRIALS, Job
from likewise.make.contact_sheet import thumbnail
from likewise.make.sheet import sheet
from likewise.tables import Pairs

ROWS = 8


def gallery(job: Job) -> bytes | None:
    """Return pairs from the closest to the farthest as one JPEG, where the plan says that people may be shown."""
    pairs = Pairs.read(job.path(PAIRS)).frame
    if not job.plan.report.show_images or pairs.empty:
        return None
    few = pairs.iloc[np.unique(np.linspace(0, len(pairs) - 1, min(ROWS, len(pairs))).round().astype(int))]
    beside = Pairs.read(job.path(TRIALS)).genuine().frame.drop_duplicates("a").set_index("a")["b"]
    look = job.album(job.faces())
    rows = [
        np.stack([thumbnail(look([image])[0]) for image in _shown(row, beside)])
        for _, row in few.iterrows()
        if {row["a"], row["b"]} <= set(beside.index)
    ]
    if not rows:
        return None
    contrast = job.plan.contrast
    columns = [str(contrast.focal), "same person", str(contrast.reference), "same person"]
    buffer = io.BytesIO()
    Image.fromarray(sheet(rows, columns)).save(buffer, format="JPEG", quality=88)
    return buffer.getvalue()


def _shown(row: pd.Series, beside: pd.Series) -> list[str]:
    """Return both images of a pair, each followed by its reference: the matched one, or that of its trial."""
    shown: list[str] = []
    for end in ("a", "b"):
        own = row.get(f"ref_{end}")
        shown += [str(row[end]), own if isinstance(own, str) and own else str(beside[row[end]])]
    return shown
