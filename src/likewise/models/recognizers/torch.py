"""Recognizers that run in torch; gradients reach the picture."""

from __future__ import annotations

from functools import lru_cache
from importlib.util import find_spec
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import affine_grid, avg_pool2d, grid_sample, normalize

from likewise.errors import InputError
from likewise.models.detectors.landmarks import template
from likewise.models.device import device as device_of
from likewise.models.geometry import Floats, inverse, scale
from likewise.models.preprocessing import Preprocessing
from likewise.models.recognizers.aligned import BATCH, AlignedRecognizer, ModelCard
from likewise.models.recognizers.mobilefacenet import MobileFaceNet
from likewise.models.recognizers.onnx import opened
from likewise.models.recognizers.onnx_export import as_onnx
from likewise.models.recognizers.openface import OpenFace
from likewise.models.state import fill, read_state
from likewise.runtime.registry import Array, Pictures
from likewise.weights import where

NETWORKS: dict[str, type[nn.Module]] = {"mobilefacenet": MobileFaceNet, "openface": OpenFace}


@lru_cache(maxsize=8)
def network(kind: str, path: str, device: str) -> nn.Module:
    """Open a network once a process. Channels last is the order in which CPUs convolve fastest."""
    net = NETWORKS[kind]()
    tensors, _ = read_state(where(path), kind)
    fill(net, tensors, path)
    net.eval().requires_grad_(False).to(device_of(device))
    for weight in net.parameters():
        if weight.ndim == 4:
            weight.data = weight.data.contiguous(memory_format=torch.channels_last)
    return net


@lru_cache(maxsize=8)
def _session(kind: str, path: str, preprocessing: Preprocessing) -> Any:
    """Open the network in onnxruntime, once a process; None where it is not installed."""
    if not (find_spec("onnx") and find_spec("onnxruntime")):
        return None
    return opened(as_onnx(network(kind, path, "cpu"), preprocessing), "cpu")


class TorchRecognizer(AlignedRecognizer):
    """A network of ours behind the common preprocessing."""

    def __init__(self, card: ModelCard, kind: str, weights: str, *, device: str = "cpu", batch: int = BATCH) -> None:
        super().__init__(card, batch=batch)
        self.device = device_of(device)
        self._net = network(kind, str(where(weights)), device)
        self._session = _session(kind, str(where(weights)), self.preprocessing) if device == "cpu" else None
        self.dim = 128
        channels = (1, 3, 1, 1)
        self._mean, self._scale = (
            torch.tensor(numbers, device=self.device).view(channels)
            for numbers in (self.preprocessing.mean, self.preprocessing.scale)
        )

    def forward(self, crops: Pictures) -> Array:
        """Embed one batch of crops; on a CPU by onnxruntime where it is installed, which is about twice as fast."""
        if self._session is not None:
            embedded: Array = self._session.run(None, {"crops": np.asarray(crops, np.float32)})[0]
            return embedded
        return self.forward_in_torch(crops)

    def forward_in_torch(self, crops: Pictures) -> Array:
        """Embed one batch of crops in torch."""
        with torch.inference_mode():
            x = torch.from_numpy(np.array(crops, order="C")).to(self.device).permute(0, 3, 1, 2)
            answer: Array = self._embedded(x.float()).cpu().numpy()
        return answer

    def embed_tensor(self, x: Tensor, *, frame: str = "ffhq") -> Tensor:
        """Return embeddings ``[n, d]`` of pictures ``[n, 3, s, s]`` in [-1, 1] that are aligned to a frame already.

        The crop is the same for all: no face is looked for, so a picture without one is embedded all the same.
        """
        if x.ndim != 4 or x.shape[1] != 3 or x.shape[2] != x.shape[3]:
            raise InputError(f"Images have the shape {tuple(x.shape)}; they must be square, [n, 3, s, s]")
        crops = (self._cropped(x, frame) + 1) * 127.5
        with_torch = self._session is None or torch.is_grad_enabled()
        embedded = self._embedded(crops) if with_torch else self._by_session(crops)
        return normalize(embedded) if self.card.unit else embedded

    def _by_session(self, crops: Tensor) -> Tensor:
        """Embed crops ``[n, 3, size, size]`` as ``forward`` does, where no gradient is wanted."""
        return torch.from_numpy(self.forward(crops.float().permute(0, 2, 3, 1).numpy()))

    def _embedded(self, x: Tensor) -> Tensor:
        """Scale crops ``[n, 3, size, size]`` of 0 to 255 as the preprocessing says, and run the network."""
        ordered = x.flip(1) if self.preprocessing.color == "BGR" else x
        answer: Tensor = self._net(((ordered - self._mean) / self._scale).contiguous(memory_format=torch.channels_last))
        return answer

    def _cropped(self, x: Tensor, frame: str) -> Tensor:
        crop = between(frame, self.preprocessing.template, x.shape[-1], self.preprocessing.size)
        factor = max(1, int(1 / scale(crop)))
        small = avg_pool2d(x, factor) if factor > 1 else x
        theta = torch.tensor(_sampling(crop, x.shape[-1], self.preprocessing.size), dtype=x.dtype, device=x.device)
        shape = [len(x), 3, self.preprocessing.size, self.preprocessing.size]
        grid = affine_grid(theta.expand(len(x), 2, 3), shape, align_corners=False)
        inside = grid_sample(small + 1, grid, align_corners=False)  # black outside, and black is -1
        return inside - 1


def between(frame: str, crop: str, side: int, size: int) -> Floats:
    """Return the transform from a frame of ``side`` pixels, in which faces are aligned, to a crop of ``size``."""
    return template(crop).transform(template(frame).typical("centers", side), "centers", size)


def _sampling(transform: Floats, side: int, size: int) -> Floats:
    """Return where in the source each target pixel is taken from, both measured from -1 to 1."""
    back = inverse(transform)
    linear = back[:, :2] * size / side
    middle = back @ np.array([(size - 1) / 2, (size - 1) / 2, 1.0])
    return np.column_stack([linear, (middle + 0.5) * 2 / side - 1])
