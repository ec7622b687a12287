"""What somebody wants audited, as the command line says it, and the sections of the plan that follow from it."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from likewise.errors import PlanError, PluginError, SpecError, nearest, some
from likewise.make.layouts import Source
from likewise.plugins import occupants

COLUMNS = "columns"
"""The encoder that is none: the table's own columns."""
_MEASURE = 'measure = "similarity"         # or "distance"'


@dataclass(frozen=True, kw_only=True)
class Wish:
    """Everything that ``init`` and ``audit`` are told."""

    protected: str
    focal: str
    reference: str
    images: Path | None = None
    table: Path | None = None
    layout: str = "table"
    identity: str = "identity"
    image_column: str = "image"
    rename: tuple[str, ...] = ()
    skip_missing: bool = False
    covariates: str = ""
    vectors: Path | None = None
    generator: str = ""
    encoder: str = ""
    rater: tuple[str, ...] = ()
    editor: str = ""
    scores: tuple[str, ...] = ()
    embeddings: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    similarity: bool = False
    scale: float = 1.0
    people: Path | None = None
    title: str = "Audit"
    seed: int = 0

    def __post_init__(self) -> None:
        spaces = [name for name in ("vectors", "generator", "encoder") if getattr(self, name)]
        if len(spaces) > 1:
            raise PlanError("one of --vectors, --generator, --encoder says where images lie", got=" and ".join(spaces))
        if self.similarity and not self.scores:
            raise PlanError("--similarity is said of --scores", got="none")
        if self.editor and not any(_slot(name)[0] == "classifier" for name in self.rater):
            raise PlanError("--editor turns faces for a classifier", got="no classifier among --rater")
        if not self.table and self.layout != "folders":
            raise PlanError("--table names the table", got="none", fix="Only --layout folders can do without.")

    @property
    def renamed(self) -> dict[str, str]:
        """The columns that get another name."""
        pairs = [entry.partition("=") for entry in self.rename]
        wrong = [
            entry for entry, (old, sign, new) in zip(self.rename, pairs, strict=True) if not (old and sign and new)
        ]
        if wrong:
            raise SpecError("--rename is OLD=NEW", got=some(wrong))
        return {old: new for old, _, new in pairs}

    @property
    def source(self) -> Source:
        """Where the table is."""
        return Source(
            table=self.table, images=self.images, layout=self.layout,
            image=self.image_column, identity=self.identity, rename=self.renamed,
        )  # fmt: skip


def quoted(value: object) -> str:
    """Write text for TOML."""
    return json.dumps(value, ensure_ascii=False)


def relative(path: Path, folder: Path | None) -> str:
    """Write a path as the plan in this folder says it; of a folder that is not there yet, from the root."""
    if folder is None:
        return quoted(path.resolve().as_posix())
    return quoted(Path(os.path.relpath(path.resolve(), folder.resolve())).as_posix())


def inline(values: Mapping[str, str]) -> str:
    """Write a table of texts on one line."""
    return "{ " + ", ".join(f"{quoted(key)} = {quoted(value)}" for key, value in values.items()) + " }"


def space(wish: Wish, folder: Path | None, names: list[str]) -> tuple[str, str]:
    """Return the line at the top and the section that say where images lie."""
    if wish.vectors:
        return f"vectors = {relative(wish.vectors, folder)}    # used as they are\n", ""
    encoder = wish.encoder or ("" if wish.images else COLUMNS)
    if encoder == COLUMNS:
        listed = ", ".join(quoted(name) for name in names)
        return "", f"[encode]                       # look-alikes are alike in these columns\ncolumns = [{listed}]\n\n"
    if encoder:
        slot, name = _slot(encoder, ("perceptual", "recogniser", "classifier"))
        size = "size = 64                      # pixels that it compares\n" if slot == "perceptual" else ""
        return "", f"[encode]                       # who says where an image lies\n{slot} = {quoted(name)}\n{size}\n"
    return "", _projected(wish.generator or "mobilestylegan")


def _projected(generator: str) -> str:
    if generator == "world":
        return (
            '[project]\ngenerator = "world"            # the built-in toy: it draws the demo\'s faces only\n'
            'perceptual = "pixels"\nlambda = 1e-4                  # weight of the rows\' deviation from their mean\n\n'
        )
    return (
        "[align]                        # into the frame that the generator draws\n\n[project]\n"
        f"generator = {quoted(generator)}   # `likewise slots` lists others\n"
        'perceptual = "lpips-alex"\nlambda = 0.1                   # weight of the rows\' deviation from their mean\n\n'
    )


def raters(wish: Wish, folder: Path | None) -> str:
    """Return the sections that name who is audited; where nobody is, how it would be said."""
    parts = [_rater(*_slot(name)) for name in wish.rater]
    parts += [_answered(wish, folder, kind, entry) for kind in _KINDS for entry in getattr(wish, kind)]
    if wish.editor:
        told = "the same face with only the attribute turned"
        parts.append(f"[counterfactual]               # {told}\neditor = {quoted(wish.editor)}\n")
        parts.append(_JUDGES)
    if wish.people:
        path = relative(wish.people, folder)
        parts.append(
            f'[ask]                          # what people answered\ncrowd = "file"\noptions = {{ path = {path} }}\n'
        )
    return "\n".join(parts)


_JUDGES = """\
[certificate]                  # who looks whether the attribute moved, and nothing else did: networks at hand that
# target = "faceres-gender: female"      # read what is turned and held; or name them. They should have had no part in
# held = ["emotion: happy"]              # the editing, and not be audited. What breaks a rule is in no slope.
# recogniser = "openface"
# judge = false                # nobody looks; the report says so
"""


def _rater(slot: str, name: str) -> str:
    return f"[[rater]]\nslot = {quoted(slot)}\nname = {quoted(name)}\n"


_KINDS = ("scores", "embeddings", "labels")


def _answered(wish: Wish, folder: Path | None, kind: str, entry: str) -> str:
    """Write what a rater answered elsewhere: NAME=FILE, or FILE, whose name it then has."""
    name, sign, rest = entry.partition("=")
    path = Path(rest if sign else entry)
    lines = [f"[[answered]]\nrater = {quoted(name if sign else path.stem)}", f"{kind} = {relative(path, folder)}"]
    if kind == "scores":
        lines.append(_MEASURE if wish.similarity else 'measure = "distance"           # or "similarity"')
    if wish.scale != 1 and (kind == "labels" or (kind == "scores" and wish.similarity)):
        lines.append(f"scale = {wish.scale:g}")
    return "\n".join(lines) + "\n"


def _slot(name: str, slots: tuple[str, ...] = ("recogniser", "classifier")) -> tuple[str, str]:
    """Find the slot of an occupant by its name; SLOT:NAME says it where two have one of that name."""
    said, sign, rest = name.partition(":")
    if sign and said in slots:
        return said, rest
    found = [slot for slot in slots if name in occupants(slot)]
    if len(found) != 1:
        known = sorted({other for slot in slots for other in occupants(slot)})
        fix = f"Say {' or '.join(f'{slot}:{name}' for slot in found)}." if found else nearest(name, known)
        got = f"{len(found)} of that name" if found else "none of that name"
        raise PluginError(f"{name!r} is a {' or '.join(slots)}", got=got, fix=fix or "likewise slots lists them.")
    return found[0], name
