"""likewise study serve: opens the study, wires in the agreement of the analysis room, and prints the links."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from starlette.applications import Starlette

from likewise.errors import StudyError
from likewise.study.app import make_app
from likewise.study.guard import Limit
from likewise.study.plan import Study
from likewise.study.reading import read_study
from likewise.study.schema import sqlite_url
from likewise.study.serve import bind, serve
from likewise.study.signing import read_key
from likewise.study.site import Site
from likewise.tables import Ratings

_ENVIRONMENT = "LIKEWISE_STUDY_SERVE"


def folder_of(path: Path) -> Path:
    """Return the folder of a study given by folder or file."""
    return path if path.is_dir() else path.parent


def database_of(folder: Path, given: str) -> str:
    """Return the address of the study's database."""
    return given or sqlite_url(folder / "study.sqlite")


def agreement_so_far(study: Study, ratings: Ratings) -> list[Mapping[str, object]]:
    """Return what the designer's page shows of agreement: alpha and the pairwise share, with intervals."""
    from likewise.analyse.agreement import agreement  # noqa: PLC0415  # scipy is slow to load; the server starts without

    rows: list[Mapping[str, object]] = []
    for question in study.questions:
        frame = agreement(ratings, question=question.name, scale=question.scale).frame
        names = {"alpha": "Krippendorff's alpha", "pairwise_agreement": "two raters agree"}
        for row in frame.to_dict("records"):
            facts = {str(key): row[key] for key in ("estimate", "low", "high", "n")}
            rows.append({"what": f"{question.name}: {names[str(row['stat'])]}", **facts})
    return rows


def open_site(folder: Path, url: str, *, secure: bool = False, clock: Callable[[], float] = time.time) -> Site:
    """Read, freeze and open a study."""
    plan = read_study(folder)
    return Site.open(plan, folder, url, secure=secure, clock=clock, insight=partial(agreement_so_far, plan))


def application() -> Starlette:
    """Make the application of one of several server processes."""
    told = json.loads(os.environ[_ENVIRONMENT])
    site = open_site(Path(told["folder"]), told["database"], secure=told["secure"])
    return make_app(site, joins=_joins(told["joins"]))


def _joins(a_minute: int) -> Limit:
    return Limit(rate=a_minute / 60, burst=a_minute)


def serve_study(
    path: Path,
    *,
    host: str,
    port: int,
    database: str,
    processes: int,
    public: str,
    proxy: str,
    joins: int,
    say: Callable[[str], Any],
) -> None:
    """Serve until stopped."""
    folder = folder_of(path)
    url = database_of(folder, database)
    if processes > 1 and sa.make_url(url).get_backend_name() == "sqlite":
        fix = "Leave --processes out, or give a PostgreSQL database with --database."
        raise StudyError("several server processes need PostgreSQL", got="SQLite", fix=fix)
    bound = bind(host, port)
    address = public.rstrip("/") or f"http://{host}:{bound.getsockname()[1]}"
    secure = address.startswith("https://")
    site = open_site(folder, url, secure=secure)
    say(f"study:    {site.study.title(site.study.languages[0])} (plan {site.plan_hash[:12]}, frozen)")
    say(f"link:     {address}{site.join_path()}")
    say(f"designer: {address}/design?token={site.design_token}")
    if processes == 1:
        serve(make_app(site, joins=_joins(joins)), bound, proxy=proxy)
        return
    site.close()
    os.environ[_ENVIRONMENT] = json.dumps({"folder": str(folder), "database": url, "secure": secure, "joins": joins})
    serve(f"{__name__}:application", bound, processes=processes, proxy=proxy)


def personal_links(path: Path, number: int, public: str) -> list[str]:
    """Return signed links, one a person."""
    if number < 1:
        raise StudyError("at least one link is wanted", got=str(number))
    read_study(path)
    signer = read_key(folder_of(path))
    return [f"{public.rstrip('/')}/join/{signer.sign('join', f'for-{k:05d}')}" for k in range(1, number + 1)]
