"""The other end of the sidecar's pipes: starts a real one as the extension does, and asks it; measures nothing."""

from __future__ import annotations
import re
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from benchmarks.competitors import ROOT, environment_of
from partstream.codec.json_codec import dumps
from partstream.vscode.methods import PROTOCOL_VERSION
from partstream.vscode.rpc import Connection, Notification, encode_frame

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["PROVIDER", "Peer", "Start", "peer", "texts"]

PROVIDER: Final = """
import asyncio, time
from partstream.runtime.simple import chat_model, text_of

@chat_model(name="Bench")
async def provider(messages, options):
    # How many parts, how many of them a second (0: as fast as they are taken), and the clock that each tells.
    count, per_second, clock = text_of(messages[-1]).split()
    now, start = getattr(time, clock), time.monotonic()
    for number in range(int(count)):
        if per_second != "0":
            await asyncio.sleep(max(0, start + number / int(per_second) - time.monotonic()))
        yield f"{now():.7f}"
"""
"""A provider file with one model, which is asked for a number of parts."""


@dataclass(frozen=True, slots=True)
class Start:
    """How a sidecar is started.

    Attributes:
        name: For tables.
        folder: Where it keeps what it remembers; holds the provider file.
        group: What the user has configured: None for the provider file, else the group of an upstream.
        model: The model that is asked.
        question: What it is asked.
        python: The options of Python.
        environment: What it finds in the environment beside this process's own.
        checkout: The folder whose code runs.
    """

    name: str
    folder: Path
    group: Mapping[str, Any] | None = None
    model: str = "bench/provider"
    question: str = "1 0 monotonic"
    python: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    checkout: Path = ROOT


class Peer:
    """The extension's end of the pipes of one process."""

    def __init__(self, start: Start) -> None:
        self._start = start
        found = dict(start.environment)
        places = {"PARTSTREAM_DATA": str(start.folder / "data"), "PARTSTREAM_CACHE": str(start.folder / "cache")}
        self._process = subprocess.Popen(
            [sys.executable, *start.python, "-P", "-m", "partstream.vscode"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment_of(start.checkout) | places | found,
        )
        self._connection = Connection()
        self._next_id = 0

    def initialize(self) -> None:
        """Waits until the sidecar has answered the first request."""
        providers = [] if self._start.group else [{"source": str(self._start.folder / "bench.py"), "name": "bench"}]
        self.call(
            "initialize",
            protocolVersion=PROTOCOL_VERSION,
            clientInfo={"name": "benchmark", "version": "1"},
            vscodeVersion="1.127.0",
            configuration={"providers": providers},
        )

    def list_models(self) -> None:
        """Waits for the list of the models, which has one."""
        result = self.call("languageModels/information", group=self._start.group, silent=True)
        assert len(result["models"]) == 1, result

    def send(self, method: str, **params: Any) -> int:
        """Sends a request and returns its number."""
        self._next_id += 1
        message = {"jsonrpc": "2.0", "id": self._next_id, "method": method, "params": params}
        stdin = self._process.stdin
        assert stdin is not None
        stdin.write(encode_frame(dumps(message)))
        stdin.flush()
        return self._next_id

    def messages(self) -> Iterator[Any]:
        """What comes, one after the other."""
        stdout: Any = self._process.stdout
        while data := stdout.read1(1 << 20):
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

    def ask(self, question: str, *before: Mapping[str, Any]) -> Iterator[list[str]]:
        """Asks the model; gives the texts of each notification until the answer has ended."""
        last = {"role": 1, "content": [{"type": "text", "value": question}]}
        request_id = self.send(
            "languageModels/response",
            group=self._start.group,
            model=self._start.model,
            messages=[*before, last],
            options={},
            progressToken=0,
        )
        for message in self.messages():
            if isinstance(message, Notification):
                yield texts(message)
            elif message.id == request_id:
                assert message.error is None, message.error
                return

    def resident(self) -> float | None:
        """MiB of memory that the process has in the machine's memory now; None where the system does not say it."""
        status = Path(f"/proc/{self._process.pid}/status")
        if not status.exists():
            return None
        found = re.search(r"^VmRSS:\s+(\d+) kB", status.read_text(encoding="utf-8"), re.MULTILINE)
        return int(found[1]) / 1024 if found else None

    def close(self) -> None:
        """Ends the process and waits for it."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(10)
        self._process.stdout.close()


@contextmanager
def peer(start: Start) -> Iterator[Peer]:
    """A sidecar, from `with` to its end."""
    opened = Peer(start)
    try:
        yield opened
    finally:
        opened.close()


def texts(message: Notification) -> list[str]:
    """The values of the text parts; the usage comes last and is none, and other notifications may come between."""
    if message.method != "$/progress":
        return []
    return [part["value"] for part in message.params["value"]["parts"] if part["type"] == "text"]
