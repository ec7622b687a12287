"""The tables: immutable, validated on construction."""

from likewise.tables.contrast import Contrast
from likewise.tables.estimates import Estimates
from likewise.tables.images import Images
from likewise.tables.matching.match_spec import MatchSpec
from likewise.tables.matching.matches import Matches
from likewise.tables.ratings import Ratings
from likewise.tables.statistics import STATS, Stat, register_stat
from likewise.tables.trials import Trials
from likewise.tables.vectors import Vectors

__all__ = [
    "STATS", "Contrast", "Estimates", "Images", "MatchSpec", "Matches", "Ratings", "Stat", "Trials", "Vectors",
    "register_stat",
]  # fmt: skip
