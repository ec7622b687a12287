"""Face detectors by name. The model card of every recognizer names its detector."""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module

from likewise.errors import PluginError, nearest, some
from likewise.models.detectors.detection import Detector

DETECTORS = {
    "dlib": "likewise.models.detectors.dlib:DlibDetector",
    "yunet": "likewise.models.detectors.yunet:YuNetDetector",
    "retinaface": "likewise.models.detectors.retinaface:RetinaFaceDetector",
}
"""``module:class``, imported on first use: one needs dlib, another torch."""


@lru_cache(maxsize=4)
def detector(name: str) -> Detector:
    """Return the detector of this name; each is loaded once a process."""
    if name not in DETECTORS:
        fix = nearest(name, DETECTORS) or f"Choose one of {some(DETECTORS)}."
        raise PluginError(f"Unknown detector {name!r}", fix=fix)
    module, kind = DETECTORS[name].split(":")
    made: Detector = getattr(import_module(module), kind)()
    return made
