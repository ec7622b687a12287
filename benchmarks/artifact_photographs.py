"""The artifact validator on edited photographs: clean edits kept, planted artifacts rejected, and a blinded look.

    python -m benchmarks.artifact_photographs measure --work DIR --name direction --half report
    python -m benchmarks.artifact_photographs look --work DIR --name direction --out OUT --strips 40
    python -m benchmarks.artifact_photographs compare --out OUT --said OUT/said.json

DIR is that of ``benchmarks.editors run``. ``measure`` scores every edit as validation does, and the same edits at the
outermost strengths with an artifact of ``other_artifacts`` each. ``look`` writes sheets of numbered strips (original,
edit), half of them with a planted artifact, and a key that the person who looks does not open; ``compare`` sets what
was said ({"1": true, ...}: strip 1 has an artifact) beside the key and beside the validator. DIR and OUT hold pictures
of people: keep them to yourself.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

from benchmarks.artifacts import LIMIT, visibly
from benchmarks.other_artifacts import OTHER_ARTIFACTS
from likewise.counterfactuals.placebo import MASK, ORIGINAL
from likewise.counterfactuals.validation.artifacts import changed_region
from likewise.counterfactuals.validation.measure_edits import edit_artifacts
from likewise.counterfactuals.validation.validity import ValiditySpec
from likewise.data.keys import file_of, key_of
from likewise.runtime.pixels import decode
from likewise.runtime.registry import Pictures
from likewise.tables import Images

KINDS = tuple(OTHER_ARTIFACTS)
TARGETS = {True: "skin-tone: darker", False: "faceres-gender: female"}


@dataclass(frozen=True)
class Strip:
    """An original, its edits by rising strength, and the reconstruction if there is one."""

    parent: str
    original: Pictures
    edits: Pictures
    control: Pictures


def strips(work: Path, name: str, half: str) -> Iterator[Strip]:
    """Return the edited photographs of a run, in their order."""
    for path in sorted((work / name / half).glob("*/edits.parquet")):
        frame = Images.read(path).frame.sort_values("level")
        for parent, part in frame.groupby("parent", sort=False):
            arms = [_shown(path.parent, key_of(str(parent), 0.0, arm)) for arm in (ORIGINAL, MASK)]
            edits = np.concatenate([_shown(path.parent, key) for key in part["image"]])
            yield Strip(str(parent), arms[0][0], edits, arms[1])


def _shown(folder: Path, key: str) -> Pictures:
    file = folder / file_of(key)
    return decode(file)[None] if file.is_file() else np.zeros((0, 1, 1, 3), np.uint8)


def measure(work: Path, name: str, half: str, seed: int = 6) -> None:
    """Print the shares of edits and of photographs that are rejected, as edited and with planted artifacts."""
    spec, rng = ValiditySpec(target=TARGETS["tone" in name]), np.random.default_rng(seed)
    clean: list[list[bool]] = []
    planted: dict[str, list[bool]] = {kind: [] for kind in KINDS}
    for strip in strips(work, name, half):
        scores = edit_artifacts(spec, strip.original, strip.edits, strip.control)
        clean.append((scores > LIMIT).tolist())
        mask = changed_region(strip.original, strip.edits)
        for kind in KINDS:
            made = visibly(kind, strip.edits[int(rng.choice([0, -1]))], mask, rng)
            found = edit_artifacts(spec, strip.original, made[None], strip.control)
            planted[kind].append(bool(found[0] > LIMIT))
    said = np.array(clean)
    print(
        f"{name}: {len(said)} photographs with a rejected edit {said.any(axis=1).mean():.1%}, edits {said.mean():.1%}"
    )
    print("by strength:", *(f"{share:.0%}" for share in said.mean(axis=0)))
    for kind, rejected in planted.items():
        print(f"{kind:16s} rejected {np.mean(rejected):6.1%} of {len(rejected)}")


def look(given: argparse.Namespace) -> None:
    """Write numbered strips, half of them with a planted artifact, and the key."""
    rng, spec = np.random.default_rng(given.seed), ValiditySpec(target=TARGETS["tone" in given.name])
    key: dict[str, dict[str, str | float]] = {}
    rows = []
    found = list(strips(given.work, given.name, given.half))
    turns = rng.permutation(given.strips)  # a photograph may come twice, with another edit
    for number, turn in enumerate(turns, start=1):
        strip = found[turn % len(found)]
        edit = strip.edits[int(rng.integers(len(strip.edits)))]
        kind = str(rng.choice(KINDS)) if rng.random() < 0.5 else ""
        shown = visibly(kind, edit, changed_region(strip.original, strip.edits), rng) if kind else edit
        score = edit_artifacts(spec, strip.original, shown[None], strip.control)[0]
        key[str(number)] = {"kind": kind, "score": float(score), "parent": strip.parent}
        rows.append(_row(number, strip.original, shown))
    given.out.mkdir(parents=True, exist_ok=True)
    (given.out / "key.json").write_text(json.dumps(key))
    for start in range(0, len(rows), 10):
        pairs = [np.concatenate(rows[at : at + 5], axis=0) for at in range(start, min(start + 10, len(rows)), 5)]
        Image.fromarray(np.concatenate(pairs, axis=1)).save(given.out / f"sheet{start // 10}.png")


def _row(number: int, original: Pictures, edit: Pictures, side: int = 256) -> Pictures:
    pair = Image.fromarray(np.concatenate([original, edit], axis=1)).resize((2 * side, side))
    ImageDraw.Draw(pair).text((4, 4), str(number), fill=(255, 255, 0))
    return np.asarray(pair)


def compare(out: Path, said: Path) -> None:
    """Print how the person who looked, the key and the validator agree."""
    key, answers = json.loads((out / "key.json").read_text()), json.loads(said.read_text())
    for planted in (False, True):
        rows = [(bool(answers[n]), row["score"] > LIMIT) for n, row in key.items() if bool(row["kind"]) == planted]
        by_eye, by_network = (np.mean(column) for column in zip(*rows, strict=True))
        what = "planted" if planted else "not planted"
        print(f"{what}: {len(rows)} strips, artifact seen in {by_eye:.0%}, rejected by the validator {by_network:.0%}")
    for number, row in key.items():
        if bool(answers[number]) != (row["score"] > LIMIT) or bool(answers[number]) != bool(row["kind"]):
            print(number, row["kind"] or "clean", f"seen {answers[number]}", f"validator {row['score']:.2f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["measure", "look", "compare"])
    parser.add_argument("--work", type=Path)
    parser.add_argument("--name", default="direction")
    parser.add_argument("--half", choices=["choose", "report"], default="report")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--said", type=Path)
    parser.add_argument("--strips", type=int, default=40)
    parser.add_argument("--seed", type=int, default=9)
    given = parser.parse_args()
    if given.what == "measure":
        measure(given.work, given.name, given.half)
    elif given.what == "look":
        look(given)
    else:
        compare(given.out, given.said)
