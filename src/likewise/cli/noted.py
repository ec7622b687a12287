"""What cannot be estimated here is noted, and the rest of the analysis stands."""

from __future__ import annotations

from collections.abc import Callable

from likewise.cli.making import Job
from likewise.errors import LikewiseError
from likewise.tables import Estimates


def noted(job: Job, what: str, estimate: Callable[[], Estimates]) -> list[Estimates]:
    """Estimate, or note why this cannot be estimated here."""
    try:
        return [estimate()]
    except LikewiseError as error:
        job.notes.append(f"No {what}: {error}")
        return []
