"""Anybody's edits, checked: a stand-in edits endpoint that is clean, ages the women, or changes the background.

    python -m benchmarks.foreign_edits --work DIR --faces 16

Faces are drawn by the embedded generator. The server edits them along its direction of perceived gender, held (clean);
with the direction of age added at +1 (aging); or clean on another background (background). The editor ``http`` sends
them through the plan, and the validators of the plan decide. Printed: how many originals keep valid edits, and why the
others do not. Finished audits are kept in DIR.
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

STRENGTHS, SIZE, AGED = (-1.0, 0.0, 1.0), 256, 2.5
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
    """Draw faces and edit their latents along the shipped directions."""
    from likewise.counterfactuals.direction_editor import DirectionEditor  # noqa: PLC0415  # networks load late
    from likewise.runtime.registry import to_pictures  # noqa: PLC0415
    from likewise.tables import Vectors  # noqa: PLC0415

    editor = DirectionEditor(size=SIZE, detail="drawn", focal="female")
    generator, mean = editor.generator, editor.generator.mean_w()
    w = mean + 0.7 * (generator.sample_w(count, seed) - mean)
    latents = np.repeat(w[:, None], generator.rows, axis=1).astype(np.float32)  # [n, L, D]
    keys = [f"d{number}" for number in range(count)]
    editor.latents = Vectors(keys, latents, source="sampled")
    originals = np.concatenate([to_pictures(generator.synthesize(one[None], SIZE)) for one in latents])  # type: ignore[call-arg]
    edits = np.concatenate([editor.sweep(originals[k : k + 1], STRENGTHS, [key]) for k, key in enumerate(keys)])
    held = [name for name in editor.directions.names if name not in ("predicted_age", "predicted_gender")]
    older = editor.directions.step("predicted_age", hold=["predicted_gender", *held])
    aged = edits.copy()
    for place, strength in enumerate(STRENGTHS):
        shifted = latents + np.float32(AGED * strength) * older.astype(np.float32)
        editor.latents = Vectors(keys, shifted, source="sampled, older")
        parts = [editor.sweep(originals[k : k + 1], (strength,), [key])[0, 0] for k, key in enumerate(keys)]
        aged[:, place] = np.stack(parts)
    return Faces(originals, edits, aged)


def repainted(pictures: Pictures) -> Pictures:
    """Return pictures of people before a striped wall."""
    from scipy import ndimage  # noqa: PLC0415

    from likewise.models.perception.segmentation import Segmenter, resized_to  # noqa: PLC0415

    wall = np.zeros((SIZE, SIZE, 3), np.float32)
    wall[:] = np.where((np.arange(SIZE) // 16 % 2)[None, :, None], (180, 60, 40), (60, 90, 180))
    found = []
    for picture in pictures:
        behind = Segmenter().masks(picture[None], "background")[0].astype(np.uint8) * 255
        share = ndimage.gaussian_filter(resized_to(behind, picture.shape[0]).astype(np.float32) / 255, 1.5)[..., None]
        found.append(np.rint(picture * (1 - share) + wall * share).astype(np.uint8))
    return np.stack(found)


def audit(work: Path, faces: Faces, kind: str) -> dict[str, Any]:
    """Send the faces through one server, validate its edits, and return what was decided."""
    folder = work / kind
    edits = {"clean": faces.edits, "aging": faces.aged}.get(kind)
    if edits is None:
        edits = np.stack([repainted(strip) for strip in faces.edits])
    strips = {_hash(original): strip for original, strip in zip(faces.originals, edits, strict=True)}

    def rule(prompt: str, picture: Pictures) -> Pictures:
        strip = strips[_hash(picture)]
        return strip[STRENGTHS.index(PROMPTS[prompt])] if prompt in PROMPTS else picture

    _written(folder, faces)
    with editing(rule) as server:
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
    for kind in ("clean", "aging", "background"):
        outcome = audit(given.work, faces, kind)
        notes = [note for note in outcome.pop("notes") if "not valid" in note or "Validators" in note]
        print(outcome, *notes, sep="\n  ", flush=True)


if __name__ == "__main__":
    main()
