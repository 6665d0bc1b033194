"""The recorded streams with their expected outcomes, and a server on loopback that sends each as it came."""

from __future__ import annotations
import asyncio
import json
import os
import threading
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import uvicorn

from interop.servers.environments import ROOT
from interop.servers.processes import free_port

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["WIRES", "Recorded", "Wire", "made_up_streams", "recorded_streams", "serving"]

FOLDER: Final = Path(os.environ.get("PARTSTREAM_RECORDINGS") or ROOT.parent / "shared" / "recordings").absolute()

_START_SECONDS: Final = 20.0


@dataclass(frozen=True, slots=True)
class Wire:
    """A protocol of the recordings.

    Attributes:
        protocol: Its name here.
        folder: The folder of its recordings.
        content_type: Of a stream.
        is_named: Whether each event has its type in a line before its data.
        end: What ends a stream that is kept as lines.
        base: What a client's base URL has behind the path of a recording.
    """

    protocol: str
    folder: str
    content_type: str = "text/event-stream"
    is_named: bool = False
    end: bytes = b""
    base: str = "/v1"

    def body(self, lines: Sequence[bytes]) -> bytes:
        """The body of a stream that is kept as lines of JSON."""
        if self.content_type == "application/x-ndjson":
            return b"".join(line + b"\n" for line in lines)
        return b"".join(map(self._event, lines)) + self.end

    def _event(self, line: bytes) -> bytes:
        kind = json.loads(line).get("type", "") if self.is_named else ""
        return (f"event: {kind}\n".encode() if kind else b"") + b"data: " + line + b"\n\n"


WIRES: Final = (
    Wire("openresponses", "openresponses", is_named=True),
    Wire("chat-completions", "chat_completions", end=b"data: [DONE]\n\n"),
    Wire("anthropic-messages", "anthropic_messages", is_named=True, base=""),
    Wire("gemini", "gemini", base="/v1beta"),
    Wire("ollama", "ollama", content_type="application/x-ndjson", base=""),
)


@dataclass(frozen=True, slots=True)
class Recorded:
    """One recorded stream.

    Attributes:
        wire: Its protocol.
        name: Its name.
        body: The bytes that the server sends.
        expected: What a correct reader makes of it; what is missing in it is not judged.
    """

    wire: Wire
    name: str
    body: bytes
    expected: dict[str, Any]


def recorded_streams(wire: Wire) -> list[Recorded]:
    """All recordings of a wire, by name; the bytes as they came where they were kept."""
    found = []
    for path in sorted((FOLDER / wire.folder).glob("*.expected.json")):
        name = path.name.removesuffix(".expected.json")
        raw = path.with_name(f"{name}.ndjson" if wire.content_type == "application/x-ndjson" else f"{name}.sse")
        if raw.exists():
            body = raw.read_bytes()
        else:
            lines = path.with_name(f"{name}.jsonl").read_bytes().splitlines()
            body = wire.body([line for line in lines if line.strip()])
        found.append(Recorded(wire, name, body, json.loads(path.read_bytes())))
    return found


def made_up_streams(wire: Wire) -> list[Recorded]:
    """Streams of a wire that no server was recorded with, but that proxies have sent."""
    return [
        Recorded(wire, name, wire.body([json.dumps(event).encode() for event in events]), expected)
        for name, (events, expected) in _MADE_UP.get(wire.protocol, {}).items()
    ]


def _message_start() -> dict[str, Any]:
    usage = {"input_tokens": 17, "output_tokens": 1}
    message = {"id": "msg_1", "type": "message", "role": "assistant", "content": [], "model": "m", "usage": usage}
    return {"type": "message_start", "message": {**message, "stop_reason": None, "stop_sequence": None}}


def _call_start(call_id: str) -> dict[str, Any]:
    block = {"type": "tool_use", "id": call_id, "name": "json", "input": {}}
    return {"type": "content_block_start", "index": 0, "content_block": block}


def _arguments(text: str) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": text}}


_MADE_UP: Final[dict[str, dict[str, tuple[list[dict[str, Any]], dict[str, Any]]]]] = {
    "anthropic-messages": {
        "made-up.message-starts-again": (
            [
                _message_start(),
                _call_start("toolu_1"),
                _arguments('{"value":"Spark'),
                _message_start(),
                _call_start("toolu_2"),
                _arguments('{"value":"Sparkle"}'),
                {"type": "content_block_stop", "index": 0},
                {
                    "type": "message_delta",
                    "delta": {"stop_reason": "tool_use", "stop_sequence": None},
                    "usage": {"output_tokens": 9},
                },
                {"type": "message_stop"},
            ],
            {"tool_calls": [{"name": "json", "input": {"value": "Sparkle"}}], "or_error": True},
        )
    }
}
"""By protocol and name: events, and what a correct reader makes of them. `or_error`: an error without a call is right
too. A gateway that asks another server after the first one failed splices streams like this."""


@contextmanager
def serving(streams: Sequence[Recorded]) -> Iterator[str]:
    """Serves streams on loopback, each below a path of its own, `/FOLDER/NAME`; gives the base URL of all."""
    bodies = {(one.wire.folder, one.name): one for one in streams}

    async def application(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        while (await receive()).get("more_body"):
            pass
        _, folder, name, *_ = scope["path"].split("/")
        one = bodies[folder, name]
        headers = [(b"content-type", one.wire.content_type.encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": one.body})

    port = free_port()
    server = uvicorn.Server(uvicorn.Config(application, port=port, log_level="error", lifespan="off"))
    thread = threading.Thread(target=lambda: asyncio.run(server.serve()), daemon=True)
    thread.start()
    try:
        _wait(server)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join(_START_SECONDS)


def _wait(server: uvicorn.Server) -> None:
    waiting = threading.Event()
    for _ in range(int(_START_SECONDS * 100)):
        if server.started:
            return
        waiting.wait(0.01)
    raise TimeoutError("the server of the recordings does not start")
