"""What was recognized in a file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True)
class Finding:
    """What a file holds, and how it is converted."""

    role: str
    """The component kind it fits: generator, recognizer, classifier ...; ``network`` when the file does not say."""
    summary: str
    """One line, e.g. ``StyleGAN2, 1024 px, 512 channels at most``."""
    converter: str
    """The name of the converter that writes the common form; the only member is the file itself."""
    form: str
    """The file name of the converted result."""
    details: Mapping[str, str] = field(default_factory=dict)
    """More that is worth printing: resolution, inputs, counts."""
