"""The trace of an answer: one line for each event, and nothing that anybody wrote."""

import json
import logging
import re
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from partstream.protocols.reader import TappedReader
from partstream.upstream.configuration import RetryPolicy
from partstream.upstream.context import TRACE, LogLevel
from partstream.upstream.endpoint import Secret
from partstream_devtools.testing.faults import Send, Step, document, event_stream
from upstreams.upstreams import ask, gateway_to, replay, run, server_of

KEY = "sk-planted-0123456789"


def lines_of(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.name == "partstream.upstreams.trace"]


def streamed(*events: object) -> list[Step]:
    texts = (event if isinstance(event, str) else json.dumps(event) for event in events)
    return list(event_stream(Send(f"data: {text}\n\n".encode()) for text in texts))


def test_each_event_has_a_line_with_its_time_its_type_its_ids_and_what_came_of_it(caplog: pytest.LogCaptureFixture):
    call = {"type": "function_call", "id": "fc_1", "call_id": "c_1", "name": "f", "arguments": '{"a":1,"b":2}'}
    steps = streamed(
        {"type": "response.created", "sequence_number": 0, "response": {"id": "resp_1"}},
        {"type": "response.output_item.done", "output_index": 0, "item": call},
        {"type": "response.completed", "response": {"usage": {"input_tokens": 3, "output_tokens": 4}}},
    )

    async def test() -> None:
        async with server_of(steps) as (url, _), gateway_to(url) as gateway:
            assert (await ask(gateway, "Hi")).error is None

    with caplog.at_level(TRACE, "partstream"):
        run(test())
    lines = [re.sub(r"\+\d+\.\d{3} s  (.*) \(\d+ bytes\)", r"\1", line) for line in lines_of(caplog)]
    created, called, completed = lines
    assert created == "answer 1 #1 response.created sequence_number=0 response.id=resp_1 -> nothing"
    ids = "output_index=0 item.id=fc_1 item.call_id=c_1"
    assert called == f"answer 1 #2 response.output_item.done {ids} -> tool call gw-c_1 with 2 arguments"
    assert completed == "answer 1 #3 response.completed -> end completed tool-calls (completed) tokens 3 in, 4 out"
    assert {record.levelno for record in caplog.records if record.name.endswith(".trace")} == {TRACE}


def test_it_holds_no_words_of_a_model_a_person_or_a_tool(caplog: pytest.LogCaptureFixture):
    secret = "the-model-said-this"  # noqa: S105 - it opens nothing
    call = {"type": "function_call", "call_id": "c 1", "name": secret, "arguments": json.dumps({secret: secret})}
    events = (
        f'{{"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":"{secret}"}}',
        f'{{"type":"{secret} and more words","item_id":"{secret} or {secret}"}}',
        f'{{"type":"response.x","{secret} id":1,"data":{{"user_id":"{secret}"}},"text":"{secret}"}}',
        {"type": "response.output_item.done", "output_index": 1, "item": call},
        '{"type":"response.completed","response":{}}',
    )
    steps = streamed(*events)

    async def test() -> None:
        async with server_of(steps) as (url, _), gateway_to(url) as gateway:
            assert (await ask(gateway, secret)).error is None

    with caplog.at_level(TRACE, "partstream.upstreams.trace"):
        run(test())
    lines = lines_of(caplog)
    assert len(lines) >= len(events)
    assert secret not in "\n".join(lines)
    assert f"text of {len(secret)}" in lines[0]
    assert "characters)" in lines[1]


def test_it_holds_no_key(caplog: pytest.LogCaptureFixture):
    events = (
        f'{{"type":"{KEY}","item_id":"{KEY}"}}',
        f'{{"type":"response.incomplete","response":{{"id":"{KEY}","incomplete_details":{{"reason":"{KEY}"}}}}}}',
    )
    steps = streamed(*events)

    async def test() -> None:
        async with server_of(steps) as (url, _), gateway_to(url, api_key=Secret(KEY)) as gateway:
            await ask(gateway, "Hi")

    with caplog.at_level(TRACE, "partstream"):
        run(test())
    assert "***" in lines_of(caplog)[0]
    assert KEY not in caplog.text


def test_each_attempt_has_a_number_and_a_document_is_one_step(caplog: pytest.LogCaptureFixture):
    broken = [*event_stream([Send(b"data: no JSON\n\n")])]
    whole = document(200, b'{"object":"response","id":"r","output":[],"status":"completed"}')

    async def test() -> None:
        async with (
            server_of(document(503, b"{}"), broken, whole) as (url, _),
            gateway_to(url, retry=RetryPolicy(attempts=2, first_wait=0.001)) as gateway,
        ):
            await ask(gateway, "Hi")
            await ask(gateway, "Hi")

    with caplog.at_level(TRACE, "partstream"):
        run(test())
    lines = lines_of(caplog)
    assert lines[0].startswith("answer 2 #1 ")
    assert "UpstreamProtocolError" in lines[0]
    assert next(line for line in lines if line.startswith("answer 3 #1 ")).count("document id=r") == 1


LEVELS = [
    (logging.DEBUG, None, False),
    (TRACE, None, True),
    (logging.DEBUG, LogLevel.TRACE, True),
    (TRACE, LogLevel.DEBUG, False),
    (TRACE, LogLevel.TRACE, True),
]


@pytest.mark.parametrize(("of_logger", "of_upstream", "traced"), LEVELS)
def test_the_level_of_the_upstream_goes_before_that_of_the_logger(
    of_logger: int, of_upstream: LogLevel | None, traced: bool, caplog: pytest.LogCaptureFixture
):
    async def test() -> None:
        async with replay(log_level=of_upstream) as (_, gateway):
            await ask(gateway, "Hi")

    with caplog.at_level(of_logger, "partstream"):
        made = _count_readers(test)
    assert made is traced


def _count_readers(test: Callable[[], Coroutine[Any, Any, None]]) -> bool:
    """Whether a reader with a tap is made while a test runs; the other kind has no line for it."""
    made: list[object] = []
    with pytest.MonkeyPatch.context() as patch:
        begin = TappedReader.__init__
        patch.setattr(TappedReader, "__init__", lambda *given, **more: made.append(given) or begin(*given, **more))
        run(test())
    return bool(made)
