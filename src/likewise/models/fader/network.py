"""Fader network: an autoencoder whose code does not contain the attributes, so that they can be set.

Lample et al. 2017, "Fader Networks: Manipulating Images by Sliding Attributes", NeurIPS, arXiv:1706.00409; used for
counterfactual faces by Joo and Kaerkkaeinen 2020. The encoder E halves the picture until 4 px are left; the decoder D
upsamples and gets the attributes at every level; a discriminator tries to read them from E(x), and E is trained
to defeat it. So D has to take them from its input, which at test time may have any value.

Our additions: several attributes at once, each one plane of its value in [-1, 1]; and a *reader*, a small classifier
trained beside, which says where a picture's own attributes stand, so that those that are not edited can be held.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path

import torch
import torch.nn.functional as F  # noqa: N812
from safetensors.torch import save
from torch import Tensor, nn

from likewise.errors import SpecError, WeightFileError, some
from likewise.models.state import fill, read_state
from likewise.tables.io import parse_json, replacing

SIZES = (32, 64, 128, 256)
CODE = 4  # px on a side of the code
WIDEST = 512


@dataclass(frozen=True, kw_only=True)
class FaderShape:
    """What a fader network looks like: all that is needed to build it again."""

    attributes: tuple[str, ...]
    """The first is the one that is edited; the others can be held."""
    size: int = 64
    """Pixels on a side."""
    width: int = 32
    """Channels of the first layer; each further one has twice as many, up to 512."""
    code: int = 0
    """Channels of the code; 0 is as many as the last layer has, as published. A narrow one can hide less."""
    erased: bool = False
    """Whether the code leaves through an eraser, which takes what is still linear in the attributes out of it."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "attributes", tuple(self.attributes))
        if not self.attributes or len(set(self.attributes)) != len(self.attributes):
            raise SpecError(f"A fader needs distinct attributes, at least one, not {list(self.attributes)}")
        if self.size not in SIZES:
            raise SpecError(f"size is {self.size}", fix=f"Choose one of {some(SIZES)}.")
        if not 4 <= self.width <= 128:
            raise SpecError(f"width is {self.width}; it must be between 4 and 128")
        if not 0 <= self.code <= WIDEST:
            raise SpecError(f"code is {self.code}; it must be between 0 and {WIDEST} channels")

    @property
    def channels(self) -> list[int]:
        """Channels after each halving."""
        return [min(self.width * 2**level, WIDEST) for level in range((self.size // CODE).bit_length() - 1)]

    @property
    def code_channels(self) -> int:
        """Channels that the code really has."""
        return self.code or self.channels[-1]


def _down(before: int, after: int) -> nn.Sequential:
    return nn.Sequential(nn.Conv2d(before, after, 4, 2, 1, bias=False), nn.BatchNorm2d(after), nn.LeakyReLU(0.2))


def _up(before: int, after: int) -> nn.Sequential:
    return nn.Sequential(nn.ConvTranspose2d(before, after, 4, 2, 1, bias=False), nn.BatchNorm2d(after), nn.ReLU())


def _narrow(before: int, after: int) -> list[nn.Module]:
    """Keep few channels; each of their numbers has a spread of 1, so none is hidden by making it small."""
    units = after * CODE * CODE
    even = nn.BatchNorm1d(units, affine=False)
    return [nn.Conv2d(before, after, 1, bias=False), nn.Flatten(), even, nn.Unflatten(1, (after, CODE, CODE))]


def _widen(before: int, after: int) -> nn.Sequential:
    return nn.Sequential(nn.Conv2d(before, after, 1, bias=False), nn.BatchNorm2d(after), nn.ReLU())


class Eraser(nn.Module):
    """Takes from a code what one linear reading of it says; `likewise.models.fader.erase` finds the reading."""

    mean: Tensor
    reading: Tensor
    writing: Tensor

    def __init__(self, units: int, attributes: int) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(units))
        self.register_buffer("reading", torch.zeros(attributes, units))
        self.register_buffer("writing", torch.zeros(units, attributes))

    def forward(self, code: Tensor) -> Tensor:
        """Return the code ``[n, C, 4, 4]`` without it."""
        read = (code.flatten(1) - self.mean) @ self.reading.T  # [n, k]
        return code - (read @ self.writing.T).view_as(code)


class Encoder(nn.Sequential):
    """Halves a picture until the code is left, ``[n, C, 4, 4]``."""

    def __init__(self, shape: FaderShape) -> None:
        channels = [3, *shape.channels]
        narrow = _narrow(channels[-1], shape.code) if shape.code else []
        eraser = [Eraser(shape.code_channels * CODE * CODE, len(shape.attributes))] if shape.erased else []
        super().__init__(*(_down(a, b) for a, b in pairwise(channels)), *narrow, *eraser)


class Decoder(nn.Module):
    """Doubles the code until it is a picture; every level gets the attributes."""

    def __init__(self, shape: FaderShape) -> None:
        super().__init__()
        planes, channels = len(shape.attributes), shape.channels[::-1]
        widen = [_widen(shape.code + planes, channels[0])] if shape.code else []
        self.steps = nn.ModuleList([*widen, *(_up(a + planes, b) for a, b in pairwise(channels))])
        self.paint = nn.ConvTranspose2d(channels[-1] + planes, 3, 4, 2, 1)

    def forward(self, code: Tensor, attributes: Tensor) -> Tensor:
        """Draw ``[n, 3, size, size]`` in [-1, 1] from the code and the attributes ``[n, k]``."""
        x = code
        for step in self.steps:
            x = step(_with(x, attributes))
        return torch.tanh(self.paint(_with(x, attributes)))


def _with(x: Tensor, attributes: Tensor) -> Tensor:
    """Append one plane an attribute."""
    planes = attributes[:, :, None, None].expand(-1, -1, *x.shape[2:])
    return torch.cat([x, planes], dim=1)


class Critic(nn.Sequential):
    """Reads attributes (as logits ``[n, k]``) from features of 4 px a side, with dropout against overconfidence."""

    def __init__(self, channels: int, attributes: int, hidden: int = 256) -> None:
        super().__init__(
            nn.Flatten(),
            nn.Linear(channels * CODE * CODE, hidden),
            nn.LeakyReLU(0.2),
            nn.Dropout(0.3),
            nn.Linear(hidden, attributes),
        )


class Reader(nn.Sequential):
    """Reads the attributes of a picture itself: a narrow encoder and a critic."""

    def __init__(self, shape: FaderShape) -> None:
        narrow = FaderShape(attributes=shape.attributes, size=shape.size, width=max(shape.width // 2, 4))
        super().__init__(Encoder(narrow), Critic(narrow.channels[-1], len(shape.attributes), 64))


class Fader(nn.Module):
    """Encoder, decoder and reader: what is shipped. The discriminator is only needed for training."""

    along: Tensor
    """``[k, k]``: by how much the row's attribute rises with the column's, in the faces that were learned from."""

    def __init__(self, shape: FaderShape) -> None:
        super().__init__()
        self.shape = shape
        self.register_buffer("along", torch.eye(len(shape.attributes)))
        self.encoder, self.decoder, self.reader = Encoder(shape), Decoder(shape), Reader(shape)

    def forward(self, x: Tensor, attributes: Tensor) -> Tensor:
        """Draw pictures ``[n, 3, size, size]`` again, with these attributes ``[n, k]``."""
        return self.decoder(self.encoder(x), attributes)  # type: ignore[no-any-return]

    def read(self, x: Tensor) -> Tensor:
        """Say where the attributes of pictures stand, ``[n, k]`` in (-1, 1)."""
        return torch.tanh(self.reader(x) / 2)  # 2 sigmoid - 1

    def discriminator(self) -> Critic:
        """Make the adversary of this network's encoder."""
        return Critic(self.shape.code_channels, len(self.shape.attributes))


def agreement(logits: Tensor, attributes: Tensor) -> Tensor:
    """Return the cross-entropy of logits with attributes in [-1, 1]; one between stands for a chance."""
    return F.binary_cross_entropy_with_logits(logits, (attributes + 1) / 2)


def save_fader(path: Path, fader: Fader, card: Mapping[str, object]) -> None:
    """Write the weights in half precision, with what they are and how they were made."""
    tensors = {name: _halved(value) for name, value in fader.state_dict().items()}
    shape = json.dumps(asdict(fader.shape))
    metadata = {"network": "fader", "shape": shape, "card": json.dumps(dict(card), sort_keys=True)}
    with replacing(path) as temporary:
        temporary.write_bytes(_ordered(save(tensors, metadata=metadata)))


def _ordered(file: bytes) -> bytes:
    """Put the names in the header in order, so that the same weights are the same bytes."""
    length = int.from_bytes(file[:8], "little")
    header = json.dumps(json.loads(file[8 : 8 + length]), sort_keys=True, separators=(",", ":")).encode()
    header += b" " * (-len(header) % 8)
    return len(header).to_bytes(8, "little") + header + file[8 + length :]


def _halved(value: Tensor) -> Tensor:
    return value.detach().cpu().half().contiguous() if value.is_floating_point() else value.detach().cpu()


def load_fader(path: Path) -> tuple[Fader, dict[str, object]]:
    """Read weights and their card; what is not a fader network is an error."""
    tensors, metadata = read_state(path, "fader")
    try:
        plain = parse_json(metadata["shape"])
        shape = FaderShape(**{**plain, "attributes": tuple(plain["attributes"])})
        card = dict(parse_json(metadata.get("card", "{}")))
    except (KeyError, TypeError, ValueError) as error:
        raise WeightFileError(
            f"{path.name} has no valid description of its fader network: {str(error)[:200]}"
        ) from error
    fader = Fader(shape)
    fill(fader, tensors, path.name)
    return fader.eval().requires_grad_(False), card
