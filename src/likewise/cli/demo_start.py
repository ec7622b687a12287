"""How a demo begins: the toy needs nothing; the real one has its networks fetched first, under their terms."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from likewise.cli.downloads import downloads_voice
from likewise.cli.progress import voice
from likewise.cli.weights import fetched
from likewise.errors import SpecError, WeightsError
from likewise.weights.cache import entry

PEOPLE, TOY_PEOPLE = 100, 400


def start_demo(
    folder: Path,
    *,
    toy: bool,
    allow: Sequence[str],
    identities: int | None,
    confounding: float,
    seed: int,
    quiet: bool,
) -> None:
    """Lay out the world to be audited."""
    told = voice(quiet=quiet)
    if toy:
        if allow:
            raise SpecError("--allow has an effect only where weights are fetched", got="--toy")
        from likewise.cli.demo_toy import make_toy  # noqa: PLC0415  # torch is not needed for the toy

        make_toy(folder, identities=identities or TOY_PEOPLE, confounding=confounding, seed=seed, voice=told)
        return
    from likewise.cli.demo import WEIGHTS, make_demo  # noqa: PLC0415

    missing = [name for name in WEIGHTS if (held := entry(name)) is None or not held.current]
    if missing:
        told.say(f"fetching {len(missing)} networks, once")
        try:
            fetched(missing, allow=allow, source=None, voice=downloads_voice(quiet=quiet))
        except WeightsError as error:
            raise type(error)(str(error).removesuffix("."), fix="Without any networks: likewise demo --toy") from error
    make_demo(folder, identities=identities or PEOPLE, confounding=confounding, seed=seed, voice=told)
