"""by_group: a quantity in several groups and their intersections, like fairlearn's MetricFrame, with intervals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from likewise.analysis.groups.cells import OVERALL, Shown, cell_names
from likewise.analysis.groups.measured import MeanCells, Measured, RateCells
from likewise.analysis.groups.rows import ALL, cell_rows
from likewise.analysis.verification.orientation import check_orientation
from likewise.analysis.verification.trial_table import TrialTable, trial_tables
from likewise.errors import SpecError
from likewise.tables import Estimates, Images, Ratings, Trials
from likewise.tables.estimates import row

_CELL = "cell of by_group"  # the column that holds the cells while trials are counted


def by_group(
    ratings: Ratings,
    trials: Trials | None,
    images: Images,
    by: str | Sequence[str],
    *,
    rates: Sequence[float] = (0.01,),
    thresholds: Mapping[str, float] | None = None,
    reference: str = OVERALL,
    suppress_below: int = 0,
    panel: str | None = None,
    level: float = 0.95,
) -> Estimates:
    """Estimate the mean rating or the error rates of every group, their differences and how far they lie apart.

    Parameters
    ----------
    ratings
        Ratings of ``trials`` (distances of a recognizer), or of images (numbers, or 0 and 1 for labels) without them.
    trials
        The trials that were rated; None for ratings of images. A trial belongs to the group of its first image.
    images
        The images, with identities and attributes.
    by
        A column of ``images``, or several: the groups are then their combinations, e.g. ``Black, Female``.
    rates
        Pooled false match rates at which error rates are estimated, if there are impostor trials.
    thresholds
        Vendor defaults by rater; the error rates at them are added.
    reference
        The group that the others are compared with, e.g. ``"White, Male"``; by default the overall value.
    suppress_below
        Groups with fewer rated identities are left out of everything, the overall value included, and counted. Groups
        with fewer than two always are.
    panel
        Without it every rater is analyzed on its own (models); with it all raters are one panel of that name (people).
    level
        Confidence level.

    Returns
    -------
    Estimates
        For each quantity: ``group_mean`` or ``group_rate`` of every group and ``overall``; ``group_difference`` of
        every group to the reference, simultaneous over the groups; ``max_difference`` and, for rates, ``max_min``,
        ``max_geometric_mean`` and ``gini``. The sample is ``by COLUMN x COLUMN``.

    Raises
    ------
    SpecError
        If the reference is not one of the groups, or no column is named.
    TableError
        If fewer than two groups are large enough.

    Notes
    -----
    Images of one identity are one cluster, and every identity weighs 1 in its group. Nothing is matched or adjusted
    here: groups may differ in everything that is associated with the columns.

    Examples
    --------
    >>> import likewise as lw
    >>> from likewise.simulation.system_ratings import VerificationTrials
    >>> ratings, trials, images, _ = VerificationTrials(60, seed=1).tables()
    >>> found = lw.by_group(ratings, trials, images, "perceived_gender", rates=[0.05])
    >>> found.where(stat="group_rate", quantity="simulated: FNMR at FMR 0.05").frame["group"].tolist()
    ['female', 'male', 'overall']
    """
    columns = [by] if isinstance(by, str) else list(by)
    if suppress_below < 0:
        raise SpecError(f"suppress_below is {suppress_below}", fix="Use 0 (no suppression) or a number of identities.")
    request = _Request(images, cell_names(images, columns), tuple(rates), dict(thresholds or {}), suppress_below, panel)
    sample, rows = "by " + " x ".join(columns), []
    left_out: dict[str, Shown] = {}
    for found, shown in request.measured(ratings, trials):
        rows += cell_rows(found, sample, shown.place(reference), level)
        left_out[found.quantity] = shown
    return Estimates.of([*rows, *_suppressed(left_out, sample)])


def _suppressed(left_out: Mapping[str, Shown], sample: str) -> list[dict[str, object]]:
    return [
        row(
            quantity, "suppressed_groups", sample, ALL, float(len(shown.suppressed)), n=len(shown.names),
            method=f"fewer than {shown.below} identities; {' | '.join(shown.suppressed)}",
        )
        for quantity, shown in left_out.items()
        if shown.suppressed
    ]  # fmt: skip


@dataclass(frozen=True)
class _Request:
    images: Images
    cell: pd.Series
    rates: tuple[float, ...]
    thresholds: dict[str, float]
    below: int
    panel: str | None

    def measured(self, ratings: Ratings, trials: Trials | None) -> Iterator[tuple[Measured, Shown]]:
        """Yield every quantity in every cell."""
        genuine = None if trials is None else trials.genuine()
        frame, failing = self._joined(ratings, genuine), set[str]()
        for quantity, rated in frame.groupby("quantity", sort=True):
            shown = Shown.of(rated["cell"], rated["identity"], self.below)
            part = rated[rated["cell"].isin(shown.names)]
            answered = part.dropna(subset=["value"])
            yield self._means(str(quantity), answered, shown), shown
            failure = f"{str(quantity).partition(': ')[0]}: failure to acquire"
            if len(answered) < len(part) and failure not in failing:  # once a rater: a face is lost for all questions
                failed = part.assign(value=part["value"].isna().astype(float))
                failing.add(failure)
                yield self._means(failure, failed, shown), shown
        if trials is not None and genuine is not None and len(genuine) < len(trials) and self.panel is None:
            yield from self._rates(ratings, trials)

    def _joined(self, ratings: Ratings, genuine: Trials | None) -> pd.DataFrame:
        """Return the ratings with the cell and the identity of the (first) image of each."""
        frame = ratings.frame
        first = None if genuine is None else genuine.frame.set_index("trial")["a"]
        image = frame["unit"] if first is None else frame["unit"].map(first)
        frame = frame.assign(image=image, cell=image.map(self.cell), identity=image.map(self.images.identities))
        frame["quantity"] = (frame["rater"] if self.panel is None else self.panel) + ": " + frame["question"]
        return frame.dropna(subset=["cell", "identity"])

    def _means(self, quantity: str, part: pd.DataFrame, shown: Shown) -> MeanCells:
        cell = pd.Index(shown.names).get_indexer(pd.Index(part["cell"])).astype(np.int64)
        identity = pd.factorize(part["identity"])[0].astype(np.int64)
        own = np.unique(identity * len(shown.names) + cell, return_inverse=True)[1]
        codes = [identity] + ([pd.factorize(part["rater"])[0].astype(np.int64)] if self.panel else [])
        size = 1.0 / np.bincount(own)[own]
        return MeanCells(quantity, shown.names, part["value"].to_numpy(dtype=np.float64), cell, size, tuple(codes))

    def _rates(self, ratings: Ratings, trials: Trials) -> Iterator[tuple[Measured, Shown]]:
        """Yield FNMR, and FMR within each group, at every operating point."""
        genuine = trials.genuine().frame
        people = genuine["a"].map(self.images.identities)
        shown = Shown.of(genuine["a"].map(self.cell), people, self.below)
        images = self.images.with_attribute(_CELL, self.cell[self.cell.isin(shown.names)])
        for table in trial_tables(ratings, trials, images, _CELL, None, drop=False):
            check_orientation(table.genuine_distances, table.impostors.distance, table.quantity)
            for rate in self.rates:
                table.impostors.need(rate, table.quantity)
                yield from self._at(table, f"at FMR {rate:g}", table.impostors.threshold(rate), True, shown)
            if table.rater in self.thresholds:
                own = self.thresholds[table.rater]
                yield from self._at(table, f"at its threshold {own:g}", own, False, shown)

    @staticmethod
    def _at(
        table: TrialTable, where: str, threshold: float, found: bool, shown: Shown
    ) -> Iterator[tuple[Measured, Shown]]:
        pool, names = table.impostors if found else None, tuple(table.groups)
        genuine = RateCells(f"{table.rater}: FNMR {where}", names, table, table.genuine, threshold, pool)
        yield genuine, shown
        within = [table.cells.get((g, g)) for g in range(len(names))]
        if all(sample is not None and sample.identities > 1 for sample in within):
            samples = [sample for sample in within if sample is not None]
            quantity = f"{table.rater}: FMR within the group {where}"
            yield RateCells(quantity, names, table, samples, threshold, pool), shown
