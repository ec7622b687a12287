"""multipart/form-data: text fields and one file (RFC 7578)."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from likewise.errors import SpecError


def multipart(fields: Mapping[str, str], *, file: bytes, name: str, media: str) -> tuple[str, bytes]:
    """Return the content type and the body of a form with the file ``image``.

    The boundary is the hash of the content, so that a request is the same each time and the boundary occurs nowhere.

    Examples
    --------
    >>> kind, body = multipart({"prompt": "Smile"}, file=b"...", name="image.png", media="image/png")
    >>> kind.startswith("multipart/form-data; boundary="), body.count(b"Content-Disposition")
    (True, 2)
    """
    for key, value in fields.items():
        if not key.isidentifier() or not isinstance(value, str):
            raise SpecError(f"{key[:40]!r} is not a field of a form", fix="Use plain names, and text as values.")
    boundary = hashlib.sha256(repr(sorted(fields.items())).encode() + file).hexdigest()
    parts = [
        f'--{boundary}\r\nContent-Disposition: form-data; name="{key}"\r\n\r\n{value}\r\n'.encode()
        for key, value in fields.items()
    ]
    about = f'Content-Disposition: form-data; name="image"; filename="{name}"\r\nContent-Type: {media}'
    parts += [f"--{boundary}\r\n{about}\r\n\r\n".encode(), file, f"\r\n--{boundary}--\r\n".encode()]
    return f"multipart/form-data; boundary={boundary}", b"".join(parts)
