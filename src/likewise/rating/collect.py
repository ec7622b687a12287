"""collect: people's responses about trials, from a file or a simulated crowd, as Ratings."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from likewise.data.pictures import PictureSource, picture_source
from likewise.errors import ImageError, TableError
from likewise.runtime.registry import Pictures, create
from likewise.tables import Ratings, Trials


def collect(
    trials: Trials,
    source: str | Path | Any,
    *,
    pictures: PictureSource | Pictures | str | Path | None = None,
    options: Mapping[str, Any] | None = None,
    seed: int = 0,
) -> Ratings:
    """Collect the responses of people about genuine trials.

    Parameters
    ----------
    trials : Trials
        The trials; only genuine ones are asked about.
    source : path, str or Crowd
        A file of responses (unit, rater, question, value), the name of a crowd component, or an object with
        ``answers(trials, look, seed)``.
    pictures : folder or array, optional
        The pictures, for a crowd that looks at them.
    options : mapping, optional
        Options of a named crowd.
    seed : int
        For simulated raters.

    Returns
    -------
    Ratings
        One row per unit, rater and question; unanswered ones are absent.

    Examples
    --------
    >>> import likewise as lw
    >>> class Three:  # three raters who always answer "same person"
    ...     def answers(self, trials, look, seed):
    ...         rows = [(unit, f"rater-{n}", "same", 1) for unit in trials.keys for n in range(3)]
    ...         return lw.Ratings(pd.DataFrame(rows, columns=["unit", "rater", "question", "value"]))
    >>> import pandas as pd
    >>> images, _ = lw.World(identities=8, seed=1).draw()
    >>> trials = lw.trials(images, seed=0)
    >>> len(lw.collect(trials, Three())) == 3 * len(trials.genuine())
    True
    """
    crowd: Any = source
    if isinstance(source, Path) or (isinstance(source, str) and Path(source).is_file()):
        crowd = create("crowd", "file", {"path": str(source)})
    elif isinstance(source, str):
        crowd = create("crowd", source, options)
    genuine = trials.genuine()
    album = picture_source(genuine.images, pictures) if pictures is not None else None

    def look(keys: list[str]) -> Pictures:
        if album is None:
            raise ImageError("This crowd needs pictures", fix="Pass pictures=FOLDER.")
        return album(keys)

    responses: Ratings = crowd.answers(genuine, look, seed)
    if not len(responses):
        raise TableError("No responses were collected for these trials", fix="Check the units of the file.")
    return responses
