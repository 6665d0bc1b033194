"""WebSockets of the real server on loopback: a refused handshake, and an open turn when the server is stopped."""

from __future__ import annotations
import asyncio
import json
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest

from partstream.runtime.demo_provider import DemoProvider
from partstream.server.application import app
from partstream.server.listening import ConnectionLimits, listening_sockets
from partstream.server.settings import ServingSettings
from partstream.server.uvicorn_server import HttpServer
from partstream.upstream.endpoint import Secret
from serving.asgi import WAIT
from serving.test_stored_responses import Silent

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

HEADERS = {"authorization": "Bearer a-token-of-the-tests"}


@asynccontextmanager
async def serving(provider: Any) -> AsyncIterator[tuple[asyncio.Event, str]]:
    sockets = listening_sockets("127.0.0.1", 0, ConnectionLimits().peer_seconds)
    settings = ServingSettings(token=Secret("a-token-of-the-tests"))
    server = HttpServer(app(provider, settings), sockets, drain_seconds=0)
    listening = asyncio.Event()
    stopped = asyncio.Event()
    running = asyncio.create_task(server.serve(listening.set))
    stopping = asyncio.create_task(_stop(server, stopped))
    try:
        async with asyncio.timeout(WAIT):
            await listening.wait()
            yield stopped, f"ws://127.0.0.1:{sockets[0].getsockname()[1]}/v1/responses"
    finally:
        stopped.set()
        await asyncio.gather(stopping, running)


async def _stop(server: HttpServer, when: asyncio.Event) -> None:
    """Stops the server once: a second time would be at once."""
    await when.wait()
    server.stop()


def test_a_handshake_without_the_key_gets_its_status_and_its_words() -> None:
    from websockets.asyncio.client import connect
    from websockets.exceptions import InvalidStatus

    async def main() -> Any:
        async with serving(Silent()) as (_, url):
            with pytest.raises(InvalidStatus) as caught:
                await connect(url, proxy=None)
            return caught.value.response

    refused = asyncio.run(main())
    assert refused.status_code == 401
    assert json.loads(refused.body)["error"]["code"] == "invalid_api_key"
    assert refused.headers["x-request-id"]


def test_lanes_and_steering_are_refused_by_name_while_a_response_goes_on() -> None:
    from websockets.asyncio.client import connect

    async def main() -> dict[str, Any]:
        async with serving(DemoProvider()) as (_, url), connect(url, additional_headers=HEADERS, proxy=None) as socket:
            steer = {"type": "response.steer", "previous_response_id": "resp_1", "input": "Stop."}
            asks = {"type": "response.create", "model": "demo", "input": "Reply with exactly: well"}
            for said in (steer, {**asks, "stream_id": "lane"}, asks):
                await socket.send(json.dumps(said))
            events = {}
            async for message in socket:
                event = json.loads(message)
                events[event["type"]] = event
                if event["type"] == "response.completed":
                    return events
        return {}

    events = asyncio.run(main())
    assert events["response.steer.failed"]["error"]["code"] == "steering_not_supported"
    assert (events["error"]["stream_id"], events["error"]["error"]["param"]) == ("lane", "stream_id")
    assert events["response.completed"]["response"]["output"][-1]["content"][0]["text"] == "well"


def test_a_turn_that_is_open_when_the_server_is_stopped_ends_with_its_last_event() -> None:
    from websockets.asyncio.client import connect

    provider = Silent()

    async def main() -> list[Any]:
        async with serving(provider) as (stopped, url), connect(url, additional_headers=HEADERS, proxy=None) as socket:
            await socket.send(json.dumps({"type": "response.create", "model": "demo", "input": "Hi"}))
            events = []
            async for message in socket:
                events.append(json.loads(message))
                if events[-1].get("delta") == "said":
                    stopped.set()
                if events[-1]["type"] == "response.incomplete":
                    break
            return events

    events = asyncio.run(main())
    assert events[-1]["type"] == "response.incomplete"
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    assert provider.cancelled
