"""A converter that never ends, to be killed in."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path


def convert(members: Mapping[str, Path], target: Path) -> None:
    target.write_bytes(b"half")
    time.sleep(60)
