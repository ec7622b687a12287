from __future__ import annotations

import itertools
import tempfile
from pathlib import Path

import pytest
import sqlalchemy as sa
from benchmarks.postgres import postgres, why_not

from small_study import open_small, write_study

_NUMBERS = itertools.count()


@pytest.fixture(scope="session")
def server():
    """A PostgreSQL server of this test run; durable as in earnest. Its own user must be able to reach the folder."""
    if why_not():
        pytest.skip(why_not())
    with tempfile.TemporaryDirectory(prefix="likewise-") as folder, postgres(Path(folder) / "server") as running:
        yield running


@pytest.fixture
def database(server):
    """A fresh PostgreSQL database."""
    name = f"study{next(_NUMBERS)}"
    engine = sa.create_engine(server.url.replace("postgresql:", "postgresql+psycopg:"), isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.exec_driver_sql(f"CREATE DATABASE {name}")
    engine.dispose()
    return server.url.removesuffix("postgres") + name


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request):
    """The address of an empty database of each kind; empty is SQLite in the study's folder."""
    return request.getfixturevalue("database") if request.param == "postgresql" else ""


@pytest.fixture
def site(tmp_path):
    """A small study, open."""
    found = open_small(write_study(tmp_path), address="https://study.example.org")
    yield found
    found.close()
