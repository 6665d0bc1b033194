"""Bundles for tests: one that has everything, and a strategy for all that can be written."""

from hypothesis import strategies

from partstream.lm.outputs import CitationMode, FileMode, StreamOptions, ThinkingMode
from partstream.lm.parts import DataPart, TextPart, ThinkingPart, ToolCallPart
from partstream_devtools.bundles.exchange import (
    Bundle,
    Chunk,
    ExchangeEnd,
    HowEnded,
    LeftOut,
    RecordedAnswer,
    RecordedError,
    RecordedExchange,
    RecordedRequest,
    Redaction,
    RedactionLevel,
    ReportedPart,
    ResponseHead,
)

BODY = b'data: {"choices": [{"delta": {"content": "Hel'
REST = b'lo"}}]}\n\ndata: [DONE]\n\n'

FULL = Bundle(
    source="record",
    made_by="partstream 0.12.0",
    versions={"python": "3.13.1", "partstream": "0.12.0"},
    redaction=Redaction(RedactionLevel.KEYS, {"bearer": 2, "cookie": 1}, ("text",)),
    exchanges=(
        RecordedExchange(
            number=1,
            answer=1,
            protocol=None,
            started_at="2026-11-23T01:00:00+00:00",
            request=RecordedRequest("POST", "/v1/responses", "a=b", (("x-api-key", "R"),), b"\xff\x00", 20),
            head=None,
            chunks=(),
            end=ExchangeEnd(90, HowEnded.NO_RESPONSE, RecordedError("Refused", "no connection", (("url", "h"),))),
            offset=0,
        ),
        RecordedExchange(
            number=2,
            answer=1,
            protocol="chat-completions",
            started_at=None,
            request=RecordedRequest("POST", "/v1/chat/completions", body=b'{"model": "m"}', sent_at=10),
            head=ResponseHead(100, 200, "OK", (("content-type", "text/event-stream"), ("set-cookie", "R"))),
            chunks=(Chunk(110, BODY), Chunk(2**40, REST)),
            end=ExchangeEnd(2**40 + 1, HowEnded.WHOLE),
            offset=1000,
            left_out=LeftOut(reads=3, bytes=900, after=1, request_bytes=7),
            shown=StreamOptions(thinking=ThinkingMode.OFF, citations=CitationMode.END, files=FileMode.ADDRESS),
        ),
    ),
    answers=(
        RecordedAnswer(
            number=1,
            host="chat",
            model="m",
            started_at="2026-11-23T01:00:00+00:00",
            offset=0,
            reported=(
                ReportedPart(1, ThinkingPart("hm", "r1", {"a": [1, None]})),
                ReportedPart(2, TextPart("Hel\ud800lo \u2028")),
                ReportedPart(3, ToolCallPart("gw-1", "look_up", {"b": 1, "a": "ü"})),
                ReportedPart(None, DataPart(b"\x00\xff", "image/png")),
            ),
            outcome="completed",
            error=RecordedError("Broken", "it broke"),
            left_out=2,
            dropped=("tools[].web_search",),
        ),
    ),
    notes=("exchange 1: nothing came",),
)

_texts = strategies.text(max_size=12)
_times = strategies.none() | strategies.integers(0, 2**63 - 1)
_headers = strategies.lists(strategies.tuples(_texts, _texts), max_size=3).map(tuple)
_json = strategies.recursive(
    strategies.none() | strategies.booleans() | strategies.integers(-(2**53), 2**53) | _texts,
    lambda inner: strategies.lists(inner, max_size=3) | strategies.dictionaries(_texts, inner, max_size=3),
    max_leaves=6,
)
_objects = strategies.dictionaries(_texts, _json, max_size=3)
_names = strategies.text(min_size=1, max_size=8)
parts = strategies.one_of(
    strategies.builds(TextPart, _texts),
    strategies.builds(ThinkingPart, _texts, strategies.none() | _texts, strategies.none() | _objects),
    strategies.builds(ToolCallPart, _names, _names, _objects),
    strategies.builds(DataPart, strategies.binary(max_size=20), _names),
)
_errors = strategies.none() | strategies.builds(RecordedError, _texts, _texts, _headers)
_requests = strategies.builds(
    RecordedRequest, _texts, _texts, _texts, _headers, strategies.binary(max_size=30) | _texts.map(str.encode), _times
)
_heads = strategies.builds(ResponseHead, _times, strategies.integers(100, 999), _texts, _headers)
chunks = strategies.lists(strategies.builds(Chunk, _times, strategies.binary(min_size=1, max_size=40)), max_size=4)
_ends = strategies.builds(ExchangeEnd, _times, strategies.sampled_from(HowEnded), _errors)
_optional_texts = strategies.none() | _texts
_numbers = strategies.integers(1, 10**9 - 1)


def _in_order(numbered: strategies.SearchStrategy[object]) -> strategies.SearchStrategy[tuple[object, ...]]:
    """Some values with different numbers, in their order."""
    by_number = strategies.lists(numbered, max_size=3, unique_by=lambda one: one.number)  # type: ignore[attr-defined]
    return by_number.map(lambda values: tuple(sorted(values, key=lambda one: one.number)))  # type: ignore[attr-defined]


exchanges = strategies.builds(
    RecordedExchange,
    number=_numbers,
    answer=_numbers,
    protocol=_optional_texts,
    started_at=_optional_texts,
    request=strategies.none() | _requests,
    head=strategies.none() | _heads,
    chunks=chunks.map(tuple),
    end=_ends,
    offset=_times,
)
answers = strategies.builds(
    RecordedAnswer,
    number=_numbers,
    host=_optional_texts,
    model=_optional_texts,
    started_at=_optional_texts,
    offset=_times,
    reported=strategies.lists(strategies.builds(ReportedPart, _times, parts), max_size=4).map(tuple),
    outcome=_optional_texts,
    error=_errors,
)
bundles = strategies.builds(
    Bundle,
    source=_texts,
    made_by=_texts,
    versions=strategies.dictionaries(_texts, _texts, max_size=3),
    redaction=strategies.none()
    | strategies.builds(
        Redaction,
        strategies.sampled_from(RedactionLevel),
        strategies.dictionaries(_texts, strategies.integers(0, 2**31), max_size=3),
        strategies.lists(_texts, max_size=2).map(tuple),
    ),
    exchanges=_in_order(exchanges),
    answers=_in_order(answers),
    notes=strategies.lists(_texts, max_size=2).map(tuple),
)
"""All that can be written."""
