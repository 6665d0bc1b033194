"""Plain text, as `textStream` gives it to programs and `toTextStreamResponse` to browsers."""

import asyncio

import pytest

from partstream import Outcome, StreamAdapter, StreamReader, TextPart, ThinkTags, read_stream
from partstream.errors import LanguageModelError, UpstreamFailureError
from partstream.lm.outputs import Finish, StreamOptions
from rows import one_test_for

TEXT = 'Grüße 🙂,\n{"type":"finish"}\n\ndata: [DONE]\n\n0:"x"\n<think>no</think> [[[['


def _read(pieces: list[bytes]) -> tuple[str, Finish]:
    *parts, finish = read_stream(pieces, protocol="ai-sdk-text")
    assert isinstance(finish, Finish)
    assert all(isinstance(part, TextPart) for part in parts)
    return "".join(part.value for part in parts if isinstance(part, TextPart)), finish


@one_test_for("size", [1, 2, 3, 5, 1000])
def test_all_bytes_are_text_however_they_are_cut_and_their_end_is_the_end_of_a_whole_answer(size: int) -> None:
    data = TEXT.encode()
    said, finish = _read([data[start : start + size] for start in range(0, len(data), size)])
    assert said == TEXT
    assert (finish.outcome, finish.reason, finish.usage, finish.error) == (Outcome.COMPLETED, None, None, None)


def test_text_is_a_part_as_it_comes_and_a_character_when_it_is_whole() -> None:
    reader = StreamReader("ai-sdk-text")
    fed = [reader.feed(piece) for piece in ("a🙂".encode()[:3], "a🙂".encode()[3:], b"", b"b")]
    assert fed == [[TextPart("a")], [TextPart("🙂")], [], [TextPart("b")]]


@pytest.mark.parametrize(
    ("data", "said"), [(b"", ""), (b"\xef\xbb\xbfHi", "Hi"), ("né".encode()[:2], "n\ufffd"), (b"a\xffb", "a\ufffdb")]
)
def test_what_is_no_text_is_read_as_a_browser_reads_it(data: bytes, said: str) -> None:
    assert _read([data])[0] == said


def test_a_long_text_has_no_limit_of_size_or_depth() -> None:
    data = b"[" * 3_000_000
    assert _read([data])[0] == data.decode()


def test_an_error_of_the_connection_ends_the_answer() -> None:
    reader = StreamReader("ai-sdk-text")
    reader.feed(b"Half")
    (finish,) = reader.fail(UpstreamFailureError("gone"))
    assert isinstance(finish, Finish)
    assert finish.outcome is Outcome.FAILED
    assert reader.end() == []


@pytest.mark.parametrize("data", [b"Hello you", b"Hello\nyou\n", b'"Hello"'])
def test_text_is_read_as_text_only_where_it_is_named(data: bytes) -> None:
    *parts, finish = read_stream([data])
    assert isinstance(finish, Finish)
    assert isinstance(finish.error, LanguageModelError)
    assert parts == []


def test_the_chunks_of_a_program_are_strings() -> None:
    pieces = ["Hel", "lo", "", ' {"type":"finish"}', " 7"]
    adapter = StreamAdapter(dialect="ai-sdk-text")

    async def read() -> list[object]:
        return [part async for part in adapter.adapt_stream(pieces)]

    assert asyncio.run(read()) == [TextPart(piece) for piece in pieces if piece]
    finish = adapter.get_usage().finish
    assert finish is not None
    assert finish.outcome is Outcome.COMPLETED


def test_tags_of_thinking_are_text_where_an_option_says_so() -> None:
    options = StreamOptions(think_tags=ThinkTags.OFF)
    *parts, _ = read_stream([b"<think>a</think>b"], protocol="ai-sdk-text", options=options)
    assert parts == [TextPart("<think>a</think>b")]
