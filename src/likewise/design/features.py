"""Features: what units are compared on without any labels. Scores along directions, directions removed, components.

Why not the difference of the groups' means: it contains every confounder (age, hair, glasses) as far as the groups
differ in it. Taking it out before distances are measured hides exactly what should be matched. To ignore the attribute
itself, leave out its own score, or remove its *conditional* direction: the step that changes the attribute's score and
leaves the scores of all others where they are (``Directions.step(main, hold=...)``).
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

import numpy as np
import numpy.typing as npt
from scipy.linalg import eigh

from likewise.design.search.points import Points, mean_rows
from likewise.errors import SpecError, VectorError
from likewise.tables import Vectors

Floats = npt.NDArray[np.float64]
_MIDDLE = 0.43  # share of the rows of W+ that are coarse or middle: 8 of 18 (StyleGAN2), 10 of 23 (MobileStyleGAN)


def scores(vectors: Vectors, directions: Mapping[str, npt.ArrayLike]) -> Vectors:
    """Return each image's scores along directions, standardized to a standard deviation of one.

    Parameters
    ----------
    vectors
        Latents ``[n, D]`` or ``[n, L, D]``; of W+ the mean row is scored.
    directions
        By name, the gradient ``[D]`` of a linear score. Leave out that of the contrast's own attribute.

    Returns
    -------
    Vectors
        ``[n, len(directions)]``, in the order of the names given.

    Examples
    --------
    >>> import numpy as np
    >>> from likewise.design.features import scores
    >>> from likewise.tables import Vectors
    >>> latents = Vectors(["1", "2"], np.array([[0.0, 1.0], [2.0, 5.0]]), source="toy")
    >>> scores(latents, {"age": [1.0, 0.0]}).values.ravel().round(2).tolist()
    [-1.0, 1.0]
    """
    if not directions:
        raise SpecError("No directions were given", fix="Name at least one.")
    matrix = np.stack([np.asarray(gradient, dtype=np.float64) for gradient in directions.values()])
    if matrix.ndim != 2 or matrix.shape[1] != vectors.values.shape[-1]:
        raise VectorError(
            f"Directions of shape {matrix.shape[1:]} do not fit vectors of {vectors.values.shape[1:]}",
            fix="Fit the directions in the same latent space.",
        )
    found = _mean_rows(vectors) @ matrix.T
    found -= found.mean(axis=0)
    spread = found.std(axis=0)
    constant = [name for name, sd in zip(directions, spread, strict=True) if sd == 0]
    if constant:
        raise VectorError(f"All images have the same score along {constant[0]!r}", fix="Leave the direction out.")
    return Vectors(vectors.keys, found / spread, source=f"{vectors.source}, scores: {', '.join(directions)}")


def without_direction(vectors: Vectors, step: npt.ArrayLike, gradient: npt.ArrayLike) -> Vectors:
    """Return mean-row latents moved along ``step`` until their score along ``gradient`` is zero.

    With a conditional step (``Directions.step(attribute, hold=others)``) nothing but the attribute's own score changes:
    the scores that were held keep their values, so that confounders stay visible to the matching.

    Examples
    --------
    >>> import numpy as np
    >>> from likewise.design.features import without_direction
    >>> from likewise.tables import Vectors
    >>> latents = Vectors(["1"], np.array([[3.0, 4.0]]), source="toy")
    >>> without_direction(latents, step=[1.0, 0.0], gradient=[1.0, 0.0]).values.tolist()
    [[0.0, 4.0]]
    """
    along, score = (np.asarray(part, dtype=np.float64) for part in (step, gradient))
    raised = float(along @ score)
    if raised == 0:
        raise VectorError(
            "The step does not change the score, so that it cannot remove it",
            fix="Fit the direction again, with more images.",
        )
    values = _mean_rows(vectors)
    return Vectors(vectors.keys, values - np.outer(values @ score / raised, along), source=f"{vectors.source}, freed")


def principal_components(vectors: Vectors, count: int) -> Vectors:
    """Return the leading principal components of the mean rows, in their own units (larger ones count more).

    Examples
    --------
    >>> import numpy as np
    >>> from likewise.design.features import principal_components
    >>> from likewise.tables import Vectors
    >>> latents = Vectors(["1", "2", "3"], np.array([[0.0, 0], [1, 0], [2, 0]]), source="toy")
    >>> principal_components(latents, 1).values.shape
    (3, 1)
    """
    values = _mean_rows(vectors)
    if not 1 <= count <= min(values.shape):
        fix = f"Use 1 to {min(values.shape)}."
        raise SpecError(f"{values.shape[0]} vectors of {values.shape[1]} numbers have no {count} components", fix=fix)
    return Vectors(vectors.keys, _components(values, count), source=f"{vectors.source}, {count} principal components")


def row_groups(vectors: Vectors) -> Vectors:
    """Return W+ as three means of rows (coarse, middle and fine layers), ``[n, 3, D]``; of few rows their mean.

    Layers of a generator differ in what they draw (pose and shape, features, color and texture), and one mean over all
    rows hides the coarse ones behind the many fine ones.

    Examples
    --------
    >>> import numpy as np
    >>> from likewise.design.features import row_groups
    >>> from likewise.tables import Vectors
    >>> row_groups(Vectors(["1"], np.ones((1, 18, 5)), source="W+")).values.shape
    (1, 3, 5)
    """
    if vectors.values.ndim != 3:
        return vectors
    if vectors.values.shape[1] < 6:
        return mean_row(vectors)
    rows = vectors.values.shape[1]
    ends = (0, 4, max(round(rows * _MIDDLE), 5), rows)
    parts = [vectors.values[:, low:high].mean(axis=1, dtype=np.float64) for low, high in pairwise(ends)]
    return Vectors(vectors.keys, np.stack(parts, axis=1), source=f"{vectors.source}, groups of rows")


def freed_components(
    vectors: Vectors, count: int, *, step: npt.ArrayLike | None = None, gradient: npt.ArrayLike | None = None
) -> Vectors:
    """Return at most ``count`` principal components of unit variance, without the contrast's own direction.

    Every image is first moved along ``step`` (all rows alike) until its score along ``gradient`` is zero. With a
    conditional step the other scores stay where they are, so that what remains is what the groups should be balanced
    in. Without a step nothing is removed. Of W+ the components are of three groups of rows (``row_groups``).

    Examples
    --------
    >>> import numpy as np
    >>> from likewise.design.features import freed_components
    >>> from likewise.tables import Vectors
    >>> latents = Vectors(["1", "2", "3"], np.array([[5.0, 0], [-5, 1], [5, 2]]), source="toy")
    >>> freed_components(latents, 2, step=[1.0, 0.0], gradient=[1.0, 0.0]).values.ravel().round(2).tolist()
    [-1.22, 0.0, 1.22]
    """
    values = np.asarray(vectors.values, dtype=np.float64)
    if step is not None and gradient is not None:
        along, score = (np.asarray(part, dtype=np.float64) for part in (step, gradient))
        if float(along @ score) == 0:
            raise VectorError(
                "The step does not change the score, so that it cannot remove it",
                fix="Fit the direction again, with more images.",
            )
        moves = (_mean_rows(vectors) @ score) / float(along @ score)  # [n]
        values = values - moves.reshape(-1, *[1] * (values.ndim - 1)) * along
    flat = row_groups(Vectors(vectors.keys, values, source=vectors.source)).values.reshape(len(vectors), -1)
    found = _components(np.asarray(flat, dtype=np.float64), min(count, *flat.shape))
    spread = found.std(axis=0)
    kept = spread > 1e-6 * spread.max(initial=0.0)
    if not kept.any():
        raise VectorError(
            "The vectors are constant: they have no components",
            fix="Check the embeddings: all images have the same one.",
        )
    source = f"{vectors.source}, {int(kept.sum())} principal components"
    return Vectors(vectors.keys, found[:, kept] / spread[kept], source=source)


def _components(values: Floats, count: int) -> Floats:
    """Return the leading principal components ``[n, count]``, each with a sign that is fixed.

    The smaller of the two matrices of products is decomposed: pixels have more numbers than there are images.
    """
    values = values - values.mean(axis=0)
    wide = values.shape[1] > values.shape[0]
    products = values @ values.T if wide else values.T @ values
    _, axes = eigh(products, subset_by_index=(len(products) - count, len(products) - 1))
    axes = axes[:, ::-1]  # [min(n, D), count]
    if wide:
        axes = values.T @ axes
        axes = axes / np.maximum(np.linalg.norm(axes, axis=0), 1e-300)
    axes = axes * np.where(axes[np.abs(axes).argmax(axis=0), np.arange(count)] < 0, -1.0, 1.0)
    return np.asarray(values @ axes)


def joined(*parts: Vectors) -> Vectors:
    """Return the numbers of several vectors of the same images side by side."""
    if any(part.keys != parts[0].keys for part in parts):
        raise VectorError("Vectors of different images cannot be joined", fix="Embed the same images twice.")
    values = [np.asarray(part.values).reshape(len(part), -1) for part in parts]
    return Vectors(parts[0].keys, np.concatenate(values, axis=1), source=" + ".join(part.source for part in parts))


def mean_row(vectors: Vectors) -> Vectors:
    """Return the mean over the rows of W+."""
    return Vectors(vectors.keys, _mean_rows(vectors), source=f"{vectors.source}, mean row")


def _mean_rows(vectors: Vectors) -> Floats:
    values = mean_rows(Points(vectors.values, np.arange(len(vectors), dtype=np.intp))).values
    return np.asarray(values, dtype=np.float64)
