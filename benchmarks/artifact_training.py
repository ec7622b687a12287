"""How the artifact validator's network is trained: Adam on examples, from nothing or from given weights, in pieces.

The network says of each of 16 x 16 places whether an artifact shows there, which is known for planted ones, and of the
whole whether there is one. The thresholds are set on faces that are not trained on: one for edits, one for
reconstructions.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from itertools import islice, pairwise
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from sklearn.linear_model import LogisticRegression
from torch import Tensor, nn

from benchmarks.artifact_examples import Example, Face, example, mirrored
from likewise.counterfactuals.validation.artifact_measures import MEASURES
from likewise.counterfactuals.validation.artifacts import EDIT, PLACES, RECONSTRUCTION, TONE, Parameters
from likewise.tables.io import replacing

FRESH, AGAIN, KEPT = 4, 12, 5000
"""Examples in a step that are new, those that were seen before, and how many are kept for that."""
RATE, ONWARD, AVERAGED = 3e-3, 1.5e-3, 0.995
"""Adam's rate at most, from nothing and from given weights; how slowly the average, which is shipped, follows."""
LAST, PENALTY = 1500, 0.05
"""Examples on which the last layers are fitted again, and scikit-learn's C of that."""
SAVED, CALIBRATED = 100, 64
"""Steps after which what was reached is written; examples on which the spread of given weights' layers is found."""
CHOSEN = 1200
"""Examples of other faces on which the thresholds are set."""
CLEAN_LOST = {EDIT: 0.07, TONE: 0.05, RECONSTRUCTION: 0.02}
"""Share of clean examples that may be rejected."""
CHANNELS, STRIDES, KERNELS = (11, 24, 40, 48, 64, 64, 64), (2, 2, 1, 2, 1, 1), (5, 3, 3, 3, 3, 3)
Floats = npt.NDArray[np.float32]


class Network(nn.Module):
    """Convolutions; the evidence of each place; and a last layer over all places and the measures of the whole."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(
            nn.Conv2d(a, b, size, stride, size // 2, bias=False)
            for (a, b), size, stride in zip(pairwise(CHANNELS), KERNELS, STRIDES, strict=True)
        )
        self.norms = nn.ModuleList(nn.BatchNorm2d(width) for width in CHANNELS[1:])
        self.heat = nn.Linear(CHANNELS[-1], 1)
        self.last = nn.Linear(2 * CHANNELS[-1] + len(PLACES) + MEASURES, 1)

    def forward(self, x: Tensor, measures: Tensor) -> tuple[Tensor, Tensor]:
        """Return log-odds ``[n]`` of inputs ``[n, 11, s, s]``, and those of each place ``[n, h, w]``."""
        seen, heat = self.seen(x, measures)
        found: Tensor = self.last(seen)[:, 0]
        return found, heat

    def seen(self, x: Tensor, measures: Tensor) -> tuple[Tensor, Tensor]:
        """Return what the last layer sees (as ``artifacts.features``), and the evidence of each place."""
        for layer, norm in zip(self.layers, self.norms, strict=True):
            x = torch.relu(norm(layer(x)))
        heat = self.heat(x.movedim(1, -1))[..., 0]
        ordered = heat.flatten(1).sort(dim=1).values
        evidence = torch.stack([ordered[:, -few:].mean(1) for few in PLACES], 1)
        return torch.cat([x.mean((2, 3)), x.amax((2, 3)), evidence, measures], 1), heat

    def unfold(self, known: Parameters, examples: list[Example]) -> None:
        """Take over folded weights: each norm gets the spread that its layer has on these examples, and undoes it."""
        x = torch.from_numpy(np.stack([one.x for one in examples]).astype(np.float32))
        parts = {name: torch.from_numpy(value.astype(np.float32)) for name, value in known.items()}
        with torch.no_grad():
            for k, (layer, norm) in enumerate(zip(self.layers, self.norms, strict=True)):
                layer.load_state_dict({"weight": parts[f"w{k}"]})
                made = layer(x)
                mean, variance = made.mean((0, 2, 3)), made.var((0, 2, 3))
                norm.load_state_dict({
                    "running_mean": mean, "running_var": variance, "weight": (variance + 1e-5).sqrt(),
                    "bias": parts[f"b{k}"] + mean,
                }, strict=False)  # fmt: skip
                x = torch.relu(made + parts[f"b{k}"][:, None, None])
            self.heat.weight.copy_(parts["heat_w"][None])
            self.heat.bias.copy_(parts["heat_b"])
            self.last.weight.copy_(parts["last_w"].reshape(-1, parts["last_w"].shape[-1])[:1])
            self.last.bias.copy_(-parts["limits"][:1])

    def folded(self) -> Parameters:
        """Return what ``artifacts.weights`` reads, without thresholds: norms are folded into the convolutions."""
        found: Parameters = {"strides": np.asarray(STRIDES, np.float32)}
        state = {name: value.detach().numpy() for name, value in self.state_dict().items()}
        for k in range(len(STRIDES)):
            mean, variance, gain, shift = (
                state[f"norms.{k}.{name}"] for name in ("running_mean", "running_var", "weight", "bias")
            )
            scale = gain / np.sqrt(variance + 1e-5)
            kernel = (state[f"layers.{k}.weight"] * scale[:, None, None, None]).astype(np.float16)
            found |= {f"w{k}": kernel, f"b{k}": (shift - mean * scale).astype(np.float32)}
        found |= {"heat_w": state["heat.weight"][0], "heat_b": state["heat.bias"][0]}
        return found | {"last_w": state["last.weight"][0]}


class Maker:
    """Makes examples of faces in other processes, ahead of their use."""

    def __init__(self, faces: list[Face], workers: int) -> None:
        self.ahead = 4 * workers
        self.pool = ProcessPoolExecutor(workers, get_context("fork"), initializer=_load, initargs=(faces,))

    def examples(self, count: int, seed: tuple[int, int]) -> Iterator[Example]:
        """Return so many examples; they depend on the seed and the faces, not on the number of workers."""
        seeds = iter(np.random.SeedSequence([part % 2**32 for part in seed]).spawn(count))
        waiting = deque(self.pool.submit(_made, one) for one in islice(seeds, self.ahead))
        while waiting:
            made = waiting.popleft().result()
            waiting.extend(self.pool.submit(_made, one) for one in islice(seeds, 1))
            yield made


_faces: list[Face] = []


def _load(faces: list[Face]) -> None:
    _faces[:] = faces


def _made(seed: np.random.SeedSequence) -> Example:
    return example(_faces, np.random.default_rng(seed))


def batched(examples: Iterator[Example], size: int) -> Iterator[list[Example]]:
    """Return lists of so many examples."""
    while batch := list(islice(examples, size)):
        yield batch


class Trainer:
    """Trains in pieces: what was reached is kept in a file."""

    def __init__(self, path: Path, maker: Maker, start: Path | None = None, seed: int = 1) -> None:
        torch.set_num_threads(1)
        torch.manual_seed(seed)
        self.path, self.maker, self.seed, self.done, self.rate = path, maker, seed, 0, ONWARD if start else RATE
        self.network = Network().to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        if start and not path.is_file():
            with np.load(start, allow_pickle=False) as stored:
                self.network.unfold(dict(stored), list(maker.examples(CALIBRATED, (seed, 0))))
        self.adam = torch.optim.AdamW(self.network.parameters(), RATE, weight_decay=2e-2)
        self.average = {name: value.clone() for name, value in self.network.state_dict().items()}
        if path.is_file():
            state = torch.load(path, weights_only=True)
            self.network.load_state_dict(state["network"])
            self.adam.load_state_dict(state["adam"])
            self.average, self.done = state["average"], int(state["done"])
        self.rng = np.random.default_rng([seed, self.done])
        self.kept: list[Example] = []

    def run(self, steps: int, piece: int) -> bool:
        """Go on until so many steps are done in all, by when the rate has fallen to nothing, or in this piece.

        Returns whether it is done.
        """
        losses: list[float] = []
        until = min(steps, self.done + piece)
        for fresh in batched(self.maker.examples(FRESH * (until - self.done), (self.seed, 1 + self.done)), FRESH):
            share = self.done / steps
            self.adam.param_groups[0]["lr"] = self.rate * min(1, 20 * share + 0.05) * max(0.01, 1 - share)
            losses.append(self._step(fresh))
            self.done += 1
            if self.done % SAVED == 0:
                self._save()
                print(f"{self.done} steps: loss {np.mean(losses):.3f}", flush=True)
                losses = []
        self._save()
        return self.done >= steps

    def _step(self, fresh: list[Example]) -> float:
        again = [self.kept[k] for k in self.rng.integers(len(self.kept), size=AGAIN)] if self.kept else []
        self.kept = [*self.kept, *fresh][-KEPT:]
        batch = [mirrored(one) if self.rng.random() < 0.5 else one for one in fresh + again]
        loss = self._loss(batch)
        self.adam.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(self.network.parameters(), 2.0)
        self.adam.step()
        for name, value in self.network.state_dict().items():
            self.average[name] = torch.lerp(value, self.average[name], AVERAGED) if value.is_floating_point() else value
        return float(loss.detach())

    def _loss(self, batch: list[Example]) -> Tensor:
        """Return the loss of the whole, and that of the places where it is known where the artifact is."""
        x = torch.from_numpy(np.stack([one.x for one in batch]).astype(np.float32))
        measures = torch.from_numpy(np.stack([one.measures for one in batch]))
        with torch.autocast("cpu", torch.bfloat16):
            logits, heat = self.network(x.contiguous(memory_format=torch.channels_last), measures)
        logits, heat = logits.float(), heat.float()
        wanted = torch.tensor([float(bool(one.kind)) for one in batch])
        where = torch.from_numpy(np.stack([one.where for one in batch]).astype(np.float32))
        known = torch.tensor([float(one.kind != "wrong tone") for one in batch])
        places = nn.functional.binary_cross_entropy_with_logits(
            heat, where, pos_weight=torch.tensor(3.0), reduction="none"
        )
        whole = nn.functional.binary_cross_entropy_with_logits(logits, wanted)
        return whole + 0.5 * (places.mean((1, 2)) * known).mean()

    def _save(self) -> None:
        state = {
            "network": self.network.state_dict(), "adam": self.adam.state_dict(), "average": self.average,
            "done": self.done,
        }  # fmt: skip
        with replacing(self.path) as temporary:
            torch.save(state, temporary)

    def write(self, path: Path, others: Maker) -> None:
        """Fit the last layers again, set the thresholds on other faces, and write the weights.

        Adam sees few examples of what the measures are for, a regression with a penalty weighs them better.
        """
        self.network.load_state_dict(self.average)
        examples = list(self.maker.examples(LAST, (self.seed, -1)))
        last = _last_layers(self._seen(examples), examples)
        examples = list(others.examples(CHOSEN, (self.seed, -2)))
        logits = (self._seen(examples) * last[[one.compared for one in examples]]).sum(axis=1)
        limits = [_limit(logits, examples, which, lost) for which, lost in CLEAN_LOST.items()]
        whole = self.network.folded() | {
            "last_w": last.astype(np.float32), "limits": np.asarray(limits, np.float32)
        }  # fmt: skip
        with replacing(path) as temporary, temporary.open("wb") as handle:
            np.savez_compressed(handle, **whole)

    def _seen(self, examples: list[Example]) -> Floats:
        """Return what the last layer sees of examples."""
        self.network.eval()
        seen = []
        for at in range(0, len(examples), 50):
            part = examples[at : at + 50]
            x, measures = (np.stack([getattr(one, name) for one in part]) for name in ("x", "measures"))
            with torch.inference_mode():
                found = self.network.seen(torch.from_numpy(x.astype(np.float32)), torch.from_numpy(measures))[0]
            seen.append(found.numpy())
        return np.concatenate(seen)


def _last_layers(seen: Floats, examples: list[Example]) -> Floats:
    """Return the last layer of each kind of comparison, ``[3, F]``: what all share, and what is its own.

    The penalty holds for both parts, so a kind with few examples stays near to what all share.
    """
    spread = seen.std(axis=0) + 1e-3
    compared = np.array([one.compared for one in examples])
    own = [seen / spread * (compared == which)[:, None] for which in CLEAN_LOST]
    fitted = LogisticRegression(C=PENALTY, max_iter=3000).fit(
        np.concatenate([seen / spread, *own], axis=1), [one.kind != "" for one in examples]
    )
    shared, *each = fitted.coef_[0].reshape(1 + len(own), -1)
    return np.asarray([(shared + part) / spread for part in each], np.float32)


def _limit(logits: Floats, examples: list[Example], which: int, lost: float) -> float:
    """Return the threshold at which so many clean examples are lost, and print what it rejects.

    Drawn faces and photographs are taken together: either alone are few people.
    """
    rows = {
        real: [k for k, one in enumerate(examples) if one.compared == which and one.real == real]
        for real in (False, True)
    }
    clean = [logits[k] for found in rows.values() for k in found if not examples[k].kind]
    limit = float(np.quantile(clean, 1 - lost))
    for real, found in rows.items():
        for kind in sorted({examples[k].kind for k in found}):
            rejected = [logits[k] > limit for k in found if examples[k].kind == kind]
            what = "photographs" if real else "drawn faces"
            print(f"{which}, {what}, {kind or 'clean':16s} rejected {np.mean(rejected):6.1%} of {len(rejected)}")
    return limit
