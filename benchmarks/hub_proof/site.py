"""A hub of several workers on a Postgres of its own, run as a team runs it: by `partstream hub` and `serve --hub`."""

from __future__ import annotations
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import httpx2
import psycopg

from interop.servers.processes import free_port

if TYPE_CHECKING:
    from collections.abc import Sequence

    from interop.servers.postgres import PostgresServer

__all__ = ["Site", "Worker"]

_ROOT: Final = Path(__file__).resolve().parents[2]
_LONGEST: Final = 60
_TABLE: Final = (
    "CREATE TABLE proof_overshoots (window_id BIGINT NOT NULL, used BIGINT NOT NULL, budget_limit BIGINT NOT NULL)"
)
_FUNCTION: Final = """CREATE FUNCTION proof_note() RETURNS trigger AS $$ BEGIN
    INSERT INTO proof_overshoots VALUES (NEW.id, NEW.spent + NEW.reserved, NEW.budget_limit); RETURN NULL;
END $$ LANGUAGE plpgsql"""
_TRIGGER: Final = """CREATE TRIGGER proof_overshoot AFTER UPDATE ON hub_windows FOR EACH ROW
    WHEN (NEW.spent + NEW.reserved > NEW.budget_limit AND NEW.spent + NEW.reserved > OLD.spent + OLD.reserved)
    EXECUTE FUNCTION proof_note()"""


@dataclass(slots=True)
class Worker:
    """One worker.

    Attributes:
        port: Where it listens.
        skew: By how many seconds its clock is wrong.
        process: Its process.
    """

    port: int
    skew: float
    process: subprocess.Popen[bytes]

    def resident_bytes(self) -> int:
        """The memory that it holds."""
        fields = Path(f"/proc/{self.process.pid}/statm").read_text(encoding="ascii").split()
        return int(fields[1]) * os.sysconf("SC_PAGE_SIZE")


@dataclass(slots=True)
class Site:
    """The hub.

    Attributes:
        folder: For its files.
        postgres: Its database server.
        workers: The workers that run.
    """

    folder: Path
    postgres: PostgresServer
    workers: list[Worker] = field(default_factory=list)

    def hub(self, *arguments: str) -> str:
        """Runs `partstream hub`; what it prints."""
        command = [sys.executable, "-m", "partstream", "hub", *arguments]
        return subprocess.run(
            command, env=self._environment, cwd=_ROOT, check=True, capture_output=True, text=True, timeout=_LONGEST
        ).stdout

    def person(self, name: str, budget: str, team: str = "") -> str:
        """Adds a person with a budget; the key."""
        self.hub("add", "person", name, "--budget", budget, *(("--team", team) if team else ()))
        return self.hub("key", "add", name).strip()

    def note_overshoots(self) -> None:
        """Has the database note each transaction after which more is spent and reserved than a limit allows."""
        for statement in (_TABLE, _FUNCTION, _TRIGGER):
            self.rows(statement)

    def start(self, skews: Sequence[float]) -> None:
        """Starts one worker for each clock, and waits until all are ready."""
        for skew in skews:
            port = free_port()
            command = [sys.executable, "-m", "benchmarks.hub_proof.skewed", str(skew)]
            command += ["serve", "--hub", "benchmarks/hub_proof/words.py", "--port", str(port)]
            log = (self.folder / f"worker-{port}.log").open("wb")
            with log:
                process = subprocess.Popen(
                    command, env=self._environment, cwd=_ROOT, stdin=subprocess.DEVNULL, stdout=log, stderr=log
                )
            self.workers.append(Worker(port, skew, process))
        for worker in self.workers:
            self._await_ready(worker)

    def _await_ready(self, worker: Worker) -> None:
        ends = time.monotonic() + _LONGEST
        while time.monotonic() < ends and worker.process.poll() is None:
            with suppress(httpx2.TransportError):
                if httpx2.get(f"http://127.0.0.1:{worker.port}/readyz", timeout=5).status_code == 200:
                    return
            time.sleep(0.05)
        raise RuntimeError((self.folder / f"worker-{worker.port}.log").read_text()[-2000:])

    def kill(self, worker: Worker) -> None:
        """Kills a worker as a machine that fails would."""
        self.workers.remove(worker)
        worker.process.kill()
        worker.process.wait(_LONGEST)

    def stop(self) -> list[int]:
        """Ends all workers as an operator does; their exit codes."""
        for worker in self.workers:
            worker.process.send_signal(signal.SIGTERM)
        codes = [worker.process.wait(_LONGEST) for worker in self.workers]
        self.workers.clear()
        return codes

    def rows(self, statement: str) -> list[tuple[Any, ...]]:
        """Runs a statement on the database; its rows."""
        with psycopg.connect(self.postgres.address(), autocommit=True) as connection:
            cursor = connection.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []

    @property
    def _environment(self) -> dict[str, str]:
        return os.environ | {
            "PARTSTREAM_HUB_DATABASE": self.postgres.address(),
            "PARTSTREAM_CONFIG": str(self.folder / "config.toml"),
            "XDG_CACHE_HOME": str(self.folder),
            "XDG_DATA_HOME": str(self.folder),
            "XDG_STATE_HOME": str(self.folder),
        }
