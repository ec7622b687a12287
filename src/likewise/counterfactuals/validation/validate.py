"""validate-edits: the validators measure every edit beside its original and beside the placebo arms."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from likewise.counterfactuals.edit import placebo_images
from likewise.counterfactuals.placebo import ORIGINAL
from likewise.counterfactuals.validation.measure_edits import MeasureEdits, ratings_of
from likewise.counterfactuals.validation.validators import Validators
from likewise.counterfactuals.validation.validity import ValiditySpec, assess, verdicts
from likewise.data.keys import file_of, key_of
from likewise.data.pictures import PictureSource, picture_source
from likewise.errors import ImageError, SpecError, some
from likewise.runtime.executor import Executor, Progress
from likewise.runtime.pixels import ImageFolder
from likewise.runtime.registry import Pictures
from likewise.tables import Contrast, Images, Ratings


def validate_edits(
    edits: Images,
    pictures: PictureSource | Pictures | str | Path,
    *,
    spec: ValiditySpec,
    originals: PictureSource | str | Path | None = None,
    contrast: Contrast | None = None,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> Ratings:
    """Measure whether edits moved the target attribute and nothing else.

    Parameters
    ----------
    edits : Images
        Counterfactuals, as ``counterfactual`` returns them.
    pictures : ImageFolder or path
        Where the edited pictures, and those of the placebo arms, are.
    spec : ValiditySpec
        The validators and their tolerances. A rule without a validator is broken for all edits.
    originals : ImageFolder or path, optional
        Where the originals are; by default the placebo arm ``original`` in the same folder.
    contrast : Contrast, optional
        The groups whose distance the movement of the target is compared with; by default the whole range of the score.
    executor : Executor, optional
        Where the work is done; by default in this process.
    progress : Progress, optional
        Is called as images are done.

    Returns
    -------
    Ratings
        What every validator measured of each edit, and the verdict (``valid``, ``extrapolation``).

    Examples
    --------
    >>> import tempfile
    >>> import likewise as lw
    >>> from likewise.counterfactuals.edit import counterfactual
    >>> from likewise.counterfactuals.validation.validity import valid_edits
    >>> from likewise.runtime.registry import to_pictures
    >>> from likewise.simulation.scene import draw
    >>> faces, factors = lw.World(identities=8, images_each=2).draw()
    >>> spec = ValiditySpec(
    ...     target="world-attributes: female", held=("world-attributes: smiling",), recognizer="world",
    ...     artifacts="world-artifacts: artifact",
    ... )
    >>> contrast = lw.Contrast("perceived_gender", "female", "male")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     edits = counterfactual(faces, to_pictures(draw(factors)), editor="world", folder=folder)
    ...     validity = validate_edits(edits, folder, spec=spec, contrast=contrast)
    >>> len(valid_edits(validity, edits)) == len(edits)
    True
    """
    validators = Validators(spec)
    frame = edits.frame
    parents, strengths = sorted(frame["parent"].unique()), tuple(sorted(frame["level"].unique()))
    made, arms = _sources(edits, pictures)
    work = MeasureEdits(spec, strengths, _originals(parents, originals, pictures), made, arms)
    parts = list((executor or Executor()).map(work, parents, progress=progress))
    answers = {question: np.concatenate([part[question] for part in parts]) for question in parts[0]}
    measured = ratings_of(parents, strengths, answers)
    groups = None if contrast is None else groups_of(edits, contrast)
    verdict = assess(measured, edits, replace(spec, person=validators.person), groups=groups)
    return Ratings.together([measured, verdicts(verdict, edits)])


def groups_of(edits: Images, contrast: Contrast) -> dict[str, int]:
    """Return the group of each original: 1 focal, -1 reference. Edits keep the attributes of their original."""
    side = contrast.side(edits)
    return {parent: int(side[image]) for image, parent in zip(edits.keys, edits.frame["parent"], strict=True)}


def _sources(edits: Images, pictures: Any) -> tuple[PictureSource, tuple[str, ...]]:
    """Return the source of edits and placebo arms, and which arms there are."""
    if not isinstance(pictures, str | Path):
        return picture_source(edits, pictures), ()
    placebo = placebo_images(edits, pictures)
    keys = [*edits.keys, *placebo.keys]
    arms = tuple(dict.fromkeys(placebo.frame["source"]))
    return ImageFolder(Path(pictures).resolve(), {key: file_of(key) for key in keys}), arms


def _originals(parents: list[str], originals: Any, pictures: Any) -> PictureSource:
    if originals is not None:
        return picture_source(parents, originals)
    if not isinstance(pictures, str | Path):
        raise SpecError("No pictures of the originals were given", fix="Give originals=folder.")
    files = {parent: file_of(key_of(parent, 0.0, ORIGINAL)) for parent in parents}
    missing = [parent for parent, name in files.items() if not Path(pictures, name).is_file()]
    if missing:
        problem = f"{len(missing)} originals are not in {pictures}: {some(missing)}"
        raise ImageError(problem, fix="Give originals=folder.")
    return ImageFolder(Path(pictures).resolve(), files)
