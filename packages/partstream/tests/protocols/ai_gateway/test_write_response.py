"""Answers as the stream parts of each version of the specification, and as one document."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conversation.samples import PNG
from partstream.codec.json_codec import dumps
from partstream.conversation.citations import CITATION_MIME_TYPE
from partstream.errors import (
    ContextLengthExceededError,
    LanguageModelError,
    LanguageModelErrorCode,
    TruncatedStreamError,
    UpstreamFailureError,
    UpstreamHTTPError,
    UpstreamProtocolError,
)
from partstream.lm.messages import ChatMessage, RequestOptions
from partstream.lm.outputs import (
    CitationMode,
    Finish,
    InboundRequest,
    Outcome,
    Reply,
    StreamOptions,
    StreamOutput,
    Unmapped,
)
from partstream.lm.parts import DataPart, FinishReason, TextPart, ThinkingPart, ToolCallPart, UnifiedFinishReason, Usage
from partstream.protocols.ai_gateway.serve import GatewayWriter
from partstream.protocols.protocol import PROTOCOLS
from partstream.protocols.serve import WireRequest
from partstream.runtime.translation import (
    frame_answer,
    read_answer,
    read_document,
    read_question,
    write_answer,
    write_document,
)
from protocols.answers import answers
from protocols.test_round_trips import moderate
from rows import one_test_for
from unsupported import UNSUPPORTED, ResponseFeature, ResponseForm, response_form
from unsupported.common import FINISH_WORD

GATEWAY = PROTOCOLS["ai-gateway"]
VERSIONS = ("2", "3", "4")
STOPPED = Finish(Outcome.COMPLETED, FinishReason(UnifiedFinishReason.STOP, "end_turn"))
CALL = ToolCallPart("call_1", "f", {"a": 1})
SIGNED = {"type": "reasoning", "text": "hm", "providerOptions": {"anthropic": {"signature": "s"}}}
SIGNED_CALL = {"type": "tool-call", "toolCallId": "call_1", "providerOptions": {"google": {"thoughtSignature": "t"}}}
URL = "https://example.com"


def asked(version: str = "3", **more: Any) -> InboundRequest:
    return InboundRequest("made/up", (ChatMessage.user("Hi"),), RequestOptions(), dialect=version, **more)


def write(*outputs: StreamOutput, version: str = "3", size: int | None = None, **more: Any) -> list[dict[str, Any]]:
    finished = outputs if outputs and isinstance(outputs[-1], Finish) else (*outputs, STOPPED)
    return write_answer(GATEWAY, asked(version, **more), finished, Reply("1", 0, size))


def types(events: list[dict[str, Any]]) -> list[str]:
    return [event["type"] for event in events]


def listing(*items: dict[str, Any], value: str = "", **beside: Any) -> ThinkingPart:
    return ThinkingPart(value, None, {"reasoning_items": list(items), **beside})


def citation(**fields: Any) -> DataPart:
    return DataPart.json({"type": "url_citation", "url": URL, "title": "Tower", **fields}, CITATION_MIME_TYPE)


def test_every_part_is_written_when_it_comes() -> None:
    assert GATEWAY.write_response is not None
    writer = GATEWAY.write_response()(asked(), Reply("1", 0))
    assert types(writer.write(ThinkingPart("h"))) == ["stream-start", "reasoning-start", "reasoning-delta"]
    assert types(writer.write(ThinkingPart("m"))) == ["reasoning-delta"]
    assert types(writer.write(TextPart("Hi"))) == ["reasoning-end", "text-start", "text-delta"]
    assert types(writer.write(TextPart(" there"))) == ["text-delta"]
    assert types(writer.write(CALL)) == [
        "text-end", "tool-input-start", "tool-input-delta", "tool-input-end", "tool-call",
    ]  # fmt: skip
    assert types(writer.write(STOPPED)) == ["finish"]


@pytest.mark.parametrize("version", VERSIONS)
@given(outputs=answers())
@moderate
def test_an_answer_survives_every_version(version: str, outputs: list[StreamOutput]) -> None:
    unsupported = UNSUPPORTED[GATEWAY.name].response
    if version == "2":  # has a place for one word of each finish, and none for tokens that were written to a cache
        unsupported += (
            FINISH_WORD,
            ResponseFeature("cache-writes", "Tokens that were written to a cache.", _without_writes),
        )
    data = frame_answer(GATEWAY, write_answer(GATEWAY, asked(version), outputs, Reply("1", 0, 4)))
    read = read_answer(GATEWAY, data, StreamOptions(citations=CitationMode.DATA, call_id_prefix=""))
    assert response_form(read, unsupported) == response_form(outputs, unsupported)


def _without_writes(form: ResponseForm) -> ResponseForm:
    return form if form.usage is None else replace(form, usage=replace(form.usage, cache_write_tokens=None))


def test_arguments_come_in_pieces_of_the_size_that_was_asked_for() -> None:
    events = write(CALL, size=3)
    assert [event["delta"] for event in events if event["type"] == "tool-input-delta"] == ['{"a', '":1', "}"]
    (call,) = (event for event in events if event["type"] == "tool-call")
    assert call["input"] == '{"a":1}'


USAGE = Usage(10, 5, 15, 4, 2, {}, 1)


def test_the_end_is_flat_in_version_2_and_nested_since() -> None:
    finish = Finish(Outcome.COMPLETED, STOPPED.reason, USAGE)
    assert write(finish, version="2")[-1] == {
        "type": "finish",
        "finishReason": "stop",
        "usage": {
            "inputTokens": 10, "outputTokens": 5, "totalTokens": 15, "reasoningTokens": 2, "cachedInputTokens": 4,
        },
    }  # fmt: skip
    for version in ("3", "4"):
        assert write(finish, version=version)[-1] == {
            "type": "finish",
            "finishReason": {"unified": "stop", "raw": "end_turn"},
            "usage": {
                "inputTokens": {"total": 10, "noCache": 5, "cacheRead": 4, "cacheWrite": 1},
                "outputTokens": {"total": 5, "text": 3, "reasoning": 2},
            },
        }


@pytest.mark.parametrize(("version", "usage"), [("2", {}), ("3", {"inputTokens": {}, "outputTokens": {}})])
def test_tokens_that_nobody_counted_are_left_out(version: str, usage: Any) -> None:
    assert write(version=version)[-1]["usage"] == usage


def test_who_answered_and_what_the_provider_said_of_it_come_at_the_end() -> None:
    said = {"gateway": {"generationId": "gen_1", "cost": "0.1"}}
    *_, metadata, finish = write(Finish(Outcome.COMPLETED, None, None, "resp_1", "small", provider_metadata=said))
    assert metadata == {"type": "response-metadata", "id": "resp_1", "modelId": "small"}
    assert finish["providerMetadata"] == said


def test_reasoning_ends_with_what_its_provider_wants_back() -> None:
    *_, delta, end, _ = write(ThinkingPart("hm", "r1"), listing(SIGNED))
    assert delta == {"type": "reasoning-delta", "id": "r1", "delta": "hm"}
    assert end == {"type": "reasoning-end", "id": "r1", "providerMetadata": SIGNED["providerOptions"]}


def test_a_call_carries_what_its_provider_said_of_it_and_the_next_one_does_not() -> None:
    events = write(listing(SIGNED_CALL), CALL, ToolCallPart("call_2", "f", {}))
    calls = [event for event in events if event["type"] == "tool-call"]
    assert [call.get("providerMetadata") for call in calls] == [SIGNED_CALL["providerOptions"], None]


def test_the_state_of_another_protocol_comes_back_whole_with_the_next_request() -> None:
    """A client of the SDK gives back as options what it was given as metadata; nothing else is known of it."""
    foreign = {"type": "reasoning", "id": "rs_1", "encrypted_content": "opaque", "summary": []}
    given = listing(foreign, value="hm", origin="https://example.com/v1/small", id="rs_1")
    events = write(given, TextPart("So."), listing(foreign, SIGNED_CALL, origin="https://example.com/v1/small"), CALL)
    (end,) = (event for event in events if event["type"] == "reasoning-end")
    (call,) = (event for event in events if event["type"] == "tool-call")
    history = [
        {"type": "reasoning", "text": "hm", "providerOptions": end["providerMetadata"]},
        {"type": "text", "text": "So."},
        {
            "type": "tool-call", "toolCallId": "call_1", "toolName": "f", "input": {"a": 1},
            "providerOptions": call["providerMetadata"],
        },
    ]  # fmt: skip
    headers = {
        "ai-gateway-protocol-version": "0.0.1",
        "ai-language-model-specification-version": "3",
        "ai-language-model-id": "made/up",
        "ai-language-model-streaming": "true",
    }
    body = {"prompt": [{"role": "assistant", "content": history}]}
    (message,) = read_question(GATEWAY, WireRequest("/language-model", body, headers)).messages
    first, _, second, _ = message.content
    kept = {**foreign, "after": [0, False]}
    assert first == listing(kept, value="hm", origin="https://example.com/v1/small")
    assert second == listing(kept, {**SIGNED_CALL, "after": [0, 3]}, origin="https://example.com/v1/small")


@pytest.mark.parametrize("version", VERSIONS)
def test_a_source_is_named_where_it_came_and_since_version_4_with_its_span_at_the_end_of_the_text(version: str) -> None:
    events = write(TextPart("It is high."), citation(start_index=0, end_index=11), TextPart(" So."), version=version)
    assert types(events)[1:-1] == ["text-start", "text-delta", "source", "text-delta", "text-end"]
    source, end = events[3], events[5]
    assert (source["sourceType"], source["id"], source["url"], source["title"]) == ("url", URL, URL, "Tower")
    spans = [(one["source"]["url"], one["startIndex"], one["endIndex"]) for one in end.get("citations", ())]
    assert spans == ([(URL, 0, 11)] if version == "4" else [])


@pytest.mark.parametrize("version", VERSIONS)
def test_a_source_with_a_span_is_read_once_with_it(version: str) -> None:
    outputs = [TextPart("It is high."), citation(start_index=0, end_index=11), STOPPED]
    assert GATEWAY.write_response is not None
    stream = GATEWAY.read_response()(StreamOptions(citations=CitationMode.DATA))
    read = [output for event in write(*outputs, version=version) for output in stream.feed(event)]
    (source,) = (part for part in read if isinstance(part, DataPart))
    assert source == DataPart.json(
        {
            "type": "citation", "sourceType": "url", "sourceId": URL, "url": URL, "title": "Tower", "startIndex": 0,
            "endIndex": 11,
        },
        CITATION_MIME_TYPE,
    )  # fmt: skip


@pytest.mark.parametrize("version", VERSIONS)
def test_a_file_has_the_form_of_its_version_and_marks_of_the_host_are_left_out(version: str) -> None:
    *_, file, _ = write(DataPart(b"1", "usage"), DataPart(PNG, "image/png"), version=version)
    assert file["mediaType"] == "image/png"
    assert isinstance(file["data"], dict if version == "4" else str)
    assert types(write(DataPart(b"1", "usage"), version=version)) == ["stream-start", "finish"]


@one_test_for(
    ("error", "value"),
    [
        (UpstreamFailureError("It broke.", provider_code="odd"), {"message": "It broke.", "type": "odd"}),
        (
            UpstreamHTTPError(429, provider_message="Slow.", retry_after=2, generation_id="gen_1"),
            {
                "message": "Slow.", "statusCode": 429, "generationId": "gen_1",
                "responseHeaders": {"retry-after": "2"},
            },
        ),
        (
            LanguageModelError("Not you.", LanguageModelErrorCode.NO_PERMISSIONS),
            {"message": "Not you.", "type": "forbidden"},
        ),
        (
            ContextLengthExceededError("small", limit=10),
            {"message": "the conversation is too long for small: it may have 10"},
        ),
        (
            TruncatedStreamError("OPEN"),
            {"message": "the stream ended before the response was complete (state OPEN)"},
        ),
    ],
)  # fmt: skip
def test_a_failure_is_an_error_and_the_finish_behind_it(error: LanguageModelError, value: dict[str, Any]) -> None:
    reason = FinishReason(UnifiedFinishReason.ERROR)
    events = write(TextPart("so far"), Finish(Outcome.FAILED, reason, error=error))
    assert types(events)[-3:] == ["text-end", "error", "finish"]
    assert events[-2]["error"] == value
    status, document = write_document(GATEWAY, asked(), [Finish(Outcome.FAILED, reason, error=error)], Reply("1", 0))
    assert status == value.get("statusCode", 500)
    assert document["error"]["message"] == value["message"]


def test_what_was_asked_and_has_no_place_is_a_warning_but_for_what_no_person_asks() -> None:
    start, *_ = write(unmapped={"prompt[0].content[1]": {}, "headers": {"user-agent": "x"}})
    assert start["warnings"] == [{"type": "other", "message": "prompt[0].content[1]: has no place and was left out"}]


def test_who_asks_over_another_protocol_gets_the_latest_version() -> None:
    *_, file, _ = write(DataPart(PNG, "image/png"), version="")
    assert file["data"]["type"] == "data"


def test_a_document_holds_what_the_stream_says_and_is_read_as_it() -> None:
    outputs = [
        ThinkingPart("hm", "r1"),
        listing(SIGNED),
        TextPart("It is"),
        TextPart(" high."),
        DataPart(PNG, "image/png"),
        listing(SIGNED, SIGNED_CALL),
        CALL,
        Finish(Outcome.COMPLETED, STOPPED.reason, USAGE, "resp_1", "small", provider_metadata={"made": {"up": 1}}),
    ]
    status, document = write_document(GATEWAY, asked("4"), outputs, Reply("1", 0))
    assert status == 200
    assert [part["type"] for part in document["content"]] == ["reasoning", "text", "file", "tool-call"]
    assert [part.get("text") for part in document["content"][:2]] == ["hm", "It is high."]
    assert (document["warnings"], document["response"]) == ([], {"id": "resp_1", "modelId": "small"})
    *read, finish = read_document(GATEWAY, dumps(document), StreamOptions(call_id_prefix=""))
    assert read == [
        ThinkingPart("hm", "r1"),
        ThinkingPart("", "r1", {"reasoning_items": [SIGNED]}),
        TextPart("It is high."),
        DataPart(PNG, "image/png"),
        listing(SIGNED, SIGNED_CALL),
        CALL,
    ]
    assert isinstance(finish, Finish)
    assert (finish.response_id, finish.model, finish.provider_metadata) == ("resp_1", "small", {"made": {"up": 1}})
    assert finish.usage is not None
    assert finish.usage.cache_write_tokens == 1


@one_test_for(
    ("document", "error"),
    [
        ({"error": {"message": "Slow.", "type": "rate_limit_exceeded"}}, UpstreamFailureError),
        ({"error": {"message": "Slow.", "statusCode": 429}}, UpstreamHTTPError),
        ({"type": "error", "error": "It broke."}, UpstreamFailureError),
        ({"object": "list", "data": []}, UpstreamProtocolError),
        ({"content": "Hi"}, UpstreamProtocolError),
        ({"content": [{"type": "text", "text": 1}]}, UpstreamProtocolError),
    ],
)
def test_a_document_that_is_no_answer_is_an_error(document: Any, error: type[LanguageModelError]) -> None:
    *counted, finish = read_document(GATEWAY, dumps(document), StreamOptions())
    assert all(isinstance(one, Unmapped) for one in counted)
    assert isinstance(finish, Finish)
    assert isinstance(finish.error, error)


def test_what_a_document_holds_and_no_part_does_is_counted() -> None:
    document = {"content": ["Hi", {"type": "odd"}, {"type": "text", "text": "so"}], "finishReason": "stop"}
    first, second, text, _ = read_document(GATEWAY, dumps(document), StreamOptions())
    assert (first, second) == (
        Unmapped("content", {"type": "content", "value": "Hi"}),
        Unmapped("odd", {"type": "odd"}),
    )
    assert text == TextPart("so")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["type", "text", "content", "error", "providerMetadata", "partstream", "id", "response"]),
            inner | st.sampled_from(["text", "reasoning", "tool-call", "source", "file"]),
        )
    ),
    max_leaves=10,
)


@given(st.dictionaries(st.sampled_from(["content", "error", "type", "usage", "warnings", "response"]), JSON))
def test_whatever_a_document_holds_the_reader_says_what_became_of_it(document: Any) -> None:
    *_, finish = read_document(GATEWAY, dumps(document), StreamOptions())
    assert isinstance(finish, Finish)


@one_test_for(
    ("status", "kind"),
    [
        (400, "invalid_request_error"),
        (401, "authentication_error"),
        (403, "forbidden"),
        (404, "not_found"),
        (418, "invalid_request_error"),
        (424, "failed_dependency"),
        (429, "rate_limit_exceeded"),
        (500, "internal_server_error"),
        (529, "internal_server_error"),
    ],
)
def test_an_error_has_the_type_that_the_client_knows(status: int, kind: str) -> None:
    body = GatewayWriter.error(status, "What it is.")
    assert body.pop("generationId").startswith("gen_"), "what identifies the request for support"
    assert body == {"error": {"message": "What it is.", "type": kind, "param": None, "code": None}}
