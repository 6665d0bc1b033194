"""The command behind `make interop TRY=ray`: serves plainly and on Ray in both of its ways, tries and measures each,
ends it.

It ends with code 1 when something was not as it should be.
"""

from __future__ import annotations
import json
import os
import signal
import socket
import sys
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

import click
from rich.console import Console

from benchmarks import machine
from benchmarks.serving.processes import family, started
from interop.ray_serve.asking import KEY
from interop.ray_serve.checks import CHECKS, DRAIN, KILLS, NotSeenError, drain
from interop.ray_serve.figures import figures
from interop.ray_serve.hub import HubTry
from interop.ray_serve.near import SCRIPT_VARIABLE
from interop.servers.environments import ROOT, PythonEnvironment

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from benchmarks.serving.processes import Process

RESULTS: Final = Path(__file__).resolve().parent / "results.json"
ENVIRONMENT: Final = PythonEnvironment("ray", RESULTS.parent / "locks" / "ray.lock")
HUB: Final = "a hub: keys and a budget over two replicas"
_DRAIN_SECONDS: Final = 4.0
_END_SECONDS: Final = 60.0


@dataclass(frozen=True)
class Way:
    """A way of serving.

    Attributes:
        name: What it is called.
        arguments: Those of `partstream serve`.
        variables: The environment variables.
    """

    name: str
    arguments: tuple[str, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict)


_ON_RAY: Final = ("--on", "ray", "--workers", "2")
WAYS: Final = (
    Way("plain"),
    Way("ray", _ON_RAY),
    Way("haproxy", _ON_RAY, {"RAY_SERVE_ENABLE_HA_PROXY": "1", "RAY_SERVE_THROUGHPUT_OPTIMIZED": "1"}),
)


@click.command()
@click.option("--only", multiple=True, help="The name of a way of serving; repeat for more.")
def main(only: tuple[str, ...]) -> None:
    """Tries all ways of serving, and writes what was seen."""
    console = Console()
    ENVIRONMENT.install()
    ENVIRONMENT.install_ours()
    ways = [way for way in WAYS if not only or way.name in only]
    results = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    facts = machine.facts()
    results["machine"] = {name: facts[name] for name in ("date", "processor", "system", "python")}
    results["ray"] = ENVIRONMENT.pins["ray"]
    for way in ways:
        console.rule(way.name)
        results.setdefault("ways", {})[way.name] = _tried(way, console)
    RESULTS.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")
    failed = [one for way in ways for one in results["ways"][way.name]["checks"].values() if not one["works"]]
    sys.exit(1 if failed else 0)


def _tried(way: Way, console: Console) -> Mapping[str, Any]:
    seen: dict[str, Any] = {}

    def note(name: str, check: Callable[[], str]) -> None:
        try:
            seen[name] = {"works": True, "says": check()}
        except (NotSeenError, OSError, ValueError) as error:
            seen[name] = {"works": False, "says": str(error)}
        console.print(f"  {'works' if seen[name]['works'] else 'FAILS':6} {name}: {seen[name]['says']}", markup=False)

    with TemporaryDirectory() as name:
        folder = Path(name)
        providers = ("interop.ray_serve.near:provider", "interop.ray_serve.far:provider")
        with _serving(way, folder, providers, {}) as server:
            measured = figures(server)
            for number, value in measured.items():
                console.print(f"  {number}: {value:,.2f}")
            checks = CHECKS if way.name == "plain" else CHECKS | KILLS
            for title, check in checks.items():
                note(title, lambda check=check: check(server.port, folder))  # type: ignore[misc]
            note(DRAIN, lambda: drain(server.port, lambda: os.kill(server.pid, signal.SIGTERM), _DRAIN_SECONDS))
        if way.name != "plain":
            hub = HubTry(folder)
            with _serving(way, folder, ("--hub", "--demo"), hub.environment) as server:
                note(HUB, lambda: hub.tried(server.port))
    return {"checks": seen, "figures": {name: round(value, 3) for name, value in measured.items()}}


@contextmanager
def _serving(way: Way, folder: Path, what: tuple[str, ...], more: Mapping[str, str]) -> Iterator[Process]:
    """Serves until the end of the block; then nothing of it runs any more."""
    port = _free_port()
    is_hub = "--hub" in what
    environment = {
        "PYTHONPATH": str(ROOT),
        "PARTSTREAM_DATA": str(folder / "data"),
        "PARTSTREAM_LEDGER": "false",
        "XDG_CONFIG_HOME": os.devnull,
        "RAY_AUTH_MODE": "disabled",  # on loopback, and for minutes
        SCRIPT_VARIABLE: str(folder / "script"),
        **({} if is_hub else {"PARTSTREAM_SERVE_TOKEN": KEY}),
        **way.variables,
        **more,
    }
    options = ("--port", str(port), "--drain-seconds", str(_DRAIN_SECONDS), "--log", "off", *way.arguments)
    command = [str(ENVIRONMENT.program("python")), "-m", "partstream", "serve", *what, *options]
    ready = b"GET /readyz HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n"
    members: list[int] = []
    try:
        with started(command, port, ready, ROOT, folder / "log", environment) as server:
            members = family(server.pid)
            try:
                yield server
            finally:
                members += [one for one in family(server.pid) if one not in members] if _lives(server.pid) else []
                with suppress(ProcessLookupError):
                    os.kill(server.pid, signal.SIGTERM)
                _await_end(server.pid)
    finally:
        for one in members:
            _end(one)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _lives(pid: int) -> bool:
    try:
        return ") Z " not in Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except OSError:
        return False


def _await_end(pid: int) -> None:
    until = time.monotonic() + _END_SECONDS
    while _lives(pid) and time.monotonic() < until:
        time.sleep(0.1)


def _end(pid: int) -> None:
    """Kills a process of Ray that is still there."""
    with suppress(OSError):
        command = Path(f"/proc/{pid}/cmdline").read_bytes()
        if b"ray" in command or b"haproxy" in command:
            os.kill(pid, signal.SIGKILL)


if __name__ == "__main__":
    main()
