"""Secrets of a study: signed links and cookies, opaque names, hashed worker ids and codes, all from one key.

Signatures are itsdangerous tokens with a salt for each purpose, so a signature made for one purpose is invalid for
another. Names and hashes are keyed digests: they stay the same for the life of the study.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import secrets
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import itsdangerous

from likewise.errors import StudyError

KEY_FILE = "study.key"
KEY_VARIABLE = "LIKEWISE_STUDY_KEY"
_BYTES = 32


@dataclass(frozen=True)
class Signer:
    """Signs, names and hashes with one secret key."""

    key: bytes

    @cached_property
    def _signers(self) -> dict[str, itsdangerous.Signer]:
        return {}

    def _signer(self, purpose: str) -> itsdangerous.Signer:
        if purpose not in self._signers:
            derived = hmac.digest(self.key, f"likewise {purpose}".encode(), "sha256")  # once, not for every token
            self._signers[purpose] = itsdangerous.Signer(derived, key_derivation="none", digest_method=hashlib.sha256)
        return self._signers[purpose]

    def sign(self, purpose: str, value: str) -> str:
        """Return the value with its signature."""
        return self._signer(purpose).sign(value).decode()

    def unsign(self, purpose: str, token: str) -> str | None:
        """Return what was signed, or None when the signature is not valid for this purpose."""
        try:
            value = self._signer(purpose).unsign(token.encode("ascii")).decode("ascii")
        except (itsdangerous.BadSignature, UnicodeError):
            return None
        return value or None

    def mac(self, purpose: str, value: str, size: int = 16) -> str:
        """Return a short keyed digest (BLAKE2b) of letters and digits."""
        found = hashlib.blake2b(f"{purpose}\0{value}".encode(), key=self.key, digest_size=size).digest()
        return base64.b32encode(found).decode().rstrip("=").lower()

    def worker(self, worker: str) -> str:
        """Return the only form in which a worker id is kept: a keyed hash."""
        return self.mac("worker", worker, 20)

    def code(self, purpose: str, rater: str) -> str:
        """Return the completion code of a rater."""
        return self.mac(f"code {purpose}", rater, 5).upper()

    def same(self, one: str, other: str) -> bool:
        """Compare two secrets in constant time."""
        return hmac.compare_digest(one.encode("utf-8", "replace"), other.encode("utf-8", "replace"))


def read_key(folder: Path, *, create: bool = True) -> Signer:
    """Read the key of a study, from LIKEWISE_STUDY_KEY (hexadecimal) or its file; create one at first.

    Parameters
    ----------
    folder
        The folder of the study.
    create
        Write a new key when there is none.

    Returns
    -------
    Signer
        What signs with the key.
    """
    given = os.environ.get(KEY_VARIABLE, "")
    path = folder / KEY_FILE
    if not given and not path.is_file() and create:
        _write_key(path)
    text = given or (path.read_text(encoding="ascii", errors="replace") if path.is_file() else "")
    try:
        key = bytes.fromhex(text.strip())
    except ValueError:
        key = b""
    if len(key) != _BYTES:
        source = KEY_VARIABLE if given else str(path)
        fix = "Restore the key of this study; links, codes and hashed ids cannot be made without it."
        raise StudyError(f"The key in {source} does not have {2 * _BYTES} hexadecimal digits", fix=fix)
    return Signer(key)


def _write_key(path: Path) -> None:
    """Write a new key that only its owner may read; two processes that start together agree on one."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "w") as file:
        file.write(secrets.token_hex(_BYTES))
        file.flush()
        os.fsync(file.fileno())
    try:
        os.link(temporary, path)  # fails if another process was first; its key is then used
    except FileExistsError:
        pass
    finally:
        temporary.unlink()
