"""A view as spans of OTLP and as Markdown: what programs and people read of an answer that went wrong."""

import json
import re
from base64 import b64encode
from html import unescape
from pathlib import Path

import pytest
from google.protobuf import json_format
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status, TracesData

from inspector import sample_views
from partstream.server import telemetry, tracing
from partstream_devtools.bundles.exchange import (
    Bundle,
    Chunk,
    ExchangeEnd,
    HowEnded,
    RecordedError,
    RecordedExchange,
    RecordedRequest,
    ResponseHead,
)
from partstream_devtools.commands_inspect import summary
from partstream_devtools.inspector.page.assembly import skeleton_html
from partstream_devtools.inspector.sharing import VIEW_EXPORTS, otlp_json, summary_markdown
from partstream_devtools.inspector.view import ViewedFile, account_of, view_of

_MS = 1_000_000
BEGAN = 1_700_000_000 * 1_000_000_000


def _chunk(at, delta, finish=None, **more):
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    said = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m-1", "choices": [choice]} | more
    return Chunk(at * _MS, f"data: {json.dumps(said)}\n\n".encode())


CALL = {"index": 0, "id": "call_1", "function": {"name": "look_up", "arguments": '{"a":1}'}, "type": "function"}
USAGE = {"usage": {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}}
GOOD = (
    _chunk(100, {"role": "assistant", "content": "secret words"}),
    *(_chunk(at, {"content": f" word {at}"}) for at in range(120, 400, 20)),
    _chunk(5100, {"content": " and more"}),
    _chunk(5150, {"tool_calls": [CALL]}),
    _chunk(5200, {}, "tool_calls", **USAGE),
    Chunk(5210 * _MS, b"data: [DONE]\n\n"),
)


def _view(chunks, how=HowEnded.WHOLE, error=None, status=200):
    tool = {"type": "function", "function": {"name": "look_up", "parameters": {"type": "object"}}}
    asked = [{"role": "user", "content": "private question"}]
    body = json.dumps({"model": "m-1", "messages": asked, "tools": [tool], "stream": True}).encode()
    exchange = RecordedExchange(
        1,
        1,
        None,
        "2023-11-14T22:13:20+00:00",
        RecordedRequest("POST", "/v1/chat/completions", "", (), body, 2 * _MS),
        ResponseHead(90 * _MS, status, "", (("content-type", "text/event-stream"),)),
        tuple(chunks),
        ExchangeEnd(6000 * _MS, how, error),
        offset=0,
    )
    return view_of([ViewedFile("x|y.har", "HAR", Bundle("har", "partstream 0.12.0", exchanges=(exchange,)), "x|y.har")])


def _parsed(data):
    """By the definition of the protocol: a field that it does not know, or of another type, is an error."""
    said = json.loads(data)
    for span in said["resourceSpans"][0]["scopeSpans"][0]["spans"]:
        for name in ("traceId", "spanId"):  # hexadecimal digits in OTLP, base64 in JSON of Protobuf
            span[name] = b64encode(bytes.fromhex(span[name])).decode()
    return json_format.ParseDict(said, TracesData())


def _facts(attributes):
    return {one.key: json_format.MessageToDict(one.value) for one in attributes}


def test_an_answer_is_a_span_with_its_runs_and_gaps_as_events():
    parsed = _parsed(otlp_json(_view(GOOD)))
    (span,) = parsed.resource_spans[0].scope_spans[0].spans
    assert span.kind == Span.SPAN_KIND_CLIENT
    assert span.name == "chat m-1"
    assert (len(span.trace_id), len(span.span_id)) == (16, 8)
    assert span.start_time_unix_nano == BEGAN
    assert span.end_time_unix_nano == BEGAN + 5210 * _MS
    facts = _facts(span.attributes)
    assert facts["gen_ai.usage.input_tokens"] == {"intValue": "7"}
    assert facts["gen_ai.response.finish_reasons"]["arrayValue"]["values"][0]["stringValue"]
    assert facts["partstream.time_to_first_chunk_ms"]["doubleValue"] == pytest.approx(98)
    assert span.status.code == Status.STATUS_CODE_UNSET
    events = [(event.name, (event.time_unix_nano - BEGAN) // _MS) for event in span.events]
    assert events == sorted(events, key=lambda one: one[1])
    assert ("partstream.text", 100) in events
    assert ("partstream.call", 5210) in events
    assert "partstream.stall" in dict(events) or "partstream.gap" in dict(events)
    call = next(event for event in span.events if event.name == "partstream.call")
    assert _facts(call.attributes)["gen_ai.tool.name"] == {"stringValue": "look_up"}


def test_spans_hold_no_word_of_a_person_or_a_model():
    said = otlp_json(_view(GOOD))
    assert b"secret words" not in said
    assert b"private question" not in said


def test_the_names_are_those_of_the_server():
    span = _parsed(otlp_json(_view(GOOD))).resource_spans[0].scope_spans[0].spans[0]
    written = "".join(Path(module.__file__).read_text("utf-8") for module in (telemetry, tracing))
    known = set(re.findall(r'"([a-z_]+\.[a-z_.]+)"', written))
    assert {name for name in _facts(span.attributes) if not name.startswith("partstream.")} <= known


def test_a_failure_is_an_error_with_its_exception():
    view = _view(GOOD[:2], HowEnded.CUT, RecordedError("ReadError", "reset by peer"))
    span = _parsed(otlp_json(view)).resource_spans[0].scope_spans[0].spans[0]
    assert span.status.code == Status.STATUS_CODE_ERROR
    assert span.events[-1].name == "exception"
    assert "exception.message" in _facts(span.events[-1].attributes)


def test_equal_views_are_equal_bytes():
    assert otlp_json(_view(GOOD)) == otlp_json(_view(GOOD))
    assert VIEW_EXPORTS.keys() == {".otlp.json", ".md"}


def test_the_summary_says_what_an_issue_needs():
    said = summary_markdown(_view(GOOD[:2], HowEnded.CUT, RecordedError("ReadError", "reset by peer"))).decode()
    for wanted in (
        "# x\\|y.har",
        "- Request: `POST /v1/chat/completions`",
        "- Model: `m-1`",
        "- Response: `200`",
        "- Error: `ReadError: reset by peer`",
        "- First visible (TTFT): 98.0 ms",
        "partstream check 'x|y.har'",
    ):
        assert wanted in said


@pytest.mark.parametrize("made", [sample_views.broken, sample_views.unmapped, sample_views.refused, sample_views.agent])
def test_terminal_issue_and_page_without_its_script_say_the_same(made):
    view = made()
    printed = "\n".join(line for line, _ in summary(view))
    issue = re.sub(r"[\\`]", "", summary_markdown(view).decode())
    page = re.sub("<[^>]+>", "", unescape(skeleton_html(view)))
    for row in account_of(view["answers"][0]):
        for said in (printed, issue, page):
            assert row.name in said
            assert all(
                re.sub(r"[\\`]", "", line[:100]) in re.sub(r"[\\`]", "", said) for line in row.value.splitlines()
            )


@pytest.mark.parametrize("said", ["https://evil.example", "@team", "www.evil.example", "them/theirs#1", "GH-1"])
def test_nothing_that_a_stream_says_is_a_link_or_names_a_person_in_an_issue(said: str):
    """GitHub finds these in every text that is no code."""
    failed = {"error": {"message": f"ask {said} now"}}
    chunks = (*GOOD[:1], Chunk(200 * _MS, f"data: {json.dumps(failed)}\n\n".encode()))
    issue = summary_markdown(_view(chunks)).decode()
    assert "The server's fault" in issue
    assert said in issue
    assert said not in re.sub(r"`[^`\n]*`|\\", "", issue)


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=30))
def test_what_a_stream_says_acts_on_nothing(words):
    hostile = words + "\n\n# Heading <script>alert(1)</script> `x` ``` ~~~ | [a](javascript:1) \x1b[31m \u202e @team"
    error = RecordedError("Read`Error", hostile, (("name", hostile),))
    chunks = (*GOOD[:1], Chunk(200 * _MS, f"data: {json.dumps({'type': hostile})}\n\n".encode()))
    said = summary_markdown(_view(chunks, HowEnded.CUT, error)).decode()
    outside = re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", "", "\n".join(one for one in said.split("\n") if one[:4] != "    "))
    outside = outside.replace("```sh", "").replace("```", "")
    assert "<script>" not in re.sub(r"\\.", "", outside)
    assert "\n# Heading" not in said
    assert "\x1b" not in said
    assert "\u202e" not in said
