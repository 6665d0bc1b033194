"""From bytes to outputs: what is no event, what the line before an event says, and where a stream may be cut."""

import json
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from partstream.codec.sse import JSONLinesDecoder, SSEDecoder
from partstream.errors import (
    AdapterUsageError,
    EventTooLargeError,
    LanguageModelError,
    TimeoutPhase,
    TruncatedStreamError,
    UpstreamFailureError,
    UpstreamProtocolError,
    UpstreamTimeoutError,
)
from partstream.lm.outputs import EmitText, Finish, Outcome, StreamOptions, StreamOutput
from partstream.lm.parts import TextPart
from partstream.protocols.protocol import (
    JSON_LINES,
    SSE,
    EndMark,
    Protocol,
    Terminators,
)
from partstream.protocols.read_response import Deltas, MatchConfidence
from partstream.protocols.reader import StreamReader
from protocols.openresponses.wire import created, delta, message, read_bytes, sse, terminal, text_done, thinking_delta
from rows import one_test_for

START, END = sse([created(), delta("Hi")]), sse([terminal()])
DELTA = "response.output_text.delta"


def _named(name: str, data: bytes) -> bytes:
    return f"event: {name}\n".encode() + b"data: " + data + b"\n\n"


def _data(**fields: Any) -> bytes:
    return json.dumps({"item_id": "msg_0", "output_index": 0, "content_index": 0} | fields).encode()


@one_test_for(
    "nothing",
    [
        b"data: [DONE]\n\n",
        b"data:  [DONE] \n\n",
        b": OPENROUTER PROCESSING\n\n",
        b"data:\n\n",
        b"data: \n\n",
        b"\n\n",
        b"data\ndata\n\n",
        b"data:   \n\n",
        b"event: ping\n\n",
        b"event: message\ndata: [DONE]\n\n",
        b"id: 3\n\n",
        _named(DELTA, b"[DONE]"),
        _named(DELTA, b" "),
    ],
)
def test_what_is_no_event_of_the_response_is_passed_over_wherever_it_stands(nothing: bytes) -> None:
    chunks = [nothing, START[0], nothing, START[1], nothing, *sse([delta(" there")]), nothing, *END, nothing]
    for fed in (chunks, [b"".join(chunks)]):
        result = read_bytes(fed)
        assert result.text == "Hi there"
        assert result.unmapped == {}
        assert result.finish.outcome is Outcome.COMPLETED


@one_test_for("data", [b"{", b"nonsense", b"[1]", b'"text"', b"7", b"null", b"true", b"{]", b"{}{}", b"\xff"])
@one_test_for("name", ["", "response.created", DELTA])
def test_data_that_is_no_json_object_is_a_clear_error(data: bytes, name: str) -> None:
    broken = _named(name, data) if name else b"data: " + data + b"\n\n"
    rest = [*sse([delta(" more"), delta(" and more")]), *END]
    for chunks in ([*START, broken, *rest], [b"".join([*START, broken, *rest])]):
        result = read_bytes(chunks)
        assert result.text == "Hi", "nothing comes after the error"
        assert result.finish.outcome is Outcome.FAILED
        error = result.finish.error
        assert isinstance(error, UpstreamProtocolError)
        assert error.field == "data"
        assert error.expected == "a JSON object"
        assert error.provider_code is None
        assert data.decode(errors="replace") in str(error)


def test_the_json_says_what_an_event_is_and_not_the_line_before_it() -> None:
    events = [
        _named(DELTA, _data(type=DELTA, delta="a")),
        _named(DELTA, _data(type=DELTA, delta="b")),
        _named(DELTA, _data(type="response.reasoning.delta", delta="thought")),
        _named("response.output_text.done", _data(type=DELTA, delta="c")),
        _named(DELTA, _data(type=DELTA, delta="d")),
        _named(DELTA, _data(type="acme:event", delta="e")),
        _named("message", _data(type=DELTA, delta="f")),
    ]
    for chunks in (events, [b"".join(events)]):
        result = read_bytes([*chunks, *END])
        assert result.text == "abcdf"
        assert result.thinking == "thought"
        assert result.unmapped == {"acme:event": 1}


def test_the_line_before_stands_in_where_the_json_does_not_say_what_it_is() -> None:
    events = [
        _named("response.created", b'{"response":{"id":"resp_7"}}'),
        *(_named(DELTA, _data(delta=text)) for text in "abc"),
        _named("response.completed", b'{"response":{}}'),
    ]
    for chunks in (events, [b"".join(events)]):
        result = read_bytes(chunks)
        assert result.text == "abc"
        assert result.finish.outcome is Outcome.COMPLETED
        assert result.finish.response_id == "resp_7"


def test_an_event_that_nothing_says_the_type_of_is_a_clear_error() -> None:
    error = read_bytes([b'data: {"delta":"x"}\n\n']).finish.error
    assert isinstance(error, UpstreamProtocolError)
    assert error.field == "type"
    assert "no type" in str(error)


def test_text_that_is_no_utf_8_is_read_with_replacement_characters() -> None:
    pieces = [
        json.dumps({"type": DELTA, "delta": "ab"}).encode().replace(b"ab", raw) for raw in (b"a\xff", b"b", b"\xe2\x82")
    ]
    for events in ([_named(DELTA, data) for data in pieces], [b"data: " + data + b"\n\n" for data in pieces]):
        assert read_bytes([*events, *END]).text == "a\ufffdb\ufffd"


def test_the_halves_of_a_surrogate_pair_are_joined() -> None:
    data = [b'{"type":"%s","delta":"\\ud83d"}' % DELTA.encode(), b'{"type":"%s","delta":"\\ude00"}' % DELTA.encode()]
    assert read_bytes([*(_named(DELTA, one) for one in data), *END]).text == "😀"


@one_test_for("value", [b"1" * 5000, b"-" + b"1" * 5000, b"1e999", b"NaN", b"[" * 100_000 + b"]" * 100_000])
@one_test_for("name", ["response.created", DELTA])
def test_a_value_that_no_number_or_memory_holds_is_no_crash(value: bytes, name: str) -> None:
    data = b'{"type":"%s","sequence_number":%s}' % (name.encode(), value)
    chunks = [*START, _named(name, data), *END]
    for fed in (chunks, [b"".join(chunks)]):
        result = read_bytes(fed)
        assert result.text == "Hi"
        assert result.finish.error is None or isinstance(result.finish.error, UpstreamProtocolError)


def test_a_type_that_is_no_string_is_a_clear_error() -> None:
    for value in (b"null", b"7", b"[]", b"{}", b'""', b"true"):
        for head in (b"", b"event: " + DELTA.encode() + b"\n"):
            result = read_bytes([*START, head + b'data: {"type":' + value + b"}\n\n"])
            error = result.finish.error
            assert isinstance(error, UpstreamProtocolError), value
            assert error.field == "type"
            assert error.expected == "a string"


@pytest.mark.parametrize("framing", ["sse", "jsonl"])
def test_a_stream_cut_at_any_byte_is_truncated_and_nothing_else(framing: str) -> None:
    events = [
        created(),
        delta("Hé"),
        thinking_delta("hm", 1),
        delta("llo"),
        text_done("Héllo"),
        terminal(output=(message("Héllo"),)),
    ]
    chunks = sse(events) if framing == "sse" else [json.dumps(event).encode() + b"\n" for event in events]
    data = b"".join(chunks)
    last = data.rindex(b"}")
    for cut in range(last + 1):
        for fed in ([data[:cut]], [data[: cut - 3], data[cut - 3 : cut]] if cut > 3 else [b"", data[:cut]]):
            result = read_bytes(fed, framing=framing)
            assert result.finish.outcome is Outcome.TRUNCATED, data[:cut][-40:]
            assert isinstance(result.finish.error, TruncatedStreamError)
            assert "Héllo".startswith(result.text)
    assert read_bytes([data[: last + 1]], framing=framing).finish.outcome is Outcome.COMPLETED


def test_an_event_over_the_size_limit_fails_the_response_and_what_came_before_stays() -> None:
    for framing, decoder in ((SSE, SSEDecoder), (JSON_LINES, JSONLinesDecoder)):
        small = replace(framing, make_decoder=partial(decoder, 200))
        reader = StreamReader("openresponses", framing=small)
        frame = sse if framing is SSE else lambda events: [json.dumps(events[0]).encode() + b"\n"]
        outputs = reader.feed(frame([delta("Hi")])[0])
        for _ in range(3):
            outputs += reader.feed(frame([delta("x" * 300)])[0])
        outputs += reader.feed(frame([delta("late")])[0])
        outputs += reader.end()
        assert outputs[0] == TextPart("Hi")
        finish = outputs[-1]
        assert isinstance(finish, Finish)
        assert len(outputs) == 2
        assert isinstance(finish.error, EventTooLargeError)
        assert finish.outcome is Outcome.FAILED


def test_an_error_below_the_stream_ends_it_once_and_nothing_follows() -> None:
    reader = StreamReader("openresponses")
    reader.feed(b"".join(START))
    error = UpstreamTimeoutError(TimeoutPhase.IDLE, 5)
    (finish,) = reader.fail(error)
    assert isinstance(finish, Finish)
    assert finish.error is error
    assert finish.outcome is Outcome.FAILED
    assert reader.finished
    assert reader.fail(error) == []
    assert reader.feed(b"".join([*sse([delta("late"), delta("later")]), *END])) == []
    assert reader.end() == []


@one_test_for("rest", [b'data: {"cho"null}\n\n', b"data: Bad Gateway\n\n", b"data: " + b"x" * 200 + b"\n\n"])
@one_test_for(
    ("protocol", "error"),
    [
        ("openresponses", {"type": "error", "message": "no credit"}),
        ("chat-completions", {"error": {"message": "no credit"}}),
        ("chat-completions", {"choices": [{"delta": {"error": {"message": "no credit"}}}]}),
        ("anthropic-messages", {"type": "error", "error": {"type": "api_error", "message": "no credit"}}),
        ("gemini", {"error": {"message": "no credit"}}),
        ("ai-sdk", {"type": "error", "error": "no credit"}),
        ("ai-sdk-ui", {"type": "error", "errorText": "no credit"}),
        ("ag-ui", {"type": "RUN_ERROR", "message": "no credit"}),
    ],
)
def test_the_error_of_a_server_is_kept_where_no_event_follows_it(
    protocol: str, error: Mapping[str, Any], rest: bytes
) -> None:
    limited = replace(SSE, make_decoder=partial(SSEDecoder, max_event_size=150))
    reader = StreamReader(protocol, framing=limited)
    outputs = [*reader.feed(b"data: " + json.dumps(error).encode() + b"\n\n" + rest), *reader.end()]
    finish = outputs[-1]
    assert isinstance(finish, Finish)
    assert isinstance(finish.error, UpstreamFailureError)
    assert finish.error.provider_message == "no credit"


def test_the_reader_says_when_the_response_has_started_and_when_it_is_finished() -> None:
    reader = StreamReader("openresponses")
    reader.feed(b": a comment is no event\n\n")
    assert not reader.started
    reader.feed(b"".join(START))
    assert reader.started
    assert not reader.finished
    assert not reader.failing
    reader.feed(sse([{"type": "error", "message": "no"}])[0])
    assert reader.failing
    assert not reader.finished
    reader.feed(b"".join(sse([terminal("failed")])))
    assert reader.finished
    assert not reader.failing


def test_two_readers_that_are_fed_by_turns_never_mix() -> None:
    readers = [StreamReader("openresponses") for _ in range(2)]
    streams = [
        sse([created(id=f"resp_{number}"), *(delta(f"{number}") for _ in range(5)), terminal(id=f"resp_{number}")])
        for number in range(2)
    ]
    data = [b"".join(stream) for stream in streams]
    outputs: list[list[Any]] = [[], []]
    for place in range(0, max(map(len, data)), 3):
        for number in range(2):
            outputs[number] += readers[number].feed(data[number][place : place + 3])
    for number in range(2):
        outputs[number] += readers[number].end()
        assert outputs[number][:-1] == [TextPart(f"{number}")] * 5
        assert outputs[number][-1].response_id == f"resp_{number}"


def _parrot(ends: Terminators, tag: str | None = "type", parrot: type["Parrot"] | None = None) -> Protocol:
    """A protocol whose events are `{"say": TEXT}`, and `{"stop": true}` at the end."""
    deltas = Deltas({"": (("say",),)}, varying=("number",)) if tag is None else Deltas()
    reader: Any = type("ParrotStream", (parrot or Parrot,), {"deltas": deltas})
    return Protocol("parrot", lambda: reader, tag=tag, ends=ends)


class Parrot:
    """Says what it hears. It has what the reader of a stream asks for, and is no subclass."""

    has_documents = False
    claim = staticmethod(lambda _kind, _event: MatchConfidence.NO)
    item_of_tags = staticmethod(lambda _raw: None)
    is_untagged = True

    def __init__(self, _options: StreamOptions) -> None:
        self.emit_more: EmitText | None = None
        self.finished = False
        self.failing = False
        self.kinds: list[Any] = []

    def feed(self, event: Mapping[str, Any]) -> list[StreamOutput]:
        outputs: list[StreamOutput] = []
        self.feed_into(event, outputs)
        return outputs

    def feed_into(self, event: Mapping[str, Any], outputs: list[StreamOutput]) -> None:
        self.emit_more = None
        if event.get("stop"):
            outputs += self._finish(Outcome.COMPLETED)
        elif not self.finished:
            outputs.append(TextPart(event["say"]))
            self.emit_more = lambda text, outputs: outputs.append(TextPart(text))

    def end(self, *, whole: bool = False) -> list[StreamOutput]:
        return self._finish(Outcome.COMPLETED if whole else Outcome.TRUNCATED)

    def fail(self, error: LanguageModelError) -> list[StreamOutput]:
        return self._finish(Outcome.FAILED, error)

    def _finish(self, outcome: Outcome, error: LanguageModelError | None = None) -> list[StreamOutput]:
        if self.finished:
            return []
        self.finished = True
        return [Finish(outcome, error=error)]


@one_test_for(
    ("events", "slow"),
    [
        (['{"say":"a"}', '{"say":"b"}', '{"say":"é\\n\\u00e9\\""}'], [0]),
        (['{"say":"a","number":1}', '{"say":"b","number":2}', '{"say":"c","number":30}'], [0, 1]),
        (['{"number":"x1","say":"a"}', '{"number":"","say":"b"}', '{"number":"z/=","say":"c"}'], [0, 1]),
        (['{"number":7,"say":"a"}', '{"number":8,"say":"b"}', '{"number":-9,"say":"c"}'], [0, 1, 2]),
        (['{"number":"x","say":"a"}', '{"number":"y","say":"b"}', '{"number":"\\n","say":"c"}'], [0, 1, 2]),
        (['{"say":"a"}', '{"say":"b","more":1}', '{"say":"c"}'], [0, 1, 2]),
        (['{"say":"a"}', '{"say":"b","say":"c"}', '{"say":"d"}'], [0, 1, 2]),
        (['{"say":"a","in":{"say":"b"}}', '{"say":"c","in":{"say":"b"}}'], [0, 1]),
        (['{"s\\u0061y":"a","in":{"say":"b"}}', '{"s\\u0061y":"a","in":{"say":"c"}}'], [0, 1]),
    ],
)
@one_test_for("is_one_chunk", [False, True])
def test_only_events_that_differ_in_their_text_and_in_what_may_vary_take_the_fast_path(
    events: list[str], slow: list[int], is_one_chunk: bool
) -> None:
    fed: list[Any] = []

    class Watched(Parrot):
        def feed_into(self, event: Mapping[str, Any], outputs: list[StreamOutput]) -> None:
            fed.append(event)
            super().feed_into(event, outputs)

    reader = StreamReader(_parrot(Terminators(), tag=None, parrot=Watched))
    chunks = [f"data: {event}\n\n".encode() for event in events]
    outputs = [output for chunk in ([b"".join(chunks)] if is_one_chunk else chunks) for output in reader.feed(chunk)]
    assert outputs == [TextPart(json.loads(event)["say"]) for event in events]
    assert fed == [json.loads(events[place]) for place in slow]


def test_tokens_that_the_fast_path_skips_are_counted_before_anything_else() -> None:
    def chunk(text: str, tokens: int) -> bytes:
        candidate = {"content": {"parts": [{"text": text}], "role": "model"}, "index": 0}
        usage = {"promptTokenCount": 9, "candidatesTokenCount": tokens, "totalTokenCount": 9 + tokens}
        return b"data: " + json.dumps({"candidates": [candidate], "usageMetadata": usage}).encode() + b"\n\n"

    for end in (StreamReader.end, lambda reader: reader.fail(TruncatedStreamError("OPEN"))):
        reader = StreamReader("gemini")
        parts = [part for tokens in range(1, 8) for part in reader.feed(chunk("a ", tokens))]
        (finish,) = end(reader)
        assert parts == [TextPart("a ")] * 7
        assert isinstance(finish, Finish)
        assert finish.usage is not None
        assert (finish.usage.output_tokens, finish.usage.total_tokens) == (7, 16)


DONE, SAY, STOP = b"data: [DONE]\n\n", b'data: {"say":"Hi"}\n\n', b'data: {"stop":true}\n\n'
NEAR, WHOLE, CLOSES, CLOSES_WHOLE = (
    EndMark(),
    EndMark(completes=True),
    EndMark(closes=True),
    EndMark(closes=True, completes=True),
)


@one_test_for(
    ("mark", "pieces", "finished_before_the_end", "ending", "outcome"),
    [
        (NEAR, [SAY, DONE], False, True, Outcome.TRUNCATED),
        (NEAR, [SAY, DONE, STOP], True, True, Outcome.COMPLETED),
        (NEAR, [SAY, STOP], True, False, Outcome.COMPLETED),
        (WHOLE, [SAY, DONE], False, True, Outcome.COMPLETED),
        (WHOLE, [SAY, DONE[:-2]], False, False, Outcome.COMPLETED),
        (WHOLE, [SAY, DONE, SAY], False, True, Outcome.TRUNCATED),
        (WHOLE, [SAY], False, False, Outcome.TRUNCATED),
        (CLOSES, [SAY, DONE], True, True, Outcome.TRUNCATED),
        (CLOSES_WHOLE, [SAY, DONE], True, True, Outcome.COMPLETED),
        (CLOSES_WHOLE, [SAY, DONE, SAY], True, True, Outcome.COMPLETED),
    ],
)
def test_what_done_means_for_the_end_is_a_row_of_the_protocol(
    mark: EndMark, pieces: list[bytes], finished_before_the_end: bool, ending: bool, outcome: Outcome
) -> None:
    for protocol in (
        _parrot(Terminators(data={b"[DONE]": mark})),
        _parrot(Terminators(data={b"[DONE]": mark}), tag=None),
    ):
        for fed in (pieces, [b"".join(pieces)]):
            reader = StreamReader(protocol)
            outputs = [output for piece in fed for output in reader.feed(piece)]
            assert (reader.finished, reader.ending) == (finished_before_the_end, ending)
            outputs += reader.end()
            assert [output for output in outputs if isinstance(output, Finish)] == [Finish(outcome)]
            assert outputs[0] == TextPart("Hi")


def test_frames_without_a_type_are_read_with_and_without_the_short_way() -> None:
    protocol = _parrot(Terminators(), tag=None)
    pieces = [SAY, SAY, b'data: {"say":"\xff"}\n\n', SAY, b'data: {"say":"!","more":[1]}\n\n', STOP]
    expected = ["Hi", "Hi", "\ufffd", "Hi", "!"]
    for fed in (pieces, [b"".join(pieces)], [bytes((byte,)) for byte in b"".join(pieces)]):
        reader = StreamReader(protocol)
        outputs = [output for piece in fed for output in reader.feed(piece)]
        assert outputs == [*map(TextPart, expected), Finish(Outcome.COMPLETED)]


def test_a_reader_that_was_ended_takes_nothing_more() -> None:
    reader = StreamReader("openresponses")
    reader.end()
    with pytest.raises(AdapterUsageError):
        reader.feed(b"".join(START))
    with pytest.raises(AdapterUsageError):
        reader.end()
