"""CelebA and CelebA-HQ as they are handed out: text files of attributes, identities and partitions."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from likewise.errors import TableError
from likewise.tables.io import read_frame

ATTRIBUTES = (
    "list_attr_celeba.txt",
    "list_attr_celeba.csv",
    "CelebAMask-HQ-attribute-anno.txt",
)
IDENTITIES = ("identity_CelebA.txt", "identity_celeba.txt", "identity_CelebA.csv")
PARTITIONS = ("list_eval_partition.txt", "list_eval_partition.csv")
MAPPING = "CelebA-HQ-to-CelebA-mapping.txt"
_PARTS = {0: "train", 1: "valid", 2: "test"}


def celeba_table(place: Path, *, alone: bool = False) -> pd.DataFrame:
    """Return one row per image, from the folder of the files (or the path of the attributes').

    Attributes are lower-case with 0 and 1; ``Male`` becomes ``perceived_gender``, because annotators said it. Images of
    CelebA-HQ find their identity over the mapping to CelebA. ``alone`` treats every image as another identity.
    """
    folder = place if place.is_dir() else place.parent
    path = place if place.is_file() else _found(folder, ATTRIBUTES)
    if path is None:
        raise TableError(f"No attribute file of CelebA in {folder}", fix="It is one of " + ", ".join(ATTRIBUTES) + ".")
    frame = _attributes(path)
    original = _original(frame, folder)
    frame.insert(1, "identity", frame["image"] if alone else _looked_up(original, _identities(folder)))
    parts = _found(folder, PARTITIONS)
    if parts is not None:
        frame["partition"] = _looked_up(original, _pairs(parts)).astype("int64").map(_PARTS)
    return frame


def _attributes(path: Path) -> pd.DataFrame:
    if path.suffix == ".csv":
        frame = read_frame(path, text=("image_id",))[0].rename(columns={"image_id": "image"})
    else:
        with path.open(encoding="utf-8") as handle:
            count, names = handle.readline().strip(), handle.readline().split()
            if not count.isdigit() or not names:
                fix = "Its first line is the number of images, its second the names of the attributes."
                raise TableError(f"{path.name} starts with {count[:40]!r}", fix=fix)
            frame = pd.read_csv(handle, sep=r"\s+", names=["image", *names], dtype={"image": "str"})
        if len(frame) != int(count):
            raise TableError(
                f"{path.name} has {len(frame)} rows, and its first line says {count}", fix="Download it again."
            )
    values = frame.drop(columns="image")
    if not values.isin([-1, 0, 1]).all(axis=None) or "Male" not in values.columns:
        raise TableError(
            f"{path.name} has values other than 1 and -1, or no column Male",
            fix="Use CelebA's own list_attr_celeba file.",
        )
    plain = (values > 0).astype("int64").rename(columns=str.lower)
    gender = plain.pop("male").map({1: "male", 0: "female"})
    return pd.concat([frame[["image"]], gender.rename("perceived_gender"), plain], axis=1)


def _original(frame: pd.DataFrame, folder: Path) -> pd.Series:
    """Return the name that each image has in CelebA itself."""
    if not (folder / MAPPING).is_file():
        return frame["image"]
    mapped = pd.read_csv(folder / MAPPING, sep=r"\s+", dtype="str")
    known = dict(zip(mapped["idx"] + ".jpg", mapped["orig_file"], strict=True))
    return frame["image"].map(known).fillna(frame["image"])


def _identities(folder: Path) -> dict[str, str]:
    path = _found(folder, IDENTITIES)
    if path is None:
        fix = "CelebA's authors send it on request. To treat every image as another identity: --identity image."
        raise TableError(f"{IDENTITIES[0]} not found in {folder}", fix=fix)
    return _pairs(path)


def _pairs(path: Path) -> dict[str, str]:
    """Read ``000001.jpg 2880`` lines, or the same as CSV with a header."""
    if path.suffix == ".csv":
        frame = pd.read_csv(path, dtype="str")
    else:
        frame = pd.read_csv(path, sep=r"\s+", names=["image", "value"], dtype="str")
    return dict(zip(frame.iloc[:, 0], frame.iloc[:, 1], strict=True))


def _looked_up(images: pd.Series, known: dict[str, str]) -> pd.Series:
    found = images.map(known)
    if found.isna().any():
        missing = images[found.isna()]
        problem = f"{len(missing)} images have no identity or partition, the first is {missing.iloc[0]!r}"
        raise TableError(problem, fix="Use the files of the same release of CelebA.")
    return found


def _found(folder: Path, names: tuple[str, ...]) -> Path | None:
    return next((folder / name for name in names if (folder / name).is_file()), None)
