"""Chunks come as programs have them, and chunks of another protocol are reported with its name."""

import asyncio
import json
from collections.abc import Iterator
from pkgutil import resolve_name
from typing import Any

import pytest
from pydantic import TypeAdapter

from partstream import InvalidArgumentError, StreamAdapter, TextPart, TruncatedStreamError, UpstreamProtocolError
from protocols.anthropic_messages.wire import answer, text
from rows import one_test_for

CHUNKS: list[dict[str, Any]] = [
    {"type": "text-delta", "id": "1", "text": "Hi "},
    {"type": "text-delta", "id": "1", "text": "there"},
    {"type": "finish", "finishReason": "stop"},
]
PARTS = [TextPart("Hi "), TextPart("there")]
RESPONSES: list[dict[str, Any]] = [
    {"type": "response.created", "response": {"id": "r"}},
    {"type": "response.output_text.delta", "delta": "Hi", "item_id": "a", "output_index": 0, "content_index": 0},
    {"type": "response.completed", "response": {"output": []}},
]
MESSAGES: list[dict[str, Any]] = [
    {"type": "ping"},
    {"type": "message_start", "message": {}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "x"}},
]


WHOLE_MESSAGE: list[dict[str, Any]] = answer(text("Hi"), usage={"output_tokens": 3})
WHOLE_CHAT: list[dict[str, Any]] = [
    {
        "id": "c",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "m",
        "choices": [{"index": 0, "delta": {"content": said}, "finish_reason": word}],
    }
    for said, word in (("Hi", None), (None, "stop"))
]


def _parts(stream: Any, **settings: Any) -> list[Any]:
    async def run() -> list[Any]:
        return [part async for part in StreamAdapter(**settings).adapt_stream(stream)]

    return asyncio.run(run())


@pytest.mark.parametrize("form", [list, tuple, iter, lambda chunks: (chunk for chunk in chunks)])
def test_any_iterable_of_chunks_will_do(form: Any) -> None:
    assert _parts(form(CHUNKS)) == PARTS


@pytest.mark.parametrize("form", [json.dumps, lambda chunk: json.dumps(chunk).encode()])
def test_json_texts_are_read(form: Any) -> None:
    assert _parts([form(chunk) for chunk in CHUNKS]) == PARTS


@pytest.mark.parametrize(
    ("dialect", "chunk", "events"),
    [
        ("anthropic-messages", "anthropic.types:RawMessageStreamEvent", WHOLE_MESSAGE),
        ("chat-completions", "openai.types.chat:ChatCompletionChunk", WHOLE_CHAT),
    ],
)
def test_the_objects_of_official_sdks_are_read(dialect: str, chunk: str, events: Any) -> None:
    of_chunks: TypeAdapter[Any] = TypeAdapter(resolve_name(chunk))  # a second, which only this test pays
    objects = [of_chunks.validate_python(event) for event in events]
    assert _parts(objects, dialect=dialect) == [TextPart("Hi")]


def test_a_generator_is_closed_when_nobody_wants_more() -> None:
    closed: list[bool] = []

    def chunks() -> Iterator[Any]:
        try:
            yield from CHUNKS
        finally:
            closed.append(True)

    async def run() -> None:
        parts = StreamAdapter().adapt_stream(chunks())
        assert await anext(parts) == PARTS[0]
        await parts.aclose()

    asyncio.run(run())
    assert closed == [True]


@one_test_for("stream", ["data: {}", b"data: {}", CHUNKS[0], 5, None])
def test_what_is_no_stream_of_chunks_is_refused(stream: Any) -> None:
    with pytest.raises(InvalidArgumentError, match=r"stream: got .*, expected an iterable or .*read_stream"):
        _parts(stream)


@one_test_for("line", ["data: {}", b"data: {}", "[DONE]", "5", b"\xff"])
def test_a_text_that_is_no_json_object_is_an_error_that_says_where_bytes_go(line: Any) -> None:
    with pytest.raises(UpstreamProtocolError, match=r"expected an object or its JSON text; .*partstream\.read_stream"):
        _parts([line])


@pytest.mark.parametrize(
    ("events", "like", "advice"),
    [
        (RESPONSES, "openresponses", "; for those, give StreamAdapter dialect='openresponses'"),
        (MESSAGES, "anthropic-messages", "; for those, give StreamAdapter dialect='anthropic-messages'"),
        (
            [{"choices": [{"delta": {"content": "x"}}]}],
            "chat-completions",
            "; for those, give StreamAdapter dialect='chat-completions'",
        ),
        ([{"candidates": []}], "gemini", "; for those, give StreamAdapter dialect='gemini'"),
    ],
    ids=["openresponses", "messages", "chat completions", "gemini"],
)
def test_chunks_of_another_protocol_are_told_by_its_name(events: Any, like: str, advice: str) -> None:
    with pytest.raises(UpstreamProtocolError) as caught:
        _parts(events)
    assert f"got an event of {like}, expected chunks of ai-sdk" in str(caught.value)
    assert str(caught.value).endswith(f"ai-sdk{advice}")


def test_the_advice_works() -> None:
    assert _parts(RESPONSES, dialect="openresponses") == [TextPart("Hi")]


def test_a_stream_of_which_something_was_understood_keeps_its_own_error() -> None:
    with pytest.raises(TruncatedStreamError, match="ended before the response was complete"):
        _parts([CHUNKS[0], RESPONSES[0]])
    with pytest.raises(TruncatedStreamError, match="ended before the response was complete"):
        _parts([])
