"""Four requests, each followed through the project: which of its files and functions one answer enters.

A trip is what a reader walks to follow an answer. Each is taken once before it is counted, so that modules which are
loaded on demand and tables which are built once are there already.
"""

from __future__ import annotations
import asyncio
import json
import sys
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any

import partstream
from partstream import (
    ChatMessage,
    RequestOptions,
    TextPart,
    Tool,
    ToolCallPart,
    ToolResultPart,
    chat_model,
    connect,
    read_stream,
    user_request,
)
from partstream.lm.outputs import InboundRequest
from partstream.protocols.protocol import PROTOCOLS
from partstream.runtime.translation import write_question
from partstream.server.application import app

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator
    from types import FrameType

__all__ = ["TRIPS", "Walk"]

_PACKAGE = partstream.__path__[0] + "/"


class Walk:
    """What one trip entered: the files, and the functions with the file of each, in the order of their first call."""

    def __init__(self) -> None:
        self.functions: dict[tuple[str, str], None] = {}

    @property
    def files(self) -> list[str]:
        return list(dict.fromkeys(file for file, _ in self.functions))

    @contextmanager
    def recorded(self) -> Iterator[None]:
        """Records what the current thread calls until the block ends."""
        before = sys.getprofile()
        sys.setprofile(self._called)
        try:
            yield
        finally:
            sys.setprofile(before)

    def _called(self, frame: FrameType, event: str, _argument: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(_PACKAGE) and code.co_name != "<module>":
            self.functions.setdefault((code.co_filename.removeprefix(_PACKAGE), code.co_qualname))


def _chunk(delta: dict[str, str] | None, finish: str | None = None, **more: object) -> bytes:
    choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": finish}]
    document = {"id": "c1", "object": "chat.completion.chunk", "model": "m", "choices": choices, **more}
    return b"data: " + json.dumps(document).encode() + b"\n\n"


_ANSWER = (
    _chunk({"role": "assistant", "content": ""}),
    _chunk({"content": "Hel"}),
    _chunk({"content": "lo"}),
    _chunk({"content": " you"}),
    _chunk({}, "stop"),
    _chunk(None, usage={"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}),
    b"data: [DONE]\n\n",
)


def _read(walk: Walk) -> None:
    for trip in (Walk(), walk):
        with trip.recorded():
            parts = list(read_stream(_ANSWER, protocol="chat-completions"))
        text = "".join(part.value for part in parts if isinstance(part, TextPart))
        assert text == "Hello you"


_CONVERSATION = (
    ChatMessage.system("Be brief."),
    ChatMessage.user("hi"),
    ChatMessage.assistant([ToolCallPart("c1", "get", {"a": 1})]),
    ChatMessage.user([ToolResultPart("c1", [TextPart("x")])]),
)
_TOOLS = RequestOptions([Tool("get", "gets", {"type": "object", "properties": {}})])


def _write(walk: Walk) -> None:
    asked = InboundRequest(model="claude-opus-4-7", messages=_CONVERSATION, options=_TOOLS)
    for trip in (Walk(), walk):
        with trip.recorded():
            written = write_question(PROTOCOLS["anthropic-messages"], asked)
        assert written.body["system"]


@chat_model(name="Parrot")
async def parrot(messages: Any, _options: Any) -> AsyncIterator[str]:
    yield f"You said: {user_request(messages)}"


async def _post(application: Callable[..., Any], body: object) -> bytes:
    requests = [{"type": "http.request", "body": json.dumps(body).encode(), "more_body": False}]
    sent: list[dict[str, Any]] = []
    stays = asyncio.Event()

    async def receive() -> dict[str, Any]:
        if requests:
            return requests.pop()
        await stays.wait()
        raise AssertionError("the client never leaves")

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    headers = [(b"content-type", b"application/json"), (b"host", b"127.0.0.1")]
    scope = {"type": "http", "method": "POST", "headers": headers, "http_version": "1.1", "root_path": ""}
    path = "/v1/chat/completions"
    at = {"path": path, "raw_path": path.encode(), "query_string": b"", "client": ("127.0.0.1", 1)}
    await application({**scope, **at}, receive, send)
    return b"".join(message.get("body", b"") for message in sent)


def _serve(walk: Walk) -> None:
    body = {"model": "parrot", "stream": True, "messages": [{"role": "user", "content": "hi"}]}

    async def both() -> None:
        application = app(parrot)
        for trip in (Walk(), walk):
            with trip.recorded():
                answer = await _post(application, body)
            assert b"You said: hi" in answer.replace(b"\\u0020", b" "), answer

    asyncio.run(both())


@asynccontextmanager
async def _server() -> AsyncIterator[str]:
    """A model server on loopback that lists one model, and answers each question alike."""

    connections: set[asyncio.Task[None] | None] = set()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connections.add(asyncio.current_task())
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                lengths = [line for line in head.lower().splitlines() if line.startswith(b"content-length:")]
                if lengths:
                    await reader.readexactly(int(lengths[0].partition(b":")[2]))
                listed = head.startswith(b"GET")
                content = json.dumps({"object": "list", "data": [{"id": "m", "object": "model"}]}).encode()
                reply = content if listed else b"".join(_ANSWER)
                kind = b"application/json" if listed else b"text/event-stream"
                length = str(len(reply)).encode()
                writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: %b\r\ncontent-length: %b\r\n\r\n" % (kind, length))
                writer.write(reply)
                await writer.drain()
        except asyncio.IncompleteReadError:
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        await asyncio.wait_for(asyncio.gather(*filter(None, connections)), 10)


def _ask(walk: Walk) -> None:
    async def both() -> None:
        async with _server() as url, connect(url, protocol="chat-completions", model="m") as model:
            for trip in (Walk(), walk):
                with trip.recorded():
                    answer = await model.ask("Hello")
                assert answer == "Hello you"

    asyncio.run(both())


TRIPS: dict[str, Callable[[Walk], None]] = {
    "read_stream of a text, Chat Completions": _read,
    "write_request of Anthropic Messages, from messages to body": _write,
    "a streamed answer of serve, from ASGI scope to provider and back": _serve,
    "connect(url).ask to a known server": _ask,
}
