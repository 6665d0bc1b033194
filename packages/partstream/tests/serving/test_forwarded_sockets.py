"""Turns of a WebSocket whose upstream speaks OpenResponses too: its events are the messages, as they are."""

from __future__ import annotations
import json
from typing import TYPE_CHECKING, Any

import pytest

from partstream.server.application import app
from partstream.server.clients import Caller
from partstream.server.settings import ServingSettings
from partstream_devtools.testing.faults import End, Send, Stall, document
from serving.asgi_socket import Socket
from serving.vendors import KEY, MODEL, RESPONSES, sse, vendor_of
from upstreams.upstreams import run

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

    from partstream_devtools.testing.faults import Step

HI = {"type": "message", "role": "user", "content": "Hi"}
AND = {"type": "message", "role": "user", "content": "And?"}
STATE = "reasoning.encrypted_content"
HEAD = RESPONSES.reply(stream=True)[0]
TEXTS = [event.partition(b"data: ")[2].strip().decode() for event in RESPONSES.events]
OUTPUT = json.loads(RESPONSES.whole)["output"]


def talk(
    use: Callable[[Socket, list[Any]], Awaitable[Any]],
    *replies: Iterable[Step],
    settings: ServingSettings | None = None,
) -> None:
    """Opens a socket of a server before the vendor, and uses it."""

    async def test() -> None:
        async with vendor_of(RESPONSES, *replies) as (provider, requests):
            headers = {"authorization": "Bearer ann", "openai-beta": "responses_websockets=2026-02-06"}
            socket = await Socket(app(provider, settings), "/v1/responses", headers).opened()
            try:
                await use(socket, requests)
            finally:
                await socket.close()

    run(test())


def whole(*events: bytes) -> tuple[Step, ...]:
    return HEAD, *map(Send, events), End()


async def texts(socket: Socket, number: int) -> list[str]:
    """The next messages, as they are."""
    return [(await socket.next())["text"] for _ in range(number)]


def test_a_turn_goes_on_as_it_came_and_its_events_come_back_as_they_are() -> None:
    async def use(socket: Socket, requests: list[Any]) -> None:
        own = {"model": MODEL, "input": [{**HI, "phase": "x"}], "own": {"a": [1.0, None]}, "store": False}
        socket.create(**own, stream_options={"include_obfuscation": True})
        assert await texts(socket, len(TEXTS)) == TEXTS
        sent = {**own, "stream_options": {"include_obfuscation": True}, "stream": True, "include": [STATE]}
        assert json.loads(requests[0].body) == sent
        assert requests[0].headers["openai-beta"] == "responses_websockets=2026-02-06"
        assert KEY in requests[0].headers["authorization"]

    talk(use, whole(*RESPONSES.events))


@pytest.mark.parametrize("store", [True, False])
def test_an_increment_is_completed_with_what_the_client_and_the_vendor_have_said(store: bool) -> None:
    async def use(socket: Socket, requests: list[Any]) -> None:
        socket.create(model=MODEL, input=[HI], store=store)
        await texts(socket, len(TEXTS))
        for number in (2, 3):
            socket.create(model=MODEL, input=[AND], store=store, previous_response_id="resp_9")
            assert await texts(socket, len(TEXTS)) == TEXTS
            sent = json.loads(requests[number - 1].body)
            assert sent["input"] == [HI, *OUTPUT, *[AND, *OUTPUT] * (number - 2), AND]
            assert "previous_response_id" not in sent
            assert sent["store"] is store

    talk(use, whole(*RESPONSES.events))


def test_a_conversation_that_was_only_announced_is_continued_by_what_the_client_has_said() -> None:
    async def use(socket: Socket, requests: list[Any]) -> None:
        *_, done = await socket.turn(model=MODEL, input=[HI], generate=False, store=False)
        assert not requests
        socket.create(model=MODEL, input=[], store=False, previous_response_id=done["response"]["id"])
        assert await texts(socket, len(TEXTS)) == TEXTS
        sent = json.loads(requests[0].body)
        assert sent["input"] == [HI]
        assert "previous_response_id" not in sent

    talk(use, whole(*RESPONSES.events))


FORMS: dict[str, Callable[[bytes], bytes]] = {
    "without names": lambda event: event.partition(b"\n")[2],
    "with another line end": lambda event: event.replace(b"\n", b"\r\n"),
    "without blanks": lambda event: event.replace(b"event: ", b"event:").replace(b"data: ", b"data:"),
    "with comments": lambda event: b": beat\n\n" + event,
}


@pytest.mark.parametrize("form", FORMS)
def test_frames_in_another_form_are_the_same_messages(form: str) -> None:
    async def use(socket: Socket, requests: list[Any]) -> None:
        socket.create(model=MODEL, input=[HI])
        assert await texts(socket, len(TEXTS)) == TEXTS
        socket.create(model=MODEL, input=[AND], previous_response_id="resp_9")
        assert await texts(socket, len(TEXTS)) == TEXTS
        assert json.loads(requests[1].body)["input"] == [HI, *OUTPUT, AND]

    talk(use, whole(*map(FORMS[form], RESPONSES.events), b"data: [DONE]\n\n"))


ERROR = {"type": "error", "code": "server_error", "message": f"no, {KEY}", "param": None, "sequence_number": 4}
FAILED = {
    "type": "response.failed",
    "response": {**json.loads(RESPONSES.whole), "status": "failed", "error": {"code": "c", "message": "no"}},
    "sequence_number": 5,
}


def test_an_error_ends_a_turn_once() -> None:
    begun = RESPONSES.events[:4]

    async def use(socket: Socket, _: list[Any]) -> None:
        events = await socket.turn(model=MODEL, input=[HI])
        assert events[-1] == FAILED
        assert "error" not in [one["type"] for one in events]
        *said, error = await socket.turn(model=MODEL, input=[HI])
        assert len(said) == len(begun)
        assert (error["type"], error["status"]) == ("error", 500)
        assert error["error"]["message"] == "no, ***"
        socket.create(model=MODEL, input=[HI])
        assert await texts(socket, len(TEXTS)) == TEXTS

    talk(use, whole(*begun, *sse(ERROR, FAILED)), whole(*begun, *sse(ERROR)), whole(*RESPONSES.events))


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"error": {"message": f"slow, {KEY}", "type": "t", "code": "rate", "own": 1}}, "slow, ***"),
        ({"detail": "slow"}, '{"detail": "slow"}'),
        (["slow"], '["slow"]'),
    ],
)
def test_a_refusal_is_an_error_with_the_status_and_the_words_of_the_vendor(body: Any, message: str) -> None:
    async def use(socket: Socket, _: list[Any]) -> None:
        (error,) = await socket.turn(model=MODEL, input=[HI])
        assert (error["type"], error["status"], error["error"]["message"]) == ("error", 429, message)
        own = body["error"]["own"] if "error" in body else None
        assert error["error"].get("own") == own

    talk(use, document(429, json.dumps(body).encode()))


def test_a_stream_that_breaks_off_ends_with_an_event_of_the_wire() -> None:
    async def use(socket: Socket, _: list[Any]) -> None:
        events = await socket.turn(model=MODEL, input=[HI])
        assert events[-1]["type"] == "response.failed"
        assert events[-1]["response"]["id"] == "resp_9"

    talk(use, whole(*RESPONSES.events[:4]))


def test_what_the_vendor_alone_keeps_is_continued_there_by_its_id() -> None:
    async def use(socket: Socket, requests: list[Any]) -> None:
        socket.create(model=MODEL, input=[HI], previous_response_id="resp_of_the_vendor")
        await texts(socket, len(TEXTS))
        socket.create(model=MODEL, input=[AND], previous_response_id="resp_9")
        assert await texts(socket, len(TEXTS)) == TEXTS
        sent = [json.loads(one.body) for one in requests]
        assert [one["previous_response_id"] for one in sent] == ["resp_of_the_vendor", "resp_9"]
        assert [one["input"] for one in sent] == [[HI], [AND]]

    talk(use, whole(*RESPONSES.events))


def test_callers_who_share_a_key_continue_nothing_that_the_vendor_keeps() -> None:
    async def use(socket: Socket, requests: list[Any]) -> None:
        (error,) = await socket.turn(model=MODEL, input=[HI], previous_response_id="resp_of_another")
        assert error["error"]["code"] == "previous_response_not_found"
        assert not requests

    talk(use, whole(*RESPONSES.events), settings=ServingSettings(authenticate=lambda _headers: Caller("ann")))


def test_a_client_that_leaves_has_the_vendor_asked_no_longer() -> None:
    async def test() -> None:
        stalled = (HEAD, *map(Send, RESPONSES.events[:4]), Stall(None))
        async with vendor_of(RESPONSES, stalled) as (provider, _):
            application, seen = app(provider), []
            application.on_did_finish_answer(seen.append)
            socket = await Socket(application, "/v1/responses").opened()
            socket.create(model=MODEL, input=[HI])
            assert await texts(socket, 4) == TEXTS[:4]
            await socket.close()
            assert [one.is_cancelled for one in seen] == [True]

    run(test())
