"""References: for each image of a pair another image of the same person, the two equally difficult.

Difficulty is the distance between a test image and its reference. Of all admissible combinations the pair gets the
two whose difficulties differ least; ties go to the smaller keys. Distances are only ever needed within identities.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np
import pandas as pd

from likewise.errors import SpecError, TableError, nearest, some
from likewise.tables import Images, MatchSpec, Trials, Vectors
from likewise.tables.contrast import written

Difficulty = Trials | Vectors
Chosen = tuple[str, str, float, float]
"""The references of both images and their difficulties."""


@dataclass(frozen=True)
class References:
    """The valid references of every image, sorted by key, with their difficulties."""

    of: dict[str, list[tuple[str, float]]]
    ratio: float | None

    def has(self, image: str) -> bool:
        """Whether the image has any valid reference."""
        return bool(self.of.get(image))

    def choose(self, a: str, b: str) -> Chosen | None:
        """Return the two equally difficult references, or nothing when none keep the tolerance."""
        left, right = self.of.get(a, []), self.of.get(b, [])
        best: tuple[float, str, str, float, float] | None = None
        for name_a, hard_a in left:
            for name_b, hard_b in right:
                entry = (abs(hard_a - hard_b), name_a, name_b, hard_a, hard_b)
                if (best is None or entry < best) and self._alike(hard_a, hard_b):
                    best = entry
        return best[1:] if best else None

    def _alike(self, one: float, other: float) -> bool:
        return self.ratio is None or max(one, other) <= self.ratio * min(one, other)


def references(faces: Images, difficulty: Difficulty | None, spec: MatchSpec) -> References | None:
    """Find the valid references of every image, or nothing when the spec does not ask for them."""
    if not spec.references:
        if difficulty is not None:
            raise SpecError("difficulty has no effect without references = true", fix="Remove it.")
        return None
    if difficulty is None:
        fix = "Give Trials of one identity with a distance, or Vectors."
        raise SpecError("references = true needs difficulty=, by which references are chosen", fix=fix)
    valid = valid_references(faces, spec)
    least = spec.difficulty_at_least or 0.0
    of: dict[str, list[tuple[str, float]]] = defaultdict(list)
    for image, other, distance in _distances(faces, difficulty):
        for test, reference in ((image, other), (other, image)):
            if reference in valid and distance >= least:
                of[test].append((reference, distance))
    return References({image: sorted(found) for image, found in of.items()}, spec.difficulty_ratio)


def valid_references(faces: Images, spec: MatchSpec) -> set[str]:
    """Return the images that keep the conditions on references."""
    keep = pd.Series(True, index=pd.Index(faces.keys))
    for name, level in spec.reference_where:
        if name not in faces.attributes:
            fix = nearest(name, faces.attributes)
            raise SpecError(f"Column {name!r} of reference_where not found in Images", fix=fix)
        keep &= (faces.attribute(name).map(written, na_action="ignore") == level).to_numpy()
    return set(keep.index[keep])


def _distances(faces: Images, difficulty: Difficulty) -> list[tuple[str, str, float]]:
    """Return (image, other image of the same identity, distance), each couple once."""
    if isinstance(difficulty, Vectors):
        return _from_vectors(faces, difficulty)
    difficulty.check_images(faces)
    frame = difficulty.frame
    if "distance" not in frame.columns or frame["distance"].isna().any():
        raise TableError("The difficulties have rows without a distance", fix="Remove these rows.")
    identity = faces.identities
    strangers = identity.loc[frame["a"]].to_numpy() != identity.loc[frame["b"]].to_numpy()
    if strangers.any():
        raise TableError(
            f"Difficulties between two identities: {some(frame.loc[strangers, 'trial'])}",
            fix="Only pairs of one identity have a difficulty; remove the others.",
        )
    ends = np.sort(frame[["a", "b"]].to_numpy(dtype=str), axis=1)
    if pd.DataFrame(ends).duplicated().any():
        raise TableError("The difficulties hold two images twice", fix="Keep one row for each two images.")
    return list(zip(frame["a"], frame["b"], frame["distance"], strict=True))


def _from_vectors(faces: Images, vectors: Vectors) -> list[tuple[str, str, float]]:
    images = sorted(image for image in faces.keys if image in vectors)
    whose = pd.factorize(faces.identities.loc[images], sort=True)[0]
    order = np.argsort(whose, kind="stable")
    rows, names = vectors.rows(images)[order], [images[place] for place in order]
    ends = np.cumsum(np.bincount(whose)).tolist()
    found: list[tuple[str, str, float]] = []
    for start, end in zip([0, *ends[:-1]], ends, strict=True):
        if end - start > 1:
            values = np.asarray(vectors.values[rows[start:end]], dtype=np.float64).reshape(end - start, -1)
            found += _between(names[start:end], values)
    return found


def _between(images: list[str], values: np.ndarray) -> list[tuple[str, str, float]]:
    """Return the distance of every two images of one identity."""
    one, other = np.triu_indices(len(images), 1)
    apart = np.concatenate(
        [np.sqrt(((values[index + 1 :] - values[index]) ** 2).sum(axis=1)) for index in range(len(images) - 1)]
    )
    ends = zip(one.tolist(), other.tolist(), apart.tolist(), strict=True)
    return [(images[first], images[second], distance) for first, second, distance in ends]


def prove(frame: pd.DataFrame, faces: Images, spec: MatchSpec) -> dict[str, np.ndarray]:
    """Prove the rules on references for every pair, from the tables alone."""
    if not spec.references:
        return {}
    identity, valid = faces.identities, valid_references(faces, spec)
    proof = {}
    for side in ("a", "b"):
        reference = frame[f"ref_{side}"]
        same = identity.loc[frame[side]].to_numpy() == identity.loc[reference].to_numpy()
        proof[f"reference of {side}"] = same & (frame[side] != reference).to_numpy() & reference.isin(valid).to_numpy()
    hard = frame[["difficulty_a", "difficulty_b"]].to_numpy(dtype=np.float64)
    if spec.difficulty_at_least is not None:
        proof["no near-duplicates"] = (hard >= spec.difficulty_at_least).all(axis=1)
    if spec.difficulty_ratio is not None:
        proof["equally difficult"] = hard.max(axis=1) <= spec.difficulty_ratio * hard.min(axis=1)
    return proof
