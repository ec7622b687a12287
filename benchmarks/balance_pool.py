"""How comparable are label-free matched pairs of real photographs? Beside the paper's way and a randomized experiment.

    python -m benchmarks.balance_pool --latents FILE.npy [--described FILE.parquet] [--half report]
        [--pairs 100 200 300] [--keep ROWS.csv]

Needs the pool of CelebA-HQ that LIKEWISE_DATA names (10,772 photographs, 2,430 identities; none is shown or kept).
FILE holds the encoder's latents (or the described columns), computed once if it is missing (minutes). The identities
are split in two halves at random: designs are chosen on ``choose`` and reported on ``report``. Every design is measured
by covariates that were not used for matching: the absolute standardized difference of a trial's mean, and of the
difference of its two images, averaged over eleven attributes; its standard deviation is over bootstrap samples of
pairs. A randomized experiment with as many pairs has sqrt(2 / pairs) sqrt(2 / pi) by chance alone.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

import likewise as lw
from benchmarks.projection import DATA
from likewise.audit.described import OwnPart, measured_response
from likewise.data.describe_spec import BALANCED, HEADWEAR, DescribeSpec
from likewise.design.balance.frontier import by_chance
from likewise.design.features import freed_components, joined, scores
from likewise.runtime.executor import Executor
from likewise.runtime.registry import create

MEASURED = (
    "Young", "Smiling", "Mouth_Slightly_Open", "Eyeglasses", "Wearing_Hat", "Blurry", "Pale_Skin", "Chubby",
    "Double_Chin", "Gray_Hair", "Narrow_Eyes",
)  # fmt: skip
DESCRIBED = (*BALANCED, HEADWEAR)
CONTRAST = lw.Contrast("perceived_gender", "female", "male")
GROUPS = (4, 6, 13)  # rows of W+ that the encoder places together
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Half:
    """Half of the people: images, their latents by group of rows ``[n, 3, 512]``, and all genuine trials."""

    images: lw.Images
    latents: lw.Vectors
    trials: lw.Trials
    described: pd.DataFrame | None = None
    """By image, the columns ``DESCRIBED``."""

    def mean_row(self) -> lw.Vectors:
        """Return the mean over all rows of W+."""
        share = np.array(GROUPS) / sum(GROUPS)
        return lw.Vectors(self.latents.keys, np.einsum("ngd,g->nd", self.latents.values, share), source="mean row")

    def scores(self) -> lw.Vectors:
        """Return the scores along the shipped directions but the contrast's own."""
        from likewise.latents.directions import shipped  # noqa: PLC0415  (loads scikit-learn)

        known = shipped("mobilestylegan")
        named = dict(zip(known.names, known.gradients, strict=True))
        return scores(self.mean_row(), {name: g for name, g in named.items() if name != "predicted_gender"})

    def components(self, count: int, *, freed: bool = False) -> lw.Vectors:
        """Return principal components over the groups of rows; ``freed`` of the conditional direction of gender."""
        from likewise.latents.directions import shipped  # noqa: PLC0415  (loads scikit-learn)

        if not freed:
            return freed_components(self.latents, count)
        known, own = shipped("mobilestylegan"), "predicted_gender"
        step = known.step(own, hold=[name for name in known.names if name != own])
        whole = lw.Vectors(self.latents.keys, np.repeat(self.latents.values, GROUPS, axis=1), source="encoder")
        return freed_components(whole, count, step=step, gradient=known.gradients[known.names.index(own)])

    def shapes(self, columns: tuple[str, ...] = BALANCED, *, freed: bool = True) -> lw.Vectors:
        """Return described columns, by default without what they owe to gender itself."""
        if self.described is None:
            raise SystemExit("Designs with described columns need --described FILE.parquet.")
        table = self.described.loc[self.images.keys, list(columns)].astype("float64")
        table = table.fillna(table.mean())
        if freed:
            gradient, response = own_response()
            score = pd.Series(self.mean_row().values @ gradient, index=self.images.keys)
            own = OwnPart(score, response)
            table = table.apply(own.freed)
        return lw.Vectors(self.images.keys, table.to_numpy(), source="described")


@cache
def own_response() -> tuple[Floats, dict[str, float]]:
    """Return the gradient of gender's score, and how the described columns respond to it on drawn faces."""
    from likewise.latents.directions import shipped  # noqa: PLC0415  (loads scikit-learn)

    known, own = shipped("mobilestylegan"), "predicted_gender"
    step = known.step(own, hold=[name for name in known.names if name != own])
    gradient = np.asarray(known.gradients[known.names.index(own)], dtype=np.float64)
    generator = create("generator", "mobilestylegan", {})
    return gradient, measured_response(generator, step, gradient, DescribeSpec(columns=DESCRIBED))


def described(names: list[str], target: Path) -> pd.DataFrame:
    """Describe the photographs of a half, or read what was described; a stopped run goes on."""
    if not target.exists():
        images = lw.Images(pd.DataFrame({"image": names, "identity": names}))
        folder = DATA / "celebahq" / "images"
        spec = DescribeSpec(columns=DESCRIBED)
        made = lw.describe(images, folder, spec=spec, executor=Executor(chunk=64), folder=target.with_suffix(".parts"))
        made.frame[["image", *DESCRIBED]].to_parquet(target)
    return pd.read_parquet(target).set_index("image")


def halves(latents: Path) -> dict[str, Half]:
    """Read the pool and split its identities at random."""
    pool = pd.read_csv(DATA / "celebahq" / "pool.csv")
    table = pd.read_parquet(DATA / "celebahq" / "faces.parquet").set_index("celebahq_index").loc[pool["celebahq_index"]]
    frame = pd.DataFrame({"image": pool["image"].astype(str), "identity": pool["identity"].astype(str)})
    frame["perceived_gender"] = np.where(table["Male"].to_numpy() > 0, "male", "female")
    for name in MEASURED:
        frame[name] = (table[name].to_numpy() > 0).astype(float)
    values = np.load(latents) if latents.exists() else encoded(pool["image"].astype(str).tolist(), latents)
    one = frame.groupby("identity")["perceived_gender"].nunique()
    people = np.random.default_rng(0).permutation(sorted(one.index[one == 1]))
    found = {}
    for name, chosen in zip(("choose", "report"), np.array_split(people, 2), strict=True):
        rows = frame["identity"].isin(chosen).to_numpy()
        images = lw.Images(frame[rows])
        found[name] = Half(
            images,
            lw.Vectors(images.keys, values[rows], source="encoder"),
            lw.trials(images, seed=0, genuine="all"),
        )
    return found


def encoded(names: list[str], target: Path) -> npt.NDArray[np.float32]:
    """Encode the photographs; one row for each group of rows."""
    import torch  # noqa: PLC0415
    from PIL import Image  # noqa: PLC0415

    from likewise.latents.encoder import Start  # noqa: PLC0415
    from likewise.runtime.registry import create  # noqa: PLC0415

    start, parts = Start(create("generator", "mobilestylegan", {})), []
    for at in range(0, len(names), 16):
        files = [DATA / "celebahq" / "images" / name for name in names[at : at + 16]]
        pixels = np.stack([np.asarray(Image.open(file).convert("RGB")) for file in files])
        w = start(torch.from_numpy(pixels).permute(0, 3, 1, 2).float() / 127.5 - 1)
        parts.append(w[:, [0, 5, 15]].numpy())
    values = np.concatenate(parts)
    np.save(target, values)
    return values


def imbalance(half: Half, chosen: pd.DataFrame) -> tuple[Floats, Floats]:
    """Return |SMD| of means and of differences, ``[11]`` each, of trials with columns ``a``, ``b`` and ``side``."""
    table = half.images.frame.set_index("image")[list(MEASURED)]
    whole = half.trials.frame
    side = CONTRAST.side(half.images)

    def parts(frame: pd.DataFrame) -> tuple[Floats, Floats]:
        x, y = (table.loc[frame[end]].to_numpy(dtype=np.float64) for end in ("a", "b"))
        return (x + y) / 2, np.abs(x - y)

    found = []
    for own, every in zip(parts(chosen), parts(whole), strict=True):
        sign, signs = chosen["side"].to_numpy(), side.loc[whole["a"]].to_numpy()
        spread = np.sqrt((every[signs == 1].var(axis=0) + every[signs == -1].var(axis=0)) / 2)
        found.append(np.abs(own[sign == 1].mean(axis=0) - own[sign == -1].mean(axis=0)) / spread)
    return found[0], found[1]


def sides(matched: lw.Matches, trials: dict[str, str] | None = None) -> pd.DataFrame:
    """Return the trials of a matching; of single images with the second image that ``trials`` names."""
    frame, parts = matched.frame, []
    for end, sign in (("a", 1), ("b", -1)):
        if matched.unit == "trial":
            rows = pd.DataFrame({"a": frame[f"{end}_first"], "b": frame[f"{end}_second"]})
        elif "ref_a" in frame.columns:
            rows = pd.DataFrame({"a": frame[end], "b": frame[f"ref_{end}"]})
        else:
            rows = pd.DataFrame({"a": frame[end], "b": frame[end].map(trials or {})})
        parts.append(rows.assign(side=sign, pair=frame["pair"]))
    return pd.concat(parts, ignore_index=True)


Design = Callable[[Half, int], pd.DataFrame]


def images(vectors: Callable[[Half], lw.Vectors], **options: object) -> Design:
    """Match single images; the second image is the next in a random ring, or a reference."""

    def design(half: Half, pairs: int) -> pd.DataFrame:
        ring = lw.trials(half.images, seed=0).frame
        made, spec = vectors(half), lw.MatchSpec(max_pairs=pairs, **options)  # type: ignore[arg-type]
        difficulty = made if spec.references else None
        found = lw.match(half.images, made, CONTRAST, spec, difficulty=difficulty)
        return sides(found, dict(zip(ring["a"], ring["b"], strict=True)))

    return design


def nearest(vectors: Callable[[Half], lw.Vectors]) -> Design:
    """Match trials, closest first."""
    return lambda half, pairs: sides(
        lw.match(half.images, vectors(half), CONTRAST, lw.MatchSpec(max_pairs=pairs), units=half.trials)
    )


def cardinality(vectors: Callable[[Half], lw.Vectors]) -> Design:
    """Balance trials as tightly as so many pairs allow, within an SMD of 0.2."""
    spec = lw.MatchSpec(method="cardinality", max_smd=0.2)
    return lambda half, pairs: sides(
        lw.match(half.images, vectors(half), CONTRAST, replace(spec, max_pairs=pairs), units=half.trials)
    )


def unmatched(half: Half, _: int) -> pd.DataFrame:
    """Return all genuine trials."""
    frame = half.trials.frame
    return frame.assign(side=CONTRAST.side(half.images).loc[frame["a"]].to_numpy(), pair=frame["trial"])


def scores_and(count: int) -> Callable[[Half], lw.Vectors]:
    """Return scores and principal components side by side."""
    return lambda half: joined(half.scores(), half.components(count, freed=True))


def components_and_shapes(
    count: int, *, freed: bool, columns: tuple[str, ...] = BALANCED
) -> Callable[[Half], lw.Vectors]:
    """Return components and described columns side by side."""
    return lambda half: joined(half.components(count, freed=True), half.shapes(columns, freed=freed))


DESIGNS: dict[str, Design] = {
    "unmatched": unmatched,
    "one image, all rows, equally difficult references (the paper's way)": images(lambda h: h.latents, references=True),
    "one image, mean row": images(Half.mean_row),
    "trials, mean row, nearest": nearest(Half.mean_row),
    "trials, scores, nearest": nearest(Half.scores),
    "trials, scores, cardinality": cardinality(Half.scores),
    "trials, 40 components, cardinality": cardinality(lambda h: h.components(40)),
    "trials, 40 components without the conditional direction, cardinality": cardinality(
        lambda h: h.components(40, freed=True)
    ),
    "trials, scores and these 40 components, cardinality": cardinality(scores_and(40)),
    "trials, these 40 components and six described columns, cardinality": cardinality(
        components_and_shapes(40, freed=False)
    ),
    "trials, these 40 components and six described columns without their own part, cardinality": cardinality(
        components_and_shapes(40, freed=True)
    ),
    "trials, the same and headwear, cardinality": cardinality(components_and_shapes(40, freed=True, columns=DESCRIBED)),
}


def assessed(half: Half, pairs: list[int], names: list[str], draws: int = 200) -> Iterator[dict[str, object]]:
    """Measure every design at every size."""
    rng = np.random.default_rng(1)
    for name in names:
        for size in pairs if name != "unmatched" else pairs[:1]:
            begun = time.process_time()
            chosen = DESIGNS[name](half, size)
            seconds = time.process_time() - begun
            means, apart = (part.mean() for part in imbalance(half, chosen))
            keys = chosen["pair"].unique()
            by = dict(iter(chosen.groupby("pair")))
            again = [
                [part.mean() for part in imbalance(half, pd.concat([by[key] for key in rng.choice(keys, len(keys))]))]
                for _ in range(draws if name != "unmatched" else 0)
            ]
            spread = np.std(again, axis=0) if again else np.zeros(2)
            yield {"design": name, "pairs": len(keys), "means": means, "sd": spread[0], "differences": apart,
                   "sd ": spread[1], "cpu s": seconds}  # fmt: skip
        if name == "unmatched":
            for size in pairs:
                floor = by_chance(size)
                yield {"design": "a randomized experiment (expected)", "pairs": size, "means": floor, "sd": 0.0,
                       "differences": floor, "sd ": 0.0, "cpu s": 0.0}  # fmt: skip


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--latents", type=Path, required=True)
    parser.add_argument("--described", type=Path, help="Parquet of described columns of the half, computed if missing")
    parser.add_argument("--half", choices=("choose", "report"), default="report")
    parser.add_argument("--pairs", type=int, nargs="*", default=[100, 200, 300])
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--designs", nargs="*", default=list(DESIGNS))
    parser.add_argument("--keep", type=Path, help="CSV to which every row is added; a stopped run goes on from it")
    options = parser.parse_args()
    half = halves(options.latents)[options.half]
    if options.described:
        half = replace(half, described=described(half.images.keys, options.described))
    sides_ = CONTRAST.side(half.images).value_counts().to_dict()
    print(f"{len(half.images)} images ({sides_}), {len(half.trials)} genuine trials")
    done = pd.read_csv(options.keep) if options.keep and options.keep.exists() else pd.DataFrame({"design": []})
    for name in [name for name in options.designs if name not in set(done["design"])]:
        rows = pd.DataFrame(assessed(half, options.pairs, [name], options.draws))
        print(rows.to_string(index=False, header=False, float_format=lambda value: f"{value:.3f}"), flush=True)
        if options.keep:
            rows.to_csv(options.keep, mode="a", header=not options.keep.exists(), index=False)


if __name__ == "__main__":
    main()
