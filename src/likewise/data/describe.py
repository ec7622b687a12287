"""describe: predicted and measured attributes as new columns of Images.

``predicted_*`` is a network's prediction, ``measured_*`` is measured in pixels. Neither is self-reported. Without a
detected face, or with too little skin, the cell stays empty. Faces are detected once for all networks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from likewise.data.describe_spec import HEADWEAR, OF_FACES, POSE, SHAPE, TEXT, TONE, DescribeSpec
from likewise.data.pictures import Pictures, PictureSource, picture_source
from likewise.errors import ImageError, SpecError, some
from likewise.models.classifiers.faces import Age, Emotion, FaceResAge, FaceResGender, Gender
from likewise.models.detectors.detected_faces import DetectedFaces, detect_faces
from likewise.models.detectors.registry import detector
from likewise.models.perception.color import brightness, lightness, sharpness, skin_tone
from likewise.models.perception.glasses import WORN, worn_share
from likewise.models.perception.headwear import headwear_share
from likewise.models.perception.pose import MeshPose, PointsPose
from likewise.models.perception.segmentation import CLASSES, SIDE, Segmenter, one_piece, square
from likewise.models.perception.shape import shapes
from likewise.runtime.executor import Executor, Progress, Result
from likewise.tables import Images

Columns = dict[str, npt.NDArray[Any]]
_GENDERS: dict[str, Callable[[], Gender | FaceResGender]] = {"gender-v1": Gender, "faceres": FaceResGender}
_AGES: dict[str, Callable[[], Age | FaceResAge]] = {"age-v1": Age, "faceres": FaceResAge}
_POSES: dict[str, Callable[[], MeshPose | PointsPose]] = {"mesh": MeshPose, "points": PointsPose}
_CROP = 128  # pixels of the crop that sharpness is read from


@dataclass(frozen=True)
class Described:
    """Images with their new columns, and who made each of them on what terms."""

    faces: Images
    made_by: Mapping[str, str]
    """For each new column, the model (and what found the faces)."""
    licenses: Mapping[str, str] = field(default_factory=dict)


class Describer:
    """The networks that a spec needs, loaded once."""

    def __init__(self, spec: DescribeSpec) -> None:
        self.spec = spec
        self.gender = _GENDERS[spec.gender]() if spec.wants("predicted_gender") else None
        self.age = _AGES[spec.age]() if spec.wants("predicted_age") else None
        self.pose = _POSES[spec.pose]() if spec.wants(*POSE) else None
        self.mesh = MeshPose() if spec.wants(*SHAPE) else None
        self.emotion = Emotion() if spec.wants("predicted_smile") else None
        self.segmenter = Segmenter() if spec.wants(*TONE, "predicted_eyeglasses", HEADWEAR) else None
        self.detector = detector(spec.detector) if spec.wants(*OF_FACES) else None

    def __call__(self, pictures: npt.NDArray[np.uint8]) -> Columns:
        """Return the wanted columns of pictures of one size."""
        made: Columns = {"measured_brightness": brightness(pictures)}
        seen = detect_faces(pictures, self.spec.detector) if self.detector is not None else None
        if seen is not None:
            made |= self._of_faces(seen)
        if self.segmenter is not None:
            made |= _of_masks(pictures, self.segmenter.classes(pictures), seen)
        return {column: made[column] for column in self.spec.columns}

    def _of_faces(self, seen: DetectedFaces) -> Columns:
        made: Columns = {"measured_sharpness": seen.spread(sharpness(seen.crops("face-20", _CROP)))}
        if self.gender is not None:
            said = self.gender.labeled(seen)
            words = np.where(said["female"] >= said["male"], "female", "male")
            made["predicted_gender"] = np.where(seen.there, words, "")
        if self.age is not None:
            made["predicted_age"] = self.age.years(seen)
        if self.emotion is not None:
            made["predicted_smile"] = self.emotion.labeled(seen)["happy"]
        if self.pose is not None:
            pose = self.pose.pose(seen)
            made |= dict(zip(POSE, (pose.yaw, pose.pitch, pose.roll), strict=True))
        if self.mesh is not None:
            made |= dict(zip(SHAPE, shapes(self.mesh.meshes(seen)).T, strict=True))
        return made

    def made_by(self) -> dict[str, str]:
        """Say of each wanted column who makes it."""
        found = f", faces found by {self.spec.detector}"
        makers = {
            "predicted_gender": f"{self.gender.name}{found}" if self.gender else "",
            "predicted_age": f"{self.age.name}{found}" if self.age else "",
            "predicted_smile": f"{self.emotion.name} (happy){found}" if self.emotion else "",
            "predicted_eyeglasses": f"{self.segmenter.name} (others at the eyes){found}" if self.segmenter else "",
            **dict.fromkeys(POSE, f"{self.pose.name}{found}" if self.pose else ""),
            **dict.fromkeys(SHAPE, f"points of {self.mesh.name}{found}" if self.mesh else ""),
            HEADWEAR: f"{self.segmenter.name} (clothes and others above the brows){found}" if self.segmenter else "",
            **dict.fromkeys(TONE, f"pixels, mask by {self.segmenter.name}" if self.segmenter else ""),
            "measured_brightness": "pixels",
            "measured_sharpness": f"pixels{found}",
        }
        return {column: makers[column] for column in self.spec.columns}

    def licenses(self) -> dict[str, str]:
        """Return the licenses of all networks that were used."""
        parts = (self.gender, self.age, self.emotion, self.pose, self.mesh, self.segmenter)
        found = {f"detector {self.detector.name}": self.detector.license} if self.detector is not None else {}
        return {part.name: part.license for part in parts if part is not None} | found


@lru_cache(maxsize=2)
def describer(spec: DescribeSpec) -> Describer:
    """Return the networks of a spec; they are loaded once a process."""
    return Describer(spec)


@dataclass(frozen=True)
class Describing:
    """The work of one chunk. Pictures may differ in size, so they are processed one size at a time."""

    spec: DescribeSpec
    album: PictureSource

    def __call__(self, images: list[str]) -> Result:
        """Describe these images."""
        made: dict[str, npt.NDArray[Any]] = {
            column: np.zeros(len(images), "U6") if column in TEXT else np.full(len(images), np.nan)
            for column in self.spec.columns
        }
        pictures = {row: picture for row, image in enumerate(images) if (picture := self._picture(image)) is not None}
        for shape in sorted({picture.shape for picture in pictures.values()}):
            rows = [row for row, picture in pictures.items() if picture.shape == shape]
            for column, values in describer(self.spec)(np.stack([pictures[row] for row in rows])).items():
                made[column][rows] = values
        return made

    def _picture(self, image: str) -> npt.NDArray[np.uint8] | None:
        """Show a picture; of one that cannot be opened nothing can be said, and the others are described."""
        try:
            picture: npt.NDArray[np.uint8] = self.album([image])[0]
        except ImageError:
            return None
        return picture


def describe(
    images: Images,
    pictures: PictureSource | Pictures | str | Path,
    *,
    spec: DescribeSpec | None = None,
    executor: Executor | None = None,
    folder: Path | None = None,
    progress: Progress | None = None,
) -> Images:
    """Add columns of what networks predict and what is measured in pixels.

    Parameters
    ----------
    images : Images
        The images.
    pictures : ImageFolder, path or array
        Where the pictures are: a folder, or an array ``[n, H, W, 3]`` in the order of ``images``.
    spec : DescribeSpec, optional
        Which columns, by which networks; by default all of them.
    executor : Executor, optional
        Where the work is done; by default in this process.
    folder : path, optional
        Where finished chunks are kept, so that an interrupted run resumes.
    progress : Progress, optional
        Is called as images are done.

    Returns
    -------
    Images
        With the columns ``predicted_*`` and ``measured_*``. A cell is empty where no face was detected, the skin is
        too small, or the file does not decode.

    Examples
    --------
    >>> import likewise as lw
    >>> import numpy as np
    >>> import pandas as pd
    >>> faces = lw.Images(pd.DataFrame({"image": ["a", "b"], "identity": ["x", "y"]}))
    >>> flat = np.stack([np.full((32, 32, 3), value, np.uint8) for value in (0, 255)])
    >>> only = DescribeSpec(columns=("measured_brightness",))
    >>> describe(faces, flat, spec=only).frame["measured_brightness"].round(1).tolist()
    [0.0, 100.0]
    """
    wanted = spec or DescribeSpec()
    work = Describing(wanted, picture_source(images, pictures))
    parts = list((executor or Executor()).map(work, images.keys, folder=folder, progress=progress))
    return put_together(images, parts, wanted).faces


def put_together(faces: Images, parts: list[Result], spec: DescribeSpec) -> Described:
    """Return the described faces from the results of all chunks, in their order."""
    frame = faces.frame
    there = [column for column in spec.columns if column in frame.columns]
    if there:
        fix = "Rename them in the table, or leave them out of columns in [describe]."
        raise SpecError(f"The table already has the columns {some(there)}", fix=fix)
    for column in spec.columns:
        values = np.concatenate([part[column] for part in parts]) if parts else np.zeros(0)
        frame[column] = [value or None for value in values.tolist()] if values.dtype.kind == "U" else values
    networks = describer(spec)
    return Described(Images(frame), networks.made_by(), networks.licenses())


def _of_masks(pictures: npt.NDArray[np.uint8], classes: npt.NDArray[np.uint8], seen: DetectedFaces | None) -> Columns:
    skin, background = (CLASSES.index(name) for name in ("face skin", "background"))
    faces = seen.faces if seen is not None else [None] * len(pictures)
    rows = []
    for picture, of_pixels, face in zip(pictures, classes, faces, strict=True):
        small, scale = square(picture), np.array([SIDE, SIDE]) / (picture.shape[1], picture.shape[0])
        middle = None if face is None else tuple((face.points.mean(axis=0) * scale).tolist())
        own = one_piece(of_pixels == skin, near=middle)  # of several people the one that the other columns are about
        rows.append((*skin_tone(small, own), lightness(small, of_pixels == background)))
    made = dict(zip(TONE, np.array(rows, dtype=np.float64).reshape(-1, 3).T, strict=True))
    if seen is None:
        return made
    return made | {"predicted_eyeglasses": _eyeglasses(classes, seen), HEADWEAR: _headwear(classes, seen)}


def _eyeglasses(classes: npt.NDArray[np.uint8], seen: DetectedFaces) -> npt.NDArray[np.str_]:
    """Say "yes" or "no"; nothing where no face was found."""
    shape = seen.pictures.shape[1:3]
    words = [
        "" if face is None else "yes" if worn_share(of_pixels, face, seen.scheme, shape) >= WORN else "no"
        for of_pixels, face in zip(classes, seen.faces, strict=True)
    ]
    return np.array(words, dtype="U6")


def _headwear(classes: npt.NDArray[np.uint8], seen: DetectedFaces) -> npt.NDArray[np.float64]:
    shape = seen.pictures.shape[1:3]
    return np.array([
        np.nan if face is None else headwear_share(of_pixels, face, seen.scheme, shape)
        for of_pixels, face in zip(classes, seen.faces, strict=True)
    ])  # fmt: skip
