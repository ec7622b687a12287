"""Excel: one sheet per table."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from likewise.audit.api import Audit
from likewise.audit.folder.artifacts import BALANCE, ESTIMATES, IMAGES, MATCHES, RATINGS, RESPONSES, TRIALS
from likewise.errors import StageError
from likewise.runtime.optional import require
from likewise.tables.io import read_frame, replacing

EXCEL = "export.xlsx"
_SHEETS = {
    "estimates": ESTIMATES, "balance": BALANCE, "matches": MATCHES, "trials": TRIALS, "images": IMAGES,
    "ratings": RATINGS, "responses": RESPONSES,
}  # fmt: skip
_MOST = 1_048_575  # rows of a sheet below its header
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def write_excel(audit: Audit | str | Path, path: str | Path | None = None) -> Path:
    """Write the tables of an audit to an Excel file, one sheet per table.

    Parameters
    ----------
    audit : Audit or path
        The audit, or its folder.
    path : path, optional
        The file; by default ``export.xlsx`` in the folder.

    Returns
    -------
    Path
        The file.
    """
    require("openpyxl", "excel")
    made = audit if isinstance(audit, Audit) else Audit(audit)
    target = Path(path) if path is not None else made.folder / EXCEL
    tables = {name: made.folder / artifact for name, artifact in _SHEETS.items() if (made.folder / artifact).is_file()}
    if not tables:
        raise StageError(f"No table is written yet in {made.folder}", fix=f"Run: likewise run {made.folder}")
    with replacing(target) as temporary, pd.ExcelWriter(temporary, engine="openpyxl") as writer:
        for name, source in tables.items():
            frame = read_frame(source)[0]
            _plain(frame.head(_MOST)).to_excel(writer, sheet_name=name, index=False, freeze_panes=(1, 0))
    return target


def _plain(frame: pd.DataFrame) -> pd.DataFrame:
    """Return cells that Excel shows as they are: text that looks like a formula never becomes one."""
    text = frame.select_dtypes(include=["object", "str", "category"]).columns
    return frame.assign(**{name: frame[name].map(_escaped, na_action="ignore") for name in text})


def _escaped(cell: object) -> object:
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(_FORMULA) else cell
