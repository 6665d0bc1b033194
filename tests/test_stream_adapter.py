"""A Python program has chunks and wants parts: RFC 003, over any asynchronous iterable."""

import asyncio
import logging
from collections.abc import AsyncIterator, Iterable, Mapping
from types import MappingProxyType
from typing import Any

import pytest

from partstream import StreamAdapter, StreamUsage
from partstream.errors import LanguageModelError, TruncatedStreamError, UpstreamFailureError, UpstreamProtocolError
from partstream.parts import TextPart, ThinkingPart, ToolCallPart
from partstream.protocols.registry import CHUNK_PROTOCOLS
from partstream.protocols.serving import Answer, TextBlock, ThinkingBlock, ToolCallBlock
from partstream.usage import UnifiedFinishReason
from protocols.ai_sdk.wire import WRITERS, Chunk

ANSWER = Answer((ThinkingBlock(("hm",)), TextBlock(("Hi ", "there")), ToolCallBlock("add", ('{"a":1}',))))


async def _stream(chunks: Iterable[Any]) -> AsyncIterator[Any]:
    for chunk in chunks:
        await asyncio.sleep(0)
        yield chunk


class _Kept:
    """A progress that keeps what it is told."""

    def __init__(self) -> None:
        self.parts: list[Any] = []

    def report(self, value: Any) -> None:
        self.parts.append(value)


def _process(chunks: Iterable[Any], adapter: StreamAdapter | None = None) -> tuple[list[Any], StreamUsage]:
    progress = _Kept()
    usage = asyncio.run((adapter or StreamAdapter()).process_stream(_stream(chunks), progress))
    return progress.parts, usage


@pytest.mark.parametrize("name", WRITERS)
def test_every_dialect_gives_the_parts_and_the_usage(name: str) -> None:
    writer = WRITERS[name]
    parts, usage = _process(writer.write(ANSWER), StreamAdapter(dialect=writer.protocol))
    assert [part.value for part in parts if isinstance(part, TextPart)] == ["Hi ", "there"]
    assert [part.value for part in parts if isinstance(part, ThinkingPart)] == ["hm"]
    assert [part for part in parts if isinstance(part, ToolCallPart)] == [ToolCallPart("call_2", "add", {"a": 1})]
    expected = (None, None) if writer.protocol == "ai-sdk-ui" else (7, 3)
    assert (usage.input_tokens, usage.output_tokens) == expected
    assert usage.finish_reason is not None
    assert usage.finish_reason.unified is UnifiedFinishReason.TOOL_CALLS


def test_the_parts_can_be_iterated_and_the_usage_asked_for() -> None:
    adapter = StreamAdapter()

    async def run() -> list[Any]:
        return [part async for part in adapter.adapt_stream(_stream(WRITERS["full stream"].write(ANSWER)))]

    assert adapter.get_usage() == StreamUsage()
    parts = asyncio.run(run())
    assert parts == _process(WRITERS["full stream"].write(ANSWER))[0]
    assert adapter.get_usage().input_tokens == 7


def test_reasoning_can_be_left_out() -> None:
    parts, _ = _process(WRITERS["full stream"].write(ANSWER), StreamAdapter(enable_reasoning=False))
    assert not [part for part in parts if isinstance(part, ThinkingPart)]


def test_chunks_without_a_place_go_to_the_callback_and_are_named_once(caplog: pytest.LogCaptureFixture) -> None:
    unknown: list[Mapping[str, Any]] = []
    odd = {"type": "new-thing", "value": 1}
    whole = WRITERS["full stream"].write(ANSWER)
    adapter = StreamAdapter(on_unknown_chunk=unknown.append)
    with caplog.at_level(logging.WARNING):
        _, usage = _process([*whole[:2], odd, odd, *whole[2:]], adapter)
    assert unknown == [odd, odd]
    assert usage.unmapped == {"new-thing": 2}
    assert caplog.text.count("new-thing") == 1


def test_an_error_is_raised_after_what_came_before_it() -> None:
    progress = _Kept()
    chunks: list[Chunk] = [
        {"type": "text-delta", "id": "t", "text": "so far"},
        {"type": "error", "error": {"data": {"error": {"message": "Overloaded"}}}},
    ]
    with pytest.raises(UpstreamFailureError, match="Overloaded"):
        asyncio.run(StreamAdapter().process_stream(_stream(chunks), progress))
    assert progress.parts == [TextPart("so far")]


@pytest.mark.parametrize(
    ("chunks", "expected"),
    [
        ([], TruncatedStreamError),
        ([{"type": "text-delta", "id": "t", "text": "so far"}], TruncatedStreamError),
        ([7], UpstreamProtocolError),
        ([None], UpstreamProtocolError),
        (["text"], UpstreamProtocolError),
        ([{}], UpstreamProtocolError),
    ],
)
def test_a_stream_that_makes_no_sense_is_one_of_our_errors(
    chunks: list[Any], expected: type[LanguageModelError]
) -> None:
    with pytest.raises(expected):
        _process(chunks)


def test_any_mapping_is_a_chunk() -> None:
    parts, _ = _process([MappingProxyType(chunk) for chunk in WRITERS["full stream"].write(ANSWER)])
    assert parts == _process(WRITERS["full stream"].write(ANSWER))[0]


def test_what_the_stream_raises_itself_goes_through() -> None:
    async def broken() -> AsyncIterator[Chunk]:
        yield {"type": "text-delta", "id": "t", "text": "so far"}
        raise ConnectionResetError("gone")

    with pytest.raises(ConnectionResetError):
        asyncio.run(StreamAdapter().process_stream(broken(), _Kept()))


def test_streams_that_run_at_once_never_mix() -> None:
    adapter = StreamAdapter()

    async def run() -> list[tuple[list[Any], StreamUsage]]:
        async def one(number: int) -> tuple[list[Any], StreamUsage]:
            progress = _Kept()
            answer = Answer((TextBlock((f"{number} ",) * 50),))
            return progress.parts, await adapter.process_stream(_stream(WRITERS["full stream"].write(answer)), progress)

        return await asyncio.gather(*(one(number) for number in range(5)))

    for number, (parts, usage) in enumerate(asyncio.run(run())):
        assert parts == [TextPart(f"{number} ")] * 50
        assert usage.output_tokens == 3


def test_a_dialect_that_is_none_is_refused_and_those_that_are_named() -> None:
    with pytest.raises(ValueError, match=r"got 'morse', expected one of " + ", ".join(CHUNK_PROTOCOLS)):
        StreamAdapter(dialect="morse")
