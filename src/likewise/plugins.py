"""Former path of ``likewise.runtime.registry``, kept for plugins of other packages; removed in the next release."""

from __future__ import annotations

import warnings

from likewise.runtime.registry import (
    Array,
    Classifier,
    Crowd,
    Editor,
    Generator,
    Look,
    Perceptual,
    Pictures,
    Recognizer,
    Signals,
    components,
    create,
    register,
    to_pictures,
    to_signals,
)

__all__ = [
    "Array", "Classifier", "Crowd", "Editor", "Generator", "Look", "Perceptual", "Pictures", "Recognizer", "Signals",
    "components", "create", "register", "to_pictures", "to_signals",
]  # fmt: skip
warnings.warn("likewise.plugins is now likewise.runtime.registry", DeprecationWarning, stacklevel=2)
