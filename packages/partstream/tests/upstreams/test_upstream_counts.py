"""An upstream that counts requests: asked only by setting, within bounds, and never in the way of the answer."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from listening import application_of, listening
from partstream.codec.json_codec import dumps, loads
from partstream.conversation.preparation import CountTokens, RequestSettings
from partstream.protocols.protocol import CountEndpoint, asking
from partstream.protocols.serve import WireRequest
from partstream.server.loopback import ServerConnection
from partstream.tokens import CountSource, TokenCount
from partstream.upstream import requests as upstream_counts
from partstream.upstream.discovery import FetchResponse
from partstream.upstream.requests import UpstreamCounts
from partstream_devtools.testing.faults import document
from partstream_devtools.testing.upstream import ReplayUpstream
from upstreams.upstreams import HELLO, ask, gateway_to, run, server_of

ASKING = RequestSettings(count_tokens=CountTokens.UPSTREAM, extra_headers={"x-team": "blue"})
COUNTED = document(200, dumps({"object": "response.input_tokens", "input_tokens": 950}))
REFUSED = document(400, b"{}")


def test_the_upstream_counts_the_request_that_is_sent_next(caplog):
    async def check() -> None:
        async with server_of(COUNTED, REFUSED) as (url, requests), gateway_to(url, request=ASKING) as provider:
            with caplog.at_level(logging.WARNING):
                await ask(provider, "Hello")
            counting, sent = requests
            assert (counting.path, sent.path) == ("/v1/responses/input_tokens", "/v1/responses")
            assert counting.headers["x-team"] == "blue"
            body, whole = loads(counting.body), loads(sent.body)
            assert body["input"] == whole["input"]
            assert "stream" not in body
            assert "has 950 tokens (counted), of 1,000" in caplog.text

    run(check())


def test_it_is_not_asked_unless_somebody_says_so():
    async def check() -> None:
        async with server_of(REFUSED) as (url, requests), gateway_to(url) as provider:
            await ask(provider, "Hello")
            assert [request.path for request in requests] == ["/v1/responses"]

    run(check())


@asynccontextmanager
async def without_counts() -> AsyncIterator[tuple[str, ReplayUpstream]]:
    """The replay upstream at a URL where nothing counts, as at most servers of this wire."""
    upstream = ReplayUpstream()

    async def serve(connection: ServerConnection) -> None:
        while (request := await connection.next_request()) is not None:
            counts = request.path.endswith("/input_tokens")
            await connection.answer(request, application_of(document(404, b"{}")) if counts else upstream.application)

    async with listening(serve) as url:
        yield f"{url}/v1", upstream


def test_a_server_that_does_not_count_answers_all_the_same_and_is_soon_not_asked_any_more(caplog):
    async def check() -> None:
        async with without_counts() as (url, upstream), gateway_to(url, request=ASKING) as provider:
            with caplog.at_level(logging.INFO):
                for _ in range(5):
                    assert (await ask(provider, "Hello")).text == HELLO
            assert len(upstream.exchanges) == 5
            said = [record.getMessage() for record in caplog.records if "did not count" in record.getMessage()]
            assert len(said) == 3
            assert said[-1].endswith("it is not asked any more")

    run(check())


COUNT = asking("openresponses").count
ASKED = WireRequest("/responses", {"input": "Hi"})


def answered(status: int, body: bytes) -> tuple[TokenCount | None, list[Any], int]:
    """What comes of a count whose upstream answers so, what it was asked, and how often it has failed by then."""
    asked: list[Any] = []

    async def fetch(path, headers, content=None):
        asked.append((path, loads(content)))
        return FetchResponse(status, {}, body)

    counts = UpstreamCounts(fetch, "/v1", COUNT)
    whole = {"model": "m", "input": [], "tools": [], "stream": True, "store": False, "max_output_tokens": 9}
    return asyncio.run(counts.count(WireRequest("/responses", whole), {})), asked, counts.failures


@pytest.mark.parametrize(
    "answer", [b'{"object": "response.input_tokens", "input_tokens": 14}', b'{"input_tokens": 14}']
)
def test_the_count_of_an_upstream_is_read_and_it_is_sent_only_what_counts(answer):
    count, asked, failures = answered(200, answer)
    assert (count, failures) == (TokenCount(14, CountSource.COUNTED), 0)
    assert asked == [("/v1/responses/input_tokens", {"model": "m", "input": [], "tools": []})]


NO_COUNTS = [b"no JSON", b"null", b"[]", b"{}", b'{"input_tokens": "14"}', b'{"input_tokens": -1}']


@pytest.mark.parametrize("answer", [*NO_COUNTS, b'{"input_tokens": true}', b'{"input_tokens": 1.5}'])
def test_an_answer_without_a_count_is_none_and_the_log_says_what_came(answer, caplog):
    with caplog.at_level(logging.INFO):
        count, _, failures = answered(200, answer)
    assert (count, failures) == (None, 1)
    assert f"got {answer!r}, expected a number of tokens" in caplog.text


def test_an_error_status_is_no_count(caplog):
    with caplog.at_level(logging.INFO):
        assert answered(404, b"{}")[0] is None
    assert "got HTTP 404" in caplog.text


def test_a_count_that_takes_too_long_is_not_waited_for(monkeypatch):
    monkeypatch.setattr(upstream_counts, "COUNT_SECONDS", 0.01)

    async def fetch(path, headers, body=None):
        await asyncio.Event().wait()

    counts = UpstreamCounts(fetch, "/v1", COUNT)
    assert asyncio.run(counts.count(ASKED, {})) is None


def test_an_endpoint_makes_its_own_question_and_headers_that_somebody_set_win():
    asked: list[Any] = []

    async def fetch(path, headers, content=None):
        asked.append((path, headers, loads(content)))
        return FetchResponse(200, {}, b'{"totalTokens": 31}')

    def question(request: WireRequest) -> WireRequest:
        return WireRequest(request.path.replace(":answer", ":count"), {"of": request.body}, request.headers)

    counts = UpstreamCounts(fetch, "/v1", CountEndpoint(question, "totalTokens"))
    whole = WireRequest("/models/m:answer", {"text": "Hi"}, {"x-version": "1", "x-team": "red"})
    assert asyncio.run(counts.count(whole, {"x-team": "blue"})) == TokenCount(31, CountSource.COUNTED)
    headers = {"x-version": "1", "x-team": "blue", "content-type": "application/json"}
    assert asked == [("/v1/models/m:count", headers, {"of": {"text": "Hi"}})]


def test_where_no_endpoint_counts_nothing_is_asked():
    counts = UpstreamCounts(None, "/v1", None)
    assert asyncio.run(counts.count(ASKED, {})) is None
    assert counts.failures == 0
