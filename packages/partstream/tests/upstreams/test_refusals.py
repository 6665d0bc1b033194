"""A request is sent once more without the optional fields that its upstream refuses, which is remembered by model."""

import json
import logging
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing
from pathlib import Path
from time import time
from typing import Any

import pytest

from listening import deliver, listening
from partstream import ChatMessage, RequestOptions, Tool, ToolMode
from partstream.codec.json_codec import dumps
from partstream.conversation.preparation import RequestSettings
from partstream.errors import UpstreamHTTPError
from partstream.server.loopback import ServerConnection
from partstream.tokens.ledger import LEDGER_NAME, open_ledger
from partstream.tokens.records import LimitRow
from partstream.upstream.requests import RefusedFields
from partstream_devtools.testing.faults import Step, document
from upstreams.test_requests import message, stream_of
from upstreams.upstreams import Answer, ask, configuration, gateway_to, run

Body = dict[str, Any]
ANSWER = stream_of(message("Hello"))


def refusal(said: str, status: int = 400, **fields: Any) -> list[Step]:
    return list(document(status, dumps({"error": {"message": said, "type": "invalid_request_error", **fields}})))


@asynccontextmanager
async def server(answer_to: Callable[[Body], list[Step]]) -> AsyncIterator[tuple[str, list[Body]]]:
    """A real server that answers each request by its body; yields its URL and the bodies that came."""
    came: list[Body] = []

    async def serve(connection: ServerConnection) -> None:
        while (request := await connection.next_request()) is not None:
            came.append(json.loads(request.body))
            await deliver(connection, request, answer_to(came[-1]))

    async with listening(serve) as url:
        yield f"{url}/v1", came


def refusing(**said: str) -> Callable[[Body], list[Step]]:
    """What a server answers that refuses each of the fields with its sentence, one at a time."""

    def answer_to(body: Body) -> list[Step]:
        named = next((name for name in said if name in body), None)
        return ANSWER if named is None else refusal(said[named])

    return answer_to


def without(body: Body, *names: str) -> Body:
    return {name: value for name, value in body.items() if name not in names}


async def asked(provider: Any, said: str = "Hi", model_id: str = "text", **options: Any) -> Answer:
    chosen = RequestOptions(**{"model_options": {"_conversationId": "c1"}, **options})
    return await ask(provider, [ChatMessage.user(said)], options=chosen, model_id=model_id)


def test_a_refused_field_is_left_out_once_and_from_then_on(caplog: pytest.LogCaptureFixture) -> None:
    async def check() -> None:
        refuses = refusing(prompt_cache_key="Unknown parameter: 'prompt_cache_key'.")
        async with server(refuses) as (url, came), gateway_to(url) as provider:
            with caplog.at_level(logging.INFO):
                assert (await asked(provider)).text == "Hello"
            first, second = came
            assert "prompt_cache_key" in first
            assert second == without(first, "prompt_cache_key")
            assert "text refuses prompt_cache_key: sent again without it; the server answered" in caplog.text
            assert not [record for record in caplog.records if record.levelno > logging.INFO]
            assert (await asked(provider)).text == "Hello"
            assert came[2] == second

    run(check())


def test_what_one_model_refuses_another_one_gets() -> None:
    async def check() -> None:
        refuses = refusing(prompt_cache_key="Unknown parameter: 'prompt_cache_key'.")
        async with server(refuses) as (url, came), gateway_to(url) as provider:
            await asked(provider)
            await asked(provider, model_id="other")
            assert ["prompt_cache_key" in body for body in came] == [True, False, True, False]

    run(check())


def test_fields_that_are_refused_one_after_the_other_are_each_left_out() -> None:
    async def check() -> None:
        refuses = refusing(
            prompt_cache_key="Unknown parameter: 'prompt_cache_key'.",
            temperature="Unsupported parameter: 'temperature' is not supported with this model.",
        )
        async with server(refuses) as (url, came), gateway_to(url) as provider:
            options = {"_conversationId": "c1", "temperature": 0.5, "top_p": 0.9}
            assert (await asked(provider, model_options=options)).text == "Hello"
            assert came[1:] == [
                without(came[0], "prompt_cache_key"),
                without(came[0], "prompt_cache_key", "temperature"),
            ]

    run(check())


CHOSEN: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "an option of the request": ({}, {"model_options": {"temperature": 0.5}}),
    "a field of the settings": ({"request": RequestSettings(extra_body={"temperature": 0.5})}, {"model_options": {}}),
}


@pytest.mark.parametrize(("settings", "options"), CHOSEN.values(), ids=CHOSEN)
def test_what_a_person_set_is_left_out_with_a_warning_that_says_so(
    settings: dict[str, Any], options: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    async def check() -> None:
        refuses = refusing(temperature="Unsupported parameter: 'temperature' is not supported with this model.")
        async with server(refuses) as (url, came), gateway_to(url, **settings) as provider:
            assert (await asked(provider, **options)).text == "Hello"
            assert came[0]["temperature"] == 0.5
            assert came[1] == without(came[0], "temperature")
            (warning,) = (record for record in caplog.records if record.levelno == logging.WARNING)
            said = warning.getMessage()
            assert said.startswith("text refuses temperature (you set temperature): sent again without it; the server")

    run(check())


def test_a_value_that_is_refused_leaves_another_value_as_it_is() -> None:
    async def check() -> None:
        def answer_to(body: Body) -> list[Step]:
            if body.get("reasoning", {}).get("effort") == "minimal":
                said = "Unsupported value: 'minimal' is not supported with this model. Supported values are: 'low'."
                return refusal(said, param="reasoning.effort")
            return ANSWER

        async with server(answer_to) as (url, came), gateway_to(url) as provider:
            for effort in ("minimal", "low", "minimal"):
                assert (await asked(provider, model_configuration={"reasoningEffort": effort})).text == "Hello"
            efforts = [body["reasoning"].get("effort") for body in came]
            assert efforts == ["minimal", None, "low", None]

    run(check())


def test_a_forced_choice_of_tools_falls_back_to_a_free_one(caplog: pytest.LogCaptureFixture) -> None:
    async def check() -> None:
        def answer_to(body: Body) -> list[Step]:
            free = body["tool_choice"] == "auto"
            return ANSWER if free else refusal("tool_choice 'required' is incompatible with thinking enabled")

        async with server(answer_to) as (url, came), gateway_to(url) as provider:
            tools = (Tool("look_up", "", {"type": "object"}),)
            assert (await asked(provider, tools=tools, tool_mode=ToolMode.REQUIRED)).text == "Hello"
            assert [body["tool_choice"] for body in came] == ["required", "auto"]
            assert "text refuses tool_choice: sent again with tool_choice 'auto'; the server" in caplog.text

    run(check())


OTHERS: dict[str, Callable[[Body], list[Step]]] = {
    "it is refused all the same": lambda body: refusal("Unknown parameter: 'prompt_cache_key'."),
    "another field is at fault": lambda body: refusal("Unknown parameter: 'input'."),
    "no field is named": lambda body: refusal("No."),
    "the key is wrong": lambda body: refusal("Unknown parameter: 'prompt_cache_key'.", 401),
}
SENT = {"it is refused all the same": 2}


@pytest.mark.parametrize("reason", OTHERS)
def test_a_request_is_not_sent_again_where(reason: str) -> None:
    async def check() -> None:
        async with server(OTHERS[reason]) as (url, came), gateway_to(url) as provider:
            for times in (1, 2):  # nothing was learned by it
                assert isinstance((await asked(provider)).error, UpstreamHTTPError)
                assert len(came) == times * SENT.get(reason, 1)

    run(check())


def in_the_stream(*events: dict[str, Any]) -> list[Step]:
    return list(document(200, "".join(f"data: {json.dumps(one)}\n\n" for one in events).encode(), "text/event-stream"))


FAILED = {
    "type": "response.failed",
    "response": {"error": {"code": "invalid_request_error", "message": "Unknown parameter: 'prompt_cache_key'."}},
}


def test_a_refusal_inside_the_stream_counts_before_the_first_part() -> None:
    async def check() -> None:
        def answer_to(body: Body) -> list[Step]:
            return in_the_stream(FAILED) if "prompt_cache_key" in body else ANSWER

        async with server(answer_to) as (url, came), gateway_to(url) as provider:
            answer = await asked(provider)
            assert (answer.text, answer.error, len(came)) == ("Hello", None, 2)

    run(check())


def test_nothing_is_sent_again_once_a_part_was_reported() -> None:
    async def check() -> None:
        delta = {"type": "response.output_text.delta", "output_index": 0, "content_index": 0, "delta": "So"}
        async with server(lambda body: in_the_stream(delta, FAILED)) as (url, came), gateway_to(url) as provider:
            answer = await asked(provider)
            assert answer.text == "So"
            assert answer.error is not None
            assert len(came) == 1

    run(check())


def test_a_field_is_tried_again_a_week_later() -> None:
    now = 1000.0
    memory = RefusedFields(clock=lambda: now)
    memory.keep("m", frozenset({"store"}))
    now += 6 * 86_400
    memory.keep("m", frozenset({"store", "user"}))  # learned before: its week goes on
    assert memory.of("m") == {"store", "user"}
    now += 86_401
    assert memory.of("m") == {"user"}
    assert memory.of("other") == set()


def test_values_that_people_invent_push_out_no_field() -> None:
    memory = RefusedFields(clock=lambda: 1000.0)
    memory.keep("m", frozenset({"store"}))
    for number in range(500):
        memory.keep("m", frozenset({f"effort={number}"}))
    kept = memory.of("m")
    assert ("store" in kept, "effort=499" in kept, len(kept)) == (True, True, 100)


def test_what_was_refused_outlives_the_process_but_for_values(tmp_path: Path) -> None:
    now = 10 * 86_400.0
    names = frozenset({"store", 'user="me"'})
    with closing(open_ledger(tmp_path)) as ledger:
        memory = RefusedFields("u", ledger, lambda: now)
        memory.keep("m", names)
        assert memory.of("m") == names
    with closing(open_ledger(tmp_path)) as ledger:
        assert RefusedFields("u", ledger, lambda: now).of("m") == {"store"}
        assert RefusedFields("another", ledger, lambda: now).of("m") == set()
        now += 7 * 86_400 + 1
        assert RefusedFields("u", ledger, lambda: now).of("m") == set()
    with closing(sqlite3.connect(tmp_path / LEDGER_NAME)) as connection:
        assert connection.execute("SELECT field FROM refusals").fetchall() == [("store",)]


def test_a_ledger_of_an_earlier_version_is_kept_and_remembers_refusals_too(tmp_path: Path) -> None:
    with closing(open_ledger(tmp_path)) as ledger:
        ledger.keep_limit("u", "m", LimitRow(600, 1000.0))
    with closing(sqlite3.connect(tmp_path / LEDGER_NAME)) as connection:
        connection.execute("DROP TABLE refusals")
    with closing(open_ledger(tmp_path)) as ledger:
        memory = RefusedFields("u", ledger, lambda: 1000.0)
        assert memory.of("m") == set()
        memory.keep("m", frozenset({"store"}))
    with closing(open_ledger(tmp_path)) as ledger:
        assert RefusedFields("u", ledger, lambda: 1000.0).of("m") == {"store"}
        assert ledger.limits("u") == {"m": LimitRow(600, 1000.0)}


def test_another_process_asks_without_the_field_at_once(tmp_path: Path) -> None:
    async def check() -> None:
        refuses = refusing(prompt_cache_key="Unknown parameter: 'prompt_cache_key'.")
        async with server(refuses) as (url, came):
            for _ in range(2):
                with closing(open_ledger(tmp_path)) as ledger:
                    async with gateway_to(url, ledger) as provider:
                        assert (await asked(provider)).text == "Hello"
            assert ["prompt_cache_key" in body for body in came] == [True, False, False]

    run(check())


def test_what_was_refused_before_and_a_person_sets_is_named_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def check() -> None:
        async with server(lambda body: ANSWER) as (url, came):
            with closing(open_ledger(tmp_path)) as ledger:
                async with gateway_to(url, ledger) as provider:
                    fingerprint = configuration(url).fingerprint
                    for name in ("temperature", "top_p", "prompt_cache_key"):
                        ledger.keep_refusal(fingerprint, "text", name, time())
                    ledger.flush()
                    with caplog.at_level(logging.INFO):
                        for _ in range(2):
                            options = {"_conversationId": "c1", "temperature": 0.5}
                            assert (await asked(provider, model_options=options)).text == "Hello"
            assert not [body for body in came if body.keys() & {"temperature", "prompt_cache_key"}]
            said = [record.getMessage() for record in caplog.records if "before" in record.getMessage()]
            assert said == ["text refused prompt_cache_key, temperature before (you set temperature): left out"]

    run(check())


def test_of_a_model_that_refuses_every_value_the_last_ones_are_remembered() -> None:
    times = iter(range(10_000))
    memory = RefusedFields(clock=lambda: float(next(times)))
    for number in range(150):
        memory.keep("m", frozenset({f"seed={number}"}))
    assert memory.of("m") == {f"seed={number}" for number in range(50, 150)}
