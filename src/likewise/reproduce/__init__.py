"""Published tables and figures, recomputed from the published data."""

from likewise.reproduce.common import Reproduction
from likewise.reproduce.registry import NAMES, reproduce

__all__ = ["NAMES", "Reproduction", "reproduce"]
