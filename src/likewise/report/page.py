"""The report: one self-contained page from Estimates and Matches. It computes no statistic."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from likewise import __version__
from likewise.report.content import Made, annex, outcomes, provenance, sample, summary
from likewise.report.layout import render
from likewise.report.names import Naming
from likewise.report.numbers import TINY
from likewise.report.sections.findings.slopes import (
    edit_validity,
)
from likewise.report.sections.front_matter import FrontMatter, datasheet
from likewise.report.sections.sample.fidelity import fidelity_differs, fidelity_rows
from likewise.report.sections.sample.gallery import Wall, strip
from likewise.report.sections.sample.validity import checks, residual
from likewise.report.sections.summary import Summary, headline
from likewise.tables import Contrast, Estimates, Matches
from likewise.tables.io import write_text


def write_report(
    path: Path,
    *,
    title: str,
    contrast: Contrast,
    pairs: Matches,
    balance: Estimates,
    estimates: Estimates,
    fidelity: Estimates | None = None,
    made: Made,
    tested: Sequence[Mapping[str, str]] = (),
    population: Sequence[Mapping[str, Any]] = (),
    front: FrontMatter | None = None,
    walls: Sequence[Wall] = (),
    blurred: bool = False,
    undecodable: Sequence[str] = (),
    has_images: bool = True,
    reconstructs: bool = True,
) -> Path:
    """Write the report.

    Parameters
    ----------
    path
        The HTML file.
    title, contrast
        The title, and the groups that are compared.
    pairs, balance, estimates, fidelity
        The matching, its balance table, all estimates, and the fidelity of the reconstructions where measured.
    made
        The sidecar of each artifact.
    tested, population
        The systems under audit, and the number of images and identities by group.
    front
        Date, auditor, organization, system version, plan hash and what is known about the data.
    walls, blurred
        The gallery, as ``report.sections.sample.gallery.Gallery`` returns it, and whether it is pixelated.
    undecodable
        Names of files that could not be read as an image.
    has_images
        Whether the audit has images; without any, nothing is said about reconstructions, edits and pictures.
    reconstructs
        Whether images are projected into a generator; else nothing is said about reconstructions.

    Returns
    -------
    pathlib.Path
        The file that was written.

    Examples
    --------
    >>> import tempfile
    >>> import likewise as lw
    >>> folder, contrast = Path(tempfile.mkdtemp()), lw.Contrast("perceived_gender", "female", "male")
    >>> pictures, table = lw.World(identities=40, seed=1).write(folder)
    >>> images = lw.Images.read(table)
    >>> vectors = lw.project(images, pictures, generator="world")
    >>> pairs, trials = lw.match(images, vectors, contrast), lw.trials(images, seed=0)
    >>> ratings = lw.rate(trials, pictures, model="world")
    >>> path = lw.report(
    ...     folder / "report.html", title="Audit", contrast=contrast, pairs=pairs, made={},
    ...     balance=lw.balance(images, contrast, pairs, covariates=["perceived_age"]),
    ...     estimates=lw.gaps(ratings, trials, images, contrast, pairs=pairs),
    ... )
    >>> path.name
    'report.html'
    """
    naming = Naming.of(balance, estimates)
    balance, estimates = cleaned(balance), cleaned(estimates)
    notes = [note for entry in made.values() for note in entry["notes"]]
    measured = fidelity_rows(None if fidelity is None else cleaned(fidelity), contrast)
    context = {
        "title": title, "contrast": contrast, "naming": naming, "version": __version__,
        "tested": tested, "population": population,
        "fidelity": measured, "lines": Summary(estimates, balance, contrast, naming, notes).lines(),
        "checks": checks(
            balance, pairs, contrast, fidelity=measured, fidelity_gap=fidelity_differs(fidelity), notes=notes,
            validity=edit_validity(made), left=residual(estimates), has_images=has_images,
            reconstructs=reconstructs,
        ),
        **outcomes(estimates, contrast, naming), **sample(pairs, balance, contrast, naming), **provenance(made),
    }  # fmt: skip
    compared = {line.system for line in context["lines"]}
    context["not_compared"] = [row["name"] for row in tested if row["name"] not in compared]
    context["headline"] = headline(context["lines"], context["checks"])
    context["trials_matched"] = pairs.unit == "trial"
    context["confidence"] = _confidence(estimates)
    context |= summary(context["lines"], estimates, contrast, context)
    stated = front or FrontMatter()
    context |= {
        "walls": walls, "strip": strip(walls), "pictures_blurred": blurred, "undecodable": undecodable,
        "has_images": has_images,
        "pictures_shown": any(shot.uri for wall in walls for exhibit in wall.exhibits for shot in exhibit.shots),
    }  # fmt: skip
    context |= {
        "front": stated.header(), "datasheet": datasheet(stated, population, balance, contrast),
        "unstated": stated.unstated(),
    }  # fmt: skip
    write_text(path, render(context | annex(context, estimates, balance)))
    return path


def _confidence(estimates: Estimates) -> str:
    """Return the confidence level that the captions name, ``95``: the lowest, as simultaneous intervals have more."""
    levels = estimates.frame["level"].dropna()
    return f"{round(100 * float(levels.min()), 2):g}" if len(levels) else "95"


def cleaned(estimates: Estimates) -> Estimates:
    """Return the estimates with values that are zero up to floating-point error set to zero."""
    frame = estimates.frame
    for name in ("estimate", "low", "high"):
        frame[name] = frame[name].mask(frame[name].abs() < TINY, 0.0)
    return Estimates(frame)
