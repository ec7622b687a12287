"""Benchmark shares by term, from any table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from likewise.errors import TableError, nearest, some
from likewise.tables.io import read_frame


@dataclass(frozen=True, kw_only=True)
class BenchmarkTable:
    """A table of shares; a term may occur in several rows if they agree."""

    path: Path
    term: str = "term"
    share: str = "share"

    def read(self, terms: Iterable[str]) -> dict[str, float]:
        """Return the share of every term; a term without one is an error."""
        frame, _ = read_frame(self.path, text=(self.term,))
        for column in (self.term, self.share):
            if column not in frame.columns:
                columns = some(frame.columns, 8)
                raise TableError(
                    f"Column {column!r} not found in {self.path.name} (columns: {columns})",
                    fix=nearest(column, frame.columns) or "Name its columns of terms and of shares.",
                )
        known = pd.DataFrame({"term": frame[self.term], "share": pd.to_numeric(frame[self.share], errors="coerce")})
        known = known.dropna().drop_duplicates()
        torn = known.loc[known["term"].duplicated(), "term"].unique()
        if len(torn):
            raise TableError(f"{self.path.name} has different shares of {some(torn)}", fix="Keep one share a term.")
        return checked(
            dict(zip(known["term"].astype(str), known["share"].astype(float), strict=True)), terms, self.path.name
        )


def checked(shares: Mapping[str, float], terms: Iterable[str], name: str = "The benchmark") -> dict[str, float]:
    """Return the shares of the terms; all must be known and between 0 and 1."""
    wanted = sorted(set(terms))
    missing = [term for term in wanted if term not in shares]
    if missing:
        fix = nearest(missing[0], shares) or "Add these rows."
        raise TableError(f"{name} has no benchmark share for {some(missing)}", fix=fix)
    wrong = [term for term in wanted if not 0 <= shares[term] <= 1]
    if wrong:
        raise TableError(f"{name} has shares outside 0 to 1 for {some(wrong)}", fix="Divide percentages by 100.")
    return {term: float(shares[term]) for term in wanted}
