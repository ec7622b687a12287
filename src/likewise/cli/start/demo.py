"""Prepare a demo: the toy needs no networks; for the portraits they are fetched first, under their license terms."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from likewise.cli.weights.output import fetched
from likewise.errors import SpecError, WeightsError
from likewise.runtime.progress import reporter
from likewise.weights.cache import entry

IDENTITIES, TOY_IDENTITIES = 120, 400


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
    """Write the input of the audit."""
    shown = reporter(quiet=quiet)
    if toy:
        if allow:
            raise SpecError("--allow has no effect with --toy: no weights are fetched", fix="Remove --allow.")
        from likewise.demo.toy import make_toy  # does not need torch

        make_toy(folder, identities=identities or TOY_IDENTITIES, confounding=confounding, seed=seed, reporter=shown)
        return
    from likewise.demo.portraits import WEIGHTS, make_demo

    missing = [name for name in WEIGHTS if (held := entry(name)) is None or not held.current]
    if missing:
        shown.say(f"demo: fetching {len(missing)} networks (only once)")
        try:
            fetched(missing, allow=allow, source=None, reporter=shown)
        except WeightsError as error:
            raise type(error)(str(error).removesuffix("."), fix="Without any networks: likewise demo --toy") from error
    make_demo(folder, identities=identities or IDENTITIES, confounding=confounding, seed=seed, reporter=shown)
