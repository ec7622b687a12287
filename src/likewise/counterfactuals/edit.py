"""counterfactual: the same images with one attribute edited to several strengths, and the placebo arms beside them."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from likewise.counterfactuals.placebo import MASK, ORIGINAL, RANDOM, RECONSTRUCT
from likewise.counterfactuals.sweep import Sweep, arms_of, chosen, sweep_faces
from likewise.counterfactuals.sweep_spec import SweepSpec, editor_of
from likewise.data.keys import file_of, key_of
from likewise.data.pictures import PictureSource, picture_source
from likewise.errors import LikewiseWarning, SpecError, TableError
from likewise.runtime.executor import Executor, Progress
from likewise.runtime.registry import Editor, Pictures
from likewise.tables import Images

STRENGTHS = (-2.0, -1.0, 0.0, 1.0, 2.0)


def counterfactual(
    images: Images,
    pictures: PictureSource | Pictures | str | Path,
    *,
    editor: Any,
    folder: str | Path,
    strengths: Sequence[float] = STRENGTHS,
    spec: SweepSpec | None = None,
    seed: int = 0,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> Images:
    """Edit one attribute of images to several strengths, and write the pictures.

    Parameters
    ----------
    images : Images
        The images; one per identity is edited, at most ``spec.most``.
    pictures : ImageFolder, path or array
        Where the pictures are: a folder, or an array ``[n, H, W, 3]`` in the order of ``images``.
    editor : str or object
        Name of an editor component, or an object with ``edit(pictures, strength)``, ``attribute``, ``name``.
    folder : path
        Where the edited pictures are written, as PNG.
    strengths : sequence of float
        Edit strengths, 0 among them: -1 looks like the reference group, +1 like the focal group; beyond is
        extrapolation.
    spec : SweepSpec, optional
        Mask, detector, options of the editor, number of images. Its editor and strengths are those given here.
    seed : int
        Chooses the images and the random direction of the placebo arm.
    executor : Executor, optional
        Where the work is done; by default in this process.
    progress : Progress, optional
        Is called as images are done.

    Returns
    -------
    Images
        One row for each edit: ``parent`` is the original, ``level`` the strength, ``file`` the picture in ``folder``.
        The pictures of the placebo arms are in the folder as well (``placebo_images`` lists them). Images that could
        not be edited are absent; a ``LikewiseWarning`` gives their number by reason.

    Examples
    --------
    >>> import tempfile
    >>> import likewise as lw
    >>> from likewise.runtime.registry import to_pictures
    >>> from likewise.simulation.scene import draw
    >>> faces, factors = lw.World(identities=8, images_each=2).draw()
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     edits = counterfactual(
    ...         faces, to_pictures(draw(factors)), editor="world", folder=folder, strengths=(-1, 0, 1)
    ...     )
    >>> edits.frame["level"].value_counts().to_dict()
    {-1.0: 8, 0.0: 8, 1.0: 8}
    """
    made, used = _editor(editor, spec or SweepSpec(), strengths)
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    source = picture_source(images, pictures)
    work = _work(used, made, None if isinstance(editor, str) else made, source, target, seed)
    keys = chosen(images, used, seed=seed)
    parts = list((executor or Executor()).map(work, keys, progress=progress))
    reasons = np.concatenate([part["reason"] for part in parts]) if parts else np.zeros(0, "U1")
    done = [key for key, why in zip(keys, reasons, strict=True) if not why]
    _report_reasons(reasons)
    edits = sweep_faces(images, done, used).frame
    return Images(edits.assign(file=edits["image"].map(file_of)))


def placebo_images(edits: Images, folder: str | Path) -> Images:
    """Return the placebo arms of edits whose pictures are in ``folder``; ``source`` names the arm.

    The arms are ``original``, ``reconstruct``, ``mask`` (one picture an image, at level 0) and ``random`` (one at each
    strength).
    """
    frame = edits.frame
    parents = frame.drop_duplicates("parent")
    parts = [frame.assign(image=[key_of(p, s, RANDOM) for p, s in zip(frame["parent"], frame["level"], strict=True)])]
    parts[0]["source"] = RANDOM
    for arm in (ORIGINAL, RECONSTRUCT, MASK):
        keys = [key_of(parent, 0.0, arm) for parent in parents["parent"]]
        parts.append(parents.assign(image=keys, level=0.0, source=arm))
    arms = pd.concat(parts, ignore_index=True)
    arms["file"] = arms["image"].map(file_of)
    there = [Path(folder, name).is_file() for name in arms["file"]]
    return Images(arms[there].reset_index(drop=True))


def _editor(editor: Any, spec: SweepSpec, strengths: Sequence[float]) -> tuple[Editor, SweepSpec]:
    if isinstance(editor, str):
        used = replace(spec, editor=editor, strengths=tuple(strengths))
        return editor_of(used), used
    if spec.options:
        raise SpecError("Options have no effect on an editor object", fix="Give options with a component name.")
    missing = [member for member in ("edit", "attribute", "name") if not hasattr(editor, member)]
    if missing:
        fix = "An editor has edit(pictures, strength), attribute and name."
        raise SpecError(f"A {type(editor).__name__} cannot be used as an editor: {missing[0]} is missing", fix=fix)
    return editor, replace(spec, editor=str(editor.name), strengths=tuple(strengths))


def _work(
    spec: SweepSpec, editor: Editor, given: Editor | None, source: PictureSource, folder: Path, seed: int
) -> Sweep:
    arms = arms_of(spec, editor)
    if not spec.masked(editor):
        return Sweep(spec, source, folder, seed, arms, editor=given)
    from likewise.counterfactuals.masked_sweep import MaskedSweep, frame_for  # noqa: PLC0415  # networks load late

    return MaskedSweep(spec, source, folder, seed, arms, editor=given, align=frame_for(editor, None))


def _report_reasons(reasons: np.ndarray) -> None:
    counted = Counter(str(why) for why in reasons if why)
    message = ", ".join(f"{why} ({count})" for why, count in counted.most_common())
    edited = len(reasons) - sum(counted.values())
    if edited < 2:
        fix = "Look at the pictures, or at mask and detector."
        problem = f"Only {edited} of {len(reasons)} images could be edited" + (f": {message}" if message else "")
        raise TableError(problem, fix=fix)
    if counted:
        warnings.warn(f"{sum(counted.values())} of {len(reasons)} images were not edited: {message}.", LikewiseWarning,
                      stacklevel=3)  # fmt: skip
