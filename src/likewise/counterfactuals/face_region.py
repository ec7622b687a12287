"""The face region: where in a photograph the edited face is, and how an edit of its crop is pasted back.

Of several faces the one nearest to the middle is edited. Its crop, in the editor's own frame, is what the editor sees;
its facial skin, found in that crop, is where the edit may show. What goes back into the photograph is the *difference*
that the edit made, enlarged, so that a photograph of many megapixels keeps its own grain under the edit. Outside the
mask no byte is written at all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from PIL import Image
from scipy import ndimage

from likewise.counterfactuals.masks import Floats, Mask, Picture, Weight, feathered, outside_changed, pasted, returned
from likewise.data.align import AlignSpec, frame_of
from likewise.models.detectors.detection import Detection, Detector, central
from likewise.models.detectors.landmarks import template
from likewise.models.geometry import moved, scale, warp
from likewise.models.perception.pose import from_points
from likewise.models.perception.segmentation import SIDE, Segmenter, one_piece
from likewise.runtime.registry import Pictures

NO_FACE, NO_SKIN, CUT = "no face detected", "no facial skin found", "eyes, nose or mouth beyond the border"
TOO_SMALL, PROFILE = "face too small", "profile view"
SEVERAL, BORDER, GRAY = "several faces: the one nearest to the middle", "a face that the border cuts", "grayscale"
COVERED = "a partly covered face"
SMALLEST = 32  # pixels of the photograph that the editor's crop takes at least; fewer say too little about a face
TURNED = 50.0  # degrees of yaw from which on half of the face is hidden, and an edit of it is guesswork
SHOWN = 0.6  # share of the inner face that is skin, below which something covers it
FEATHER = 0.03  # of the crop's side: over so much the edit fades in from the mask's edge
LIGHT = 0.06  # of the crop's side: shades that are wider than this are light on the skin, narrower ones are features
LIGHT_SIDE = 128  # pixels at which light is measured
FEWEST = 200  # pixels of skin in the crop's 256 x 256; with fewer there is nothing to edit


@dataclass(frozen=True)
class FaceRegion:
    """A face in its picture: the way into the editor's crop, and the facial skin with its soft edge."""

    picture: Picture
    transform: Floats
    """``[2, 3]``, from the picture to the crop."""
    size: int
    """Pixels of the crop's side."""
    corner: tuple[int, int]
    """Row and column where ``weight`` begins."""
    weight: Weight
    """How much of the edit shows, over the skin's bounding box."""
    skin: Mask
    """The skin in the crop, ``[size, size]``."""
    remarks: tuple[str, ...] = ()

    @property
    def crop(self) -> Picture:
        """What the editor sees."""
        return warp(self.picture, self.transform, self.size, mirror=True)

    def put_back(self, crop: Picture, edited: Picture) -> Picture:
        """Return the picture with the difference between the crop and its edit, inside the mask only."""
        own = self.picture[self._window]
        change = returned(self._change(crop, edited), self.transform, (own.shape[0], own.shape[1]), self.corner)
        result = self.picture.copy()
        result[self._window] = pasted(own, _bytes(own + change), self.weight)
        return result

    def light(self, crop: Picture, drawn: Picture) -> npt.NDArray[np.float32]:
        """Return by how much the skin of the crop is lighter than a drawing of it, without the face's features.

        It is averaged over facial skin alone, so that hair and background that were drawn otherwise cast no shade.
        """
        small = (LIGHT_SIDE, LIGHT_SIDE)
        apart = crop.astype(np.float32) - drawn.astype(np.float32)
        planes = [np.asarray(Image.fromarray(apart[..., k]).resize(small, Image.Resampling.BOX)) for k in range(3)]
        skin = np.asarray(Image.fromarray(self.skin.astype(np.float32)).resize(small, Image.Resampling.BOX))
        width = LIGHT * LIGHT_SIDE
        share = np.maximum(ndimage.gaussian_filter(skin, width), 1e-3)
        smooth = [ndimage.gaussian_filter(plane * skin, width) / share for plane in planes]
        size = (crop.shape[1], crop.shape[0])
        large = [np.asarray(Image.fromarray(plane).resize(size, Image.Resampling.BICUBIC)) for plane in smooth]
        return np.stack(large, axis=-1)

    def put_whole(self, crop: Picture, edited: Picture) -> Picture:
        """Return the picture with the whole crop's difference: what the editor does without a mask."""
        height, width = self.picture.shape[:2]
        whole = returned(self._change(crop, edited), self.transform, (height, width))
        return _bytes(self.picture + whole)

    def _change(self, crop: Picture, edited: Picture) -> npt.NDArray[np.float32]:
        """Return what the edit did; to a gray picture in gray, because color is more than the attribute."""
        change = edited.astype(np.float32) - crop
        return np.repeat(change.mean(axis=-1, keepdims=True), 3, axis=-1) if GRAY in self.remarks else change

    def outside_changed(self, result: Picture) -> int:
        """Count the pixels outside the mask that differ from the original's; every pixel is compared again."""
        weight = np.zeros(self.picture.shape[:2], np.float32)
        weight[self._window] = self.weight
        return outside_changed(self.picture, result, weight)

    @property
    def _window(self) -> tuple[slice, slice]:
        (top, left), (height, width) = self.corner, self.weight.shape
        return slice(top, top + height), slice(left, left + width)


@dataclass(frozen=True)
class FaceLocator:
    """Finds the faces and their skin; ``align`` None takes whole pictures as they lie in the frame already."""

    detector: Detector
    segmenter: Segmenter
    align: AlignSpec | None
    size: int

    def __call__(self, pictures: Sequence[Picture]) -> list[FaceRegion | str]:
        """Return for each picture where its face is, or why it cannot be edited."""
        found = [self.detector.find(picture) for picture in pictures]
        faces = [central(each, picture) for each, picture in zip(found, pictures, strict=True)]
        ways = [self._way(face, picture) for face, picture in zip(faces, pictures, strict=True)]
        crops = [
            _square(picture, way, self.size)
            for picture, way in zip(pictures, ways, strict=True)
            if not isinstance(way, str)
        ]
        skins: Iterator[Mask] = iter(self.segmenter.masks(np.stack(crops), "face skin") if crops else [])
        placed: list[FaceRegion | str] = []
        for picture, face, way, others in zip(pictures, faces, ways, found, strict=True):
            if face is None or isinstance(way, str):
                placed.append(str(way))
                continue
            placed.append(_placed(picture, face, way, next(skins), self.size, several=len(others) > 1))
        return placed

    def _way(self, face: Detection | None, picture: Picture) -> Floats | str:
        """Return the transform into the crop, or why the face cannot be edited."""
        if face is None:
            return NO_FACE
        if _beyond(face.points, picture):
            return CUT
        if abs(float(from_points(face.points, self.detector.scheme)[0])) > TURNED:
            return PROFILE
        if self.align is None:
            height, width = picture.shape[:2]
            return rescaled(np.eye(2, 3), self.size / width, self.size / height) if width >= SMALLEST else TOO_SMALL
        frame = template(self.align.frame)
        way = frame_of(face, picture, self.detector.scheme, frame, self.align.slack, self.size)[1]
        return way if self.size / scale(way) >= SMALLEST else TOO_SMALL


def _placed(
    picture: Picture, face: Detection, way: Floats, skin: Mask, size: int, *, several: bool
) -> FaceRegion | str:
    middle = moved(face.points.mean(axis=0), rescaled(way, SIDE / size))
    skin = one_piece(skin, near=(float(middle[0]), float(middle[1])))
    if skin.sum() < FEWEST:
        return NO_SKIN
    corner, there = _in_picture(skin, rescaled(way, SIDE / size), picture)
    if not there.any():
        return NO_SKIN
    weight = feathered(there, FEATHER * size / float(np.sqrt(abs(np.linalg.det(way[:, :2])))))
    covered = _skin_share(skin, moved(face.points, rescaled(way, SIDE / size))) < SHOWN
    message = {SEVERAL: several, BORDER: _cut(face, picture), GRAY: _is_gray(picture), COVERED: covered}
    small = np.asarray(Image.fromarray(skin).resize((size, size), Image.Resampling.NEAREST))
    remarks = tuple(remark for remark, holds in message.items() if holds)
    return FaceRegion(picture, way, size, corner, weight, small, remarks)


def _skin_share(skin: Mask, points: Floats) -> float:
    """Return how much of the box around eyes, nose and mouth is skin: less where a hand or a scarf covers it."""
    low = np.clip(np.floor(points.min(axis=0)).astype(int), 0, SIDE - 1)
    high = np.clip(np.ceil(points.max(axis=0)).astype(int) + 1, low + 1, SIDE)
    return float(skin[low[1] : high[1], low[0] : high[0]].mean())


def _in_picture(skin: Mask, transform: Floats, picture: Picture) -> tuple[tuple[int, int], Mask]:
    """Return the skin at the picture's own resolution, over its bounding box, and where that begins."""
    rows, columns = np.nonzero(skin)
    back = np.linalg.inv(np.vstack([transform, [0, 0, 1]]))[:2]
    ends = np.array([[x, y] for x in (columns.min() - 1, columns.max() + 1) for y in (rows.min() - 1, rows.max() + 1)])
    there = moved(ends, back)
    limit = np.array([picture.shape[1], picture.shape[0]])
    low = np.clip(np.floor(there.min(axis=0)).astype(int), 0, limit)
    high = np.clip(np.ceil(there.max(axis=0)).astype(int) + 1, low, limit)
    corner, shape = (int(low[1]), int(low[0])), (int(high[1] - low[1]), int(high[0] - low[0]))
    if min(shape) == 0:
        return corner, np.zeros(shape, bool)
    soft = returned(skin.astype(np.float32)[..., None], transform, shape, corner)
    return corner, np.asarray(soft[..., 0] >= 0.5)


def _square(picture: Picture, way: Floats, size: int) -> Picture:
    return warp(picture, rescaled(way, SIDE / size), SIDE, mirror=True)


def rescaled(way: Floats, x: float, y: float | None = None) -> Floats:
    """Return the way into a crop that is so many times as wide and high; pixel centers lie at whole numbers."""
    factor = np.array([x, x if y is None else y])
    return np.column_stack([factor[:, None] * way[:, :2], factor * (way[:, 2] + 0.5) - 0.5])


def relit(pictures: Pictures, light: npt.NDArray[np.float32]) -> Pictures:
    """Return drawings ``[K, H, W, 3]`` in another light."""
    return _bytes(pictures + light)


def _bytes(numbers: npt.NDArray[np.float32]) -> Picture:
    return np.rint(np.clip(numbers, 0, 255)).astype(np.uint8)


def _beyond(points: Floats, picture: Picture) -> bool:
    height, width = picture.shape[:2]
    x, y = points[:, 0], points[:, 1]
    return bool(((x < 0) | (y < 0) | (x > width - 1) | (y > height - 1)).any())


def _cut(face: Detection, picture: Picture) -> bool:
    left, top, right, bottom = face.box
    return left < 0 or top < 0 or right > picture.shape[1] or bottom > picture.shape[0]


def _is_gray(picture: Picture) -> bool:
    return bool((picture[..., 0] == picture[..., 1]).all() and (picture[..., 1] == picture[..., 2]).all())


def crops_of(placed: Sequence[FaceRegion]) -> Pictures:
    """Return what the editor sees of all of them, ``[n, size, size, 3]``."""
    return np.stack([each.crop for each in placed])
