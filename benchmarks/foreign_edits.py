"""Anybody's edits, checked: a stand-in endpoint that is clean, ages, repaints, or leaves artifacts.

    python -m benchmarks.foreign_edits --work DIR --faces 16

Faces are drawn by the embedded generator. The server edits them along its direction of perceived gender, with age and
the rest held, before the background of the original (clean); the same with older women and younger men (aging); or
clean before another background (background); or clean with a synthetic artifact in each strip (artifacts). It answers
in JPEG, as endpoints do. The editor ``http`` sends them through the plan, and the validators of the plan decide.
Printed: how many originals keep valid edits, and why the others do not. Faces and answers are kept in DIR.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from benchmarks.stand_ins.edits import editing
from likewise.cli.main import main as likewise
from likewise.runtime.pixels import save

STRENGTHS, SIZE, AGED = (-1.0, 0.0, 1.0), 512, 1.2
KINDS = ("clean", "aging", "background", "artifacts")
PROMPTS = {"man": -1.0, "androgynous": 0.0, "woman": 1.0}
PLAN = """
format = 2
seed = 0
covariates = ["predicted_age"]

[data]
images = "images"
table = "faces.csv"

[contrast]
column = "predicted_gender"
focal = "female"
reference = "male"

[encode]
columns = ["predicted_age"]

[[rater]]
kind = "classifier"
name = "yunet-detector"

[counterfactual]
editor = "http"
strengths = [-1, 0, 1]

[counterfactual.options]
endpoint = "{url}"
prompts = {{ "-1" = "man", "0" = "androgynous", "1" = "woman" }}
"""
Pictures = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class Faces:
    """Drawn faces ``[n, H, W, 3]``, their edits ``[n, K, H, W, 3]`` and the same aged at +1."""

    originals: Pictures
    edits: Pictures
    aged: Pictures


def drawn_faces(count: int, seed: int) -> Faces:
    """Draw faces at full size and edit their latents along the shipped directions; pictures are averaged down."""
    from likewise.counterfactuals.direction_editor import DirectionEditor  # noqa: PLC0415  # networks load late
    from likewise.tables import Vectors  # noqa: PLC0415

    editor = DirectionEditor(detail="drawn", focal="female")
    generator, mean = editor.generator, editor.generator.mean_w()
    w = mean + 0.7 * (generator.sample_w(count, seed) - mean)
    latents = np.repeat(w[:, None], generator.rows, axis=1).astype(np.float32)  # [n, L, D]
    older = _older(editor)
    rows = []
    for place in range(count):
        own = latents[place : place + 1]
        blank = np.zeros((1, generator.resolution, generator.resolution, 3), np.uint8)
        strips = [editor.redraw(_at(editor, own, blank), ["d"])[0]]
        strips += [*editor.sweep(blank, STRENGTHS, ["d"])[0]]
        for strength in STRENGTHS:
            editor.latents = Vectors(["d"], own + np.float32(AGED * strength) * older, source="sampled, older")
            strips.append(editor.sweep(blank, (strength,), ["d"])[0, 0])
        rows.append(np.stack([_smaller(picture) for picture in strips]))
    every = np.stack(rows)  # [n, 1 + 2 K, H, W, 3]
    edits, aged = every[:, 1 : 1 + len(STRENGTHS)], every[:, 1 + len(STRENGTHS) :]
    return Faces(every[:, 0], edits, aged)


def _at(editor: Any, latent: npt.NDArray[np.float32], blank: Pictures) -> Pictures:
    """Let the editor take this latent for the picture ``d``."""
    from likewise.tables import Vectors  # noqa: PLC0415

    editor.latents = Vectors(["d"], latent, source="sampled")
    return blank


def _older(editor: Any) -> npt.NDArray[np.float32]:
    """Return the direction of age that changes no other score but perceived gender's."""
    others = [name for name in editor.directions.names if name != "predicted_age"]
    found: npt.NDArray[np.float32] = editor.directions.step("predicted_age", hold=others).astype(np.float32)
    return found


def _smaller(picture: Pictures) -> Pictures:
    side = picture.shape[0] // SIZE
    parts = picture.reshape(SIZE, side, SIZE, side, 3).astype(np.float32).mean(axis=(1, 3))
    found: Pictures = np.rint(parts).astype(np.uint8)
    return found


def kept_background(originals: Pictures, edits: Pictures) -> Pictures:
    """Return the edited people before the background of their originals, as an editor that keeps it returns them."""
    return np.stack([_before(original, strip, original) for original, strip in zip(originals, edits, strict=True)])


def repainted(originals: Pictures, edits: Pictures) -> Pictures:
    """Return the edited people before a striped wall."""
    wall = np.zeros((SIZE, SIZE, 3), np.uint8)
    wall[:] = np.where((np.arange(SIZE) // 32 % 2)[None, :, None], (180, 60, 40), (60, 90, 180))
    return np.stack([_before(original, strip, wall) for original, strip in zip(originals, edits, strict=True)])


def _before(original: Pictures, strip: Pictures, wall: Pictures) -> Pictures:
    """Put the people of a strip before another background, which begins where neither they nor the original are."""
    from scipy import ndimage  # noqa: PLC0415

    from likewise.models.perception.segmentation import Segmenter, resized_to  # noqa: PLC0415

    behind = Segmenter().masks(np.stack([original, *strip]), "background")
    found = []
    for picture, own in zip(strip, behind[1:], strict=True):
        both = resized_to((behind[0] & own).astype(np.uint8) * 255, SIZE).astype(np.float32) / 255
        share = ndimage.gaussian_filter(both, 3)[..., None]
        found.append(np.rint(picture * (1 - share) + wall * share).astype(np.uint8))
    return np.stack(found)


def spoiled(edits: Pictures) -> Pictures:
    """Return strips with one artifact each (a patch, a ghost, a seam, ...) at one of the outer strengths."""
    from likewise.counterfactuals.validation.synthetic_artifacts import ARTIFACTS, add_artifact  # noqa: PLC0415
    from likewise.models.perception.segmentation import Segmenter, resized_to  # noqa: PLC0415

    result, kinds = edits.copy(), sorted(ARTIFACTS)
    for row, strip in enumerate(edits):
        rng, place = np.random.default_rng(row), 2 * (row % 2)
        skin = Segmenter().masks(strip[place][None], "face skin")[0].astype(np.uint8) * 255
        result[row, place] = add_artifact(kinds[row % len(kinds)], strip[place], resized_to(skin, SIZE) > 127, rng)
    return result


def audit(work: Path, faces: Faces, kind: str) -> dict[str, Any]:
    """Send the faces through one server, validate its edits, and return what was decided."""
    folder = work / f"{kind}-{_hash(faces.originals)[:8]}"
    make = repainted if kind == "background" else kept_background
    edits = make(faces.originals, faces.aged if kind == "aging" else faces.edits)
    edits = spoiled(edits) if kind == "artifacts" else edits
    strips = {_hash(original): strip for original, strip in zip(faces.originals, edits, strict=True)}

    def rule(prompt: str, picture: Pictures) -> Pictures:
        strip = strips[_hash(picture)]
        return strip[STRENGTHS.index(PROMPTS[prompt])] if prompt in PROMPTS else picture

    _written(folder, faces)
    with editing(rule) as server:
        server.kind = "JPEG"
        (folder / "audit.toml").write_text(PLAN.format(url=server.url))
        for stage in ("read", "counterfactual", "validate-edits"):
            likewise([stage, str(folder), "--quiet"])
    plain: dict[str, Any] = json.loads((folder / "validity.parquet.json").read_text())
    return {"kind": kind, **plain["summary"], "notes": plain["notes"]}


def _written(folder: Path, faces: Faces) -> None:
    from likewise.runtime.registry import create  # noqa: PLC0415

    female = create("classifier", "gender").score(faces.originals)["female"]
    age = create("classifier", "age").score(faces.originals)
    years = sum(values * (12 * place) for place, values in enumerate(age.values()))
    names = [f"d{number}.png" for number in range(len(faces.originals))]
    for name, picture in zip(names, faces.originals, strict=True):
        save(folder / "images" / name, picture)
    table = pd.DataFrame({"image": names, "identity": names, "predicted_age": np.asarray(years).round(1)})
    table["predicted_gender"] = np.where(female > 0.5, "female", "male")
    table[np.isfinite(female)].to_csv(folder / "faces.csv", index=False)


def _hash(picture: Pictures) -> str:
    return hashlib.sha256(np.ascontiguousarray(picture).tobytes()).hexdigest()


def main() -> None:
    """Audit the three servers and print what the validators decided."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--faces", type=int, default=16)
    parser.add_argument("--seed", type=int, default=20)
    given = parser.parse_args()
    given.work.mkdir(parents=True, exist_ok=True)
    kept = given.work / f"faces-{given.faces}-{given.seed}.npz"
    if not kept.is_file():
        np.savez_compressed(kept, **vars(drawn_faces(given.faces, given.seed)))
    with np.load(kept) as found:
        faces = Faces(found["originals"], found["edits"], found["aged"])
    for kind in KINDS:
        outcome = audit(given.work, faces, kind)
        notes = [note for note in outcome.pop("notes") if "not valid" in note or "Validators" in note]
        print(outcome, *notes, sep="\n  ", flush=True)


if __name__ == "__main__":
    main()
