"""Training pairs of the distilled editor: blocks of drawn faces, and what is done to them so that photographs fit.

Blocks are ``.npz`` files as ``likewise editor draw`` writes them: ``pictures [n, v, s, s, 3]`` (version 0 is the face;
then a move for each attribute), ``skin [n, v, s, s]`` and ``places [n, v, k]``.

Drawn faces are cleaner than photographs. Light, color, blur, grain and small misalignments are therefore varied: the
same for the face and its goal. Compression spoils the input alone, because the change should be clean all the same.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F  # noqa: N812
from PIL import Image
from torch import Tensor

from likewise.errors import SpecError

Rng = np.random.Generator
_MOST = 1.8  # places beyond are not drawn: a strength that leads there leads to the same picture


class Pairs:
    """All blocks of a folder, in memory; ``read`` adds those that came since."""

    def __init__(self, folder: Path) -> None:
        self.folder, self._names = folder, set[str]()
        self.pictures: list[npt.NDArray[np.uint8]] = []
        self.skin: list[npt.NDArray[np.bool_]] = []
        self.places: list[npt.NDArray[np.float32]] = []
        self.read()
        if not self.pictures:
            raise SpecError(f"No pairs in {folder}", fix="Draw some first: likewise editor draw FOLDER")

    def __len__(self) -> int:
        return len(self.pictures)

    def read(self) -> None:
        """Read the blocks that were not read yet; arrays only, nothing in them is executed."""
        for path in sorted(self.folder.glob("*.npz")):
            if path.name in self._names:
                continue
            with np.load(path, allow_pickle=False) as block:
                self.pictures += list(block["pictures"])
                self.skin += list(block["skin"])
                self.places += list(block["places"])
            self._names.add(path.name)

    @property
    def attributes(self) -> int:
        """How many attributes were moved."""
        return int(self.places[0].shape[1])


@dataclass(frozen=True)
class Batch:
    """Inputs and goals in [-1, 1] ``[n, 3, s, s]``, strengths ``[n, k]`` and how much each pixel counts."""

    seen: Tensor
    goal: Tensor
    """The change that is wanted."""
    strengths: Tensor
    weight: Tensor


def choose(pairs: Pairs, face: int, rng: Rng, shares: tuple[float, ...]) -> tuple[int, int, int, float]:
    """Choose an attribute and two versions of a face; return them and the strength that leads from one to the other.

    One strength is the whole distance between the ends of an attribute. Where a move ended at the limit, a larger
    strength leads there as well.
    """
    k = int(rng.choice(len(shares), p=shares))
    first, second = (int(v) for v in rng.permutation([0, k + 1]))
    places = pairs.places[face][:, k]
    strength = float(places[second] - places[first]) / 2
    if abs(places[second]) > _MOST - 0.05 and strength * places[second] > 0 and rng.random() < 0.5:
        strength += float(np.sign(strength) * rng.uniform(0, 0.5))
    return k, first, second, strength


def batch_of(
    pairs: Pairs, faces: npt.NDArray[np.int64], rng: Rng, *, shares: tuple[float, ...], window: tuple[int, int, int],
    outside: float = 0.03, augment: bool = True,
) -> Batch:  # fmt: skip
    """Return a batch of these faces, cut to the window; outside of the facial skin of both a pixel counts little."""
    chosen = [choose(pairs, int(face), rng, shares) for face in faces]
    both = np.stack([pairs.pictures[f][[i, j]] for f, (_, i, j, _) in zip(faces, chosen, strict=True)])
    skin = np.stack([pairs.skin[f][i] & pairs.skin[f][j] for f, (_, i, j, _) in zip(faces, chosen, strict=True)])
    strengths = torch.zeros(len(faces), pairs.attributes)
    for row, (k, _, _, strength) in enumerate(chosen):
        strengths[row, k] = strength
    signals = torch.from_numpy(both).permute(0, 1, 4, 2, 3).float().div_(255)  # [n, 2, 3, S, S] in [0, 1]
    planes = torch.cat([signals.flatten(1, 2), torch.from_numpy(skin)[:, None].float()], dim=1)  # [n, 7, S, S]
    planes = _placed(planes, rng, window) if augment else _cut(planes, window)
    pair, mask = planes[:, :6].reshape(-1, 2, 3, *planes.shape[2:]), planes[:, 6:]
    pair = torch.stack([_colored(one, rng) for one in pair]) if augment else pair
    seen, goal = pair[:, 0] * 2 - 1, (pair[:, 1] - pair[:, 0]) * 2
    if augment:
        seen = torch.stack([_spoiled(one, rng) for one in seen])
    weight = mask + outside
    return Batch(seen, goal, strengths, weight / weight.mean(dim=(1, 2, 3), keepdim=True))


def _cut(planes: Tensor, window: tuple[int, int, int]) -> Tensor:
    top, left, side = window
    return planes[..., top : top + side, left : left + side]


def _placed(planes: Tensor, rng: Rng, window: tuple[int, int, int]) -> Tensor:
    """Turn, scale, move and mirror a little, and cut the window; all planes of a pair alike."""
    n, size = len(planes), planes.shape[-1]
    top, left, side = window
    angle, scale = rng.normal(0, 0.04, n), np.exp(rng.normal(0, 0.04, n)) * side / size
    mirror = np.where(rng.random(n) < 0.5, -1.0, 1.0)
    center = (np.array([left, top]) + side / 2) / size * 2 - 1
    move = center + rng.normal(0, 0.02, (n, 2))
    rows = np.stack([np.stack([mirror * scale * np.cos(angle), -scale * np.sin(angle), mirror * move[:, 0]], 1),
                     np.stack([scale * np.sin(angle), scale * np.cos(angle), move[:, 1]], 1)], 1)  # fmt: skip
    grid = F.affine_grid(torch.from_numpy(rows).float(), [n, 7, side, side], align_corners=False)
    return F.grid_sample(planes, grid, mode="bilinear", padding_mode="border", align_corners=False)


def _colored(pair: Tensor, rng: Rng) -> Tensor:
    """Vary exposure, white balance, a gradient of light, saturation and blur of a face and its goal alike."""
    gain = np.exp(rng.normal(0, 0.12) + rng.normal(0, 0.05, 3))
    pair = pair.clamp(1e-3, 1) ** float(np.exp(rng.normal(0, 0.2))) * torch.tensor(gain[:, None, None]).float()
    if rng.random() < 0.5:
        slope = torch.from_numpy(rng.normal(0, 0.2, 2)).float()
        rows, columns = (torch.linspace(-1, 1, side) for side in pair.shape[-2:])
        pair = pair * (1 + slope[0] * rows[:, None] + slope[1] * columns[None]).clamp(min=0.3)
    gray = pair.mean(dim=1, keepdim=True)
    pair = gray + (pair - gray) * (0.0 if rng.random() < 0.04 else float(np.exp(rng.normal(0, 0.2))))
    if rng.random() < 0.3:
        pair = _blurred(pair, float(rng.uniform(0.3, 1.2)))
    return pair.clamp(0, 1)


def _blurred(x: Tensor, width: float) -> Tensor:
    line = torch.exp(-0.5 * (torch.arange(-3, 4) / width) ** 2)
    line = (line / line.sum()).expand(3, 1, 1, 7)
    return F.conv2d(F.conv2d(x, line, padding=(0, 3), groups=3), line.mT, padding=(3, 0), groups=3)


def _spoiled(seen: Tensor, rng: Rng) -> Tensor:
    """Add grain and compression to an input."""
    if rng.random() < 0.6:
        seen = seen + torch.from_numpy(rng.normal(0, rng.uniform(0, 0.06), seen.shape)).float()
    if rng.random() < 0.3:
        shown = ((seen.clamp(-1, 1) + 1) * 127.5).byte().permute(1, 2, 0).numpy()
        buffer = io.BytesIO()
        Image.fromarray(shown).save(buffer, format="JPEG", quality=int(rng.integers(40, 95)))
        seen = torch.from_numpy(np.array(Image.open(buffer))).permute(2, 0, 1).float() / 127.5 - 1
    return seen
