"""Responses that were collected elsewhere, read from a file."""

from __future__ import annotations

from pathlib import Path

from likewise.runtime.registry import Look
from likewise.tables import Ratings, Trials


class FileCrowd:
    """A table of responses (``unit, rater, question, value``), exported from any platform.

    A unit is a trial of ``trials.parquet`` or an image of the images table. An empty value is a missing response.
    """

    name = "responses from a file"
    license = "as the study that collected them"

    def __init__(self, path: str) -> None:
        self._ratings = Ratings.read(Path(path))

    def answers(self, trials: Trials, look: Look, seed: int) -> Ratings:
        """Return the responses, also those about single images."""
        return self._ratings
