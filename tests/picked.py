"""Pick one row out of Estimates."""

from __future__ import annotations

from typing import Any

import likewise as lw


def only(found: lw.Estimates, **where: str) -> dict[str, Any]:
    """Return the one row with these values."""
    rows = [dict(row) for _, row in found.where(**where).frame.iterrows()]
    assert len(rows) == 1, f"{len(rows)} rows with {where}"
    return rows[0]
