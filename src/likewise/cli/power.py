"""``likewise power``: how many identities and images an audit needs for a gap in FNMR."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import click

_DESIGN = ("identities", "images", "fnmr", "gap", "focal_share", "icc", "matched_share", "fmr")


@click.command()
@click.option("--identities", type=int, help="Identities in both groups; without it, how many are needed.")
@click.option("--gap", type=float, help="Gap in FNMR to detect, e.g. 0.01 for one percentage point.")
@click.option("--fnmr", type=float, help="FNMR of the reference group.")
@click.option("--images", type=float, help="Genuine trials per identity, on average.")
@click.option("--fmr", type=float, help="False match rate of the operating point.")
@click.option("--focal-share", type=float, help="Share of the identities in the focal group.")
@click.option("--icc", type=float, help="Intraclass correlation of an identity's errors.")
@click.option("--matched-share", type=float, help="Share of the smaller group that finds a partner.")
@click.option("--pilot", "folder", type=click.Path(path_type=Path), help="An audit folder to take the rates from.")
@click.option("--rater", default="", help="Recognizer of the pilot; by default the first.")
@click.option("--power", "wanted", type=float, default=0.8, show_default=True, help="Target power.")
@click.option("--repeats", type=int, default=400, show_default=True, help="Simulated audits.")
@click.option("--seed", type=int, default=0, show_default=True)
@click.option("--labels", type=int, help="Plan labels instead: number of images with a predicted group.")
@click.option("--error", type=float, help="With --labels: share of wrong predictions.")
@click.option("--half-width", type=float, help="With --labels: half-width of the interval of the corrected gap.")
@click.option("--spread", type=float, help="With --labels: standard deviation of the answers within a group.")
def power(folder: Path | None, rater: str, wanted: float, repeats: int, seed: int, **given: Any) -> None:
    """Simulate audits: the power to detect a gap in FNMR, or the number of identities needed.

    With --labels: the number of images to label for a gap corrected for errors of a predicted attribute.
    """
    if _plans_labels(given):
        return
    from likewise.analysis.audit_power import AuditDesign, audit_power, identities_needed

    chosen = {name: value for name, value in given.items() if value is not None and name in _DESIGN}
    design = AuditDesign(**{"identities": 400, **chosen})
    if folder is not None:
        design = replace(_pilot(folder, rater), **chosen)
    if given["identities"] is None:
        for sample in ("all", "matched"):
            found = identities_needed(design, power=wanted, sample=sample, seed=seed)
            name = "unmatched" if sample == "all" else "matched"
            click.echo(f"{name}: about {found:,} identities for a power of {wanted:.0%}".replace("%", " %"))
    else:
        click.echo(audit_power(design, repeats=repeats, seed=seed))
    click.echo(f"FMR {design.fmr:g} needs {design.impostors:,} impostor trials.")


def _plans_labels(given: dict[str, Any]) -> bool:
    """Say how many images to label, if that is asked."""
    from likewise.analysis.label_noise import labels_needed
    from likewise.errors import SpecError

    asked = {name: given[name] for name in ("labels", "error", "half_width", "spread") if given[name] is not None}
    if not asked:
        return False
    missing = [f"--{name.replace('_', '-')}" for name in ("labels", "error", "half_width") if name not in asked]
    if missing:
        raise SpecError(f"{', '.join(missing)} missing", fix="A plan of labels needs --labels, --error, --half-width.")
    images, share = asked.pop("labels"), given["focal_share"]
    options = asked if share is None else asked | {"focal_share": share}
    found = labels_needed(images=images, **options)
    click.echo(f"{found:,} of {images:,} images, drawn at random, for an interval of +- {asked['half_width']:g}.")
    return True


def _pilot(folder: Path, rater: str) -> Any:
    """Measure the design on the artifacts of a finished audit, at the operating point it has."""
    from likewise.analysis.audit_power import pilot
    from likewise.audit.plan.file import read_plan
    from likewise.errors import StageError, some
    from likewise.tables import Estimates, Images, Ratings, Trials

    names = ("images.parquet", "trials.parquet", "ratings.parquet", "estimates.parquet")
    missing = [name for name in names if not (folder / name).is_file()]
    if missing:
        raise StageError(f"{missing[0]} not found in {str(folder)!r}", fix=f"Run: likewise run {folder}")
    images, trials, ratings = (
        Images.read(folder / names[0]), Trials.read(folder / names[1]), Ratings.read(folder / names[2])
    )  # fmt: skip
    limits = Estimates.read(folder / "estimates.parquet").where(stat="threshold").frame
    own = limits[limits["quantity"].str.startswith(f"{rater}: ")] if rater else limits
    if own.empty:
        known = sorted({name.partition(": ")[0] for name in limits["quantity"]})
        fix = f"Its recognizers: {some(known)}." if known else (
            "It has no error rates, for want of impostor trials or of a recognizer: give --fnmr and --images instead."
        )  # fmt: skip
        raise StageError(f"No operating point of {rater or 'a recognizer'} in {str(folder)!r}", fix=fix)
    first = own.iloc[0]
    about = (ratings, trials, images, read_plan(folder / "audit.toml").contrast)
    return pilot(*about, threshold=float(first["estimate"]), rater=str(first["quantity"]).partition(": ")[0])
