"""Answers that people gave elsewhere, read from a file."""

from __future__ import annotations

from pathlib import Path

from likewise.plugins import Look
from likewise.tables import Pairs, Ratings


class FileCrowd:
    """A table of answers (``unit, rater, question, value``), exported from any platform.

    A unit is a trial as ``trials.parquet`` names it, or an image as the table of faces does. An empty value is no
    answer.
    """

    name = "answers from a file"
    licence = "as the study that collected them"

    def __init__(self, path: str) -> None:
        self._ratings = Ratings.read(Path(path))

    def answers(self, trials: Pairs, look: Look, seed: int) -> Ratings:
        """Return the answers, also those about single images."""
        return self._ratings
