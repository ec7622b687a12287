"""The gallery: units to look at, chosen by distance. It works without pictures, and can blur them."""

from __future__ import annotations

import base64
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pandas as pd
from PIL import Image

from likewise.report.names import plain
from likewise.report.numbers import magnitude, number
from likewise.tables import Contrast, Images, Matches, Ratings
from likewise.tables.trials import Trials

Pixels = npt.NDArray[np.uint8]
Look = Callable[[list[str]], Sequence[Pixels] | Pixels]
"""Returns the pictures ``[H, W, 3]`` of image keys."""
SIDE, QUALITY, BLOCKS = 112, 82, 9
EACH = 3  # pairs that are closest, median and worst; trials of each group and kind
SYSTEMS = 4  # recognizers whose trials are shown


@dataclass(frozen=True)
class Shot:
    """A picture as a data URI (empty where pictures are not shown) and what it shows."""

    uri: str
    caption: str


@dataclass(frozen=True)
class Exhibit:
    """Pictures side by side, and facts about them: a name and one value a picture, or one for all."""

    title: str
    shots: tuple[Shot, ...]
    facts: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True)
class Wall:
    """Exhibits of one kind."""

    key: str
    title: str
    words: str
    exhibits: tuple[Exhibit, ...]


@dataclass(frozen=True, kw_only=True)
class Gallery:
    """Chooses what to show, and draws it as thumbnails.

    Parameters
    ----------
    images
        The audited images with their covariates.
    contrast
        The groups.
    covariates
        Which columns to show beside the pictures.
    look
        Returns pictures of image keys; without it the gallery names units and shows no picture.
    edited
        The same for edited images.
    blur
        Pixelate every thumbnail, so that faces cannot be recognized.
    """

    images: Images
    contrast: Contrast
    covariates: Sequence[str] = ()
    look: Look | None = None
    edited: Look | None = None
    blur: bool = False
    _frame: pd.DataFrame = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_frame", self.images.frame.set_index("image"))

    def pairs(self, matches: Matches) -> list[Wall]:
        """Return the closest, median and worst matched units with their distance and covariates."""
        frame = matches.frame
        if frame.empty:
            return []
        ordered = frame.sort_values("distance", kind="stable") if "distance" in frame.columns else frame
        chosen = [(word, ordered.iloc[at]) for word, at in _places(len(ordered))]
        exhibits = tuple(self._pair(word, row) for word, row in chosen)
        words = "Matched units from the closest to the farthest, with the distance that was matched on."
        return [Wall("pairs", "Matched units", words, exhibits)]

    def trials(self, trials: Trials, ratings: Ratings) -> list[Wall]:
        """Return for each recognizer the worst genuine and the closest impostor trials of each group."""
        answered = self._answered(trials, ratings)
        walls: list[Wall] = []
        for rater, part in list(answered.groupby("rater", sort=False))[:SYSTEMS]:
            exhibits = [self._trial(row) for row in _extremes(part, self._groups())]
            words = (
                "The largest genuine and the smallest impostor distances of each group: the pairs nearest to an error."
            )
            walls.append(Wall(f"trials-{len(walls) + 1}", f"Hardest trials of {rater}", words, tuple(exhibits)))
        return [wall for wall in walls if wall.exhibits]

    def unanswered(self, trials: Trials, ratings: Ratings) -> list[Wall]:
        """Return images in trials without an answer, which a system did not detect."""
        known = trials.frame.set_index("trial" if "trial" in trials.frame.columns else "pair")
        rows = ratings.frame
        empty = rows[rows["value"].isna() & rows["unit"].isin(known.index)]
        keys = list(dict.fromkeys(known.loc[empty["unit"], "a"].tolist()))[: 4 * EACH]
        exhibits = tuple(self._single(key) for key in keys)
        words = "Images in trials without a score. Such trials count as false non-matches."
        return [Wall("unanswered", "Images without a detected face", words, exhibits)] if exhibits else []

    def edits(
        self,
        edited: Images,
        *,
        reconstructions: Mapping[str, str] | None = None,
        rejected: Mapping[str, str] | None = None,
    ) -> list[Wall]:
        """Return originals with their reconstruction and edits, and rejected edits with the reason."""
        reasons = dict(rejected or {})
        parents = list(dict.fromkeys(edited.frame["parent"]))
        valid = [key for key in parents if key not in reasons]
        shown = [
            valid[k] for k in np.unique(np.linspace(0, len(valid) - 1, min(2 * EACH, len(valid))).round().astype(int))
        ]
        strips = tuple(self._edited(key, edited, reconstructions or {}) for key in shown)
        walls = [Wall("edits", "Original, reconstruction and edits", "Edit strength below each picture.", strips)]
        bad = [key for key in parents if key in reasons][: 2 * EACH]
        refused = tuple(self._edited(key, edited, reconstructions or {}, reasons[key]) for key in bad)
        walls.append(Wall("rejected", "Rejected edits", "Excluded from all estimates, with the reason.", refused))
        return [wall for wall in walls if wall.exhibits]

    def _groups(self) -> dict[str, str]:
        side = self.contrast.side(self.images)
        names = {1: str(self.contrast.focal), -1: str(self.contrast.reference)}
        return {str(key): names[int(value)] for key, value in side.items() if int(value) in names}

    def _answered(self, trials: Trials, ratings: Ratings) -> pd.DataFrame:
        frame = trials.frame.rename(columns={"pair": "trial"})
        rows = ratings.frame
        rows = rows[(rows["question"] == "distance") & rows["value"].notna()]
        return rows.merge(frame[["trial", "a", "b", "same"]], left_on="unit", right_on="trial")

    def _pair(self, word: str, row: pd.Series) -> Exhibit:
        known = "distance" in row.index and pd.notna(row["distance"])
        distance = (("distance", number(row["distance"])),) if known else ()
        names = {"a": self.contrast.focal, "b": self.contrast.reference}
        if "a_first" in row.index:  # matched trials: both images of each
            ends = [(f"{side}_{place}", f"{names[side]}, {place}") for side in names for place in ("first", "second")]
        else:
            ends = [(side, str(name)) for side, name in names.items()]
        shots = tuple(self._shot(row[end], f"{name}: {row[end]}") for end, name in ends)
        return Exhibit(word, shots, (*distance, *self._covariates(*(row[end] for end, _ in ends))))

    def _trial(self, row: pd.Series) -> Exhibit:
        kind = "genuine" if row["same"] else "impostor"
        shots = tuple(self._shot(row[end], row[end]) for end in ("a", "b"))
        facts = (("distance", number(row["value"])), *self._covariates(row["a"], row["b"]))
        return Exhibit(f"{row['group']}, {kind}", shots, facts)

    def _single(self, key: str) -> Exhibit:
        return Exhibit(self._groups().get(key, ""), (self._shot(key, key),), self._covariates(key))

    def _edited(self, key: str, edited: Images, reconstructions: Mapping[str, str], reason: str = "") -> Exhibit:
        rows = edited.frame
        rows = rows[rows["parent"] == key].sort_values("level", kind="stable")
        shots = [self._shot(key, "original")]
        if key in reconstructions:
            shots.append(self._shot(reconstructions[key], "reconstruction", look=self.edited))
        shots += [
            self._shot(image, _strength(level), look=self.edited)
            for image, level in zip(rows["image"], rows["level"], strict=True)
        ]
        return Exhibit(key, tuple(shots), (("reason", reason),) if reason else ())

    def _covariates(self, *keys: str) -> tuple[tuple[str, ...], ...]:
        known = [name for name in self.covariates if name in self._frame.columns]
        there = [key for key in keys if key in self._frame.index]
        return tuple((plain(name), *_values([self._frame.loc[key, name] for key in there])) for name in known)

    def _shot(self, key: str, caption: str, *, look: Look | None = None) -> Shot:
        seen = look or (self.look if key in self._frame.index else self.edited)
        if self.look is None or seen is None:
            return Shot("", caption)
        return Shot(thumbnail(seen([key])[0], blur=self.blur), caption)


def thumbnail(picture: Pixels, *, blur: bool = False) -> str:
    """Return the middle square of a picture as a small JPEG in a data URI; ``blur`` leaves a few blocks of color."""
    side = min(picture.shape[:2])
    top, left = (picture.shape[0] - side) // 2, (picture.shape[1] - side) // 2
    square = Image.fromarray(picture[top : top + side, left : left + side])
    if blur:
        square = square.resize((BLOCKS, BLOCKS), Image.Resampling.BOX)
    small = square.resize((SIDE, SIDE), Image.Resampling.NEAREST if blur else Image.Resampling.LANCZOS)
    buffer = io.BytesIO()
    small.save(buffer, format="JPEG", quality=QUALITY)
    return f"data:image/jpeg;base64,{base64.b64encode(buffer.getvalue()).decode()}"


def strip(walls: Sequence[Wall]) -> list[Exhibit]:
    """Return the matched units of the first screen: one closest, one median and one worst, where pictures are shown."""
    found: dict[str, Exhibit] = {}
    for wall in walls:
        for exhibit in wall.exhibits if wall.key == "pairs" else ():
            found.setdefault(exhibit.title, exhibit)
    return [exhibit for exhibit in found.values() if exhibit.shots[0].uri]


def _places(count: int) -> list[tuple[str, int]]:
    """Return the places of the closest, median and worst of so many, each once."""
    each = min(EACH, -(-count // 3))
    middle = max(0, (count - each) // 2)
    wanted = [("closest", range(each)), ("median", range(middle, middle + each)), ("worst", range(count - each, count))]
    places: dict[int, str] = {}
    for word, part in wanted:
        for at in part:
            places.setdefault(at, word)
    return [(word, at) for at, word in sorted(places.items())]


def _extremes(part: pd.DataFrame, groups: Mapping[str, str]) -> list[pd.Series]:
    """Return the trials of one group each with the largest genuine and the smallest impostor distances."""
    own = part.assign(group=part["a"].map(groups))
    own = own[own["group"].notna() & (own["group"] == own["b"].map(groups))]
    rows = []
    for same in (True, False):
        for name in dict.fromkeys(groups.values()):
            trials = own[(own["same"].astype(bool) == same) & (own["group"] == name)]
            trials = trials.sort_values("value", ascending=not same, kind="stable").head(EACH)
            rows += [row for _, row in trials.iterrows()]
    return rows


def _values(values: Sequence[object]) -> list[str]:
    """Write the values of one covariate side by side, with the same decimals."""
    numbers = [float(value) for value in values if isinstance(value, float | np.floating) and pd.notna(value)]
    decimals = 0 if all(value.is_integer() for value in numbers) else max(1, magnitude(*numbers) - 1)
    return [
        number(float(value), decimals=decimals) if isinstance(value, float | np.floating) else str(value)
        for value in values
    ]


def _strength(level: float) -> str:
    """Write an edit strength, ``+1``, ``0`` or ``−1``."""
    return f"{level:+g}".replace("-", "−") if level else "0"
