"""Editors side by side on photographs: which share of edits is valid, by group? And the slopes of label networks.

    python -m benchmarks.editors run --work DIR --editor distilled --photographs 24     needs LIKEWISE_DATA
    python -m benchmarks.editors project --work DIR --photographs 24
    python -m benchmarks.editors run --work DIR --editor direction --latents DIR/latents --options '{"size": 256}'
    python -m benchmarks.editors report --work DIR
    python -m benchmarks.editors slopes --work DIR --editor direction --named --labels gender gear efficientnet-lite

Photographs are one each of identities of the CelebA-HQ subset, in an order that never changes; every second is for
choosing settings (``--half choose``), the others are reported (``--half report``, the default). Half of them are
perceived female, and half of each group have the lighter skin, by measurement (ITA). ``project`` projects them with the
default method. ``run`` edits and
measures blocks of photographs and keeps the measurements of each, so a stopped run goes on; rules that need all
photographs (the distance between the groups, the noise) are applied to all of them together. DIR holds edited
photographs of people: keep it to yourself.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import warnings
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import likewise as lw
from benchmarks.projection import TUNING, album, subset
from benchmarks.projection import project as project_images
from likewise.analysis.slopes.tests import slope_tests
from likewise.counterfactuals.edit import counterfactual, placebo_images
from likewise.counterfactuals.placebo import MASK, ORIGINAL
from likewise.counterfactuals.sweep_spec import SweepSpec, editor_of, even_strengths
from likewise.counterfactuals.validation.artifacts import RECONSTRUCTION_WEIGHTS, WEIGHTS
from likewise.counterfactuals.validation.default_validators import Edited, choose_validators
from likewise.counterfactuals.validation.measure_edits import REDRAWN, control_artifacts, edit_artifacts
from likewise.counterfactuals.validation.validate import groups_of, validate_edits
from likewise.counterfactuals.validation.validators import Validators
from likewise.counterfactuals.validation.validity import (
    ARTIFACT,
    BEYOND,
    CONTROL,
    PERSON,
    RATER,
    TARGET,
    VALID,
    ValiditySpec,
    assess,
    valid_edits,
    verdicts,
)
from likewise.data.keys import file_of, key_of
from likewise.errors import ContrastError, LikewiseError, LikewiseWarning
from likewise.latents.projection import ProjectSpec
from likewise.rating.rate import rate
from likewise.runtime.pixels import decode
from likewise.runtime.registry import Pictures, create
from likewise.tables import Contrast, Images, Ratings, Vectors

BLOCK = 4
GROUPS = ("perceived_gender", "skin_tone", "Young", "Eyeglasses", "No_Beard")
NAMED = {
    "gender": ("female", "male"),
    "gear": ("female", "male"),
    "efficientnet-lite": (
        "lipstick", "hair spray", "wig", "necklace", "brassiere", "gown", "suit", "Windsor tie", "bow tie", "lab coat",
        "military uniform", "cowboy hat",
    ),
}  # fmt: skip
"""The labels that are tested, named before any slope was estimated on these photographs: what is said to go with the
perceived gender of a person and a network of everyday things has a label for. q is over these only (``--named``)."""
CONTRASTS = {
    "perceived_gender": Contrast("perceived_gender", "female", "male"),
    "skin_tone": Contrast("skin_tone", "darker", "lighter"),
}


def people(half: str, most: int, work: Path) -> Images:
    """Return photographs of one half, balanced by perceived gender and skin tone, with the groups that are reported.

    The first ones of more photographs are those of fewer: the order does not depend on ``most``.
    """
    everyone = subset().drop_duplicates("identity").reset_index(drop=True)[TUNING:]
    table = everyone.iloc[0 if half == "choose" else 1 :: 2].reset_index(drop=True)
    light = pd.Series(tones(list(table["image"]), work), index=table.index)
    women = table["Male"] <= 0
    lighter = light >= light.groupby(women).transform("median")
    turn = table.groupby([women, lighter]).cumcount()  # one of each of the four groups, then the next of each
    frame = table[["image", "identity", "Young", "Eyeglasses", "No_Beard"]].assign(
        perceived_gender=np.where(women, "female", "male"), skin_tone=np.where(lighter, "lighter", "darker")
    )
    return Images(frame.iloc[turn.sort_values(kind="stable").index[:most]].reset_index(drop=True))


def tones(images: list[str], work: Path) -> list[float]:
    """Measure how light the facial skin is; kept in the folder."""
    work.mkdir(parents=True, exist_ok=True)
    path = work / "tones.json"
    known: dict[str, float] = json.loads(path.read_text()) if path.is_file() else {}
    missing = [image for image in images if image not in known]
    if missing:
        show, measured = album(), create("classifier", "skin-tone")
        for image in missing:
            known[image] = float(measured.score(show([image], size=256))["lighter"][0])
        path.write_text(json.dumps(known))
    return [known[image] for image in images]


def project(given: argparse.Namespace) -> None:
    """Project the photographs with the default method, one by one; what is there is not projected again."""
    spec = ProjectSpec(generator="mobilestylegan", perceptual="lpips-alex", method="refine")
    images = list(people(given.half, given.photographs, given.work).keys)
    project_images(spec, images, given.work / "latents")


def options_of(given: argparse.Namespace, images: Images) -> dict[str, Any]:
    """Return the editor's options; for the direction editor with refined latents and the focal level."""
    options: dict[str, Any] = json.loads(given.options)
    if given.latents and given.editor == "direction":
        w = np.stack([np.load(given.latents / f"{Path(image).stem}.npz")["w"] for image in images.keys])
        path = given.work / given.name / "latents.npz"
        path.parent.mkdir(parents=True, exist_ok=True)
        Vectors(list(images.keys), w, source="mobilestylegan, W+, refined").write(path)
        options = {"latents": str(path), "focal": "female", **options}
    return options


def run(given: argparse.Namespace) -> None:
    """Edit and measure block by block."""
    images = people(given.half, given.photographs, given.work)
    if given.latents:
        there = [image for image in images.keys if (given.latents / f"{Path(image).stem}.npz").is_file()]
        images = images.subset(there)
    options = options_of(given, images)
    spec = SweepSpec(editor=given.editor, options=options, attribute=given.attribute, strengths=given.strengths)
    editor = editor_of(spec)
    held = tuple(editor.held) if hasattr(editor, "held") else None
    toward = "female" if "gender" in editor.attribute else str(getattr(editor, "focal", ""))
    validators, notes = choose_validators(ValiditySpec(), set(), Edited(editor.attribute, toward, held, False))
    print(*notes, sep="\n", flush=True)
    number, of = map(int, given.share.split("/"))
    for start in range(BLOCK * (number - 1), len(images), BLOCK * of):
        folder = given.work / given.name / given.half / f"{start:04d}"
        if not (folder / "measured.parquet").is_file():
            block(images.subset(images.keys[start : start + BLOCK]), spec, validators, folder)
            print(folder, flush=True)


def block(images: Images, spec: SweepSpec, validators: ValiditySpec, folder: Path, editor: Any = None) -> None:
    """Edit and measure a few photographs; why some were not edited is kept, too.

    ``editor`` is an editor other than the one that the spec names.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", LikewiseWarning)
        try:
            edits = counterfactual(
                images, album(), editor=editor or spec.editor, folder=folder, strengths=spec.strengths, spec=spec
            )
            measured = validate_edits(edits, folder, spec=validators).frame
        except LikewiseError as error:  # hardly any face of the block can be edited
            (folder / "refused.txt").write_text(str(error))
            return
    (folder / "remarks.txt").write_text("\n".join(str(one.message) for one in caught))
    edits.write(folder / "edits.parquet")
    Ratings(measured[~measured["question"].isin([VALID, BEYOND])]).write(folder / "measured.parquet")


def artifacts_again(path: Path) -> Ratings:
    """Return the measurements of a block; other weights of the artifact validator measure its pictures again."""
    known = WEIGHTS.read_bytes() + RECONSTRUCTION_WEIGHTS.read_bytes() + str(REDRAWN).encode()
    digest = hashlib.sha256(known).hexdigest()[:12]
    kept = path.with_name(f"measured-{digest}.parquet")
    if not kept.is_file():
        frame, edits = Ratings.read(path).frame, Images.read(path.with_name("edits.parquet")).frame
        tone = (edits["source"] == "editor distilled").all() and "tone" in path.parts[-4]
        spec = ValiditySpec(target="skin-tone: darker" if tone else "faceres-gender: female")
        again: dict[str, dict[str, float]] = {ARTIFACT: {}, CONTROL + ARTIFACT: {}}
        for parent, part in edits.sort_values("level").groupby("parent"):
            original, control = (_shown(path.parent, [key_of(str(parent), 0.0, arm)]) for arm in (ORIGINAL, MASK))
            shown = _shown(path.parent, list(part["image"]))
            scores = edit_artifacts(spec, original[0], shown, control)
            again[ARTIFACT] |= dict(zip(part["image"], scores, strict=True))
            drawn = control_artifacts(original[0], shown, control)
            again[CONTROL + ARTIFACT] |= dict.fromkeys(part["image"], drawn)
        rows = [
            pd.DataFrame({"unit": list(values), "rater": RATER, "question": question, "value": list(values.values())})
            for question, values in again.items()
        ]
        others = frame[~frame["question"].isin(list(again))]
        Ratings(pd.concat([others, *rows], ignore_index=True)).write(kept)
    return Ratings.read(kept)


def _shown(folder: Path, keys: list[str]) -> Pictures:
    """Return pictures of a block; none where the editor has no such arm."""
    files = [folder / file_of(key) for key in keys if (folder / file_of(key)).is_file()]
    return np.stack([decode(file) for file in files]) if files else np.zeros((0, 1, 1, 3), np.uint8)


def pooled(work: Path, name: str, half: str) -> tuple[Images, Ratings]:
    """Return the edits and the measurements of all blocks."""
    blocks = sorted((work / name / half).glob("*/measured.parquet"))
    edits = [Images.read(path.with_name("edits.parquet")).frame for path in blocks]
    measured = [artifacts_again(path) for path in blocks]
    return Images(pd.concat(edits, ignore_index=True)), Ratings.together(measured)


def validity(edits: Images, measured: Ratings, contrast: Contrast) -> tuple[Ratings, pd.Series[str]]:
    """Hold all edits to the rules; return the verdicts and the reasons."""
    target = "skin-tone: darker" if contrast.column == "skin_tone" else "faceres-gender: female"
    spec = ValiditySpec(target=target, held=(), recognizer="mobilefacenet", artifacts="network")
    spec = replace(spec, person=Validators(replace(spec, target="")).person)
    verdict = assess(measured, edits, spec, groups=_groups(edits, contrast))
    print(*verdict.notes, f"Strengths excluded for all: {list(verdict.too_far)}.")
    return Ratings.together([measured, verdicts(verdict, edits)]), verdict.reasons


def _groups(edits: Images, contrast: Contrast) -> dict[str, int]:
    """Return the group of each original; with one group only none, so that no edit is valid."""
    try:
        return groups_of(edits, contrast)
    except ContrastError as error:
        print(f"  {error} So the validator is not known to separate the groups, and no edit is valid.")
        return {}


def report(given: argparse.Namespace) -> None:
    """Print for every editor in DIR how many edits are valid, by group, and why the others are not."""
    for folder in sorted({path.parents[2] for path in given.work.glob(f"*/{given.half}/*/measured.parquet")}):
        edits, measured = pooled(given.work, folder.name, given.half)
        contrast = CONTRASTS["skin_tone" if "tone" in folder.name else "perceived_gender"]
        print(f"\n{folder.name}: {edits.frame['parent'].nunique()} photographs")
        found, reasons = validity(edits, measured, contrast)
        kept = set(valid_edits(found, edits).frame["parent"])
        one = edits.frame.drop_duplicates("parent")
        print(f"  valid: {len(kept)} of {len(one)}")
        for group in GROUPS:
            for level, part in one.groupby(group):
                print(f"    {group} {level}: {part['parent'].isin(kept).sum()} of {len(part)}")
        for why, count in Counter(w for text in reasons for w in text.split(", ")).most_common():
            print(f"    not valid, {why}: {count}")
        print(moved(measured, edits))


def moved(measured: Ratings, edits: Images) -> str:
    """Return the medians of what the validators measured at every strength."""
    frame = measured.frame.merge(edits.frame[["image", "level"]], left_on="unit", right_on="image")
    wanted = frame[frame["question"].isin([TARGET, PERSON, ARTIFACT]) | frame["question"].str.startswith("drift of")]
    size = wanted.assign(value=np.where(wanted["question"].isin([TARGET]), wanted["value"], wanted["value"].abs()))
    return size.pivot_table(index="question", columns="level", values="value", aggfunc="median").round(3).to_string()


def slopes(given: argparse.Namespace) -> None:
    """Rate the edits of every block with label networks, and estimate the slopes on the valid ones."""
    folder = given.work / given.name / given.half
    for label in given.labels:
        for path in sorted(folder.glob("*/edits.parquet")):
            if not (kept := path.with_name(f"{label}.parquet")).is_file():
                edits = Images.read(path)
                together = Images(pd.concat([edits.frame, placebo_images(edits, path.parent).frame], ignore_index=True))
                rate(together, path.parent, model=label).write(kept)
    edits, measured = pooled(given.work, given.name, given.half)
    valid = valid_edits(validity(edits, measured, CONTRASTS[given.contrast])[0], edits)
    print(f"{valid.frame['parent'].nunique()} of {edits.frame['parent'].nunique()} photographs have valid edits")
    random = random_arm(folder)
    placebo = random.subset(random.frame.loc[random.frame["parent"].isin(valid.frame["parent"]), "image"].tolist())
    parts = [
        _tested(Ratings.read(path), label, named=given.named)
        for label in given.labels
        for path in sorted(folder.glob(f"*/{label}.parquet"))
    ]
    ratings = Ratings.together(parts)  # q values are over these labels of all networks
    for sample, part in (("valid edits", valid), ("all edits, no finding", edits), ("random direction", placebo)):
        print(table(ratings, part, sample))


def _tested(ratings: Ratings, label: str, *, named: bool) -> Ratings:
    """Return the answers of one network: those about the labels that were named in advance, or all."""
    frame = ratings.frame
    return Ratings(frame[frame["question"].isin(NAMED[label])].reset_index(drop=True)) if named else ratings


def random_arm(folder: Path) -> Images:
    """Return the placebo arm with a strength."""
    frames = [
        placebo_images(Images.read(path), path.parent).frame.query("source == 'random'")
        for path in sorted(folder.glob("*/edits.parquet"))
    ]
    return Images(pd.concat(frames, ignore_index=True))


def table(ratings: Ratings, images: Images, sample: str) -> str:
    """Return the slopes of labels, the largest first."""
    if images.frame["parent"].nunique() < 4:
        return f"{sample}: too few photographs"
    ratings = Ratings(ratings.frame[ratings.frame["unit"].isin(images.keys)].reset_index(drop=True))
    found = lw.slopes(ratings, images, threshold=0.5, sample=sample).frame
    found = found[found["stat"].isin(["slope", "rate_slope"]) & found["low"].notna()]
    tests = slope_tests(ratings, images, threshold=0.5).frame
    q = tests[tests["stat"] == "q_by"].drop_duplicates("quantity").set_index("quantity")["estimate"]
    found = found.assign(q_by=found["quantity"].map(q))
    order = found["estimate"].abs().sort_values(ascending=False).index[:8]
    return found.loc[order, ["quantity", "sample", "stat", "estimate", "low", "high", "q_by", "n"]].to_string(
        index=False
    )


def main() -> None:
    """Run a command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["project", "run", "report", "slopes"])
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--editor", default="distilled")
    parser.add_argument("--name", default="", help="folder in DIR; default: the editor")
    parser.add_argument("--attribute", default="")
    parser.add_argument("--options", default="{}", help="options of the editor, JSON")
    parser.add_argument("--latents", type=Path, help="folder of refined latents: only these photographs")
    parser.add_argument("--strengths", type=even_strengths, default=even_strengths("-1:1:5"))
    parser.add_argument("--photographs", type=int, default=20)
    parser.add_argument("--share", default="1/1", help="run: of the blocks, the k-th of n")
    parser.add_argument("--half", choices=["choose", "report"], default="report")
    parser.add_argument("--contrast", choices=sorted(CONTRASTS), default="perceived_gender")
    parser.add_argument("--labels", nargs="+", default=["gender"])
    parser.add_argument("--named", action="store_true", help="slopes: only the labels that were named in advance")
    given = parser.parse_args()
    given.name = given.name or given.editor
    {"project": project, "run": run, "report": report, "slopes": slopes}[given.command](given)


if __name__ == "__main__":
    main()
