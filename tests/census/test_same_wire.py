"""On one and the same wire nothing changes: each field of a request arrives at the upstream, and each field of an
answer and of an event at the client, through a server and a real upstream on loopback."""

from __future__ import annotations
import json
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest

from census.fates import DIRECTIONS
from census.fields import fields_of
from census.wires import WIRES
from listening import deliver, listening
from partstream import LanguageModelChatInformation
from partstream.protocols.protocol import PROTOCOLS
from partstream.runtime.translation import frame_answer
from partstream.server.application import app
from partstream_devtools.testing.faults import document
from serving.asgi import ask
from upstreams.upstreams import gateway_to, run

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable

    from partstream.server.loopback import ServerConnection
    from partstream_devtools.testing.faults import Step

MODEL = LanguageModelChatInformation("model-1", "Model", "f", "1", 200_000, 8000)


def _reply(wire: str, direction: str, whole: Any) -> tuple[bytes, str]:
    """The body of an upstream's answer, and its type."""
    if direction != "event":
        return json.dumps(WIRES[wire].answer.body if direction == "request" else whole).encode(), "application/json"
    writer = PROTOCOLS[wire].write_response()
    return frame_answer(PROTOCOLS[wire], map(dict, whole)), writer.content_type


@asynccontextmanager
async def _upstream(said: list[Iterable[Step]]) -> AsyncIterator[tuple[str, list[Any]]]:
    """A real server that answers every request with the last reply of a list; its address, and the bodies that came."""
    bodies: list[Any] = []

    async def serve(connection: ServerConnection) -> None:
        while (request := await connection.next_request()) is not None:
            bodies.append(json.loads(request.body))
            await deliver(connection, request, said[-1])

    async with listening(serve) as url:
        yield url, bodies


def _asking(wire: str, direction: str, whole: Any) -> tuple[str, dict[str, Any], str]:
    """The path, the body and the query of a request."""
    path = PROTOCOLS[wire].base_paths[0] + WIRES[wire].path
    body = dict(whole if direction == "request" else WIRES[wire].request.body)
    if wire == "gemini":
        return (
            (path.replace("generate", "streamGenerate"), body, "alt=sse") if direction == "event" else (path, body, "")
        )
    return path, {**body, "model": "model-1", "stream": direction == "event"}, ""


@pytest.mark.timeout(300)
@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("wire", WIRES)
def test_a_field_arrives_unchanged_on_its_own_wire(wire: str, direction: str) -> None:
    changed: list[str] = []

    async def test() -> None:
        replies: list[Iterable[Step]] = []
        async with _upstream(replies) as (url, bodies), gateway_to(url, protocol=wire, models=(MODEL,)) as gateway:
            application = app(gateway)
            for field in fields_of(wire, direction):
                bodies.clear()
                reply, content_type = _reply(wire, direction, field.wholes[-1])
                replies[:] = [document(200, reply, content_type)]
                path, body, query = _asking(wire, direction, field.wholes[-1])
                said = await ask(application, path, body, query=query)
                if direction == "request":
                    is_same = bodies == [body]
                elif direction == "answer":
                    is_same = said.json == json.loads(reply)
                else:
                    is_same = said.body == reply
                changed.extend([] if is_same else [field.path])

    run(test(), 280)
    assert changed == []
