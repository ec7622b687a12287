"""What a component of a stage needs: weights and packages, also those of its detector and its parts."""

from __future__ import annotations

from likewise.audit.plan.model import Plan
from likewise.audit.stage import ComponentUse
from likewise.data.describe_spec import HEADWEAR, OF_FACES, POSE, SHAPE, TONE, DescribeSpec
from likewise.models.requirements import ENCODER, FACE_MESH, SEGMENTER, detector
from likewise.runtime.registry import KINDS
from likewise.runtime.requirements import Requirements, requirements
from likewise.weights.cache import entry
from likewise.weights.catalog.networks import CATALOG

_NAMES = {"gender-v1": "gender", "age-v1": "age"}
"""The classifiers that describe uses, by their networks."""


def needs_of(use: ComponentUse, plan: Plan) -> Requirements:
    """Return the weights and packages that a component needs, directly and indirectly.

    >>> from likewise.audit.stage import ComponentUse
    >>> needs_of(ComponentUse("recognizer", "dlib"), None).weights  # type: ignore[arg-type]
    ('dlib-resnet', 'dlib-landmarks-5')
    """
    if use.kind == "detector":
        return detector(use.name)
    if use.kind == "segmenter":
        return SEGMENTER
    if use.kind == "describer":
        return _described(plan.describe) if plan.describe else Requirements()
    if use.kind not in KINDS:
        return Requirements()
    found = requirements(use.kind, use.name, use.options)
    return found | _projection(plan) if use.kind == "generator" and plan is not None and plan.projects else found


def _projection(plan: Plan) -> Requirements:
    """Return the networks of a projection: the encoder of the embedded generator, and the identity term."""
    spec = plan.project
    embedded = spec.generator == "mobilestylegan"
    found = ENCODER if embedded and spec.method != "singh2021" else Requirements()
    own = "mobilefacenet" if embedded and spec.identity is None else spec.identity or ""
    refined = spec.method in ("auto", "refine")
    return found | requirements("recognizer", own) if own and refined else found


def _described(spec: DescribeSpec) -> Requirements:
    found = detector(spec.detector) if spec.wants(*OF_FACES) else Requirements()
    for columns, name in (
        (("predicted_gender",), _NAMES.get(spec.gender, "faceres-gender")),
        (("predicted_age",), _NAMES.get(spec.age, "faceres-age")),
        (("predicted_smile",), "emotion"),
    ):
        if spec.wants(*columns):
            found |= requirements("classifier", name, {"detector": spec.detector})
    if spec.wants(*TONE, "predicted_eyeglasses", HEADWEAR):
        found |= SEGMENTER
    meshed = spec.wants(*SHAPE) or (spec.pose == "mesh" and spec.wants(*POSE))
    return found | FACE_MESH if meshed else found


def is_missing(weight: str) -> bool:
    """Whether a weight of the catalog is not in the cache, or was converted by another version."""
    held = entry(weight)
    return weight in CATALOG and (held is None or not held.current)
