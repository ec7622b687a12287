"""What a plan must hold so that the study can be run and its answers mean something."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from PIL import Image, UnidentifiedImageError

from likewise.errors import ImageError, StudyError, some
from likewise.images import FORMATS, MOST_PIXELS, inside
from likewise.study.parts import FORMAT, Controls, Item, Parts
from likewise.study.texts import LANGUAGES

_CODE = re.compile(r"[A-Za-z0-9_-]{0,64}")


def check_study(study: Parts) -> None:
    """Raise the first rule that the plan breaks."""
    _check_header(study)
    _check_units(study)
    _check_quota(study)
    _check_training(study)
    for name in ("gold", "attention"):
        _check_controls(study, name, getattr(study, name))
    _check_arms(study)
    _check_exclusion(study)
    _check_money(study)
    _check_gap(study)
    _check_once(study)
    _check_pictures(study)


def _need(good: bool, rule: str, *where: str | int, got: object = "", fix: str = "") -> None:
    if not good:
        raise StudyError(rule, got=str(got), fix=fix, where=where)


def _check_header(study: Parts) -> None:
    _need(
        study.format == FORMAT, f"study.toml is of format {FORMAT}", "format", got=study.format, fix="Update likewise."
    )
    _need(bool(study.title), "a study has a title", "title", got="no words")
    _need(bool(study.consent.text), "people consent to something", "consent", got="an empty text")
    _need(bool(study.instructions.text), "people are told what to do", "instructions", got="an empty text")
    known = bool(study.languages) and all(language in LANGUAGES for language in study.languages)
    _need(known, f"languages are among {some(LANGUAGES)}", "languages", got=some(study.languages))
    names = [question.name for question in study.questions]
    _need(bool(names), "a study asks a question", "question", got="none")
    _need(len(set(names)) == len(names), "questions have different names", "question", got=some(names))
    _need(study.hold_minutes > 0, "hold_minutes is above 0", "hold_minutes", got=study.hold_minutes)
    _need(study.seed >= 0, "seed is 0 or more", "seed", got=study.seed)


def _check_units(study: Parts) -> None:
    _need(bool(study.units), "a study has units", "units", got="an empty table")
    counts = {len(item.images) for item in study.units}
    _need(counts <= {1, 2} and len(counts) == 1, "units show one picture each, or two each", "units", got=counts)
    given = [item.key for item in study.units if item.answer]
    _need(not given, "units have no right answer; gold has", "units", got=some(given), fix="Put them into [gold].")


def _check_quota(study: Parts) -> None:
    for name in ("raters", "raters_per_unit", "tasks_per_rater"):
        _need(getattr(study, name) >= 1, f"{name} is at least 1", name, got=getattr(study, name))
    fix = "Ask more raters, or want fewer answers a unit."
    _need(study.raters_per_unit <= study.raters, "a unit is rated by different raters", "raters_per_unit",
          got=f"{study.raters_per_unit} answers a unit from {study.raters} raters", fix=fix)  # fmt: skip
    enough = study.tasks_per_rater <= len(study.units)
    _need(enough, "nobody sees a unit twice", "tasks_per_rater",
          got=f"{study.tasks_per_rater} tasks each from {len(study.units)} units", fix="Lower it.")  # fmt: skip
    room = study.raters * study.tasks_per_rater
    _need(room >= study.answers, "the raters can fill every unit's quota", "raters",
          got=f"{study.answers} answers wanted, {study.raters} raters x {study.tasks_per_rater} tasks = {room}",
          fix=f"That takes {-(-study.answers // study.tasks_per_rater)} raters.")  # fmt: skip


def _check_training(study: Parts) -> None:
    training = study.training
    _need(0 <= training.qualify <= 1, "qualify is a share, 0 to 1", "training", "qualify", got=training.qualify)
    _need(training.tries >= 1, "tries is at least 1", "training", "tries", got=training.tries)
    feedback = ("misses", "all", "none")
    _need(training.feedback in feedback, f"feedback is one of {some(feedback)}", "training", "feedback",
          got=repr(training.feedback))  # fmt: skip
    for k, item in enumerate(training.items):
        place = ("training", "item", k)
        _need_answer(study, item, "a training item", place)
        explained = bool(item.explanation) or training.feedback == "none"
        fix = 'Say what gives it away, or set feedback = "none".'
        _need(explained, "a training item is explained", *place, got=f"none for {item.key!r}", fix=fix)


def _need_answer(study: Parts, item: Item, noun: str, place: tuple[str | int, ...]) -> None:
    for question in study.asked(item):
        got, fix = f"none for {item.key!r}", f"Add answer = {{ {question.name} = ... }}."
        _need(
            question.name in item.answer, f"{noun} has its right answer to {question.name!r}", *place, got=got, fix=fix
        )
        value, fix = item.answer[question.name], f"One of {some(question.values, 10)}."
        rule = f"the right answer to {question.name!r} is one that can be given"
        _need(value in question.values, rule, *place, got=f"{value:g} for {item.key!r}", fix=fix)
    extra = set(item.answer) - {question.name for question in study.asked(item)}
    _need(not extra, f"{noun} answers what is asked", *place, got=some(extra))
    same = len(item.images) == len(study.units[0].images)
    _need(same, f"{noun} shows as many pictures as a unit", *place, got=f"{len(item.images)} for {item.key!r}")


def _check_controls(study: Parts, name: str, controls: Controls) -> None:
    for k, item in enumerate(controls.items):
        _need_answer(study, item, f"an item of [{name}]", (name, "item", k))
        own = name == "attention"
        _need((item.question is not None) == own, "attention items, and only they, ask their own question",
              name, "item", k, got=item.key)  # fmt: skip
    number = controls.per_rater
    _need(0 <= number <= len(controls.items), f"every rater gets different items of [{name}]", name, "per_rater",
          got=f"{number} for each rater from {len(controls.items)}", fix="Add items or lower per_rater.")  # fmt: skip
    _need(bool(number) or not controls.items, f"items of [{name}] are used", name, "per_rater",
          got="per_rater = 0", fix="Raise it, or remove the items.")  # fmt: skip


def _check_arms(study: Parts) -> None:
    names = [arm.name for arm in study.arms]
    _need(len(set(names)) == len(names) and all(names), "arms have different names", "arm", got=some(names))
    _need(len(names) != 1, "a study has no arm or several", "arm", got="1", fix="Add the arm to compare it with.")
    off = any(not arm.attention for arm in study.arms)
    fix = "Add [attention] with its items."
    _need(not off or study.attention.per_rater > 0, "an arm switches attention questions off that are there", "arm",
          got="a study without attention questions", fix=fix)  # fmt: skip


def _check_exclusion(study: Parts) -> None:
    rule = study.exclusion
    for name in ("gold_below", "same_answer_above"):
        _need(0 <= getattr(rule, name) <= 1, f"{name} is a share, 0 to 1", "exclusion", name, got=getattr(rule, name))
    _need(
        rule.gold_below == 0 or study.gold.per_rater > 0, "gold_below needs gold", "exclusion", "gold_below", got="none"
    )
    watched = rule.attention_missed == 0 or study.attention.per_rater > 0
    _need(watched, "attention_missed needs attention questions", "exclusion", "attention_missed", got="none")
    _need(rule.attention_missed >= 0, "attention_missed is 0 (off) or more", "exclusion", "attention_missed",
          got=rule.attention_missed)  # fmt: skip
    _need(rule.median_seconds_below >= 0, "seconds are 0 or more", "exclusion", "median_seconds_below",
          got=rule.median_seconds_below)  # fmt: skip


def _check_money(study: Parts) -> None:
    for name in ("per_task", "fee", "seconds_per_task", "minimum_wage"):
        _need(getattr(study.pay, name) >= 0, f"{name} is 0 or more", "pay", name, got=getattr(study.pay, name))
    for name in ("code", "screened_out", "declined"):
        code = getattr(study.completion, name)
        _need(bool(_CODE.fullmatch(code)), "a code is letters, digits, - and _", "completion", name, got=repr(code))
    address = study.completion.redirect
    good = not address or address.startswith("https://")
    _need(good, "the redirect is an https address", "completion", "redirect", got=repr(address))


def _check_gap(study: Parts) -> None:
    if study.gap is None:
        return
    groups = Counter(item.group for item in study.units)
    for level in (study.gap.focal, study.gap.reference):
        _need(groups[level] >= 2, f"the group {level!r} has at least 2 units", "gap", got=some(groups),
              fix="units.group names the column with the groups.")  # fmt: skip


def _check_once(study: Parts) -> None:
    """No picture plays two parts: a rater would see it twice."""
    parts = {"units": study.units, "training": study.training.items, "gold": study.gold.items,
             "attention": study.attention.items}  # fmt: skip
    home: dict[tuple[str, ...], str] = {}
    for name, items in parts.items():
        _need_once((item.key for item in items), name)
        for item in items:
            shown = tuple(sorted(item.images))
            clash = home.get(shown, name) != name or (name == "units" and shown in home)
            _need(not clash, "a picture is shown in one part of the study, once", name,
                  got=f"{some(item.images)} in {home.get(shown)} and {name}", fix="Use another picture.")  # fmt: skip
            home[shown] = name


def _need_once(keys: Iterable[str], name: str) -> None:
    twice = [key for key, n in Counter(keys).items() if n > 1]
    _need(not twice, "every item has its own key", name, got=f"more than one {some(twice)}")


def _check_pictures(study: Parts) -> None:
    places = {n: (part, "item", k) for part in ("training", "gold", "attention")
              for k, item in enumerate(getattr(study, part).items) for n in item.images}  # fmt: skip
    shown = {name: ("instructions", "pictures") for name, _ in study.instructions.pictures}
    for name in study.pictures:
        _check_picture(study, name, places.get(name) or shown.get(name) or ("units", name))


def _check_picture(study: Parts, name: str, where: tuple[str | int, ...]) -> None:
    try:
        path = inside(study.images, name)
        _need(path.is_file(), "every image is there", *where, got=f"no {name!r} in {study.images}")
        with Image.open(path, formats=FORMATS) as image:
            small = image.width * image.height <= MOST_PIXELS
            _need(small, f"an image has at most {MOST_PIXELS:,} pixels", *where, got=f"{image.size} in {name!r}")
    except (UnidentifiedImageError, OSError, SyntaxError, ImageError) as error:
        raise StudyError("every file is an image inside the folder", got=f"{name!r}: {error}", where=where) from error
