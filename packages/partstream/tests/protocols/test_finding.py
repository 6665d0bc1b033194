"""The protocol of an answer is detected by its first events, however its bytes are cut; other bytes are named."""

from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from partstream import (
    EmptyStreamError,
    EventTooLargeError,
    Finish,
    StreamReader,
    TruncatedStreamError,
    UnreadableStreamError,
    UpstreamFailureError,
    UpstreamProtocolError,
    UpstreamTimeoutError,
    read_stream,
)
from partstream.codec.checks import InvalidArgumentError
from partstream.errors import AdapterUsageError, TimeoutPhase
from partstream.lm.messages import ChatMessage, RequestOptions
from partstream.lm.outputs import InboundRequest, Outcome, Reply, StreamOutput
from partstream.lm.parts import FinishReason, TextPart, UnifiedFinishReason, Usage
from partstream.protocols.protocol import BUILT_IN_PROTOCOLS, PROTOCOLS
from partstream.protocols.recognition import LOOKED_AT, WireFinder
from partstream.runtime.translation import frame_answer, write_answer
from partstream_devtools.recorded_stream import read_recording
from protocols.answers import answers
from recordings import FOLDER
from rows import one_test_for

ASKED = InboundRequest("small", (ChatMessage.user("Hi"),), RequestOptions())
CHAT = (
    b'data: {"id":"c","object":"chat.completion.chunk","model":"m",'
    b'"choices":[{"index":0,"delta":{"content":"Hi"}}]}\n\n'
    b'data: {"id":"c","object":"chat.completion.chunk","model":"m",'
    b'"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
)
MESSAGE = (
    b'{"id":"m","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"Hi"}],'
    b'"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":1}}'
)
RESPONSE = (
    b'{\n "id":"r","object":"response","status":"completed","model":"m","output":[{"type":"message","id":"m",'
    b'"role":"assistant","status":"completed","content":[{"type":"output_text","text":"Hi","annotations":[]}]}]}\n'
)
FOUND = {
    "Chat Completions": (CHAT, "chat-completions"),
    "behind comments": (b": ping\n\n\n: ping\n\n" + CHAT, "chat-completions"),
    "behind a byte order mark": (b"\xef\xbb\xbf" + CHAT, "chat-completions"),
    "lines that end with both": (CHAT.replace(b"\n", b"\r\n"), "chat-completions"),
    "a document": (b'{"choices":[{"message":{"role":"assistant","content":"Hi"},"finish_reason":"stop"}]}', None),
    "a document of OpenResponses": (RESPONSE, "openresponses"),
    "a document of Anthropic": (MESSAGE, "anthropic-messages"),
    "a list of Gemini": (
        b'[{"candidates":[{"content":{"parts":[{"text":"Hi"}]},"finishReason":"STOP"}]}\n]',
        "gemini",
    ),
    "lines of Ollama": (b'{"model":"m","message":{"role":"assistant","content":"Hi"},"done":true}\n', "ollama"),
    "lines of the data stream": (b'0:"Hi"\nd:{"finishReason":"stop"}\n', "ai-sdk-data"),
    "chunks of the SDK": (
        b'{"type":"start"}\n{"type":"text-delta","id":"1","text":"Hi"}\n{"type":"finish","finishReason":"stop"}\n',
        "ai-sdk",
    ),
}


def _read(reader: StreamReader, pieces: Iterable[bytes]) -> list[StreamOutput]:
    outputs: list[StreamOutput] = []
    for piece in pieces:
        outputs += reader.feed(piece)
    return outputs + reader.end()


def _error(data: bytes, protocol: str = "auto") -> object:
    *parts, finish = read_stream([data], protocol=protocol)  # type: ignore[arg-type]
    assert not parts
    assert isinstance(finish, Finish)
    return finish.error


@one_test_for(("data", "protocol"), FOUND.values(), ids=FOUND)
def test_the_protocol_is_found_out(data: bytes, protocol: str | None) -> None:
    finder = WireFinder()
    finder.feed(data)
    finder.end()
    assert finder.row is PROTOCOLS[protocol or "chat-completions"]
    for pieces in ([data], (data[place : place + 1] for place in range(len(data)))):
        outputs = _read(StreamReader(), pieces)
        assert "".join(one.value for one in outputs if isinstance(one, TextPart)) == "Hi"
        assert isinstance(outputs[-1], Finish)
        assert outputs[-1].outcome is Outcome.COMPLETED


@settings(max_examples=30, suppress_health_check=[HealthCheck.too_slow])
@pytest.mark.parametrize("name", [one for one in BUILT_IN_PROTOCOLS if PROTOCOLS[one].write_response is not None])
@given(answers(), st.integers(1, 200))
def test_a_written_answer_reads_as_it_does_where_its_protocol_is_named(
    name: str, answer: list[StreamOutput], size: int
) -> None:
    row = PROTOCOLS[name]
    data = frame_answer(row, write_answer(row, ASKED, answer, Reply("identity", 1)))
    named = _read(StreamReader(row), [data])
    assume(not isinstance(named[0], Finish))  # an error alone looks alike in several protocols
    found = _read(StreamReader(), (data[start : start + size] for start in range(0, len(data), size)))
    assert repr(found) == repr(named)


@settings(max_examples=100)
@given(st.sampled_from(sorted(FOUND)), st.lists(st.integers(0, 400), max_size=12))
def test_it_makes_no_difference_how_the_bytes_are_cut(name: str, cuts: list[int]) -> None:
    data = FOUND[name][0]
    places = sorted({min(cut, len(data)) for cut in cuts} | {0, len(data)})
    pieces = [data[start:end] for start, end in pairwise(places)]
    assert _read(StreamReader(), pieces) == _read(StreamReader(), [data])


@settings(max_examples=150)
@given(st.binary(max_size=80) | st.sampled_from([b"", b"{", b"data: {", b"<", b"0:", b"[["]), st.integers(1, 9))
def test_any_bytes_end_in_one_finish_that_does_not_depend_on_their_cuts(data: bytes, size: int) -> None:
    whole = _read(StreamReader(), [data])
    cut = _read(StreamReader(), (data[start : start + size] for start in range(0, len(data), size)))
    assert [type(one) for one in whole] == [Finish]
    assert repr(cut) == repr(whole)


def _recorded() -> list[Path]:
    return [path for path in sorted(FOLDER.rglob("*")) if path.suffix in {".jsonl", ".sse", ".ndjson", ".txt"}]


@pytest.mark.recordings
def test_a_recorded_stream_reads_as_the_command_reads_its_file() -> None:
    paths = _recorded()
    if not paths:
        pytest.skip(f"no recordings in {FOLDER}")
    for path in paths:
        data = path.read_bytes()
        expected = list(read_recording(data, str(path)))
        read = _read(StreamReader(), (data[start : start + 37] for start in range(0, len(data), 37)))
        assert repr(read) == repr(expected), path


PAGE = b"<!doctype html><html><head><title>Log in &amp; go</title></head><body>login</body></html>\n"
NAMES = ["auto", "openresponses", "chat-completions", "anthropic-messages", "gemini", "ollama", "ai-sdk-ui", "ag-ui"]
NO_ANSWERS = {
    "a web page": (PAGE, "a web page (Log in & go)"),
    "a page without a title": (b"<html>login</html>", "a web page"),
    "text": (b"upstream connect error", "bytes that begin with 'upstream connect error'"),
    "packed bytes": (b"\x1f\x8b\x08\x00abc", "bytes packed with gzip"),
    "a wire that nothing reads": (b'{"messageStart":{"role":"assistant"}}\n', "a stream of Bedrock Converse"),
}


@one_test_for("protocol", NAMES)
@one_test_for(("data", "got"), NO_ANSWERS.values(), ids=NO_ANSWERS)
def test_bytes_that_are_no_answer_are_named(data: bytes, got: str, protocol: str) -> None:
    error = _error(data, protocol)
    assert isinstance(error, UnreadableStreamError)
    assert error.got.startswith(got)
    assert error.beginning.strip() in data.decode(errors="replace")
    title = "a known protocol" if protocol == "auto" else PROTOCOLS[protocol].shown_title
    assert title in error.expected


@one_test_for("protocol", NAMES)
@one_test_for(
    ("data", "got"), [(b"", "no byte"), (b"\n \r\n", "blanks alone"), (b": ping\n\n: ping\n\n", "comments alone")]
)
def test_no_bytes_are_no_answer(data: bytes, got: str, protocol: str) -> None:
    *_, finish = _read(StreamReader(protocol), [data])
    assert isinstance(finish, Finish)
    assert (finish.outcome, finish.reason) == (Outcome.TRUNCATED, None)
    assert isinstance(finish.error, EmptyStreamError)
    assert (finish.error.got, finish.error.state) == (got, "IDLE")


@one_test_for("protocol", [one for one in NAMES if one not in {"auto", "chat-completions"}])
def test_bytes_of_another_protocol_are_named_with_what_to_do(protocol: str) -> None:
    error = _error(CHAT, protocol)
    assert isinstance(error, UnreadableStreamError)
    assert (error.like, error.got) == ("chat-completions", "an answer in Chat Completions")
    assert 'give protocol="chat-completions"' in str(error)


WRITTEN = [one for one in BUILT_IN_PROTOCOLS if PROTOCOLS[one].write_response is not None]
# Their chunks are alike, so one reads the other's.
READS_TOO = {("ai-sdk", "ai-sdk-data"), ("ai-sdk-ui", "ai-gateway"), ("ai-gateway", "ai-sdk-ui")}
# The lines of both are JSON, and the first chunk of the data stream's protocol may be any.
KEEPS_ITS_ERROR = {("ollama", "ai-sdk-data")}


@one_test_for("name", WRITTEN)
@one_test_for("protocol", [one for one in BUILT_IN_PROTOCOLS if one != "ai-sdk-text"])  # all bytes are text
def test_an_answer_of_each_protocol_is_named_where_any_other_one_was_given(name: str, protocol: str) -> None:
    row = PROTOCOLS[name]
    usage = Usage(input_tokens=3, output_tokens=2, total_tokens=5)
    stop = FinishReason(UnifiedFinishReason.STOP, None)
    answer = [TextPart("Hello you"), Finish(outcome=Outcome.COMPLETED, reason=stop, usage=usage)]
    data = frame_answer(row, write_answer(row, ASKED, answer, Reply("identity", 1)))
    *parts, finish = read_stream([data], protocol=PROTOCOLS[protocol])
    assert isinstance(finish, Finish)
    if name == protocol or (name, protocol) in READS_TOO:
        assert (parts, finish.error) == ([TextPart("Hello you")], None)
    elif (name, protocol) in KEEPS_ITS_ERROR:
        assert isinstance(finish.error, UpstreamProtocolError)
    else:
        assert not parts
        assert isinstance(finish.error, UnreadableStreamError), finish.error
        assert "give" in str(finish.error)


def test_an_error_of_the_server_in_place_of_a_stream_is_said_in_its_words() -> None:
    for protocol in ("auto", "openresponses", "chat-completions", "anthropic-messages", "gemini"):
        error = _error(b'{"error": {"message": "no key", "code": "k"}}', protocol)
        assert isinstance(error, UpstreamFailureError), protocol
        assert error.provider_message == "no key"


@pytest.mark.parametrize("data", [b'data: {"id":"c","object":"chat.com', b"data: [DONE]\n\n", b'{"choi', b"dat"])
def test_an_answer_that_is_cut_in_its_first_event_is_truncated(data: bytes) -> None:
    error = _error(data)
    assert type(error) is TruncatedStreamError


@one_test_for(
    ("protocol", "data"),
    [
        ("ai-sdk", b'{"type":"error","err'),
        ("ai-sdk-ui", b'data: {"type":"start'),
        ("ai-sdk-data", b"f"),
        ("anthropic-messages", b'data\ndata: {"type":"message_start","mess'),
        ("gemini", b'data: {"error":{"code":4'),
        ("ollama", b'{"error":"I'),
    ],
)
def test_half_an_event_that_several_protocols_have_does_not_show_another_protocol(protocol: str, data: bytes) -> None:
    assert type(_error(data, protocol)) is TruncatedStreamError


@pytest.mark.parametrize("protocol", ["auto", "openresponses", "chat-completions", "gemini"])
def test_the_json_of_another_service_is_no_answer(protocol: str) -> None:
    error = _error(b'{"status": "ok"}', protocol)
    assert isinstance(error, UnreadableStreamError)
    assert error.got == "JSON objects of no known kind"


def test_unknown_events_are_named_by_their_types() -> None:
    error = _error(b'data: {"type":"tick"}\n\nevent: tock\ndata: {}\n\n')
    assert isinstance(error, UnreadableStreamError)
    assert error.got == "events of the types tick, tock"


def test_an_event_counts_as_soon_as_it_is_whole() -> None:
    reader = StreamReader()
    first, rest = CHAT[: CHAT.index(b"\n\n") + 2], CHAT[CHAT.index(b"\n\n") + 2 :]
    assert reader.feed(first[:-1]) == []
    assert reader.feed(first[-1:]) == [TextPart("Hi")]
    assert reader.started
    assert isinstance(_read(reader, [rest])[-1], Finish)


def test_a_hundred_events_that_tell_nothing_are_enough() -> None:
    finder = WireFinder()
    assert not finder.feed(b'data: {"type":"tick"}\n\n' * 99)
    assert finder.feed(b'data: {"type":"tick"}\n\n')
    assert finder.row is None


def test_what_is_kept_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("partstream.protocols.recognition._MOST_BYTES", 4 * LOOKED_AT)
    finder = WireFinder()
    pieces = 0
    while not finder.feed(b": ping\n\n" * 512):
        pieces += 1
        assert pieces < 100
    assert len(finder.data) <= 4 * LOOKED_AT + 8 * 512
    assert isinstance(finder.error(), EmptyStreamError)


def test_an_event_without_an_end_is_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("partstream.protocols.recognition._MOST_BYTES", 4096)
    reader = StreamReader()
    reader.feed(b'data: "')
    (finish,) = reader.feed(b"x" * 4096)
    assert isinstance(finish, Finish)
    assert isinstance(finish.error, EventTooLargeError)


def test_a_failure_below_the_protocol_ends_an_answer_that_shows_none() -> None:
    reader = StreamReader()
    reader.feed(b"data: {")
    error = UpstreamTimeoutError(TimeoutPhase.IDLE, 5)
    (finish,) = reader.fail(error)
    assert isinstance(finish, Finish)
    assert finish.error is error
    assert reader.finished
    assert reader.end() == []


@pytest.mark.parametrize("protocol", [None, 5, b"chat"])
def test_what_is_no_protocol_is_refused_by_its_name(protocol: object) -> None:
    with pytest.raises(InvalidArgumentError, match=r"protocol: got .*, expected a name of PROTOCOLS"):
        StreamReader(protocol)  # type: ignore[arg-type]


def test_a_reader_that_was_ended_takes_no_bytes() -> None:
    reader = StreamReader()
    reader.end()
    for again in (reader.end, lambda: reader.feed(CHAT)):
        with pytest.raises(AdapterUsageError):
            again()


@pytest.mark.parametrize("document", [RESPONSE, MESSAGE])
def test_a_document_is_read_as_one(document: bytes) -> None:
    reader = StreamReader()
    outputs = reader.feed_document(document) + reader.end()
    assert [type(one) for one in outputs] == [TextPart, Finish]
