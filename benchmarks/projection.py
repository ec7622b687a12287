"""Projection of real photographs, measured: needs the CelebA-HQ subset that LIKEWISE_DATA names.

    python -m benchmarks.projection project --method singh2021 --perceptual lpips-vgg --images 3 --work DIR
    python -m benchmarks.projection project --tuning --phases 128:4:0.5 1024:4:0.5 --work DIR
    python -m benchmarks.projection project --tuning --adam --phases 128:40:0.08 1024:16:0.06 --work DIR
    python -m benchmarks.projection cost --work DIR
    python -m benchmarks.projection seconds --tuning --images 20

``project`` projects photographs one by one and keeps of each its latent, its CPU seconds and its distances by LPIPS,
dlib and SFace, so a stopped run goes on where it was. The photographs are one each of identities in a random order with
a fixed seed; the first 8 and the last 12 of ``tuning`` are for choosing settings and are never reported. ``--phases``
tries other phases of ``refine`` (pixels:steps:rate, the full size last); ``--adam`` takes whitened Adam steps instead
of Gauss-Newton's; ``--share 1/2`` and ``--share 2/2`` do the work of one command in two processes.

``cost`` measures in one run what the encoder costs alone, and what the stage ``project`` of an audit costs with it.
``seconds`` measures the encoder, ``quick`` and ``refine`` in turn on each photograph, so that their ratios hold on a
machine that is busy.
"""

from __future__ import annotations

import argparse
import os
import shutil
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import torch

from likewise.audit.runner import run
from likewise.latents import gradient
from likewise.latents.encoder import Start
from likewise.latents.gradient import COMPARED, shrunk
from likewise.latents.projection import EVERY, ProjectSpec, solver
from likewise.latents.schedules import Phase
from likewise.runtime.cpu import keep_freed_memory
from likewise.runtime.pixels import ImageFolder
from likewise.runtime.progress import reporter
from likewise.runtime.registry import Pictures, Recognizer, create, to_pictures, to_signals

DATA = Path(os.environ.get("LIKEWISE_DATA", Path(__file__).parents[2] / "shared" / "data"))
TUNING = 8
"""Photographs on which settings were chosen at first; the reported ones come after them."""
REPORTED = 160
"""Photographs that are reported at most; no setting is chosen on them."""


def subset() -> pd.DataFrame:
    """Return the photographs of the subset in a random order that never changes."""
    faces = pd.read_parquet(DATA / "celebahq" / "faces.parquet").set_index("image")
    rows = faces.loc[pd.read_csv(DATA / "celebahq" / "subset.csv")["image"]].reset_index()
    return rows.sample(frac=1, random_state=20260)


def photographs(*, tuning: bool = False) -> pd.DataFrame:
    """Return one photograph each of the subset's identities.

    For tuning: the first 8, and the last four each with eyeglasses, not young, and neither; reported ones end before.
    """
    shuffled = subset().drop_duplicates("identity").reset_index(drop=True)
    early, late = shuffled[:TUNING], shuffled[TUNING + REPORTED :]
    glasses, young = late["Eyeglasses"] > 0, late["Young"] > 0
    kinds = (glasses, ~glasses & ~young, ~glasses & young)
    last = pd.concat([late[kind][-4:] for kind in kinds])
    return pd.concat([early, last]) if tuning else shuffled[TUNING : TUNING + REPORTED]


def album() -> ImageFolder:
    """Show the photographs."""
    root = (DATA / "celebahq" / "images").resolve()
    return ImageFolder(root, {path.name: path.name for path in root.glob("*.jpg")})


def project(spec: ProjectSpec, images: list[str], work: Path) -> None:
    """Project what is not projected yet, and keep what came of it."""
    work.mkdir(parents=True, exist_ok=True)
    # The distance left is measured below; what the encoder and quick compare by themselves is left out of their cost.
    generator, perceptual, solve = solver(spec, every=EVERY)
    recognizers: dict[str, Recognizer] = {name: create("recognizer", name) for name in ("dlib", "sface")}
    show = album()
    for image in images:
        kept = work / f"{Path(image).stem}.npz"
        if kept.exists():
            continue
        target = to_signals(show([image], size=generator.resolution))
        start = time.process_time()
        w, _ = solve(target)
        spent = time.process_time() - start
        drawn = generator.synthesize(w)
        left = perceptual.distance(*(shrunk(torch.from_numpy(each), COMPARED).numpy() for each in (drawn, target)))
        apart = {name: distance(each, to_pictures(target), to_pictures(drawn)) for name, each in recognizers.items()}
        fresh = kept.with_suffix(".part.npz")
        np.savez(fresh, w=w[0], seconds=spent, perceptual=left[0], recognizer=apart["dlib"], sface=apart["sface"])
        fresh.replace(kept)
        print(f"{image}: {spent:.2f} CPU s, {perceptual.name} {left[0]:.4f}, {apart}", flush=True)


def cost(work: Path, few: int = 400) -> None:
    """Print the CPU seconds an image of the encoder alone and of the stage, as a ratio.

    The stage runs on so many images and on twice as many; the difference leaves out the loading of networks.
    """
    images = list(subset()["image"][: 2 * few])
    start, show = Start(create("generator", "mobilestylegan")), album()
    alone = []
    for image in images[:100]:
        target = torch.from_numpy(to_signals(show([image], size=256)))
        begun = time.process_time()
        start(target)
        alone.append(time.process_time() - begun)
    spent = [_stage_seconds(work / str(count), images[:count]) for count in (few, 2 * few)]
    each, own = (spent[1] - spent[0]) / few, float(np.mean(alone[10:]))
    print(f"encoder alone {own:.4f} CPU s an image, in the stage {each:.4f}: {each / own:.2f} times")


def seconds(images: list[str]) -> None:
    """Print the CPU seconds an image of three methods, in the median, each timed in turn on the same images."""
    ways = {
        method: solver(ProjectSpec(generator="mobilestylegan", perceptual="lpips-alex", method=method), every=EVERY)[2]
        for method in ("encoder", "quick", "refine")
    }
    show, spent = album(), {method: list[float]() for method in ways}
    for image in images:
        target = to_signals(show([image], size=256))
        for method, solve in ways.items():
            begun = time.process_time()
            solve(target)
            spent[method].append(time.process_time() - begun)
    each = pd.DataFrame(spent)[1:].median()  # the first image warms up
    print(
        ", ".join(
            f"{way} {each[way]:.4f} CPU s ({each[way] / each['encoder']:.1f} times the encoder)" for way in each.index
        )
    )


def _stage_seconds(folder: Path, images: list[str]) -> float:
    """Lay out an audit of these images and return the CPU seconds of its stage ``project``; nothing is cached."""
    if folder.exists():
        shutil.rmtree(folder)
    folder.mkdir(parents=True)
    rows = subset().set_index("image").loc[images].reset_index()
    rows["perceived_gender"] = np.where(rows["Male"] > 0, "male", "female")
    rows[["image", "identity", "perceived_gender"]].to_csv(folder / "people.csv", index=False)
    root = os.path.relpath((DATA / "celebahq" / "images").resolve(), folder.resolve())
    (folder / "audit.toml").write_text(_ENCODED.format(images=root))
    run(str(folder), reporter=reporter(quiet=True), only="read")
    begun = time.process_time()
    run(str(folder), reporter=reporter(quiet=True), only="project")
    return time.process_time() - begun


_ENCODED = """\
format = 2

[data]
images = "{images}"
table = "people.csv"

[contrast]
column = "perceived_gender"
focal = "female"
reference = "male"

[project]
generator = "mobilestylegan"
perceptual = "lpips-alex"
method = "encoder"

[executor]
cache = false
"""


def distance(recognizer: Recognizer, one: Pictures, other: Pictures) -> float:
    """Return the distance between the faces of two pictures ``[1, H, W, 3]``; NaN if one shows none."""
    seen = recognizer.embed(np.concatenate([one, other]))
    return float(recognizer.distance(seen[:1], seen[1:])[0])


def phases(given: list[str], like: tuple[Phase, ...], full: int = 1024) -> tuple[Phase, ...]:
    """Read phases; only the first one's rate rises, because the others go on from where one has arrived."""
    parts = [(int(size), int(steps), float(rate)) for size, steps, rate in (text.split(":") for text in given)]
    first, *others = like[:2]
    return tuple(
        replace(others[0] if number else first, steps=steps, lr=rate, size=None if size == full else size)
        for number, (size, steps, rate) in enumerate(parts)
    )


def share(images: list[str], given: str) -> list[str]:
    """Return every n-th image from the k-th on, for ``k/n``."""
    number, of = map(int, given.split("/"))
    return images[number - 1 :: of]


def main() -> None:
    """Run a command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["project", "cost", "seconds"])
    parser.add_argument("--work", type=Path)
    parser.add_argument("--method", default="refine")
    parser.add_argument("--perceptual", default="lpips-alex")
    parser.add_argument("--lambda", dest="lambda_", type=float)
    parser.add_argument("--effort", type=float, default=1.0)
    parser.add_argument("--phases", nargs="+", help="pixels:steps:rate, instead of refine's own")
    parser.add_argument("--adam", action="store_true", help="steps of Adam, as before the average curvature was known")
    parser.add_argument("--images", type=int, default=60)
    parser.add_argument("--share", default="1/1", help="of the photographs: the k-th of n")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--tuning", action="store_true", help="the photographs for tuning, not the reported ones")
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    keep_freed_memory()
    if given.work is None and given.command != "seconds":
        parser.error("--work is missing")
    if given.command == "cost":
        cost(given.work)
        return
    if given.command == "seconds":
        seconds(list(photographs(tuning=given.tuning)["image"][: given.images]))
        return
    if given.phases:
        name = "ENCODED" if given.adam else "NEWTON"
        setattr(gradient, name, phases(given.phases, getattr(gradient, name)))
    if given.adam:
        setattr(gradient, "curvature_of", lambda _: None)  # noqa: B010
    spec = ProjectSpec(
        generator="mobilestylegan", perceptual=given.perceptual, method=given.method, effort=given.effort,
        lambda_=given.lambda_,
    )  # fmt: skip
    images = list(photographs(tuning=given.tuning)["image"][: given.images])
    project(spec, share(images, given.share), given.work)


if __name__ == "__main__":
    main()
