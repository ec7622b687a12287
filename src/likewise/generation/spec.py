"""What is estimated about drawn images, and what comes out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from likewise.errors import SpecError
from likewise.generation.benchmark import BenchmarkTable
from likewise.generation.predictions import LEVELS
from likewise.generation.quality import RealImages
from likewise.tables import Estimates, Images


@dataclass(frozen=True, kw_only=True)
class GenerateSpec:
    """What is estimated about drawn images."""

    attribute: str = "predicted_gender"
    """The column whose share is estimated: predicted, or of the table."""
    share_of: str = "female"
    levels: tuple[str, ...] = ()
    """Values that the attribute can have although no image has them; known for predicted columns."""
    by: tuple[str, ...] = ()
    """Columns whose combinations are estimated. Default: perceived gender and skin tone, where they are predicted."""
    attributes: Path | str | None = None
    """A table of attributes by image (people's responses, or another network's): nothing is predicted then."""
    benchmark: BenchmarkTable | Mapping[str, float] | Path | str | None = None
    """Shares by term, or a table of them; a file has the columns ``term`` and ``share``."""
    labels: Path | str | Mapping[str, str] | None = None
    """What people said about a random part of the images: a table by image, or responses of a study."""
    real: RealImages | None = None
    """Photographs, for quality by group."""
    detector: str = "retinaface"
    level: float = 0.95
    pictures: bool = True
    """Whether the report shows images."""
    title: str = ""

    def __post_init__(self) -> None:
        if not 0.5 <= self.level < 1:
            raise SpecError(
                f"The confidence level is {self.level}", fix="Give a number from 0.5 to below 1, e.g. 0.95."
            )
        for name in ("by", "levels"):
            given = getattr(self, name)
            object.__setattr__(self, name, (given,) if isinstance(given, str) else tuple(given))
        for name in ("attributes", "labels"):
            if isinstance(getattr(self, name), str):
                object.__setattr__(self, name, Path(getattr(self, name)))
        if isinstance(self.benchmark, str | Path):
            object.__setattr__(self, "benchmark", BenchmarkTable(path=Path(self.benchmark)))

    @property
    def known_levels(self) -> tuple[str, ...]:
        """The levels that the attribute can have."""
        return self.levels or LEVELS.get(self.attribute, ())


@dataclass(frozen=True)
class Generated:
    """The images with their attributes, the estimates, notes, and where the report is."""

    images: Images
    estimates: Estimates
    notes: list[str] = field(default_factory=list)
    report: Path | None = None

    def plain(self) -> dict[str, Any]:
        """Return everything for JSON."""
        rows = self.estimates.frame
        plain = rows.astype(object).where(rows.notna(), None).to_dict("records")
        return {"estimates": plain, "notes": self.notes, "images": len(self.images), "report": str(self.report or "")}
