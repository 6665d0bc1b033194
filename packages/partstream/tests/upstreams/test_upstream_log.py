"""The log of an upstream that failed, and of an answer that it cut: everything that finds it there."""

import logging

import pytest

from partstream.upstream.endpoint import Secret
from partstream_devtools.testing.faults import Send, document, event_stream
from upstreams.upstreams import ask, gateway_to, run, server_of


def test_an_error_of_the_upstream_is_logged_with_all_that_finds_it_and_without_the_key(
    caplog: pytest.LogCaptureFixture,
):
    key = "sk-planted-0123456789"
    body = f'{{"error":{{"message":"slow down, {key}","code":"rate_limit_exceeded"}},"more":"{"x" * 5_000}"}}'.encode()
    busy = document(429, body, headers=[("retry-after", "0.01"), ("x-request-id", "req_7")])

    async def test() -> None:
        async with server_of(busy) as (url, _), gateway_to(url, api_key=Secret(key)) as gateway:
            assert (await ask(gateway, "Hi")).error is not None

    with caplog.at_level(logging.DEBUG, "partstream"):
        run(test())
    said = [record.getMessage() for record in caplog.records if "HTTP 429: " in record.getMessage()]
    attempts = [line for line in said if line.startswith("attempt")]
    ends = [line for line in said if "could not answer" in line]
    assert len(attempts) == 2
    assert len(ends) == 1
    for line in attempts + ends:
        for fact in ("code rate_limit_exceeded", "retry after", "request req_7"):
            assert fact in line
        assert line.count("HTTP 429") == 1
    assert not any("\n" in line or "body: " in line for line in attempts)
    assert "body: " in ends[0]
    messages = [record.getMessage() for record in caplog.records]
    assert sum(message.startswith("attempt") and "body: " in message for message in messages) == 2  # at the level debug
    assert not any(key in message or len(message) > 3_000 for message in messages)


CUT = {"length": ("max_output_tokens", "it reached its token limit"), "filter": ("content_filter", "a content filter")}


@pytest.mark.parametrize(("reason", "says"), CUT.values(), ids=CUT)
def test_an_answer_that_a_limit_or_a_filter_cut_is_logged_as_cut(
    caplog: pytest.LogCaptureFixture, reason: str, says: str
):
    delta = '{"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":"Hello"}'
    end = f'{{"type":"response.incomplete","response":{{"incomplete_details":{{"reason":"{reason}"}}}}}}'
    events = [Send(f"data: {event}\n\n".encode()) for event in (delta, end)]

    async def test() -> None:
        async with server_of(event_stream(events)) as (url, _), gateway_to(url) as gateway:
            await ask(gateway, "Hi")

    with caplog.at_level(logging.DEBUG, "partstream"):
        run(test())
    assert any(f"was cut: {says}" in record.getMessage() for record in caplog.records)
