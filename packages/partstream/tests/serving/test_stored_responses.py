"""Stored responses over HTTP: continued, retrieved, resumed, cancelled, deleted; found by their owner alone."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from partstream.lm.outputs import Finish, Outcome
from partstream.lm.parts import TextPart, Usage
from partstream.runtime.demo_provider import DemoProvider
from partstream.runtime.simple import chat_model
from partstream.server.application import ServingApp, app
from partstream.server.clients import Caller
from partstream.server.requests import StoreFailedError
from partstream.server.settings import ServingSettings
from partstream.server.stored_answers import SQLiteAnswers
from serving.asgi import Call, ask, call

RESPONSES = "/v1/responses"
TOOL = {"type": "function", "name": "get_weather", "parameters": {"properties": {"city": {"type": "string"}}}}
USERS = {"ann": {"authorization": "Bearer ann"}, "bob": {"authorization": "Bearer bob"}}


def caller_of(headers: Any) -> Caller | None:
    scheme, _, key = headers.get("authorization", "").partition(" ")
    return Caller(key) if scheme == "Bearer" else None


def serve(tmp_path: Path, use: Callable[[ServingApp], Awaitable[Any]], provider: Any = None, **settings: Any) -> Any:
    """Opens the store, uses the application, and closes the store, as a process does."""

    async def main() -> Any:
        store = SQLiteAnswers(tmp_path / "answers.sqlite")
        chosen = {"authenticate": caller_of, "store": store, "state_folder": tmp_path, **settings}
        try:
            return await use(app(provider or DemoProvider(), ServingSettings(**chosen)))
        finally:
            await store.close()

    return asyncio.run(main())


async def create(application: ServingApp, user: str = "ann", **body: Any) -> Call:
    return await ask(application, RESPONSES, {"model": "demo", **body}, headers=USERS[user])


async def get(application: ServingApp, path: str, query: str = "", user: str = "ann", method: str = "GET") -> Call:
    body = b"" if method != "GET" else None
    return await ask(application, f"{RESPONSES}/{path}", body, method=method, query=query, headers=USERS[user])


def events(reply: Call) -> list[dict[str, Any]]:
    frames = [frame for frame in reply.body.decode().split("\n\n") if frame.startswith("event: ")]
    found = [json.loads(frame.split("\ndata: ")[1]) for frame in frames]
    assert [frame.split("\n")[0].removeprefix("event: ") for frame in frames] == [one["type"] for one in found]
    return found


def text(response: dict[str, Any]) -> str:
    [message] = [item for item in response["output"] if item["type"] == "message"]
    return message["content"][0]["text"]


class Paused(DemoProvider):
    """Says a word, and another one on demand."""

    def __init__(self) -> None:
        super().__init__()
        self.goes_on = asyncio.Event()

    async def provide_language_model_chat_response(self, model, messages, options, progress, token) -> None:  # type: ignore[no-untyped-def]
        progress.report(TextPart("one"))
        await self.goes_on.wait()
        progress.report(TextPart("two"))


@chat_model(id="demo", name="Echo")
async def echo(messages, options):
    """Says the messages that it was given, each with its role."""
    del options
    yield " | ".join(f"{one.role.name.lower()}: {getattr(one.content[0], 'value', '?')}" for one in messages)


def test_a_response_is_continued_behind_all_input_and_output_before_it_without_its_instructions(tmp_path: Path) -> None:
    async def use(application: ServingApp) -> Any:
        first = (await create(application, input="a", instructions="old")).json
        second = (await create(application, input="b", previous_response_id=first["id"])).json
        third = (await create(application, input="c", instructions="new", previous_response_id=second["id"])).json
        return first, second, third

    first, second, third = serve(tmp_path, use, echo)
    assert text(first) == "system: old | user: a"
    assert text(second) == f"user: a | assistant: {text(first)} | user: b"
    assert second["previous_response_id"] == first["id"]
    assert text(third).startswith("system: new | user: a | assistant: ")
    assert len({one["id"] for one in (first, second, third)}) == 3


def test_a_compacted_response_replaces_what_it_continued_but_the_words_of_people(tmp_path: Path) -> None:
    async def use(application: ServingApp) -> Any:
        first = (await create(application, input="a", instructions="old")).json
        asked: dict[str, Any] = {"input": [{"type": "compaction_trigger"}], "previous_response_id": first["id"]}
        second = (await create(application, **asked)).json
        return second, (await create(application, input="b", previous_response_id=second["id"])).json

    second, third = serve(tmp_path, use, echo)
    assert [item["type"] for item in second["output"]] == ["compaction"]
    assert text(third).startswith("user: a | user: Summary of the conversation so far")
    assert text(third).endswith(" | user: b")
    assert text(third).count("assistant: ") == 1  # in the summary alone, as the echo was asked for it


def test_a_conversation_goes_on_after_a_restart_and_in_another_process(tmp_path: Path) -> None:
    first = serve(tmp_path, lambda one: create(one, input="a"), echo).json
    second = serve(tmp_path, lambda one: create(one, input="b", previous_response_id=first["id"]), echo).json
    assert text(second).endswith("user: b")
    assert text(second).startswith("user: a")


def test_an_output_answers_a_call_of_the_response_before(tmp_path: Path) -> None:
    async def use(application: ServingApp) -> Any:
        asked = await create(application, input="What is the weather in Rome?", tools=[TOOL])
        [called] = [item for item in asked.json["output"] if item["type"] == "function_call"]
        output = {"type": "function_call_output", "call_id": called["call_id"], "output": "sunny"}
        again = {"input": [output], "previous_response_id": asked.json["id"], "tools": [TOOL]}
        wrong = {**again, "input": [{**output, "call_id": "call_other"}]}
        return await create(application, **again), await create(application, **wrong)

    good, wrong = serve(tmp_path, use)
    assert text(good.json) == "The tools say: sunny"
    assert (wrong.status, wrong.json["error"]["param"]) == (400, "input[0].call_id")


def test_an_item_may_be_named_in_place_of_what_it_says(tmp_path: Path) -> None:
    """The AI SDK does so where responses are stored."""

    async def use(application: ServingApp) -> Any:
        asked = await create(application, input="What is the weather in Rome?", tools=[TOOL])
        [called] = [item for item in asked.json["output"] if item["type"] == "function_call"]
        reference = {"type": "item_reference", "id": called["id"]}
        output = {"type": "function_call_output", "call_id": called["call_id"], "output": "sunny"}
        question = {"role": "user", "content": "What is the weather in Rome?"}
        again = {"input": [question, reference, output], "tools": [TOOL]}
        return await create(application, **again), await create(application, "bob", **again)

    good, foreign = serve(tmp_path, use)
    assert text(good.json) == "The tools say: sunny"
    assert (foreign.status, foreign.json["error"]["param"]) == (404, "input[1].id")


@pytest.mark.parametrize("stored", [True, False])
def test_what_is_stored_is_retrieved_and_what_is_not_is_unknown(tmp_path: Path, stored: bool) -> None:
    async def use(application: ServingApp) -> Any:
        made = await create(application, input="hi", store=stored)
        return made.json, await get(application, made.json["id"])

    made, found = serve(tmp_path, use)
    assert made["store"] is stored
    if stored:
        assert (found.status, found.json) == (200, made)
    else:
        assert (found.status, found.json["error"]["code"]) == (404, "not_found")
        assert b"hi" not in (tmp_path / "answers.sqlite").read_bytes()


def test_a_server_without_a_store_answers_and_says_that_it_keeps_nothing(tmp_path: Path) -> None:
    async def use(application: ServingApp) -> Any:
        made = (await create(application, input="hi", store=True)).json
        return made, await create(application, input="b", previous_response_id=made["id"])

    made, continued = serve(tmp_path, use, store=None)
    assert (made["status"], made["store"]) == ("completed", False)
    assert (continued.status, continued.json["error"]["code"]) == (400, "previous_response_not_found")


def test_nobody_finds_the_response_of_somebody_else(tmp_path: Path) -> None:
    async def use(application: ServingApp) -> Any:
        response_id = (await create(application, input="hi")).json["id"]
        tried = [
            await get(application, response_id, user="bob"),
            await get(application, response_id, "stream=true", user="bob"),
            await get(application, response_id, user="bob", method="DELETE"),
            await get(application, f"{response_id}/cancel", user="bob", method="POST"),
            await get(application, f"{response_id}/input_items", user="bob"),
            await get(application, "resp_nobody", user="bob"),
        ]
        continued = await create(application, "bob", input="b", previous_response_id=response_id)
        return tried, continued, await get(application, response_id)

    tried, continued, own = serve(tmp_path, use)
    assert [(one.status, one.json["error"]["code"]) for one in tried] == [(404, "not_found")] * 6
    error = continued.json["error"]
    assert (continued.status, error["code"]) == (400, "previous_response_not_found")
    assert error["param"] == "previous_response_id"
    assert own.status == 200


def test_a_stream_is_resumed_with_the_same_events_and_numbers(tmp_path: Path) -> None:
    async def use(application: ServingApp) -> Any:
        made = await create(application, input="Count from 1 to 9.", stream=True)
        response_id = events(made)[0]["response"]["id"]
        return made, [await get(application, response_id, f"stream=true{more}") for more in ("", "&starting_after=4")]

    made, (whole, rest) = serve(tmp_path, use)
    assert whole.body == made.body
    assert whole.headers["content-type"] == made.headers["content-type"]
    assert events(rest) == events(made)[5:]
    assert rest.body.endswith(b"data: [DONE]\n\n")


def test_a_slow_client_that_resumes_a_stream_gets_the_end_that_came_meanwhile(tmp_path: Path) -> None:
    async def use(application: ServingApp) -> Any:
        first = call(application, RESPONSES, {"model": "demo", "input": "a", "stream": True}, headers=USERS["ann"])
        await first.until(lambda: b"one" in first.body)
        path = f"{RESPONSES}/{events(first)[0]['response']['id']}"
        resumed = call(application, path, query="stream=true", headers=USERS["ann"], reads=False)
        await resumed.until(lambda: len(resumed.messages) == 2)
        provider.goes_on.set()
        await first.end()
        resumed.reading.set()
        return first, await resumed.end()

    provider = Paused()
    first, resumed = serve(tmp_path, use, provider)
    assert resumed.body == first.body


@pytest.mark.parametrize(
    ("body", "status", "param"),
    [
        ({"previous_response_id": "r\ud800"}, 400, "previous_response_id"),
        ({"input": [{"type": "item_reference", "id": "r\ud800"}]}, 404, "input[0].id"),
        ({"input": [{"type": "function_call_output", "call_id": [], "output": ""}]}, 400, "input[0].call_id"),
        ({"input": ["a", {"type": "function_call", "call_id": {}, "name": "n"}]}, 400, "input[0]"),
    ],
)
def test_an_id_that_no_answer_can_have_is_the_clients_mistake(
    tmp_path: Path, body: dict[str, Any], status: int, param: str
) -> None:
    async def use(application: ServingApp) -> Call:
        first = (await create(application, input="a")).json
        return await create(application, **{"input": "b", "previous_response_id": first["id"], **body})

    reply = serve(tmp_path, use, echo)
    assert (reply.status, reply.json["error"]["param"]) == (status, param)


def test_an_answer_that_cannot_be_stored_reaches_its_client_and_the_log_has_no_word_of_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def use(application: ServingApp) -> Call:
        store = application.settings.store
        assert store is not None
        await store.close()
        return await create(application, input="a secret")

    reply = serve(tmp_path, use, echo)
    assert text(reply.json) == "user: a secret"
    assert [one.getMessage() for one in caplog.records] == ["an answer could not be stored: RuntimeError"]
    assert "secret" not in caplog.text


def test_a_stream_cannot_be_resumed_that_was_none(tmp_path: Path) -> None:
    async def use(application: ServingApp) -> Any:
        made = await create(application, input="hi")
        return await get(application, made.json["id"], "stream=true")

    refused = serve(tmp_path, use)
    assert (refused.status, refused.json["error"]["param"]) == (400, "stream")


def test_what_is_deleted_is_unknown(tmp_path: Path) -> None:
    async def use(application: ServingApp) -> Any:
        response_id = (await create(application, input="hi")).json["id"]
        deleted = await get(application, response_id, method="DELETE")
        later = [await get(application, response_id), await get(application, response_id, method="DELETE")]
        continued = await create(application, input="b", previous_response_id=response_id)
        return response_id, deleted, later, continued

    response_id, deleted, later, continued = serve(tmp_path, use)
    assert deleted.json == {"id": response_id, "object": "response", "deleted": True}
    assert [one.status for one in later] == [404, 404]
    assert continued.json["error"]["code"] == "previous_response_not_found"


def test_input_items_are_all_that_the_model_was_given(tmp_path: Path) -> None:
    async def use(application: ServingApp) -> Any:
        first = (await create(application, input="a")).json
        second = (await create(application, input="b", previous_response_id=first["id"])).json
        return first, (await get(application, f"{second['id']}/input_items", "order=asc&limit=4")).json

    first, page = serve(tmp_path, use)
    assert [item["type"] for item in page["data"]] == ["message", "reasoning", "message", "message"]
    assert page["data"][2] == first["output"][1]
    assert page["has_more"] is False


def test_a_request_is_counted_with_what_it_continues(tmp_path: Path) -> None:
    async def use(application: ServingApp) -> Any:
        first = (await create(application, input="a" * 4000)).json
        path = f"{RESPONSES}/input_tokens"
        bodies: list[dict[str, Any]] = [{"input": "hi"}, {"input": "hi", "previous_response_id": first["id"]}]
        return [(await ask(application, path, {"model": "demo", **one}, headers=USERS["ann"])).json for one in bodies]

    alone, continued = serve(tmp_path, use)
    assert alone["object"] == "response.input_tokens"
    assert continued["input_tokens"] > alone["input_tokens"] + 1000


class Silent(DemoProvider):
    """Says two words, then waits until it is cancelled."""

    def __init__(self) -> None:
        super().__init__()
        self.cancelled = False

    async def provide_language_model_chat_response(self, model, messages, options, progress, token) -> None:  # type: ignore[no-untyped-def]
        from partstream.lm.parts import TextPart

        progress.report(TextPart("half "))
        progress.report(TextPart("said"))
        waiting = asyncio.Event()
        token.on_cancellation_requested(waiting.set)
        await waiting.wait()
        self.cancelled = True


async def _begun(application: ServingApp) -> tuple[Call, str]:
    """A stream whose first words have come, and the id of its response."""
    body = {"model": "demo", "input": "hi", "stream": True}
    running = call(application, RESPONSES, body, headers=USERS["ann"])
    await running.until(lambda: b"said" in running.body)
    return running, events(running)[0]["response"]["id"]


def test_a_response_whose_client_leaves_is_kept_with_what_was_said(tmp_path: Path) -> None:
    provider = Silent()

    async def use(application: ServingApp) -> Any:
        running, response_id = await _begun(application)
        running.leave()
        await running.end()
        return [await get(application, response_id), await get(application, response_id, "stream=true")]

    found, stream = serve(tmp_path, use, provider)
    assert provider.cancelled
    assert found.json["status"] == "cancelled"
    assert text(found.json) == "half said"
    last = events(stream)[-1]
    assert (last["type"], last["response"]["status"]) == ("response.incomplete", "cancelled")


class Leaving(DemoProvider):
    """Says its end on demand; its client leaves with it."""

    def __init__(self) -> None:
        super().__init__()
        self.goes_on = asyncio.Event()
        self.leave = self.goes_on.set

    async def provide_language_model_chat_response(self, model, messages, options, progress, token) -> None:  # type: ignore[no-untyped-def]
        progress.report(TextPart("said"))
        await self.goes_on.wait()
        progress.finish(Finish(Outcome.COMPLETED, usage=Usage(1, 1)))
        self.leave()


def test_a_response_whose_client_leaves_behind_its_end_is_kept_as_completed(tmp_path: Path) -> None:
    async def use(application: ServingApp) -> Any:
        running, response_id = await _begun(application)
        provider.leave = running.leave
        provider.goes_on.set()
        await running.end()
        return await get(application, response_id)

    provider = Leaving()
    assert serve(tmp_path, use, provider).json["status"] == "completed"


def test_a_document_whose_client_leaves_is_kept_too_but_not_without_store(tmp_path: Path) -> None:
    async def use(application: ServingApp) -> Any:
        for stored in (True, False):
            body = {"model": "demo", "input": f"stored {stored}", "store": stored}
            running = call(application, RESPONSES, body, headers=USERS["ann"])
            async with asyncio.timeout(30):
                while not application.open_answers:
                    await asyncio.sleep(0)
            running.leave()
            await running.end()

    serve(tmp_path, use, Silent())

    async def look() -> bytes:
        store = SQLiteAnswers(tmp_path / "answers.sqlite")
        await store.close()
        return (tmp_path / "answers.sqlite").read_bytes()

    kept = asyncio.run(look())
    assert b"stored True" in kept
    assert b"stored False" not in kept


def test_a_running_response_is_retrieved_followed_and_cancelled_by_its_owner(tmp_path: Path) -> None:
    provider = Silent()

    async def use(application: ServingApp) -> Any:
        running, response_id = await _begun(application)
        now = await get(application, response_id)
        follower = call(
            application, f"{RESPONSES}/{response_id}", query="stream=true&starting_after=2", headers=USERS["ann"]
        )
        await follower.until(lambda: b"said" in follower.body)
        foreign = await get(application, f"{response_id}/cancel", user="bob", method="POST")
        cancelled = await get(application, f"{response_id}/cancel", method="POST")
        again = await get(application, f"{response_id}/cancel", method="POST")
        return await running.end(), now, await follower.end(), foreign, cancelled, again

    running, now, follower, foreign, cancelled, again = serve(tmp_path, use, provider)
    assert now.json["status"] == "in_progress"
    assert foreign.status == 404
    assert (cancelled.status, cancelled.json["status"]) == (200, "cancelled")
    assert again.json == cancelled.json
    assert provider.cancelled
    assert events(running)[-1]["type"] == "response.incomplete"
    numbers = [one["sequence_number"] for one in events(follower)]
    assert numbers == list(range(3, len(events(running))))


@pytest.mark.parametrize("body", [{"conversation": "c"}, {"background": True}])
def test_what_is_not_offered_fails_with_its_name(tmp_path: Path, body: dict[str, Any]) -> None:
    refused = serve(tmp_path, lambda one: create(one, input="hi", **body))
    assert refused.status == 400
    error = refused.json["error"]
    assert (error["param"], error["code"]) == (next(iter(body)), "unsupported_parameter")


def test_a_summary_is_written_by_the_model_and_read_after_a_restart(tmp_path: Path) -> None:
    async def compact(application: ServingApp) -> Any:
        first = (await create(application, input="Remember: slate.")).json
        body = {"model": "demo", "previous_response_id": first["id"]}
        return await ask(application, f"{RESPONSES}/compact", body, headers=USERS["ann"])

    compacted = serve(tmp_path, compact)
    assert (compacted.status, compacted.json["object"]) == (200, "response.compaction")
    assert compacted.json["usage"]["output_tokens"] > 0
    again = [*compacted.json["output"], {"role": "user", "content": "Go on."}]
    answered = serve(tmp_path, lambda one: create(one, input=again), echo).json
    assert "The person said:\n- Remember: slate." in text(answered)
    for folder, user in ((tmp_path / "other", "ann"), (tmp_path, "bob")):
        other = serve(folder, lambda one, user=user: create(one, user, input=again), echo)
        assert other.json["error"]["code"] == "invalid_encrypted_content", user


def test_a_summary_needs_a_model(tmp_path: Path) -> None:
    body = {"input": "hi"}
    refused = serve(tmp_path, lambda one: ask(one, f"{RESPONSES}/compact", body, headers=USERS["ann"]))
    assert (refused.status, refused.json["error"]["param"]) == (400, "model")


def test_what_is_remembered_is_not_said_to_reach_no_model(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def use(application: ServingApp) -> None:
        first = (await create(application, input="a", store=True)).json
        await create(application, input="b", store=True, previous_response_id=first["id"])
        await create(application, input="c", tools=[{"type": "web_search"}])

    serve(tmp_path, use)
    (line,) = caplog.messages
    assert "reach no model: tools[].web_search (" in line


@pytest.mark.parametrize("stream", [False, True])
def test_a_response_that_the_disk_has_no_room_for_does_not_say_that_it_is_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stream: bool
) -> None:
    async def full(*_: object) -> None:
        raise StoreFailedError("database or disk is full")

    async def use(application: ServingApp) -> None:
        kept = await create(application, input="data: {a", stream=stream)
        monkeypatch.setattr(SQLiteAnswers, "save", full)
        lost = await create(application, input="data: {a", stream=stream)
        said = [events(one)[-1]["response"] if stream else one.json for one in (kept, lost)]
        assert [one["store"] for one in said] == [True, False]
        assert stream or [int(one.headers["content-length"]) for one in (kept, lost)] == [
            len(one.body) for one in (kept, lost)
        ]
        assert [text(one) for one in said] == ["user: data: {a"] * 2
        assert [(await get(application, one["id"])).status for one in said] == [200, 404]

    serve(tmp_path, use, echo)
