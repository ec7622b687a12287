"""likewise study plan: check a plan, and say what it costs, how long it takes and what it can find."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from likewise.analyse.power import power
from likewise.cli.study_server import database_of, folder_of
from likewise.errors import SpecError
from likewise.images import decode, inside
from likewise.study.export import progress
from likewise.study.frozen import FROZEN_FILE, freeze, picture_digests, plan_hash
from likewise.study.parts import Arm, Gap
from likewise.study.plan import Study
from likewise.study.reading import read_study
from likewise.study.schema import open_database

_REPEATS = 200


@dataclass(frozen=True)
class Planned:
    """What the plan amounts to, for people and for programs."""

    lines: list[str]
    values: dict[str, Any]


def planned(path: Path, *, database: str, power: bool) -> Planned:
    """Check a plan and every picture in it, and work out what it amounts to."""
    study, folder = read_study(path), folder_of(path)
    for name in study.pictures:
        decode(inside(study.images, name))
    lines, values = str(study).splitlines(), {"answers": study.answers, "units": len(study.units)}
    for part in (_time(study), _cost(study, _measured(study, folder, database))):
        lines += part[0]
        values |= part[1]
    if power and study.gap is not None:
        found = _detectable(study, study.gap)
        lines += found[0]
        values |= found[1]
    frozen = (folder / FROZEN_FILE).is_file()
    digests = {name: entry["sha256"] for name, entry in picture_digests(study).items()}
    digest = freeze(study, folder) if frozen else plan_hash(study, digests)
    lines.append(f"plan {digest[:12]}, {'frozen' if frozen else 'not frozen: serving it will freeze it'}")
    return Planned(lines, {**values, "plan": digest, "frozen": frozen})


def _tasks(study: Study) -> int:
    return study.tasks_per_rater + study.gold.per_rater + study.attention.per_rater


def _time(study: Study) -> tuple[list[str], dict[str, Any]]:
    tasks, practice = _tasks(study), len(study.training.items)
    minutes = (tasks + practice) * study.seconds / 60
    needed = -(-study.answers // study.tasks_per_rater)
    hours = needed * minutes / 60
    line = (
        f"time: {tasks} tasks and {practice} of practice, about {minutes:.0f} minutes a rater "
        f"at {study.seconds:g} s a task; "
        f"{needed} raters at least, {hours:.1f} hours of people's time"
    )
    return [line], {"minutes_per_rater": minutes, "raters_needed": needed, "hours": hours}


def _measured(study: Study, folder: Path, database: str) -> float:
    """Return the median seconds of the answers so far, 0 when there are none."""
    if not database and not (folder / "study.sqlite").is_file():
        return 0.0
    engine = open_database(database_of(folder, database))
    with engine.connect() as connection:
        seconds = float(progress(connection, study)["seconds"])
    engine.dispose()
    return seconds


def _cost(study: Study, measured: float) -> tuple[list[str], dict[str, Any]]:
    if not study.pay.per_task and not any(arm.pay for arm in study.arms):
        return ["cost: nothing is paid"], {"cost": 0.0}
    lines, values, currency = [], {}, study.pay.currency
    arms = study.arms or (Arm(name="all"),)
    rates = {arm.name: study.pay.per_task if arm.pay is None else arm.pay for arm in arms}
    needed = -(-study.answers // study.tasks_per_rater)
    controls = _tasks(study) - study.tasks_per_rater
    paid = study.answers + needed * controls
    total = paid * sum(rates.values()) / len(rates) * (1 + study.pay.fee)
    lines.append(f"cost: {total:,.2f} {currency} for {paid} paid tasks, fee of {study.pay.fee:.0%} included")
    for name, rate in rates.items():
        wage = rate * 3600 / study.seconds
        words = f"wage: {wage:.2f} {currency} an hour at {study.seconds:g} s a task" + (
            f" ({name})" if study.arms else ""
        )
        if measured:
            words += f"; {rate * 3600 / measured:.2f} at the measured {measured:.1f} s"
        if wage < study.pay.minimum_wage:
            words += f"; BELOW the minimum of {study.pay.minimum_wage:.2f}"
        lines.append(words)
        values[f"wage{': ' + name if study.arms else ''}"] = wage
    return lines, {"cost": total, "currency": currency, **values}


def _detectable(study: Study, gap: Gap) -> tuple[list[str], dict[str, Any]]:
    """Find the smallest gap, in steps of a hundredth, that the crossed design finds with the wanted power."""
    counts = Counter(unit.group for unit in study.units)
    images = min(counts[gap.focal], counts[gap.reference])
    raters = min(study.raters, max(study.raters_per_unit, -(-study.answers // study.tasks_per_rater)))
    room = 1 - gap.rate - gap.image_reach - gap.rater_reach
    low, high, chance = 0, int(room * 100), 0.0
    if high < 1:
        raise SpecError("rate leaves room for a gap", got=f"{gap.rate:g}", fix="Lower rate or the reaches in [gap].")
    while high - low > 1:
        middle = (low + high) // 2
        found = _power(study, gap, images, raters, middle / 100)
        if found >= gap.power:
            high, chance = middle, found
        else:
            low = middle
    chance = chance or _power(study, gap, images, raters, high / 100)
    head = f"power: {images} units a group, {raters} raters, {study.raters_per_unit} answers a unit"
    if chance < gap.power:
        line = (
            f"{head}: not even a gap of {high / 100:.2f} at {gap.rate:g} is found with {gap.power:.0%} ({chance:.0%})"
        )
        return [line], {"detectable_gap": None, "power": chance}
    line = f"{head}: a gap of {high / 100:.2f} at {gap.rate:g} is found with {chance:.0%} (simulated {_REPEATS} times)"
    return [line], {"detectable_gap": high / 100, "power": chance}


def _power(study: Study, gap: Gap, images: int, raters: int, size: float) -> float:
    found = power(
        images=images,
        raters=raters,
        each=study.raters_per_unit,
        rate=gap.rate,
        gap=size,
        image_reach=gap.image_reach,
        rater_reach=gap.rater_reach,
        repeats=_REPEATS,
        seed=study.seed,
    )
    return float(found.frame["estimate"].iloc[0])
