"""Measures the hub and LiteLLM's proxy in one interleaved run; what comes out is the file of results."""

from __future__ import annotations
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from statistics import median, quantiles
from typing import TYPE_CHECKING, Any, Final

import psycopg

from benchmarks.hub.burst import burst
from benchmarks.hub.gateways import DIRECT, PRICES, nanodollars, request
from benchmarks.hub.litellm_database import litellm_gateway
from benchmarks.hub.own import hub_gateway
from benchmarks.model_server import INPUT, model_server
from benchmarks.serving.processes import Load
from interop.servers.environments import NotInstalledError
from interop.servers.postgres import PostgresServer
from interop.servers.processes import NotStartedError, free_port

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from benchmarks.hub.gateways import Gateway, RunningGateway
    from benchmarks.progress import Progress

__all__ = ["Sizes", "measure"]

_AT_ONCE: Final = 16
_WORDS: Final = 10
_FEW_WORDS: Final = 3
"""Words of the many answers that show what they leave in memory."""
_BURST_WORDS: Final = 30
_BURST_ROOM: Final = 100
"""How many answers the budget of a burst pays."""
_BURST_REQUESTS: Final = 400
_BURST_AT_ONCE: Final = 64
_CHUNK: Final = 500
"""Answers of one order of the load."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """How much is measured.

    Attributes:
        rounds: How often each is asked in turn.
        firsts: How many answers are timed in a round.
        answers: How many answers show what they leave in the memory of the hub.
        peer_answers: The same for a peer, which takes longer.
        bursts: How many budgets are run into.
        peers: Whether LiteLLM's proxy is measured.
    """

    rounds: int = 3
    firsts: int = 60
    answers: int = 10_000
    peer_answers: int = 500
    bursts: int = 2
    peers: bool = True


def measure(sizes: Sizes, folder: Path, progress: Progress) -> dict[str, Any]:
    """Measures; the result is JSON.

    Raises:
        NotStartedError: One of our own servers does not run.
        RuntimeError: An answer was not whole.
    """
    skipped: dict[str, str] = {}
    with ExitStack() as stack:
        load = stack.enter_context(Load())
        postgres = stack.enter_context(_postgres())
        upstream_port = stack.enter_context(model_server(folder))
        running: dict[str, RunningGateway] = {}
        for number, gateway in enumerate((hub_gateway, litellm_gateway)):
            if gateway.is_peer and not sizes.peers:
                skipped[gateway.name] = "left out"
                continue
            progress.say(f"starting {gateway.name}")
            try:
                gateway.install()
                running[gateway.name] = stack.enter_context(
                    gateway.start(folder, _database(postgres, number), upstream_port)
                )
            except (NotInstalledError, NotStartedError) as error:
                if not gateway.is_peer:
                    raise
                skipped[gateway.name] = str(error)
        ports = {DIRECT: (upstream_port, "")}
        ports |= {name: (one.process.port, one.unlimited_key) for name, one in running.items()}
        for port, key in ports.values():
            load.order(port, request(key, _WORDS), words=_WORDS, streams=2, answers=5)
        idle = {name: one.process.resident_bytes() for name, one in running.items()}
        each = _CHUNK // _AT_ONCE * _AT_ONCE
        chunks = sum(-(-_answers_of(one.gateway, sizes) // each) for one in running.values())
        progress.expect(2 * sizes.rounds * len(ports) + sizes.bursts * len(running) + chunks)
        firsts = _firsts(ports, load, sizes, progress)
        rates = _rates(ports, running, load, sizes, progress)
        bursts = {name: _bursts(one, sizes, progress) for name, one in running.items()}
        memory = _memory(running, load, sizes, progress)
        starts = {name: one.process.start_seconds for name, one in running.items()}
    return {
        "sizes": asdict(sizes),
        "skipped": skipped,
        "firsts": firsts,
        "rates": rates,
        "bursts": bursts,
        "idle_bytes": idle,
        "answers": memory,
        "start_seconds": starts,
        "prices": PRICES,
    }


@contextmanager
def _postgres() -> Iterator[PostgresServer]:
    """The server of all databases."""
    server = PostgresServer.made(free_port())
    with server.guard():
        server.start()
        yield server


def _database(server: PostgresServer, number: int) -> str:
    """The address of a new database."""
    name = f"gateway_{number}"
    with psycopg.connect(server.address(), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}".encode())
    return server.address(name)


def _firsts(ports: Mapping[str, tuple[int, str]], load: Load, sizes: Sizes, progress: Progress) -> dict[str, Any]:
    """By contestant and round: the median and the 99th percentile of the milliseconds to the first word."""
    results: dict[str, Any] = {name: {"median": [], "last_hundredth": []} for name in ports}
    for number in range(sizes.rounds):
        for name, (port, key) in ports.items():
            progress.say(f"round {number + 1}: first words, {name}")
            asked = request(key, _WORDS)
            came = load.order(port, asked, words=_WORDS, answers=sizes.firsts)
            results[name]["median"].append(median(came.first_words))
            results[name]["last_hundredth"].append(quantiles(came.first_words, n=100)[98])
    return results


def _rates(
    ports: Mapping[str, tuple[int, str]],
    running: Mapping[str, RunningGateway],
    load: Load,
    sizes: Sizes,
    progress: Progress,
) -> dict[str, Any]:
    """By contestant and round: requests a second, and milliseconds of processor time for a request."""
    results: dict[str, Any] = {name: {"per_second": [], "processor": []} for name in ports}
    for number in range(sizes.rounds):
        for name, (port, key) in ports.items():
            progress.say(f"round {number + 1}: {_AT_ONCE} clients, {name}")
            process = running[name].process if name in running else None
            before = process.processor_seconds() if process else 0.0
            asked = request(key, _WORDS)
            came = load.order(port, asked, words=_WORDS, streams=_AT_ONCE, answers=sizes.firsts // 2)
            answers = _AT_ONCE * (sizes.firsts // 2)
            results[name]["per_second"].append(answers / came.seconds)
            if process is not None:
                results[name]["processor"].append((process.processor_seconds() - before) / answers * 1e3)
    return results


def _bursts(gateway: RunningGateway, sizes: Sizes, progress: Progress) -> list[dict[str, Any]]:
    """Each burst: what the budget was, what the answers cost, and what was refused; amounts in nanodollars."""
    results: list[dict[str, Any]] = []
    each = nanodollars(INPUT, _BURST_WORDS)
    limit = each * _BURST_ROOM
    for number in range(sizes.bursts):
        progress.say(f"burst {number + 1} at the limit, {gateway.gateway.name}")
        key = gateway.make_key(f"burst-{number + 1}", limit)
        came = burst(gateway.process.port, key, requests=_BURST_REQUESTS, at_once=_BURST_AT_ONCE, words=_BURST_WORDS)
        cost = came.answered * nanodollars(INPUT, 0) + nanodollars(0, came.words)
        results.append({**asdict(came), "limit": limit, "cost": cost, "each": each, "noted": gateway.spent(key, cost)})
    return results


def _memory(running: Mapping[str, RunningGateway], load: Load, sizes: Sizes, progress: Progress) -> dict[str, Any]:
    """By gateway: the bytes that it holds before, after a tenth, halfway through and after many short answers."""
    results: dict[str, Any] = {}
    for name, one in running.items():
        answers = _answers_of(one.gateway, sizes)
        held = [one.process.resident_bytes()]
        given = 0
        for share in (0.1, 0.5, 1.0):
            while given < answers * share:
                progress.say(f"{given:,} of {answers:,} answers, {name}")
                each = _CHUNK // _AT_ONCE
                asked = request(one.unlimited_key, _FEW_WORDS)
                load.order(one.process.port, asked, words=_FEW_WORDS, streams=_AT_ONCE, answers=each)
                given += each * _AT_ONCE
            held.append(one.process.resident_bytes())
        results[name] = {"answers": given, "bytes": held}
    return results


def _answers_of(gateway: Gateway, sizes: Sizes) -> int:
    return sizes.peer_answers if gateway.is_peer else sizes.answers
