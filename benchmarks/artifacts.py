"""The artifact validator: draw faces and clean edits, train on synthetic artifacts, measure on other faces.

    python -m benchmarks.artifacts draw --work DIR --faces 64      # 5 CPU-seconds a face
    python -m benchmarks.artifacts train --work DIR --seconds 1400
    python -m benchmarks.artifacts draw --work OTHER --faces 20 --seed 4242
    python -m benchmarks.artifacts measure --work OTHER

Faces are drawn by the embedded generator and edited along the shipped direction of perceived gender, inside the facial
skin, at the strengths -2, -1, 1 and 2. The last 28 % of DIR are not trained on, but settings were chosen on them, so
they are no test. Figures are measured on faces of another seed, once, after everything was fixed.
"""

from __future__ import annotations

import argparse
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from likewise.counterfactuals.validation.artifacts import artifact_logits, features, network_input, parameters_of
from likewise.counterfactuals.validation.synthetic_artifacts import ARTIFACTS, add_artifact

STRENGTHS = (-2.0, -1.0, 1.0, 2.0)
SHARE, SIZE = 0.72, 256
Arrays = dict[str, npt.NDArray[np.generic]]


def draw(work: Path, faces: int, seed: int = 77) -> None:
    """Draw faces, their masks and their edits."""
    from likewise.counterfactuals.direction_editor import DirectionEditor  # noqa: PLC0415  # networks load late
    from likewise.counterfactuals.masks import feathered, pasted  # noqa: PLC0415
    from likewise.models.perception.segmentation import Segmenter, one_piece  # noqa: PLC0415
    from likewise.runtime.registry import create, to_pictures  # noqa: PLC0415
    from likewise.tables import Vectors  # noqa: PLC0415

    generator, segmenter = create("generator", "mobilestylegan"), Segmenter()
    mean = generator.mean_w()
    w = mean + 0.7 * (generator.sample_w(faces, seed) - mean)
    latents = np.repeat(w[:, None], generator.rows, axis=1).astype(np.float32)  # [n, L, D]
    keys = [f"d{number}" for number in range(faces)]
    editor = DirectionEditor(size=SIZE)
    editor.latents = Vectors(keys, latents, source="sampled")
    kept: dict[str, list[npt.NDArray[np.generic]]] = {"pictures": [], "edits": [], "masks": []}
    for row, key in enumerate(keys):
        picture = to_pictures(generator.synthesize(latents[row : row + 1], SIZE))
        mask = one_piece(segmenter.masks(picture, "face skin")[0])
        weight = feathered(mask, 0.03 * SIZE)
        strip = editor.sweep(picture, STRENGTHS, [key])[0]
        kept["pictures"].append(picture[0])
        kept["edits"].append(np.stack([pasted(picture[0], edit, weight) for edit in strip]))
        kept["masks"].append(mask)
    work.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(work / "drawn.npz", **{name: np.stack(parts) for name, parts in kept.items()})  # type: ignore[arg-type]


def example(drawn: Arrays, face: int, rng: np.random.Generator) -> tuple[npt.NDArray[np.float32], bool]:
    """Return the network's input of a clean edit, or of one with a synthetic artifact."""
    original, mask = drawn["pictures"][face], drawn["masks"][face]
    edit = drawn["edits"][face][rng.choice([0, 1, 1, 2, 2, 3])]
    spoiled = bool(rng.random() < 0.5)
    if spoiled:
        edit = add_artifact(str(rng.choice(list(ARTIFACTS))), edit, mask, rng)
    if rng.random() < 0.5:  # another exposure and grain, the same for both
        power, noise = rng.uniform(0.8, 1.25), rng.normal(0, rng.uniform(0, 4), original.shape)
        original, edit = (
            np.clip(np.rint(255 * (picture / 255) ** power + noise), 0, 255).astype(np.uint8)
            for picture in (original, edit)
        )
    if rng.random() < 0.5:
        original, edit, mask = original[:, ::-1], edit[:, ::-1], mask[:, ::-1]
    return network_input(original, edit, mask), spoiled


def train(work: Path, seconds: float, seed: int = 1) -> None:
    """Train the convolutions with Adam for some time, then fit the last layer on them and on the global features."""
    import torch  # noqa: PLC0415
    from sklearn.linear_model import LogisticRegression  # noqa: PLC0415

    drawn: Arrays = dict(np.load(work / "drawn.npz"))
    trained, rng = int(SHARE * len(drawn["pictures"])), np.random.default_rng(seed)
    channels = (7, 20, 32, 48, 64)
    layers = [
        torch.nn.Conv2d(a, b, 5 if k == 0 else 3, 2, 2 if k == 0 else 1) for k, (a, b) in enumerate(pairwise(channels))
    ]
    last = torch.nn.Linear(2 * channels[-1], 1)
    adam = torch.optim.Adam([p for module in (*layers, last) for p in module.parameters()], 2e-3)
    begun = time.monotonic()
    while (spent := time.monotonic() - begun) < seconds:
        adam.param_groups[0]["lr"] = 2e-3 * max(0.02, 1 - spent / seconds)
        batch = [example(drawn, int(rng.integers(trained)), rng) for _ in range(16)]
        x = torch.from_numpy(np.stack([one for one, _ in batch]))
        for layer in layers:
            x = torch.relu(layer(x))
        logits = last(torch.cat([x.mean((2, 3)), x.amax((2, 3))], 1))[:, 0]
        wanted = torch.tensor([float(spoiled) for _, spoiled in batch])
        loss = torch.nn.functional.binary_cross_entropy_with_logits(logits, wanted)
        adam.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        adam.step()
    parameters = {f"w{k}": layer.weight.detach().numpy() for k, layer in enumerate(layers)}
    parameters |= {f"b{k}": layer.bias.detach().numpy() for k, layer in enumerate(layers) if layer.bias is not None}
    batch = [example(drawn, int(rng.integers(trained)), rng) for _ in range(900)]
    seen = features(np.stack([one for one, _ in batch]), parameters)
    spread = seen.std(axis=0) + 1e-3
    fitted = LogisticRegression(C=0.1, max_iter=3000).fit(seen / spread, [spoiled for _, spoiled in batch])
    whole: dict[str, Any] = dict(parameters_of(parameters, fitted.coef_[0] / spread, fitted.intercept_[0]))
    np.savez_compressed(work / "artifacts.npz", **whole)


def measure(work: Path, seed: int = 5) -> None:
    """Print how many clean edits and synthetic artifacts are rejected: of all faces in ``work``, none trained on."""
    drawn: Arrays = dict(np.load(work / "drawn.npz"))
    rng = np.random.default_rng(seed)
    found: dict[str, list[bool]] = {kind: [] for kind in ("clean, strengths +-1", "clean, strengths +-2", *ARTIFACTS)}
    for face in range(len(drawn["pictures"])):
        original, mask, edits = drawn["pictures"][face], drawn["masks"][face], drawn["edits"][face]
        rows = [("clean, strengths +-2", edits[0]), ("clean, strengths +-2", edits[3])]
        rows += [("clean, strengths +-1", edit) for edit in edits[1:3]]
        rows += [(kind, add_artifact(kind, edit, mask, rng)) for kind in ARTIFACTS for edit in edits[1:3]]
        logits = artifact_logits(np.stack([network_input(original, edit, mask) for _, edit in rows]))
        for (kind, _), logit in zip(rows, logits, strict=True):
            found[kind].append(bool(logit > 0))
    for kind, rejected in found.items():
        print(f"{kind:24s} rejected {np.mean(rejected):6.1%} of {len(rejected)}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["draw", "train", "measure"])
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--faces", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=1400)
    parser.add_argument("--seed", type=int, default=77)
    given = parser.parse_args()
    if given.what == "draw":
        draw(given.work, given.faces, given.seed)
    elif given.what == "train":
        train(given.work, given.seconds)
    else:
        measure(given.work)
