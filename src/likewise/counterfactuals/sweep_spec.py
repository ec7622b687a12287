"""The spec of a sweep, and its editor."""

from __future__ import annotations

import inspect
import json
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from likewise.errors import SpecError, nearest
from likewise.runtime.registry import Editor, components, create

SKIN, PERSON, NONE = "skin", "person", "none"
IMPORT = "import"
"""The editor whose strengths are those of a ready set: two are enough, and 0 need not be among them."""
MOST_STRENGTHS = 101


@dataclass(frozen=True, kw_only=True)
class SweepSpec:
    """Which images are edited, how strongly, and by which editor."""

    editor: str = "world"
    """The editor component."""
    options: dict[str, Any] = field(default_factory=dict)
    """The editor's own options."""
    attribute: str = ""
    """The edited attribute; empty is the editor's first."""
    strengths: tuple[float, ...] = (-2.0, -1.0, 0.0, 1.0, 2.0)
    """Edit strengths: -1 reference group, +1 focal group, 0 between; beyond +-1 is extrapolation."""
    most: int = 200
    """Images at most; one per identity, chosen at random by the seed."""
    mask: str = ""
    """Where an edit may show: "skin" (of the face nearest to the middle), "person" (anywhere but in the background,
    where changes are measured) or "none" (everywhere). Empty is the editor's own, and "skin" where it has none."""
    detector: str = "retinaface"
    """The detector of the faces that are masked."""
    placebo: bool = True
    """Whether the placebo arms are made. Without them the effect of editing alone is not known: no edit is valid."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "strengths", tuple(float(strength) for strength in self.strengths))
        shown = str(self.strengths)[:60]
        fewest = 2 if self.editor == IMPORT else 3
        if len(self.strengths) < fewest or list(self.strengths) != sorted(set(self.strengths)):
            raise SpecError(f"strengths is {shown}", fix=f"Give {fewest} or more increasing numbers.")
        if len(self.strengths) > MOST_STRENGTHS or max(map(abs, self.strengths)) > 10:
            raise SpecError(f"strengths is {shown}", fix=f"Give at most {MOST_STRENGTHS} numbers from -10 to 10.")
        if 0.0 not in self.strengths and self.editor != IMPORT:
            raise SpecError(f"strengths is {shown}, without 0", fix="Add 0: every strength is compared with it.")
        if self.most < 2:
            raise SpecError(f"most is {self.most}", fix="Give 2 or more images.")
        if self.mask not in ("", SKIN, PERSON, NONE):
            fix = nearest(self.mask, (SKIN, PERSON, NONE)) or f"Choose '{SKIN}', '{PERSON}' or '{NONE}'."
            raise SpecError(f"mask is {self.mask!r}", fix=fix)

    def masked(self, editor: Editor) -> bool:
        """Return whether edits show inside the facial skin only."""
        return self.region(editor) == SKIN

    def region(self, editor: Editor) -> str:
        """Return where edits may show: the plan's mask, or the editor's own."""
        return self.mask or str(getattr(editor, "mask", SKIN))


def even_strengths(text: str) -> tuple[float, ...]:
    """Read ``-2:2:7``: from, to, and the number of even steps.

    >>> even_strengths("-1:1:3")
    (-1.0, 0.0, 1.0)
    """
    fix = f"Write from:to:steps, e.g. -2:2:7, from below 0 to above 0 in 3 to {MOST_STRENGTHS} steps."
    try:
        first, last, count = text.split(":")
        start, end, steps = float(first), float(last), int(count)
    except ValueError:
        raise SpecError(f"Cannot read the strengths {text[:40]!r}", fix=fix) from None
    if not (start < 0 < end and 3 <= steps <= MOST_STRENGTHS):
        raise SpecError(f"The strengths {text[:40]!r} are out of range", fix=fix)
    return tuple(round(start + (end - start) * k / (steps - 1), 4) + 0.0 for k in range(steps))


def editor_of(spec: SweepSpec) -> Editor:
    """Return the editor; one with the same options is created once a process, because networks are slow to load."""
    found = components("editor").get(spec.editor)
    if found is None:
        create("editor", spec.editor, spec.options)  # raises, with the known names
    options = dict(spec.options)
    factory = None if found is None else found()
    if spec.attribute and factory is not None and "attribute" in inspect.signature(factory).parameters:
        options.setdefault("attribute", spec.attribute)
    editor = _kept(factory, spec.editor, json.dumps(options, sort_keys=True))
    if spec.attribute and editor.attribute != spec.attribute:
        raise SpecError(
            f"The editor {spec.editor!r} edits {editor.attribute!r}, not {spec.attribute!r}",
            fix="Name that attribute, or another editor.",
        )
    return editor


@lru_cache(maxsize=2)
def _kept(factory: object, name: str, options: str) -> Editor:
    editor: Editor = create("editor", name, json.loads(options))
    return editor
