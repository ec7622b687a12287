"""The numbers of a fader's model card, on faces that it never saw: ``python benchmarks/fader.py FACES WEIGHTS``.

FACES is a folder as ``python -m likewise.models.fader.faces`` writes it. Every classifier here is fresh: trained on the
pictures (or codes) of ``faces.csv`` with another seed than the network's, measured on ``held.csv``. It had no part in
the network's training, so what it says of the edits is not what the network was trained to make it say.

1. How well is each attribute read from the picture, and from the code E(x), where it should be no better than chance?
   The code is asked three times: by a network and by a linear classifier that learned on the codes of the faces the
   fader learned from, and by a network that learned on half of the held ones, in case the fader forgets better what it
   has seen. The card shows all three; the highest counts.
2. How far is the picture that is drawn again from the picture itself, and, where the faces have twins, the picture that
   is drawn of its twin from the twin: the true counterfactual?
3. Does the attribute move with the strength, in every face, and do the held ones stay where they are?
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from torch import Tensor, nn

from likewise.models.fader.data import Attribute, Lessons, read_lessons
from likewise.models.fader.editor import FaderEditor
from likewise.models.fader.network import Critic, Fader, Reader, agreement, load_fader, save_fader
from likewise.runtime.registry import Pictures, to_signals
from likewise.tables.io import write_text

LEVELS = (-2.0, -1.5, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5, 2.0)
SEED = 77
HOW = (
    "likewise fader train, on faces drawn by mobilestylegan-ffhq with the directions of Singh et al. 2021 "
    "(arXiv:2103.13455); no photograph was used"
)
Floats = npt.NDArray[np.float64]


def lessons(faces: Path, table: str, fader: Fader) -> Lessons:
    """Read one of the tables."""
    names = [Attribute(name) for name in fader.shape.attributes]
    return read_lessons(faces / "images", faces / table, names, size=fader.shape.size, image="image", pairs="face")


def fresh(net: nn.Module, x: Tensor, a: Tensor, *, epochs: int) -> nn.Module:
    """Train a classifier from nothing."""
    adam = torch.optim.Adam(net.parameters(), lr=1e-3, weight_decay=1e-4)
    rng = np.random.default_rng(SEED)
    net.train()
    for _ in range(epochs):
        for rows in np.array_split(rng.permutation(len(x)), max(len(x) // 64, 1)):
            adam.zero_grad()
            agreement(net(x[rows]), a[rows]).backward()  # type: ignore[no-untyped-call]
            adam.step()
    return net.eval()


def reads(net: nn.Module, x: Tensor) -> Floats:
    """Return the logits, ``[n, k]``."""
    with torch.inference_mode():
        return np.concatenate([net(part).numpy() for part in torch.split(x, 64)]).astype(np.float64)


def codes(fader: Fader, x: Tensor) -> Tensor:
    """Return E(x)."""
    with torch.inference_mode():
        return torch.cat([fader.encoder(part) for part in torch.split(x, 64)]).clone()


def aucs(logits: Floats, attributes: Floats, names: tuple[str, ...]) -> dict[str, float]:
    """Return for each attribute how often a face on one side is ranked above one on the other."""
    return {name: round(float(roc_auc_score(attributes[:, k] > 0, logits[:, k])), 3) for k, name in enumerate(names)}


def spied(fader: Fader, x: Tensor, a: Tensor, y: Tensor, b: Tensor, *, epochs: int) -> dict[str, dict[str, float]]:
    """Return how well each attribute is read from the code, by three classifiers."""
    names, seen, new = fader.shape.attributes, codes(fader, x), codes(fader, y)
    mean, spread = seen.mean(dim=0), seen.std(dim=0).clamp_min(1e-6)
    seen, new = (seen - mean) / spread, (new - mean) / spread
    truth, half = b.numpy().astype(np.float64), len(new) // 4 * 2  # twins stay together
    spy, other = (Critic(fader.shape.code_channels, len(names)) for _ in range(2))
    line = [LogisticRegression(C=0.05, max_iter=500).fit(seen.flatten(1), a[:, k] > 0) for k in range(len(names))]
    said = np.stack([each.decision_function(new.flatten(1)) for each in line], axis=1)
    return {
        "a network": aucs(reads(fresh(spy, seen, a, epochs=epochs), new), truth, names),
        "a network that learned on held faces": aucs(
            reads(fresh(other, new[:half], b[:half], epochs=2 * epochs), new[half:]), truth[half:], names
        ),
        "a linear classifier": aucs(said, truth, names),
    }


def reconstruction(fader: Fader, x: Tensor, a: Tensor, twins: Tensor) -> dict[str, float]:
    """Return the error of the picture drawn again, and drawn from its twin, against the mean face for everybody."""
    code = codes(fader, x)
    mean = float((x - x.mean(dim=0)).square().mean())
    again, across = (_error(fader, kept, a, x) for kept in (code, code[twins]))
    return {
        "mean squared error": round(again, 5),
        "share of the mean face's": round(again / mean, 3),
        "psnr dB": round(float(10 * np.log10(4 / again)), 2),
        "drawn from its twin: share of the mean face's": round(across / mean, 3),
    }


def _error(fader: Fader, code: Tensor, a: Tensor, x: Tensor) -> float:
    with torch.inference_mode():
        parts = zip(torch.split(code, 64), torch.split(a, 64), strict=True)
        return float((torch.cat([fader.decoder(p, q) for p, q in parts]) - x).square().mean())


def at_strengths(net: nn.Module, editor: FaderEditor, pictures: Pictures) -> Floats:
    """Return what a classifier says at every level, ``[levels, n, k]``."""
    return np.stack([reads(net, torch.from_numpy(to_signals(editor.edit(pictures, level)))) for level in LEVELS])


def dial(net: nn.Module, path: Path, pictures: Pictures, names: tuple[str, ...]) -> dict[str, Any]:
    """Turn the first attribute with the others held, and not held; say what moves."""
    held, loose = (at_strengths(net, FaderEditor(weights=str(path), hold=hold), pictures) for hold in (True, False))
    present = (held[..., 0] > 0).mean(axis=1)
    inside = [index for index, level in enumerate(LEVELS) if -1 <= level <= 1]
    steps = np.diff(held[inside][..., 0], axis=0)  # [steps, n]
    return {
        "share read as +1, by level": {f"{lv:+g}": round(float(p), 3) for lv, p in zip(LEVELS, present, strict=True)},
        "faces that rise at every step of [-1, 1]": round(float((steps > 0).all(axis=0).mean()), 3),
        "drift of a held attribute, share read as +1 at level 1 minus at -1": _drift(held, names),
        "the same, not held": _drift(loose, names),
    }


def _drift(said: Floats, names: tuple[str, ...]) -> dict[str, float]:
    low, high = LEVELS.index(-1.0), LEVELS.index(1.0)
    share = (said > 0).mean(axis=1)  # [levels, k]
    return {name: round(float(share[high, k] - share[low, k]), 3) for k, name in enumerate(names) if k}


def card(faces: Path, path: Path, *, epochs: int, edited: int) -> dict[str, Any]:
    """Measure everything."""
    torch.manual_seed(SEED)
    fader, settings = load_fader(path)
    names = fader.shape.attributes
    seen, new = lessons(faces, "faces.csv", fader), lessons(faces, "held.csv", fader)
    x, y = (torch.from_numpy(to_signals(part.pictures)) for part in (seen, new))
    a, b = (torch.from_numpy(part.attributes) for part in (seen, new))
    witness = fresh(Reader(fader.shape), x, a, epochs=epochs)
    truth, twins = new.attributes.astype(np.float64), new.twins(np.arange(len(y)), np.random.default_rng(SEED))
    return {
        "made": {**settings, "by": HOW},
        "faces learned from": len(x),
        "faces measured on": len(y),
        "AUC of a fresh classifier on the picture": aucs(reads(witness, y), truth, names),
        "AUC of fresh classifiers on the code": spied(fader, x, a, y, b, epochs=epochs),
        "drawn again": reconstruction(fader, y, b, torch.from_numpy(twins)),
        "dial": dial(witness, path, new.pictures[:edited], names),
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("faces", type=Path)
    parser.add_argument("weights", type=Path)
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--edited", type=int, default=600, help="faces that are edited")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--ship", type=Path, help="write the weights there, with the card within")
    given = parser.parse_args()
    torch.set_num_threads(1)
    measured = card(given.faces, given.weights, epochs=given.epochs, edited=given.edited)
    print(json.dumps(measured, indent=1))
    if given.out:
        write_text(given.out, json.dumps(measured, indent=1) + "\n")
    if given.ship:
        save_fader(given.ship, load_fader(given.weights)[0], measured)
