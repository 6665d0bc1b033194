"""What one answer may take at most, on every wire: bytes of the arguments of a call, and calls."""

from typing import Any

import pytest

from partstream.codec.json_codec import dumps
from partstream.errors import AnswerTooLargeError
from partstream.lm.messages import RequestOptions
from partstream.lm.outputs import Finish, InboundRequest, Outcome, Reply, StreamOptions
from partstream.lm.parts import FinishReason, TextPart, ToolCallPart, UnifiedFinishReason, Usage
from partstream.protocols import calls, read_response
from partstream.protocols import reader as reading
from partstream.protocols.protocol import PROTOCOLS, asked_protocols
from partstream.protocols.reader import StreamReader
from partstream.runtime.translation import frame_answer, read_answer, write_answer
from rows import one_test_for

WIRES = [name for name in asked_protocols() if PROTOCOLS[name].write_response is not None]
ASKED = InboundRequest("m", (), RequestOptions(), stream=True)
END = Finish(Outcome.COMPLETED, FinishReason(UnifiedFinishReason.TOOL_CALLS), Usage(1, 1, 2))
BEGUN = TextPart("So:")


def finish_of(wire: str, *parts: ToolCallPart, size: int = 40) -> Finish:
    """The last output of an answer, of which each event has a few characters of arguments."""
    protocol = PROTOCOLS[wire]
    reply = Reply("r", 1, argument_size=size)
    data = frame_answer(protocol, write_answer(protocol, ASKED, [BEGUN, *parts, END], reply))
    outputs = list(read_answer(protocol, data, StreamOptions(call_id_prefix="")))
    assert outputs[0] == BEGUN
    [finish] = [one for one in outputs if isinstance(one, Finish)]
    assert outputs[-1] is finish
    return finish


@one_test_for("wire", WIRES)
@one_test_for(
    ("limit", "most", "parts"),
    [
        ("MOST_ARGUMENT_BYTES", 4_000, [ToolCallPart("c", "f", {"text": "x" * 9_000})]),
        ("MOST_ARGUMENT_VALUES", 100, [ToolCallPart("c", "f", {"list": [{}] * 300})]),
        ("MOST_CALLS", 8, [ToolCallPart(f"c{number}", "f", {"number": number}) for number in range(20)]),
    ],
    ids=["arguments without end", "values without end", "calls without end"],
)
def test_an_answer_that_takes_too_much_ends_with_an_error_that_names_the_limit(
    monkeypatch: pytest.MonkeyPatch, wire: str, limit: str, most: int, parts: list[ToolCallPart]
) -> None:
    with monkeypatch.context() as patched:
        assert finish_of(wire, *parts).error is None
        patched.setattr(calls, limit, most)
        finish = finish_of(wire, *parts)
    assert finish.outcome is Outcome.FAILED
    assert isinstance(finish.error, AnswerTooLargeError)
    assert finish.error.limit == most
    assert f"at most {most:,}" in str(finish.error)


FORMS = {
    "an event": lambda reader, data: reader.feed(b"data: " + data + b"\n\n"),
    "a line": lambda reader, data: reader.feed(data + b"\n"),
    "a document": StreamReader.feed_document,
}


@one_test_for("wire", WIRES)
@one_test_for("form", FORMS)
def test_one_event_of_too_many_values_is_read_no_further(monkeypatch: pytest.MonkeyPatch, wire: str, form: str) -> None:
    """`[],` without end takes thirty times its bytes in memory, and a second of the event loop for each 50 MB."""
    if (wire == "ollama") is (form == "an event"):
        return
    many = b'{"new":[' + b"[]," * 1_000 + b"[]]}"
    with monkeypatch.context() as patched:
        patched.setattr(reading, "MOST_ANSWER_VALUES", 2_000)
        [finish] = [one for one in FORMS[form](StreamReader(wire), many) if isinstance(one, Finish)]
    assert isinstance(finish.error, AnswerTooLargeError)
    assert "at most 2,000" in str(finish.error)


def test_pieces_of_one_letter_count_as_much_as_they_take_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "MOST_ARGUMENT_BYTES", 4_000)
    part = ToolCallPart("c", "f", {"text": "x" * 1_000})
    assert finish_of("chat-completions", part).error is None
    assert isinstance(finish_of("chat-completions", part, size=1).error, AnswerTooLargeError)


def test_what_follows_the_error_of_a_limit_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "MOST_ARGUMENT_BYTES", 100)
    reader = StreamReader("chat-completions")
    call = b'{"index":0,"id":"c","function":{"name":"f","arguments":"%s"}}'
    event = b'data: {"choices":[{"delta":{"tool_calls":[' + call + b"]}}]}\n\n"
    outputs = [one for _ in range(20) for one in reader.feed(event % (b"x" * 40))]
    assert [type(one) for one in outputs] == [Finish]
    assert reader.finished


ENDLESS_RUNS = {
    "questions": lambda _number: {"type": "CUSTOM", "name": "on_interrupt", "value": {"asked": [[]] * 100}},
    "results": lambda number: {"type": "TOOL_CALL_RESULT", "toolCallId": f"c{number}", "content": "x"},
}


@one_test_for("event", ENDLESS_RUNS.values(), ids=ENDLESS_RUNS)
def test_a_run_that_has_without_end_what_is_kept_to_its_end_is_an_error(event: Any) -> None:
    reader = StreamReader("ag-ui")
    for number in range(5_000):
        if finished := [one for one in reader.feed(b"data: %b\n\n" % dumps(event(number))) if isinstance(one, Finish)]:
            break
    assert isinstance(finished[0].error, AnswerTooLargeError)


ENDLESS_IDS: dict[str, tuple[str, Any]] = {
    "messages of a run": ("ag-ui", lambda name: {"type": "TEXT_MESSAGE_START", "messageId": name}),
    "pieces of messages of a run": (
        "ag-ui",
        lambda name: {"type": "TEXT_MESSAGE_CONTENT", "messageId": name, "delta": "x"},
    ),
    "messages of others in a run": (
        "ag-ui",
        lambda name: {"type": "TEXT_MESSAGE_START", "messageId": name, "role": "user"},
    ),
    "thoughts of a run": ("ag-ui", lambda name: {"type": "REASONING_MESSAGE_CONTENT", "messageId": name, "delta": "x"}),
    "sub-agents of a run": ("ag-ui", lambda name: {"type": "SUBAGENT_STARTED", "subagentRunId": name, "name": "x"}),
    "calls of a run": ("ag-ui", lambda name: {"type": "TOOL_CALL_START", "toolCallId": name, "toolCallName": "f"}),
    "texts of an application": ("ai-sdk-ui", lambda name: {"type": "text-start", "id": name}),
    "thoughts of an application": ("ai-sdk-ui", lambda name: {"type": "reasoning-start", "id": name}),
    "thoughts through a gateway": ("ai-gateway", lambda name: {"type": "reasoning-delta", "id": name, "delta": "x"}),
}
ENDLESS_PLACES: dict[str, tuple[str, Any]] = {
    "blocks": (
        "anthropic-messages",
        lambda place: {"type": "content_block_start", "index": place, "content_block": {"type": "text", "text": ""}},
    ),
    "pieces of blocks": (
        "anthropic-messages",
        lambda place: {"type": "content_block_delta", "index": place, "delta": {"type": "text_delta", "text": "x"}},
    ),
    "steps": (
        "gemini-interactions",
        lambda place: {"event_type": "step.start", "index": place, "step": {"type": "thought"}},
    ),
    "pieces of steps": (
        "gemini-interactions",
        lambda place: {"event_type": "step.delta", "index": place, "delta": {"type": "text", "text": "x"}},
    ),
    "parts of an item": (
        "openresponses",
        lambda place: {
            "type": "response.content_part.added",
            "output_index": 0,
            "content_index": place,
            "part": {"type": "output_text", "text": ""},
        },
    ),
}


def _end_of(wire: str, events: Any) -> Finish | None:
    reader = StreamReader(wire)
    for event in events:
        if finished := [one for one in reader.feed(b"data: %b\n\n" % dumps(event)) if isinstance(one, Finish)]:
            return finished[0]
    return None


@one_test_for(("wire", "event"), [*ENDLESS_IDS.values(), *ENDLESS_PLACES.values()], ids=[*ENDLESS_IDS, *ENDLESS_PLACES])
def test_what_a_server_opens_without_end_ends_the_answer(
    monkeypatch: pytest.MonkeyPatch, wire: str, event: Any
) -> None:
    """What is open is kept until it is closed: five to ten times the bytes of the events that invent it."""
    is_place = any(event is one for _, one in ENDLESS_PLACES.values())
    opened = [event(number if is_place else f"id{number}") for number in range(60)]
    with monkeypatch.context() as patched:
        assert _end_of(wire, opened) is None
        patched.setattr(calls, "MOST_CALLS", 50)
        patched.setattr(read_response, "MOST_CALLS", 50)
        finish = _end_of(wire, opened)
    assert finish is not None
    assert isinstance(finish.error, AnswerTooLargeError)
    assert finish.error.limit == 50


CHOICES: dict[str, Any] = {
    "chat-completions": lambda number: {"choices": [{"index": number, "delta": {"content": "a"}}]},
    "gemini": lambda number: {"candidates": [{"index": number, "content": {"parts": [{"text": "a"}]}}]},
}


@one_test_for("wire", CHOICES)
def test_choices_without_end_end_the_answer(wire: str) -> None:
    choices = [CHOICES[wire](number) for number in range(257)]
    allowed, refused = _end_of(wire, choices[:256]), _end_of(wire, choices)
    assert allowed is None
    assert refused is not None
    assert isinstance(refused.error, AnswerTooLargeError)
    assert refused.error.limit == 256


def test_the_ids_of_a_run_are_together_no_longer_than_the_arguments_of_a_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "MOST_ARGUMENT_BYTES", 4_000)
    for name in ("messages of a run", "thoughts of a run", "sub-agents of a run", "calls of a run"):
        wire, event = ENDLESS_IDS[name]
        assert _end_of(wire, [event(f"{number}{'x' * 500}") for number in range(7)]) is None
        finish = _end_of(wire, [event(f"{number}{'x' * 500}") for number in range(9)])
        assert finish is not None
        assert isinstance(finish.error, AnswerTooLargeError)


def test_names_that_are_counted_once_are_remembered_up_to_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read_response, "_MOST_COUNTED", 50)
    reader = StreamReader("ag-ui")
    events = [{"type": "CUSTOM", "name": f"n{number}"} for number in range(60)]
    outputs = [one for event in (*events, *events) for one in reader.feed(b"data: %b\n\n" % dumps(event))]
    assert len(outputs) == 70
