"""The measurement of serving: its load counts what really came, and its page says what its results say."""

import asyncio
import json
import sys
from pathlib import Path

import pytest

from benchmarks.serving.contestants import CONTESTANTS, OURS, RESPONSES, Contestant
from benchmarks.serving.page import RESULTS, page
from benchmarks.serving.processes import Load, started
from benchmarks.serving.ready_made import application
from interop.servers.processes import free_port

ROOT = Path(__file__).resolve().parent.parent.parent


def test_the_load_counts_events_and_finds_the_first_word(tmp_path: Path) -> None:
    port = free_port()
    command = [sys.executable, "-m", "benchmarks.serving.upstream", str(port)]
    ready = b"GET /models HTTP/1.1\r\nhost: h\r\n\r\n"
    with started(command, port, ready, ROOT, tmp_path / "log", {}) as process, Load() as load:
        before = process.processor_seconds()
        result = load.order(port, OURS.request(50), streams=3, answers=4, seconds=20)
        assert process.processor_seconds() > before
        assert process.resident_bytes() > 1_000_000
    assert result["events"] == 3 * 4 * (50 + 3)  # the end, the usage and [DONE]
    assert len(result["from_request"]) == len(result["from_part"]) == 12
    assert all(0 < part < request for part, request in zip(result["from_part"], result["from_request"], strict=True))


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


def test_the_floor_sends_as_many_words_as_it_is_asked_for() -> None:
    sent: list[bytes] = []

    async def receive() -> dict[str, object]:
        return {"type": "http.request", "body": json.dumps({"messages": [{"content": "7"}]}).encode()}

    async def send(message: dict[str, object]) -> None:
        body = message.get("body", b"")
        assert isinstance(body, bytes)
        sent.append(body)

    asyncio.run(application({"type": "http"}, receive, send))
    assert b"".join(sent).count(b'"content"') == 7
    assert sent[-1].endswith(b"data: [DONE]\n\n")


@pytest.mark.parametrize("contestant", CONTESTANTS, ids=[one.name for one in CONTESTANTS])
def test_a_request_is_as_long_as_it_says(contestant: Contestant) -> None:
    head, _, body = contestant.request(5).partition("\r\n\r\n")
    assert f"content-length: {len(body)}" in head
    asked = json.loads(body)
    assert (asked["input"] if contestant is RESPONSES else asked["messages"][-1]["content"]) == "5"


def test_the_page_has_a_row_for_each_who_took_part() -> None:
    results = json.loads(RESULTS.read_text(encoding="utf-8"))
    made = page(results)
    assert all(f"| {name} |" in made for name in results["streams"])
    assert made.count("| provider to socket, 16 streams |") == 1
