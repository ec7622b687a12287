"""The nouns: frozen tables whose constructors are their validators."""

from likewise.tables.contrast import Contrast
from likewise.tables.estimates import Estimates
from likewise.tables.faces import Faces
from likewise.tables.pairs import Pairs
from likewise.tables.ratings import Ratings
from likewise.tables.spec import MatchSpec
from likewise.tables.stats import STATS, Stat, register_stat
from likewise.tables.vectors import Vectors

__all__ = [
    "STATS", "Contrast", "Estimates", "Faces", "MatchSpec", "Pairs", "Ratings", "Stat", "Vectors", "register_stat",
]  # fmt: skip
