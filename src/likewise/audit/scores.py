"""``lw.scores``: from a file of scores and a table to the report in one call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from likewise.audit.api import LOG, Audit
from likewise.audit.plan.scaffold import write_plan
from likewise.audit.plan.scores import ScoresRequest, scores_plan
from likewise.runtime.progress import reporter
from likewise.tables.io import write_frame

Files = str | Path | pd.DataFrame | Sequence[str | Path] | Mapping[str, str | Path | pd.DataFrame]


def scores(
    files: Files,
    table: str | Path | pd.DataFrame,
    *,
    out: str | Path,
    columns: Sequence[str] = (),
    covariates: Sequence[str] = (),
    threshold: float | Mapping[str, float] | None = None,
    overwrite: bool = False,
    progress: bool = True,
    **options: Any,
) -> Audit:
    """Audit the scores of one or more recognizers: write a plan, check it, run it and write the report.

    Trials are matched, not single images, and the matched sample is balanced within 0.1 standard deviations of every
    covariate. No image is needed.

    Parameters
    ----------
    files : path, DataFrame, sequence or mapping
        The scored pairs, one system a file, or by name. A column ``system`` or several score columns hold several
        systems.
    table : path or DataFrame
        One row per image: its key, its identity, the protected attribute and covariates.
    out : str or Path
        The audit folder.
    columns : sequence of str
        Of the score files: the two images, then one or more scores. By default those that are obvious.
    covariates : sequence of str
        Columns to balance; by default all others of the table.
    threshold : float or mapping, optional
        The threshold of the system, or of each, in the units of the file.
    overwrite : bool
        Replace a different plan in ``out``.
    progress : bool
        Show progress, and what was recognized.
    **options
        ``image_column``, ``identity``, ``protected``, ``focal``, ``reference``, ``system_column``, ``measure``
        (``auto``, ``similarity``, ``distance``), ``title``, ``seed``.

    Returns
    -------
    Audit
        A normal audit folder: ``report()`` is the path of the report.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> import likewise as lw
    >>> people, _ = lw.World(identities=60, seed=1).draw()
    >>> pairs = lw.trials(people, seed=0, impostors=5).frame
    >>> noise = np.random.default_rng(0).normal(0, 0.1, len(pairs))
    >>> scored = pairs[["a", "b"]].assign(score=0.3 + 0.5 * pairs["same"] + noise)
    >>> done = lw.scores(
    ...     {"vendor": scored}, people.frame, out=Path(tempfile.mkdtemp()) / "audit", progress=False
    ... )
    >>> done.plan.precomputed[0].measure, done.plan.units.kind
    ('similarity', 'trials')
    >>> done.report().name
    'report.html'
    """
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    limits = threshold if isinstance(threshold, Mapping) else {"": threshold} if threshold is not None else {}
    request = ScoresRequest(
        files=tuple(_named(folder, files)),
        table=_written(folder, "table", table),
        columns=tuple(columns),
        covariates=",".join(covariates),
        threshold=tuple(f"{name}={value}" if name else str(value) for name, value in limits.items()),
        **options,
    )
    text, lines = scores_plan(folder, request)
    lines = write_plan(folder, text, lines, force=overwrite)
    said = reporter(quiet=not progress, log=folder / LOG)
    for line in lines:
        said.say(line)
    made = Audit(folder)
    made.run(progress=progress)
    return made


def _named(folder: Path, files: Files) -> list[str]:
    if isinstance(files, Mapping):
        return [f"{name}={_written(folder, f'scores-{number}', each)}" for number, (name, each) in
                enumerate(files.items())]  # fmt: skip
    if isinstance(files, str | Path | pd.DataFrame):
        return [str(_written(folder, "scores", files))]
    return [str(path) for path in files]


def _written(folder: Path, name: str, given: str | Path | pd.DataFrame) -> Path:
    """Return the file of a table; a data frame is written to the folder."""
    if isinstance(given, str | Path):
        return Path(given)
    path = folder / f"{name}.parquet"
    write_frame(path, given)
    return path
