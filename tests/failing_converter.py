"""A converter that writes half a file and fails."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from likewise.errors import WeightsError


def convert(members: Mapping[str, Path], target: Path) -> None:
    target.write_bytes(b"half")
    raise WeightsError("this file has another layout")
