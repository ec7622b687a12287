"""Limits on connections: one client can neither hold them all, nor fill the memory with headers."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import threading
import time

import pytest
import uvicorn
from benchmarks.study_load import Served

from likewise.study.server.app import make_app
from likewise.study.server.connections import LARGEST_HEAD, Connections, limited, open_files
from likewise.study.server.serve import ServeOptions, bind, configure
from small_study import PLAN, open_small, write_study

GOOD = b"GET /health HTTP/1.1\r\nhost: x\r\n\r\n"


@contextlib.contextmanager
def serving(site, **limits):
    """Serve with few connections; yield the port and the limits."""
    bound = bind("127.0.0.1", 0)
    config = configure(make_app(site), ServeOptions())
    found = Connections(**limits)
    config.http = limited(found)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]}, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    try:
        yield bound.getsockname()[1], found
    finally:
        server.should_exit = True
        thread.join()
        bound.close()


OPEN: list[socket.socket] = []


@pytest.fixture(autouse=True)
def _close_all():
    yield
    while OPEN:
        OPEN.pop().close()


def connect(port, source="127.0.0.1"):
    found = socket.create_connection(("127.0.0.1", port), timeout=10, source_address=(source, 0))
    found.settimeout(10)
    OPEN.append(found)
    return found


def reply(connection, data=GOOD):
    """Return the first line of the answer; empty when the connection was closed."""
    with contextlib.suppress(ConnectionError, BrokenPipeError):
        connection.sendall(data)
        return connection.recv(4096).split(b"\r\n")[0]
    return b""


def test_half_sent_requests_lock_out_nobody(site):
    with serving(site, most=30, per_address=20) as (port, limits):
        held = [connect(port) for _ in range(80)]
        for one in held:
            with contextlib.suppress(OSError):
                one.sendall(b"GET /health HTTP/1.1\r\nhost:")
        assert b"200" in reply(connect(port))  # also from the same address: an idle connection gives way
        assert b"200" in reply(connect(port, "127.0.0.2"))
        assert limits.open <= 30
        assert limits.by_address["127.0.0.1"] <= 20


def test_the_proxy_has_no_limit_of_its_own(site):
    with serving(site, most=30, per_address=3, proxy="127.0.0.1") as (port, limits):
        held = [connect(port) for _ in range(12)]
        assert all(b"200" in reply(one) for one in held)
        assert limits.open == 12


def test_a_request_must_arrive_in_time(site):
    with serving(site, seconds=0.5) as (port, limits):
        slow = connect(port)
        slow.sendall(b"GET /health HTTP/1.1\r\n")
        assert b"408" in slow.recv(4096)
        assert slow.recv(4096) == b""
        body = connect(port)
        body.sendall(b"POST /task HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\nab")
        begun = time.monotonic()
        with contextlib.suppress(ConnectionError):
            while body.recv(4096):
                pass
        assert time.monotonic() - begun < 8
        kept = connect(port)
        assert b"200" in reply(kept)
        time.sleep(0.8)  # between two requests a connection may rest longer
        assert b"200" in reply(kept)
        assert limits.open == 1


@pytest.mark.parametrize(
    "head",
    [
        b"GET /health HTTP/1.1\r\n" + b"".join(b"x-%d: %s\r\n" % (k, b"y" * 500) for k in range(60)) + b"\r\n",
        b"GET /health HTTP/1.1\r\nx: " + b"y" * (LARGEST_HEAD + 100),
        b"GET /health?" + b"z" * (LARGEST_HEAD + 100),
        b"GET /health?" + b"z" * (LARGEST_HEAD + 100) + b" HTTP/1.1\r\nhost: x\r\n\r\n",
    ],
)
def test_a_large_head_is_refused(head, site):
    with serving(site) as (port, limits):
        assert b"431" in reply(connect(port), head)
        assert b"200" in reply(connect(port))
        large = b"POST /task HTTP/1.1\r\nhost: x\r\ncontent-type: application/x-www-form-urlencoded\r\n"
        large += b"content-length: 20000\r\n\r\n" + b"a" * 20000
        assert b"400" in reply(connect(port), large) or b"401" in reply(connect(port), large)
        assert limits.by_address["127.0.0.1"] <= 4


def test_there_are_no_websockets(site):
    upgrade = (
        b"GET /health HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: websocket\r\n"
        b"sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    )
    with serving(site) as (port, _):
        assert b"101" not in reply(connect(port), upgrade)


def test_there_are_files_enough_for_the_connections():
    assert open_files(100) == 100
    assert 16 <= open_files(10**9) < 10**9


def test_processes_end_with_the_one_that_started_them(tmp_path, database):
    """kill -9 of the parent leaves no process behind that keeps the port."""
    folder = write_study(tmp_path, plan=PLAN)
    open_small(folder, database).close()
    served = Served(folder, database, 2)
    try:
        os.kill(served.process.pid, signal.SIGKILL)
        served.process.wait(timeout=10)
        end = time.monotonic() + 60
        while time.monotonic() < end:
            try:
                connect(served.port).close()
            except ConnectionRefusedError:
                break
            time.sleep(0.2)
        else:
            pytest.fail("a worker still keeps the port")
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(served.process.pid, signal.SIGKILL)
        served.process.stdout.close()
