"""A PostgreSQL server of our own: Debian's binaries, a fresh folder, this machine only, gone afterwards."""

from __future__ import annotations

import contextlib
import os
import pwd
import secrets
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path


def binaries() -> Path | None:
    """Return the folder of initdb and pg_ctl, or None when PostgreSQL is not installed."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    if found:
        return found[-1].parent
    on_path = shutil.which("initdb")
    return Path(on_path).parent if on_path else None


def why_not() -> str:
    """Say why no server can be started, or nothing when one can."""
    if binaries() is None:
        return "PostgreSQL is not installed (on Debian: apt-get install postgresql)"
    if os.geteuid() == 0 and not _has_user("postgres"):
        return "PostgreSQL does not run as root, and there is no user postgres"
    return ""


def _has_user(name: str) -> bool:
    with contextlib.suppress(KeyError):
        return bool(pwd.getpwnam(name))
    return False


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


class Server:
    """A running server."""

    def __init__(self, folder: Path, *options: str) -> None:
        reason = why_not()
        if reason:
            raise RuntimeError(reason)
        self._bin, self._data, self.port = binaries() or Path(), folder / "data", _free_port()
        self._as: list[str] = []
        word = secrets.token_hex(8)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "word").write_text(word)
        if os.geteuid() == 0:
            self._as = ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups"]
            _open_way(folder)
            for path in (folder, folder / "word"):
                shutil.chown(path, "postgres", "postgres")
        self._run("initdb", "-D", self._data, "-U", "likewise", "-A", "scram-sha-256", f"--pwfile={folder / 'word'}",
                  "-E", "UTF8", "--locale=C.UTF-8", "-N")  # fmt: skip
        settings = (
            f"-p {self.port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={folder} {' '.join(options)}"
        )
        self._settings, self._log = settings, folder / "log"
        self.url = f"postgresql://likewise:{word}@127.0.0.1:{self.port}/postgres"
        self.start()

    @property
    def process(self) -> int:
        """The number of its first process."""
        return int((self._data / "postmaster.pid").read_text().split()[0])

    def start(self) -> None:
        """Start it, also again."""
        self._run("pg_ctl", "-D", self._data, "-w", "-l", self._log, "-o", self._settings, "start")

    def stop(self, mode: str = "fast") -> None:
        """Stop it; ``immediate`` is a crash."""
        self._run("pg_ctl", "-D", self._data, "-m", mode, "-w", "stop")

    def _run(self, program: str, *arguments: object) -> None:
        command = [*self._as, str(self._bin / program), *map(str, arguments)]
        done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, cwd="/", check=False)
        if done.returncode:
            raise RuntimeError(f"{program}: {done.stderr.decode(errors='replace')[-400:]}")


def _open_way(folder: Path) -> None:
    """Let the server's user pass through the folders above, as far as they are ours alone."""
    for path in folder.parents:
        if path.stat().st_uid == os.geteuid() and path.is_relative_to("/tmp"):  # noqa: S108  # ours, made for this run
            path.chmod(path.stat().st_mode | 0o011)


@contextlib.contextmanager
def postgres(folder: Path, *options: str) -> Iterator[Server]:
    """Run a server for a while."""
    server = Server(folder, *options)
    try:
        yield server
    finally:
        with contextlib.suppress(RuntimeError):
            server.stop()
