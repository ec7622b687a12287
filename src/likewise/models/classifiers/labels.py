"""EfficientNet-Lite as a classifier of 1,000 everyday labels, and as features of how a picture looks."""

from __future__ import annotations

from functools import lru_cache
from importlib.resources import files

import numpy as np
import torch

from likewise.errors import SpecError
from likewise.models.classifiers.efficientnet_lite import FEATURES, LABELS, VARIANTS, EfficientNetLite, prepared
from likewise.models.device import device as device_of
from likewise.models.state import fill, read_state
from likewise.runtime.registry import Array, Pictures
from likewise.runtime.threads import in_batches
from likewise.tables import Vectors
from likewise.weights import where
from likewise.weights.licenses import license_of

_BATCH = 8


@lru_cache(maxsize=1)
def label_names() -> tuple[str, ...]:
    """Return the 1,000 names in the network's order: plain words for ImageNet's synsets."""
    text = (files("likewise.models.classifiers") / "data" / "imagenet_1000.txt").read_text(encoding="utf-8")
    return tuple(text.splitlines())


class EfficientNetLabels:
    """The component ``efficientnet-lite``: looks at the whole picture, not at a face."""

    threshold = 0.1  # chances of 1,000 labels: a tenth is a hundred times what guessing gives

    def __init__(self, *, variant: int = 0, weights: str = "", device: str = "cpu", batch: int = _BATCH) -> None:
        if variant not in VARIANTS:
            raise SpecError(f"Unknown variant {variant!r} of efficientnet-lite", fix="Choose 0, 1 or 2.")
        if batch < 1:
            raise SpecError(f"batch is {batch}; it must be at least 1")
        self.name = f"efficientnet-lite{variant}"
        self.license = license_of(weights or self.name)
        self._device, self._batch, self._size = device_of(device), batch, VARIANTS[variant].size
        self._network = _loaded(str(where(weights or self.name)), variant).to(self._device)

    def score(self, pictures: Pictures) -> dict[str, Array]:
        """Return the probability of each label."""
        chances = self._mapped(pictures, lambda x: self._network(x).softmax(dim=1), LABELS)
        return {label: np.ascontiguousarray(chances[:, k]) for k, label in enumerate(label_names())}

    def features(self, pictures: Pictures) -> Array:
        """Return ``[n, 1280]``, what the labels are read from."""
        return self._mapped(pictures, self._network.features, FEATURES)

    def vectors(self, images: list[str], pictures: Pictures) -> Vectors:
        """Return the features as Vectors that say whose they are: distances on them are not those on Inception."""
        return Vectors(images, self.features(pictures), source=f"{self.name}, pooled features")

    def logits(self, images: list[str], pictures: Pictures) -> Vectors:
        """Return the logits of the 1,000 labels as Vectors."""
        return Vectors(images, self._mapped(pictures, self._network, LABELS), source=f"{self.name}, logits")

    def _mapped(self, pictures: Pictures, call: object, width: int) -> Array:
        assert callable(call)

        @torch.inference_mode()
        def answer(part: Pictures) -> Array:
            x = prepared(part, self._size).to(self._device).contiguous(memory_format=torch.channels_last)
            given: Array = call(x).float().cpu().numpy()
            return given

        return np.concatenate([np.zeros((0, width), np.float32), *in_batches(answer, pictures, self._batch)])


@lru_cache(maxsize=3)
def _loaded(path: str, variant: int) -> EfficientNetLite:
    from pathlib import Path  # noqa: PLC0415

    network = EfficientNetLite(VARIANTS[variant])
    tensors, _ = read_state(Path(path), f"efficientnet-lite{variant}")
    fill(network, tensors, path)
    return network.eval().to(memory_format=torch.channels_last)  # type: ignore[call-overload,no-any-return]
