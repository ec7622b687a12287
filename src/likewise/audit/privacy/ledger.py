"""The ledger of erasures: when someone was erased, without saying who.

A person is entered as a keyed hash (HMAC-SHA256) of the identity. The key is random, one per folder, and stays in the
ledger: it does not hide the person from someone who has the folder and a list of candidates. But the ledger names
nobody, and the hashes of two audits cannot be joined.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from likewise.errors import StoreError
from likewise.tables.io import parse_json, write_text

LEDGER = "erasures.json"


@dataclass(frozen=True)
class Ledger:
    """The erasures of one audit folder."""

    key: str
    entries: list[dict[str, Any]] = field(default_factory=list)

    @classmethod
    def read(cls, root: Path) -> Self:
        """Read the ledger of a folder; a new one where there is none."""
        path = root / LEDGER
        if not path.is_file():
            return cls(secrets.token_hex(32))
        try:
            plain = parse_json(path.read_text(encoding="utf-8"))
            return cls(str(plain["key"]), list(plain["erasures"]))
        except (ValueError, KeyError, TypeError) as error:
            raise StoreError(f"Cannot read {path}: {error}", fix="Restore it from a copy.") from error

    def hash_of(self, identity: str) -> str:
        """Return the keyed hash of an identity."""
        return hmac.new(bytes.fromhex(self.key), identity.encode(), hashlib.sha256).hexdigest()

    def erased(self, identities: Iterable[str]) -> list[str]:
        """Return the identities that were erased before."""
        known = {entry["person"] for entry in self.entries}
        return [identity for identity in identities if self.hash_of(identity) in known] if known else []

    def enter(self, identity: str, root: Path, counts: dict[str, int]) -> None:
        """Add an erasure and write the ledger."""
        entry = {"person": self.hash_of(identity), "date": datetime.now(UTC).isoformat(timespec="seconds"), **counts}
        self.entries.append(entry)
        plain = {"key": self.key, "erasures": self.entries}
        write_text(root / LEDGER, json.dumps(plain, indent=1) + "\n")
