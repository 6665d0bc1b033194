"""The model server of gateways: on raw sockets, so that it costs the machine as little as can be.

    python -m benchmarks.model_server PORT

It speaks Chat Completions and Anthropic Messages, one event a turn of its event loop, and lists one model named
`words`. The last message says how many words an answer has, and after a slash how many milliseconds it takes from one
word to the next. The first of them is the time at which it was said. An answer of N words costs `INPUT` tokens and N
tokens, so the reader of an answer knows what was spent.
"""

from __future__ import annotations
import asyncio
import json
import sys
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Final

from benchmarks.serving.processes import MARK, ROOT, started
from interop.servers.processes import free_port

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["INPUT", "model_server", "words"]

INPUT: Final = 20
"""The input tokens of every answer."""

_WORDS: Final = [f"{MARK}{number:02} " for number in range(64)]
_HEAD: Final = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
_END_OF_BODY: Final = b"0\r\n\r\n"
_MODELS: Final = b'{"object":"list","data":[{"id":"words","object":"model","created":1,"owned_by":"benchmark"}]}'
_LIST: Final = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%b"


def words(count: int) -> str:
    """What an answer of so many words says after its first word."""
    return "".join(_WORDS[number % 64] for number in range(1, count))


@contextmanager
def model_server(folder: Path) -> Iterator[int]:
    """Runs one until the end of the block; its port."""
    port = free_port()
    ready = b"GET /v1/models HTTP/1.1\r\nhost: h\r\nconnection: close\r\n\r\n"
    command = [sys.executable, "-m", "benchmarks.model_server", str(port)]
    with started(command, port, ready, ROOT, folder / "model-server.log", {}):
        yield port


def _framed(data: bytes) -> bytes:
    """One chunk of a chunked body."""
    return b"%x\r\n%b\r\n" % (len(data), data)


def _chat(**what: Any) -> bytes:
    """One chunk of Chat Completions."""
    said = {"id": "u", "object": "chat.completion.chunk", "created": 1, "model": "words", "choices": []} | what
    return _framed(b"data: " + json.dumps(said, separators=(",", ":")).encode() + b"\n\n")


def _choice(delta: dict[str, str], reason: str | None = None) -> bytes:
    return _chat(choices=[{"index": 0, "delta": delta, "finish_reason": reason}])


class _Chat:
    """An answer in Chat Completions; each method gives bytes of it."""

    words: Final = [_choice({"content": word}) for word in _WORDS]

    def first(self, word: str) -> bytes:
        return _choice({"role": "assistant", "content": word})

    def last(self, count: int) -> bytes:
        used = {"prompt_tokens": INPUT, "completion_tokens": count, "total_tokens": INPUT + count}
        return _choice({}, "stop") + _chat(usage=used) + _framed(b"data: [DONE]\n\n")


def _message(kind: str, **what: Any) -> bytes:
    """One event of Anthropic Messages."""
    said = json.dumps({"type": kind} | what, separators=(",", ":"))
    return _framed(f"event: {kind}\ndata: {said}\n\n".encode())


def _delta(text: str) -> bytes:
    return _message("content_block_delta", index=0, delta={"type": "text_delta", "text": text})


class _Messages:
    """An answer in Anthropic Messages; each method gives bytes of it."""

    words: Final = [_delta(word) for word in _WORDS]
    _begin: Final = _message(
        "message_start",
        message={
            "id": "msg_u", "type": "message", "role": "assistant", "model": "words", "content": [],
            "stop_reason": None, "stop_sequence": None, "usage": {"input_tokens": INPUT, "output_tokens": 1},
        },
    ) + _message("content_block_start", index=0, content_block={"type": "text", "text": ""})  # fmt: skip

    def first(self, word: str) -> bytes:
        return self._begin + _delta(word)

    def last(self, count: int) -> bytes:
        ended = _message(
            "message_delta", delta={"stop_reason": "end_turn", "stop_sequence": None}, usage={"output_tokens": count}
        )
        return _message("content_block_stop", index=0) + ended + _message("message_stop")


async def _serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(asyncio.IncompleteReadError, ConnectionError):
        while True:
            await _exchange(reader, writer)
    writer.transport.abort()


async def _exchange(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    head = await reader.readuntil(b"\r\n\r\n")
    sizes = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
    body = await reader.readexactly(int(sizes[0].partition(b":")[2])) if sizes else b""
    if head.startswith(b"GET"):
        writer.write(_LIST % (len(_MODELS), _MODELS))
        return
    wire = _Messages() if b"/messages" in head.partition(b"\r\n")[0] else _Chat()
    said = json.loads(body)["messages"][-1]["content"]
    asked, _, pace = (said if isinstance(said, str) else said[0]["text"]).partition("/")
    count, between = int(asked), int(pace or 0) / 1e3
    began = time.monotonic()
    writer.write(_HEAD + wire.first(f"t={time.monotonic_ns()};"))
    for number in range(1, count):
        # By the clock since the first word, so that a late word does not make all further ones late.
        await asyncio.sleep(max(0.0, began + number * between - time.monotonic()) if between else 0)
        writer.write(wire.words[number % 64])
        await writer.drain()
    writer.write(wire.last(count) + _END_OF_BODY)
    await writer.drain()


async def _main() -> None:
    server = await asyncio.start_server(_serve, "127.0.0.1", int(sys.argv[1]))
    await server.serve_forever()


if __name__ == "__main__":
    import uvloop

    uvloop.run(_main())
