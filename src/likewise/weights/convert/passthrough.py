"""A member that is already in the form we use."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path


def convert(members: Mapping[str, Path], target: Path) -> None:
    """Copy the only member."""
    (source,) = members.values()
    shutil.copyfile(source, target)
