"""study.toml -> Study, read strictly: an unknown key, a wrong type or a broken rule is an error that names its line."""

from __future__ import annotations

import tomllib
import types
import typing
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import Any

from likewise.errors import LikewiseError, StudyError, nearest, some
from likewise.study.items import Rows, items_of
from likewise.study.lines import line_of, lines_of
from likewise.study.parts import (
    Arm,
    Completion,
    Consent,
    Controls,
    Exclusion,
    Gap,
    Instructions,
    Pay,
    Training,
)
from likewise.study.plan import Study
from likewise.study.questions import KINDS, Question, question_from
from likewise.study.texts import Text

NAME = "study.toml"
PLAIN = ("format", "title", "kind", "seed", "languages", "raters", "raters_per_unit", "tasks_per_rater", "scale",
         "certainty", "comment", "skip", "hold_minutes")  # fmt: skip
SECTIONS: dict[str, tuple[str, ...]] = {
    "units": ("table", "images", "unit", "image", "a", "b", "group"),
    "consent": ("text", "contact"),
    "instructions": ("text", "pictures"),
    "training": ("qualify", "tries", "feedback", "table", "item"),
    "gold": ("per_rater", "table", "item"),
    "attention": ("per_rater", "item"),
    "exclusion": tuple(entry.name for entry in fields(Exclusion)),
    "pay": tuple(entry.name for entry in fields(Pay)),
    "completion": tuple(entry.name for entry in fields(Completion)),
    "gap": tuple(entry.name for entry in fields(Gap)),
}
LISTS = {"question": ("name", "text", "options", "scale"), "arm": tuple(entry.name for entry in fields(Arm))}


def read_study(path: str | Path) -> Study:
    """Read a study from its folder or its study.toml."""
    file = Path(path) / NAME if Path(path).is_dir() else Path(path)
    if not file.is_file():
        raise StudyError(f"{file} is there", got="no such file", fix="See: likewise study init --help")
    try:
        text = file.read_text(encoding="utf-8")
        plain = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise StudyError(f"{file.name} is TOML", got=str(error)) from error
    reader = _Reader(plain, file.parent)
    try:
        return reader.study()
    except StudyError as error:
        raise _placed(error, reader.rows, lines_of(text), file.name) from error


def _placed(error: StudyError, rows: Rows, lines: dict[tuple[str | int, ...], int], name: str) -> StudyError:
    """Say on which line the broken rule is, of the table if the item comes from one."""
    table = rows.line(error.where)
    number = line_of(lines, error.where)
    place = f" ({table})" if table else f" ({name}, line {number})" if number else f" ({name})"
    return StudyError(error.rule + place, got=error.got, fix=error.fix, where=error.where)


@dataclass
class _Reader:
    """Turns plain values into the parts of a study."""

    plain: dict[str, Any]
    folder: Path

    def __post_init__(self) -> None:
        self.rows = Rows()

    def study(self) -> Study:
        """Read all parts."""
        self._refuse_unknown()
        kind = self._kind()
        shipped = KINDS.get(kind)
        questions = self._questions(kind)
        units = items_of(self._section("units"), "units", questions, self.folder, self.rows)
        given: dict[str, Any] = {
            key: self.plain[key] for key in PLAIN if key in self.plain and key not in ("scale", "kind")
        }
        given |= {"kind": kind, "questions": questions, "units": units, "images": self._images()}
        given["title"] = self._text(self.plain.get("title", shipped and shipped.title), "title")
        given["tasks_per_rater"] = self.plain.get("tasks_per_rater", min(len(units), 40) or 1)
        given |= self._words(shipped.instructions if shipped else None)
        given |= self._items(questions)
        for name, cls in (("exclusion", Exclusion), ("pay", Pay), ("completion", Completion), ("gap", Gap)):
            if name in self.plain:
                given[name] = self._made(cls, self._section(name), name)
        arms = self.plain.get("arm", [])
        given["arms"] = tuple(self._made(Arm, arm, "arm", k) for k, arm in enumerate(arms))
        study: Study = self._made(Study, given, "")
        if shipped and len(units[0].images) != shipped.pictures:
            got = f"{len(units[0].images)}"
            raise StudyError(f"a unit of a {kind} study has {shipped.pictures} picture(s)", got=got, where=("units",))
        return study

    def _refuse_unknown(self) -> None:
        known = [*PLAIN, *SECTIONS, *LISTS]
        _refuse(self.plain, known, ())
        for name, keys in SECTIONS.items():
            if not isinstance(self.plain.get(name, {}), Mapping):
                raise StudyError(f"[{name}] is a section", got=repr(self.plain[name]), where=(name,))
            _refuse(self.plain.get(name, {}), keys, (name,))
        for name, keys in LISTS.items():
            entries = self.plain.get(name, [])
            if not isinstance(entries, list) or not all(isinstance(entry, Mapping) for entry in entries):
                raise StudyError(f"[[{name}]] is a list of sections", got=repr(entries), where=(name,))
            for k, entry in enumerate(entries):
                _refuse(entry, keys, (name, k))

    def _kind(self) -> str:
        kind = self.plain.get("kind", "own")
        known = [*KINDS, "own"]
        if kind not in known:
            fix = nearest(str(kind), known) or f"It is one of {some(known)}."
            raise StudyError("kind is a kind of study", got=repr(kind), fix=fix, where=("kind",))
        return str(kind)

    def _questions(self, kind: str) -> tuple[Question, ...]:
        own, scale = self.plain.get("question", []), self.plain.get("scale")
        if (kind == "own") != bool(own):
            fix = 'Set kind = "own", or leave the questions out.' if own else "Add [[question]] or a kind."
            raise StudyError("a study of one's own has [[question]], and only that", got=kind, fix=fix, where=("kind",))
        if kind == "own":
            return tuple(_at(("question", k), question_from, entry) for k, entry in enumerate(own))
        shipped = KINDS[kind]
        if scale is None:
            return (shipped.question,)
        if scale not in shipped.scales:
            raise StudyError(
                f"scale of a {kind} study is one of {some(shipped.scales)}", got=repr(scale), where=("scale",)
            )
        return (shipped.scales[scale],)

    def _section(self, name: str) -> Mapping[str, Any]:
        if name not in self.plain:
            raise StudyError(f"the plan has a section [{name}]", got="none", fix="See: likewise study init --help")
        found: Mapping[str, Any] = self.plain[name]
        return found

    def _images(self) -> Path:
        return self.folder / str(self._section("units").get("images", "."))

    def _words(self, shipped: Text | None) -> dict[str, Any]:
        consent, told = self._section("consent"), self.plain.get("instructions", {})
        pictures = told.get("pictures", [])
        for picture in pictures:
            if not isinstance(picture, Mapping) or set(picture) != {"image", "caption"}:
                where = ("instructions", "pictures")
                raise StudyError("a picture has an image and a caption", got=repr(picture), where=where)
        shown = tuple((str(p["image"]), self._text(p["caption"], "instructions", "pictures")) for p in pictures)
        text = self._text(told.get("text", shipped), "instructions", "text")
        words = self._text(consent.get("text"), "consent", "text")
        contact = str(consent.get("contact", ""))
        return {
            "consent": Consent(text=words, contact=contact),
            "instructions": Instructions(text=text, pictures=shown),
        }

    def _text(self, words: Any, *where: str) -> Text:
        if isinstance(words, str) and "languages" in self.plain:
            languages = self.plain["languages"]
            words = {languages[0] if isinstance(languages, list) and languages else "en": words}
        if not isinstance(words, (str, Mapping, Text)):
            raise StudyError(f"{'.'.join(where)} is text", got=repr(words), where=where)
        text: Text = _at(where, Text.of, words)
        return text

    def _items(self, questions: tuple[Question, ...]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name, cls in (("training", Training), ("gold", Controls), ("attention", Controls)):
            if name in self.plain:
                section = self._section(name)
                items = items_of(section, name, questions, self.folder, self.rows)
                knobs = {key: value for key, value in section.items() if key not in ("table", "item")}
                found[name] = self._made(cls, {**knobs, "items": items}, name)
        return found

    def _made(self, cls: type, given: Mapping[str, Any], *where: str | int) -> Any:
        hints = typing.get_type_hints(cls)
        place = tuple(part for part in where if part != "")
        values = {key: _typed(value, hints[key], (*place, key)) for key, value in given.items()}
        missing = [entry.name for entry in fields(cls) if entry.default is MISSING and entry.default_factory is MISSING
                   and entry.name not in values]  # fmt: skip
        if missing:
            raise StudyError(f"the plan says {some(missing)}", got="no such line", where=place)
        return _at(place, cls, **values)


def _at(where: tuple[str | int, ...], make: Any, *given: Any, **named: Any) -> Any:
    """Make something; an error in it is placed here unless it knows better."""
    try:
        return make(*given, **named)
    except StudyError:
        raise
    except LikewiseError as error:
        raise StudyError(str(error).removesuffix("."), where=where) from error


def _refuse(plain: Mapping[str, Any], known: typing.Iterable[str], where: tuple[str | int, ...]) -> None:
    for key in plain:
        if key not in known:
            fix = nearest(key, known) or f"It knows {some(known, 16)}."
            place = f"[{where[0]}]" if where else "the plan"
            raise StudyError(f"{place} has no key {key!r}", fix=fix, where=(*where, key))


_WORDS = {str: "text", int: "a whole number", float: "a number", bool: "true or false", tuple: "a list"}


def _typed(value: Any, hint: Any, where: tuple[str | int, ...]) -> Any:
    """Return the value as the hint wants it (a list for a tuple, 1 for 1.0), or refuse it."""
    origin = typing.get_origin(hint) or hint
    if origin in (typing.Union, types.UnionType):
        options = [option for option in typing.get_args(hint) if option is not type(None)]
        return None if value is None else _typed(value, options[0], where)
    if origin is tuple and isinstance(value, (list, tuple)):
        return tuple(_typed(entry, typing.get_args(hint)[0], where) for entry in value)
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if origin is float and number:
        return float(value)
    if origin is int and not (number and isinstance(value, int)):
        raise StudyError(f"{where[-1]} is a whole number", got=repr(value), where=where)
    if not isinstance(value, origin):
        raise StudyError(f"{where[-1]} is {_WORDS.get(origin, origin.__name__)}", got=repr(value), where=where)
    return value
