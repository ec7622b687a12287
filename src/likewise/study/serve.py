"""Serving: one process on SQLite, several on PostgreSQL, all behind one socket that is bound before anything else."""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import Any

import uvicorn
from uvicorn.supervisors import Multiprocess

from likewise.errors import StudyError


def bind(host: str, port: int) -> socket.socket:
    """Bind the address, so that a port in use is found out before the study is opened."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    found = socket.socket(family, socket.SOCK_STREAM)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((host, port))
    except OSError as error:
        found.close()
        fix = "Choose another one with --port, or stop the server that has it."
        raise StudyError(f"port {port} on {host} is free", got=str(error), fix=fix) from error
    found.listen(2048)
    found.set_inheritable(True)
    return found


def serve(app: str | Callable[..., Any], bound: socket.socket, *, processes: int = 1, proxy: str = "") -> None:
    """Serve until stopped. With several processes ``app`` is the path of a factory, ``module:function``."""
    config = uvicorn.Config(
        app,
        factory=isinstance(app, str),
        workers=processes,
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=bool(proxy),
        forwarded_allow_ips=proxy or None,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=10,
    )
    server = uvicorn.Server(config)
    if processes == 1:
        server.run(sockets=[bound])
    else:
        Multiprocess(config, sockets=[bound]).run()
