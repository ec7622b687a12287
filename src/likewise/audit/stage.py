"""Stage: one step of an audit. It declares what it reads, needs and writes; the runner does the rest.

A stage is one file under ``audit/stages`` and one entry in the list ``STAGES``. The commands, ``likewise check``, the
staleness of artifacts and the report's provenance all follow from what it declares.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from likewise.audit.context import StageContext
from likewise.audit.folder.store import Folder
from likewise.audit.plan.model import Plan
from likewise.runtime.pixels import digest
from likewise.weights import content_of


@dataclass(frozen=True)
class ComponentUse:
    """A component that a stage uses: its kind (a registry kind, ``detector`` or ``describer``), name and options."""

    kind: str
    name: str
    options: Mapping[str, Any] = field(default_factory=dict)
    late: bool = False
    """Whether it can only be made after earlier stages (an editor that reads the latents, say)."""


class Stage(ABC):
    """A step of an audit: a command, an artifact, and what they depend on."""

    name: ClassVar[str]
    """The command."""
    artifact: ClassVar[str]
    """The file or folder that it writes, inside the audit folder."""
    help: ClassVar[str]
    """One sentence for ``--help``."""
    section: ClassVar[str] = ""
    """The section of the plan that enables or configures it, for messages and documents."""
    section_type: ClassVar[type | None] = None
    """The dataclass of a section of its own, which ``Plan`` does not know: read into ``plan.sections[section]``."""
    version: ClassVar[int] = 1
    """Raised when the stage computes something else than before, so that old artifacts are made again."""
    seeded: ClassVar[bool] = False
    """Whether the result depends on the plan's seed."""
    counted: ClassVar[bool] = True
    """Whether it reports its own progress."""
    paid: ClassVar[bool] = False
    """Whether it may call paid services."""

    def enabled(self, plan: Plan) -> bool:
        """Whether the plan has this stage."""
        return self.section_type is None or self.section in plan.sections

    def needs(self, plan: Plan) -> tuple[str, ...]:
        """Return the artifacts that it reads; those that the plan does not make are ignored."""
        return ()

    def options(self, plan: Plan) -> dict[str, Any]:
        """Return the part of the plan that the artifact depends on."""
        return {}

    def components(self, folder: Folder, plan: Plan) -> list[ComponentUse]:
        """Return the components that it uses, with the options they are made with."""
        return []

    def weights(self, plan: Plan) -> tuple[str, ...]:
        """Return weights, by name or path, whose content the artifact depends on."""
        return ()

    def files(self, plan: Plan) -> tuple[str, ...]:
        """Return files outside the audit's artifacts, relative to the plan."""
        return ()

    def outside(self, folder: Folder, plan: Plan) -> dict[str, str]:
        """Return fingerprints of everything outside the folder's artifacts that the artifact depends on."""
        named = {path: folder.root / path for path in self.files(plan) if path}
        files = {path: digest(place) if place.is_file() else "missing" for path, place in named.items()}
        return files | {f"weights {name}": content_of(name) for name in self.weights(plan)}

    @abstractmethod
    def run(self, context: StageContext) -> None:
        """Write the artifact; notes, summary and licenses go to the context."""


def named_weights(*options: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the weights that options name."""
    return tuple(given["weights"] for given in options if isinstance(given.get("weights"), str))
