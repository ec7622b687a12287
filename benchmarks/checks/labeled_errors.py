"""How many labeled people with the rarer answer the two-phase correction of a gap in shares needs in each group.

    python -m benchmarks.checks.labeled_errors [--seeds 350] [--first 9000]

Thirty per cent of the identities are focal, images are few to many (negative binomial), and about one answer in eight
is yes. Predictions err in 30 % of the focal group and 6 % of the other, half of them for all images of a person, and
more often where answers are high. The limit of ``Phases.too_few`` is left out, so that its place can be seen.
"""

from __future__ import annotations

import argparse

import numpy as np
import numpy.typing as npt
import pandas as pd

from likewise.analysis.label_noise import Phases, moments
from likewise.errors import TableError
from likewise.stats.jackknife import jackknife
from likewise.tables import Contrast

CONTRAST = Contrast("predicted", focal="f", reference="m")
EFFECT, LIMIT = 0.4, 1.0
CELLS = ((200, 0.25), (400, 0.25), (800, 0.1), (800, 0.25))
BINS = (0, 5, 8, 12, 20, 1000)
Floats = npt.NDArray[np.float64]


def drawn(seed: int, people: int, share: float) -> tuple[pd.DataFrame, dict[str, str]]:
    """Return the answers with predicted sides, and the labels of a share of the people."""
    rng = np.random.default_rng([seed, 9])
    who = np.repeat(np.arange(people), np.minimum(1 + rng.poisson(rng.gamma(0.5, 5, people)), 40))
    true, hard = rng.random(people) < 0.3, rng.standard_t(5, people)
    y = EFFECT * true[who] + 0.5 * hard[who] + rng.exponential(0.5, len(who)) - 0.5
    chance = np.where(true, 0.3, 0.06)[who] * np.where(hard[who] > 0, 1.4, 0.6)
    own, each = rng.random(people)[who], rng.random(len(who))
    wrong = np.where((rng.random(people) < 0.5)[who], own, each) < chance
    side, image = np.where(true[who] != wrong, 1, -1), np.array([f"i{k}" for k in range(len(who))])
    frame = pd.DataFrame({"image": image, "identity": who, "side": side, "value": (y > LIMIT).astype(float)})
    seen = (rng.random(people) < share)[who]
    return frame, dict(zip(image[seen], np.where(true[who], "f", "m")[seen], strict=True))


def truth() -> float:
    """Return the gap in shares of an endless sample."""
    rng = np.random.default_rng(0)
    z = 0.5 * rng.standard_t(5, 1_000_000) + rng.exponential(0.5, 1_000_000) - 0.5
    return float((z + EFFECT > LIMIT).mean() - (z > LIMIT).mean())


def fewest(laid: Phases, y: Floats) -> int:
    """Return in how many labeled people of a true group the rarer answer was seen, in the group with fewer."""
    cells = [laid.labeled & (laid.true == group) & (y == kind) for group in (0, 1) for kind in (0, 1)]
    return min(len(np.unique(laid.codes[cell])) for cell in cells)


def main() -> None:
    """Print how often the interval holds the truth, by the number of labeled people with the rarer answer."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=350)
    parser.add_argument("--first", type=int, default=9000)
    given, gap, rows = parser.parse_args(), truth(), []
    for people, share in CELLS:
        for seed in range(given.first, given.first + given.seeds):
            frame, labels = drawn(seed, people, share)
            try:
                laid, y = Phases(frame, labels, CONTRAST), frame["value"].to_numpy(dtype=np.float64)
            except TableError:  # fewer than five labeled people of a group: nothing is corrected
                continue
            columns, statistic = moments(laid.size, laid.member, np.zeros((len(y), 0)), y)
            found = jackknife(columns, statistic, [laid.codes], level=0.95, dof=laid.known)
            rows.append((fewest(laid, y), found.low <= gap <= found.high))
    table = pd.DataFrame(rows, columns=["fewest", "held"])
    for bins, part in table.groupby(pd.cut(table["fewest"], BINS, right=False), observed=True):
        print(f"{bins} people: held in {part['held'].mean():.1%} of {len(part)} worlds")


if __name__ == "__main__":
    main()
