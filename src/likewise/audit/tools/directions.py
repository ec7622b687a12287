"""directions: draw and describe faces of a generator, fit directions, describe and draw them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from likewise.audit.folder.artifacts import DESCRIBED, IMAGES, LATENTS
from likewise.data.describe_spec import COLUMNS, DescribeSpec
from likewise.errors import SpecError, StageError, StoreError, some
from likewise.latents.directions import USUAL, Directions, fit, shipped, summary
from likewise.latents.sampled import Sampled, SampleSpec, sample
from likewise.runtime.cpu import tune
from likewise.runtime.executor import Executor
from likewise.runtime.pixels import save
from likewise.runtime.progress import Reporter
from likewise.runtime.registry import create
from likewise.tables import Images, Vectors
from likewise.tables.io import parse_json, write_text
from likewise.tables.vectors import write_stream

CARD, FITTED = "sample.json", "directions.npz"
EMBEDDED = "mobilestylegan"
NEARER = 0.7
"""How far from the mean the faces lie that directions are shown on: farther ones are less often whole."""
_ACROSS = 10  # faces in a row of the sheet


def sample_faces(
    out: Path,
    *,
    generator: str,
    faces: int,
    size: int,
    seed: int,
    columns: Sequence[str],
    engine: Executor,
    reporter: Reporter,
) -> list[str]:
    """Draw and describe faces, with their table and latents in ``out``; the same command goes on after a stop."""
    asked = DescribeSpec(columns=tuple(columns) or COLUMNS)
    spec = SampleSpec(generator=generator, faces=faces, size=size, seed=seed, describe=asked)
    work = out / ".work" / _key(spec)
    work.mkdir(parents=True, exist_ok=True)
    tune(engine)
    with reporter.task("sample", faces) as progress:
        made = sample(spec, engine=engine, folder=work, progress=progress)
    _write(out, made, spec)
    return [f"wrote {out}: {faces} faces by {made.vectors.source}, {len(asked.columns)} columns"]


def _key(spec: SampleSpec) -> str:
    """Name everything that a block depends on, which is not how many blocks there are."""
    plain = json.dumps(asdict(replace(spec, faces=100)), sort_keys=True, default=list)
    return sha256(plain.encode()).hexdigest()[:16]


def _write(out: Path, made: Sampled, spec: SampleSpec) -> None:
    (out / LATENTS).mkdir(exist_ok=True)
    write_stream(out / LATENTS, made.vectors.keys, [made.vectors.values], source=made.vectors.source)
    rows = len(made.pictures) // _ACROSS
    lines = made.pictures[: rows * _ACROSS].reshape(rows, _ACROSS, *made.pictures.shape[1:])
    save(out / "sample.png", np.concatenate([np.concatenate(list(line), axis=1) for line in lines]))
    card = {"sampled": asdict(spec), "made by": dict(made.made_by), "licenses": dict(made.licenses)}
    write_text(out / CARD, json.dumps(card, indent=1) + "\n")
    made.faces.write(out / IMAGES)


def fit_directions(
    folder: Path, *, attributes: Sequence[str], labels: str, out: Path | None, rule: str = USUAL
) -> list[str]:
    """Fit directions on a folder's faces and latents, and write them."""
    faces, vectors = _faces(folder), Vectors.read(folder / LATENTS)
    if not attributes and not (attributes := fittable(faces)):
        raise SpecError(
            f"No column is numeric or has two levels (columns: {some(faces.attributes) or 'none'})",
            fix="Add a column of labels.",
        )
    made_by = _made_by(folder)
    source = labels or f"{len(vectors)} faces of {folder.name}, {vectors.source}"
    directions = fit(faces, vectors, list(attributes), labels=source, made_by=made_by, rule=rule)
    path = directions.write(out or folder / FITTED)
    return [f"wrote {path}", *described(directions)]


def _faces(folder: Path) -> Images:
    for name in (DESCRIBED, IMAGES):
        if (folder / name).is_file() and (folder / LATENTS).is_dir():
            return Images.read(folder / name)
    fix = "Run: likewise project DIR, or: likewise directions sample DIR."
    raise StageError(f"No images and latents in {folder}", fix=fix)


def _made_by(folder: Path) -> dict[str, str]:
    """Say who made each column: networks, by what is kept beside the table; otherwise it is the table's own."""
    for name, path in (("made by", CARD), ("summary", f"{DESCRIBED}.json")):
        if (folder / path).is_file():
            try:
                card: dict[str, Any] = parse_json((folder / path).read_text(encoding="utf-8"))
                said = card[name] if name == "made by" else card.get("summary", {}).get("made by", {})
                return {str(column): str(maker) for column, maker in said.items()}
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                fix = "Restore it from a copy, or make the images and latents again."
                raise StoreError(f"{folder / path} is damaged ({str(error)[:100]})", fix=fix) from error
    return {}


def fittable(faces: Images) -> list[str]:
    """Return the attributes that a direction can be fitted to: numbers that vary, and columns of two levels."""
    frame = faces.frame
    return [name for name in faces.attributes if _fits(frame[name].dropna())]


def _fits(column: pd.Series[Any]) -> bool:
    levels = column.nunique()
    return levels == 2 or (levels > 2 and pd.api.types.is_numeric_dtype(column))


def described(directions: Directions) -> list[str]:
    """Say what directions are, in a few lines and a table."""
    frame = summary(directions).rename(columns={"value": "skill", "positive": "rises to", "label": "label source"})
    return [
        f"Directions: {len(directions.names)} in {directions.gradients.shape[1]} dimensions, of {directions.source}",
        f"  labels: {directions.labels}; two levels separated by {directions.rule}",
        "  skill: on identities that the fit has not seen",
        "",
        *frame.to_string(index=False, float_format="{:.3f}".format).splitlines(),
    ]


def opened(name: str) -> Directions:
    """Return directions by their file, or the shipped ones by the generator's name."""
    return Directions.read(name) if Path(name).is_file() else shipped(name or EMBEDDED)


def show_directions(
    name: str, *, out: Path | None, generator: str, along: str, hold: Sequence[str], amounts: Sequence[float],
    faces: int, seed: int, size: int,
) -> list[str]:  # fmt: skip
    """Say what directions are; with ``out``, draw what one of them does to faces drawn by the seed."""
    from likewise.latents.traverse import traversal  # noqa: PLC0415  # networks load late

    directions = opened(name)
    if out is None:
        if along or hold:
            raise SpecError("--along and --hold have no effect without --out", fix="Add --out FILE.png.")
        return described(directions)
    source = create("generator", generator)
    _check_source(directions, source.name)
    step = directions.step(along or directions.names[0], hold=hold)
    nearer = source.mean_w() + NEARER * (source.sample_w(faces, seed) - source.mean_w())
    w = np.repeat(nearer[:, None].astype(np.float32), source.rows, axis=1)
    save(out, traversal(source, w, step, amounts, size=size))
    steps = ", ".join(f"{amount:g}" for amount in amounts)
    return [f"wrote {out}: {faces} faces; {along or directions.names[0]} moved by {steps} standard deviations"]


def _check_source(directions: Directions, name: str) -> None:
    if not directions.source.startswith(name):
        raise SpecError(f"The directions are of {directions.source}, not of {name}", fix="Set --generator.")
