"""Simulated distances of impostor trials, with a confounder of the false match rate.

Photographs in low light look alike, so that two people are mistaken for one more often; one group was photographed in
lower light. The unmatched gap of the false match rate contains the light, a matched one should not.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist

import numpy as np
import pandas as pd

from likewise.errors import SpecError
from likewise.simulation.system_ratings import CONTRAST, Floats
from likewise.tables import Images, Matches, Ratings, Trials, Vectors

_FAR, _NEAR = 0.7, 0.35  # mean distance of impostor and of genuine trials


@dataclass(frozen=True)
class ConfoundedImpostors:
    """Distances whose false match rate depends on the light; half of the identities in each group, two images each.

    Examples
    --------
    >>> from likewise.simulation.impostor_ratings import ConfoundedImpostors
    >>> len(ConfoundedImpostors(identities=20, seed=0).images)
    40
    """

    identities: int
    seed: int
    effect: float = 0.0
    """What the attribute adds to the distance of two focal people; below 0 they are mistaken for one more often."""
    apart: float = 1.0
    """How much darker the focal group's photographs are, in standard deviations."""
    light: float = 0.05
    """What a standard deviation of light (the mean of a trial) adds to an impostor distance."""
    person: float = 0.02
    """Standard deviation of what all trials of an identity share."""
    noise: float = 0.05

    def __post_init__(self) -> None:
        if self.identities < 4 or self.identities % 2:
            raise SpecError(f"{self.identities} identities", fix="Use an even number, at least 4.")

    @cached_property
    def images(self) -> Images:
        """Two images of every identity, with the light of each."""
        person = np.repeat(np.arange(self.identities), 2)
        focal = person % 2 == 0
        light = np.random.default_rng([self.seed, 0]).normal(0, 1, len(person)) - self.apart * focal
        names = [f"p{who:04d}" for who in person]
        frame = pd.DataFrame({"image": [f"{name}-{k % 2}" for k, name in enumerate(names)], "identity": names})
        frame[CONTRAST.column] = np.where(focal, str(CONTRAST.focal), str(CONTRAST.reference))
        return Images(frame.assign(light=light))

    @property
    def vectors(self) -> Vectors:
        """The light as the number that trials are balanced in."""
        return Vectors(self.images.keys, self.images.attribute("light").to_numpy()[:, None], source="light")

    def ratings(self, trials: Trials) -> Ratings:
        """Return the distances of trials of these images."""
        rng, frame = np.random.default_rng([self.seed, 1]), trials.frame
        whose = self.images.identities
        own = pd.Series(rng.normal(0, self.person, self.identities), index=sorted(whose.unique()))
        shared = sum(own.loc[whose.loc[frame[end]]].to_numpy() for end in ("a", "b"))
        mean = np.where(frame["same"], _NEAR, self._expected(frame, focal=self._focal(frame)))
        value = mean + shared + rng.normal(0, self.noise, len(frame))
        answers = pd.DataFrame({"unit": frame["trial"], "rater": "simulated", "question": "distance", "value": value})
        return Ratings(answers)

    def true_gap(self, trials: Trials, pairs: Matches, threshold: float) -> float:
        """Return the gap of the false match rate of the matched trials, were only the attribute different."""
        units = {*pairs.frame["a"], *pairs.frame["b"]}
        frame = trials.frame[trials.frame["trial"].isin(units)]
        spread = NormalDist(0, (2 * self.person**2 + self.noise**2) ** 0.5)
        sides = [self._expected(frame, focal=np.full(len(frame), side)) for side in (True, False)]
        rates = [np.mean([spread.cdf(threshold - value) for value in side]) for side in sides]
        return float(rates[0] - rates[1])

    def _focal(self, frame: pd.DataFrame) -> np.ndarray:
        group = self.images.attribute(CONTRAST.column)
        ends = [group.loc[frame[end]].eq(str(CONTRAST.focal)).to_numpy() for end in ("a", "b")]
        return np.asarray(ends[0] & ends[1])

    def _expected(self, frame: pd.DataFrame, focal: np.ndarray) -> Floats:
        light = self.images.attribute("light")
        mean = sum(light.loc[frame[end]].to_numpy() for end in ("a", "b")) / 2
        return np.asarray(_FAR + self.light * mean + self.effect * focal, dtype=np.float64)
