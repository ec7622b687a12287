"""Former path of ``panel_ratings``; removed when every test has moved."""

from __future__ import annotations

from likewise.simulation.panel_ratings import TONE
from likewise.simulation.panel_ratings import BinaryResponses as Leaning
from likewise.simulation.panel_ratings import ClassScores as Classes
from likewise.simulation.panel_ratings import ImageFeatures as Features
from likewise.simulation.panel_ratings import OrdinalResponses as Steps
from likewise.simulation.panel_ratings import ToneResponses as Tones

__all__ = ["TONE", "Classes", "Features", "Leaning", "Steps", "Tones"]
