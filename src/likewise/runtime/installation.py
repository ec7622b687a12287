"""What is installed of each part of likewise, from the metadata of its distribution; nothing heavy is imported."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.metadata import PackageNotFoundError, packages_distributions, requires, version

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from likewise.errors import SpecError, nearest, some

CORE = "core"
PURPOSES = {
    CORE: "scores, embeddings, labels, tables, report",
    "faces": "images on a CPU: detectors, recognizers, generators, editors",
    "torch": "networks in PyTorch",
    "onnx": "networks in ONNX",
    "study": "the server of human studies",
    "postgres": "studies in PostgreSQL",
    "crowd": "crowd-kit's aggregation of responses",
    "apis": "services under audit: Rekognition, and HTTP/2",
    "excel": "likewise export --excel",
    "heic": "images in HEIC",
    "huggingface": "tables and images from and to Hugging Face datasets",
    "mlflow": "log an audit to MLflow",
    "wandb": "log an audit to Weights & Biases",
    "scale": "approximate search in large samples",
    "ray": "work on a Ray cluster",
}
"""What each part is for; the extras of development are left out."""
OK, MISSING, OLD, BROKEN = "installed", "missing", "too old", "broken"


@dataclass(frozen=True)
class Package:
    """One package that a part needs, and its state here."""

    name: str
    needed: str
    """The versions that are allowed, e.g. ``>=2.6``."""
    found: str = ""
    state: str = MISSING
    reason: str = ""


@dataclass(frozen=True)
class Part:
    """A part of likewise: the core or an extra, and the packages that it needs."""

    name: str
    packages: tuple[Package, ...]

    @property
    def purpose(self) -> str:
        """What the part is for."""
        return PURPOSES[self.name]

    @property
    def ready(self) -> bool:
        """Whether every package is there."""
        return all(package.state == OK for package in self.packages)

    @property
    def install(self) -> str:
        """The command that installs the part."""
        return "pip install likewise" if self.name == CORE else f"pip install 'likewise[{self.name}]'"


def parts(*, load: bool = False) -> list[Part]:
    """Return every part that this distribution offers.

    Parameters
    ----------
    load : bool
        Import every package: shows those that are installed but do not work. Takes seconds.

    Examples
    --------
    >>> [part.name for part in parts()][:2]
    ['core', 'faces']
    >>> parts()[0].ready
    True
    """
    offered = {extra: _requirements(extra) for extra in PURPOSES}
    return [
        Part(name, tuple(_package(each, load=load) for each in needed)) for name, needed in offered.items() if needed
    ]


def part(name: str, *, load: bool = False) -> Part:
    """Return one part; an unknown name is an error."""
    found = {each.name: each for each in parts(load=load)}
    if name not in found:
        raise SpecError(f"Unknown part {name!r}", fix=nearest(name, found) or f"Parts: {some(found, 20)}.")
    return found[name]


def _requirements(extra: str) -> list[Requirement]:
    """Return the requirements of an extra, with those of extras that it includes; of this machine only."""
    found: dict[str, Requirement] = {}
    for line in _declared():
        each = Requirement(line)
        own = each.marker is None or "extra" not in str(each.marker)
        if own != (extra == CORE) or not (each.marker is None or each.marker.evaluate({"extra": extra})):
            continue
        inner = (
            [deep for name in sorted(each.extras) for deep in _requirements(name)]
            if each.name == "likewise"
            else [each]
        )
        found |= {canonicalize_name(deep.name): deep for deep in inner}
    return [found[name] for name in sorted(found)]


@cache
def _declared() -> tuple[str, ...]:
    try:
        return tuple(requires("likewise") or ())
    except PackageNotFoundError:  # a source tree on the path, without metadata
        return ()


def _package(needed: Requirement, *, load: bool) -> Package:
    name, wanted = canonicalize_name(needed.name), str(needed.specifier)
    try:
        found = version(needed.name)
    except PackageNotFoundError:
        return Package(name, wanted)
    if found not in needed.specifier:
        return Package(name, wanted, found, OLD, f"{name} {found} is installed, {wanted} is needed")
    reason = _fails(name) if load else ""
    return Package(name, wanted, found, BROKEN if reason else OK, reason)


def _fails(name: str) -> str:
    """Import every module of a distribution; return why one fails."""
    for module in _modules().get(name, ()):
        try:
            import_module(module)
        except Exception as error:  # whatever a foreign package raises when it is imported
            return f"import {module}: {type(error).__name__}: {str(error)[:200]}"
    return ""


@cache
def _modules() -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for module, names in packages_distributions().items():
        if not module.startswith("_") and "." not in module and module not in sys.builtin_module_names:
            for name in {canonicalize_name(each) for each in names}:
                found[name] = (*found.get(name, ()), module)
    return found
