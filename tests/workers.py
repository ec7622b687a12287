"""Work for the executor that other processes can import."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from likewise.errors import ImageError
from likewise.runtime.executor import Result


def lengths(items: list[str]) -> Result:
    return {"length": np.array([len(item) for item in items])}


@dataclass(frozen=True)
class Counting:
    """Writes a file each time it is called, so that a test can count the calls."""

    folder: Path

    def __call__(self, items: list[str]) -> Result:
        (self.folder / f"{items[0]}-{len(list(self.folder.iterdir()))}").touch()
        return lengths(items)


@dataclass(frozen=True)
class DiesOnce:
    """Kills its own process the first time it sees a certain item."""

    folder: Path
    item: str

    def __call__(self, items: list[str]) -> Result:
        mark = self.folder / "died"
        if self.item in items and not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return lengths(items)


@dataclass(frozen=True)
class Fails:
    """Fails so many times for a certain item, by accident or because the input is wrong."""

    folder: Path
    item: str
    times: int
    wrong_input: bool = False

    def __call__(self, items: list[str]) -> Result:
        if self.item in items:
            tries = len(list(self.folder.iterdir()))
            (self.folder / str(tries)).touch()
            if self.wrong_input:
                raise ImageError(f"Cannot decode {self.item!r}")
            if tries < self.times:
                raise OSError("the disk hiccupped")
        return lengths(items)


@dataclass(frozen=True)
class SeesGpus:
    """Returns the GPUs visible to its process; the first two chunks wait for each other, so that both run at once."""

    folder: Path
    options: dict[str, str]

    def __call__(self, items: list[str]) -> Result:
        shown = os.environ.get("CUDA_VISIBLE_DEVICES", "all")
        (self.folder / items[0]).write_text(shown)
        for _ in range(600):
            if len(list(self.folder.iterdir())) >= 2:
                break
            time.sleep(0.05)
        return {"shown": np.array([shown] * len(items))}


@dataclass(frozen=True)
class Nested:
    """Work whose device is in a nested spec."""

    spec: SeesGpus
