"""What a sweep is asked for, and who edits."""

from __future__ import annotations

import inspect
import json
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from likewise.errors import SpecError, nearest
from likewise.plugins import Editor, create, occupants

SKIN, NONE = "skin", "none"
MOST_LEVELS = 101


@dataclass(frozen=True, kw_only=True)
class SweepSpec:
    """Which faces are turned, how far, and by whom."""

    editor: str = "world"
    """The slot's occupant that edits."""
    options: dict[str, Any] = field(default_factory=dict)
    """The editor's own options."""
    attribute: str = ""
    """What is turned; empty is the editor's own first attribute."""
    levels: tuple[float, ...] = (-2.0, -1.0, 0.0, 1.0, 2.0)
    """Where the dial stands: -1 reference, +1 focal, 0 between; beyond +-1 is extrapolation."""
    most: int = 200
    """How many faces at most; one an identity, drawn by the seed."""
    mask: str = ""
    """Where an edit may show: "skin" (of the face nearest to the middle) or "none" (everywhere). Empty asks the editor,
    and is "skin" where it does not say."""
    finder: str = "retinaface"
    """Who finds the faces that are masked."""
    placebo: bool = True
    """Whether the placebo arms are made beside the sweep; without them nothing says what editing alone does."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "levels", tuple(float(level) for level in self.levels))
        if len(self.levels) < 3 or list(self.levels) != sorted(set(self.levels)):
            raise SpecError("levels are three or more rising numbers", got=str(self.levels))
        if len(self.levels) > MOST_LEVELS or max(map(abs, self.levels)) > 10:
            raise SpecError(f"levels are at most {MOST_LEVELS} numbers from -10 to 10", got=str(self.levels)[:60])
        if 0.0 not in self.levels:
            raise SpecError("the middle level 0 is among the levels", got=str(self.levels))
        if self.most < 2:
            raise SpecError("a sweep has at least 2 faces", got=str(self.most))
        if self.mask not in ("", SKIN, NONE):
            raise SpecError(f"mask is '{SKIN}' or '{NONE}'", got=repr(self.mask), fix=nearest(self.mask, (SKIN, NONE)))

    def masked(self, editor: Editor) -> bool:
        """Say whether edits show inside the facial skin only."""
        return (self.mask or getattr(editor, "mask", SKIN)) == SKIN


def even_levels(text: str) -> tuple[float, ...]:
    """Read ``-2:2:7``: from, to, and how many in even steps."""
    try:
        first, last, count = text.split(":")
        start, end, steps = float(first), float(last), int(count)
    except ValueError:
        fix = "Write from:to:steps, e.g. -2:2:7."
        raise SpecError("--levels says from where to where, in how many steps", got=repr(text), fix=fix) from None
    if not (start < 0 < end and 3 <= steps <= MOST_LEVELS):
        fix = "Write from:to:steps, e.g. -2:2:7."
        raise SpecError(f"levels go from below 0 to above 0 in 3 to {MOST_LEVELS} steps", got=repr(text), fix=fix)
    return tuple(round(start + (end - start) * k / (steps - 1), 4) + 0.0 for k in range(steps))


def editor_of(spec: SweepSpec) -> Editor:
    """Make the editor; one of the same options is made once a process, because networks are slow to load."""
    found = occupants("editor").get(spec.editor)
    if found is None:
        create("editor", spec.editor, spec.options)  # says who there is
    options = dict(spec.options)
    factory = None if found is None else found()
    if spec.attribute and factory is not None and "attribute" in inspect.signature(factory).parameters:
        options.setdefault("attribute", spec.attribute)
    editor = _kept(factory, spec.editor, json.dumps(options, sort_keys=True))
    if spec.attribute and editor.attribute != spec.attribute:
        raise SpecError(
            f"the editor {spec.editor!r} turns {spec.attribute!r}", got=f"one that turns {editor.attribute!r}"
        )
    return editor


@lru_cache(maxsize=2)
def _kept(factory: object, name: str, options: str) -> Editor:
    editor: Editor = create("editor", name, json.loads(options))
    return editor
