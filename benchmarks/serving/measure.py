"""Measures all contestants in one interleaved run; what comes out is the file of results.

In a round, each contestant in its turn, which chance decides, gives short answers to one client, then short and long
ones to many clients. So whatever else the machine does falls on all of them.
"""

from __future__ import annotations
import http.client
import json
import random
import re
import socket
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from benchmarks.model_server import model_server, words
from benchmarks.serving.contestants import CONTESTANTS, DIRECT, SERVERS
from benchmarks.serving.processes import Load, NotWholeError
from interop.servers.environments import NotInstalledError
from interop.servers.postgres import NoPostgresError
from interop.servers.processes import NotStartedError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from benchmarks.progress import Progress
    from benchmarks.serving.contestants import Contestant, Running, Server

__all__ = ["CLIENTS", "LONG", "SHORT", "Sizes", "measure"]

SHORT: Final = 10
"""Words of a short answer."""
LONG: Final = 200
"""Words of a long one: the difference to a short one says what a further word takes."""
CLIENTS: Final = 16

_MANY: Final = {SHORT: 40, LONG: 10}
"""Answers that each client gets in a round."""
_FEW: Final = {SHORT: 8, LONG: 3}
"""The same of servers that take long."""
_CHECKED: Final = 70
"""Words of the answer that is read letter by letter."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """How much is measured.

    Attributes:
        rounds: How often each contestant has its turn.
        firsts: How many answers to one client are timed in a round.
        starts: How often each server is started for its time to a first answer.
        groups: The groups of servers that take part; none for all.
    """

    rounds: int
    firsts: int
    starts: int
    groups: frozenset[str] = frozenset()

    def has(self, server: Server) -> bool:
        """Whether a server takes part."""
        return not self.groups or server.group in {*self.groups, DIRECT.server.group}


def measure(sizes: Sizes, folder: Path, progress: Progress) -> dict[str, Any]:
    """Measures; the result is JSON.

    Raises:
        NotInstalledError: One of our own servers cannot be installed.
        NotStartedError: One of our own servers does not run.
        NotWholeError: An answer of ours was wrong or not whole.
    """
    with ExitStack() as stack:
        run = _Run(sizes, folder, progress, stack.enter_context(Load()), stack.enter_context(model_server(folder)))
        for server in filter(sizes.has, SERVERS):
            run.start(server, stack)
        run.check()
        progress.expect(sizes.rounds * len(run.present) * 2 + sizes.starts * len(run.servers))
        for number in range(sizes.rounds):
            order = run.present[:]
            random.Random(number).shuffle(order)
            for one in order:
                run.take_turn(one, number)
        run.note_memory("after_bytes")
        for number in range(sizes.starts):
            for server in run.servers:
                run.time_start(server, number)
        return run.results


class _Run:
    """A run of all contestants.

    Attributes:
        results: What has been measured.
        present: Who answered right, and so takes part.
    """

    def __init__(self, sizes: Sizes, folder: Path, progress: Progress, load: Load, upstream_port: int) -> None:
        self._sizes = sizes
        self._folder = folder
        self._progress = progress
        self._load = load
        self._upstream_port = upstream_port
        self._running: dict[Server, Running] = {}
        self.present: list[Contestant] = []
        self.results: dict[str, Any] = {
            "sizes": {"rounds": sizes.rounds, "firsts": sizes.firsts, "starts": sizes.starts},
            "skipped": {},
            "first_words": {},  # by contestant and round: milliseconds from each request
            "answers": {},  # by contestant and words of an answer: each round's answers, seconds, processor seconds
            "memory": {},  # by server: bytes, and how many answers it gave until the end
            "starts": {},  # by server: seconds from each start to its first whole answer
        }

    @property
    def servers(self) -> Sequence[Server]:
        """The servers whose start is of interest."""
        return [server for server, one in self._running.items() if one.process is not None]

    def start(self, server: Server, stack: ExitStack) -> None:
        """Starts a server until the end of the stack; leaves out one that the run does not need and the
        machine cannot have."""
        self._progress.say(f"installing and starting {server.name}")
        try:
            server.install()
            running = stack.enter_context(server.start(self._new_folder(server, "run"), self._upstream_port))
        except (NotInstalledError, NotStartedError, NoPostgresError) as error:
            if server.is_needed:
                raise
            self.results["skipped"][server.name] = str(error)
            return
        self._running[server] = running
        if running.process is not None:
            self.results["memory"][server.name] = {"idle_bytes": running.process.resident_bytes(), "answers": 0}

    def check(self) -> None:
        """Has everybody answer, and compares the answers with what was to be said; leaves out whom a run can do
        without and who is wrong."""
        for one in CONTESTANTS:
            if one.server not in self._running:
                continue
            self._progress.say(f"checking {one.name}")
            try:
                _check(one, self._running[one.server].port, self._request(one, _CHECKED))
                self._ask(one, LONG, streams=2, answers=5)
            except (NotWholeError, OSError, http.client.HTTPException, ValueError, KeyError) as error:
                self._leave_out(one, error)
            else:
                self.present.append(one)

    def take_turn(self, one: Contestant, number: int) -> None:
        """Measures a contestant for a round."""
        self._progress.say(f"round {number + 1}: first words, {one.name}")
        try:
            came = self._ask(one, SHORT, answers=self._sizes.firsts)
            of_first_words = self.results["first_words"].setdefault(one.name, [])
            of_first_words.append([round(value, 4) for value in came.first_words])
            self._progress.say(f"round {number + 1}: {CLIENTS} clients, {one.name}")
            for count in (SHORT, LONG):
                self._measure_rate(one, count)
        except NotWholeError as error:
            self._leave_out(one, error)
            self.present.remove(one)

    def note_memory(self, name: str) -> None:
        """Keeps what all servers hold now."""
        for server, running in self._running.items():
            if running.process is not None:
                self.results["memory"][server.name][name] = running.process.resident_bytes()

    def time_start(self, server: Server, number: int) -> None:
        """Starts a server beside the others, asks it once, and ends it."""
        self._progress.say(f"start {number + 1} of {server.name}")
        one = next(contestant for contestant in CONTESTANTS if contestant.server is server)
        with server.start(self._new_folder(server, f"start-{number}"), self._upstream_port) as running:
            assert running.process is not None
            request = one.request(SHORT, running.key, self._upstream_port)
            answered = self._load.order(running.port, request, words=SHORT).seconds
        self.results["starts"].setdefault(server.name, []).append(running.process.start_seconds + answered)

    def _measure_rate(self, one: Contestant, count: int) -> None:
        process = self._running[one.server].process
        answers = (_FEW if one.server.is_slow else _MANY)[count]
        before = process.processor_seconds() if process else 0.0
        came = self._ask(one, count, streams=CLIENTS, answers=answers)
        used = process.processor_seconds() - before if process else 0.0
        of_answers = self.results["answers"].setdefault(one.name, {}).setdefault(str(count), [])
        of_answers.append({"answers": CLIENTS * answers, "seconds": came.seconds, "processor": used})

    def _ask(self, one: Contestant, count: int, *, streams: int = 1, answers: int = 1) -> Any:
        request = self._request(one, count)
        came = self._load.order(self._running[one.server].port, request, words=count, streams=streams, answers=answers)
        if (memory := self.results["memory"].get(one.server.name)) is not None:
            memory["answers"] += streams * answers
        return came

    def _request(self, one: Contestant, count: int) -> str:
        return one.request(count, self._running[one.server].key, self._upstream_port)

    def _leave_out(self, one: Contestant, error: Exception) -> None:
        if one.server.is_needed:
            raise error
        self.results["skipped"][one.name] = str(error)[:300]

    def _new_folder(self, server: Server, use: str) -> Path:
        folder = self._folder / re.sub(r"\W+", "-", f"{server.name} {use}")
        folder.mkdir()
        return folder


def _check(one: Contestant, port: int, request: str) -> None:
    """Reads one answer.

    Raises:
        NotWholeError: It does not say what it was to say.
    """
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
        connection.sendall(request.encode())
        response = http.client.HTTPResponse(connection)
        response.begin()
        body = response.read().decode()
    if response.status != 200:
        raise NotWholeError(1, [f"{response.status} {body[:200]}"])
    events = [json.loads(line[6:]) for line in body.splitlines() if line.startswith("data: {")]
    if one.asked == "messages":
        said = "".join(event["delta"]["text"] for event in events if event["type"] == "content_block_delta")
    else:
        said = "".join(choice["delta"].get("content") or "" for event in events for choice in event["choices"])
    if re.sub(r"^t=\d+;", "", said) != words(_CHECKED):
        raise NotWholeError(1, [f"it said {said!r}"])
