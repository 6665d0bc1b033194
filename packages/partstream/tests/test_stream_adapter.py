"""A Python program has chunks and wants parts: RFC 003, over any asynchronous iterable."""

import asyncio
import logging
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import aclosing
from types import MappingProxyType
from typing import Any

import pytest

from partstream import (
    CancellationTokenSource,
    ErrorMode,
    FileMode,
    InvalidArgumentError,
    StreamAdapter,
    StreamUsage,
    ThinkingMode,
)
from partstream.errors import (
    LanguageModelError,
    TruncatedStreamError,
    UpstreamAbortedError,
    UpstreamFailureError,
    UpstreamProtocolError,
)
from partstream.lm.outputs import Finish, Outcome
from partstream.lm.parts import DataPart, FinishReason, TextPart, ThinkingPart, ToolCallPart, UnifiedFinishReason
from partstream.protocols.protocol import chunk_protocols
from protocols.ai_sdk.wire import WRITERS, Chunk
from rows import one_test_for

COMPLETED = Finish(Outcome.COMPLETED, FinishReason(UnifiedFinishReason.TOOL_CALLS))
ANSWER = [ThinkingPart("hm"), TextPart("Hi "), TextPart("there"), ToolCallPart("call_2", "add", {"a": 1}), COMPLETED]


async def _stream(chunks: Iterable[Any]) -> AsyncIterator[Any]:
    for chunk in chunks:
        await asyncio.sleep(0)
        yield chunk


class _Kept:
    """A progress that keeps its calls."""

    def __init__(self) -> None:
        self.parts: list[Any] = []

    def report(self, value: Any) -> None:
        self.parts.append(value)


def _process(chunks: Iterable[Any], adapter: StreamAdapter | None = None) -> tuple[list[Any], StreamUsage]:
    progress = _Kept()
    usage = asyncio.run((adapter or StreamAdapter()).process_stream(_stream(chunks), progress))
    return progress.parts, usage


@one_test_for("name", WRITERS)
def test_every_dialect_gives_the_parts_and_the_usage(name: str) -> None:
    writer = WRITERS[name]
    parts, usage = _process(writer.write(ANSWER), StreamAdapter(dialect=writer.protocol))
    assert [part.value for part in parts if isinstance(part, TextPart)] == ["Hi ", "there"]
    assert [part.value for part in parts if isinstance(part, ThinkingPart)] == ["hm"]
    assert [part for part in parts if isinstance(part, ToolCallPart)] == [ToolCallPart("call_2", "add", {"a": 1})]
    assert (usage.input_tokens, usage.output_tokens) == (7, 3)
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


class _Ended(_Kept):
    """A progress that takes how the answer ended, too."""

    def finish(self, finish: Finish) -> None:
        self.parts.append(finish)


def test_a_progress_that_takes_it_is_told_how_the_stream_ended_also_when_it_failed() -> None:
    whole, broken = _Ended(), _Ended()
    asyncio.run(StreamAdapter().process_stream(_stream(WRITERS["full stream"].write(ANSWER)), whole))
    finish = whole.parts[-1]
    assert isinstance(finish, Finish)
    assert finish.reason is not None
    assert finish.reason.unified is UnifiedFinishReason.TOOL_CALLS
    with pytest.raises(TruncatedStreamError) as caught:
        asyncio.run(StreamAdapter().process_stream(_stream([]), broken))
    assert broken.parts == [Finish(Outcome.TRUNCATED, error=caught.value)]


def test_reasoning_can_be_left_out() -> None:
    parts, _ = _process(WRITERS["full stream"].write(ANSWER), StreamAdapter(enable_reasoning=False))
    assert not [part for part in parts if isinstance(part, ThinkingPart)]


@pytest.mark.parametrize(("thinking", "shown"), [("part", ""), ("text", "> hm\n\n"), ("off", "")])
def test_reasoning_is_shown_as_it_is_wanted(thinking: str, shown: str) -> None:
    adapter = StreamAdapter(enable_reasoning=False, thinking=ThinkingMode(thinking))
    parts, _ = _process(WRITERS["full stream"].write(ANSWER), adapter)
    assert "".join(part.value for part in parts if isinstance(part, TextPart)) == f"{shown}Hi there"
    assert [part.value for part in parts if isinstance(part, ThinkingPart)] == (["hm"] if thinking == "part" else [])


def test_chunks_without_a_place_go_to_the_callback_and_are_named_once(caplog: pytest.LogCaptureFixture) -> None:
    unknown: list[Mapping[str, Any]] = []
    odd = {"type": "new-thing", "value": 1}
    whole = WRITERS["full stream"].write(ANSWER)
    adapter = StreamAdapter(on_unknown_chunk=unknown.append)
    with caplog.at_level(logging.DEBUG):
        _, usage = _process([*whole[:2], odd, odd, *whole[2:]], adapter)
    assert unknown == [odd, odd]
    assert usage.unmapped == {"new-thing": 2}
    assert caplog.text.count("new-thing") == 1


def test_ignored_chunks_and_ends_are_logged_at_debug_and_errors_at_error(caplog: pytest.LogCaptureFixture) -> None:
    chunks = [{"type": "raw", "rawValue": 1}, {"type": "error", "error": "Overloaded"}, {"type": "finish"}]
    logger = logging.getLogger("of-the-program")
    with caplog.at_level(logging.DEBUG, "of-the-program"), pytest.raises(UpstreamFailureError):
        _process(chunks, StreamAdapter(logger=logger))
    assert [(record.name, record.levelname, record.getMessage().split(":")[0]) for record in caplog.records] == [
        ("of-the-program", "DEBUG", "no part can represent chunks of type raw (logged once per stream)"),
        ("of-the-program", "DEBUG", "the stream ended"),
        ("of-the-program", "ERROR", "the stream failed"),
    ]


def test_the_usage_of_each_stream_is_known_while_it_goes_on() -> None:
    adapter = StreamAdapter()
    step = {"type": "finish-step", "finishReason": "stop", "usage": {"inputTokens": 7, "outputTokens": 3}}
    chunks: list[Chunk] = [
        {"type": "text-delta", "id": "t", "text": "a"}, step, {"type": "text-delta", "id": "t", "text": "b"}
    ]  # fmt: skip

    async def run() -> None:
        first, second = adapter.adapt_stream(_stream(chunks)), adapter.adapt_stream(_stream(chunks))
        assert await anext(first) == TextPart("a")
        assert first.get_usage() == StreamUsage()
        assert await anext(first) == TextPart("\n\nb")
        usage = first.get_usage()
        assert (usage.input_tokens, usage.output_tokens, usage.finish) == (7, 3, None)
        assert second.get_usage() == adapter.get_usage() == StreamUsage()
        await first.aclose()
        await second.aclose()
        assert first.get_usage() == usage

    asyncio.run(run())


def test_a_program_that_has_its_chunks_one_by_one_maps_them_one_by_one() -> None:
    chunks = WRITERS["full stream"].write(ANSWER)
    mapper = StreamAdapter().open()
    parts = [part for chunk in chunks for part in mapper.map_chunk(chunk)]
    assert (mapper.finished, mapper.end(), mapper.end()) == (True, [], [])
    assert parts == _process(chunks)[0]
    assert mapper.get_usage() == _process(chunks)[1]
    cut = StreamAdapter(waits_for_outcomes=True).open()
    for chunk in BEFORE_IT_BROKE[2:4]:
        cut.map_chunk(chunk)
    assert [type(part) for part in cut.end()] == [ThinkingPart, ToolCallPart]
    assert cut.finish is not None
    assert isinstance(cut.finish.error, TruncatedStreamError)


ABORTED: list[Chunk] = [{"type": "text-delta", "id": "t", "text": "so far"}, {"type": "abort", "reason": "stopped"}]


def test_an_abort_that_nobody_asked_for_is_an_error_of_its_own_type() -> None:
    progress = _Kept()
    with pytest.raises(UpstreamAbortedError, match="stopped"):
        asyncio.run(StreamAdapter().process_stream(_stream(ABORTED), progress, CancellationTokenSource().token))
    assert progress.parts == [TextPart("so far")]


@pytest.mark.parametrize("last", [ABORTED[1], {"type": "error", "error": "aborted"}, None])
def test_an_answer_that_the_caller_cancelled_resolves_with_what_is_known(last: Chunk | None) -> None:
    async def chunks(source: CancellationTokenSource) -> AsyncIterator[Chunk]:
        yield ABORTED[0]
        yield {"type": "finish-step", "usage": {"inputTokens": 7, "outputTokens": 3}}
        source.cancel()
        if last is None:
            raise ConnectionAbortedError
        yield last
        yield {"type": "text-delta", "id": "t", "text": "late"}

    async def run() -> None:
        source, progress = CancellationTokenSource(), _Ended()
        usage = await StreamAdapter().process_stream(chunks(source), progress, source.token)
        assert usage.input_tokens == 7
        assert progress.parts == [TextPart("so far")]
        source = CancellationTokenSource()
        stream = StreamAdapter().adapt_stream(chunks(source), source.token)
        assert [part async for part in stream] == [TextPart("so far")]
        assert stream.get_usage().input_tokens == 7

    asyncio.run(run())


def test_cancelling_ends_a_stream_that_is_silent_and_closes_it() -> None:
    async def run() -> None:
        source, waits = CancellationTokenSource(), asyncio.Event()

        class Silent(_Closable):
            async def __anext__(self) -> Any:
                waits.set()
                await asyncio.Event().wait()

        stream = Silent([])
        processing = asyncio.create_task(StreamAdapter().process_stream(stream, _Kept(), source.token))
        await waits.wait()
        source.cancel()
        assert await asyncio.wait_for(processing, 30) == StreamUsage()
        assert stream.closed

    asyncio.run(run())


def test_an_error_is_a_text_of_the_answer_where_a_program_wants_that() -> None:
    chunks = [{"type": "text-delta", "id": "t", "text": "so far"}, {"type": "error", "error": "Overloaded"}]
    parts, usage = _process(chunks, StreamAdapter(errors=ErrorMode.TEXT))
    assert parts[0] == TextPart("so far")
    assert parts[1].value.startswith("\n\n**Error:** ")
    assert "Overloaded" in parts[1].value
    assert usage.finish is not None
    assert isinstance(usage.finish.error, UpstreamFailureError)


def test_ids_of_calls_have_the_prefix_that_is_wanted() -> None:
    parts, _ = _process(WRITERS["full stream"].write(ANSWER), StreamAdapter(call_id_prefix="gw-"))
    assert [part.call_id for part in parts if isinstance(part, ToolCallPart)] == ["gw-call_2"]


def test_an_adapter_fetches_no_file() -> None:
    file = {"type": "file", "mediaType": "image/png", "url": "https://e.org/a.png"}
    chunks = [file, {"type": "finish", "finishReason": "stop"}]
    assert _process(chunks)[0] == [TextPart("\n\n[a.png](https://e.org/a.png)\n\n")]
    address = DataPart(b"https://e.org/a.png", "text/uri-list")
    assert _process(chunks, StreamAdapter(files=FileMode.ADDRESS))[0] == [address]
    with pytest.raises(InvalidArgumentError, match="a stream adapter fetches nothing"):
        StreamAdapter(files=FileMode.FETCH)


def test_an_error_is_raised_after_what_came_before_it() -> None:
    progress = _Kept()
    chunks: list[Chunk] = [
        {"type": "text-delta", "id": "t", "text": "so far"},
        {"type": "error", "error": {"data": {"error": {"message": "Overloaded"}}}},
    ]
    with pytest.raises(UpstreamFailureError, match="Overloaded"):
        asyncio.run(StreamAdapter().process_stream(_stream(chunks), progress))
    assert progress.parts == [TextPart("so far")]


@one_test_for(
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


SIGNED = {"anthropic": {"signature": "s"}}
BEFORE_IT_BROKE: list[Chunk] = [
    {"type": "text-delta", "id": "t", "text": "so far"},
    {"type": "finish-step", "finishReason": "tool-calls", "usage": {"inputTokens": 7, "outputTokens": 3}},
    {"type": "reasoning-delta", "id": "r", "text": "hm", "providerMetadata": SIGNED},
    {"type": "tool-call", "toolCallId": "c", "toolName": "add", "input": {"a": 1}},
    {"type": "tool-input-start", "id": "half", "toolName": "add"},
]


@pytest.mark.parametrize("error", [ConnectionResetError("gone"), TruncatedStreamError("OPEN"), ValueError()])
def test_what_the_stream_raises_itself_goes_through_after_all_that_was_held_back(error: Exception) -> None:
    async def broken() -> AsyncIterator[Chunk]:
        for chunk in BEFORE_IT_BROKE:
            yield chunk
        raise error

    async def iterate(parts: list[Any]) -> None:
        async for part in iterated.adapt_stream(broken()):
            parts.append(part)

    reported, iterated = StreamAdapter(waits_for_outcomes=True), StreamAdapter(waits_for_outcomes=True)
    progress = _Kept()
    with pytest.raises(type(error)) as raised:
        asyncio.run(reported.process_stream(broken(), progress))
    assert raised.value is error
    yielded: list[Any] = []
    with pytest.raises(type(error)):
        asyncio.run(iterate(yielded))
    item = {"type": "reasoning", "text": "hm", "providerOptions": SIGNED}
    assert progress.parts == yielded == [
        TextPart("so far"),
        ThinkingPart("hm", "r"),
        ThinkingPart("", "r", {"reasoning_items": [item]}),
        ToolCallPart("c", "add", {"a": 1}),
    ]  # fmt: skip
    for adapter in (reported, iterated):
        assert adapter.get_usage().input_tokens == 7
        assert adapter.get_usage().unmapped == {"tool-input add (incomplete)": 1}


class _Closable:
    """A stream that says whether it was closed, and is no generator."""

    def __init__(self, chunks: Iterable[Any]) -> None:
        self.closed = False
        self._chunks = iter(chunks)

    def __aiter__(self) -> "_Closable":
        return self

    async def __anext__(self) -> Any:
        for chunk in self._chunks:
            return chunk
        raise StopAsyncIteration

    async def aclose(self) -> None:
        self.closed = True


def test_who_stops_early_closes_the_stream_as_well() -> None:
    async def run() -> bool:
        source = _Closable(WRITERS["full stream"].write(ANSWER))
        async with aclosing(StreamAdapter().adapt_stream(source)) as parts:
            async for _ in parts:
                break
        return source.closed

    assert asyncio.run(run())


def test_a_stream_is_closed_when_its_end_came_or_the_progress_refuses_a_part_or_the_task_is_cancelled() -> None:
    class Refusing:
        def report(self, value: Any) -> None:
            raise LookupError(value)

    class Silent(_Closable):
        async def __anext__(self) -> Any:
            await asyncio.Event().wait()

    async def run() -> None:
        whole = WRITERS["full stream"].write(ANSWER)
        source = _Closable([*whole, {"type": "text-delta", "text": "late"}])
        await StreamAdapter().process_stream(source, _Kept())
        assert source.closed
        source = _Closable(whole)
        with pytest.raises(LookupError):
            await StreamAdapter().process_stream(source, Refusing())
        assert source.closed
        source = Silent([])
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(StreamAdapter().process_stream(source, _Kept()), 0.01)
        assert source.closed

    asyncio.run(run())


def test_streams_that_run_at_once_never_mix() -> None:
    adapter = StreamAdapter()

    async def run() -> list[tuple[list[Any], StreamUsage]]:
        async def one(number: int) -> tuple[list[Any], StreamUsage]:
            progress = _Kept()
            answer = [*[TextPart(f"{number} ")] * 50, COMPLETED]
            return progress.parts, await adapter.process_stream(_stream(WRITERS["full stream"].write(answer)), progress)

        return await asyncio.gather(*(one(number) for number in range(5)))

    for number, (parts, usage) in enumerate(asyncio.run(run())):
        assert parts == [TextPart(f"{number} ")] * 50
        assert usage.output_tokens == 3


def test_a_dialect_that_is_none_is_refused_and_those_that_are_named() -> None:
    with pytest.raises(ValueError, match=r"got 'morse', expected one of " + ", ".join(chunk_protocols())):
        StreamAdapter(dialect="morse")


@pytest.mark.parametrize(
    ("dialect", "hint"),
    [("ai_sdk", "; did you mean 'ai-sdk'?"), ("Claude", "; did you mean 'anthropic-messages'?"), ("x", "")],
)
def test_an_unknown_dialect_is_refused_with_the_name_that_may_be_meant(dialect: Any, hint: str) -> None:
    with pytest.raises(ValueError, match="dialect: got") as caught:
        StreamAdapter(dialect=dialect)
    assert str(caught.value).endswith(f"ai-gateway{hint}")


@pytest.mark.parametrize(
    "chunks", [["Hel", "lo \u4f60", ""], [b"Hel", b"lo \xe4", b"\xbd\xa0"], ["Hel", b"lo \xe4\xbd\xa0"]]
)
def test_a_stream_of_plain_texts_is_whole_when_it_ends(chunks: list[Any]) -> None:
    parts, usage = _process(chunks, StreamAdapter(dialect="text"))
    assert "".join(part.value for part in parts) == "Hello \u4f60"
    assert usage.finish is not None
    assert (usage.finish.outcome, usage.usage) == (Outcome.COMPLETED, None)


def test_a_stream_of_plain_texts_that_is_cut_within_a_character_shows_it_and_anything_else_is_an_error() -> None:
    parts, _ = _process([b"a\xe4"], StreamAdapter(dialect="text"))
    assert parts == [TextPart("a"), TextPart("\ufffd")]
    with pytest.raises(UpstreamProtocolError, match="expected a text"):
        _process([{"type": "text-delta", "text": "a"}], StreamAdapter(dialect="text"))


def test_chunks_without_a_type_go_to_the_callback_and_the_stream_goes_on() -> None:
    unknown: list[Any] = []
    chunks = [{"type": "text-delta", "text": "a"}, {"x": 1}, {"type": "text-delta", "text": "b"}, {"type": "finish"}]
    parts, _ = _process(chunks, StreamAdapter(on_unknown_chunk=unknown.append))
    assert "".join(part.value for part in parts) == "ab"
    assert unknown == [{"x": 1}]


def test_reasoning_is_shown_where_nothing_is_said_of_it() -> None:
    parts, _ = _process([{"type": "reasoning-delta", "text": "hm"}, {"type": "finish"}])
    assert parts == [ThinkingPart("hm")]


def test_a_stream_that_just_ends_is_an_error_after_its_parts() -> None:
    progress = _Kept()
    with pytest.raises(TruncatedStreamError):
        asyncio.run(StreamAdapter().process_stream(_stream([{"type": "text-delta", "text": "a"}]), progress))
    assert progress.parts == [TextPart("a")]


def test_a_dialect_has_the_names_that_people_use() -> None:
    chunk = {"choices": [{"index": 0, "delta": {"content": "Hi"}, "finish_reason": "stop"}]}
    assert StreamAdapter(dialect="openai").open().map_chunk(chunk) == [TextPart("Hi")]
