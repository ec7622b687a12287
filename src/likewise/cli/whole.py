"""What a plan must be as a whole: one space, no stage that looks at pictures where there are none, no rater twice."""

from __future__ import annotations

from typing import Any

from likewise.errors import PlanError, some


def check_space(plan: Any) -> None:
    """One thing says where images lie, and what belongs to another is not there."""
    if plan.encode is not None and plan.vectors:
        raise PlanError("vectors or [encode], not both", got="both", fix="Leave one out.")
    for name in ("align", "fidelity"):
        if getattr(plan, name) is not None and (plan.vectors or plan.encode):
            got = "vectors" if plan.vectors else "[encode]"
            raise PlanError(f"[{name}] has an effect only where images are projected", got=got, fix="Leave one out.")


def measured_elsewhere(plan: Any) -> bool:
    """Say whether the matching goes by numbers that the plan gives, so that no space is needed."""
    return plan.given is not None


def check_pixels(plan: Any) -> None:
    """Without images nothing may look at them."""
    if plan.faces.images:
        return
    looking = [what for what, there in _looking(plan).items() if there]
    if looking:
        fix = "Name the folder: images in [faces]; or leave these out. Answers from files need no images: [[answered]]."
        raise PlanError("without images no stage looks at pictures", got=some(looking, 9), fix=fix)


def _looking(plan: Any) -> dict[str, bool]:
    hard, spaced = plan.difficulty, bool(plan.vectors or plan.encode or measured_elsewhere(plan))
    return {
        "[describe]": plan.describe is not None,
        "[align]": plan.align is not None,
        "[fidelity]": plan.fidelity is not None,
        "[project] (name vectors, [encode] columns or [given] instead)": not spaced,
        "[encode]": bool(plan.encode and plan.encode.slot),
        "[[within]] recogniser": any(entry.recogniser for entry in plan.within),
        "[difficulty]": bool(hard and (hard.recogniser or hard.perceptual)),
        "[[rater]]": bool(plan.rater),
        "[counterfactual]": plan.counterfactual is not None,
        "[ask] of simulated people": bool(plan.ask and plan.ask.crowd != "file"),
    }


def check_raters(plan: Any) -> None:
    """Every rater who answered elsewhere has a name of its own, and a sweep has somebody to look at it."""
    names = [entry.rater for entry in plan.answered]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise PlanError("every [[answered]] has a rater of its own", got=some(twice))
    compared = any(rater.slot == "classifier" for rater in plan.rater) and plan.counterfactual is None
    if plan.analyse.labels and not compared and not any(entry.labels for entry in plan.answered):
        raise PlanError("labels in [analyse] are a classifier's, on images as they are", got="no such classifier")
