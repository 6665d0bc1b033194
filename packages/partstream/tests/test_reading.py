"""The short door: bytes of an answer in any pieces, parts and then one Finish."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterable, Iterator
from typing import Any, get_args

import pytest

import partstream
from partstream import (
    PROTOCOLS,
    Finish,
    InvalidArgumentError,
    ProtocolName,
    StreamOptions,
    StreamReader,
    TextPart,
    ThinkingMode,
    ToolCallPart,
    UnknownProtocolError,
    Unmapped,
    read_stream,
)
from partstream.lm.outputs import Outcome
from partstream.protocols.protocol import BUILT_IN_PROTOCOLS
from protocols.openresponses.wire import created, delta, sse, terminal
from rows import one_test_for

ANSWER = b"".join(sse([created(), delta("Hel"), delta("lo"), {"type": "response.odd"}, terminal()]))


def _pieces(size: int) -> Iterator[bytes]:
    return (ANSWER[start : start + size] for start in range(0, len(ANSWER), size))


async def _later(pieces: Iterator[bytes]) -> AsyncIterator[bytes]:
    for piece in pieces:
        yield piece


@pytest.mark.parametrize("size", [1, 7, 100_000])
def test_bytes_in_pieces_of_any_size_give_parts_and_then_the_finish(size: int) -> None:
    *parts, finish = read_stream(_pieces(size))
    assert parts == [TextPart("Hel"), TextPart("lo")]
    assert isinstance(finish, Finish)
    assert finish.outcome is Outcome.COMPLETED


@pytest.mark.parametrize("size", [1, 7, 100_000])
def test_an_asynchronous_iterable_gives_an_asynchronous_one(size: int) -> None:
    async def read() -> list[object]:
        return [output async for output in read_stream(_later(_pieces(size)))]

    assert asyncio.run(read()) == list(read_stream(_pieces(size)))


def test_what_has_no_part_is_told_to_whoever_asks() -> None:
    unmapped: list[Unmapped] = []
    list(read_stream([ANSWER], on_unmapped=unmapped.append))
    assert [one.type for one in unmapped] == ["response.odd"]


def test_bytes_that_end_early_end_in_a_finish_that_says_so() -> None:
    *parts, finish = read_stream([ANSWER[: len(ANSWER) // 2]])
    assert isinstance(finish, Finish)
    assert finish.outcome is Outcome.TRUNCATED
    assert all(isinstance(part, TextPart) for part in parts)


def test_an_exception_of_the_iterable_passes_through_behind_the_parts_before_it() -> None:
    def broken() -> Iterator[bytes]:
        yield b"".join(sse([created(), delta("Hi")]))
        raise OSError("cable")

    read = read_stream(broken())
    assert next(read) == TextPart("Hi")
    with pytest.raises(OSError, match="cable"):
        next(read)


def test_nothing_behind_the_finish_is_read() -> None:
    def endless() -> Iterator[bytes]:
        yield ANSWER
        raise AssertionError("read on")

    assert len(list(read_stream(endless()))) == 3


def test_the_names_of_all_protocols_are_public_and_any_other_name_is_refused() -> None:
    assert "openresponses" in partstream.PROTOCOLS
    with pytest.raises(KeyError, match="morse"):
        read_stream([], protocol="morse")  # type: ignore[call-overload]


def test_whoever_feeds_has_the_reader_itself() -> None:
    reader = partstream.StreamReader("openresponses")
    outputs = [output for piece in _pieces(5) for output in reader.feed(piece)]
    outputs += reader.end()
    assert outputs[-1].outcome is Outcome.COMPLETED  # type: ignore[union-attr]


@pytest.mark.parametrize("chunks", ["data: {}", 5, None])
def test_what_are_no_bytes_is_refused(chunks: Any) -> None:
    with pytest.raises(InvalidArgumentError, match=r"chunks: got .*, expected bytes, or an iterable or asynchronous"):
        read_stream(chunks)


def test_a_chunk_that_is_no_bytes_is_refused_when_it_comes() -> None:
    wrong: Any = [b"", "data: {}"]
    with pytest.raises(InvalidArgumentError, match=r"expected bytes; chunks .* go to partstream.StreamAdapter"):
        list(read_stream(wrong))


def test_all_bytes_at_once_are_one_chunk() -> None:
    event = b'data: {"type":"response.output_text.delta","item_id":"m","output_index":0,"content_index":0,"delta":"Hi"}'
    assert next(read_stream(event + b"\n\n")) == TextPart("Hi")


@one_test_for(
    ("name", "meant"),
    [
        ("open-ai", "chat-completions"),
        ("chat_completions", "chat-completions"),
        ("Anthropic", "anthropic-messages"),
        ("openresponse", "openresponses"),
        ("gemni", "gemini"),
        ("morse", None),
    ],
)
def test_an_unknown_protocol_is_refused_with_the_name_that_may_be_meant(name: str, meant: str | None) -> None:
    with pytest.raises(UnknownProtocolError) as caught:
        read_stream([], protocol=name)  # type: ignore[call-overload]
    hint = "" if meant is None else f"; did you mean {meant!r}?"
    assert str(caught.value) == f"protocol: got {name!r}, expected one of {', '.join(PROTOCOLS)}{hint}"
    assert (caught.value.name, caught.value.meant) == (name, meant)


@one_test_for("name", [one for one in get_args(ProtocolName) if one != "auto"])
def test_every_name_that_is_typed_is_known(name: ProtocolName) -> None:
    assert PROTOCOLS[name].name in BUILT_IN_PROTOCOLS


def test_every_name_that_is_known_is_typed() -> None:
    assert set(BUILT_IN_PROTOCOLS) < set(get_args(ProtocolName))


CALL = {"id": "call_1", "index": 0, "function": {"name": "add", "arguments": "{}"}}
CALLING = (
    b"data: %s\n\ndata: [DONE]\n\n"
    % json.dumps({"choices": [{"index": 0, "delta": {"tool_calls": [CALL]}, "finish_reason": "tool_calls"}]}).encode()
)


def test_every_function_of_the_library_gives_the_call_ids_of_the_server() -> None:
    chunk = json.loads(CALLING.split(b"\n")[0].removeprefix(b"data: "))

    async def events() -> list[object]:
        return [part async for part in partstream.from_events([chunk])]

    async def adapted() -> list[object]:
        adapter = partstream.StreamAdapter(dialect="chat-completions")
        return [part async for part in adapter.adapt_stream([chunk])]

    reader = partstream.StreamReader()
    read: dict[str, Iterable[object]] = {
        "read_stream": read_stream(CALLING),
        "read_stream with options": read_stream(CALLING, options=StreamOptions(thinking=ThinkingMode.OFF)),
        "StreamReader": [*reader.feed(CALLING), *reader.end()],
        "from_events": asyncio.run(events()),
        "StreamAdapter": asyncio.run(adapted()),
    }
    ids = {name: [one.call_id for one in parts if isinstance(one, ToolCallPart)] for name, parts in read.items()}
    assert ids == {name: ["call_1"] for name in read}


def test_texts_that_came_at_once_are_one_part_where_the_reader_joins_them():
    def read(*, joins: bool) -> list[Any]:
        reader = StreamReader("openresponses")
        reader.joins_texts = joins
        events = [created(), *(delta(word) for word in ("a", "b", "c", "d")), {"type": "response.odd"}, delta("e")]
        return reader.feed(b"".join(sse(events)))

    one, many = read(joins=True), read(joins=False)
    assert [part.value for part in many if isinstance(part, TextPart)] == ["a", "b", "c", "d", "e"]
    assert [part.value for part in one if isinstance(part, TextPart)] == ["a", "bcd", "e"]
    assert [part for part in one if isinstance(part, Unmapped)] == [part for part in many if isinstance(part, Unmapped)]
