"""The distilled editor's network: a small U-Net that draws the change which a strength makes, not a new face.

    edited = picture + sum over attributes of  strength * change(picture, strengths)

so strength 0 changes nothing, exactly. The encoder sees the picture only; the strengths enter the decoder, so a sweep
encodes once. It looks at the middle of the frame that generators of faces draw, where the face is, and the change fades
out to the border of that window.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
import torch.nn.functional as F  # noqa: N812
from safetensors.torch import save
from torch import Tensor, nn

from likewise.errors import SpecError, WeightFileError
from likewise.models.state import fill, read_state
from likewise.tables.io import parse_json, replacing

NETWORK = "distilled-editor"
FADE = 6  # pixels over which the change fades out to the border of the window


@dataclass(frozen=True, kw_only=True)
class EditorShape:
    """What a distilled editor looks like: all that is needed to build it again."""

    attributes: tuple[str, ...]
    toward: tuple[str, ...]
    """What +1 of each attribute looks like."""
    size: int = 128
    """Pixels of the frame's side."""
    window: tuple[int, int, int] = (20, 16, 96)
    """Row and column where the window begins, and its side."""
    widths: tuple[int, ...] = (24, 48, 96, 160)
    """Channels at half the window's size, and after each halving."""

    def __post_init__(self) -> None:
        for name in ("attributes", "toward", "window", "widths"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        if not self.attributes or len(self.attributes) != len(self.toward):
            raise SpecError(
                f"An editor needs an end for each of its attributes {list(self.attributes)}",
                fix="Give each attribute its two ends.",
            )
        top, left, side = self.window
        if min(top, left) < 0 or max(top, left) + side > self.size or side % 2 ** len(self.widths):
            problem = f"The window {list(self.window)} does not fit a frame of {self.size} px"
            raise SpecError(problem, fix=f"Its side must be a multiple of {2 ** len(self.widths)}.")


class Block(nn.Module):
    """Two convolutions beside a shortcut; the second begins at zero, so that deep networks begin shallow."""

    def __init__(self, before: int, after: int, controls: int = 0) -> None:
        super().__init__()
        self.first, self.second = nn.Conv2d(before, after, 3, padding=1), nn.Conv2d(after, after, 3, padding=1)
        self.shortcut = nn.Conv2d(before, after, 1) if before != after else nn.Identity()
        self.control = nn.Linear(controls, 2 * after) if controls else None
        nn.init.zeros_(self.second.weight)

    def forward(self, x: Tensor, control: Tensor | None = None) -> Tensor:
        """Return ``[n, after, h, w]``; strengths scale and shift the channels in the middle."""
        inner = self.first(x)
        if self.control is not None:
            scale, shift = self.control(control)[:, :, None, None].chunk(2, dim=1)
            inner = inner * (1 + scale) + shift
        made: Tensor = self.shortcut(x) + self.second(F.leaky_relu(inner, 0.1))
        return F.leaky_relu(made, 0.1)


class EditorNetwork(nn.Module):
    """Draws the change of each attribute per unit of its strength."""

    fade: Tensor

    def __init__(self, shape: EditorShape) -> None:
        super().__init__()
        self.shape = shape
        widths, controls = shape.widths, 2 * len(shape.attributes)
        self.stem = nn.Conv2d(12 + 2, widths[0], 3, padding=1)
        pairs = list(zip((widths[0], *widths[:-1]), widths, strict=True))
        self.down = nn.ModuleList(Block(before, after) for before, after in pairs)
        self.middle = Block(widths[-1], widths[-1], controls)
        self.up = nn.ModuleList(Block(2 * after, before, controls) for before, after in reversed(pairs))
        self.paint = nn.Conv2d(widths[0], 12 * len(shape.attributes), 3, padding=1)
        nn.init.zeros_(self.paint.weight)
        self.register_buffer("fade", _fade(shape.window[2]), persistent=False)

    def encode(self, window: Tensor) -> list[Tensor]:
        """Return the features of windows ``[n, 3, s, s]`` in [-1, 1], from fine to coarse."""
        x = F.pixel_unshuffle(window, 2)
        x = F.leaky_relu(self.stem(torch.cat([x, _coordinates(x)], dim=1)), 0.1)
        kept = []
        for level, block in enumerate(self.down):
            x = block(x if level == 0 else F.avg_pool2d(x, 2))
            kept.append(x)
        return kept

    def decode(self, features: list[Tensor], strengths: Tensor) -> Tensor:
        """Return the change ``[n, 3, s, s]`` that strengths ``[n, k]`` make."""
        control = torch.cat([strengths, strengths.abs()], dim=1)
        x = self.middle(features[-1], control)
        for level, block in enumerate(self.up):
            beside = features[-1 - level]
            x = block(torch.cat([x if level == 0 else F.interpolate(x, scale_factor=2), beside], dim=1), control)
        drawn = F.pixel_shuffle(self.paint(x), 2)
        each = drawn.view(len(x), -1, 3, *drawn.shape[2:])  # [n, k, 3, s, s]
        return (each * strengths[:, :, None, None, None]).sum(dim=1) * self.fade

    def forward(self, window: Tensor, strengths: Tensor) -> Tensor:
        """Return the change of windows."""
        return self.decode(self.encode(window), strengths)

    def cut(self, frames: Tensor) -> Tensor:
        """Return the windows of frames ``[n, c, size, size]``."""
        top, left, side = self.shape.window
        return frames[..., top : top + side, left : left + side]

    def whole(self, change: Tensor) -> Tensor:
        """Return a change of the window as one of the frame; 0 beyond the window."""
        top, left, side = self.shape.window
        right, bottom = self.shape.size - left - side, self.shape.size - top - side
        return F.pad(change, (left, right, top, bottom))


def _coordinates(x: Tensor) -> Tensor:
    """Return two planes that say where a pixel is: faces lie alike in the frame."""
    rows, columns = (torch.linspace(-1, 1, side, device=x.device) for side in x.shape[2:])
    planes = torch.stack([rows[:, None].expand(*x.shape[2:]), columns[None].expand(*x.shape[2:])])
    return planes.expand(len(x), -1, -1, -1)


def _fade(side: int) -> Tensor:
    inside = torch.arange(side).add(0.5).clamp(max=FADE) / FADE
    edge = torch.minimum(inside, inside.flip(0))
    return edge[:, None] * edge[None]


def save_editor(path: Path, network: EditorNetwork, card: Mapping[str, object]) -> None:
    """Write the weights in half precision, with shape and card."""
    tensors = {name: value.half().contiguous() for name, value in network.state_dict().items()}
    metadata = {"network": NETWORK, "form": "1", "shape": json.dumps(asdict(network.shape)), "card": json.dumps(card)}
    with replacing(path) as temporary:
        temporary.write_bytes(save(tensors, metadata))


def load_editor(path: Path) -> tuple[EditorNetwork, dict[str, object]]:
    """Read what ``save_editor`` wrote."""
    tensors, metadata = read_state(path, NETWORK)
    try:
        shape, card = EditorShape(**parse_json(metadata["shape"])), parse_json(metadata["card"])
    except (KeyError, TypeError, ValueError, SpecError) as error:
        raise WeightFileError(f"{path.name} does not say what its network looks like: {error}") from error
    network = EditorNetwork(shape)
    fill(network, tensors, path.name)
    return network.eval().requires_grad_(False), card
