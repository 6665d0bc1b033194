"""The measurement of serving: its load counts what really came, and its page says what its results say."""

import asyncio
import copy
import io
import json
import re
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from benchmarks.model_server import INPUT, model_server, words
from benchmarks.progress import Progress
from benchmarks.serving.contestants import CONTESTANTS, DIRECT, DIRECT_MESSAGES, FLOOR, OURS, PEERS, Contestant
from benchmarks.serving.floor import KEY, Floor
from benchmarks.serving.measure import _check
from benchmarks.serving.page import RESULTS, grids, page
from benchmarks.serving.processes import Load, NotWholeError, started
from interop.servers.processes import free_port

ROOT = Path(__file__).resolve().parent.parent.parent


@pytest.mark.parametrize("contestant", [DIRECT, DIRECT_MESSAGES], ids=lambda one: one.name)
def test_the_model_server_says_what_it_is_to_say_and_the_load_counts_it(tmp_path: Path, contestant: Contestant) -> None:
    with model_server(tmp_path) as port, Load() as load:
        _check(contestant, port, contestant.request(70))
        came = load.order(port, contestant.request(50), words=50, streams=3, answers=4)
        assert len(came.first_words) == 12
        assert all(0 < value / 1e3 < came.seconds for value in came.first_words)
        with pytest.raises(NotWholeError) as failed:
            load.order(port, contestant.request(50), words=51, streams=2)
    assert failed.value.count == 2
    assert failed.value.said[0].startswith("49 words after the first")


_FRAMES = b"data: t=1;\n\ndata: lorem01 \n\ndata: lorem02 \n\n"
_CLOSING = b"HTTP/1.1 200 OK\r\nconnection: close\r\n"


@contextmanager
def _closing_server(answer: bytes) -> Iterator[int]:
    """Gives one answer on each connection and closes it; its port."""

    def serve() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection:
                connection.recv(10_000)
                connection.sendall(answer)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield listener.getsockname()[1]
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join(10)


@pytest.mark.parametrize(
    ("answer", "is_whole"),
    [
        pytest.param(_CLOSING + b"\r\n" + _FRAMES, True, id="body as long as the connection"),
        pytest.param(
            _CLOSING + b"transfer-encoding: chunked\r\n\r\n2d\r\n" + _FRAMES + b"\r\n0\r\n\r\n", True, id="chunked"
        ),
        pytest.param(_CLOSING + b"\r\n" + _FRAMES[:-12], False, id="cut"),
        pytest.param(_CLOSING + b"\r\n" + _FRAMES + _FRAMES[12:], False, id="a word twice"),
        pytest.param(b"HTTP/1.1 500 Oh\r\ncontent-length: 0\r\n\r\n", False, id="an error on an open connection"),
        pytest.param(b"", False, id="nothing"),
    ],
)
def test_an_answer_is_whole_with_all_its_words_also_where_the_connection_closes(answer: bytes, is_whole: bool) -> None:
    with _closing_server(answer) as port, Load() as load:
        if is_whole:
            assert len(load.order(port, "?", words=3, streams=2, answers=3).first_words) == 6
        else:
            with pytest.raises(NotWholeError):
                load.order(port, "?", words=3, streams=2, answers=3, seconds=10)


_BUSY = r"""
import socket, subprocess, sys, threading, time

def work():
    until = time.thread_time() + 0.3
    while time.thread_time() < until:
        pass

thread = threading.Thread(target=work)
thread.start()
thread.join()
subprocess.run([sys.executable, "-c", "import time\nwhile time.process_time() < 0.3: pass"], check=True)
with socket.create_server(("127.0.0.1", int(sys.argv[1]))) as server:
    while True:
        with server.accept()[0] as connection:
            connection.recv(100)
            connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
"""


def test_processor_time_keeps_what_ended_threads_and_processes_used(tmp_path: Path) -> None:
    port = free_port()
    with started([sys.executable, "-c", _BUSY, str(port)], port, b"?", ROOT, tmp_path / "log", {}) as process:
        assert process.processor_seconds() >= 0.58  # 0.02 for the ticks in which the system counts ended processes
        assert process.resident_bytes() > 1_000_000


def _asked(floor: Floor, key: str, model: str, count: int) -> tuple[int, str]:
    """The status and the text of an answer of the floor."""
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, object]:
        body = {"model": model, "messages": [{"role": "user", "content": str(count)}]}
        return {"type": "http.request", "body": json.dumps(body).encode()}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    async def run() -> None:
        headers = [(b"authorization", f"Bearer {key}".encode())]
        await floor({"type": "http", "path": "/v1/chat/completions", "headers": headers}, receive, send)
        for idle in floor._idle:
            idle._transport.close()
        await asyncio.sleep(0)  # closes them

    asyncio.run(run())
    body = b"".join(message.get("body", b"") for message in sent).decode()
    return sent[0]["status"], "".join(re.findall(r'"content":"([^"]*)"', body))


def test_the_floor_checks_keys_and_models_and_passes_words_and_usage_on(tmp_path: Path) -> None:
    with model_server(tmp_path) as port:
        floor = Floor(port)
        assert _asked(floor, "another", "words", 7)[0] == 401
        assert _asked(floor, KEY, "unknown", 7)[0] == 404
        status, said = _asked(floor, KEY, "words", 7)
    assert (status, re.sub(r"^t=\d+;", "", said)) == (200, words(7))
    assert floor.used == [INPUT, 7]


@pytest.mark.parametrize("contestant", CONTESTANTS, ids=[one.name for one in CONTESTANTS])
def test_a_request_is_as_long_as_it_says_and_names_the_model_server(contestant: Contestant) -> None:
    head, _, body = contestant.request(5, "a-key", 4321).partition("\r\n\r\n")
    assert f"content-length: {len(body)}" in head
    assert "authorization: Bearer a-key" in head
    assert "PORT" not in head
    assert json.loads(body)["messages"][-1]["content"] == "5"


def test_the_page_has_a_row_for_each_who_took_part() -> None:
    results = json.loads(RESULTS.read_text(encoding="utf-8"))
    made = page(results)
    assert all(made.count(f"\n| {name} ") >= 2 for name in results["answers"])
    assert made.count("| added to the first word, same wire / floor |") == 1


def test_who_is_better_anywhere_is_named_before_all_tables_with_both_figures() -> None:
    results = json.loads(RESULTS.read_text(encoding="utf-8"))
    peer, ours = PEERS[0], OURS.name
    results["memory"] |= {
        peer.server.name: [[0, 30_000_000], [500, 31_000_000], [1_000, 32_000_000], [1_000, 31_000_000]],
        ours: [[0, 40_000_000], [500, 41_000_000], [1_000, 41_500_000], [1_000, 41_000_000]],
    }
    results["streams"] = {peer.name: 512, ours: 256}
    said, rest = page(results).split("## Targets")
    line = next(line for line in said.splitlines() if line.startswith(f"- **{peer.name}**"))
    assert "memory idle 30 MB (40)" in line
    assert "streams at once 512 (256)" in line
    assert "growth" not in line  # 2 MB by 1,000 answers, and 1 of ours
    assert "| 512 | 30.0 | 32.0 | 1,000 | 31.0 | 2.00 |" in rest


def test_a_stream_that_stalls_is_no_whole_answer_and_ends_the_order(tmp_path: Path) -> None:
    with model_server(tmp_path) as port, Load() as load:
        came = load.order(port, DIRECT.request(5, pace=20), words=5, streams=3, over=0.01, longest_gap=10_000)
        assert len(came.gaps) == 12
        assert max(came.gaps) > 0  # words that come together have none between them
        with pytest.raises(NotWholeError, match="a gap longer than 50 ms"):
            load.order(port, DIRECT.request(5, pace=60_000), words=5, longest_gap=50, seconds=2)
        with pytest.raises(NotWholeError, match="a gap longer than 50 ms"):
            load.order(port, DIRECT.request(5, pace=300), words=5, longest_gap=50)


def test_a_server_that_chooses_its_port_is_found_by_the_address_that_it_prints(tmp_path: Path) -> None:
    command = [sys.executable, "-u", "-c", "import time\nprint('http://127.0.0.1:4321/v1')\ntime.sleep(60)"]
    with started(command, None, b"", ROOT, tmp_path / "log", {}) as process:
        assert process.port == 4321


@pytest.mark.parametrize(
    "missing",
    [{FLOOR.name}, {one.name for one in PEERS}, {FLOOR.name, "partstream"}],
    ids=["the floor", "the peers", "the floor and serve"],
)
def test_a_run_without_everybody_has_the_goals_that_it_can_tell(missing: set[str]) -> None:
    results = json.loads(RESULTS.read_text(encoding="utf-8"))
    all_goals = {row[0] for row in grids(results)[0].rows}
    part = copy.deepcopy(results)
    for name in missing:
        part["first_words"].pop(name, None)
    goals = {row[0] for row in grids(part)[0].rows}
    assert goals < all_goals


def test_progress_tells_how_long_the_steps_take_that_are_left(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("benchmarks.progress.time.monotonic", lambda: now[0])
    output = io.StringIO()
    progress = Progress(output)
    progress.say("starting")
    progress.expect(10)
    for number in range(4):
        progress.say(f"step {number}")
        now[0] += 60
    assert output.getvalue().splitlines() == [
        "starting",
        "step 1 (10%, about 9 min left)",
        "step 2 (20%, about 8 min left)",
        "step 3 (30%, about 7 min left)",
    ]
