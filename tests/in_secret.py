"""Asking over TLS, in a process of its own: the clients read from the environment, some only once, whom they trust."""

from __future__ import annotations

import datetime
import ipaddress
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa

ASKING = """
import json, logging, sys
from pathlib import Path
import numpy as np
from likewise.errors import ServiceError
from likewise.plugins import create
from likewise.services.purse import Purse
logging.basicConfig(level=logging.DEBUG, stream=sys.stderr)
name, options, folder = sys.argv[1:]
service = create("classifier", name, {**json.loads(options), "wait": 0.001})
service.open(Path(folder), Purse(most=1.0))
pictures = np.stack([np.full((8, 8, 3), level, dtype=np.uint8) for level in (40, 200)])
try:
    print(json.dumps({label: values.tolist() for label, values in service.score(pictures).items()}))
except ServiceError as error:
    print(json.dumps(str(error)))
"""


def asked_apart(name: str, options: dict[str, Any], folder: Path, **environment: str) -> tuple[Any, str]:
    """Ask about two pictures, with every log as talkative as it can be: what came out, and what was said besides."""
    run = subprocess.run(
        [sys.executable, "-c", ASKING, name, json.dumps(options), str(folder)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout), run.stderr


def certified() -> tuple[rsa.RSAPrivateKey, bytes, bytes]:
    """Make a key, and a certificate for 'localhost' that it signs itself: the key, both as PEM."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    pem = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.UTC)
    names = x509.SubjectAlternativeName([x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(names, critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    return key, pem, certificate.public_bytes(serialization.Encoding.PEM)
