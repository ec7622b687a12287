"""likewise study plan: check a plan, and print its cost, its duration and the gap that it can detect."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from likewise.analysis.power import power
from likewise.cli.study.server import database_of, folder_of
from likewise.errors import SpecError
from likewise.runtime.pixels import decode, inside
from likewise.study.config.images import image_warnings, remember
from likewise.study.config.load import read_study
from likewise.study.config.plan_hash import FROZEN_FILE, current_hash, freeze, image_facts
from likewise.study.config.sections import Arm, Gap
from likewise.study.plan import Study
from likewise.study.store.export import progress, read_collected
from likewise.study.store.schema import open_database

_REPEATS = 200


@dataclass(frozen=True)
class Planned:
    """The outcome, for people and for programs."""

    lines: list[str]
    values: dict[str, Any]


def planned(path: Path, *, database: str, power: bool) -> Planned:
    """Check a plan and every image of it; return cost, duration, power and warnings."""
    study, folder = read_study(path), folder_of(path)
    for name in study.pictures:
        decode(inside(study.images, name))  # a file that is cut off is found here, not by a rater
    warnings = image_warnings(study)
    remember(folder, image_facts(study))
    lines: list[str] = str(study).splitlines()
    values: dict[str, Any] = {"responses": study.responses, "units": len(study.units), "warnings": warnings}
    for part in (_time(study), _cost(study, _measured(study, folder, database))):
        lines += part[0]
        values |= part[1]
    if power and study.gap is not None:
        found = _detectable(study, study.gap)
        lines += found[0]
        values |= found[1]
    frozen = (folder / FROZEN_FILE).is_file()
    digest = freeze(study, folder) if frozen else current_hash(study)
    lines += [f"warning: {text}" for text in warnings]
    lines.append(f"plan {digest[:12]}, {'frozen' if frozen else 'not frozen yet: serving freezes it'}")
    return Planned(lines, {**values, "plan": digest, "frozen": frozen})


def _tasks(study: Study) -> int:
    return study.tasks_per_rater + study.gold.per_rater + study.attention.per_rater


def _time(study: Study) -> tuple[list[str], dict[str, Any]]:
    tasks, practice = _tasks(study), len(study.training.items)
    minutes = (tasks + practice) * study.seconds / 60
    needed = -(-study.responses // study.tasks_per_rater)
    hours = needed * minutes / 60
    line = (
        f"time: {tasks} tasks and {practice} practice items, about {minutes:.0f} minutes per rater "
        f"at {study.seconds:g} s per task; at least {needed} raters, {hours:.1f} hours of rater time"
    )
    return [line], {"minutes_per_rater": minutes, "raters_needed": needed, "hours": hours}


def _measured(study: Study, folder: Path, database: str) -> float:
    """Return the median seconds of the responses so far, 0 when there are none."""
    if not database and not (folder / "study.sqlite").is_file():
        return 0.0
    engine = open_database(database_of(folder, database))
    seconds = float(progress(read_collected(engine, study))["seconds"])
    engine.dispose()
    return seconds


def _cost(study: Study, measured: float) -> tuple[list[str], dict[str, Any]]:
    if not study.pay.per_task and not any(arm.pay for arm in study.arms):
        return ["cost: no payment"], {"cost": 0.0}
    lines, values, currency = [], {}, study.pay.currency
    arms = study.arms or (Arm(name="all"),)
    rates = {arm.name: study.pay.per_task if arm.pay is None else arm.pay for arm in arms}
    needed = -(-study.responses // study.tasks_per_rater)
    controls = _tasks(study) - study.tasks_per_rater
    paid = study.responses + needed * controls
    total = paid * sum(rates.values()) / len(rates) * (1 + study.pay.fee)
    lines.append(f"cost: {total:,.2f} {currency} for {paid} paid tasks, fee of {study.pay.fee:.0%} included")
    for name, rate in rates.items():
        wage = rate * 3600 / study.seconds
        words = f"wage: {wage:.2f} {currency} per hour at {study.seconds:g} s per task" + (
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
    """Find the smallest gap, in steps of a hundredth, that the crossed design detects with the wanted power."""
    counts = Counter(unit.group for unit in study.units)
    images = min(counts[gap.focal], counts[gap.reference])
    raters = min(study.raters, max(study.raters_per_unit, -(-study.responses // study.tasks_per_rater)))
    room = 1 - gap.rate - gap.image_reach - gap.rater_reach
    low, high, chance = 0, int(room * 100), 0.0
    if high < 1:
        fix = "Lower rate, image_reach or rater_reach in [gap]."
        raise SpecError(f"rate {gap.rate:g} leaves no room for a gap below 1", fix=fix)
    while high - low > 1:
        middle = (low + high) // 2
        found = _power(study, gap, images, raters, middle / 100)
        if found >= gap.power:
            high, chance = middle, found
        else:
            low = middle
    chance = chance or _power(study, gap, images, raters, high / 100)
    head = f"power: {images} units per group, {raters} raters, {study.raters_per_unit} responses per unit"
    if chance < gap.power:
        line = f"{head}: a gap of {high / 100:.2f} at rate {gap.rate:g} is detected with a power of only {chance:.0%}"
        return [line], {"detectable_gap": None, "power": chance}
    line = (
        f"{head}: a gap of {high / 100:.2f} at rate {gap.rate:g} is detected with a power of {chance:.0%} "
        f"({_REPEATS} simulations)"
    )
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
