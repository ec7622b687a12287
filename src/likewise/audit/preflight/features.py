"""Whether the vectors of a plan will have the features that [units] asks for."""

from __future__ import annotations

from pathlib import Path

from likewise.audit.described import described_columns
from likewise.audit.matching import left_out_direction
from likewise.audit.plan.model import Plan
from likewise.audit.preflight.problem import Check
from likewise.errors import LikewiseError, PlanError
from likewise.rating.encode import columns_as_vectors
from likewise.runtime.registry import Generator, create
from likewise.tables import Images, Vectors


def check_features(found: Check, root: Path, plan: Plan, images: Images) -> None:
    """Add a problem where the directions or the principal components of ``[units]`` do not exist."""
    try:
        if plan.units.features == "scores":
            left_out_direction(plan)
        elif plan.units.features == "components":
            _check_components(plan, len(images), _width(root, plan, images))
        if plan.units.described:
            described_columns(plan)
    except LikewiseError as error:
        found.add(error)


def _check_components(plan: Plan, count: int, width: int | None) -> None:
    most = min(count, width or count)
    if plan.units.components > most:
        problem = f"[units] has components = {plan.units.components}, but {count} vectors of {width} numbers"
        raise PlanError(f"{problem} have {most}", fix=f"Set components to {most} or less.")


def _width(root: Path, plan: Plan, images: Images) -> int | None:
    """Return the numbers of a vector; None where it takes a network to know."""
    if plan.vectors:
        path = root / plan.vectors
        return int(Vectors.read(path).values.shape[-1]) if path.exists() else None
    if plan.encode is None:
        generator: Generator = create("generator", plan.project.generator, plan.project.options)
        return generator.dim
    known = all(name in images.attributes for name in plan.encode.columns)
    if plan.encode.columns and known:
        return int(columns_as_vectors(images, list(plan.encode.columns)).values.shape[1])
    return None
