"""likewise study serve: opens the study, passes in the agreement statistics, and prints the links."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import sqlalchemy as sa
from starlette.applications import Starlette

from likewise.errors import StudyError
from likewise.study.config.load import read_study
from likewise.study.config.sections import StudyPlan
from likewise.study.server.app import make_app
from likewise.study.server.context import Site
from likewise.study.server.guard import TokenBucket
from likewise.study.server.serve import ServeOptions, bind, end_with_parent, limit_this_process, serve
from likewise.study.server.signing import read_key
from likewise.study.store.schema import sqlite_url
from likewise.tables import Ratings

DATABASE_VARIABLE = "LIKEWISE_STUDY_DATABASE"
_ENVIRONMENT = "LIKEWISE_STUDY_SERVE"


@dataclass(frozen=True, kw_only=True)
class Serving:
    """What ``likewise study serve`` was given."""

    host: str
    port: int
    database: str
    processes: int
    public: str
    proxy: str
    joins: int
    connections: int
    per_address: int


def folder_of(path: Path) -> Path:
    """Return the folder of a study given by folder or file."""
    return path if path.is_dir() else path.parent


def database_of(folder: Path, given: str) -> str:
    """Return the address of the database of the study."""
    return given or sqlite_url(folder / "study.sqlite")


def refuse_password(address: str) -> None:
    """Refuse a password in the arguments of the command, which every user of the machine can list."""
    if urlsplit(address).password:
        fix = f"Set the address in {DATABASE_VARIABLE}, or leave the password out and put it into ~/.pgpass."
        raise StudyError("--database contains a password, which is visible in the process list", fix=fix)


def agreement_so_far(study: StudyPlan, ratings: Ratings) -> list[Mapping[str, object]]:
    """Return agreement for the designer's page: alpha and the pairwise share, with intervals."""
    from likewise.analysis.crowd.agreement import agreement  # scipy is slow to load; the server starts without

    rows: list[Mapping[str, object]] = []
    for question in study.questions:
        frame = agreement(ratings, question=question.name, scale=question.scale).frame
        names = {"alpha": "Krippendorff's alpha", "pairwise_agreement": "pairwise agreement"}
        for row in frame.to_dict("records"):
            facts = {str(key): row[key] for key in ("estimate", "low", "high", "n")}
            rows.append({"what": f"{question.name}: {names[str(row['stat'])]}", **facts})
    return rows


def open_site(folder: Path, url: str, *, address: str = "", clock: Callable[[], float] = time.time) -> Site:
    """Read, freeze and open a study; ``address`` is its public address."""
    secure = address.startswith("https://")
    plan = read_study(folder)
    return Site.open(plan, folder, url, address=address, secure=secure, clock=clock, agreement=agreement_so_far)


def application() -> Starlette:
    """Make the application of one of several server processes; it ends with the process that started it."""
    end_with_parent()
    given = json.loads(os.environ[_ENVIRONMENT])
    site = open_site(Path(given["folder"]), given["database"], address=given["address"])
    limit_this_process(ServeOptions(**given["options"]))
    return make_app(site, joins=_joins(given["joins"]))


def _joins(a_minute: int) -> TokenBucket:
    return TokenBucket(rate=a_minute / 60, burst=a_minute)


def serve_study(path: Path, given: Serving, say: Callable[[str], Any]) -> None:
    """Serve until stopped; ``say`` prints the links."""
    folder = folder_of(path)
    url = database_of(folder, given.database)
    if given.processes > 1 and sa.make_url(url).get_backend_name() == "sqlite":
        fix = "Leave --processes out, or give a PostgreSQL database with --database."
        raise StudyError("Several server processes cannot share a SQLite database", fix=fix)
    bound = bind(given.host, given.port)
    address = _address(given.public) or f"http://{given.host}:{bound.getsockname()[1]}"
    site = open_site(folder, url, address=address)
    say(f"study:    {site.study.title(site.study.languages[0])} (plan {site.plan_hash[:12]}, frozen)")
    say(f"link:     {address}{site.join_path()}")
    say(f"designer: {address}/design?token={site.design_token}")
    options = ServeOptions(given.processes, given.proxy, given.connections, given.per_address)
    if given.processes == 1:
        serve(make_app(site, joins=_joins(given.joins)), bound, options)
        return
    site.close()
    os.environ[_ENVIRONMENT] = json.dumps(
        {"folder": str(folder), "database": url, "address": address, "joins": given.joins, "options": asdict(options)}
    )
    serve(f"{__name__}:application", bound, options)


def _address(public: str) -> str:
    """Return the public address without a final slash; it needs its scheme."""
    if public and urlsplit(public).scheme not in ("http", "https"):
        raise StudyError(f"--public is {public[:80]!r}, which has no scheme", fix="Write https://study.example.org.")
    return public.rstrip("/")


def personal_links(path: Path, number: int, public: str) -> list[str]:
    """Return signed personal links."""
    if number < 1:
        raise StudyError(f"--number is {number}", fix="It must be at least 1.")
    read_study(path)
    signer = read_key(folder_of(path))
    return [f"{_address(public)}/join/{signer.sign('join', f'for-{k:05d}')}" for k in range(1, number + 1)]
