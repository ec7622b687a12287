"""What came of projecting photographs: what `benchmarks.projection project` kept, as tables.

    python -m benchmarks.projected --work DIR     each folder of DIR is one way: DIR/refine, DIR/encoder, ...

1. Each way: CPU seconds, the perceptual distance that is left (the way's own network), and dlib's and SFace's distance
   between original and reconstruction; the median's interval is by order statistics, which assumes nothing.
2. Each way against ``refine`` on the photographs that both projected.
3. By group: differences of means, Welch's interval. One photograph a person, so photographs are independent.
4. What the mean latent says: the area under the ROC of the *shipped* directions' scores, which were fitted on drawn
   faces, so nothing is fitted here. A latent that lies where no drawn face lies is read badly.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats
from sklearn.metrics import roc_auc_score

from benchmarks.projection import album, photographs
from likewise.latents.directions import shipped
from likewise.models.perception.color import skin_tone
from likewise.models.perception.segmentation import Segmenter

SAME = 0.6  # dlib's own threshold
READ = {
    "predicted_gender": "Male",
    "predicted_age": "Young",
    "predicted_smile": "Smiling",
    "predicted_eyeglasses": "Eyeglasses",
}
LEAST = 5  # on either side, or nothing is said
RESAMPLES = 1000


def kept(folder: Path) -> pd.DataFrame:
    """Return what one way left behind, indexed by image."""
    rows = {}
    for path in sorted(folder.glob("*.npz")):
        if not path.name.endswith(".part.npz"):
            with np.load(path) as part:
                rows[f"{path.stem}.jpg"] = {
                    name: part[name][()] for name in ("seconds", "perceptual", "recognizer", "sface")
                } | {"mean": part["w"].mean(axis=0)}
    return pd.DataFrame.from_dict(rows, orient="index")


def people() -> pd.DataFrame:
    """Return the labels of the photographs, indexed by image."""
    return pd.concat([photographs(tuning=True), photographs()]).set_index("image")


def median(values: pd.Series) -> str:
    """Return a median with an interval of at least 95 % by order statistics."""
    ordered = np.sort(values.dropna().to_numpy(float))
    cut = int(stats.binom.ppf(0.025, len(ordered), 0.5))
    if cut == 0:
        return f"{np.median(ordered):.3f} ({ordered[0]:.3f} to {ordered[-1]:.3f}, all {len(ordered)})"
    return f"{np.median(ordered):.3f} ({ordered[cut - 1]:.3f} to {ordered[-cut]:.3f})"


def line(name: str, made: pd.DataFrame) -> str:
    """Say in a line what one way reached."""
    seen = made["recognizer"].dropna()
    return (
        f"{name}: {len(made)} photographs, {made['seconds'].median():.2f} CPU s each, perceptual "
        f"{median(made['perceptual'])}, dlib {median(made['recognizer'])}, below {SAME} {(seen < SAME).sum()} of "
        f"{len(seen)}, no face in {len(made) - len(seen)}, SFace {median(made['sface'])}"
    )


def beside(name: str, made: pd.DataFrame, refined: pd.DataFrame) -> str:
    """Compare a way with ``refine`` on the same photographs."""
    both = made.merge(refined, left_index=True, right_index=True, suffixes=("", " refine"))
    cost = both["seconds"].median() / both["seconds refine"].median()
    apart = both["recognizer"] - both["recognizer refine"]
    return (
        f"{name}: {cost:.2f} times refine's CPU s, dlib {both['recognizer'].median():.3f} against "
        f"{both['recognizer refine'].median():.3f}, difference {median(apart)}, {len(both)} photographs"
    )


def tones(images: list[str]) -> pd.Series:
    """Return the ITA of each photograph's facial skin."""
    pictures = album()(images, size=256)
    skins = Segmenter().masks(pictures, "face skin")
    return pd.Series([skin_tone(p, skin)[0] for p, skin in zip(pictures, skins, strict=True)], index=images)


def groups(made: pd.DataFrame, labels: pd.DataFrame, tone: pd.Series) -> dict[str, tuple[pd.Series, pd.Series]]:
    """Return who is compared with whom, as masks over the photographs."""
    of, ita = labels.loc[made.index], tone.loc[made.index]
    return {
        "perceived female - male": (of["Male"] <= 0, of["Male"] > 0),
        "not young - young": (of["Young"] <= 0, of["Young"] > 0),
        "darker - lighter half (ITA)": (ita < ita.median(), ita >= ita.median()),
    }


def difference(one: pd.Series, other: pd.Series) -> str:
    """Return a difference of means with Welch's interval."""
    if min(len(one), len(other)) < LEAST:
        return "too few"
    found = stats.ttest_ind(one.astype(float), other.astype(float), equal_var=False)
    low, high = found.confidence_interval(0.95)
    return f"{one.mean() - other.mean():+.3f} ({low:+.3f} to {high:+.3f}), {len(one)} and {len(other)}"


def area(y: np.ndarray, score: np.ndarray) -> str:
    """Return the area under the ROC, photographs resampled."""
    if min(y.sum(), (~y).sum()) < LEAST:
        return "too few"
    rng, drawn = np.random.default_rng(0), []
    for _ in range(RESAMPLES):
        chosen = rng.integers(0, len(y), len(y))
        if 0 < y[chosen].mean() < 1:
            drawn.append(roc_auc_score(y[chosen], score[chosen]))
    low, high = np.quantile(drawn, [0.025, 0.975])
    return f"{roc_auc_score(y, score):.3f} ({low:.3f} to {high:.3f})"


def read(made: pd.DataFrame, labels: pd.DataFrame) -> str:
    """Say how well the shipped directions read each attribute from the mean latents."""
    known = shipped("mobilestylegan")
    scores = np.stack(made["mean"].tolist()).astype(np.float64) @ known.gradients.T
    parts = []
    for direction, label in READ.items():
        k = known.names.index(direction)
        high = known.skills[k].positive in ("male", "yes") or (label == "Smiling")
        score = scores[:, k] if high else -scores[:, k]
        parts.append(f"{label} {area((labels.loc[made.index][label] > 0).to_numpy(), score)}")
    return "; ".join(parts)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True)
    given = parser.parse_args()
    ways = {path.name: kept(path) for path in sorted(given.work.iterdir()) if any(path.glob("*.npz"))}
    if not ways:
        parser.error(f"nothing was projected in {given.work}; python -m benchmarks.projection project --work DIR/WAY")
    labels = people()
    tone = tones(sorted({image for made in ways.values() for image in made.index}))
    for name, made in ways.items():
        print(line(name, made))
    for name, made in ways.items():
        if name != "refine" and "refine" in ways and len(made.index.intersection(ways["refine"].index)):
            print(f"beside refine, {beside(name, made, ways['refine'])}")
    for name, made in ways.items():
        for who, (one, other) in groups(made, labels, tone).items():
            for what in ("recognizer", "sface", "perceptual"):
                values = made[what].dropna()
                print(f"{name}, {what}, {who}: {difference(values[one], values[other])}")
    for name, made in ways.items():
        print(f"{name}, read by the shipped directions: {read(made, labels)}")


if __name__ == "__main__":
    main()
