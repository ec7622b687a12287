"""Serving: one process on SQLite, several on PostgreSQL, all behind one socket that is bound before anything else."""

from __future__ import annotations

import os
import signal
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import uvicorn
from uvicorn.supervisors import Multiprocess

from likewise.errors import StudyError
from likewise.study.server.connections import Connections, LimitedProtocol, limited, open_files

_GRACE = 10
_LOOK = 0.5  # seconds between looks at the parent process


@dataclass(frozen=True)
class ServeOptions:
    """How to serve: processes, the reverse proxy in front, and the limits on connections."""

    processes: int = 1
    proxy: str = ""
    connections: int = 1000
    per_address: int = 250


def bind(host: str, port: int) -> socket.socket:
    """Bind the address, so that a port in use is found before the study is opened.

    Parameters
    ----------
    host, port
        The address; port 0 takes a free one.

    Returns
    -------
    socket.socket
        The listening socket.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    found = socket.socket(family, socket.SOCK_STREAM)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((host, port))
    except OSError as error:
        found.close()
        fix = "Choose another port with --port, or stop the server that uses this one."
        reason = error.strerror or str(error)
        raise StudyError(f"Cannot listen on port {port} of {host}: {reason}", fix=fix) from error
    found.listen(2048)
    found.set_inheritable(True)
    return found


def limits_of(options: ServeOptions) -> Connections:
    """Return the limits on connections of one process."""
    return Connections(open_files(options.connections), options.per_address, options.proxy)


def limit_this_process(options: ServeOptions) -> None:
    """Apply the limits in one of several server processes."""
    LimitedProtocol.limits = limits_of(options)


def configure(app: str | Callable[..., Any], options: ServeOptions) -> uvicorn.Config:
    """Return the settings of the HTTP server: limits on connections and heads, and no WebSockets."""
    several = options.processes > 1  # each process sets its limits itself: a class made here could not be passed on
    return uvicorn.Config(
        app,
        factory=isinstance(app, str),
        workers=options.processes,
        http=LimitedProtocol if several else limited(limits_of(options)),
        ws="none",
        log_level="error",  # a client could fill the log with warnings
        access_log=False,
        server_header=False,
        proxy_headers=bool(options.proxy),
        forwarded_allow_ips=options.proxy or None,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=_GRACE,
    )


def serve(app: str | Callable[..., Any], bound: socket.socket, options: ServeOptions) -> None:
    """Serve until stopped. With several processes ``app`` is the path of a factory, ``module:function``."""
    config = configure(app, options)
    if options.processes == 1:
        uvicorn.Server(config).run(sockets=[bound])
    else:
        Multiprocess(config, sockets=[bound]).run()


def end_with_parent() -> None:
    """End this process when its parent ends, also when the parent is killed: it would keep the port otherwise."""
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(_LOOK)
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(_GRACE + 2)
        os._exit(1)

    threading.Thread(target=watch, name="parent watch", daemon=True).start()
