"""Which estimators run for which drawn images. What cannot be estimated is noted; the rest is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import pandas as pd

from likewise.analysis.generated.clustering import clustered_share
from likewise.analysis.generated.corrected import FEWEST_TERM, corrected_shares
from likewise.analysis.generated.intersections import intersection_shares
from likewise.analysis.generated.pairs import paired_prompts
from likewise.analysis.generated.shares import generated_shares, people_counts
from likewise.analysis.label_noise import CORRECTED
from likewise.errors import LikewiseError
from likewise.generation.labels import read_labels
from likewise.generation.spec import GenerateSpec
from likewise.tables import Estimates, Images
from likewise.tables.estimates import row

Benchmark = Mapping[str, float] | None


class Estimation:
    """Collects estimates of one audit, and notes on what could not be estimated."""

    def __init__(self, images: Images, spec: GenerateSpec, benchmark: Benchmark) -> None:
        self.images, self.spec, self.benchmark = images, spec, benchmark
        self.parts, self.notes = list[Estimates](), list[str]()

    def attempt(self, what: str, estimate: Callable[[], Estimates]) -> None:
        """Add estimates, or say why there are none."""
        try:
            self.parts.append(estimate())
        except LikewiseError as error:
            self.notes.append(f"No {what}: {error}")

    def shares(self) -> None:
        """Add shares by term; without them there is no audit, so errors are raised."""
        about = partial(generated_shares, attribute=self.spec.attribute, share_of=self.spec.share_of)
        self.parts.append(
            about(self.images, benchmark=self.benchmark, levels=self.spec.known_levels, level=self.spec.level)
        )

    def people(self) -> None:
        """Add how many people the images show."""
        if "people" in self.images.attributes:
            self.attempt("numbers of people", partial(people_counts, self.images, level=self.spec.level))

    def intersections(self, by: tuple[str, ...]) -> None:
        """Add the shares of combinations."""
        if by:
            about = partial(intersection_shares, self.images, by=by, level=self.spec.level)
            self.attempt(f"shares by {' x '.join(by)}", about)

    def refusals(self, requests: pd.DataFrame) -> None:
        """Add the share of refused requests by term (columns term, prompt, seed, hit)."""
        if requests.empty or not requests["hit"].any():
            return
        rows = []
        for name, part in requests.groupby("term", sort=True):
            found, method = clustered_share(part, self.spec.level)
            write = partial(row, "request refused", "share", "requests", str(name), level=self.spec.level)
            rows.append(write(found, n=len(part), method=method))
        self.parts.append(Estimates.of(rows))

    def pairs(self) -> None:
        """Compare paired prompts in the share, and in whatever else is known about the images."""
        if "pair" not in self.images.attributes:
            return
        images, values = self.images, [f"share {self.spec.share_of}"]
        hit = images.attribute(self.spec.attribute)
        said = (hit.astype(str) == self.spec.share_of).astype(float).where(hit.notna())
        images = images.with_attribute(values[0], said)
        if "people" in images.attributes:
            values.append("one person in the image")
            images = images.with_attribute(values[1], (images.attribute("people") == 1).astype(float))
        numbers = ("predicted_age", "measured_ita", "predicted_smile")
        values += [name for name in numbers if name in images.attributes]
        for value in values:
            about = partial(paired_prompts, images, value=value, level=self.spec.level)
            self.attempt(f"comparison of paired prompts in {value}", about)

    def corrected(self) -> None:
        """Correct shares for errors of the predictions, where people labeled a random part."""
        if self.spec.labels is None:
            return
        try:
            labels = self._labels()
            about = partial(corrected_shares, self.images, attribute=self.spec.attribute, share_of=self.spec.share_of)
            found = about(labels=labels, benchmark=self.benchmark, levels=self.spec.known_levels, level=self.spec.level)
        except LikewiseError as error:
            self.notes.append(f"Shares are not corrected for label noise: {error}")
            return
        self.parts.append(found)
        terms = set(self.images.attribute("term").astype(str))
        left = sorted(terms - set(found.where(stat="share", sample=CORRECTED).frame["group"]))
        if left:
            fewer = f"{len(left)} of {len(terms)} terms have fewer than {FEWEST_TERM} labels"
            self.notes.append(f"{fewer}: their shares are not corrected one by one, only the mean over all terms is.")

    def _labels(self) -> Mapping[str, str]:
        given = self.spec.labels
        if isinstance(given, Path | str):
            return read_labels(Path(given), self.spec.attribute, self.spec.share_of, self.spec.known_levels)
        return dict(given or {})

    def together(self) -> Estimates:
        """Return all estimates."""
        return Estimates.together(self.parts)
