"""The distilled editor as a component: adds to a picture the change that a strength makes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from likewise.errors import SpecError, WeightsError, some
from likewise.models.device import device as find_device
from likewise.models.distilled.network import load_editor
from likewise.models.ends import same_end
from likewise.models.state import located
from likewise.runtime.registry import Pictures, to_pictures, to_signals

SHIPPED = Path(__file__).parent / "shipped" / "distilled-128.safetensors"
SHIPPED_LICENSE = (
    "research-only: its faces were drawn by mobilestylegan-ffhq, which is Apache-2.0 but distilled from "
    "StyleGAN2-FFHQ, whose weights are for non-commercial use"
)
_BATCH = 16
_CROP = 256  # pixels of the crop that the change is added to; the network sees it averaged down


class DistilledEditor:
    """The component ``distilled``: a feed-forward editor that was distilled from the embedded generator.

    Strengths are relative to the picture: 0 changes nothing, and 1 is the distance between the means of the two groups
    of drawn faces. A face that stands at one end already is hardly moved farther.
    """

    def __init__(self, weights: str = "", attribute: str = "", focal: str = "", device: str = "cpu") -> None:
        path, self.license = located(weights) if weights else _shipped()
        self.network, self.card = load_editor(path)
        shape = self.network.shape
        self.attribute = attribute or shape.attributes[0]
        if self.attribute not in shape.attributes:
            fix = f"Choose one of {some(shape.attributes, 8)}."
            raise SpecError(f"This editor has no attribute {self.attribute!r}", fix=fix)
        self._row = shape.attributes.index(self.attribute)
        self._sign = _sign(shape.toward[self._row], focal)
        self.focal = focal or shape.toward[self._row]
        self.name, self.resolution = f"distilled:{path.stem}", _CROP
        self.device = find_device(device)
        self.network.to(self.device)

    @property
    def held(self) -> tuple[str, ...]:
        """The attributes that stayed where they were in the pairs that it learned from."""
        held: Any = self.card.get("held", {})
        return tuple(map(str, held.get(self.attribute, ())))

    def edit(self, pictures: Pictures, level: float) -> Pictures:
        """Return pictures moved by ``level``; beyond +-1 it is extrapolated."""
        strips: Pictures = self.sweep(pictures, (level,))[:, 0]
        return strips

    def sweep(self, pictures: Pictures, levels: Sequence[float], images: Sequence[str] | None = None) -> Pictures:
        """Return the pictures at all levels, ``[n, K, H, W, 3]``: each is encoded once for all levels."""
        parts = [self._swept(pictures[i : i + _BATCH], levels) for i in range(0, len(pictures), _BATCH)]
        shape = (0, len(levels), *pictures.shape[1:])
        return np.concatenate(parts) if parts else np.zeros(shape, np.uint8)

    def _swept(self, pictures: Pictures, levels: Sequence[float]) -> Pictures:
        signals = torch.from_numpy(to_signals(pictures)).to(self.device)
        strips = np.repeat(pictures[:, None], len(levels), axis=1)
        with torch.inference_mode():
            features = self.network.encode(self.network.cut(self._seen(signals)))
            for k, level in enumerate(levels):
                if level == 0:
                    continue  # not even a rounding
                change = self.network.whole(self.network.decode(features, self._strengths(len(pictures), level)))
                strips[:, k] = to_pictures((signals + _enlarged(change, signals)).cpu().numpy())
        return strips

    def _strengths(self, n: int, level: float) -> Tensor:
        strengths = torch.zeros(n, len(self.network.shape.attributes), device=self.device)
        strengths[:, self._row] = self._sign * level
        return strengths

    def _seen(self, signals: Tensor) -> Tensor:
        size = (self.network.shape.size, self.network.shape.size)
        return signals if signals.shape[2:] == size else F.interpolate(signals, size, mode="bilinear", antialias=True)


def _enlarged(change: Tensor, signals: Tensor) -> Tensor:
    if change.shape[2:] == signals.shape[2:]:
        return change
    return F.interpolate(change, tuple(signals.shape[2:]), mode="bicubic", align_corners=False)


def _sign(toward: str, focal: str) -> float:
    """Return -1 where the contrast's focal level is the other end than the network's +1."""
    same = same_end(focal or toward, toward)
    if same is not None:
        return 1.0 if same else -1.0
    problem = f"The editor moves toward {toward!r}; which way is the contrast's focal level {focal!r}?"
    raise SpecError(problem, fix=f"Set focal = {toward!r} in [counterfactual.options], or the word for the other end.")


def _shipped() -> tuple[Path, str]:
    if not SHIPPED.is_file():
        fix = "Set weights to a file; likewise editor train makes one."
        raise WeightsError("This installation has no distilled editor", fix=fix)
    return SHIPPED, SHIPPED_LICENSE
