"""LiteLLM's proxy with its database: installs it, makes its tables, starts it, and makes its keys."""

from __future__ import annotations
import os
import subprocess
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import httpx2
import psycopg

from benchmarks.hub.gateways import LITELLM, Gateway, noted
from benchmarks.serving.processes import started
from interop.servers.environments import NodeEnvironment, NotInstalledError, PythonEnvironment
from interop.servers.processes import free_port

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.serving.processes import Process

__all__ = ["VERSION", "litellm_gateway"]

_HERE: Final = Path(__file__).resolve().parent / "litellm"
# The newest whose tables PyPI has: newer ones want `litellm-proxy-extras` that are not there, and note nothing spent.
_PYTHON: Final = PythonEnvironment("litellm-database", _HERE / "requirements.lock")
VERSION: Final = _PYTHON.pins["litellm"]
_NODE: Final = NodeEnvironment(_HERE)
_ENGINE: Final = str(_HERE / "query_engine.js")
_LONGEST: Final = 300
_DOLLAR: Final = 10**9
_MASTER_KEY: Final = "sk-local-key"


def _install() -> None:
    """Installs LiteLLM, Prisma and its engine, and generates its client of the database.

    Raises:
        NotInstalledError: This machine cannot have it.
    """
    _PYTHON.install()
    _NODE.install()
    packages = next(_PYTHON.program("python").parent.parent.glob("lib/python*/site-packages"))
    stamp = packages / "prisma" / "schema.prisma"
    if stamp.exists():
        return
    engines = dict.fromkeys(
        ("PRISMA_QUERY_ENGINE_BINARY", "PRISMA_QUERY_ENGINE_LIBRARY", "PRISMA_SCHEMA_ENGINE_BINARY"), _ENGINE
    )
    path = f"{_PYTHON.program('python').parent}{os.pathsep}{os.environ['PATH']}"
    command = [str(_NODE.program("prisma")), "generate", "--schema", str(packages / "litellm/proxy/schema.prisma")]
    try:
        subprocess.run(
            command,
            cwd=_HERE,
            env=os.environ | engines | {"PATH": path, "CHECKPOINT_DISABLE": "1"},
            check=True,
            capture_output=True,
            text=True,
            timeout=_LONGEST,
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise NotInstalledError(f"prisma generate failed: {error}") from error


def _make_tables(database_url: str) -> None:
    """Makes the tables as LiteLLM's own migrations do, in their order."""
    folder = next(_PYTHON.program("python").parent.parent.glob("lib/python*/site-packages/litellm_proxy_extras"))
    with psycopg.connect(database_url, autocommit=True) as connection:
        for migration in sorted(folder.glob("migrations/*/migration.sql")):
            connection.execute(migration.read_text(encoding="utf-8").encode())


@contextmanager
def _litellm(folder: Path, database: str, upstream_port: int) -> Iterator[_Running]:
    """Runs the proxy with one worker.

    Raises:
        NotStartedError: It does not run.
    """
    _make_tables(database)
    port = free_port()
    command = [str(_PYTHON.program("litellm")), "--config", "config.yaml", "--host", "127.0.0.1", "--port", str(port)]
    environment = {
        "DATABASE_URL": database,
        "DISABLE_SCHEMA_UPDATE": "true",
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        "LITELLM_LOG": "ERROR",
        "LITELLM_MASTER_KEY": _MASTER_KEY,
        "PATH": f"{_PYTHON.program('python').parent}{os.pathsep}{os.environ['PATH']}",
        "PRISMA_QUERY_ENGINE_BINARY": _ENGINE,
        "UPSTREAM_URL": f"http://127.0.0.1:{upstream_port}/v1",
    }
    ready = b"GET /health/readiness HTTP/1.1\r\nhost: h\r\nconnection: close\r\n\r\n"
    with started(command, port, ready, _HERE, folder / "litellm.log", environment) as process:
        running = _Running(process)
        running.unlimited_key = running.made_key({"key_alias": "unlimited"})
        yield running


@dataclass
class _Running:
    process: Process
    unlimited_key: str = ""

    @property
    def gateway(self) -> Gateway:
        return litellm_gateway

    def make_key(self, name: str, limit: int) -> str:
        return self.made_key({"key_alias": name, "max_budget": limit / _DOLLAR})

    def made_key(self, said: dict[str, object]) -> str:
        key: str = self._asked("POST", "/key/generate", json=said)["key"]
        return key

    def spent(self, key: str, cost: int) -> int:
        def read() -> int:
            return round(self._asked("GET", "/key/info", params={"key": key})["info"]["spend"] * _DOLLAR)

        return noted(read, cost)

    def _asked(self, method: str, path: str, **what: Any) -> Any:
        url, headers = f"http://127.0.0.1:{self.process.port}{path}", {"authorization": f"Bearer {_MASTER_KEY}"}
        return httpx2.request(method, url, headers=headers, timeout=30, **what).raise_for_status().json()


litellm_gateway: Final = Gateway(LITELLM, _litellm, _install, is_peer=True)
