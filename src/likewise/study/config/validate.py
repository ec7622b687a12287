"""The rules of a study plan. All problems of a plan are reported at once."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from likewise.errors import some
from likewise.study.config.images import facts_of
from likewise.study.config.problems import Problems, Where
from likewise.study.config.questions import Question
from likewise.study.config.sections import FORMAT, FORMATS, Controls, Item, StudyPlan
from likewise.study.config.texts import LANGUAGES

_CODE = re.compile(r"[A-Za-z0-9_-]{0,64}")
_LONGEST_KEY = 255  # of a unit; the database has no more room
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_TRAINING_ITEMS = 1000  # positions that one attempt has


def check_study(study: StudyPlan) -> None:
    """Raise ``StudyProblemsError`` with every rule that the plan violates."""
    problems = Problems()
    _check_header(study, problems)
    _check_units(study, problems)
    problems.stop()  # the rules below need units and questions
    _check_quota(study, problems)
    _check_comprehension(study, problems)
    _check_training(study, problems)
    for name in ("gold", "attention"):
        _check_controls(study, name, getattr(study, name), problems)
    _check_arms(study, problems)
    _check_exclusion(study, problems)
    _check_payment(study, problems)
    _check_gap(study, problems)
    _check_keys(study, problems)
    _check_images(study, problems)
    problems.stop()


def _check_header(study: StudyPlan, problems: Problems) -> None:
    need = problems.need
    fix = "Install a newer likewise." if study.format > FORMAT else f"Set format = {FORMAT}."
    need(study.format in FORMATS, f"Study format {study.format} is not supported", "format", fix=fix)
    need(bool(study.title), "The title is empty", "title")
    need(bool(study.consent.text), "The consent text is empty", "consent")
    need(bool(study.instructions.text), "The instructions are empty", "instructions")
    unknown = [language for language in study.languages if language not in LANGUAGES]
    need(not unknown, f"Unknown language {some(unknown)}", "languages", fix=f"Known languages: {some(LANGUAGES)}.")
    need(bool(study.languages), "languages is empty", "languages", fix='Set languages = ["en"].')
    names = [question.name for question in study.questions]
    need(bool(names), "The study has no question", "question")
    twice = [name for name, count in Counter(names).items() if count > 1]
    need(not twice, f"Two questions are named {some(twice)}", "question")
    need(study.hold_minutes > 0, f"hold_minutes is {study.hold_minutes:g}", "hold_minutes", fix="It must be above 0.")
    need(study.seed >= 0, f"seed is {study.seed}", "seed", fix="It must be 0 or more.")


def _check_units(study: StudyPlan, problems: Problems) -> None:
    if not problems.need(bool(study.units), "The table of units has no rows", "units"):
        return
    counts = {len(item.images) for item in study.units}
    same = counts <= {1, 2} and len(counts) == 1
    problems.need(same, "Some units show one image and others two", "units", fix="Use one study for each.")
    answered = [item.key for item in study.units if item.answer]
    fix = "Units have no correct answer. Move them to [gold]."
    problems.need(not answered, f"Units with a correct answer: {some(answered)}", "units", fix=fix)


def _check_quota(study: StudyPlan, problems: Problems) -> None:
    for name in ("raters", "raters_per_unit", "tasks_per_rater"):
        value = getattr(study, name)
        if not problems.need(value >= 1, f"{name} is {value}", name, fix="It must be at least 1."):
            return
    fix = "Each unit needs different raters: increase raters or lower raters_per_unit."
    text = f"raters_per_unit is {study.raters_per_unit}, but only {study.raters} raters are expected"
    problems.need(study.raters_per_unit <= study.raters, text, "raters_per_unit", fix=fix)
    text = f"tasks_per_rater is {study.tasks_per_rater}, but there are only {len(study.units)} units"
    fix = "A rater sees each unit at most once: lower tasks_per_rater."
    problems.need(study.tasks_per_rater <= len(study.units), text, "tasks_per_rater", fix=fix)
    capacity = study.raters * study.tasks_per_rater
    text = (
        f"{study.raters} raters x {study.tasks_per_rater} tasks give {capacity} responses; "
        f"the quotas need {study.responses}"
    )
    fix = f"Set raters to at least {-(-study.responses // study.tasks_per_rater)}."
    problems.need(capacity >= study.responses, text, "raters", fix=fix)


def _check_comprehension(study: StudyPlan, problems: Problems) -> None:
    attempts = study.comprehension.attempts
    text = f"attempts is {attempts}"
    problems.need(attempts >= 1, text, "comprehension", "attempts", fix="It must be at least 1; platforms ask for 2.")
    for k, item in enumerate(study.comprehension.items):
        for question in study.questions_of(item):
            _check_value(question, item, "Comprehension item", ("comprehension", "item", k), problems)


def _check_training(study: StudyPlan, problems: Problems) -> None:
    training, need = study.training, problems.need
    text = f"qualify is {training.qualify:g}"
    need(0 <= training.qualify <= 1, text, "training", "qualify", fix="It is a share, 0 to 1.")
    need(training.tries >= 1, f"tries is {training.tries}", "training", "tries", fix="It must be at least 1.")
    choices = ("misses", "all", "none")
    text = f"Unknown feedback {training.feedback!r}"
    need(training.feedback in choices, text, "training", "feedback", fix=f"Choose one of {some(choices)}.")
    most = len(training.items) < _TRAINING_ITEMS
    need(most, f"[training] has {len(training.items)} items", "training", fix=f"Use fewer than {_TRAINING_ITEMS}.")
    for k, item in enumerate(training.items):
        where: Where = ("training", "item", k)
        _check_answer(study, item, "Training item", where, problems)
        explained = bool(item.explanation) or training.feedback == "none"
        fix = 'Add explanation = "...", or set feedback = "none".'
        need(explained, f"Training item {item.key!r} has no explanation", *where, fix=fix)


def _check_answer(study: StudyPlan, item: Item, noun: str, where: Where, problems: Problems) -> None:
    questions = study.questions_of(item)
    for question in questions:
        _check_value(question, item, noun, where, problems)
    extra = set(item.answer) - {question.name for question in questions}
    problems.need(not extra, f"{noun} {item.key!r} answers an unknown question: {some(sorted(extra))}", *where)
    wanted = len(study.units[0].images)
    text = f"{noun} {item.key!r} shows {len(item.images)} image(s), units show {wanted}"
    problems.need(len(item.images) == wanted, text, *where)


def _check_value(question: Question, item: Item, noun: str, where: Where, problems: Problems) -> None:
    if question.name not in item.answer:
        fix = f"Add answer = {{ {question.name} = ... }}."
        problems.need(False, f"{noun} {item.key!r} has no correct answer to {question.name!r}", *where, fix=fix)
        return
    value = item.answer[question.name]
    fix = f"Options: {some([f'{option:g}' for option in question.values], 10)}."
    text = f"The correct answer of {item.key!r} is {value:g}, which is not an option of {question.name!r}"
    problems.need(value in question.values, text, *where, fix=fix)


def _check_controls(study: StudyPlan, name: str, controls: Controls, problems: Problems) -> None:
    need, number = problems.need, controls.per_rater
    for k, item in enumerate(controls.items):
        where: Where = (name, "item", k)
        _check_answer(study, item, f"Item of [{name}]", where, problems)
        if name == "attention":
            need(item.question is not None, f"Attention item {item.key!r} has no question of its own", *where)
        else:
            fix = "Only attention items have one. Move it to [attention]."
            need(item.question is None, f"Item {item.key!r} of [{name}] has a question of its own", *where, fix=fix)
    text = f"per_rater is {number}, but [{name}] has {len(controls.items)} items"
    fix = "Each rater gets different items: add items or lower per_rater."
    need(0 <= number <= len(controls.items), text, name, "per_rater", fix=fix)
    unused = bool(controls.items) and not number
    need(
        not unused, f"[{name}] has items but per_rater is 0", name, "per_rater", fix="Increase it or remove the items."
    )


def _check_arms(study: StudyPlan, problems: Problems) -> None:
    names = [arm.name for arm in study.arms]
    different = len(set(names)) == len(names) and all(names)
    problems.need(different, f"Arm names are empty or not unique: {some(names)}", "arm")
    problems.need(len(names) != 1, "The study has a single arm", "arm", fix="Add the arm to compare it with.")
    off = any(not arm.attention for arm in study.arms)
    text = "An arm switches attention questions off, but the study has none"
    problems.need(not off or study.attention.per_rater > 0, text, "arm", fix="Add [attention] with its items.")


def _check_exclusion(study: StudyPlan, problems: Problems) -> None:
    rule, need = study.exclusion, problems.need
    for name in ("gold_below", "same_answer_above"):
        value = getattr(rule, name)
        need(0 <= value <= 1, f"{name} is {value:g}", "exclusion", name, fix="It is a share, 0 to 1.")
    for name in ("attention_missed", "median_seconds_below"):
        value = getattr(rule, name)
        need(value >= 0, f"{name} is {value:g}", "exclusion", name, fix="It must be 0 (off) or more.")
    for name, part in (("gold_below", "gold"), ("attention_missed", "attention")):
        used = getattr(rule, name) > 0 and getattr(study, part).per_rater == 0
        text = f"{name} is set, but the study has no {part} items"
        need(not used, text, "exclusion", name, fix=f"Add [{part}], or remove {name}.")


def _check_payment(study: StudyPlan, problems: Problems) -> None:
    for name in ("per_task", "fee", "seconds_per_task", "minimum_wage"):
        value = getattr(study.pay, name)
        problems.need(value >= 0, f"{name} is {value:g}", "pay", name, fix="It must be 0 or more.")
    for name in ("code", "screened_out", "declined"):
        code = getattr(study.completion, name)
        fix = "Use at most 64 letters, digits, - and _."
        problems.need(bool(_CODE.fullmatch(code)), f"Invalid code {code[:80]!r}", "completion", name, fix=fix)
    address = study.completion.redirect
    good = not address or address.startswith("https://")
    text = f"Invalid redirect {address[:80]!r}"
    problems.need(good, text, "completion", "redirect", fix="It must start with https://.")


def _check_gap(study: StudyPlan, problems: Problems) -> None:
    if study.gap is None:
        return
    groups = Counter(item.group for item in study.units)
    for level in (study.gap.focal, study.gap.reference):
        text = f"Group {level!r} has {groups[level]} unit(s) (groups: {some(groups)})"
        fix = "Each group needs at least 2; units.group names their column."
        problems.need(groups[level] >= 2, text, "gap", fix=fix)


def _check_keys(study: StudyPlan, problems: Problems) -> None:
    """Keys are unique, and no image is shown in two parts: a rater would see it twice."""
    parts = {"units": study.units, "training": study.training.items, "gold": study.gold.items,
             "attention": study.attention.items}  # fmt: skip
    home: dict[tuple[str, ...], str] = {}
    for name, items in parts.items():
        _check_unique((item.key for item in items), name, problems)
        for item in items:
            shown = tuple(sorted(item.images))
            if home.get(shown, name) != name or (name == "units" and shown in home):
                text = f"{some(item.images)} occurs in {_section(home[shown])} and in {_section(name)}"
                problems.need(False, text, name, fix="Show each image in one part of the study, once.")
            home[shown] = name


def _section(name: str) -> str:
    return f"[{name}]"


def _check_unique(keys: Iterable[str], name: str, problems: Problems) -> None:
    counts = Counter(keys)
    twice = [key for key, number in counts.items() if number > 1]
    problems.need(not twice, f"Keys that occur more than once: {some(twice)}", name)
    bad = [key[:40] for key in counts if len(key) > _LONGEST_KEY or _CONTROL.search(key) or not key]
    fix = f"Use 1 to {_LONGEST_KEY} characters and no control characters."
    problems.need(not bad, f"Invalid keys: {some(bad)}", name, fix=fix)


def _check_images(study: StudyPlan, problems: Problems) -> None:
    _, found = facts_of(study.images, study.pictures)
    if not found:
        return
    places: dict[str, Where] = {
        name: (part, "item", k)
        for part in ("training", "gold", "attention")
        for k, item in enumerate(getattr(study, part).items)
        for name in item.images
    }
    shown: dict[str, Where] = {name: ("instructions", "pictures") for name, _ in study.instructions.pictures}
    for name, text in found.items():
        problems.need(False, text, *(places.get(name) or shown.get(name) or ("units", name)))
