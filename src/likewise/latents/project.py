"""project: images become latents of a generator, as Vectors."""

from __future__ import annotations

import warnings
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np

from likewise.data.pictures import PictureSource, picture_source
from likewise.errors import LikewiseWarning, TableError
from likewise.latents.projection import (
    FAILURES,
    PROJECTED,
    Projection,
    ProjectSpec,
    compared_every,
    not_projected,
    solver,
)
from likewise.runtime.executor import Executor, Progress
from likewise.runtime.registry import Pictures
from likewise.tables import Images, Vectors


def project(
    images: Images,
    pictures: PictureSource | Pictures | str | Path,
    *,
    generator: str = "",
    spec: ProjectSpec | None = None,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> Vectors:
    """Project images into a generator's latent space (W+).

    Parameters
    ----------
    images : Images
        The images. Photographs should be in the generator's frame (``data.align``).
    pictures : ImageFolder, path or array
        Where the pictures are: a folder, or an array ``[n, H, W, 3]`` in the order of ``images``.
    generator : str
        Name of the generator component, e.g. ``"mobilestylegan"``; empty takes the one of ``spec``.
    spec : ProjectSpec, optional
        Method, perceptual distance, effort, lambda, seed. By default those of the generator: LPIPS for generators of
        photographs, pixels for the simulated world.
    executor : Executor, optional
        Where the work is done; by default in this process.
    progress : Progress, optional
        Is called as images are done.

    Returns
    -------
    Vectors
        ``[n, rows, dim]``. Images that could not be projected are absent; a ``LikewiseWarning`` gives their number by
        reason.

    Examples
    --------
    >>> import likewise as lw
    >>> from likewise.runtime.registry import to_pictures
    >>> from likewise.simulation.scene import draw
    >>> faces, factors = lw.World(identities=8, images_each=2).draw()
    >>> few = faces.subset(faces.keys[:2])
    >>> project(few, to_pictures(draw(factors[:2])), generator="world").values.shape
    (2, 4, 16)
    """
    used = _spec(generator, spec)
    maker, _, solve = solver(used)
    every = compared_every(used, len(images.keys))
    work, runner = Projection(used, picture_source(images, pictures), every), executor or Executor()
    parts = list(runner.map(work, images.keys, progress=progress, failures=not_projected))
    if not parts:
        raise TableError("No images to project", fix="Check the table.")
    states = np.concatenate([part["state"] for part in parts])
    _report_failures(states)
    done = states == PROJECTED
    latents = np.concatenate([part["w"] for part in parts])[done]  # [n, L, D]
    source = ", ".join(filter(None, [maker.name, used.words, solve.words]))
    return Vectors([key for key, there in zip(images.keys, done, strict=True) if there], latents, source=source)


def _spec(generator: str, spec: ProjectSpec | None) -> ProjectSpec:
    if spec is not None:
        return replace(spec, generator=generator) if generator else spec
    name = generator or ProjectSpec.generator
    return ProjectSpec(generator=name, perceptual="pixels" if name == "world" else "lpips-alex")


def _report_failures(states: np.ndarray) -> None:
    failed = Counter(FAILURES[int(state)] for state in states if state != PROJECTED)
    if not failed:
        return
    reasons = ", ".join(f"{reason} ({count})" for reason, count in failed.most_common())
    if sum(failed.values()) == len(states):
        raise TableError(
            f"None of {len(states)} images could be projected: {reasons}",
            fix="Check the images with: likewise check DIR --decode.",
        )
    message = f"{sum(failed.values())} of {len(states)} images were not projected and have no latent: {reasons}."
    warnings.warn(message, LikewiseWarning, stacklevel=3)
