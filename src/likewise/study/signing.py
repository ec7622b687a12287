"""Secrets: signed links, opaque names, hashed worker ids and codes, all from one key that never leaves its file.

Every purpose has its own message prefix, so a signature made for one thing is worth nothing for another.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import secrets
from dataclasses import dataclass
from pathlib import Path

from likewise.errors import StudyError

KEY_FILE = "study.key"
_BYTES = 32


@dataclass(frozen=True)
class Signer:
    """Signs, names and hashes with one secret key."""

    key: bytes

    def mac(self, purpose: str, value: str, size: int = 16) -> str:
        """Return a short keyed digest (BLAKE2b), safe in an address: letters and digits only."""
        found = hashlib.blake2b(f"{purpose}\0{value}".encode(), key=self.key, digest_size=size).digest()
        return base64.b32encode(found).decode().rstrip("=").lower()

    def sign(self, purpose: str, value: str) -> str:
        """Return the value with its signature."""
        return f"{value}.{self.mac(purpose, value)}"

    def unsign(self, purpose: str, token: str) -> str | None:
        """Return what was signed, or None when the signature is not ours."""
        value, _, mac = token.rpartition(".")
        right = value.isascii() and mac.isascii() and hmac.compare_digest(mac, self.mac(purpose, value))
        return value if right and value else None

    def worker(self, worker: str) -> str:
        """Return the only form in which a worker's id is kept: a keyed hash."""
        return self.mac("worker", worker, 20)

    def code(self, purpose: str, rater: str) -> str:
        """Return a completion code of the rater's own."""
        return self.mac(f"code {purpose}", rater, 5).upper()

    def same(self, one: str, other: str) -> bool:
        """Compare two secrets in constant time."""
        return hmac.compare_digest(one.encode("utf-8", "replace"), other.encode("utf-8", "replace"))


def read_key(folder: Path, *, create: bool = True) -> Signer:
    """Read the study's key, from LIKEWISE_STUDY_KEY (hexadecimal) or its file; make one at first."""
    given = os.environ.get("LIKEWISE_STUDY_KEY", "")
    path = folder / KEY_FILE
    if not given and not path.is_file() and create:
        _write_key(path)
    text = given or (path.read_text(encoding="ascii") if path.is_file() else "")
    try:
        key = bytes.fromhex(text.strip())
    except ValueError:
        key = b""
    if len(key) != _BYTES:
        fix = "Put the study's own key back; without it links, codes and hashed ids cannot be made again."
        raise StudyError(f"the key of a study has {2 * _BYTES} hexadecimal digits", got=f"{len(text.strip())}", fix=fix)
    return Signer(key)


def _write_key(path: Path) -> None:
    """Write a fresh key that only its owner may read; two processes that start together agree on one."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "w") as file:
        file.write(secrets.token_hex(_BYTES))
        file.flush()
        os.fsync(file.fileno())
    try:
        os.link(temporary, path)  # fails if another process was first, whose key then holds
    except FileExistsError:
        pass
    finally:
        temporary.unlink()
