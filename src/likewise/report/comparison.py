"""The page of a comparison of two audits. It computes no statistic."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Any

import pandas as pd
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from likewise.report.figures.comparison import change_plot
from likewise.report.figures.style import NARROW, WIDE, to_svg
from likewise.report.names import Naming, measure, system
from likewise.report.numbers import interval, percent, points, significant
from likewise.tables import Estimates
from likewise.tables.io import write_text

_ADJUSTED = ", adjusted"


def write_comparison(
    path: Path, estimates: Estimates, *, old: str, new: str, design: str, notes: Sequence[str] = (),
    naming: Naming | None = None,
) -> Path:  # fmt: skip
    """Write the page from rows ``old_value``, ``new_value`` and ``change``."""
    entries = comparison_entries(estimates, naming)
    for entry in entries:
        entry["figure"] = _figure(estimates, entry)
    environment = Environment(loader=PackageLoader("likewise.report"), autoescape=True, undefined=StrictUndefined)
    script = (files("likewise.report") / "templates" / "report.js").read_text(encoding="utf-8")
    style = (files("likewise.report") / "templates" / "report.css").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    page = environment.get_template("comparison.html.j2").render(
        old=Path(old).name, new=Path(new).name, paired=design == "paired", notes=notes, entries=entries,
        moved=sum(row["differs"] for entry in entries for row in entry["rows"]),
        many=sum(len(entry["rows"]) for entry in entries), script_hash=f"sha256-{digest}",
        style=Markup(style), script=Markup(script),  # noqa: S704  # our own files
    )  # fmt: skip
    write_text(path, page)
    return path


def comparison_entries(estimates: Estimates, naming: Naming | None = None) -> list[dict[str, Any]]:
    """Return one entry per quantity and sample: both values and the change of each group and of the gap."""
    frame, names = estimates.frame, naming or Naming()
    return [
        {
            "quantity": str(name), "sample": str(sample), "system": system(str(name)), "measure": _measure(str(name)),
            "where": names.sample(str(sample)), "rows": _rows(part, share=_is_share(str(name))),
        }
        for (name, sample), part in frame.groupby(["quantity", "sample"], sort=False)
    ]  # fmt: skip


def _measure(name: str) -> str:
    base = name.removesuffix(_ADJUSTED)
    return f"{measure(base)}{_ADJUSTED if base != name else ''}"


def _is_share(name: str) -> bool:
    question = name.partition(": ")[2]
    return question.startswith(("FNMR", "FMR", "Share ", "failure to"))


def _rows(part: pd.DataFrame, *, share: bool) -> list[dict[str, Any]]:
    rows = []
    for group, three in part.groupby("group", sort=False):
        row = {stat: one.iloc[0] for stat, one in three.groupby("stat")}
        gap = " - " in str(group)
        write = (points if gap else percent) if share else interval
        moved = row["change"]
        rows.append(
            {
                "group": str(group).replace(" - ", " − "), "gap": gap, "old": write(row["old_value"]),
                "new": write(row["new_value"]), "change": (points if share else interval)(moved),
                "differs": significant(moved), "verdict": _verdict(moved),
            }
        )  # fmt: skip
    return rows


def _verdict(moved: pd.Series) -> str:
    if pd.isna(moved["low"]):
        return "no interval"
    if not significant(moved):
        return "not significant"
    return "higher" if moved["estimate"] > 0 else "lower"


def _figure(estimates: Estimates, entry: dict[str, Any]) -> Markup:
    words = "; ".join(f"{row['group']}: {row['old']} to {row['new']}" for row in entry["rows"])
    plot = partial(change_plot, estimates, entry["quantity"], entry["sample"])
    drawn = ((name, to_svg(plot(width=width), words)) for name, width in (("wide", WIDE), ("narrow", NARROW)))
    page = "".join(f'<div class="{name}">{svg}</div>' for name, svg in drawn)
    return Markup(page)  # noqa: S704  # our own figure: matplotlib escapes its texts, to_svg the description
