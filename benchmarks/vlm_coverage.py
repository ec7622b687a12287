"""Vision-language raters: does a planted rule come back with its interval, through HTTP and from the pixels?

    python -m benchmarks.vlm_coverage --work DIR --runs 200            # drawings of the simulated world
    python -m benchmarks.vlm_coverage --work DIR --runs 200 --drawn 40 # faces drawn by the embedded generator

A stand-in server speaks the chat-completions format and looks at the pictures it is sent: with the simulated world's
own reader, or (``--drawn``) with the network ``faceres-gender``. Its planted rule: pay = 4 + 2 x perceived gender +
noise; refusal with probability 0.1, or 0.3 where it perceives a woman; of two images it takes the first one shown with
probability 0.7, else the one that looks more like a woman. A blind server answers without looking. People are drawn
with replacement from a pool, whose own values are the truth: of pay, that among images that were answered at every
strength, which is what a slope is estimated from. Finished runs are kept in DIR.
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

from benchmarks.stand_ins.chat import answers, chatting, coin
from likewise.analysis.preferences import preferences
from likewise.analysis.slopes.estimate import Grid, known, slope_of, slopes
from likewise.rating.rate import columns, rate_images
from likewise.services.vlm.chat import VisionLanguageModel
from likewise.stats.intervals import wilson
from likewise.stats.jackknife import jackknife
from likewise.tables import Images, Ratings

STRENGTHS = (-1.0, 0.0, 1.0)
LOW, HIGH, BASE, EFFECT, NOISE = 0.0, 10.0, 4.0, 2.0, 1.5
REFUSED, REFUSED_WOMEN, FIRST = 0.1, 0.3, 0.7
QUESTIONS = (
    {"name": "pay", "kind": "number", "low": LOW, "high": HIGH, "text": "What does this person earn?"},
    {"name": "trust", "kind": "pair", "text": "Whom would you trust more?"},
)
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Pool:
    """Pictures ``[n, K, H, W, 3]`` of people at all strengths, and what the server perceives ``[n, K]``."""

    pictures: npt.NDArray[np.uint8]
    gender: Floats

    def seen(self) -> dict[str, float]:
        """Return what the server perceives, by the hash of a picture."""
        flat = self.pictures.reshape(-1, *self.pictures.shape[2:])
        return {_hash(picture): float(value) for picture, value in zip(flat, self.gender.ravel(), strict=True)}

    def truth(self) -> dict[str, float]:
        """Return the true values of the planted rule in the pool."""
        refused = np.where(self.gender > 0.5, REFUSED_WOMEN, REFUSED)
        pay = (BASE + EFFECT * self.gender) / (HIGH - LOW)
        whole = (1 - refused).prod(axis=1, keepdims=True)  # the chance of an answer at every strength
        answered = (pay * whole).sum(axis=0) / whole.sum()
        more = (self.gender[:, -1] > self.gender[:, 0]).mean()
        return {"pay": _slope(answered), "refused": _slope(refused.mean(axis=0)), "trust": FIRST * 0.5 + 0.3 * more}


def _slope(rates: Floats) -> float:
    """Return the slope of the rates over their middle one, as ``slopes`` defines it."""
    centered = np.array(STRENGTHS) - np.mean(STRENGTHS)
    return float(rates / rates[1] @ centered / (centered @ centered))


def toy_pool(people: int, seed: int) -> Pool:
    """Draw people of the simulated world, edited to all strengths; the perceived gender varies around the strength."""
    from likewise.runtime.registry import to_pictures  # noqa: PLC0415
    from likewise.simulation.scene import FACTORS, draw, see  # noqa: PLC0415

    rng = np.random.default_rng(seed)
    factors = rng.normal(0, 0.5, (people, len(FACTORS)))
    strips = []
    for strength in STRENGTHS:
        factors[:, 0] = strength + rng.normal(0, 0.3, people)
        strips.append(to_pictures(draw(factors)))
    pictures = np.stack(strips, axis=1)
    looked = see(pictures.reshape(-1, *pictures.shape[2:]))[:, 0]
    return Pool(pictures, 1 / (1 + np.exp(-2 * looked)).reshape(people, -1))


def drawn_pool(people: int, seed: int, work: Path) -> Pool:
    """Draw faces with the embedded generator, edit them along its direction, and look at them with a network."""
    kept = work / f"pool-{people}-{seed}.npz"
    if kept.is_file():
        with np.load(kept) as found:
            return Pool(found["pictures"], found["gender"])
    from benchmarks.foreign_edits import drawn_faces  # noqa: PLC0415  # networks load late
    from likewise.runtime.registry import create  # noqa: PLC0415

    faces = drawn_faces(people, seed)
    flat = faces.edits.reshape(-1, *faces.edits.shape[2:])
    gender = create("classifier", "faceres-gender").score(flat)["female"].astype(float).reshape(people, -1)
    whole = np.isfinite(gender).all(axis=1)
    small = faces.edits[whole][:, :, ::2, ::2]
    work.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(kept, pictures=small, gender=gender[whole])
    return Pool(np.ascontiguousarray(small), gender[whole])


def run_once(pool: Pool, people: int, seed: int, *, blind: bool) -> dict[str, list[float]]:
    """Audit one sample of people through a server: estimate and interval of each quantity."""
    rng = np.random.default_rng(seed)
    chosen = rng.integers(len(pool.pictures), size=people)
    seen = pool.seen()

    def rule(prompt: str, pictures: list[npt.NDArray[np.uint8]]) -> str:
        shown = hashlib.sha256(b"".join(picture.tobytes() for picture in pictures)).hexdigest()
        number = (seed, shown)  # noise by request, whichever thread comes first; equal pictures are stamped
        looked = [0.5 if blind else seen[_hash(picture)] for picture in pictures]
        if len(pictures) == 2:
            return answers("first" if coin(FIRST, number, "place") or looked[0] > looked[1] else "second")
        if coin(REFUSED_WOMEN if looked[0] > 0.5 else REFUSED, number, "refuse"):
            return "I'm sorry, but I can't make judgments about people."
        noise = np.random.default_rng([seed, int(shown[:16], 16)]).uniform(-NOISE, NOISE)
        return answers(round(float(np.clip(BASE + EFFECT * looked[0] + noise, LOW, HIGH)), 4))

    with chatting(rule) as server:
        model = VisionLanguageModel(endpoint=server.url, model="m", questions=QUESTIONS)
        return _estimates(model, pool, chosen)


def blind_pay(pool: Pool, people: int, seed: int) -> list[float]:
    """Estimate the slope of the blind server's pay without a server: the same answers, for many more runs."""
    chosen = np.random.default_rng(seed).integers(len(pool.pictures), size=people)
    values = np.full((people, len(STRENGTHS)), np.nan)
    for who, row in enumerate(chosen):
        for place, picture in enumerate(_stamped(pool.pictures[row], who)):
            shown = hashlib.sha256(picture.tobytes()).hexdigest()
            if not coin(REFUSED, (seed, shown), "refuse"):
                noise = np.random.default_rng([seed, int(shown[:16], 16)]).uniform(-NOISE, NOISE)
                values[who, place] = round(float(np.clip(BASE + EFFECT * 0.5 + noise, LOW, HIGH)), 4) / (HIGH - LOW)
    kept = values[np.isfinite(values).all(axis=1)]
    grid = Grid("pay", np.array(STRENGTHS), kept, [str(k) for k in range(len(kept))], np.arange(len(kept)))
    found = jackknife(grid.columns, slope_of(grid)[1], [grid.identity], level=0.95, dof=known(grid))
    return [found.estimate, found.low, found.high]


def _estimates(model: VisionLanguageModel, pool: Pool, chosen: npt.NDArray[np.int64]) -> dict[str, list[float]]:
    rows = [(f"p{who}@{strength:+g}", f"p{who}", f"p{who}", strength)
            for who in range(len(chosen)) for strength in STRENGTHS]  # fmt: skip
    strips = np.concatenate([_stamped(pool.pictures[row], who) for who, row in enumerate(chosen)])
    part = columns(model.score(strips), len(strips))
    keys = [row[0] for row in rows]
    edits = Images(pd.DataFrame(rows, columns=["image", "identity", "parent", "level"]).assign(source="pool"))
    ratings = rate_images(keys, part["labels"].tolist(), part["scores"], model)
    found = slopes(ratings, edits, threshold=float("nan"))
    own = _rows(found, {"pay": f"{model.name}: pay", "refused": f"{model.name}: pay: refused"})
    return {**own, **_pairs(model, pool, chosen)}


def _pairs(model: VisionLanguageModel, pool: Pool, chosen: npt.NDArray[np.int64]) -> dict[str, list[float]]:
    strips = np.stack([_stamped(pool.pictures[row], who) for who, row in enumerate(chosen)])
    found = model.prefer(strips[:, -1], strips[:, 0])
    units = [f"p{who}" for who in range(len(chosen))]
    pairs = pd.DataFrame({"unit": units, "sample": "counterfactual", "identity": units, "other": units})
    rated = pd.concat([pd.DataFrame({"unit": units, "rater": model.name, "question": name, "value": values})
                       for name, values in found.items()])  # fmt: skip
    estimates = preferences(Ratings(rated.reset_index(drop=True)), pairs, group="f - m")
    return _rows(estimates.where(stat="preference"), {"trust": f"{model.name}: trust"})


def _rows(found: Any, names: dict[str, str]) -> dict[str, list[float]]:
    frame = found.frame[found.frame["stat"].isin(["slope", "rate_slope", "preference"])].set_index("quantity")
    return {key: frame.loc[name, ["estimate", "low", "high"]].astype(float).tolist() for key, name in names.items()
            if name in frame.index}  # fmt: skip


def _stamped(pictures: npt.NDArray[np.uint8], who: int) -> npt.NDArray[np.uint8]:
    """Return the pictures with a number in a corner: a person who is drawn twice is asked about twice."""
    stamped = pictures.copy()
    stamped[:, 0, 0] = (who % 256, who // 256, 0)
    return stamped


def _hash(picture: npt.NDArray[np.uint8]) -> str:
    """Return the hash of a picture without the row that has the stamp."""
    return hashlib.sha256(np.ascontiguousarray(picture[1:]).tobytes()).hexdigest()


def summary(runs: list[dict[str, Any]], truth: dict[str, float], *, blind: bool) -> list[str]:
    """Say how often intervals hold the truth, with Wilson's interval of that share, and what is significant."""
    nulls = {"pay": 0.0, "refused": 0.0, "trust": 0.5}
    lines = []
    for key, value in (nulls if blind else truth).items():
        if not any(key in run for run in runs):
            continue
        rows = np.array([run[key] for run in runs if key in run])
        held, clear = [(rows[:, 1] <= at) & (at <= rows[:, 2]) for at in (value, nulls[key])]
        low, high = wilson(held.mean(), len(rows), level=0.95)
        lines.append(
            f"{'blind' if blind else 'planted'} {key:<8} truth {value:+.3f}  mean {rows[:, 0].mean():+.3f}  "
            f"covered {100 * held.mean():.1f} % ({100 * low:.1f} to {100 * high:.1f})  "
            f"significant {100 * (~clear).mean():.1f} %  runs {len(rows)}"
        )
    return lines


def main() -> None:
    """Run what is missing, and print the coverage."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--people", type=int, default=60)
    parser.add_argument("--blind", action="store_true", help="the blind server only")
    parser.add_argument("--drawn", type=int, default=0, help="faces drawn by the generator; 0: drawings of the world")
    parser.add_argument("--direct", type=int, default=0, help="so many runs of the blind pay slope without a server")
    given = parser.parse_args()
    if given.direct:
        pool = toy_pool(400, 11)
        direct = [{"pay": blind_pay(pool, given.people, seed)} for seed in range(given.direct)]
        print("\n".join(summary(direct, {}, blind=True)))
        return
    given.work.mkdir(parents=True, exist_ok=True)
    pool = drawn_pool(given.drawn, 11, given.work) if given.drawn else toy_pool(400, 11)
    for blind in (True,) if given.blind else (False, True):
        path = given.work / f"{'blind' if blind else 'planted'}-{given.drawn}-{given.people}.jsonl"
        done = [json.loads(line) for line in path.read_text().splitlines()] if path.is_file() else []
        with path.open("a") as handle:
            for seed in range(len(done), given.runs):
                done.append(run_once(pool, given.people, seed, blind=blind))
                handle.write(json.dumps(done[-1]) + "\n")
                handle.flush()
        print("\n".join(summary(done[: given.runs], pool.truth(), blind=blind)), flush=True)


if __name__ == "__main__":
    main()
