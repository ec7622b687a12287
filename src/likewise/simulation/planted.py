"""Former path of ``system_ratings``; removed when every test has moved."""

from __future__ import annotations

from likewise.simulation.system_ratings import CONTRAST
from likewise.simulation.system_ratings import STRENGTHS as LEVELS
from likewise.simulation.system_ratings import EditedLabels as Turned
from likewise.simulation.system_ratings import RealOrGenerated as Crowd
from likewise.simulation.system_ratings import VerificationTrials as Recognition

__all__ = ["CONTRAST", "LEVELS", "Crowd", "Recognition", "Turned"]
