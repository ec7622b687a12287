"""What the components of likewise need, known without torch, onnxruntime, dlib or any weight file.

The tables here repeat the defaults of the components; ``tests/models/test_requirements.py`` makes each component from
exactly these weights, so the two cannot drift apart.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from likewise.errors import LikewiseError
from likewise.runtime.requirements import Requirements, requirements
from likewise.weights.cache import record

_TORCH, _ONNX, _DLIB = ("torch", "torch"), ("onnxruntime", "onnx"), ("dlib", "faces")
_DRAWN = (
    "drawn by mobilestylegan-ffhq, which is distilled from StyleGAN2-FFHQ, whose weights are for non-commercial use"
)

DETECTORS: dict[str, Requirements] = {
    "dlib": Requirements(("dlib-landmarks-5",), (_DLIB,)),
    "yunet": Requirements(("yunet",), (_ONNX,)),
    "retinaface": Requirements(("retinaface",), (_TORCH,)),
}
SEGMENTER = Requirements(("selfie-multiclass",), (_ONNX,))
FACE_MESH = Requirements(("face-mesh",), (_ONNX,))
ENCODER = Requirements(
    ("lpips-alexnet", "mobilefacenet"), (_TORCH,), (f"the encoder of mobilestylegan: fitted to faces {_DRAWN}",)
)
FADER = Requirements((), (_TORCH,), (f"fader-64: trained on faces {_DRAWN}",))
DISTILLED = Requirements((), (_TORCH,), (f"distilled-128: trained on faces {_DRAWN}",))

_Options = Mapping[str, Any]
_Rule = Callable[[_Options], Requirements]


def of(kind: str, name: str, options: _Options) -> Requirements | None:
    """Return what a component of likewise needs; None where the component is not one of its networks."""
    rule = _RULES.get((kind, name))
    return None if rule is None else rule(options)


def research_only(kind: str, name: str, options: _Options | None = None) -> list[str]:
    """Say which parts of a component are for research only.

    Parameters
    ----------
    kind, name, options
        The component, as in the plan.

    Returns
    -------
    list of str
        One reason a part, e.g. ``"mobilestylegan-ffhq: distilled from ..."``; empty where none is known. A license
        that permits commercial use says nothing about the data that a network was trained on: see the cautions of
        ``likewise weights list --commercial``.
    """
    needed = requirements(kind, name, options)
    return [*needed.research_only, *(reason for weight in needed.weights if (reason := restricted(weight)))]


def restricted(weight: str) -> str:
    """Say why a weight is for research only; empty where it is not."""
    if Path(weight).is_file():
        return ""
    try:
        found = record(weight)
    except LikewiseError:  # an unknown name is reported by the check of the weights
        return ""
    return "" if found.terms == "open" else f"{found.name}: {found.caution or found.terms}"


def detector(name: str) -> Requirements:
    """Return what a face detector needs; nothing for an unknown one, which is reported when it is made."""
    return DETECTORS.get(name, Requirements())


def _weights(options: _Options, default: str) -> tuple[str, ...]:
    given = str(options.get("weights") or default)
    return () if not given or Path(given).is_file() else (given,)


def _network(weight: str, *packages: tuple[str, str], found_by: str = "") -> _Rule:
    """Return the rule of a network with one weight and, for faces, the detector that it is fed by."""

    def rule(options: _Options) -> Requirements:
        needed = Requirements(_weights(options, weight), packages)
        return needed | detector(str(options.get("detector") or found_by)) if found_by else needed

    return rule


def _efficientnet(options: _Options) -> Requirements:
    return Requirements(_weights(options, f"efficientnet-lite{options.get('variant', 0)}"), (_TORCH,))


def _fader(options: _Options) -> Requirements:
    return Requirements(_weights(options, ""), (_TORCH,)) if options.get("weights") else FADER


def _distilled(options: _Options) -> Requirements:
    return Requirements(_weights(options, ""), (_TORCH,)) if options.get("weights") else DISTILLED


def _direction(options: _Options) -> Requirements:
    made = requirements("generator", str(options.get("generator", "mobilestylegan")), options.get("options"))
    seen = requirements("perceptual", str(options.get("perceptual", "pixels")))
    return made | seen


def _card(read: Callable[[Path], Any], model_of: Callable[[str, Path], str | Path]) -> _Rule:
    def rule(options: _Options) -> Requirements:
        path = Path(str(options.get("card", "")))
        try:
            card = read(path)
        except LikewiseError:  # a missing or wrong card is reported by the component itself
            return Requirements((), (_ONNX,))
        model = model_of(card.model, path)
        needed = Requirements(() if isinstance(model, Path) else (model,), (_ONNX,))
        whole = getattr(card, "look", "face") == "whole"
        return needed if whole else needed | detector(card.preprocessing.detector)

    return rule


def _recognizer_card(options: _Options) -> Requirements:
    from likewise.models.recognizers.onnx import model_of, read_card  # noqa: PLC0415  # numpy and PIL only when asked

    return _card(read_card, model_of)(options)


def _classifier_card(options: _Options) -> Requirements:
    from likewise.models.classifiers.onnx import read_label_card  # noqa: PLC0415
    from likewise.models.recognizers.onnx import model_of  # noqa: PLC0415

    return _card(read_label_card, model_of)(options)


_RULES: dict[tuple[str, str], _Rule] = {
    ("generator", "mobilestylegan"): _network("mobilestylegan-ffhq", _TORCH),
    ("generator", "stylegan2"): _network("", _TORCH),
    ("editor", "fader"): _fader,
    ("editor", "direction"): _direction,
    ("editor", "distilled"): _distilled,
    ("perceptual", "lpips-alex"): _network("lpips-alexnet", _TORCH),
    ("perceptual", "lpips-vgg"): _network("lpips-vgg16", _TORCH),
    ("perceptual", "inception"): _network("inception-2015", _TORCH),
    ("perceptual", "vgg-l1"): _network("lpips-vgg16", _TORCH),
    ("recognizer", "dlib"): _network("dlib-resnet", _DLIB, found_by="dlib"),
    ("recognizer", "faceplugin"): _network("faceplugin", _ONNX, found_by="retinaface"),
    ("recognizer", "mobilefacenet"): _network("mobilefacenet", _TORCH, found_by="retinaface"),
    ("recognizer", "openface"): _network("openface", _TORCH, found_by="dlib"),
    ("recognizer", "facenet"): _network("facenet", _ONNX, found_by="dlib"),
    ("recognizer", "faceres"): _network("faceres", _ONNX, found_by="dlib"),
    ("recognizer", "sface"): _network("sface", _ONNX, found_by="yunet"),
    ("recognizer", "onnx"): _recognizer_card,
    ("classifier", "age"): _network("age-v1", _ONNX, found_by="dlib"),
    ("classifier", "emotion"): _network("emotion", _ONNX, found_by="dlib"),
    ("classifier", "faceres-age"): _network("faceres", _ONNX, found_by="dlib"),
    ("classifier", "faceres-gender"): _network("faceres", _ONNX, found_by="dlib"),
    ("classifier", "gear"): _network("gear", _ONNX, found_by="dlib"),
    ("classifier", "gender"): _network("gender-v1", _ONNX, found_by="dlib"),
    ("classifier", "skin-tone"): _network("selfie-multiclass", _ONNX),
    ("classifier", "dlib-detector"): lambda _: detector("dlib"),
    ("classifier", "yunet-detector"): lambda _: detector("yunet"),
    ("classifier", "retinaface-detector"): lambda _: detector("retinaface"),
    ("classifier", "efficientnet-lite"): _efficientnet,
    ("classifier", "onnx"): _classifier_card,
}
