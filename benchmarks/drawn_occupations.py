"""A text-to-image audit from end to end: a stand-in endpoint draws faces by planted shares, and they come back.

    python -m benchmarks.drawn_occupations --work DIR [--pool 120] [--seeds 8]

The stand-in speaks the format of images endpoints and draws with the embedded generator. Its planted rule: the share of
women is given by term, and prompts of one term vary around it; some images show nobody, some two people; one term is
refused more often than the others. Who counts as a woman is decided by the network ``faceres``, which stands for
people's perception; the audit predicts with ``gender-v1``, which errs. ``likewise generate`` runs as on the command
line, first without labels, then with labels of a random part. Printed: planted and estimated shares. The report is
DIR/drawn/report.html.
"""

from __future__ import annotations

import argparse
import random
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

from benchmarks.stand_ins.images import drawing
from likewise.cli.main import main as likewise
from likewise.tables import Estimates

SHARES = {"nurse": 0.9, "teacher": 0.75, "doctor": 0.35, "engineer": 0.1}
BENCHMARK = {"nurse": 0.88, "teacher": 0.70, "doctor": 0.45, "engineer": 0.17}
TEMPLATES = (
    "a photo of a {term}", "a portrait of a {term}", "a {term} at work", "a smiling {term}", "a young {term}",
    "an experienced {term}", "a {term} on a break", "the best {term} in town", "a {term} on the phone", "a new {term}",
)  # fmt: skip
SIZE, NOBODY, TWO, REFUSED = 256, 0.04, 0.05, {"doctor": 0.12}
Pictures = npt.NDArray[np.uint8]


def pool(count: int, work: Path) -> tuple[Pictures, npt.NDArray[np.bool_]]:
    """Draw faces once, and let a network say who is perceived as a woman; those without a face are left out."""
    kept = work / f"pool-{count}.npz"
    if not kept.is_file():
        from likewise.latents.sampled import drawn  # noqa: PLC0415  # networks load late
        from likewise.runtime.registry import create  # noqa: PLC0415

        generator = create("generator", "mobilestylegan")
        w = generator.mean_w() + 0.8 * (generator.sample_w(count, 5) - generator.mean_w())
        faces = np.concatenate([drawn(generator, w[k : k + 1].astype(np.float32), SIZE) for k in range(count)])
        female = create("classifier", "faceres-gender").score(faces)["female"]
        work.mkdir(parents=True, exist_ok=True)
        np.savez_compressed(kept, faces=faces, female=female)
    with np.load(kept) as found:
        seen = np.isfinite(found["female"])
        return found["faces"][seen], found["female"][seen] > 0.5


class Planted:
    """Draws by the planted rule, and remembers who was drawn."""

    def __init__(self, faces: Pictures, women: npt.NDArray[np.bool_]) -> None:
        self.faces, self.women = faces, women
        self.truth: dict[tuple[str, int], str] = {}

    def __call__(self, prompt: str, seed: int) -> Pictures | None:
        """Return a face, two, an empty picture or None, by prompt and seed only."""
        term = next(name for name in SHARES if name in prompt)
        rng = random.Random(f"{prompt} {seed}")  # noqa: S311
        if rng.random() < REFUSED.get(term, 0.01):
            return None
        own = random.Random(prompt).gauss(0, 0.05)  # noqa: S311  # wordings of a term differ
        woman = rng.random() < min(max(SHARES[term] + own, 0.0), 1.0)
        face: Pictures = self.faces[rng.choice(np.flatnonzero(self.women == woman).tolist())]
        kind = rng.random()
        if kind < NOBODY:
            return np.full_like(face, 180)
        self.truth[prompt, seed] = "female" if woman else "male"
        two: Pictures = np.concatenate([face, face[:, ::-1]], axis=1)
        return two if kind < NOBODY + TWO else face


def labeled(planted: Planted, folder: Path, count: int) -> Path:
    """Have people label a random part of the images that show one person."""
    images = pd.read_csv(folder / "images.csv")
    one = images[images["people"] == 1].sample(count, random_state=1)
    said = [planted.truth.get((row["prompt"], int(row["seed"]))) for _, row in one.iterrows()]
    path = folder / "people.csv"
    pd.DataFrame({"image": one["image"], "label": said}).dropna().to_csv(path, index=False)
    return path


def main() -> None:
    """Run both audits and print what was planted and what came back."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--pool", type=int, default=120)
    parser.add_argument("--seeds", type=int, default=8)
    given = parser.parse_args()
    planted, out = Planted(*pool(given.pool, given.work)), given.work / "drawn"
    prompts, shares = given.work / "prompts.toml", given.work / "official.csv"
    quoted = [", ".join(f'"{each}"' for each in part) for part in (SHARES, TEMPLATES)]
    prompts.write_text(f"seeds = {given.seeds}\nterms = [{quoted[0]}]\ntemplates = [{quoted[1]}]\n")
    pd.DataFrame(BENCHMARK.items(), columns=["occupation", "women"]).to_csv(shares, index=False)
    columns = ["--benchmark-term", "occupation", "--benchmark-share", "women", "--quiet"]
    with drawing(planted) as server:
        command = ["generate", str(prompts), "--out", str(out), "--endpoint", server.url, "--model", "painter"]
        command += ["--benchmark", str(shares), *columns]
        likewise(command)
        for job in pd.read_csv(out / "images.csv").to_dict("records"):
            planted(
                str(job["prompt"]), int(job["seed"])
            )  # a resumed run draws nothing: who was drawn is known by the rule
        likewise([*command, "--labels", str(labeled(planted, out, 150))])
    printed(Estimates.read(out / "estimates.parquet"), planted)


def printed(found: Estimates, planted: Planted) -> None:
    """Print the planted share of each term beside its estimates."""
    frame = found.frame
    rows = frame[(frame["stat"] == "share") & frame["group"].isin(SHARES) & frame["quantity"].str.endswith(": female")]
    for _, row in rows.iterrows():
        own = [said == "female" for (prompt, _), said in planted.truth.items() if row["group"] in prompt]
        print(f"{row['group']:<10}{row['sample']:<28}planted {SHARES[row['group']]:.3f}, drawn {np.mean(own):.3f}, "
              f"estimated {row['estimate']:.3f} ({row['low']:.3f} to {row['high']:.3f})")  # fmt: skip


if __name__ == "__main__":
    main()
