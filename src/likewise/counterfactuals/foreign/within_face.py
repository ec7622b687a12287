"""Artifacts of edits of whole pictures, looked for inside the face.

An endpoint draws the whole picture again, so all of its pixels differ from the original's. The artifact validator knows
edits that fade in inside facial skin. It is shown the same of a foreign edit: the edit within the facial skin of the
picture that it is compared with, faded into that picture. Hair is not looked at; the background has a rule of its own.

Over all strengths a face changes more than in the edits that the validator was trained on. So an edit is compared
with its original, and also by way of the strengths between: a patch, a ghost or a seam that is in one picture and not
in its neighbor shows in that step. The largest score on the way counts, or the direct one where that is smaller.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from PIL import Image
from scipy import ndimage

from likewise.counterfactuals.face_region import FEATHER
from likewise.counterfactuals.foreign.background import SEGMENTER, segmenter
from likewise.counterfactuals.masks import Mask, feathered, pasted
from likewise.counterfactuals.validation.artifacts import artifact_scores
from likewise.models.perception.segmentation import one_piece
from likewise.runtime.registry import Pictures
from likewise.weights.cache import entry

WHOLE = 0.9
"""Share of a picture that changed, from which on it was edited as a whole."""
Floats = npt.NDArray[np.float64]


def edited_whole(changed: Mask) -> bool:
    """Return whether the changed region is the whole picture, and facial skin can be found in it."""
    return float(changed.mean()) > WHOLE and entry(SEGMENTER) is not None


def whole_edit_artifacts(original: Pictures, edits: Pictures, *, recolored: bool = False) -> Floats:
    """Return the probability ``[K]`` that edits ``[K, H, W, 3]``, ordered by strength, have artifacts in the face."""

    def scores(before: Pictures, after: Pictures) -> Floats:
        return artifact_scores(before, within_face(before, after), recolored=recolored).astype(float)

    direct = scores(original, edits)
    way, start = direct.copy(), int(np.argmin(direct))
    for outward in (range(start + 1, len(edits)), range(start - 1, -1, -1)):
        for k in outward:
            inner = k - 1 if k > start else k + 1
            way[k] = max(way[inner], float(scores(edits[inner], edits[k : k + 1])[0]))
    return np.minimum(direct, way)


def within_face(original: Pictures, edits: Pictures) -> Pictures:
    """Return the edits inside the facial skin of the original ``[H, W, 3]``, faded into it.

    Without facial skin they are returned as they are.
    """
    skin = one_piece(segmenter().masks(original[None], "face skin")[0])
    if not skin.any():
        return edits
    height, width = original.shape[:2]
    whole = Image.fromarray(ndimage.binary_fill_holes(skin).astype(np.uint8) * 255)
    shown = np.asarray(whole.resize((width, height), Image.Resampling.BILINEAR)) > 127
    weight = feathered(shown, FEATHER * max(height, width))
    return np.stack([pasted(original, edit, weight) for edit in edits])
