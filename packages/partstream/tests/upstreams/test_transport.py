"""The transport against an upstream that misbehaves: every way in which an answer can go wrong has its own end."""

import asyncio
import gc
import json
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import chain, islice, pairwise, repeat
from pathlib import Path
from typing import Any

import pytest

from partstream.errors import (
    LanguageModelErrorCode,
    TimeoutPhase,
    TruncatedStreamError,
    UpstreamConnectionError,
    UpstreamError,
    UpstreamFailureError,
    UpstreamHTTPError,
    UpstreamProtocolError,
    UpstreamTimeoutError,
)
from partstream.lm.outputs import Finish, Outcome, StreamOptions, StreamOutput
from partstream.lm.parts import TextPart
from partstream.protocols.errors import COMMON_ERRORS
from partstream.protocols.protocol import PROTOCOLS, asking
from partstream.protocols.serve import WireRequest
from partstream.upstream.configuration import RetryPolicy
from partstream.upstream.endpoint import Secret
from partstream.upstream.http import UpstreamHTTP
from partstream.upstream.http_errors import ContentTypeError
from partstream.upstream.transport import UpstreamRequest
from partstream_devtools.testing.faults import End, EndKind, Head, Send, Stall, Step, document, event_stream
from partstream_devtools.testing.replaying import Outcome as Delivered
from partstream_devtools.testing.upstream import ReplayUpstream
from rows import one_test_for
from upstreams.test_requests import message, stream_of
from upstreams.upstreams import HELLO, LIMITS, PATIENT, RETRY, Streaming, configuration, run, server_of

PROTOCOL = PROTOCOLS["openresponses"]
PATH = asking("openresponses").path
ONE_ATTEMPT = replace(RETRY, attempts=1)


@dataclass
class Streamed:
    """What a transport yielded, and what it raised or ended with."""

    outputs: list[StreamOutput] = field(default_factory=list)
    raised: UpstreamError | None = None

    @property
    def text(self) -> str:
        return "".join(output.value for output in self.outputs if isinstance(output, TextPart))

    @property
    def finish(self) -> Finish | None:
        return next((output for output in self.outputs if isinstance(output, Finish)), None)

    @property
    def error(self) -> Any:
        return self.raised or (self.finish and self.finish.error)


def exchange(body: dict[str, Any]) -> UpstreamRequest:
    return UpstreamRequest(WireRequest(PATH, body), PROTOCOL, COMMON_ERRORS, StreamOptions())


def transport_to(base_url: str, **changes: Any) -> tuple[UpstreamHTTP, Streaming]:
    settings = configuration(base_url, **changes)
    http = UpstreamHTTP(settings)
    return http, Streaming(http, settings.timeouts, settings.retry)


async def stream(
    base_url: str, text: str = "Hi", on_wait: Callable[[str, float], object] = lambda said, wait: None, **changes: Any
) -> Streamed:
    """Sends one request and reads its answer to the end."""
    http, transport = transport_to(base_url, **changes)
    body = {"model": "any", "input": text, "stream": True}
    streamed = Streamed()
    try:
        async for outputs in transport.stream(exchange(body), on_wait):
            streamed.outputs += outputs
    except UpstreamError as error:
        streamed.raised = error
    finally:
        await http.aclose()
    return streamed


async def misbehave(fault: str | None, settings: dict[str, Any] | None = None, **changes: Any) -> tuple[Streamed, int]:
    """What comes of a faulty answer, and how many requests it took."""
    async with ReplayUpstream(fault=fault, **settings or {}) as upstream:
        return await stream(upstream.base_url, **changes), len(upstream.requests)


# ---- answers that are whole in spite of it ----

WHOLE = [
    None,
    "split=3",
    "split=7",
    "no_done",
    "keep_open",
    "no_done,keep_open",
    "missing=response.created",
    "missing=response.in_progress",
    "missing=response.output_item.added",
    "missing=response.content_part.added",
    "missing=response.output_text.delta",
    "missing=response.output_text.done",
    "missing=response.content_part.done",
    "missing=response.output_item.done",
    "duplicate=response.created",
    "duplicate=response.output_item.added",
    "duplicate=response.output_text.done",
    "duplicate=response.output_item.done",
    "duplicate=response.completed",
    "stall=4:0.1",
    "stall_before_events=0.1",
    "status_then_ok=1",
    "status_then_ok=2:429:0",
]


@one_test_for("fault", WHOLE)
def test_an_answer_is_whole_in_spite_of(fault: str | None):
    async def test() -> None:
        streamed, _ = await misbehave(fault)
        assert streamed.error is None
        assert streamed.text == HELLO
        assert streamed.finish.outcome is Outcome.COMPLETED
        assert streamed.outputs[-1] is streamed.finish
        assert streamed.finish.usage.total_tokens > 0

    run(test())


def test_an_answer_ends_with_its_last_event_when_the_connection_stays_open():
    async def test() -> None:
        async with ReplayUpstream(fault="keep_open") as upstream:
            streamed = await stream(upstream.base_url, timeouts=PATIENT)
            assert streamed.finish.outcome is Outcome.COMPLETED
            assert (await upstream.wait_for_end()).delivery.outcome is Delivered.CLIENT_CLOSED

    run(test())


def test_the_connection_of_a_whole_answer_is_used_for_the_next_request():
    async def test() -> None:
        async with ReplayUpstream() as upstream:
            http, transport = transport_to(upstream.base_url)
            for number in (1, 2, 3):
                body = {"model": "text", "input": f"{number}", "stream": True}
                answer = transport.stream(exchange(body))
                assert [batch async for batch in answer]
                assert (await upstream.wait_for_end(number)).delivery.outcome is Delivered.WHOLE
            assert upstream.open_connections == 1
            await http.aclose()

    run(test())


# ---- answers that break after their first event: the parts so far, then the error; never a second request ----

BROKEN: list[tuple[str, type[UpstreamError], dict[str, Any], dict[str, float]]] = [
    ("truncate=6", TruncatedStreamError, {"state": "OPEN"}, {}),
    ("missing=response.completed", TruncatedStreamError, {}, {}),
    # `[DONE]` came and the connection stays open: the idle limit is not waited for.
    ("missing=response.completed,keep_open", TruncatedStreamError, {}, {"idle": 3600, "total": 3600}),
    ("cut=6", UpstreamConnectionError, {"established": True}, {}),
    ("close=6", UpstreamConnectionError, {"established": True}, {}),
    ("malformed=6", UpstreamProtocolError, {"field": "data", "expected": "a JSON object"}, {}),
    ("stall=6", UpstreamTimeoutError, {"phase": TimeoutPhase.IDLE, "seconds": 1.0}, {"idle": 1.0}),
    ("stall=6", UpstreamTimeoutError, {"phase": TimeoutPhase.TOTAL, "seconds": 1.0}, {"total": 1.0}),
]


@pytest.mark.parametrize(("fault", "error_type", "fields", "limits"), BROKEN)
def test_an_answer_that_breaks_in_the_middle_gives_its_parts_and_then(
    fault: str, error_type: type[UpstreamError], fields: dict[str, Any], limits: dict[str, float]
):
    async def test() -> None:
        streamed, requests = await misbehave(fault, timeouts=replace(LIMITS, **limits))
        assert streamed.raised is None
        assert type(streamed.error) is error_type
        assert {name: getattr(streamed.error, name) for name in fields} == fields
        assert HELLO.startswith(streamed.text)
        assert streamed.text
        truncated = error_type is TruncatedStreamError
        assert streamed.finish.outcome is (Outcome.TRUNCATED if truncated else Outcome.FAILED)
        assert requests == 1

    run(test())


def test_an_answer_that_never_ends_is_stopped_by_the_total_limit_while_events_still_come():
    async def test() -> None:
        async with ReplayUpstream(scenario="long=10000", pace=0.01) as upstream:
            streamed = await stream(upstream.base_url, timeouts=replace(LIMITS, total=1.0))
            assert (await upstream.wait_for_end()).delivery.outcome is Delivered.CLIENT_CLOSED
        assert streamed.error.phase is TimeoutPhase.TOTAL
        assert streamed.text
        assert len(upstream.requests) == 1

    run(test())


def test_a_failure_that_the_upstream_reports_in_the_stream_is_that_failure_and_is_not_tried_again():
    async def test() -> None:
        streamed, requests = await misbehave(None, {"scenario": "failed"})
        assert isinstance(streamed.error, UpstreamFailureError)
        assert streamed.error.provider_code == "server_error"
        assert requests == 1

    run(test())


def _recorded(folder: Path, *events: dict[str, Any]) -> Path:
    path = folder / "recorded.jsonl"
    path.write_text("".join(json.dumps(event) + "\n" for event in events))
    return path


ERROR_EVENT = {"type": "error", "error": {"type": "server_error", "code": "overloaded", "message": "Too busy."}}


def test_an_error_event_followed_by_silence_is_the_upstreams_failure_and_no_timeout(tmp_path: Path):
    async def test() -> None:
        settings = {"replay": _recorded(tmp_path, ERROR_EVENT)}
        streamed, requests = await misbehave("keep_open", settings, timeouts=replace(LIMITS, idle=0.2))
        assert isinstance(streamed.error, UpstreamFailureError)
        assert (streamed.error.provider_code, streamed.error.provider_message) == ("overloaded", "Too busy.")
        assert requests == 1

    run(test())


def test_an_error_event_is_not_waited_out_for_the_whole_idle_limit(tmp_path: Path):
    async def test() -> None:
        settings = {"replay": _recorded(tmp_path, ERROR_EVENT)}
        streamed, _ = await misbehave("keep_open", settings, timeouts=PATIENT)
        assert isinstance(streamed.error, UpstreamFailureError)

    run(test())


def _comments() -> Iterator[Step]:
    """Keep-alive comments without end: twenty of them take a second."""
    return chain.from_iterable(repeat((Stall(0.05), Send(b": alive\n\n"))))


def test_keep_alive_comments_after_an_error_event_do_not_prolong_the_wait():
    async def test() -> None:
        error = Send(b"data: " + json.dumps(ERROR_EVENT).encode() + b"\n\n", "error")
        async with server_of(event_stream(chain([error], _comments()))) as (url, _):
            streamed = await stream(url, timeouts=replace(PATIENT, idle=0.5))
        assert isinstance(streamed.error, UpstreamFailureError)

    run(test())


def test_keep_alive_comments_hold_off_the_idle_limit_but_not_the_one_for_the_first_event():
    async def test() -> None:
        comments = list(islice(_comments(), 50))
        limits = replace(PATIENT, idle=1.0, first_event=1.0)
        created = Send(b'data: {"type":"response.created","response":{"id":"r"}}\n\n')
        completed = Send(b'data: {"type":"response.completed","response":{"id":"r","status":"completed"}}\n\n')
        async with server_of(event_stream([created, *comments, completed]), event_stream(_comments())) as (url, _):
            assert (await stream(url, timeouts=limits)).finish.outcome is Outcome.COMPLETED
            assert (await stream(url, timeouts=limits)).error.phase is TimeoutPhase.FIRST_EVENT

    run(test())


# ---- no answer at all ----

NO_ANSWER: list[tuple[str, type[UpstreamError], dict[str, Any], dict[str, float], int]] = [
    (
        "stall_before_headers",
        UpstreamTimeoutError,
        {"phase": TimeoutPhase.FIRST_EVENT, "seconds": 0.2},
        {"first_event": 0.2},
        1,
    ),
    ("stall_before_events", UpstreamTimeoutError, {"phase": TimeoutPhase.FIRST_EVENT}, {"first_event": 0.2}, 1),
    ("stall_before_events", UpstreamTimeoutError, {"phase": TimeoutPhase.TOTAL}, {"total": 0.2}, 1),
    ("cut_before_headers", UpstreamConnectionError, {"established": False}, {}, 3),
    ("cut=0", UpstreamConnectionError, {"established": False}, {}, 3),
    ("close=0", UpstreamConnectionError, {"established": False}, {}, 3),
    ("no_done,truncate=0", UpstreamConnectionError, {"established": False}, {}, 3),
    ("html", ContentTypeError, {"field": "content-type", "expected": "text/event-stream"}, {}, 1),
]


@pytest.mark.parametrize(("fault", "error_type", "fields", "limits", "attempts"), NO_ANSWER)
def test_what_breaks_before_the_first_event_is_raised_and_retried_only_where_that_helps(
    fault: str, error_type: type[UpstreamError], fields: dict[str, Any], limits: dict[str, float], attempts: int
):
    async def test() -> None:
        streamed, requests = await misbehave(fault, timeouts=replace(LIMITS, **limits))
        assert type(streamed.raised) is error_type
        assert {name: getattr(streamed.error, name) for name in fields} == fields
        assert streamed.outputs == []
        assert requests == attempts

    run(test())


STATUSES: list[tuple[str, dict[str, Any], LanguageModelErrorCode, int]] = [
    ("status=400", {"http_status": 400}, LanguageModelErrorCode.UNSPECIFIED, 1),
    ("status=401", {"http_status": 401}, LanguageModelErrorCode.NO_PERMISSIONS, 1),
    ("status=402", {"http_status": 402}, LanguageModelErrorCode.BLOCKED, 1),
    ("status=403", {"http_status": 403}, LanguageModelErrorCode.NO_PERMISSIONS, 1),
    ("status=404", {"http_status": 404}, LanguageModelErrorCode.NOT_FOUND, 1),
    ("status=408", {"http_status": 408}, LanguageModelErrorCode.UNSPECIFIED, 3),
    ("status=413", {"http_status": 413}, LanguageModelErrorCode.UNSPECIFIED, 1),
    ("status=422", {"http_status": 422}, LanguageModelErrorCode.UNSPECIFIED, 1),
    ("status=429", {"http_status": 429, "retry_after": None}, LanguageModelErrorCode.BLOCKED, 3),
    ("status=429:0", {"http_status": 429, "retry_after": 0.0}, LanguageModelErrorCode.BLOCKED, 3),
    ("status=429:60", {"http_status": 429, "retry_after": 60.0}, LanguageModelErrorCode.BLOCKED, 1),
    ("status=500", {"http_status": 500}, LanguageModelErrorCode.UNSPECIFIED, 3),
    ("status=501", {"http_status": 501}, LanguageModelErrorCode.UNSPECIFIED, 1),
    ("status=502", {"http_status": 502}, LanguageModelErrorCode.UNSPECIFIED, 3),
    ("status=503", {"http_status": 503}, LanguageModelErrorCode.UNSPECIFIED, 3),
    ("status=504", {"http_status": 504}, LanguageModelErrorCode.UNSPECIFIED, 3),
    ("status=529", {"http_status": 529}, LanguageModelErrorCode.UNSPECIFIED, 3),
]


@pytest.mark.parametrize(("fault", "fields", "code", "attempts"), STATUSES)
def test_an_error_status_is_a_typed_error_with_what_the_upstream_said(
    fault: str, fields: dict[str, Any], code: LanguageModelErrorCode, attempts: int
):
    async def test() -> None:
        streamed, requests = await misbehave(fault)
        assert type(streamed.raised) is UpstreamHTTPError
        assert {name: getattr(streamed.error, name) for name in fields} == fields
        assert streamed.error.code is code
        said = f"The replay upstream was asked to answer with status {fields['http_status']}."
        assert streamed.error.provider_message == said
        assert streamed.error.provider_code
        assert requests == attempts

    run(test())


ANSWERED = stream_of(message("Hello"))
BUSY_DOCUMENT = document(200, b'{"error":{"message":"Rate limited","code":429}}')


def test_an_error_document_under_a_status_of_success_counts_by_the_status_in_it():
    """OpenRouter answers 200 once a model has begun."""

    async def test() -> None:
        async with server_of(BUSY_DOCUMENT, ANSWERED) as (url, requests):
            assert (await stream(url)).text == "Hello"
            assert len(requests) == 2
        async with server_of(BUSY_DOCUMENT) as (url, requests):
            error = (await stream(url)).error
            assert isinstance(error, UpstreamHTTPError)
            assert (error.http_status, error.code, len(requests)) == (429, LanguageModelErrorCode.BLOCKED, 3)

    run(test())


LASTING = {
    "a spent quota": (429, {"message": "You exceeded your current quota", "code": "insufficient_quota"}),
    "no credit": (402, {"message": "Insufficient Balance"}),
    "a refusal of a filter": (429, {"message": "No.", "code": "content_filter"}),
    "an input that is too long": (500, {"message": "the input length exceeds the context length"}),
    "a server that cannot do it at all": (501, {"message": "No."}),
}


@pytest.mark.parametrize(("status", "said"), LASTING.values(), ids=LASTING)
def test_what_lasts_is_not_tried_again(status: int, said: dict[str, Any]):
    async def test() -> None:
        async with server_of(document(status, json.dumps({"error": said}).encode())) as (url, requests):
            assert isinstance((await stream(url)).error, UpstreamHTTPError)
            assert len(requests) == 1

    run(test())


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 520, 529])
def test_what_passes_is_tried_again(status: int):
    async def test() -> None:
        async with server_of(document(status, b"{}"), ANSWERED) as (url, requests):
            assert (await stream(url)).text == "Hello"
            assert len(requests) == 2

    run(test())


WAITS = {
    "retry-after-ms": ((("retry-after-ms", "30"), ("retry-after", "50")), "", 0.03),
    "retry-after": ((("retry-after", "0.02"), ("x-ratelimit-remaining-tokens", "0")), "in 50s", 0.02),
    "a sentence": ((("x-ratelimit-remaining-tokens", "0"), ("x-ratelimit-reset-tokens", "6m0s")), "in 40ms", 0.04),
    "a limit that is used up": (
        (
            ("x-ratelimit-remaining-requests", "9"),
            ("x-ratelimit-reset-requests", "12h"),
            ("x-ratelimit-remaining-tokens", "0"),
            ("x-ratelimit-reset-tokens", "12ms"),
        ),
        "",
        0.012,
    ),
}


@pytest.mark.parametrize(("headers", "said", "seconds"), WAITS.values(), ids=WAITS)
def test_the_wait_before_the_next_attempt_is_what_the_server_says_by(
    headers: tuple[tuple[str, str], ...], said: str, seconds: float
):
    async def test() -> None:
        body = json.dumps({"error": {"message": f"Please try again {said}"}}).encode()
        busy = list(document(429, body, headers=headers))
        async with server_of(busy, ANSWERED) as (url, requests):
            waits: list[float] = []
            assert (await stream(url, on_wait=lambda _, wait: waits.append(wait))).text == "Hello"
            assert waits == [seconds]
            assert len(requests) == 2

    run(test())


def test_retry_after_as_a_date_is_read_as_seconds_from_now():
    async def test() -> None:
        streamed, requests = await misbehave("status=503:90:date")
        assert 80 < streamed.error.retry_after <= 90
        assert requests == 1

    run(test())


# ---- sending again ----


def _pauses(upstream: ReplayUpstream) -> list[float]:
    """The seconds from each reply of the upstream to the request that followed it."""
    return [later.started_at - earlier.delivery.ended_at for earlier, later in pairwise(upstream.exchanges)]


def test_retry_after_is_honoured_and_the_second_attempt_answers(caplog: pytest.LogCaptureFixture):
    async def test() -> None:
        async with ReplayUpstream(fault="status_then_ok=1:429:1") as upstream:
            assert (await stream(upstream.base_url)).text == HELLO
            (pause,) = _pauses(upstream)
            assert pause >= 1

    run(test())
    assert "the next in 1.0 s" in caplog.text


def test_pauses_grow_from_attempt_to_attempt_and_never_exceed_the_longest(caplog: pytest.LogCaptureFixture):
    async def test() -> None:
        policy = RetryPolicy(attempts=4, first_wait=0.2, longest_wait=0.25)
        async with ReplayUpstream(fault="status=503") as upstream:
            await stream(upstream.base_url, retry=policy)
        meant = [record.args[1] for record in caplog.records]
        limits = [(0.1, 0.2), (0.125, 0.25), (0.125, 0.25)]
        assert all(least <= pause <= most for pause, (least, most) in zip(meant, limits, strict=True))
        assert all(pause >= least for pause, least in zip(_pauses(upstream), meant, strict=True))

    run(test())


def test_every_attempt_sends_the_same_body():
    async def test() -> None:
        async with ReplayUpstream(fault="status_then_ok=2") as upstream:
            await stream(upstream.base_url, "Once more")
            bodies = [request.body for request in upstream.requests]
        assert bodies == [{"model": "any", "input": "Once more", "stream": True}] * 3

    run(test())


# ---- connections ----


def test_a_closed_port_is_a_connection_error_that_names_the_url_without_its_query():
    async def test() -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            url = f"http://127.0.0.1:{probe.getsockname()[1]}/v1"
            streamed = await stream(f"{url}?tenant=private")
        assert type(streamed.raised) is UpstreamConnectionError
        assert (streamed.error.established, streamed.error.url) == (False, f"{url}/responses")
        assert "private" not in str(streamed.error)

    run(test())


def test_a_host_that_does_not_accept_is_a_connect_timeout():
    async def test() -> None:
        with socket.socket() as full:
            full.bind(("127.0.0.1", 0))
            full.listen(0)
            address = full.getsockname()
            # Connections that are not accepted fill the queue; the kernel drops the next one's SYN.
            fillers = [await _half_open(address) for _ in range(4)]
            try:
                limits = replace(LIMITS, connect=0.2)
                streamed = await stream(f"http://127.0.0.1:{address[1]}/v1", timeouts=limits, retry=ONE_ATTEMPT)
            finally:
                for filler in fillers:
                    filler.close()
        assert type(streamed.raised) is UpstreamTimeoutError
        assert (streamed.error.phase, streamed.error.seconds) == (TimeoutPhase.CONNECT, 0.2)

    run(test())


async def _half_open(address: tuple[str, int]) -> socket.socket:
    filler = socket.socket()
    filler.setblocking(False)
    filler.connect_ex(address)
    return filler


def test_the_query_of_the_base_url_stays_behind_the_path_of_the_protocol():
    async def test() -> None:
        async with server_of(document(500, b"{}")) as (url, requests):
            await stream(f"{url}/?api-version=1", retry=ONE_ATTEMPT)
        assert [request.path for request in requests] == ["/v1/responses"]

    run(test())


def test_a_proxy_of_the_environment_is_not_asked_for_loopback(monkeypatch: pytest.MonkeyPatch):
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)

    async def test() -> None:
        streamed, _ = await misbehave(None)
        assert streamed.text == HELLO

    run(test())


def test_a_redirect_is_an_error_and_carries_the_key_nowhere():
    async def test() -> None:
        async with server_of(document(200, b"{}")) as (elsewhere, carried):
            moved = Head(307, (("location", f"{elsewhere}/responses"),)), End()
            async with server_of(moved) as (url, requests):
                streamed = await stream(url, api_key=Secret("sk-planted"))
        assert requests[0].headers["authorization"] == "Bearer sk-planted"
        assert carried == []
        assert type(streamed.raised) is UpstreamHTTPError
        assert streamed.error.http_status == 307

    run(test())


# ---- answers that are no stream ----

UNFINISHED_BODIES: list[Callable[[], tuple[Any, ...]]] = [
    lambda: (Stall(None),),
    lambda: (End(EndKind.RESET),),
    lambda: (End(EndKind.CLOSED),),
]


@pytest.mark.parametrize("rest", UNFINISHED_BODIES)
def test_an_error_status_is_told_also_when_its_body_never_ends(rest: Callable[[], tuple[Any, ...]]):
    async def test() -> None:
        head = Head(429, (("content-type", "text/plain"), ("retry-after", "60")))
        async with server_of((head, Send(b"slow down"), *rest())) as (url, _):
            streamed = await stream(url)
        assert type(streamed.raised) is UpstreamHTTPError
        assert (streamed.error.http_status, streamed.error.retry_after) == (429, 60.0)

    run(test())


def test_of_an_endless_error_body_only_the_start_is_read():
    async def test() -> None:
        page = chain([Head(500, ())], repeat(Send(b"x" * 10_000)))
        async with server_of(page) as (url, _):
            streamed = await stream(url, timeouts=PATIENT, retry=ONE_ATTEMPT)
        assert streamed.error.http_status == 500
        assert len(streamed.error.body) == 2000

    run(test())


def test_bytes_that_do_not_decode_as_their_header_says_are_a_broken_connection():
    async def test() -> None:
        head = Head(200, (("content-type", "text/event-stream"), ("content-encoding", "gzip")))
        async with server_of((head, Send(b"no gzip at all"), End())) as (url, _):
            streamed = await stream(url, retry=ONE_ATTEMPT)
        assert isinstance(streamed.error, UpstreamError)

    run(test())


# ---- its users ----


def test_a_stream_closed_in_the_middle_closes_the_connection():
    async def test() -> None:
        async with ReplayUpstream(scenario="long", pace=0.01) as upstream:
            http, transport = transport_to(upstream.base_url)
            answer = transport.stream(exchange({"stream": True}))
            assert await anext(answer)
            await answer.aclose()
            ended = await upstream.wait_for_end()
            assert ended.delivery.outcome is Delivered.CLIENT_CLOSED
            await http.aclose()

    run(test())


# What is left open when a loop ends cannot be closed; Python warns.
@pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")
@pytest.mark.parametrize("closed_in_time", [True, False])
def test_one_transport_serves_one_event_loop_after_the_other(closed_in_time: bool):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    http, transport = transport_to(f"http://127.0.0.1:{port}/v1")

    async def test() -> None:
        async with ReplayUpstream(port=port):
            body = {"model": "text", "input": "Hi", "stream": True}
            answer = transport.stream(exchange(body))
            outputs = [output async for batch in answer for output in batch]
            assert outputs[-1].outcome is Outcome.COMPLETED
            if closed_in_time:
                await http.aclose()

    run(test())
    run(test())
    asyncio.run(http.aclose())
    gc.collect()
