"""Thinking in tags, on the wires that have a place for thinking: what goes back, and where tags are text."""

import pytest

from matrix.texts import STREAMS
from partstream import Finish, StreamOptions, TextPart, ThinkingMode, ThinkingPart, ThinkTags
from partstream.conversation.provider_state import ITEMS
from partstream.conversation.thinking import open_response
from partstream.lm.outputs import StreamOutput
from partstream.protocols.protocol import PROTOCOLS
from partstream.protocols.reader import StreamReader
from protocols.openresponses.wire import sse
from rows import one_test_for

WIRES = sorted(STREAMS.keys() - {"chat-completions", "ollama"})
PIECES = ("<think>Let me", " think.</think>\n", "Hi")


def _read(wire: str, options: StreamOptions, pieces: tuple[str, ...] = PIECES) -> list[StreamOutput]:
    stream = open_response(PROTOCOLS[wire].read_response(), options)
    outputs = [output for event in STREAMS[wire](pieces) for output in stream.feed(event)]
    return outputs if stream.finished else [*outputs, *stream.end(whole=True)]


def _said(outputs: list[StreamOutput], kind: type[TextPart | ThinkingPart]) -> str:
    return "".join(str(one.value) for one in outputs if isinstance(one, kind))


@one_test_for("wire", WIRES)
def test_the_setting_decides_about_tags(wire: str) -> None:
    off = _read(wire, StreamOptions(think_tags=ThinkTags.OFF))
    assert (_said(off, ThinkingPart), _said(off, TextPart)) == ("", "".join(PIECES))
    inside = _read(wire, StreamOptions(think_tags=ThinkTags.STARTS_INSIDE), ("Let me think.</thi", "nk>Hi"))
    assert (_said(inside, ThinkingPart), _said(inside, TextPart)) == ("Let me think.", "Hi")


@one_test_for("wire", WIRES)
def test_thinking_is_rendered_as_everywhere(wire: str) -> None:
    hidden = _read(wire, StreamOptions(thinking=ThinkingMode.OFF))
    assert (_said(hidden, ThinkingPart), _said(hidden, TextPart)) == ("", "Hi")
    quoted = _read(wire, StreamOptions(thinking=ThinkingMode.TEXT))
    assert (_said(quoted, ThinkingPart), _said(quoted, TextPart)) == ("", "> Let me think.\n\nHi")
    assert isinstance(quoted[-1], Finish)


@pytest.mark.parametrize(
    ("wire", "item"),
    [
        ("anthropic-messages", {"type": "content-block", "block": {"type": "text", "text": "".join(PIECES[:2])}}),
        ("gemini", {"type": "gemini-part", "part": {"text": "".join(PIECES[:2])}}),
    ],
)
def test_the_tags_go_back_as_they_came(wire: str, item: dict[str, object]) -> None:
    parts = _read(wire, StreamOptions())
    assert [one.metadata for one in parts if isinstance(one, ThinkingPart) and one.metadata] == [{ITEMS: [item]}]


def test_tags_are_text_after_thinking_in_its_own_place() -> None:
    stream = open_response(PROTOCOLS["anthropic-messages"].read_response(), StreamOptions())
    events = STREAMS["anthropic-messages"](PIECES)
    thought = [
        {"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "Hm"}},
        {"type": "content_block_stop", "index": 0},
    ]
    outputs = [one for event in (events[0], *thought, *events[1:]) for one in stream.feed(event)]
    assert (_said(outputs, ThinkingPart), _said(outputs, TextPart)) == ("Hm", "".join(PIECES))


def test_tags_are_found_after_a_text_that_is_held_back_on_the_fast_path_too() -> None:
    pieces = ("!", "Let me", " think", "</think>", "Hi")  # OpenResponses holds back the mark that may end a sentence
    reader = StreamReader("openresponses", StreamOptions(think_tags=ThinkTags.STARTS_INSIDE))
    outputs = [one for chunk in sse(STREAMS["openresponses"](pieces)) for one in reader.feed(chunk)]
    assert (_said(outputs, ThinkingPart), _said(outputs, TextPart)) == ("!Let me think", "Hi")
