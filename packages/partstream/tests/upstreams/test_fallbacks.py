"""Fallback models: which errors another model helps with, in which order, never after a part, and where it is said."""

import json
import logging
from dataclasses import replace

import pytest

from partstream import CancellationTokenSource
from partstream.conversation.preparation import RequestSettings
from partstream.errors import (
    TimeoutPhase,
    TruncatedStreamError,
    UpstreamConnectionError,
    UpstreamError,
    UpstreamFailureError,
    UpstreamHTTPError,
    UpstreamProtocolError,
    UpstreamTimeoutError,
)
from partstream.protocols.errors import COMMON_ERRORS
from partstream.upstream.provider import as_shown, helps_another_model
from partstream_devtools.testing.faults import document
from partstream_devtools.testing.upstream import ReplayUpstream
from upstreams.upstreams import HELLO, MODEL, RETRY, ask, configuration, gateway_to, run, server_of

HELPED = {
    "too many requests": UpstreamHTTPError(429),
    "a server error": UpstreamHTTPError(500),
    "overloaded, by its status": UpstreamHTTPError(529),
    "a status of the server, said in the stream": UpstreamFailureError("busy", provider_code="502", http_status=502),
    "overloaded, said in the stream": UpstreamFailureError("busy", provider_code="server_is_overloaded"),
    "no connection": UpstreamConnectionError("http://host", "refused"),
    "no first event": UpstreamTimeoutError(TimeoutPhase.FIRST_EVENT, 1.0),
    "a stream that broke off": TruncatedStreamError("created"),
}
NOT_HELPED = {
    "a bad request": UpstreamHTTPError(400),
    "a wrong key": UpstreamHTTPError(401),
    "no permission": UpstreamHTTPError(403),
    "no such model": UpstreamHTTPError(404),
    "a refusal in the stream": UpstreamFailureError("no", provider_code="content_policy_violation"),
    "a failure without a code": UpstreamFailureError("no"),
    "a status of the request, said in the stream": UpstreamFailureError("no", provider_code="400", http_status=400),
    "too long in all": UpstreamTimeoutError(TimeoutPhase.TOTAL, 1.0),
    "another protocol": UpstreamProtocolError(event_type="x", field=None, got="y", expected="z"),
}


@pytest.mark.parametrize("error", HELPED.values(), ids=HELPED)
def test_another_model_helps_with(error: UpstreamError):
    assert helps_another_model(error, COMMON_ERRORS)


@pytest.mark.parametrize("error", NOT_HELPED.values(), ids=NOT_HELPED)
def test_no_other_model_helps_with(error: UpstreamError):
    assert not helps_another_model(error, COMMON_ERRORS)


def test_the_detail_of_a_model_says_what_it_falls_back_on():
    models = (replace(MODEL, id="a"), replace(MODEL, id="b", detail="128K"), replace(MODEL, id="c"))
    own = configuration("http://127.0.0.1:9/v1", fallbacks={"a": ("x", "y"), "b": ("c",)})
    described = as_shown(models, own, None)
    assert [model.detail for model in described] == ["falls back on x, y", "128K; falls back on c", None]


def _asked(upstream: ReplayUpstream) -> list[str]:
    return [request.body["model"] for request in upstream.requests]


def _gateway(base_url: str, *others: str, fault: str = ""):
    """A gateway whose first model meets the fault, and no other does."""
    first = RequestSettings(extra_headers={"x-partstream-fault": fault} if fault else {})
    return gateway_to(
        base_url, retry=replace(RETRY, attempts=1), fallbacks={"text": others}, model_requests={"text": first}
    )


def test_models_are_asked_in_order_and_the_log_says_so(caplog: pytest.LogCaptureFixture):
    async def test() -> None:
        async with server_of(document(503, b"{}")) as (url, requests):
            async with _gateway(url, "second", "third") as gateway:
                answer = await ask(gateway, "Hi")
            assert isinstance(answer.error, UpstreamHTTPError)
            assert answer.error.http_status == 503
            assert [json.loads(request.body)["model"] for request in requests] == ["text", "second", "third"]

    with caplog.at_level(logging.WARNING, "partstream.upstreams"):
        run(test())
    said = [record.getMessage() for record in caplog.records]
    assert [line.partition(":")[0] for line in said] == [
        "text cannot answer, asking second in its place",
        "second cannot answer, asking third in its place",
    ]


def test_the_first_model_that_can_answers():
    async def test() -> None:
        async with (
            ReplayUpstream() as upstream,
            _gateway(upstream.base_url, "text-2", "text-3", fault="status=503") as gateway,
        ):
            answer = await ask(gateway, "Hi")
            assert (answer.text, answer.error) == (HELLO, None)
            assert _asked(upstream) == ["text", "text-2"]

    run(test())


def test_a_wrong_key_asks_no_other_model():
    async def test() -> None:
        async with server_of(document(401, b"{}")) as (url, requests):
            async with _gateway(url, "second") as gateway:
                answer = await ask(gateway, "Hi")
            assert isinstance(answer.error, UpstreamHTTPError)
            assert len(requests) == 1

    run(test())


def test_after_the_first_part_no_other_model_is_asked():
    async def test() -> None:
        async with (
            ReplayUpstream() as upstream,
            _gateway(upstream.base_url, "text-2", fault="cut=9") as gateway,
        ):
            answer = await ask(gateway, "Hi")
            assert answer.text
            assert isinstance(answer.error, UpstreamError)
            assert _asked(upstream) == ["text"]

    run(test())


def test_a_cancelled_request_asks_no_other_model():
    async def test() -> None:
        async with server_of(document(503, b"{}")) as (url, requests):
            source = CancellationTokenSource()
            source.cancel()
            async with _gateway(url, "second") as gateway:
                answer = await ask(gateway, "Hi", token=source.token)
            assert answer.error is None
            assert len(requests) <= 1

    run(test())
