"""What the sidecar costs: its start, a round trip, the parts of an answer; run with `python benchmarks/sidecar.py`.

Everything is measured from the other end of the pipes of a real process, but for what the checker of the contract adds
to a part, which is too little to see there. The start is measured twice: with this Python as it is, and as it is
packaged (no site packages, so no msgspec and nothing else to find).
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from statistics import median, quantiles
from typing import TYPE_CHECKING, Any

from partstream.checked_progress import CheckedProgress
from partstream.hosts.vscode.methods import PROTOCOL_VERSION
from partstream.json_codec import dumps
from partstream.parts import TextPart
from partstream.rpc.connection import Connection, Notification
from partstream.rpc.framing import encode_frame

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parent.parent
PARTS = 100_000

PROVIDER = """
import asyncio, time
from partstream.simple import chat_model, text_of

@chat_model(name="Bench")
async def provider(messages, options):
    count, per_second = map(int, text_of(messages[-1]).split())
    start = time.monotonic()
    for number in range(count):
        if per_second:
            await asyncio.sleep(max(0, start + number / per_second - time.monotonic()))
        yield f"{time.monotonic():.7f}"
"""


class Peer:
    """The extension's end of the pipes."""

    def __init__(self, provider: Path, *python: str, **environment: str) -> None:
        self.process = subprocess.Popen(
            [*(python or (sys.executable,)), "-m", "partstream.hosts.vscode"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=os.environ | environment,
        )
        self._connection = Connection()
        self._next_id = 0
        self.send(
            "initialize",
            protocolVersion=PROTOCOL_VERSION,
            clientInfo={"name": "benchmark", "version": "1"},
            vscodeVersion="1.127.0",
            configuration={"providers": [{"source": str(provider), "name": "bench"}]},
        )

    def send(self, method: str, **params: Any) -> int:
        self._next_id += 1
        message = {"jsonrpc": "2.0", "id": self._next_id, "method": method, "params": params}
        self.process.stdin.write(encode_frame(dumps(message)))
        self.process.stdin.flush()
        return self._next_id

    def messages(self) -> Iterator[Any]:
        while data := self.process.stdout.read1(1 << 20):
            yield from self._connection.receive(data)
        raise EOFError("the sidecar ended")

    def call(self, method: str, **params: Any) -> Any:
        """Sends a request and returns its result; all that comes before is thrown away."""
        request_id = self.send(method, **params)
        for message in self.messages():
            if not isinstance(message, Notification) and message.id == request_id:
                assert message.error is None, message.error
                return message.result
        return None

    def respond(self, text: str, **params: Any) -> int:
        message = {"role": 1, "content": [{"type": "text", "value": text}]}
        return self.send(
            "languageModels/response",
            **{"group": None, "model": "bench/provider", "messages": [message], "options": {}, "progressToken": 0}
            | params,
        )

    def close(self) -> None:
        self.process.stdin.close()
        self.process.wait(10)
        self.process.stdout.close()


@contextmanager
def peer(provider: Path, *python: str, **environment: str) -> Iterator[Peer]:
    opened = Peer(provider, *python, **environment)
    try:
        yield opened
    finally:
        opened.close()


def start(provider: Path, *python: str, **environment: str) -> float:
    """Milliseconds from the spawn to the first list of models that has one."""
    began = time.perf_counter()
    with peer(provider, *python, **environment) as opened:
        result = opened.call("languageModels/information", group=None, silent=True)
        taken = time.perf_counter() - began
        assert len(result["models"]) == 1
    return taken * 1e3


def round_trip(opened: Peer) -> list[float]:
    """Microseconds of counting one text, many times."""
    taken = []
    for _ in range(500):
        began = time.perf_counter()
        opened.call("languageModels/tokenCount", group=None, model="bench/provider", items=[{"text": "hello"}])
        taken.append((time.perf_counter() - began) * 1e6)
    return taken


def long_prompt(opened: Peer) -> float:
    """Milliseconds from a request of 1.6 MB in 1,000 messages to the first part of its answer."""
    filler = {"role": 2, "content": [{"type": "text", "value": "x" * 1600}]}
    last = {"role": 1, "content": [{"type": "text", "value": "1 0"}]}
    began = time.perf_counter()
    opened.respond("", messages=[filler] * 999 + [last])
    for message in opened.messages():
        if isinstance(message, Notification) and message.method == "$/progress":
            break
    taken = (time.perf_counter() - began) * 1e3
    opened.call("languageModels/information", group=None, silent=True)
    return taken


def texts(message: Notification) -> list[str]:
    """The values of the text parts; the usage comes last and is none, and other notifications may come between."""
    if message.method != "$/progress":
        return []
    return [part["value"] for part in message.params["value"]["parts"] if part["type"] == "text"]


def parts_per_second(opened: Peer) -> float:
    request_id = opened.respond(f"{PARTS} 0")
    began, count = time.perf_counter(), 0
    for message in opened.messages():
        if isinstance(message, Notification):
            count += len(texts(message))
        elif message.id == request_id:
            break
    assert count == PARTS
    return count / (time.perf_counter() - began)


def latencies(opened: Peer, per_second: int = 1000, seconds: int = 3) -> list[float]:
    """Microseconds from the report of each part to its arrival here, evenly paced."""
    request_id = opened.respond(f"{per_second * seconds} {per_second}")
    taken = []
    for message in opened.messages():
        now = time.monotonic()
        if isinstance(message, Notification):
            taken += [(now - float(text)) * 1e6 for text in texts(message)]
        elif message.id == request_id:
            break
    return taken


class _Sink:
    """A progress that throws everything away."""

    def report(self, part: TextPart, /) -> None:
        pass


def checking() -> float:
    """Nanoseconds of processor time that the contract's checker adds to a text part; the least of many runs."""
    text = [TextPart(word) for word in ("a plain ", "word ", "größer ", "你好 ", "👋 ")] * 2000

    def least(progress: CheckedProgress | _Sink) -> float:
        taken = []
        for _ in range(50):
            began = time.process_time()
            for part in text:
                progress.report(part)
            taken.append(time.process_time() - began)
        return min(taken)

    return (least(CheckedProgress(_Sink())) - least(_Sink())) / len(text) * 1e9


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--starts", type=int, default=15, help="how often the start is measured")
    parser.add_argument("--json", action="store_true", help="print the numbers as JSON")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        provider = Path(folder, "bench_provider.py")
        provider.write_text(PROVIDER)
        numbers = measure(provider, arguments.starts)
    if arguments.json:
        print(json.dumps(numbers))
        return
    for name, value in numbers.items():
        print(f"{name:55} {value:12,.0f}")


def measure(provider: Path, starts: int) -> dict[str, float]:
    packaged = (sys.executable, "-S")
    source = str(ROOT / "src")
    kinds = {"as packaged": lambda: start(provider, *packaged, PYTHONPATH=source), "as it is": lambda: start(provider)}
    taken: dict[str, list[float]] = {name: [] for name in kinds}
    for _ in range(starts + 1):
        for name, run in kinds.items():
            taken[name].append(run())
    # The first of each wrote the compiled files and is not counted.
    numbers = {f"spawn to first answer, {name}, median ms": median(values[1:]) for name, values in taken.items()}
    with peer(provider) as opened:
        opened.call("languageModels/information", group=None, silent=True)
        numbers["one token count there and back, median us"] = median(round_trip(opened))
        numbers["1.6 MB of prompt to first part, median ms"] = median(long_prompt(opened) for _ in range(7))
        numbers["parts a second, unpaced, median"] = median(parts_per_second(opened) for _ in range(3))
        numbers["checking a text part by the contract, ns"] = checking()
        paced = latencies(opened)
        numbers["report to arrival at 1,000 parts a second, p50 us"] = median(paced)
        numbers["report to arrival at 1,000 parts a second, p99 us"] = quantiles(paced, n=100)[98]
    return numbers


if __name__ == "__main__":
    main()
