"""The plan of ``likewise.audit(...)``: from Python values to the text of audit.toml."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import tomlkit

from likewise.audit.plan.file import plan_of
from likewise.audit.plan.migrations import FORMAT
from likewise.audit.plan.model import Plan
from likewise.audit.plan.request import COLUMNS, FILES, RATERS, is_file, kind_and_name
from likewise.audit.plan.space import balanced_columns
from likewise.data.keys import file_of
from likewise.errors import ImageError, PluginError, SpecError, TableError, nearest, some
from likewise.rating.models import resolve_model
from likewise.runtime.pixels import save
from likewise.runtime.registry import register
from likewise.tables import Contrast, Images, MatchSpec, Vectors
from likewise.tables.matching.match_spec import MAX_SMD

_SECTIONS = {entry.name for entry in fields(Plan) if entry.init} - {"format", "data", "contrast", "rater"}
_DESIGN = ("units", "match", "variant", "secondary_distance", "reference_difficulty", "precomputed_distances")
_OWN = ("covariates", "vectors", "generator", "encoder", "seed", "title", "people", "identity", "image_column", *FILES)


def compose_plan(
    folder: Path,
    table: Images | pd.DataFrame | str | Path,
    images: str | Path | np.ndarray[Any, Any] | None,
    *,
    contrast: Contrast | tuple[str, Any, Any],
    raters: Sequence[Any],
    **options: Any,
) -> str:
    """Return the text of a plan; tables and pictures that are no files are written to the folder."""
    unknown = [name for name in options if name not in _SECTIONS and name not in _OWN]
    if unknown:
        known = sorted({*_SECTIONS, *_OWN})
        raise SpecError(
            f"Unknown option {unknown[0]!r}", fix=nearest(unknown[0], known) or f"Known: {some(known, 40)}."
        )
    between = contrast if isinstance(contrast, Contrast) else Contrast(*contrast)
    plain: dict[str, Any] = {"format": FORMAT, "seed": int(options.get("seed", 0))}
    if options.get("covariates"):
        plain["covariates"] = list(options["covariates"])
    if options.get("vectors") is not None:
        plain["vectors"] = _vectors(folder, options["vectors"])
    plain["data"] = _data(folder, table, images, options)
    plain["contrast"] = {"column": between.column, "focal": between.focal, "reference": between.reference}
    plain |= _space(images is not None, options)
    plain |= {name: _plain(options[name]) for name in options if name in _SECTIONS and name not in _OWN}
    plain |= _raters(folder, raters, options)
    plain |= _design(plain, options)
    if "title" in options:
        plain["report"] = {**plain.get("report", {}), "title": str(options["title"])}
    text = tomlkit.dumps(plain)
    plan_of(text)
    return text


def _data(folder: Path, table: Any, images: Any, options: Mapping[str, Any]) -> dict[str, Any]:
    data: dict[str, Any] = {}
    if isinstance(table, str | Path):
        data["table"] = str(Path(table).resolve())
    else:
        made = table if isinstance(table, Images) else Images(pd.DataFrame(table))
        path = folder / "table.parquet"
        if not path.is_file() or not Images.read(path).frame.equals(made.frame):
            made.write(path)
        data["table"] = path.name
    if isinstance(images, str | Path):
        data["images"] = str(Path(images).resolve())
    elif images is not None:
        data["images"] = _pictures(folder, table, np.asarray(images))
    for key, name in (("identity", "identity"), ("image_column", "image")):
        if options.get(key):
            data[name] = options[key]
    return data


def _pictures(folder: Path, table: Any, pictures: np.ndarray[Any, Any]) -> str:
    """Write pictures beside the plan; files that are there stay, so that nothing is stale without need."""
    if isinstance(table, str | Path):
        raise ImageError(
            "Pictures as an array need the table as Images or a DataFrame, in the same order",
            fix="Read the table first: likewise.Images.read(path).",
        )
    keys = (table if isinstance(table, Images) else Images(pd.DataFrame(table))).keys
    if pictures.ndim != 4 or pictures.shape[-1] != 3 or len(pictures) != len(keys) or pictures.dtype != np.uint8:
        shape = f"{pictures.dtype} {pictures.shape}"
        raise ImageError(f"Pictures are {shape}", fix=f"Pass uint8 [{len(keys)}, height, width, 3].")
    place = folder / "pictures"
    place.mkdir(exist_ok=True)
    for key, picture in zip(keys, pictures, strict=True):
        path = place / file_of(key)
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.is_file():
            save(path, picture)
    return place.name


def _vectors(folder: Path, vectors: Vectors | str | Path) -> str:
    if isinstance(vectors, str | Path):
        return str(Path(vectors).resolve())
    path = folder / "vectors.npz"
    if not path.is_file() or Vectors.read(path) != vectors:
        vectors.write(path)
    return path.name


def _space(has_images: bool, options: Mapping[str, Any]) -> dict[str, Any]:
    named = [
        name for name in ("vectors", "project", "encode", "precomputed_distances") if options.get(name) is not None
    ]
    generator, encoder = options.get("generator", ""), options.get("encoder", "")
    if named:
        if generator or encoder:
            raise SpecError(
                f"{named[0]} and {'generator' if generator else 'encoder'} both define the feature space",
                fix="Give only one of them.",
            )
        return {}
    if encoder == COLUMNS or not (has_images or encoder):
        covariates = list(options.get("covariates") or [])
        if not covariates:
            raise TableError("Without images or vectors, matching needs covariates", fix="Pass covariates=[...].")
        return {"encode": {"columns": covariates}}
    if encoder:
        kind, name = kind_and_name(encoder, ("perceptual", "recognizer", "classifier"))
        return {"encode": {kind: name, **({"size": 64} if kind == "perceptual" else {})}}
    if generator == "world":
        return {"project": {"generator": "world", "perceptual": "pixels"}}
    return {"align": {}, "project": {"generator": generator or "mobilestylegan", "perceptual": "lpips-alex"}}


def _design(plain: Mapping[str, Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the design where the call names none: what is rated is matched, balanced within 0.1."""
    if any(options.get(name) is not None for name in _DESIGN):
        return {}
    files = plain.get("precomputed", [])
    of_trials = any(rater["kind"] == "recognizer" for rater in plain.get("rater", ()))
    of_trials |= any("labels" not in entry for entry in files) or "collect" in plain
    units: dict[str, Any] = {"kind": "trials" if of_trials else "images", "features": "auto"}
    found: dict[str, Any] = {"units": units, "match": {"method": "cardinality", "max_smd": MAX_SMD}}
    generator = str(plain.get("project", {}).get("generator", ""))
    columns = balanced_columns(generator, plain["contrast"]["column"], of_trials=of_trials)
    if columns and "describe" not in plain:
        units["described"] = True
        found["describe"] = {"columns": list(columns)}
    if options.get("covariates") and "columns" not in plain.get("encode", {}):
        found["match"]["balance"] = list(options["covariates"])
    return found


def _plain(value: Any) -> Any:
    if isinstance(value, MatchSpec):
        defaults = MatchSpec().to_dict()
        return {name: entry for name, entry in value.to_dict().items() if entry != defaults[name] and entry is not None}
    return value


def _raters(folder: Path, raters: Sequence[Any], options: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {"rater": [_rater(rater) for rater in raters]} if raters else {}
    files = [
        {"rater": name, kind: str(Path(path).resolve())}
        for kind in FILES
        for name, path in dict(options.get(kind) or {}).items()
    ]
    if files:
        found["precomputed"] = files
    if options.get("people"):
        found["collect"] = {"crowd": "file", "options": {"path": str(Path(options["people"]).resolve())}}
    return found


def _rater(rater: Any) -> dict[str, Any]:
    """Return the section of a rater; an object is registered as a component for this session."""
    if isinstance(rater, str | Path):
        kind, name = kind_and_name(str(rater))
        return {"kind": kind, "name": str(Path(name).resolve()) if is_file(name) else name}
    if isinstance(rater, Mapping):
        return dict(rater)
    kind, model = rater if isinstance(rater, tuple) else (_kind_of(rater), rater)
    if kind not in RATERS:
        raise PluginError(f"Unknown kind of rater {str(kind)!r}", fix="Use 'recognizer' or 'classifier'.")
    if isinstance(model, str | Path):
        return _rater(f"{kind}:{model}")
    made = resolve_model(kind, model)

    def factory(version: str = "") -> Any:
        return made

    register(kind, made.name, factory)
    return {"kind": kind, "name": made.name, "options": {"version": _version(model)}}


def _kind_of(model: Any) -> str:
    if hasattr(model, "embed"):
        return "recognizer"
    if hasattr(model, "score"):
        return "classifier"
    name = getattr(model, "__name__", type(model).__name__)
    fix = f"Pass ('recognizer', {name}) or ('classifier', {name})."
    raise PluginError(f"The kind of the rater {name} is not known", fix=fix)


def _version(model: Any) -> str:
    """Return a fingerprint of the model's code, so that its ratings are stale when it changes."""
    code = model if inspect.isroutine(model) or inspect.isclass(model) else type(model)
    try:
        text = inspect.getsource(code)
    except (OSError, TypeError):
        text = repr(getattr(code, "__qualname__", code))
    return hashlib.sha256(text.encode()).hexdigest()[:12]
