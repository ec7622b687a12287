"""The fader network as an editor: edits one attribute of an image and holds the others at the image's own values."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from likewise.errors import SpecError, WeightsError, some
from likewise.models.device import device as find_device
from likewise.models.fader.network import Fader, load_fader
from likewise.models.state import located
from likewise.runtime.registry import Array, Pictures, to_pictures, to_signals

SHIPPED = Path(__file__).parent / "shipped" / "fader-64.safetensors"
SHIPPED_LICENSE = (
    "research-only: its faces were drawn by mobilestylegan-ffhq, which is Apache-2.0 but distilled from "
    "StyleGAN2-FFHQ, whose weights are for non-commercial use"
)
_BATCH = 64
KEEP, DRAWN = "keep", "drawn"


class FaderEditor:
    """The component ``fader``.

    With ``detail = "keep"`` a picture gets the *change* between its own attributes and the new ones, as the network
    draws both; what the network cannot draw stays, and pictures may be larger than the network's. With "drawn" it
    is the network's own picture, as published, at the network's size.
    """

    def __init__(
        self, weights: str = "", attribute: str = "", hold: bool = True, detail: str = KEEP, device: str = "cpu"
    ) -> None:
        path, self.license = located(weights) if weights else _shipped()
        self.fader, self.card = load_fader(path)
        names = self.fader.shape.attributes
        self.attribute = attribute or names[0]
        if self.attribute not in names:
            raise SpecError(f"This fader has no attribute {self.attribute!r}", fix=f"Choose one of {some(names, 8)}.")
        if detail not in (KEEP, DRAWN):
            raise SpecError(f"detail is {detail!r}", fix=f"Choose '{KEEP}' or '{DRAWN}'.")
        self.name, self.hold, self.detail = f"fader:{path.stem}", hold, detail
        self.device = find_device(device)
        self.fader.to(self.device)

    @property
    def held(self) -> tuple[str, ...]:
        """The attributes that stay where they are."""
        return tuple(name for name in self.fader.shape.attributes if name != self.attribute) if self.hold else ()

    def edit(self, pictures: Pictures, level: float) -> Pictures:
        """Return pictures whose attribute stands at ``level``; beyond +-1 the network extrapolates."""
        size = self.fader.shape.size
        if self.detail == DRAWN and pictures.shape[1:3] != (size, size):
            got = f"{pictures.shape[2]} x {pictures.shape[1]}"
            raise SpecError(
                f"Images are {got} px; with detail = 'drawn' they must be {size} x {size}",
                fix="Resize them, or leave out detail.",
            )
        parts = [self._edited(pictures[i : i + _BATCH], level) for i in range(0, len(pictures), _BATCH)]
        return np.concatenate(parts) if parts else pictures.copy()

    @property
    def resolution(self) -> int:
        """How large the crop is that the network sees; its change is enlarged into the picture."""
        return self.fader.shape.size

    def sweep(self, pictures: Pictures, levels: Sequence[float], images: Sequence[str] | None = None) -> Pictures:
        """Return the pictures at all levels, ``[n, K, H, W, 3]``: each is encoded once for all levels."""
        few = max(1, _BATCH // max(len(levels), 1))
        parts = [self._swept(pictures[i : i + few], levels) for i in range(0, len(pictures), few)]
        shape = (0, len(levels), *pictures.shape[1:])
        return np.concatenate(parts) if parts else np.zeros(shape, np.uint8)

    def redraw(self, pictures: Pictures, images: Sequence[str] | None = None) -> Pictures:
        """Return pictures as the network draws them, every attribute at the image's own value; no detail is kept.

        Of larger pictures the network only draws what it sees, so what is finer than its own pixels stays.
        """
        parts = [self._redrawn(pictures[i : i + _BATCH]) for i in range(0, len(pictures), _BATCH)]
        return np.concatenate(parts) if parts else pictures.copy()

    def _redrawn(self, pictures: Pictures) -> Pictures:
        with torch.inference_mode():
            x = self._seen(pictures)
            drawn = self.fader.decoder(self.fader.encoder(x), self.fader.read(x))
            return to_pictures(drawn.cpu().numpy()) if _alike(drawn, pictures) else _changed(pictures, drawn - x)

    def _swept(self, pictures: Pictures, levels: Sequence[float]) -> Pictures:
        count = len(levels)
        with torch.inference_mode():
            x = self._seen(pictures)
            code, own = self.fader.encoder(x), self.fader.read(x)
            edited = torch.stack(
                [_with_attribute(self.fader, own, self.attribute, level, hold=self.hold) for level in levels], dim=1
            )  # [n, K, k]
            drawn = self.fader.decoder(code.repeat_interleave(count, dim=0), edited.flatten(0, 1))
            if self.detail == DRAWN:
                made = to_pictures(drawn.cpu().numpy())
            else:
                change = drawn - self.fader.decoder(code, own).repeat_interleave(count, dim=0)
                made = _changed(np.repeat(pictures, count, axis=0), change)
        return made.reshape(len(pictures), count, *made.shape[1:])

    def read(self, pictures: Pictures) -> Array:
        """Say where the attributes of pictures stand, by the network's own reader, ``[n, k]``."""
        with torch.inference_mode():
            values: Array = self.fader.read(self._seen(pictures)).cpu().numpy()
        return values

    def _edited(self, pictures: Pictures, level: float) -> Pictures:
        with torch.inference_mode():
            x = self._seen(pictures)
            code, own = self.fader.encoder(x), self.fader.read(x)
            edited = _with_attribute(self.fader, own, self.attribute, level, hold=self.hold)
            drawn = self.fader.decoder(code, edited)
            if self.detail == DRAWN:
                return to_pictures(drawn.cpu().numpy())
            change = drawn - self.fader.decoder(code, own)
            return _changed(pictures, change)

    def _seen(self, pictures: Pictures) -> Tensor:
        x = torch.from_numpy(to_signals(pictures)).to(self.device)
        size = (self.fader.shape.size, self.fader.shape.size)
        return x if x.shape[2:] == size else F.interpolate(x, size, mode="bilinear", antialias=True)


def _shipped() -> tuple[Path, str]:
    if not SHIPPED.is_file():
        raise WeightsError(
            "This installation has no pretrained fader network",
            fix="Set weights to a file; likewise fader train makes one.",
        )
    return SHIPPED, SHIPPED_LICENSE


def _with_attribute(fader: Fader, own: Tensor, attribute: str, level: float, *, hold: bool) -> Tensor:
    """Return the attributes with one at ``level``; what is not held moves along its slope in the training data.

    That is what a network that knows only this attribute would do: associated attributes change together.
    """
    which = fader.shape.attributes.index(attribute)
    edited = own.clone() if hold else own + (level - own[:, which : which + 1]) * fader.along[:, which]
    edited[:, which] = level
    return edited


def _alike(signals: Tensor, pictures: Pictures) -> bool:
    return tuple(signals.shape[2:]) == pictures.shape[1:3]


def _changed(pictures: Pictures, change: Tensor) -> Pictures:
    """Add a change, brought to the pictures' size, to the pictures."""
    if not _alike(change, pictures):
        change = F.interpolate(change, pictures.shape[1:3], mode="bicubic", align_corners=False)
    return to_pictures(to_signals(pictures) + change.cpu().numpy())
