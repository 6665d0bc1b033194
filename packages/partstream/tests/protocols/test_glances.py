"""A glance at an answer says what its reader says, or nothing."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from partstream.errors import UpstreamConnectionError
from partstream.lm.outputs import Finish, StreamOutput
from partstream.lm.parts import TextPart
from partstream.protocols.protocol import PROTOCOLS
from partstream.protocols.reader import StreamReader
from partstream.upstream.transport import GlancingReader
from recordings import Recording, recordings
from rows import one_test_for

CHAT, MESSAGES = "chat-completions", "anthropic-messages"
_OF_CHUNKS = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
_MESSAGE: dict[str, Any] = {"id": "m", "type": "message", "role": "assistant", "model": "m", "content": []}
PLAIN: dict[str, list[dict[str, Any]]] = {
    CHAT: [
        {**_OF_CHUNKS, "choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}, "finish_reason": None}]},
        *({**_OF_CHUNKS, "choices": [{"index": 0, "delta": {"content": said}}]} for said in ("Hello", " you")),
        {**_OF_CHUNKS, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
        {**_OF_CHUNKS, "choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7}},
    ],
    MESSAGES: [
        {"type": "message_start", "message": {**_MESSAGE, "usage": {"input_tokens": 5, "output_tokens": 1}}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "ping"},
        *(
            {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": said}}
            for said in ("Hello", " you")
        ),
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2}},
        {"type": "message_stop"},
    ],
}


def _framed(wire: str, event: Any) -> bytes:
    data = event if isinstance(event, bytes) else json.dumps(event).encode()
    kind = json.loads(data).get("type") if wire == MESSAGES else None
    return b"%bdata: %b\n\n" % (b"" if kind is None else f"event: {kind}\n".encode(), data)


def _frames(wire: str) -> list[bytes]:
    return [*(_framed(wire, one) for one in PLAIN[wire]), *([b"data: [DONE]\n\n"] if wire == CHAT else [])]


def _told(outputs: list[StreamOutput]) -> tuple[str, list[Any]]:
    others = [(one, getattr(one, "dropped", ())) for one in outputs if not isinstance(one, TextPart)]
    return "".join(one.value for one in outputs if isinstance(one, TextPart)), others


def _glancing(wire: str) -> StreamReader:
    make = PROTOCOLS[wire].read_response().glance
    assert make is not None
    return GlancingReader(make(), PROTOCOLS[wire])


def _glanced(wire: str, frames: list[bytes]) -> bool:
    """Whether a glance reads all of it; what it reads is what the reader reads, as does a reader that glances."""
    make = PROTOCOLS[wire].read_response().glance
    assert make is not None
    whole, glancing = StreamReader(PROTOCOLS[wire]), _glancing(wire)
    for frame in frames:
        assert repr(glancing.feed(frame)) == repr(whole.feed(frame))
        for state in ("started", "ending", "failing", "finished"):
            assert getattr(glancing, state) == getattr(whole, state)
    assert repr(glancing.end()) == repr(whole.end())
    glance, reader = make(), StreamReader(wire)
    seen: list[StreamOutput] = []
    read: list[StreamOutput] = []
    for frame in frames:
        outputs = glance.read(frame)
        if outputs is None:
            return False
        seen += outputs
        read += reader.feed(frame)
        assert _told(seen) == _told(read)
        assert glance.finish is not None or glance.ending == reader.ending
    assert isinstance(read[-1], Finish) == (glance.finish is not None)
    return True


@pytest.mark.parametrize("wire", PLAIN)
def test_a_plain_answer_is_read_at_a_glance_however_its_events_come(wire: str) -> None:
    frames = _frames(wire)
    assert _glanced(wire, frames)
    for cut in range(len(frames)):
        assert _glanced(wire, [b"".join(frames[:cut]), b"".join(frames[cut:])] if cut else [b"".join(frames)])


@pytest.mark.parametrize("wire", PLAIN)
def test_nothing_is_read_of_bytes_that_end_within_an_event(wire: str) -> None:
    make = PROTOCOLS[wire].read_response().glance
    assert make is not None
    data = b"".join(_frames(wire))
    for cut in range(1, len(data)):
        assert data[:cut].endswith(b"\n\n") or make().read(data[:cut]) is None


ALL = {CHAT: recordings("chat_completions"), MESSAGES: recordings("anthropic_messages")}


def _rows() -> Iterator[Any]:
    for wire, found in ALL.items():
        for one in found:
            yield pytest.param(wire, *one.values, id=one.id, marks=one.marks)


@one_test_for(("wire", "recording"), _rows())
def test_of_a_recording_a_glance_says_what_the_reader_says(wire: str, recording: Recording) -> None:
    lines = recording.path.read_bytes().splitlines()
    frames = [_framed(wire, line) for line in lines if line.startswith(b"{")]
    _glanced(wire, [*frames, b"data: [DONE]\n\n"] if wire == CHAT else frames)


def _shape(value: Any) -> object:
    """What tells events apart that are read in different ways: names, kinds, and whether a value says something."""
    if isinstance(value, dict):
        return tuple((name, value[name] if name == "type" else _shape(value[name])) for name in value)
    return tuple(map(_shape, value[:2])) if isinstance(value, list) else (type(value).__name__, bool(value))


@pytest.mark.parametrize("wire", PLAIN)
def test_of_an_answer_with_a_strange_event_a_glance_says_what_the_reader_says(wire: str) -> None:
    events: dict[object, bytes] = {}
    for row in ALL[wire]:
        if isinstance(found := row.values[0], Recording) and found.path.exists():
            for line in found.path.read_bytes().splitlines():
                if line.startswith(b"{"):
                    events.setdefault(_shape(json.loads(line)), line)
    odd = [b'{"error":{"message":"no"}}', b'{"type":"error","error":{"type":"overloaded_error","message":"no"}}']
    odd += [
        b'{"choices":[{"delta":{"content":"<think>x</think>y"}}]}',
        b'{"choices":[{"index":1,"delta":{"content":"z"}}]}',
    ]
    frames = _frames(wire)
    for line in (*odd, *events.values()):
        for place in range(len(frames) + 1):
            _glanced(wire, [*frames[:place], _framed(wire, line), *frames[place:]])


@pytest.mark.parametrize("wire", PLAIN)
def test_a_plain_answer_that_breaks_ends_as_the_reader_ends_it(wire: str) -> None:
    frames = _frames(wire)
    for cut in range(len(frames)):
        error = UpstreamConnectionError("http://127.0.0.1", "it broke")
        glancing, whole = _glancing(wire), StreamReader(PROTOCOLS[wire])
        for frame in frames[:cut]:
            assert repr(glancing.feed(frame)) == repr(whole.feed(frame))
        assert repr(glancing.fail(error)) == repr(whole.fail(error))
