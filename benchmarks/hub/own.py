"""The hub: makes its database and its keys by `partstream hub`, as an administrator does, and runs one worker."""

from __future__ import annotations
import os
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Final

import httpx2

from benchmarks.hub.gateways import HUB, PRICES, Gateway, noted
from benchmarks.serving.processes import ROOT, started
from interop.servers.processes import free_port

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from benchmarks.serving.processes import Process

__all__ = ["hub_gateway"]

_LONGEST: Final = 30
_DOLLAR: Final = 10**9
_MILLION: Final = 10**6
_MUCH: Final = 1_000_000 * _DOLLAR


@contextmanager
def _hub(folder: Path, database: str, upstream_port: int) -> Iterator[_Running]:
    (folder / "config.toml").write_text(
        f'[profiles.upstream]\nbaseUrl = "http://127.0.0.1:{upstream_port}/v1"\nprotocol = "chat-completions"\n'
    )
    environment = {
        "PARTSTREAM_CONFIG": str(folder / "config.toml"),
        "PARTSTREAM_HUB_DATABASE": database,
        "XDG_CACHE_HOME": str(folder),
        "XDG_DATA_HOME": str(folder),
        "XDG_STATE_HOME": str(folder),
    }
    port = free_port()
    running = _Running(environment, port)
    running.run("init")
    prices = (str(Decimal(PRICES[kind] * _MILLION) / _DOLLAR) for kind in ("input", "output"))
    running.run("add", "model", "words", "--price", "/".join(prices))
    running.unlimited_key = running.make_key("everybody", _MUCH)
    command = [sys.executable, "-m", "partstream", "serve", "--hub", "--profile", "upstream", "--port", str(port)]
    ready = b"GET /readyz HTTP/1.1\r\nhost: h\r\nconnection: close\r\n\r\n"
    with started(command, port, ready, ROOT, folder / "hub.log", environment) as process:
        running.process = process
        yield running


@dataclass
class _Running:
    environment: Mapping[str, str]
    port: int
    process: Process | None = None
    unlimited_key: str = ""

    @property
    def gateway(self) -> Gateway:
        return hub_gateway

    def make_key(self, name: str, limit: int) -> str:
        """Makes a person with a budget, which no other measurement can use up."""
        self.run("add", "person", name, "--budget", f"{Decimal(limit) / _DOLLAR} USD/day")
        key = self.run("key", "add", name).strip()
        if self.process is not None:
            self._await(key)
        return key

    def _await(self, key: str) -> None:
        """Waits until the worker knows the key, which takes a second or two."""
        ends = time.monotonic() + _LONGEST
        while self._me(key).status_code != 200 and time.monotonic() < ends:
            time.sleep(0.1)

    def spent(self, key: str, cost: int) -> int:
        return noted(lambda: int(self._me(key).raise_for_status().json()["budgets"][0]["spent"]), cost)

    def _me(self, key: str) -> httpx2.Response:
        url, headers = f"http://127.0.0.1:{self.port}/hub/v1/me", {"authorization": f"Bearer {key}"}
        return httpx2.get(url, headers=headers, timeout=_LONGEST)

    def run(self, *arguments: str) -> str:
        command = [sys.executable, "-m", "partstream", "hub", *arguments]
        environment = os.environ | dict(self.environment)
        return subprocess.run(
            command, env=environment, cwd=ROOT, check=True, capture_output=True, text=True, timeout=_LONGEST
        ).stdout


hub_gateway: Final = Gateway(HUB, _hub)
