"""study.toml -> Study. The strict reader reports every problem with its line, or with the row of its table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from likewise.errors import LikewiseError, StudyError, nearest, some
from likewise.runtime.config import read_toml, validate
from likewise.study.config.images import recall
from likewise.study.config.items import TableRows, items_from_plan, items_from_table
from likewise.study.config.problems import StudyProblemsError, Where, fail, placed
from likewise.study.config.questions import KINDS, Kind, Option, Question
from likewise.study.config.sections import Comprehension, Consent, Controls, Instructions, Item, Training
from likewise.study.config.texts import LANGUAGES, Text
from likewise.study.config.written import OptionEntry, Words, WrittenStudy
from likewise.study.plan import Study

NAME = "study.toml"
_MOST_TASKS = 40  # per rater, when the plan does not say
_SAME = ("kind", "seed", "languages", "raters", "raters_per_unit", "certainty", "comment", "skip", "hold_minutes",
         "exclusion", "pay", "completion", "gap", "format")  # fmt: skip
T = TypeVar("T")


def read_study(path: str | Path) -> Study:
    """Read a study from its folder or its study.toml.

    Parameters
    ----------
    path
        The folder of the study, or the file itself.

    Returns
    -------
    Study
        The plan, checked: it can be served.

    Raises
    ------
    StudyError
        With every problem of the file, each with its line.
    """
    file = Path(path) / NAME if Path(path).is_dir() else Path(path)
    if not file.is_file():
        fix = f"Create one with: likewise study init {path}"
        raise StudyError(f"No study in {str(path)!r}: {file.name} is missing", fix=fix)
    source = read_toml(file, error=StudyError)
    written = validate(WrittenStudy, source, error=StudyError)
    reader = _Reader(written, file.parent)
    recall(file.parent, file.parent / written.units.images)
    try:
        return reader.study()
    except StudyProblemsError as found:

        def place(where: Where) -> str:
            return reader.rows.line(where) or source.place(where)

        raise StudyProblemsError(found.problems, place) from found


@dataclass
class _Reader:
    """Turns the written plan into a Study."""

    written: WrittenStudy
    folder: Path
    rows: TableRows = field(default_factory=TableRows)

    def study(self) -> Study:
        """Build every section."""
        written = self.written
        shipped = KINDS.get(written.kind)
        questions = self._questions(shipped)
        units = items_from_table(self.folder, "units", written.units, questions, self.rows)
        title = written.title if written.title is not None else shipped.title if shipped else None
        if title is None:
            raise fail("Missing key 'title'", fix='Add title = "...".')
        study = Study(
            title=self._text(title, "title"),
            questions=questions,
            units=units,
            images=self.folder / written.units.images,
            consent=Consent(text=self._text(written.consent.text, "consent", "text"), contact=written.consent.contact),
            instructions=self._instructions(shipped),
            tasks_per_rater=written.tasks_per_rater or min(len(units), _MOST_TASKS) or 1,
            comprehension=self._comprehension(),
            training=self._training(questions),
            gold=Controls(items=self._items("gold", questions), per_rater=written.gold.per_rater),
            attention=Controls(items=self._items("attention", questions), per_rater=written.attention.per_rater),
            arms=written.arm,
            **{name: getattr(written, name) for name in _SAME},
        )
        if shipped and len(units[0].images) != shipped.pictures:
            text = f"Units of a {written.kind} study show {shipped.pictures} image(s), not {len(units[0].images)}"
            raise fail(text, "units")
        return study

    def _text(self, words: Words | Text, *where: str | int) -> Text:
        language = next((code for code in self.written.languages if code in LANGUAGES), "en")
        return _at(where, lambda: Text.of(words, language))

    def _questions(self, shipped: Kind | None) -> tuple[Question, ...]:
        written = self.written
        if shipped is None and not written.question:
            raise fail("The study has no question", "kind", fix="Add [[question]], or choose a shipped kind.")
        if shipped is None:
            return tuple(
                self._question(entry.name, entry.text, entry.options, entry.scale, "question", k)
                for k, entry in enumerate(written.question)
            )
        if written.question:
            fix = 'Set kind = "own", or remove [[question]].'
            raise fail(f"A study of kind {written.kind!r} has its own question", "kind", fix=fix)
        if written.scale is None:
            return (shipped.question,)
        if written.scale not in shipped.scales:
            fix = nearest(written.scale, shipped.scales) or f"Scales of this kind: {some(shipped.scales) or 'none'}."
            raise fail(f"Unknown scale {written.scale!r} for kind {written.kind!r}", "scale", fix=fix)
        return (shipped.scales[written.scale],)

    def _question(
        self, name: str, text: Words, options: tuple[OptionEntry, ...], scale: str, *where: str | int
    ) -> Question:
        made = tuple(Option(option.value, self._text(option.label, *where)) for option in options)
        return _at(where, lambda: Question(name, self._text(text, *where), made, scale))

    def _instructions(self, shipped: Kind | None) -> Instructions:
        section = self.written.instructions
        text = section.text if section.text is not None else shipped.instructions if shipped else ""
        pictures = tuple(
            (picture.image, self._text(picture.caption, "instructions", "pictures", k))
            for k, picture in enumerate(section.pictures)
        )
        return Instructions(text=self._text(text, "instructions", "text"), pictures=pictures)

    def _training(self, questions: tuple[Question, ...]) -> Training:
        section = self.written.training
        items = self._items("training", questions)
        tries = section.tries if section.tries is not None else 1 if self.written.format == 1 else 2
        return Training(items=items, qualify=section.qualify, tries=tries, feedback=section.feedback)

    def _comprehension(self) -> Comprehension:
        section, items = self.written.comprehension, []
        for k, entry in enumerate(section.item):
            name = f"comprehension-{k + 1}"
            question = self._question(name, entry.question, entry.options, "nominal", "comprehension", "item", k)
            items.append(Item(key=name, images=(), answer={name: entry.answer}, question=question))
        return Comprehension(items=tuple(items), attempts=section.attempts)

    def _items(self, part: str, questions: tuple[Question, ...]) -> tuple[Item, ...]:
        section = getattr(self.written, part)
        if getattr(section, "table", ""):
            if section.item:
                raise fail(f"[{part}] has a table and items", part, "item", fix="Keep one of them.")
            return items_from_table(self.folder, part, section, questions, self.rows)
        return items_from_plan(part, section.item, questions, self._text, self._question)


def _at(where: Where, make: Callable[[], T]) -> T:
    """Make something; an error of another package becomes a problem at this place."""
    try:
        return make()
    except StudyProblemsError:
        raise
    except LikewiseError as error:
        raise placed(where, error) from error
