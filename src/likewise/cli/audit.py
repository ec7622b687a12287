"""audit: the plan of a wish, written if nobody else's is there, so that one command leads to the report."""

from __future__ import annotations

from pathlib import Path

from likewise.cli.init import plan_text
from likewise.cli.wish import Wish
from likewise.errors import StoreError
from likewise.store import PLAN
from likewise.tables.files import write_text


def planned(folder: Path, wish: Wish, *, force: bool, dry_run: bool) -> tuple[str, list[str]]:
    """Return the plan and what was found; the same plan goes on, another one is never overwritten unasked.

    A dry run writes nothing.
    """
    text, lines = plan_text(folder, wish)
    path = folder / PLAN
    there = path.read_text(encoding="utf-8") if path.is_file() else ""
    if there and there != text and not force:
        fix = f"likewise run {folder} goes by the plan that is there; --force writes this one instead."
        raise StoreError(f"{path} is the plan of another audit, or was edited", fix=fix)
    if dry_run:
        said = f"goes on with {path}" if there == text else f"would write {path}"
        text = text if folder.is_dir() else plan_text(None, wish)[0]  # nothing is relative to what is not there
        return text, [said, *lines]
    if there != text:
        write_text(path, text)
    return text, [f"{'goes on with' if there == text else 'wrote'} {path}", *lines]
