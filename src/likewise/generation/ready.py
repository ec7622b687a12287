"""Images that are there already: a folder by prompt and seed, or a table that says what each file is."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from likewise.errors import ImageError, SpecError, TableError, some
from likewise.generation.prompts import Prompt, PromptFile, slug
from likewise.runtime.pixels import SUFFIXES, inside
from likewise.tables import Images
from likewise.tables.checks import need_columns
from likewise.tables.io import read_frame

_NUMBER = re.compile(r"^\d{2,4}-")
_SEED = re.compile(r"(\d+)$")


@dataclass(frozen=True, kw_only=True)
class ReadyImages:
    """A folder of drawn images, and optionally a table of them.

    Without a table the folder has a folder for each prompt, with a file for each seed (``a-doctor/00001.png``), or a
    folder for each term, with a folder for each of its prompts.
    """

    folder: Path | None = None
    table: Path | None = None
    image: str = "image"
    prompt: str = "prompt"
    term: str = ""
    seed: str = ""
    """Of a table: the columns of the file, the prompt, the term and the seed; empty: ``term`` and ``seed`` if there."""

    def __post_init__(self) -> None:
        if self.folder is None and self.table is None:
            raise SpecError("There is neither a folder nor a table of images", fix="Give one of them.")
        if self.folder is not None and not self.folder.is_dir():
            raise ImageError(f"There is no folder {self.folder}", fix="Give the folder of the drawn images.")

    def read(self, prompts: PromptFile | None = None) -> Images:
        """Return the table of images; keys are paths below the folder. The identity of an image is its prompt."""
        frame = self._from_table() if self.table is not None else self._from_folder(prompts)
        twice = frame.loc[frame["image"].duplicated(), "image"]
        if len(twice):
            raise TableError(f"Images occur twice: {some(twice)}", fix="Give each image one row.")
        codes = pd.factorize(frame["prompt"])[0]
        frame.insert(1, "identity", [f"{code:03d}" for code in codes])
        return Images(frame)

    def _from_table(self) -> pd.DataFrame:
        assert self.table is not None
        named = [name for name in (self.image, self.prompt, self.term, self.seed) if name]
        frame, _ = read_frame(self.table, text=(self.image, self.prompt, self.term or "term", "pair", "variant"))
        columns = [str(name) for name in frame.columns]
        if self.folder is None and self.image == "image" and "image" not in columns:
            frame["image"] = [f"{row:06d}" for row in range(len(frame))]  # a table of attributes alone
        need_columns(frame, named, self.table.name)
        found = frame.rename(columns={self.image: "image", self.prompt: "prompt"})
        for own, name in ((self.term, "term"), (self.seed, "seed")):
            if own and own != name:
                found[name] = frame[own]
        if "term" not in found.columns:
            found["term"] = found["prompt"]
        found = found.drop(columns=[name for name in ("identity", "parent", "level") if name in found.columns])
        _no_gaps(found, self.table.name)
        if self.folder is not None:
            self._check_files(found["image"].tolist())
        return found.reset_index(drop=True)

    def _check_files(self, names: list[str]) -> None:
        assert self.folder is not None
        missing = [name for name in names if not inside(self.folder, name).is_file()]
        if missing:
            raise ImageError(
                f"{len(missing)} images of the table are not in {self.folder}: {some(missing)}",
                fix="Check the folder and the names, or remove their rows.",
            )

    def _from_folder(self, prompts: PromptFile | None) -> pd.DataFrame:
        assert self.folder is not None
        rows = []
        for path in sorted(self.folder.rglob("*")):
            name = path.relative_to(self.folder)
            if path.suffix.lower() in SUFFIXES[1:] and path.is_file() and not name.name.startswith("."):
                rows.append(_placed(name, self.folder))
        if not rows:
            raise ImageError(
                f"No images in {self.folder}", fix="It needs a folder for each prompt, with a file for each seed."
            )
        frame = pd.DataFrame(rows)
        if frame["seed"].isna().any() or frame.duplicated(["folder", "seed"]).any():
            frame = frame.drop(columns="seed")  # names that are no numbers: seeds are unknown
        found = {folder: _prompt(folder, prompts) for folder in frame["folder"].unique()}
        own = frame["folder"].map(found)
        frame["prompt"], frame["term"] = own.map(lambda each: each.text), own.map(lambda each: each.about)
        frame["pair"], frame["variant"] = (own.map(lambda e, n=n: getattr(e, n) or None) for n in ("pair", "variant"))
        return frame.drop(columns="folder").dropna(axis=1, how="all")


def _placed(name: Path, root: Path) -> dict[str, object]:
    if len(name.parts) not in (2, 3):
        raise ImageError(
            f"{name.as_posix()!r} in {root} is not in a folder of its prompt",
            fix="Use PROMPT/SEED.png or TERM/PROMPT/SEED.png, or give a table with --table.",
        )
    number = _SEED.search(name.stem)
    return {"image": name.as_posix(), "folder": name.parent.as_posix(), "seed": int(number[1]) if number else None}


def _prompt(folder: str, prompts: PromptFile | None) -> Prompt:
    """Return the prompt of a folder: the one of the file with that name, else the name itself."""
    term, _, last = folder.rpartition("/")
    bare = _NUMBER.sub("", last)
    if prompts is None:
        text = bare.replace("_", " ").replace("-", " ").strip() or last
        return Prompt(text=text, term=term.replace("_", " ").replace("-", " "))
    known = {key: each for each in prompts.prompt for key in (each.text, slug(each.text), each.about, slug(each.about))}
    found = known.get(last) or known.get(bare) or known.get(slug(bare))
    if found is None:
        raise ImageError(
            f"Folder {folder!r} belongs to no prompt of the file",
            fix="Name folders like prompts (letters and digits, joined by -), or leave the prompt file out.",
        )
    return found


def _no_gaps(frame: pd.DataFrame, name: str) -> None:
    for column in ("image", "prompt", "term"):
        empty = int(frame[column].isna().sum())
        if empty:
            raise TableError(f"{name} has {empty} rows without a value of {column!r}", fix="Fill or remove them.")
