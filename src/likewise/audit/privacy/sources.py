"""Erasing a person from the files that a plan names: rows of tables, vectors, answers and images."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd

from likewise.audit.plan.model import Plan
from likewise.data.keys import without_ending
from likewise.errors import SpecError, TableError
from likewise.runtime.pixels import find
from likewise.tables import Images, Vectors
from likewise.tables.io import parse_json, read_frame, replacing, write_frame, write_text


@dataclass(frozen=True)
class Person:
    """Someone in the table: the identity and the keys of the images."""

    identity: str
    images: tuple[str, ...]

    @cached_property
    def names(self) -> set[str]:
        """Every name of an image in a file made elsewhere: with and without its ending."""
        return {*self.images, *map(without_ending, self.images)}

    def has(self, name: object) -> bool:
        """Whether a name in a file is an image of this person, or a unit with one (``a|b``, ``a@+1``)."""
        ends = str(name).split("|")
        bare = [end.split("~")[0].split("@")[0] for end in ends]
        return any(end in self.names or without_ending(end) in self.names for end in bare)


@dataclass(frozen=True)
class Source:
    """A file that names the person, how often, and what erases them from it."""

    path: Path
    count: int
    erase: Callable[[], object]


def sources_of(root: Path, plan: Plan, person: Person) -> list[Source]:
    """Return every file of the plan that has something about the person."""
    found = [*_images(root, plan, person)]
    if plan.data.table:
        found.append(_table(root / plan.data.table, person, (plan.data.image, plan.data.identity)))
    for entry in plan.precomputed:
        path = root / entry.path
        found.append(_vectors(path, person) if entry.embeddings else _answers(path, person))
    vectors = [plan.vectors, *(entry.vectors for entry in plan.secondary_distance)]
    found += [_vectors(root / path, person) for path in vectors if path]
    if plan.collect and plan.collect.crowd == "file" and plan.collect.options.get("path"):
        found.append(_answers(root / str(plan.collect.options["path"]), person))
    found += _ready_edits(root, plan, person)
    return [source for source in found if source.count]


def _ready_edits(root: Path, plan: Plan, person: Person) -> list[Source]:
    """Return the manifest of a ready set of edits, and the edits of the person's images, inside its folder only."""
    sweep = plan.counterfactual
    if sweep is None or sweep.editor != "import":
        return []
    manifest, pictures = root / str(sweep.options["path"]), (root / str(sweep.options["images"])).resolve()
    if not manifest.is_file():
        return []
    frame, _ = read_frame(manifest, text=("parent", "file"))
    files = [(pictures / name).resolve() for name in frame.loc[frame["parent"].map(person.has), "file"]]
    inside = [path for path in files if path.is_relative_to(pictures) and path.is_file()]
    return [_answers(manifest, person), *(Source(path, 1, path.unlink) for path in inside)]


def _images(root: Path, plan: Plan, person: Person) -> list[Source]:
    if not plan.data.images:
        return []
    folder = (root / plan.data.images).resolve()
    paths = [path for key in person.images if (path := find(folder, key)) is not None]
    return [Source(path, 1, path.unlink) for path in paths]


def _table(path: Path, person: Person, columns: tuple[str, str]) -> Source:
    if path.is_dir():
        fix = "Remove the person from its files by hand, then run the audit again."
        raise SpecError(f"{path} is a data set of several files, which forget does not rewrite", fix=fix)
    image, identity = columns
    return _rows(path, lambda frame: frame[identity].astype("str").eq(person.identity)
                 if identity in frame.columns else frame[image].map(person.has))  # fmt: skip


def _answers(path: Path, person: Person) -> Source:
    """Score files, labels and responses: rows with an image of the person in any column."""
    if path.suffix.lower() in (".jsonl", ".ndjson", ".json"):
        return _lines(path, person)
    return _rows(path, lambda frame: frame.apply(lambda column: column.map(person.has)).any(axis=1))


def _rows(path: Path, which: Callable[[pd.DataFrame], pd.Series]) -> Source:
    if not path.is_file():
        return Source(path, 0, lambda: None)
    names = tuple(map(str, read_frame(path)[0].columns))
    frame, meta = read_frame(path, text=names)
    gone = which(frame).fillna(False).astype(bool)
    kept = frame[~gone]

    def erase() -> None:
        if path.suffix.lower() == ".parquet":
            write_frame(path, kept, {key: value for key, value in meta.items() if key != "table_format"})
            return
        with replacing(path) as temporary:
            kept.to_csv(temporary, index=False, lineterminator="\n", sep="\t" if path.suffix == ".tsv" else ",")

    return Source(path, int(gone.sum()), erase)


def _lines(path: Path, person: Person) -> Source:
    if not path.is_file():
        return Source(path, 0, lambda: None)
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
        kept = [line for line in lines if not (line.strip() and _about(parse_json(line), person))]
    except ValueError as error:
        fix = "Repair the file: what cannot be read cannot be erased."
        raise TableError(f"Cannot read {path.name}: {str(error)[:200]}", fix=fix) from error
    return Source(path, len(lines) - len(kept), lambda: write_text(path, "".join(f"{line}\n" for line in kept)))


def _about(entry: object, person: Person) -> bool:
    values = entry.values() if isinstance(entry, dict) else [entry]
    return any(isinstance(value, str) and person.has(value) for value in values)


def _vectors(path: Path, person: Person) -> Source:
    if not path.exists():
        return Source(path, 0, lambda: None)
    held = Vectors.read(path)
    keep = np.array([not person.has(key) for key in held.keys])

    if not keep.all() and path.suffix.lower() not in (".npz", ""):
        fix = "Store the vectors as .npz, or remove the person by hand."
        raise SpecError(f"Cannot rewrite {path.name}", fix=fix)

    def erase() -> None:
        keys = [key for key, kept in zip(held.keys, keep, strict=True) if kept]
        Vectors(keys, held.values[keep], source=held.source).write(path)

    return Source(path, int((~keep).sum()), erase)


def mentions(root: Path, names: Collection[str]) -> list[Path]:
    """Return the files below a folder that contain one of these names: text as it is, tables and vectors decoded."""
    return [path for path in sorted(root.rglob("*")) if path.is_file() and _mentions(path, names)]


def _mentions(path: Path, names: Collection[str]) -> bool:
    if any(name in path.name for name in names):
        return True
    suffix = path.suffix.lower()
    if suffix == ".parquet":
        frame = pd.read_parquet(path)
        text = frame.select_dtypes(include=["object", "str", "category"])
        return any(name in str(cell) for column in text for cell in frame[column].dropna() for name in names)
    content = path.read_bytes()
    if suffix in (".npz", ".npy"):
        return any(name.encode(form) in content for name in names for form in ("utf-8", "utf-32-le", "utf-16-le"))
    return any(name.encode() in content for name in names)


def remove(path: Path) -> None:
    """Remove a file or a folder."""
    shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)


def person_of(table: Images, identity: str) -> Person:
    """Return a person of the table; nobody of that identity is an error."""
    keys = tuple(table.frame.loc[table.frame["identity"] == identity, "image"])
    return Person(identity, keys)
