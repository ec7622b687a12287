"""Audit: an audit folder as a Python object; ``audit``: from a table and images to the report in one call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from likewise.audit.context import StageContext
from likewise.audit.estimate.groups import requests
from likewise.audit.folder.artifacts import (
    BALANCE,
    COUNTERFACTUALS,
    ESTIMATES,
    IMAGES,
    LATENTS,
    MATCHES,
    RATINGS,
    REPORT,
    RESPONSES,
    TRIALS,
    VALIDITY,
)
from likewise.audit.folder.store import PLAN, Folder
from likewise.audit.folder.table_cache import Readable, TableCache
from likewise.audit.plan.compose import compose_plan
from likewise.audit.plan.model import Plan
from likewise.audit.plan.sections import GroupsPlan
from likewise.audit.preflight.check import check_audit
from likewise.audit.preflight.problem import Check
from likewise.audit.raters.planned import make_rater
from likewise.audit.runner import CURRENT, Outcome, Run, preview, run
from likewise.audit.stages import enabled_stages, read_plan
from likewise.errors import StageError, StoreError
from likewise.runtime.cpu import let_idle_threads_sleep
from likewise.runtime.progress import Quiet, reporter
from likewise.services.budget import Budget
from likewise.tables import Contrast, Estimates, Images, Matches, Ratings, Trials, Vectors
from likewise.tables.io import write_text

T = TypeVar("T", bound=Readable)
_WRITTEN_BY = (
    "# Written by likewise.audit(...); edit the call, or edit this file and use likewise.Audit(folder).run().\n"
)
LOG = "likewise.log"


class Audit:
    """An audit folder: its plan, its stages and the tables that they wrote.

    Parameters
    ----------
    folder : str or Path
        A folder with a plan, ``audit.toml`` (``likewise init`` writes one).

    Examples
    --------
    >>> import likewise as lw
    >>> import tempfile
    >>> from likewise.demo.toy import make_toy
    >>> folder = Path(tempfile.mkdtemp())
    >>> make_toy(folder, identities=20, confounding=1.0, seed=1, reporter=Quiet())  # or: likewise init DIR ...
    >>> audit = lw.Audit(folder)
    >>> audit.check().ready
    True
    >>> _ = audit.run("read", progress=False)  # audit.run() runs every stage
    >>> print(audit.images.identities.nunique(), audit.plan.contrast)
    20 perceived_gender: female - male
    """

    def __init__(self, folder: str | Path) -> None:
        let_idle_threads_sleep()  # as the command line does
        self._folder, self._tables = Folder(Path(folder).absolute()), TableCache()

    @property
    def folder(self) -> Path:
        """The folder."""
        return self._folder.root

    @property
    def plan(self) -> Plan:
        """The plan, read from ``audit.toml``."""
        return read_plan(self._folder.path(PLAN))

    @property
    def systems(self) -> list[str]:
        """The names of the systems under audit, and ``people`` where the plan collects responses."""
        plan = self.plan
        models = [make_rater(self._folder, each).name for each in plan.rater]
        return [*models, *(entry.rater for entry in plan.precomputed), *(["people"] if plan.collect else [])]

    def check(self, *, decode: bool = False, measure: bool = False) -> Check:
        """Check everything that a run needs; nothing is written.

        Parameters
        ----------
        decode : bool
            Decode every image, not only its header.
        measure : bool
            Time the stages on an image or two.

        Returns
        -------
        Check
            With ``ready``, ``problems``, ``notes``, the groups, the weights that are missing and the costs.
        """
        return check_audit(self.folder, decode=decode, measure=measure)

    def run(
        self,
        only: str | None = None,
        *,
        progress: bool = True,
        executor: Mapping[str, Any] | None = None,
        max_cost: float | None = None,
    ) -> list[Outcome]:
        """Run the stages that are not up to date, after a check of what they need.

        Parameters
        ----------
        only : str, optional
            One stage; its inputs have to be up to date.
        progress : bool
            Show progress.
        executor : mapping, optional
            Instead of the plan's [executor], e.g. ``{"kind": "processes", "workers": 8}``; no result depends on it.
        max_cost : float, optional
            What paid services may cost, in USD.

        Returns
        -------
        list of Outcome
            What became of each stage, with its notes.
        """
        budget = Budget(most=max_cost)
        shown = reporter(quiet=not progress, log=self.folder / LOG)
        return run(str(self.folder), reporter=shown, only=only, budget=budget, place=executor)

    def stages(self) -> pd.DataFrame:
        """Return the stages of the plan, and which of them are up to date."""
        plan = self.plan
        this = Run(self._folder, plan, enabled_stages(plan), Quiet(), Budget(), self._tables)
        rows = [(each.stage, each.artifact, each.status, each.why) for each in preview(this, costs_too=False)]
        return pd.DataFrame(rows, columns=["stage", "artifact", "status", "why"])

    def report(self) -> Path:
        """Return the path of the report; it is written first where it is not up to date."""
        frame = self.stages().set_index("stage")
        if frame.loc["report", "status"] != CURRENT:
            self.run()
        return self._folder.path(REPORT)

    @property
    def images(self) -> Images:
        """The audited images, with described attributes."""
        self._need(IMAGES)
        return self._context.images()

    @property
    def vectors(self) -> Vectors:
        """The vectors of the images: latents, features or your own."""
        return self._read(Vectors, LATENTS)

    latents = vectors

    @property
    def trials(self) -> Trials:
        """The trials."""
        return self._read(Trials, TRIALS)

    @property
    def matches(self) -> Matches:
        """The matched pairs."""
        return self._read(Matches, MATCHES)

    @property
    def variants(self) -> dict[str, Matches]:
        """The matched pairs of alternative designs, by name."""
        return self._context.variants()

    @property
    def balance(self) -> Estimates:
        """The balance table."""
        return self._read(Estimates, BALANCE)

    @property
    def counterfactuals(self) -> Images:
        """The edited images."""
        self._need(COUNTERFACTUALS)
        return self._context.counterfactuals()[0]

    @property
    def validity(self) -> Ratings:
        """What the validators measured about the edits."""
        return self._read(Ratings, VALIDITY)

    @property
    def ratings(self) -> Ratings:
        """The ratings of the models under audit."""
        return self._read(Ratings, RATINGS)

    @property
    def responses(self) -> Ratings:
        """The responses of people."""
        return self._read(Ratings, RESPONSES)

    @property
    def estimates(self) -> Estimates:
        """The estimates."""
        return self._read(Estimates, ESTIMATES)

    def by_group(self, *by: str, reference: str = "", suppress_below: int = 0) -> Estimates:
        """Estimate every quantity of the audit in the groups of some columns, or in their intersections.

        Parameters
        ----------
        *by : str
            Columns of the images, e.g. ``"perceived_race", "perceived_gender"``.
        reference : str
            The group that the others are compared with, e.g. ``"White, Male"``; by default the overall value.
        suppress_below : int
            Groups with fewer rated identities are left out.

        Returns
        -------
        Estimates
            As :func:`likewise.by_group` returns them, for recognizers, classifiers and people.
        """
        asked = GroupsPlan(by=by, reference=reference, suppress_below=suppress_below)
        self._need(RATINGS)
        return Estimates.together(estimate() for estimate in requests(self._context, asked))

    @property
    def _context(self) -> StageContext:
        return StageContext(self._folder, self.plan, tables=self._tables)

    def _need(self, artifact: str) -> Path:
        path = self._folder.path(artifact)
        if not path.exists():
            fix = f"Run: audit.run(), or likewise run {self.folder}"
            raise StageError(f"{artifact} is not written yet in {self.folder}", fix=fix)
        return path

    def _read(self, kind: type[T], artifact: str) -> T:
        return self._tables.read(kind, self._need(artifact))

    def __repr__(self) -> str:
        try:
            frame = self.stages()
        except Exception as error:  # a broken plan is shown, not raised, by repr
            return f"<Audit {str(self.folder)!r}: {error}>"
        current = int((frame["status"] == CURRENT).sum())
        stale = ", ".join(frame.loc[frame["status"] != CURRENT, "stage"])
        rest = f"; to run: {stale}" if stale else ""
        return f"<Audit {str(self.folder)!r}: {current} of {len(frame)} stages up to date{rest}>"

    def _repr_html_(self) -> str:
        return f"<p>Audit <code>{self.folder}</code></p>{self.stages().to_html(index=False, border=0)}"


def audit(
    table: Images | pd.DataFrame | str | Path,
    images: str | Path | np.ndarray[Any, Any] | None = None,
    *,
    out: str | Path,
    contrast: Contrast | tuple[str, Any, Any],
    raters: Sequence[Any] = (),
    progress: bool = True,
    overwrite: bool = False,
    max_cost: float | None = None,
    **options: Any,
) -> Audit:
    """Audit one or more models in one call: write a plan, check it, run it and write the report.

    Parameters
    ----------
    table : Images, DataFrame or path
        One row per image, with the columns ``image``, ``identity`` and attributes.
    images : path or array, optional
        The folder of the images, or pictures ``[n, H, W, 3]`` (uint8) in the order of the table.
    out : str or Path
        The audit folder; an audit that is there and has the same plan is resumed.
    contrast : Contrast or tuple
        The column, the focal level and the reference level.
    raters : sequence
        The models under audit: names (``"dlib"``, ``"recognizer:dlib"``), ``"recognizer:package.module:Class"``, ONNX
        files (``"classifier:net.onnx"``), objects with ``embed`` or ``score``, or pairs of a kind and a callable
        (``("classifier", function)``).
    progress : bool
        Show progress.
    overwrite : bool
        Replace a different plan in ``out``.
    max_cost : float, optional
        What paid services may cost, in USD.
    **options
        ``covariates``, ``vectors``, ``generator``, ``encoder``, ``seed``, ``title``, ``scores``, ``embeddings``,
        ``labels`` and ``people`` (files), and any section of the plan as a mapping, e.g.
        ``counterfactual={"editor": "fader"}`` or ``match=MatchSpec(...)``.

    Returns
    -------
    Audit
        With the tables as attributes; ``report()`` is the path of the report.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import likewise as lw
    >>> folder = Path(tempfile.mkdtemp())
    >>> images, table = lw.World(identities=20, seed=1).write(folder / "photos")
    >>> done = lw.audit(
    ...     table, images, out=folder / "audit", contrast=("perceived_gender", "female", "male"),
    ...     raters=["recognizer:world"], encoder="columns", covariates=["perceived_age"], progress=False,
    ... )
    >>> done.report().name, done.matches.unit, len(done.matches)
    ('report.html', 'trial', 4)
    """
    folder = Path(out)
    if folder.exists() and not folder.is_dir():
        raise StoreError(f"{folder} is a file, not a folder", fix="Name a folder for the audit.")
    folder.mkdir(parents=True, exist_ok=True)
    text = _WRITTEN_BY + compose_plan(folder, table, images, contrast=contrast, raters=raters, **options)
    path = folder / PLAN
    there = path.read_text(encoding="utf-8") if path.is_file() else ""
    if there and there != text and not overwrite:
        fix = "Pass overwrite=True, or use likewise.Audit(folder).run() to run it."
        raise StoreError(f"{path} is the plan of another audit, or was edited", fix=fix)
    if there != text:
        write_text(path, text)
    made = Audit(folder)
    made.run(progress=progress, max_cost=max_cost)
    return made
