"""A JSON document in place of a stream: the answer of a protocol that has one, else the error that it is."""

import json
from collections.abc import Iterable
from contextlib import aclosing
from dataclasses import replace
from typing import Any

import pytest

from partstream.errors import (
    EventTooLargeError,
    TimeoutPhase,
    UpstreamConnectionError,
    UpstreamError,
    UpstreamFailureError,
    UpstreamHTTPError,
    UpstreamTimeoutError,
)
from partstream.lm.messages import ChatMessage, RequestOptions
from partstream.lm.outputs import Finish, InboundRequest, Outcome, Reply, StreamOptions, StreamOutput
from partstream.lm.parts import FinishReason, TextPart, ToolCallPart, UnifiedFinishReason, Usage
from partstream.protocols.errors import COMMON_ERRORS
from partstream.protocols.protocol import PROTOCOLS, Protocol, asked_protocols
from partstream.protocols.serve import WireEvent, WireRequest
from partstream.runtime.translation import write_document
from partstream.upstream import transport as documents
from partstream.upstream.endpoint import Secret
from partstream.upstream.http import UpstreamHTTP
from partstream.upstream.http_errors import ContentTypeError
from partstream.upstream.transport import UpstreamRequest
from partstream_devtools.testing.faults import End, EndKind, Head, Send, Stall, Step, document
from upstreams.upstreams import LIMITS, RETRY, Streaming, ask, configuration, gateway_to, run, server_of

STREAMED = PROTOCOLS["openresponses"]
ONE_ATTEMPT = replace(RETRY, attempts=1)
KEY = "sk-planted-0123456789"


def _events_of(body: WireEvent) -> list[WireEvent]:
    """A response is its own last event; an error alone is an event as well."""
    if "status" in body:
        return [{"type": f"response.{body['status']}", "response": body}]
    return [{"type": "error", "error": body["error"]}] if "error" in body else [body]


def _documented() -> Protocol:
    """The protocol as if it had a document, and read it so."""
    reader = type("Documented", (STREAMED.read_response(),), {"events_of": staticmethod(_events_of)})
    return replace(STREAMED, read_response=lambda: reader)


def response(status: str = "completed", **fields: Any) -> bytes:
    message = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "All at once."}]}
    usage = {"input_tokens": 3, "output_tokens": 4, "total_tokens": 7}
    whole = {"id": "resp_1", "object": "response", "status": status, "output": [message], "usage": usage}
    return json.dumps(whole | fields).encode()


async def asked(
    reply: Iterable[Step], protocol: Protocol | None = None, **changes: Any
) -> tuple[list[StreamOutput], UpstreamError | None, int]:
    """What came of one request, what it raised, and how often it was sent."""
    outputs: list[StreamOutput] = []
    raised = None
    async with server_of(reply) as (url, requests):
        settings = configuration(url, **{"retry": ONE_ATTEMPT, **changes})
        async with aclosing(UpstreamHTTP(settings)) as http:
            exchange = UpstreamRequest(
                WireRequest("/responses", {"stream": True}), protocol or _documented(), COMMON_ERRORS, StreamOptions()
            )
            try:
                async for batch in Streaming(http, settings.timeouts, settings.retry).stream(exchange):
                    outputs += batch
            except UpstreamError as error:
                raised = error
        return outputs, raised, len(requests)


def _finish(outputs: list[StreamOutput]) -> Finish:
    finish = outputs[-1]
    assert isinstance(finish, Finish)
    return finish


@pytest.mark.parametrize("content_type", ["application/json", "application/json; charset=utf-8", "Application/JSON"])
def test_a_document_in_place_of_a_stream_is_read_as_the_answer(content_type: str):
    async def test() -> None:
        outputs, raised, _ = await asked(document(200, response(), content_type))
        assert raised is None
        assert "".join(part.value for part in outputs if isinstance(part, TextPart)) == "All at once."
        finish = _finish(outputs)
        assert (finish.outcome, finish.response_id) == (Outcome.COMPLETED, "resp_1")
        assert finish.usage is not None
        assert finish.usage.total_tokens == 7

    run(test())


def test_a_document_that_comes_in_pieces_is_read_when_it_is_whole():
    async def test() -> None:
        body = response()
        pieces = [Head(200, (("content-type", "application/json"),)), *(Send(bytes([byte])) for byte in body), End()]
        outputs, raised, _ = await asked(pieces)
        assert raised is None
        assert _finish(outputs).outcome is Outcome.COMPLETED

    run(test())


def test_a_failed_answer_is_the_failure_of_an_answer_and_keeps_its_name_and_no_key():
    async def test() -> None:
        body = response("failed", output=[], error={"code": "server_error", "message": f"Broke at {KEY}."})
        outputs, raised, _ = await asked(document(200, body), api_key=Secret(KEY))
        finish = _finish(outputs)
        assert raised is None
        assert (finish.outcome, finish.response_id) == (Outcome.FAILED, "resp_1")
        assert isinstance(finish.error, UpstreamFailureError)
        assert (finish.error.provider_code, finish.error.provider_message) == ("server_error", "Broke at ***.")

    run(test())


ERRORS: list[tuple[bytes, type[UpstreamError], dict[str, Any]]] = [
    (
        b'{"error":{"message":"No such model.","code":"model_not_found"}}',
        UpstreamHTTPError,
        {"http_status": 200, "provider_message": "No such model.", "provider_code": "model_not_found"},
    ),
    (b"not even JSON", UpstreamHTTPError, {"http_status": 200, "provider_message": "not even JSON"}),
    (b'{"what":"is this"}', ContentTypeError, {"field": "content-type", "expected": "text/event-stream"}),
    (b"[1]", ContentTypeError, {"field": "content-type", "expected": "text/event-stream"}),
    (b"", ContentTypeError, {"field": "content-type", "expected": "text/event-stream"}),
]


@pytest.mark.parametrize("protocol", [_documented(), replace(_documented(), read_response=STREAMED.read_response)])
@pytest.mark.parametrize(("body", "error_type", "fields"), ERRORS)
def test_a_document_that_holds_no_answer_is_an_error_whether_or_not_the_protocol_has_documents(
    body: bytes, error_type: type[UpstreamError], fields: dict[str, Any], protocol: Protocol
):
    async def test() -> None:
        outputs, raised, requests = await asked(document(200, body), protocol, retry=RETRY)
        assert type(raised) is error_type
        assert {name: getattr(raised, name) for name in fields} == fields
        assert (outputs, requests) == ([], 1)

    run(test())


def test_an_answer_that_a_protocol_has_no_document_for_is_a_clear_error():
    async def test() -> None:
        reader = type("Streamed", (STREAMED.read_response(),), {"has_documents": False})
        plain = replace(STREAMED, read_response=lambda: reader)
        body = b'{"id":"resp_1","object":"response","output":[]}'
        _, raised, _ = await asked(document(200, body), plain)
        assert isinstance(raised, ContentTypeError)
        assert raised.got == "application/json"
        assert repr(body[:60].decode()) in raised.message

    run(test())


def test_a_wire_whose_stream_is_json_is_read_as_a_stream():
    async def test() -> None:
        framing = replace(STREAMED.framings[1], media_type="application/json")
        event = {"type": "response.completed", "response": json.loads(response())}
        outputs, raised, _ = await asked(
            document(200, json.dumps(event).encode() + b"\n"), replace(_documented(), framings=(framing,))
        )
        assert raised is None
        assert _finish(outputs).outcome is Outcome.COMPLETED

    run(test())


HEAD = Head(200, (("content-type", "application/json"),))

UNFINISHED: list[tuple[tuple[Step, ...], type[UpstreamError], dict[str, Any], int]] = [
    ((End(EndKind.RESET),), UpstreamConnectionError, {"established": True}, 3),
    ((End(EndKind.CLOSED),), UpstreamConnectionError, {"established": True}, 3),
    ((Stall(None),), UpstreamTimeoutError, {"phase": TimeoutPhase.IDLE, "seconds": 1.0}, 1),
]


@pytest.mark.parametrize(("rest", "error_type", "fields", "attempts"), UNFINISHED)
def test_a_document_that_does_not_come_whole_is_asked_for_again_as_a_stream_without_an_event_is(
    rest: tuple[Step, ...], error_type: type[UpstreamError], fields: dict[str, Any], attempts: int
):
    async def test() -> None:
        reply = (HEAD, Send(response()[:50]), *rest)
        _, raised, requests = await asked(reply, retry=RETRY, timeouts=replace(LIMITS, idle=1.0))
        assert type(raised) is error_type
        assert {name: getattr(raised, name) for name in fields} == fields
        assert requests == attempts

    run(test())


def test_a_document_without_end_is_cut_off(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(documents, "DEFAULT_MAX_EVENT_SIZE", 10_000)

    async def test() -> None:
        _, raised, _ = await asked((HEAD, *[Send(b" " * 6_000)] * 2, Stall(None)))
        assert isinstance(raised, EventTooLargeError)
        assert (raised.size, raised.limit) == (12_000, 10_000)

    run(test())


# ---- the documents of the protocols, as their own writers write them ----

WRITTEN = [name for name in asked_protocols() if PROTOCOLS[name].read_response().has_documents]
SAID: list[StreamOutput] = [
    TextPart("All at once."),
    ToolCallPart("call_1", "look_up", {"word": "hello"}),
    Finish(Outcome.COMPLETED, FinishReason(UnifiedFinishReason.TOOL_CALLS), Usage(3, 4, 7), "resp_1", "text"),
]


@pytest.mark.parametrize("name", WRITTEN)
def test_a_provider_reports_a_document_like_a_stream(name: str):
    protocol = PROTOCOLS[name]
    body = InboundRequest("text", (ChatMessage.user("Hi"),), RequestOptions(), stream=False)
    status, written = write_document(protocol, body, SAID, Reply("resp_1", 1))

    async def test() -> None:
        async with (
            server_of(document(status, json.dumps(written).encode())) as (url, requests),
            gateway_to(url, protocol=name, stream=StreamOptions(call_id_prefix="")) as provider,
        ):
            answer = await ask(provider, "Hi")
            assert answer.error is None
            assert answer.text == "All at once."
            assert [part for part in answer.parts if isinstance(part, ToolCallPart)] == [SAID[1]]
            usage = json.loads(answer.parts[-1].data)
            assert (usage["prompt_tokens"], usage["completion_tokens"]) == (3, 4)
            assert len(requests) == 1

    run(test())


@pytest.mark.parametrize("name", WRITTEN)
def test_a_provider_falls_back_from_a_document_that_says_that_the_model_is_overloaded(name: str):
    protocol = PROTOCOLS[name]
    asked_for = InboundRequest("text", (ChatMessage.user("Hi"),), RequestOptions(), stream=False)
    failure = UpstreamFailureError("busy", provider_code="overloaded")
    status, failed = write_document(
        protocol, asked_for, [Finish(Outcome.FAILED, error=failure, response_id="resp_1")], Reply("resp_1", 1)
    )
    _, answered = write_document(protocol, asked_for, SAID, Reply("resp_2", 1))
    replies = [document(status, json.dumps(failed).encode()), document(200, json.dumps(answered).encode())]

    async def test() -> None:
        async with (
            server_of(*replies) as (url, requests),
            gateway_to(url, protocol=name, retry=ONE_ATTEMPT, fallbacks={"text": ("other",)}) as provider,
        ):
            assert (await ask(provider, "Hi")).text == "All at once."
            assert len(requests) == 2

    run(test())
