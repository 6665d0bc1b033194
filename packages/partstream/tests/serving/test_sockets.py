"""The WebSocket of responses: one response after another, continued on the same socket, over when its client leaves."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from partstream.errors import LanguageModelError
from partstream.lm.outputs import Finish, Outcome
from partstream.lm.parts import TextPart
from partstream.runtime.demo_provider import DemoProvider
from partstream.server.application import ServingApp, app
from partstream.server.clients import Caller
from partstream.server.settings import ServingSettings
from partstream.server.stored_answers import SQLiteAnswers
from partstream.upstream.endpoint import Secret
from rows import one_test_for
from serving.asgi import WAIT, ask
from serving.asgi_socket import Socket
from serving.providers import Driven, silent
from serving.test_stored_responses import Silent, echo, text

PATH = "/v1/responses"


def talk(use: Callable[[Socket, ServingApp], Awaitable[Any]], provider: Any = None, **settings: Any) -> Any:
    """Opens a socket and uses it."""

    async def main() -> Any:
        application = app(provider or DemoProvider(), ServingSettings(**settings))
        socket = await Socket(application, PATH).opened()
        try:
            return await use(socket, application)
        finally:
            await socket.close()

    return asyncio.run(main())


def said(events: list[dict[str, Any]]) -> str:
    assert events[-1]["type"] == "response.completed", events[-1]
    return text(events[-1]["response"])


def test_the_events_are_those_of_a_stream_one_in_a_message() -> None:
    events = talk(lambda socket, _: socket.turn(input="Count from 1 to 3.", store=False, stream=True))
    assert [one["sequence_number"] for one in events] == list(range(len(events)))
    assert [one["type"] for one in events[:2]] == ["response.created", "response.in_progress"]
    assert said(events) == "1, 2, 3"


def test_a_response_is_continued_on_the_socket_although_nothing_is_stored() -> None:
    async def use(socket: Socket, _: ServingApp) -> Any:
        turns = [await socket.turn(input="a", store=False)]
        for word in "bc":
            turns.append(
                await socket.turn(input=word, store=False, previous_response_id=turns[-1][-1]["response"]["id"])
            )
        return turns

    *_, last = talk(use, echo)
    heard = said(last)
    assert heard.startswith("user: a | assistant: user: a | user: b | assistant: ")
    assert heard.endswith(" | user: c")


def test_another_socket_does_not_know_it_and_can_begin_anew() -> None:
    async def use(socket: Socket, application: ServingApp) -> Any:
        response_id = (await socket.turn(input="a", store=False))[-1]["response"]["id"]
        other = await Socket(application, PATH).opened()
        missed = await other.turn(input="b", store=False, previous_response_id=response_id)
        fresh = await other.turn(input="c", store=False)
        await other.close()
        return missed, fresh

    [missed], fresh = talk(use)
    assert (missed["type"], missed["status"]) == ("error", 400)
    assert missed["error"]["code"] == "previous_response_not_found"
    assert missed["error"]["param"] == "previous_response_id"
    assert said(fresh)


def test_a_turn_that_fails_forgets_what_it_continued_and_the_socket_goes_on() -> None:
    async def use(socket: Socket, _: ServingApp) -> Any:
        response_id = (await socket.turn(input="a", store=False))[-1]["response"]["id"]
        lonely = {"type": "function_call_output", "call_id": "call_none", "output": "x"}
        failed = await socket.turn(input=[lonely], store=False, previous_response_id=response_id)
        retried = await socket.turn(input="b", store=False, previous_response_id=response_id)
        return failed, retried, await socket.turn(input="c")

    [failed], [retried], fresh = talk(use)
    assert failed["error"]["param"] == "input[0].call_id"
    assert retried["error"]["code"] == "previous_response_not_found"
    assert said(fresh)


def test_a_conversation_is_announced_without_asking_the_model() -> None:
    async def use(socket: Socket, _: ServingApp) -> Any:
        rules = {"role": "developer", "content": "Be terse."}
        announced = await socket.turn(input=[rules], store=False, generate=False)
        continued = await socket.turn(input="a", store=False, previous_response_id=announced[-1]["response"]["id"])
        return announced, continued

    announced, continued = talk(use, echo)
    assert [one["type"] for one in announced] == ["response.created", "response.in_progress", "response.completed"]
    assert announced[-1]["response"]["output"] == []
    assert said(continued) == "system: Be terse. | user: a"


@pytest.mark.parametrize("store", [{}, {"store": True}])
def test_an_announcement_is_remembered_by_its_socket_and_by_no_store(tmp_path: Path, store: dict[str, Any]) -> None:
    kept = SQLiteAnswers(tmp_path / "answers.sqlite")

    async def use(socket: Socket, application: ServingApp) -> None:
        announced = (await socket.turn(input="the rules", generate=False, **store))[-1]["response"]
        continued = (await socket.turn(input="a", previous_response_id=announced["id"]))[-1]["response"]
        found = [(await ask(application, f"{PATH}/{one['id']}", method="GET")).status for one in (announced, continued)]
        assert (announced["store"], found, text(continued)) == (False, [404, 200], "user: the rules | user: a")
        await kept.close()

    talk(use, echo, store=kept)


def test_requests_are_answered_in_order_and_never_mixed() -> None:
    async def use(socket: Socket, _: ServingApp) -> Any:
        for number in range(3):
            socket.create(input=f"Reply with exactly: {number}", store=False)
        return [await socket.turn() for _ in range(3)]

    turns = talk(use)
    assert [said(events) for events in turns] == ["0", "1", "2"]
    assert all(len({one["response"]["id"] for one in events if "response" in one}) == 1 for events in turns)


@pytest.mark.parametrize("sent", ['{"type":"response.cancel"}', "no JSON"])
def test_what_is_no_request_is_answered_with_an_error_and_the_socket_goes_on(sent: str) -> None:
    async def use(socket: Socket, _: ServingApp) -> Any:
        socket.say(sent)
        return await socket.event(), await socket.turn(input="a")

    error, answered = talk(use)
    assert (error["type"], error["status"]) == ("error", 400)
    assert said(answered)


@one_test_for(
    ("body", "status", "code", "param"),
    [
        ({"model": "none"}, 404, "model_not_found", "model"),
        ({"input": 5}, 400, "invalid_request_error", "input"),
        ({"background": True}, 400, "unsupported_parameter", "background"),
        ({"conversation": "c"}, 400, "unsupported_parameter", "conversation"),
        ({"stream_id": "lane"}, 400, "unsupported_parameter", "stream_id"),
    ],
)
def test_a_request_that_is_refused_is_an_error_with_its_status(body: Any, status: int, code: str, param: str) -> None:
    [error] = talk(lambda socket, _: socket.turn(**{"input": "a", **body}))
    assert (error["type"], error["status"]) == ("error", status)
    assert (error["error"]["code"], error["error"]["param"]) == (code, param)


class Fails(DemoProvider):
    """Fails before its first part, or after it."""

    def __init__(self, parts: tuple[Any, ...]) -> None:
        super().__init__()
        self.parts = parts

    async def provide_language_model_chat_response(self, model, messages, options, progress, token) -> None:  # type: ignore[no-untyped-def]
        for part in self.parts:
            progress.report(part)
        error = LanguageModelError.blocked("too much")
        progress.finish(Finish(Outcome.FAILED, error=error))
        raise error


def test_a_failure_before_the_first_part_is_an_error_and_a_later_one_ends_the_response() -> None:
    [refused] = talk(lambda socket, _: socket.turn(input="a"), Fails(()))
    assert (refused["type"], refused["status"] >= 400) == ("error", True)
    events = talk(lambda socket, _: socket.turn(input="a"), Fails((TextPart("half"),)))
    assert events[-1]["type"] == "response.failed"
    assert "too much" in events[-1]["response"]["error"]["message"]


def test_a_client_that_leaves_cancels_the_provider() -> None:
    provider = Silent()

    async def use(socket: Socket, _: ServingApp) -> None:
        socket.create(input="a", store=False)
        while (await socket.event()).get("delta") != "said":
            pass

    talk(use, provider)
    assert provider.cancelled


def test_a_server_that_raises_when_a_client_has_left_cancels_the_provider_and_asks_no_other() -> None:
    async def answer(progress: Any, token: Any) -> None:
        progress.report(TextPart("one"))
        await silent(progress, token)

    provider, seen = Driven(answer, model_id="demo"), []

    async def use(socket: Socket, application: ServingApp) -> None:
        application.on_did_finish_answer(seen.append)
        socket.is_broken = True
        socket.create(input="a", store=False)
        socket.create(input="b", store=False)
        async with asyncio.timeout(WAIT):
            await socket.task
        assert application.open_answers == 0

    talk(use, provider)
    assert provider.events == ["begun", "cancelled", "returned"]
    assert [one.is_cancelled for one in seen] == [True]


def test_a_socket_that_has_been_open_for_too_long_is_told_so_between_answers() -> None:
    async def use(socket: Socket, _: ServingApp) -> Any:
        return await socket.event(), await socket.next()

    error, closed = talk(use, socket_seconds=0.01)
    assert error["error"]["code"] == "websocket_connection_limit_reached"
    assert closed == {"type": "websocket.close", "code": 1000, "reason": ""}


def test_a_caller_has_a_share_of_the_sockets_and_others_have_theirs() -> None:
    async def main() -> None:
        names = {"Bearer a": Caller("a"), "Bearer b": Caller("b")}
        settings = ServingSettings(authenticate=lambda headers: names.get(headers["authorization"]), caller_sockets=2)
        application = app(DemoProvider(), settings)

        def opening(caller: str) -> Socket:
            return Socket(application, PATH, {"authorization": f"Bearer {caller}"})

        first, second = await opening("a").opened(), await opening("a").opened()
        refused = opening("a")
        async with asyncio.timeout(WAIT):
            await refused.task
        status, body = refused.sent
        assert status["status"] == 429
        assert json.loads(body["body"])["error"]["message"].startswith(
            "you have 2 WebSockets open, which is the limit for one caller;"
        )
        other = await opening("b").opened()
        assert said(await other.turn(input="Count from 1 to 2.", store=False)) == "1, 2"
        await first.close()
        again = await opening("a").opened()
        assert said(await again.turn(input="Count from 1 to 2.", store=False)) == "1, 2"
        for socket in (second, other, again):
            await socket.close()

    asyncio.run(main())


def test_a_server_that_is_stopped_ends_the_turn_and_takes_no_other() -> None:
    async def use(socket: Socket, application: ServingApp) -> Any:
        socket.create(input="a", store=False)
        while (event := await socket.event()).get("delta") != "said":
            pass
        await application.drain(0)
        while (event := await socket.event())["type"] != "response.incomplete":
            pass
        return event, await socket.turn(input="b")

    ended, [refused] = talk(use, Silent())
    assert ended["response"]["status"] == "incomplete"
    assert refused["status"] == 503


def test_what_is_stored_on_a_socket_is_found_over_http_whatever_it_continued(tmp_path: Path) -> None:
    async def main() -> Any:
        store = SQLiteAnswers(tmp_path / "answers")
        application = app(echo, ServingSettings(store=store))
        socket = await Socket(application, PATH).opened()
        first = (await socket.turn(input="a", store=False))[-1]["response"]
        second = (await socket.turn(input="b", previous_response_id=first["id"]))[-1]["response"]
        body = {"model": "demo", "input": "c", "previous_response_id": second["id"]}
        third = (await ask(application, PATH, body)).json
        found = [(await ask(application, f"{PATH}/{one['id']}")).status for one in (first, second)]
        await socket.close()
        await store.close()
        return third, found

    third, found = asyncio.run(main())
    assert text(third).startswith("user: a | assistant: user: a | user: b | assistant: ")
    assert found == [404, 200]


@pytest.mark.parametrize(
    ("path", "headers", "settings", "status"),
    [
        ("/v1/responses", {}, {"token": Secret("a-long-secret")}, 401),
        ("/v1/responses", {"authorization": "Bearer wrong"}, {"token": Secret("a-long-secret")}, 401),
        ("/v1/responses", {"origin": "https://a.page", "host": "127.0.0.1:8000"}, {}, 403),
        ("/v1/chat/completions", {}, {}, 404),
    ],
)
def test_a_handshake_is_refused_with_a_status(path: str, headers: Any, settings: Any, status: int) -> None:
    async def main() -> Any:
        socket = Socket(app(DemoProvider(), ServingSettings(**settings)), path, headers)
        await socket.task
        return socket.sent

    start, body = asyncio.run(main())
    assert (start["type"], start["status"]) == ("websocket.http.response.start", status)
    assert b'"error"' in body["body"]


@pytest.mark.parametrize(
    ("path", "headers", "settings"),
    [
        ("/v1/responses", {"authorization": "Bearer a-long-secret"}, {"token": Secret("a-long-secret")}),
        ("/responses", {}, {}),
        ("/v1/responses", {"origin": "http://127.0.0.1:8000", "host": "127.0.0.1:8000"}, {}),
    ],
)
def test_a_handshake_names_no_model(path: str, headers: Any, settings: Any) -> None:
    async def main() -> None:
        socket = await Socket(app(DemoProvider(), ServingSettings(**settings)), path, headers).opened()
        assert dict(socket.sent[0]["headers"])[b"x-request-id"]
        await socket.close()

    asyncio.run(main())


def test_each_turn_is_observed_once() -> None:
    seen: list[Any] = []

    async def use(socket: Socket, application: ServingApp) -> None:
        application.on_did_finish_answer(seen.append)
        await socket.turn(input="a", store=False)
        await socket.turn(input="b", previous_response_id="none")

    talk(use)
    assert [(one.status, one.is_stream) for one in seen] == [(200, True), (400, True)]
    assert len({one.request_id for one in seen}) == 2
