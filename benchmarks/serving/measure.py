"""Measures all contestants in one interleaved run; what comes out is the file of results.

In a lap, each contestant in its turn, which chance decides, gives short answers to one client, then short and long ones
to many clients. So whatever else the machine does falls on all of them. A lap is short, and those that take long come
last, for the speed of a machine changes within seconds, and a figure is compared with those of the same lap. A few laps
and one answer of each at the pace of a model are a round. After the rounds, servers are started again, and then given
more and more streams at once, one server after the other.
"""

from __future__ import annotations
import http.client
import json
import random
import re
import socket
import time
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

from benchmarks.model_server import model_server, words
from benchmarks.serving.contestants import CONTESTANTS, DIRECT, PACED, SERVERS
from benchmarks.serving.processes import Load, NotWholeError
from interop.servers.environments import NotInstalledError
from interop.servers.postgres import NoPostgresError
from interop.servers.processes import NotStartedError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from email.message import Message
    from pathlib import Path

    from benchmarks.progress import Progress
    from benchmarks.serving.contestants import Contestant, Running, Server
    from benchmarks.serving.processes import Came

__all__ = ["CLIENTS", "LONG", "PACE", "PACED_WORDS", "SHORT", "STALL", "Sizes", "measure"]

SHORT: Final = 10
"""Words of a short answer."""
LONG: Final = 200
"""Words of a long one: the difference to a short one says what a further word takes."""
CLIENTS: Final = 16

_MANY: Final = {SHORT: 25, LONG: 8}
"""Answers that each client gets in a lap."""
_FEW: Final = {SHORT: 2, LONG: 1}
"""The same of servers that take long."""
_CHECKED: Final = 70
"""Words of the answer that is read letter by letter."""

PACE: Final = 20
"""Milliseconds from word to word where gaps are measured, as on the public board of gateways."""
PACED_WORDS: Final = 64
STALL: Final = 10 * PACE
"""Milliseconds: a stream with a longer gap has stalled."""
_LONG_GAP: Final = 10_000
"""Milliseconds: longer gaps of a single stream end a run."""
_STREAMS: Final = (8, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536)
"""Streams at once, one of which is the most that a server sustains."""
_STREAM_WORDS: Final = 100
_LONGEST: Final = 5 * _STREAM_WORDS * PACE / 1e3
_REST: Final = 1.0
"""Seconds for a server to end what it was doing when a client left."""
_OVER: Final = 0.5
"""Seconds in which many streams begin, so that nearly all of their time all run."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """How much is measured.

    Attributes:
        rounds: How often each contestant gives an answer at a pace, and what servers hold is noted.
        laps: How often each contestant has its turn in a round.
        firsts: How many answers to one client are timed in a lap.
        starts: How often each server is started for its time to a first answer, by round.
        groups: The groups of servers that take part; none for all.
    """

    rounds: int
    laps: int
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
        run.note_memory()
        run.check()
        paced = [one for one in run.present if one in PACED]
        turns = 2 * sizes.laps * len(run.present) + len(paced)
        progress.expect(sizes.rounds * turns + sizes.rounds * sizes.starts * len(run.servers) + 2 * len(paced))
        for number in range(sizes.rounds):
            for lap in range(sizes.laps):
                for one in run.in_an_order_of_chance(number * sizes.laps + lap):
                    run.take_turn(one, number * sizes.laps + lap)
            for one in filter(paced.__contains__, run.in_an_order_of_chance(number)):
                run.time_gaps(one)
            run.note_memory()
        for number in range(sizes.rounds * sizes.starts):
            for server in run.servers:
                if number < sizes.rounds or not server.is_slow:
                    run.time_start(server, number)
        run.note_memory()
        for one in paced:
            run.count_streams(one)
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
        self._answers: dict[Server, int] = {}
        self.present: list[Contestant] = []
        self.results: dict[str, Any] = {
            "sizes": {name: value for name, value in asdict(sizes).items() if name != "groups"},
            "skipped": {},
            "first_words": {},  # by contestant and lap: milliseconds from each request
            "gaps": {},  # by contestant and round: milliseconds from each word of an answer at a pace to the next one
            "answers": {},  # by contestant and words of an answer: each lap's answers, seconds, processor seconds
            "memory": {},  # by server: answers given and bytes held, at first, after each round, and at rest
            "streams": {},  # by contestant: the most streams at once that came whole and did not stall
            "by_rust": [],  # contestants whose answer says that LiteLLM's Rust core made it
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
        self._answers[server] = 0

    def check(self) -> None:
        """Has everybody answer, and compares the answers with what was to be said; leaves out whom a run can do
        without and who is wrong."""
        for one in CONTESTANTS:
            if one.server not in self._running:
                continue
            self._progress.say(f"checking {one.name}")
            try:
                headers = _check(one, self._running[one.server].port, self._request(one, _CHECKED))
                self._ask(one, LONG, streams=2, answers=5)
            except (NotWholeError, OSError, http.client.HTTPException, ValueError, KeyError) as error:
                self._leave_out(one, error)
            else:
                self.present.append(one)
                if "x-litellm-rust" in headers:
                    self.results["by_rust"].append(one.name)

    def in_an_order_of_chance(self, seed: int) -> list[Contestant]:
        """Who takes part, those of slow servers last; the order depends on the seed."""
        return sorted(random.Random(seed).sample(self.present, len(self.present)), key=lambda one: one.server.is_slow)

    def take_turn(self, one: Contestant, lap: int) -> None:
        """Measures a contestant for a lap."""
        self._progress.say(f"lap {lap + 1}: first words, {one.name}")
        try:
            came = self._ask(one, SHORT, answers=self._sizes.firsts)
            self.results["first_words"].setdefault(one.name, []).append(_rounded(came.first_words))
            self._progress.say(f"lap {lap + 1}: {CLIENTS} clients, {one.name}")
            for count in (SHORT, LONG):
                self._measure_rate(one, count)
        except NotWholeError as error:
            self._leave_out(one, error)

    def time_gaps(self, one: Contestant) -> None:
        """Measures what is between the words of an answer at the pace of a model."""
        self._progress.say(f"an answer at a pace, {one.name}")
        try:
            came = self._ask(one, PACED_WORDS, pace=PACE, longest_gap=_LONG_GAP)
        except NotWholeError as error:
            self._leave_out(one, error)
        else:
            self.results["gaps"].setdefault(one.name, []).append(_rounded(came.gaps))

    def note_memory(self) -> None:
        """Keeps what all servers hold now."""
        for server, running in self._running.items():
            if running.process is not None:
                held = [self._answers[server], running.process.resident_bytes()]
                self.results["memory"].setdefault(server.name, []).append(held)

    def count_streams(self, one: Contestant) -> None:
        """Finds the most streams at once of which every word comes and none stalls; each number has two tries."""
        least, most = 0, len(_STREAMS)  # as many as `_STREAMS[least - 1]` have come whole, `_STREAMS[most]` have not
        while least < most:
            middle = (least + most) // 2
            if self._sustains(one, _STREAMS[middle]) or self._sustains(one, _STREAMS[middle]):
                least = middle + 1
            else:
                most = middle
        self.results["streams"][one.name] = _STREAMS[least - 1] if least else 0

    def _sustains(self, one: Contestant, streams: int) -> bool:
        self._progress.say(f"{streams} streams, {one.name}")
        try:
            self._ask(one, _STREAM_WORDS, pace=PACE, longest_gap=STALL, streams=streams, over=_OVER, seconds=_LONGEST)
        except NotWholeError:
            time.sleep(_REST)
            return False
        return True

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

    def _ask(
        self, one: Contestant, count: int, *, streams: int = 1, answers: int = 1, pace: int = 0, **limits: float
    ) -> Came:
        request = self._request(one, count, pace)
        port = self._running[one.server].port
        came = self._load.order(port, request, words=count, streams=streams, answers=answers, **limits)
        self._answers[one.server] += streams * answers
        return came

    def _request(self, one: Contestant, count: int, pace: int = 0) -> str:
        return one.request(count, self._running[one.server].key, self._upstream_port, pace)

    def _leave_out(self, one: Contestant, error: Exception) -> None:
        if one.server.is_needed:
            raise error
        self.results["skipped"][one.name] = str(error)[:300]
        self.present = [other for other in self.present if other is not one]
        self.results["first_words"].pop(one.name, None)

    def _new_folder(self, server: Server, use: str) -> Path:
        folder = self._folder / re.sub(r"\W+", "-", f"{server.name} {use}")
        folder.mkdir()
        return folder


def _rounded(values: Sequence[float]) -> list[float]:
    return [round(value, 4) for value in values]


def _check(one: Contestant, port: int, request: str) -> Message:
    """Reads one answer; the headers of it.

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
    return response.headers
