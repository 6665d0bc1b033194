"""Secrets of every kind, in every place and form, cut anywhere: none of them is left in what is given away."""

from __future__ import annotations
import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bundles.canaries import FORMS, KEYS, PERSONAL, cut, left_of, pieces, unzipped
from extent import IS_WHOLE
from partstream import (
    ChatMessage,
    DataPart,
    FinishReason,
    RequestOptions,
    Role,
    TextPart,
    ThinkingPart,
    Tool,
    ToolCallPart,
    ToolResultPart,
    UnifiedFinishReason,
)
from partstream.errors import RequestNotExpressibleError, UpstreamFailureError
from partstream.lm.outputs import Finish, InboundRequest, Outcome, Reply, StreamOutput
from partstream.pages.document import Hashes
from partstream.protocols.protocol import BUILT_IN_PROTOCOLS, PROTOCOLS
from partstream.runtime.translation import frame_answer, write_answer, write_question
from partstream_devtools.bundles.archive import write_bundle
from partstream_devtools.bundles.exchange import (
    Bundle,
    Chunk,
    ExchangeEnd,
    HowEnded,
    RecordedAnswer,
    RecordedError,
    RecordedExchange,
    RecordedRequest,
    RedactionLevel,
    ReportedPart,
    ResponseHead,
)
from partstream_devtools.inspector.page.assembly import page_html
from partstream_devtools.inspector.view import ViewedFile, view_of
from partstream_devtools.redaction.redacting import redact

WRITTEN = [name for name in BUILT_IN_PROTOCOLS if PROTOCOLS[name].write_response is not None]
ASKED = [name for name in WRITTEN if PROTOCOLS[name].read_request is not None]
PNG = b"\x89PNG\r\n\x1a\n" + bytes(8)
REPLY = Reply("identity", 1)
QUESTION = InboundRequest("small", (ChatMessage.user("Hi"),), RequestOptions())

moderate = settings(
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    max_examples=300 if IS_WHOLE else 12,
    deadline=None,
)


def exchange(
    chunks: list[bytes], protocol: str | None, request: RecordedRequest | None = None, status: int = 200
) -> Any:
    return RecordedExchange(
        1,
        1,
        protocol,
        "2026-11-23T01:00:00+00:00",
        request,
        ResponseHead(1, status, "", (("content-type", "text/event-stream"),)),
        tuple(Chunk(at, data) for at, data in enumerate(chunks)),
        ExchangeEnd(99, HowEnded.WHOLE),
    )


def bundle(*exchanges: RecordedExchange, parts: tuple[Any, ...] = (), error: RecordedError | None = None) -> Bundle:
    reported = tuple(ReportedPart(at, part) for at, part in enumerate(parts))
    return Bundle("record", "x", exchanges=exchanges, answers=(RecordedAnswer(1, reported=reported, error=error),))


def assert_gone(secrets: list[str], made: Bundle, level: RedactionLevel = RedactionLevel.STRUCTURE) -> Bundle:
    """Nothing of the secrets is left in any file of the zip, and every read is as long as it was."""
    redacted, _ = redact(made, level)
    for name, data in unzipped(write_bundle(redacted)):
        left = [window for secret in secrets for window in left_of(secret, data)]
        assert not left, f"{name} holds {left} of {secrets}"
    for old, new in zip(made.exchanges, redacted.exchanges, strict=True):
        assert [len(one.data) for one in new.chunks] == [len(one.data) for one in old.chunks]
    return redacted


def _escaped(data: bytes) -> bytes:
    """The same events with every character above ASCII as an escape."""
    lines = []
    for line in data.split(b"\n"):
        head, mark, value = line.partition(b"{")
        lines.append(head + json.dumps(json.loads(mark + value)).encode() if _is_json(mark + value) else line)
    return b"\n".join(lines)


def _is_json(data: bytes) -> bool:
    try:
        json.loads(data)
    except ValueError:
        return False
    return True


@st.composite
def said(draw: st.DrawFn, secrets: st.SearchStrategy[str]) -> tuple[str, str]:
    """A secret, and a text that holds it in some form."""
    secret = draw(secrets)
    form = FORMS[draw(st.sampled_from(list(FORMS)))]
    return secret, f"Look: {form(secret)} and so on"


def _outputs(draw: st.DrawFn, text: str) -> list[StreamOutput]:
    kind = draw(st.sampled_from(["text", "thinking", "call", "error", "all"]))
    outputs: list[StreamOutput] = []
    if kind in ("thinking", "all"):
        outputs += [ThinkingPart(piece, "t1") for piece in pieces(draw, text)]
    if kind in ("text", "all"):
        outputs += [TextPart(piece) for piece in pieces(draw, text)]
    if kind in ("call", "all"):
        outputs.append(ToolCallPart("call_1", "look_up", {"path": text, "more": [text, {"deep": text}], "n": 7}))
    if kind in ("error", "all"):
        failed = FinishReason(UnifiedFinishReason.ERROR)
        error = UpstreamFailureError(text, provider_code="server_error")
        return [*outputs, Finish(Outcome.FAILED, failed, None, "resp_1", "small", error)]
    reason = UnifiedFinishReason.TOOL_CALLS if kind == "call" else UnifiedFinishReason.STOP
    return [*outputs, Finish(Outcome.COMPLETED, FinishReason(reason, None), None, "resp_1", "small")]


@st.composite
def recorded_answers(draw: st.DrawFn, secrets: st.SearchStrategy[str]) -> tuple[str, Bundle]:
    """An answer in any protocol that says a secret somewhere, as its bytes and as its parts."""
    protocol = draw(st.sampled_from(WRITTEN))
    secret, text = draw(said(secrets))
    outputs = _outputs(draw, text)
    data = frame_answer(PROTOCOLS[protocol], write_answer(PROTOCOLS[protocol], QUESTION, outputs, REPLY))
    data = _escaped(data) if draw(st.booleans()) else data
    parts = tuple(one for one in outputs if not isinstance(one, Finish))
    known = protocol if draw(st.booleans()) else None
    error = RecordedError("UpstreamFailureError", text, (("body", text),))
    return secret, bundle(exchange(cut(draw, data), known), parts=parts, error=error)


@moderate
@given(made=recorded_answers(KEYS | PERSONAL))
def test_nothing_of_what_was_said_is_left_in_an_answer(made: tuple[str, Bundle]) -> None:
    assert_gone([made[0]], made[1])


@moderate
@given(made=recorded_answers(KEYS))
def test_no_key_is_left_in_an_answer_whose_texts_stay(made: tuple[str, Bundle]) -> None:
    assert_gone([made[0]], made[1], RedactionLevel.KEYS)


@st.composite
def recorded_requests(draw: st.DrawFn, secrets: st.SearchStrategy[str]) -> tuple[str, Bundle]:
    """A request in any protocol, with a secret in all that a person can put into one."""
    protocol = draw(st.sampled_from(ASKED))
    secret, text = draw(said(secrets))
    call = ToolCallPart("call_1", "look_up", {"path": text})
    asked = InboundRequest(
        "small",
        (
            ChatMessage.system(text),
            ChatMessage(
                Role.USER, (TextPart(text), DataPart(b"\x89PNG\r\n\x1a\n" + bytes(8) + text.encode(), "image/png"))
            ),
            ChatMessage(Role.ASSISTANT, (ThinkingPart(text, "t1"), TextPart(text), call)),
            ChatMessage(Role.USER, (ToolResultPart("call_1", (TextPart(text),)),)),
        ),
        RequestOptions((Tool("look_up", text, {"type": "object", "properties": {"path": {"type": "string"}}}),)),
    )
    try:
        wire = write_question(PROTOCOLS[protocol], asked)
    except RequestNotExpressibleError:
        wire = write_question(PROTOCOLS[protocol], QUESTION)
    body = json.dumps(dict(wire.body), ensure_ascii=draw(st.booleans())).encode()
    headers = (
        ("Authorization", f"Bearer {secret}"),
        ("x-api-key", secret),
        ("Cookie", f"sid={secret}"),
        ("X-Request-Id", secret),
        ("content-type", "application/json"),
        ("x-whatever", text),
    )
    request = RecordedRequest("POST", f"/v1{wire.path}", f"alt=sse&key={secret}&x={text}", headers, body)
    failed = json.dumps({"error": {"message": f"Incorrect API key provided: {text}", "code": "invalid_api_key"}})
    return secret, bundle(exchange(cut(draw, failed.encode()), protocol, request, status=401))


@moderate
@given(made=recorded_requests(KEYS | PERSONAL))
def test_nothing_is_left_in_a_request_and_in_its_refusal(made: tuple[str, Bundle]) -> None:
    assert_gone([made[0]], made[1])


@moderate
@given(made=recorded_requests(KEYS.filter(lambda key: "\n" not in key)))
def test_no_key_is_left_in_a_request_whose_texts_stay(made: tuple[str, Bundle]) -> None:
    assert_gone([made[0]], made[1], RedactionLevel.KEYS)


def _deltas(piece: str) -> dict[str, dict[str, Any]]:
    """An event with a piece of arguments, in each protocol that cuts them, and in two unknown ones."""
    call = {"index": 0, "function": {"arguments": piece}}
    return {
        "openresponses": {"type": "response.function_call_arguments.delta", "item_id": "fc_1", "delta": piece},
        "chat-completions": {"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]},
        "anthropic-messages": {
            "type": "content_block_delta",
            "index": 1,
            "delta": {"type": "input_json_delta", "partial_json": piece},
        },
        "gemini-interactions": {
            "event_type": "step.delta",
            "index": 1,
            "delta": {"type": "arguments_delta", "arguments": piece},
        },
        "ag-ui": {"type": "TOOL_CALL_ARGS", "toolCallId": "call_1", "delta": piece},
        "ai-sdk": {"type": "tool-input-delta", "id": "call_1", "delta": piece},
        "ai-gateway": {"type": "tool-input-delta", "id": "call_1", "delta": piece},
        "unknown": {"type": "novel.delta", "call": "c", "nested": {"chunk": piece}},
        "unknown, with a number": {"type": "novel.delta", "id": "e", "index": 3, "text": piece},
    }


@st.composite
def cut_arguments(draw: st.DrawFn) -> tuple[str, Bundle, str]:
    """The arguments of a call with a secret, cut over events anywhere: inside the escapes of their JSON too."""
    protocol = draw(st.sampled_from(list(_deltas(""))))
    secret, text = draw(said(KEYS | PERSONAL))
    arguments = json.dumps({"path": text, "list": [1, text]}, ensure_ascii=draw(st.booleans()))
    events = [_deltas(piece)[protocol] for piece in pieces(draw, arguments, 10)]
    other = draw(st.booleans())  # another text between them
    ascii_only = draw(st.booleans())
    lines = [f"data: {json.dumps(event, ensure_ascii=ascii_only)}\n\n" for event in events]
    if other:
        lines = [one for line in lines for one in (line, 'data: {"type":"ping"}\n\n')]
    known = protocol if protocol in BUILT_IN_PROTOCOLS and draw(st.booleans()) else None
    return secret, bundle(exchange(cut(draw, "".join(lines).encode()), known)), arguments


@moderate
@given(made=recorded_answers(KEYS | PERSONAL) | recorded_requests(KEYS | PERSONAL))
def test_the_search_finds_what_nobody_has_redacted(made: tuple[str, Bundle]) -> None:
    secret, recorded = made
    with pytest.raises(AssertionError, match="holds"):
        assert_gone([secret], recorded, RedactionLevel.NONE)


@moderate
@given(made=cut_arguments())
def test_nothing_is_left_of_arguments_that_are_cut_over_events(made: tuple[str, Bundle, str]) -> None:
    secret, recorded, _ = made
    assert_gone([secret], recorded)


@moderate
@given(made=cut_arguments())
def test_no_key_is_left_of_arguments_that_are_cut_over_events(made: tuple[str, Bundle, str]) -> None:
    secret, recorded, _ = made
    if _is_key(secret):
        assert_gone([secret], recorded, RedactionLevel.KEYS)


def _is_key(secret: str) -> bool:
    from partstream_devtools.redaction.rules import Search

    return bool(Search().find(secret))


STATE = {
    "encrypted_content": "gAAAA",
    "signature": "EqQB",
    "thoughtSignature": "CiQB",
    "thought_signature": "AfEX",
    "obfuscation": "",
    "data": "",
    "b64_json": "",
    "user": "",
    "safety_identifier": "user-",
    "prompt_cache_key": "",
    "x_request_id": "req_",
    "session_id": "",
    "conversation_id": "conv_",
    "previous_response_id": "resp_",
    "system_fingerprint": "fp_",
    "organization": "org-",
    "api_key": "",
    "password": "",
    "cookie": "sid=",
    "nobody_knows_this_field": "",
}


@moderate
@given(
    st.data(), st.sampled_from(list(STATE)), st.text(st.sampled_from("bcdfgBCDFG23456789"), min_size=24, max_size=60)
)
def test_nothing_is_left_of_state_and_of_ids_of_people(data: st.DataObject, field: str, secret: str) -> None:
    event = {"type": "novel", "item": {"type": "novel", field: STATE[field] + secret}}
    body = f"event: novel\ndata: {json.dumps(event)}\n\n: {secret}\nid: {secret}\n\n".encode()
    request = RecordedRequest("POST", f"/v1/projects/{secret}/x", "", (), json.dumps(event["item"]).encode())
    assert_gone([secret], bundle(exchange([body], None, request)))


@pytest.mark.parametrize("protocol", WRITTEN)
def test_the_page_in_the_file_holds_nothing_either(protocol: str) -> None:
    canary = "bcdfg23456BCDFGhjkmn"
    outputs = [ThinkingPart(canary), TextPart(canary), ToolCallPart("call_1", "look_up", {"path": canary})]
    finish = Finish(Outcome.COMPLETED, FinishReason(UnifiedFinishReason.TOOL_CALLS, None), None, "resp_1", "small")
    data = frame_answer(PROTOCOLS[protocol], write_answer(PROTOCOLS[protocol], QUESTION, [*outputs, finish], REPLY))
    redacted, _ = redact(bundle(exchange([data], protocol), parts=tuple(outputs)))
    page = page_html(view_of([ViewedFile("a", "bundle", redacted)]), Hashes())
    for name, content in unzipped(write_bundle(redacted, page)):
        assert not left_of(canary, content), name
