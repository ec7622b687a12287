"""Training a fader network: step by step, each fixed by the seed, so that a killed training goes on bit by bit.

Two players take turns. The discriminator learns to read the attributes from the code; the autoencoder learns to draw
the picture again and, with a weight that rises from 0, to make the discriminator say the opposite. The order of
the pictures, the mirroring and the dropout of step t follow from the seed and t alone; a checkpoint holds the rest.

Where it is known which pictures show one face with its attributes set otherwise (`Lessons.faces`), the autoencoder is
given more (our addition): an image is drawn from the code of its twin, so what that code says of attributes is of no
use; and the codes of twins are brought together, in units of the code's own spread, so that shrinking it wins nothing.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from likewise.errors import SpecError, StoreError
from likewise.models.device import device as find_device
from likewise.models.fader.data import Lessons
from likewise.models.fader.network import Fader, FaderShape, agreement
from likewise.runtime.registry import Pictures, to_signals
from likewise.tables.io import replacing

CHECKPOINT = "checkpoint.pt"
FORMAT = 2


@dataclass(frozen=True, kw_only=True)
class TrainSpec:
    """How a fader network is trained; the reasons stand beside."""

    width: int = 32
    """Channels of the first layer."""
    code: int = 0
    """Channels of the code; 0 is as many as the last layer has, as published."""
    steps: int = 20_000
    """Batches in all; may be raised later."""
    batch: int = 32
    """Pictures a step, as published."""
    rate: float = 2e-3
    """Of Adam with beta1 = 0.5, as published."""
    cool: int = 0
    """Steps at the end in which the rate falls to 0; 0 is as published. It lets a short training settle."""
    adversary: float = 1e-2
    """The adversarial weight at the end of its rise; the published 1e-4 is for trainings a hundred times as long."""
    rise: int = 5_000
    """Steps in which it rises from 0: first the network has to be able to draw."""
    turns: int = 1
    """Batches that the discriminator learns from a step; one that cannot keep up is fooled, not robbed."""
    alike: float = 0.1
    """With pairs only: the weight of the distance between the codes of twins."""
    mirror: bool = True
    """Whether half of the pictures are mirrored."""
    shift: int = 0
    """Pixels by which a picture is moved at most, its border repeated: for few pictures."""
    seed: int = 0
    device: str = "cpu"

    def __post_init__(self) -> None:
        if (
            min(self.steps, self.batch, self.rise, self.turns) < 1
            or not 0 < self.rate < 1
            or min(self.adversary, self.alike) < 0
        ):
            raise SpecError(
                "Invalid training options: steps, batch, rise and turns must be at least 1, "
                f"rate, adversary and alike not negative ({self})",
                fix="Correct the option that breaks this rule.",
            )
        if not 0 <= self.shift <= 8:
            raise SpecError(f"shift is {self.shift}; it must be between 0 and 8 pixels")
        if not 0 <= self.cool <= self.steps:
            raise SpecError(f"cool is {self.cool}; it must be between 0 and the number of steps")
        if self.batch < 2:
            raise SpecError(f"batch is {self.batch}; it must be at least 2")


class Training:
    """A training at some step."""

    def __init__(self, lessons: Lessons, spec: TrainSpec) -> None:
        torch.manual_seed(spec.seed)
        self.lessons, self.spec, self.step = lessons, spec, 0
        self.device = find_device(spec.device)
        shape = FaderShape(attributes=lessons.names, size=lessons.pictures.shape[1], width=spec.width, code=spec.code)
        self.fader = Fader(shape)
        self.fader.along.copy_(torch.from_numpy(lessons.along()))
        self.fader.to(self.device)
        self.critic = self.fader.discriminator().to(self.device)
        adam: dict[str, Any] = {"lr": spec.rate, "betas": (0.5, 0.999)}
        self._hers = torch.optim.Adam(self.fader.parameters(), **adam)
        self._theirs = torch.optim.Adam(self.critic.parameters(), **adam)

    def advance(self) -> dict[str, float]:
        """Do one step; return its losses."""
        torch.manual_seed(hash_of(self.spec.seed, self.step))  # the dropout of this step
        x, a = self._batch()
        self._set_rate()
        self.fader.train()
        self.critic.train()
        code = self.fader.encoder(x)
        read = self._teach_critic(code.detach(), a)
        for turn in range(1, self.spec.turns):
            others, theirs = self._look(self._others(turn), turn)
            with torch.no_grad():
                seen = self.fader.encoder(others)
            self._teach_critic(seen, theirs)
        losses = self._teach_fader(x, code, a)
        self.step += 1
        return {"step": float(self.step), "discriminator": read, "weight": self._weight(), **losses}

    def _teach_critic(self, code: Tensor, a: Tensor) -> float:
        loss = agreement(self.critic(code), a)
        self._theirs.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        self._theirs.step()
        return float(loss.detach())

    def _teach_fader(self, x: Tensor, code: Tensor, a: Tensor) -> dict[str, float]:
        drawn = F.mse_loss(self.fader.decoder(self._swapped(code), a), x)
        fooled = agreement(self.critic(code), -a)  # the published target: the opposite, not "don't know"
        read = agreement(self.fader.reader(x), a)
        apart = self._apart(code)
        self._hers.zero_grad()
        loss = drawn + self._weight() * fooled + 0.1 * read + self.spec.alike * apart  # the reader shares nothing
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(self.fader.parameters(), 5.0)
        self._hers.step()
        losses = {"reconstruction": drawn, "reader": read, **({"apart": apart} if self._paired else {})}
        return {name: float(loss.detach()) for name, loss in losses.items()}

    @property
    def _paired(self) -> bool:
        return self.lessons.faces is not None

    def _swapped(self, code: Tensor) -> Tensor:
        """Give every picture its twin's code; without pairs its own."""
        return code.roll(len(code) // 2, dims=0) if self._paired else code

    def _apart(self, code: Tensor) -> Tensor:
        """Return how far twins' codes lie apart: 0 if they are equal, 1 if they are unrelated."""
        if not self._paired:
            return code.new_zeros(())
        left, right = code.chunk(2)
        return (left - right).square().mean() / (2 * code.var(dim=0).mean())

    def _set_rate(self) -> None:
        left = min((self.spec.steps - self.step) / self.spec.cool, 1.0) if self.spec.cool else 1.0
        for group in (*self._hers.param_groups, *self._theirs.param_groups):
            group["lr"] = self.spec.rate * left

    def _weight(self) -> float:
        return self.spec.adversary * min(self.step / self.spec.rise, 1.0)

    def _batch(self) -> tuple[Tensor, Tensor]:
        return self._look(_drawn(len(self.lessons.pictures), self.spec, self.step), 0)

    def _others(self, turn: int) -> npt.NDArray[np.int64]:
        n = len(self.lessons.pictures)
        return np.random.default_rng([self.spec.seed, 3, self.step, turn]).permutation(n)[: self.spec.batch]

    def _look(self, rows: npt.NDArray[np.int64], turn: int) -> tuple[Tensor, Tensor]:
        """Return the pictures of the rows and their attributes; with pairs, their twins' below, varied alike."""
        sets = [rows]
        if self._paired:
            sets.append(self.lessons.twins(rows, np.random.default_rng([self.spec.seed, 4, self.step, turn])))
        pictures = [_varied(self.lessons.pictures[some], self.spec, self.step, turn) for some in sets]
        x = torch.from_numpy(to_signals(np.concatenate(pictures))).to(self.device)
        return x, torch.from_numpy(self.lessons.attributes[np.concatenate(sets)]).to(self.device)

    def save(self, folder: Path) -> None:
        """Write a checkpoint, whole or not at all."""
        state = {
            "format": FORMAT,
            "step": self.step,
            "spec": json.dumps(asdict(self.spec)),
            "lessons": self.lessons.digest(),
            "fader": self.fader.state_dict(),
            "critic": self.critic.state_dict(),
            "optimizers": [self._hers.state_dict(), self._theirs.state_dict()],
        }
        buffer = io.BytesIO()
        torch.save(state, buffer)
        with replacing(folder / CHECKPOINT) as temporary:
            temporary.write_bytes(buffer.getvalue())

    def resume(self, folder: Path) -> bool:
        """Go on from a checkpoint, if there is one; it has to be of the same training."""
        path = folder / CHECKPOINT
        if not path.is_file():
            return False
        state = _loaded(path)
        self._check_same(state, path)
        self.fader.load_state_dict(state["fader"])
        self.critic.load_state_dict(state["critic"])
        for optimizer, kept in zip((self._hers, self._theirs), state["optimizers"], strict=True):
            optimizer.load_state_dict(kept)
        self.step = int(state["step"])
        return True

    def _check_same(self, state: dict[str, Any], path: Path) -> None:
        before, now = {**asdict(TrainSpec()), **json.loads(state["spec"])}, asdict(self.spec)
        free = ["device"]  # where does not change what a step does, nor how long, until the rate has begun to fall
        if not any(kept["cool"] and state["step"] > kept["steps"] - kept["cool"] for kept in (before, now)):
            free += ["steps", "cool"]
        changed = [name for name in now if name not in free and before.get(name) != now[name]]
        fix = f"Use the same options, or another folder than {path.parent}."
        if changed:
            got = ", ".join(f"{name} {before.get(name)} and now {now[name]}" for name in changed)
            raise StoreError(f"The options differ from those of the checkpoint: {got}", fix=fix)
        if state["lessons"] != self.lessons.digest():
            raise StoreError("The training images differ from those of the checkpoint", fix=fix)


def _loaded(path: Path) -> dict[str, Any]:
    try:
        state: dict[str, Any] = torch.load(path, map_location="cpu", weights_only=True)  # data only, never code
        if state["format"] == FORMAT:
            return state
    except Exception as error:  # torch raises whatever it meets
        raise StoreError(
            f"{path} is not a readable checkpoint: {type(error).__name__}", fix="Delete it to start the training again."
        ) from error
    raise StoreError(
        f"{path} has the checkpoint format {str(state['format'])[:20]}, not {FORMAT}",
        fix="Delete it to start the training again.",
    )


def hash_of(seed: int, step: int) -> int:
    """Return a number for torch that belongs to this seed and step alone."""
    return int(np.random.SeedSequence([seed, step]).generate_state(1, np.uint64)[0] >> np.uint64(1))


def _drawn(n: int, spec: TrainSpec, step: int) -> npt.NDArray[np.int64]:
    """Return which pictures a step looks at: every one once an epoch."""
    each = max(n // spec.batch, 1)
    order = np.random.default_rng([spec.seed, 1, step // each]).permutation(n)
    start = step % each * spec.batch
    rows: npt.NDArray[np.int64] = order[start : start + min(spec.batch, n)]
    return rows


def _varied(pictures: Pictures, spec: TrainSpec, step: int, turn: int) -> Pictures:
    """Mirror some of the pictures, and move each a little."""
    rng = np.random.default_rng([spec.seed, 2, step, turn])
    mirrored = (rng.random(len(pictures)) < 0.5) & spec.mirror
    varied = np.where(mirrored[:, None, None, None], pictures[:, :, ::-1], pictures)
    if not spec.shift:
        return varied
    wide = np.pad(varied, ((0, 0), (spec.shift, spec.shift), (spec.shift, spec.shift), (0, 0)), mode="edge")
    size, moves = pictures.shape[1], rng.integers(0, 2 * spec.shift + 1, (len(pictures), 2))
    return np.stack([one[y : y + size, x : x + size] for one, (y, x) in zip(wide, moves, strict=True)])


def train(
    lessons: Lessons,
    spec: TrainSpec,
    folder: Path,
    *,
    every: int = 500,
    watch: Callable[[Training, dict[str, float]], None] = lambda training, losses: None,
) -> Training:
    """Train to the end, from a checkpoint if there is one; ``watch`` sees every step."""
    training = Training(lessons, spec)
    training.resume(folder)
    for losses in _steps(training):
        if training.step % every == 0 or training.step == spec.steps:
            training.save(folder)
        watch(training, losses)
    return training


def _steps(training: Training) -> Iterator[dict[str, float]]:
    while training.step < training.spec.steps:
        yield training.advance()
