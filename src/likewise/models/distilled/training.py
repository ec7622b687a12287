"""Trains the distilled editor: Adam on the change that a strength makes, weighed by the facial skin.

The loss is Huber's: squared where the error is small, so that the mean of what may be meant is learned and not its
median, which would be no change; linear where hair covers skin. A checkpoint is written every few minutes; a killed
training goes on from it. Weights are averaged over steps (decay 0.998), and the average is what is shipped.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from likewise.errors import SpecError, WeightsError
from likewise.models.distilled.data import Batch, Pairs, batch_of
from likewise.models.distilled.network import EditorNetwork, EditorShape, load_editor, save_editor
from likewise.tables.io import replacing

DELTA, DECAY = 0.15, 0.998
EVERY = 60.0  # CPU seconds between checkpoints


@dataclass(frozen=True, kw_only=True)
class TrainSpec:
    """How a distilled editor is trained."""

    seconds: float = 3600.0
    """How long, in CPU seconds of this process; the learning rate falls to zero over them."""
    batch: int = 8
    lr: float = 1e-3
    shares: tuple[float, ...] = (0.7, 0.3)
    """How often each attribute is drawn."""
    bfloat16: bool = False
    """Whether convolutions run in half precision, which is quicker on processors that have it."""
    seed: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "shares", tuple(self.shares))
        if self.seconds <= 0 or self.batch < 1 or self.lr <= 0:
            raise SpecError("seconds, batch and lr must be above 0")
        if min(self.shares) < 0 or abs(sum(self.shares) - 1) > 1e-6:
            raise SpecError(f"shares is {list(self.shares)}", fix="Give one share for each attribute; together 1.")


class Trainer:
    """A training that can be stopped and goes on; ``run`` does some seconds of it."""

    def __init__(
        self, pairs: Pairs, shape: EditorShape, spec: TrainSpec, checkpoint: Path, start: Path | None = None
    ) -> None:
        if len(spec.shares) != len(shape.attributes) or pairs.attributes != len(shape.attributes):
            raise SpecError(
                f"The pairs have {pairs.attributes} attributes, the editor {len(shape.attributes)}",
                fix="Draw the pairs for the attributes of this editor.",
            )
        torch.manual_seed(spec.seed)
        self.pairs, self.spec, self.checkpoint = pairs, spec, checkpoint
        self.network, self.average = EditorNetwork(shape), EditorNetwork(shape)
        if start is not None:
            self.network.load_state_dict(_started(start, shape))
        self.network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        self.average.load_state_dict(self.network.state_dict())
        self.adam = torch.optim.Adam(self.network.parameters(), spec.lr, betas=(0.9, 0.99))
        self.step, self.spent = 0, 0.0
        if checkpoint.is_file():
            self._resume()

    def run(self, seconds: float, log: Callable[[str], object] = lambda _: None) -> bool:
        """Train for some seconds, or less if the whole time is used up; return whether there is more to do."""
        begun = last = time.process_time()
        losses: list[float] = []
        while self.spent < self.spec.seconds and time.process_time() - begun < seconds:
            losses.append(self._one())
            now = time.process_time()
            self.spent, last = self.spent + now - last, now
        self.save()
        if losses:
            log(f"{self.spent:.0f} s, step {self.step}, {len(self.pairs)} faces: loss {np.mean(losses):.4f}")
        return self.spent < self.spec.seconds

    def _one(self) -> float:
        rng = np.random.default_rng([self.spec.seed, self.step])
        faces = rng.integers(len(self.pairs), size=self.spec.batch)
        batch = batch_of(self.pairs, faces, rng, shares=self.spec.shares, window=self.network.shape.window)
        done = min(1.0, self.spent / self.spec.seconds)
        warm, cool = min(1, (self.step + 1) / 100), 0.5 + 0.5 * math.cos(math.pi * done)
        self.adam.param_groups[0]["lr"] = self.spec.lr * warm * cool
        with torch.autocast("cpu", torch.bfloat16, enabled=self.spec.bfloat16):
            loss = loss_of(self.network, batch)
        self.adam.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(self.network.parameters(), 1.0)
        self.adam.step()
        self.step += 1
        decay = min(DECAY, self.step / (self.step + 10))
        with torch.no_grad():
            for mean, value in zip(self.average.parameters(), self.network.parameters(), strict=True):
                mean.lerp_(value, 1 - decay)
        return float(loss.detach())

    def save(self) -> None:
        """Write the checkpoint, whole or not at all."""
        kept = {"network": self.network.state_dict(), "average": self.average.state_dict(),
                "adam": self.adam.state_dict(), "step": self.step, "spent": self.spent}  # fmt: skip
        with replacing(self.checkpoint) as temporary:
            torch.save(kept, temporary)

    def _resume(self) -> None:
        try:
            kept = torch.load(self.checkpoint, weights_only=True)
            self.network.load_state_dict(kept["network"])
            self.average.load_state_dict(kept["average"])
            self.adam.load_state_dict(kept["adam"])
            self.step, self.spent = int(kept["step"]), float(kept["spent"])
        except Exception as error:  # a file of another shape, or none of ours
            fix = "Remove it to begin again."
            raise WeightsError(
                f"{self.checkpoint.name} is not a checkpoint of this editor: {error}", fix=fix
            ) from error


def _started(path: Path, shape: EditorShape) -> Mapping[str, Tensor]:
    """Return the weights of an editor of the same shape."""
    network, _ = load_editor(path)
    if network.shape != shape:
        raise WeightsError(f"{path.name} is an editor of another shape", fix="Leave out --start, or train that shape.")
    return network.state_dict()


def loss_of(network: EditorNetwork, batch: Batch) -> Tensor:
    """Return Huber's loss of the change, weighed by the facial skin."""
    change = network(batch.seen.contiguous(memory_format=torch.channels_last), batch.strengths).float()
    return (F.huber_loss(change, batch.goal, reduction="none", delta=DELTA) * batch.weight).mean() / DELTA


def explained(
    network: EditorNetwork, pairs: Pairs, *, attribute: int, seed: int = 0, most: int = 200
) -> dict[str, float]:
    """Return the shares of the change of the facial skin, absolute (L1) and squared (L2), that the network draws."""
    shares = tuple(float(k == attribute) for k in range(pairs.attributes))
    rest, whole = np.zeros(2), np.zeros(2)
    for face in range(min(most, len(pairs))):
        rng = np.random.default_rng([seed, face])
        twice = np.array([face, face])
        batch = batch_of(pairs, twice, rng, shares=shares, window=network.shape.window, outside=0.0, augment=False)
        if not bool(torch.isfinite(batch.weight).all()):
            continue
        with torch.inference_mode():
            error = batch.goal - network(batch.seen, batch.strengths)
        rest += [float((error.abs() * batch.weight).mean()), float((error.square() * batch.weight).mean())]
        whole += [float((batch.goal.abs() * batch.weight).mean()), float((batch.goal.square() * batch.weight).mean())]
    return {"L1": float(1 - rest[0] / whole[0]), "L2": float(1 - rest[1] / whole[1])}


def train_editor(
    folder: Path, held: Path | None, out: Path, shape: EditorShape, spec: TrainSpec,
    about: Mapping[str, object] | None = None, start: Path | None = None,
    log: Callable[[str], object] = lambda _: None,
) -> dict[str, object]:  # fmt: skip
    """Train on the blocks of ``folder``, rereading it as more are drawn; write the weights, and return their card.

    ``start`` has the weights of an editor to continue from. ``about`` is added to the card: ``held`` names for each
    attribute what stayed in the pairs.
    """
    trainer = Trainer(Pairs(folder), shape, spec, out.with_suffix(".checkpoint"), start)
    unseen = Pairs(held) if held else None
    while trainer.run(EVERY, log):
        trainer.pairs.read()
        if unseen is not None:
            log(_progress(trainer, unseen, most=30))
    card = {**card_of(trainer, unseen), **(about or {})}
    save_editor(out, trainer.average, card)
    return card


def _progress(trainer: Trainer, unseen: Pairs, most: int) -> str:
    found = {name: explained(trainer.average, unseen, attribute=k, most=most)
             for k, name in enumerate(trainer.network.shape.attributes)}  # fmt: skip
    return "; ".join(f"{name}: L1 {x['L1']:.1%}, L2 {x['L2']:.1%} explained" for name, x in found.items())


def card_of(trainer: Trainer, unseen: Pairs | None) -> dict[str, object]:
    """Return what the weights say about themselves."""
    shape = trainer.network.shape
    measured = {} if unseen is None else {
        name: {key: round(value, 3) for key, value in explained(trainer.average, unseen, attribute=k).items()}
        for k, name in enumerate(shape.attributes)}  # fmt: skip
    return {
        "attributes": dict(zip(shape.attributes, shape.toward, strict=True)),
        "training": {**asdict(trainer.spec), "steps": trainer.step, "faces": len(trainer.pairs)},
        "explained share of the change of facial skin, unseen drawn faces": measured,
        "held-out faces": 0 if unseen is None else len(unseen),
    }
