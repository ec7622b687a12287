"""How the artifact validator's network is trained: examples from drawn faces, Adam, and a fit of the last layer.

Training goes on from the shipped weights.

Clean examples are hard on purpose: edits of either attribute and of both at once, weaker and a little stronger than
drawn, blurred or moved by a pixel as where a generator's change is added to a photograph, and compressed. Spoiled ones
are the same edits with a synthetic artifact.
"""

from __future__ import annotations

import io
import time
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from PIL import Image
from scipy import ndimage
from torch import Tensor, nn

from likewise.counterfactuals.validation.artifacts import (
    Parameters,
    features,
    network_input,
    parameters_of,
    recolor,
    weights,
)
from likewise.counterfactuals.validation.synthetic_artifacts import add_artifact
from likewise.runtime.registry import Pictures
from likewise.tables.io import replacing

SHARE = 5 / 6
"""Of the faces: trained on."""
FRESH, AGAIN, KEPT = 8, 16, 2000
"""Examples in a step that are new, those that were seen before, and how many are kept for that."""
RATE, LAST = 1e-3, 800
"""Adam's rate, and examples on which the last layer is fitted."""
EACH, CLEAN_LOST = 6, 0.06
"""Examples of each face that is not trained on, and the share of its clean edits that may be rejected."""
SHARES = {"color patch": 0.1, "ghost": 0.2, "double feature": 0.25, "seam": 0.22, "blur": 0.13, "wrong tone": 0.1}
"""How often each kind is added: the hard ones more often."""
CHANNELS, STRIDES, KERNELS = (7, 20, 32, 48, 64, 64), (2, 2, 2, 2, 1), (5, 3, 3, 3, 3)
Floats = npt.NDArray[np.float32]
Mask = npt.NDArray[np.bool_]
Rng = np.random.Generator


@dataclass(frozen=True)
class Face:
    """A drawn face, cut to its facial skin: two edits of gender, then two of tone."""

    picture: Pictures
    edits: Pictures
    mask: Mask


def read(work: Path) -> list[Face]:
    """Return the faces of a folder."""
    faces = []
    for path in sorted(work.glob("[0-9]*.npz")):
        with np.load(path) as block:
            parts = (block[name] for name in ("pictures", "edits", "masks"))
            faces += [Face(*face) for face in zip(*parts, strict=True) if face[2].any()]
    return faces


def cut(face: Face) -> Face:
    """Return the face without what lies far from its skin, which only costs time."""
    rows, columns = np.nonzero(face.mask)
    beside = round(0.06 * max(np.ptp(rows), np.ptp(columns)))
    where = tuple(slice(max(0, at.min() - beside), at.max() + beside + 1) for at in (rows, columns))
    return Face(face.picture[where], face.edits[:, *where], face.mask[where])


def example(face: Face, rng: Rng) -> tuple[Floats, str]:
    """Return the network's input of a clean edit, or of one with a synthetic artifact, and the artifact's kind."""
    toned = bool(rng.random() < 0.4)
    original, mask = face.picture, face.mask
    edit = _clean(face, rng, toned=toned)
    kind = str(rng.choice(list(SHARES), p=list(SHARES.values()))) if rng.random() < 0.55 else ""
    if toned and kind == "wrong tone":  # recoloring follows it; the rule of tints judges it
        kind = "seam"
    original, edit = _exposed(original, edit, rng)
    if kind:
        edit = add_artifact(kind, edit, mask, rng)
    edit = np.where(mask[..., None], _compressed(edit, rng), original)
    if rng.random() < 0.5:
        original, edit, mask = original[:, ::-1], edit[:, ::-1], mask[:, ::-1]
    return network_input(recolor(original, edit, mask) if toned else original, edit, mask), kind


def _clean(face: Face, rng: Rng, *, toned: bool) -> Pictures:
    """Return an edit of tone or of gender, or of a little of the other as well, of any strength."""
    own = face.picture.astype(np.float32)
    change = face.edits.astype(np.float32) - own
    main, beside = (2, 0) if toned else (0, 2)
    total = change[main + rng.integers(2)] * np.float32(rng.uniform(0.25, 1.1))
    if rng.random() < 0.2:
        total = total + change[beside + rng.integers(2)] * np.float32(rng.uniform(0, 0.25))
    if rng.random() < 0.3:
        total = ndimage.gaussian_filter(total, (*[rng.uniform(0.5, 2.5)] * 2, 0))
    if rng.random() < 0.3:
        total = ndimage.shift(total, (*rng.uniform(-1.5, 1.5, 2), 0), order=1)
    return np.asarray(np.clip(np.rint(own + total), 0, 255), dtype=np.uint8)


def _exposed(original: Pictures, edit: Pictures, rng: Rng) -> tuple[Pictures, Pictures]:
    """Give both the same other exposure, softness and grain."""
    if rng.random() < 0.5:
        power, grain = rng.uniform(0.75, 1.3), rng.normal(0, rng.uniform(0, 4), original.shape).astype(np.float32)
        table = 255 * (np.arange(256, dtype=np.float32) / 255) ** power
        original, edit = (
            np.clip(np.rint(table[picture] + grain), 0, 255).astype(np.uint8) for picture in (original, edit)
        )
    return original, edit


def _compressed(edit: Pictures, rng: Rng) -> Pictures:
    """Sometimes write and read the edit as JPEG, as an endpoint does."""
    if rng.random() > 0.15:
        return edit
    file = io.BytesIO()
    Image.fromarray(edit).save(file, "JPEG", quality=int(rng.integers(85, 97)))
    return np.asarray(Image.open(file))


class Network(nn.Module):
    """Convolutions, their mean and maximum over places, and a last layer."""

    def __init__(self) -> None:
        super().__init__()
        self.convolutions = [
            nn.Conv2d(a, b, size, stride, size // 2)
            for (a, b), size, stride in zip(pairwise(CHANNELS), KERNELS, STRIDES, strict=True)
        ]
        self.layers = nn.ModuleList(self.convolutions)
        self.last = nn.Linear(2 * CHANNELS[-1], 1)

    def start_from(self, known: Parameters) -> None:
        """Take over shipped weights; layers beyond theirs begin as layers that change nothing."""
        own = self.state_dict()  # shares memory with the parameters
        for k in range(len(STRIDES)):
            weight, bias = own[f"layers.{k}.weight"], own[f"layers.{k}.bias"]
            if f"w{k}" in known:
                weight.copy_(torch.from_numpy(known[f"w{k}"]))
                bias.copy_(torch.from_numpy(known[f"b{k}"]))
            else:
                nn.init.dirac_(weight)
                nn.init.zeros_(bias)
        own["last.weight"].copy_(torch.from_numpy(known["last_w"][: 2 * CHANNELS[-1]]))
        own["last.bias"].copy_(torch.from_numpy(known["last_b"].reshape(1)))

    def parameters_by_name(self) -> Parameters:
        """Return the convolutions as they are stored."""
        found: Parameters = {}
        for k, layer in enumerate(self.convolutions):
            assert layer.bias is not None
            found |= {f"w{k}": layer.weight.detach().numpy(), f"b{k}": layer.bias.detach().numpy()}
        return found

    def forward(self, x: Tensor) -> Tensor:
        """Return log-odds ``[n]`` of inputs ``[n, 7, s, s]``."""
        for layer in self.convolutions:
            x = torch.relu(layer(x))
        found: Tensor = self.last(torch.cat([x.mean((2, 3)), x.amax((2, 3))], 1))[:, 0]
        return found


class Trainer:
    """Trains in pieces: what was reached is kept in a file."""

    def __init__(self, path: Path, faces: list[Face], seed: int = 1) -> None:
        torch.set_num_threads(1)
        torch.manual_seed(seed)
        self.path, self.faces, self.network, self.spent = path, [cut(face) for face in faces], Network(), 0.0
        self.adam = torch.optim.AdamW(self.network.parameters(), RATE, weight_decay=1e-2)
        self.network.start_from(weights())
        if path.is_file():
            state = torch.load(path, weights_only=True)
            self.network.load_state_dict(state["network"])
            self.adam.load_state_dict(state["adam"])
            self.spent = float(state["spent"])
        self.rng = np.random.default_rng([seed, round(self.spent)])
        self.kept: list[tuple[Floats, str]] = []

    def run(self, seconds: float, piece: float = np.inf) -> bool:
        """Go on until so many CPU seconds were spent in all, by when the rate has fallen to nothing, or in this piece.

        Returns whether it is done.
        """
        begun, before, saved, losses = time.process_time(), self.spent, self.spent, []
        while self.spent < seconds and self.spent - before < piece:
            share = self.spent / seconds
            self.adam.param_groups[0]["lr"] = RATE * min(1, 20 * share + 0.05) * max(0.01, 1 - share)
            losses.append(self._step())
            self.spent = before + time.process_time() - begun
            if self.spent - saved > 30:
                saved = self.spent
                self._save()
                print(f"{self.spent:.0f} CPU s: loss {np.mean(losses):.3f}", flush=True)
                losses = []
        self._save()
        return self.spent >= seconds

    def _step(self) -> float:
        fresh = [self._example() for _ in range(FRESH)]
        again = [self.kept[k] for k in self.rng.integers(len(self.kept), size=AGAIN)] if self.kept else []
        self.kept = [*self.kept, *fresh][-KEPT:]
        x = torch.from_numpy(np.stack([one for one, _ in fresh + again]).astype(np.float32))
        wanted = torch.tensor([float(bool(kind)) for _, kind in fresh + again])
        loss = nn.functional.binary_cross_entropy_with_logits(self.network(x), wanted)
        self.adam.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        self.adam.step()
        return float(loss.detach())

    def _example(self) -> tuple[Floats, str]:
        found, kind = example(self.faces[int(self.rng.integers(len(self.faces)))], self.rng)
        return found.astype(np.float16), kind  # half the memory; used as single

    def _save(self) -> None:
        state = {"network": self.network.state_dict(), "adam": self.adam.state_dict(), "spent": self.spent}
        with replacing(self.path) as temporary:
            torch.save(state, temporary)

    def write(self, path: Path, others: list[Face]) -> None:
        """Fit the last layer on the convolutions and the measures of the whole; the threshold is set on other faces.

        So many of their clean edits are rejected as ``CLEAN_LOST`` says.
        """
        from sklearn.linear_model import LogisticRegression  # noqa: PLC0415

        convolutions = self.network.parameters_by_name()
        known = parameters_of(convolutions, STRIDES, np.zeros(1), 0.0)
        seen, kinds = _seen([self._example() for _ in range(LAST)], known)
        spread = seen.std(axis=0) + 1e-3
        fitted = LogisticRegression(C=0.05, max_iter=3000).fit(seen / spread, kinds != "")
        rng = np.random.default_rng(0)
        chosen, kinds = _seen([example(cut(face), rng) for face in others for _ in range(EACH)], known)
        logits = chosen / spread @ fitted.coef_[0]
        limit = float(np.quantile(logits[kinds == ""], 1 - CLEAN_LOST))
        for kind in sorted(set(kinds)):
            rejected = logits[kinds == kind] > limit
            print(f"{kind or 'clean':16s} rejected {rejected.mean():6.1%} of {len(rejected)}")
        whole = parameters_of(convolutions, STRIDES, fitted.coef_[0] / spread, -limit)
        with replacing(path) as temporary, temporary.open("wb") as handle:
            np.savez_compressed(handle, **whole)  # type: ignore[arg-type]


def _seen(examples: list[tuple[Floats, str]], known: Parameters) -> tuple[Floats, npt.NDArray[np.str_]]:
    """Return what the last layer sees of examples, and their kinds."""
    parts = (examples[at : at + 50] for at in range(0, len(examples), 50))
    seen = [features(np.stack([one for one, _ in part]).astype(np.float32), known) for part in parts]
    return np.concatenate(seen), np.array([kind for _, kind in examples])
