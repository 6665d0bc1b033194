"""What events of Google Interactions mean.

Written after docs/wires/gemini.md#interactions and the types of `google-genai` 3.4.0.
"""

import json
from base64 import b64encode
from typing import Any

import pytest

from partstream.conversation.provider_state import ITEMS
from partstream.errors import ToolArgumentsError, TruncatedStreamError, UpstreamFailureError
from partstream.lm.outputs import Outcome, StreamOptions, StreamOutput
from partstream.lm.parts import DataPart, ThinkingPart, UnifiedFinishReason
from partstream.protocols.protocol import PROTOCOLS
from partstream.protocols.reader import StreamReader
from partstream_devtools.recorded_stream import read_recording
from protocols.openresponses.wire import Event, Result, check, comparable

PLAIN = StreamOptions(call_id_prefix="")
ROW = PROTOCOLS["gemini-interactions"]
FRAMINGS = {framing.name: framing for framing in ROW.framings}


def event(kind: str, **fields: Any) -> Event:
    return {"event_type": kind, **fields}


def created() -> Event:
    return event("interaction.created", interaction={"id": "i-1", "status": "in_progress", "model": "m-1"})


def step(*deltas: Event, index: int = 0, **wire: Any) -> list[Event]:
    """A whole step."""
    opened = event("step.start", index=index, step=wire)
    return [opened, *(event("step.delta", index=index, delta=one) for one in deltas), event("step.stop", index=index)]


def said(*pieces: str, index: int = 0) -> list[Event]:
    return step(*({"type": "text", "text": one} for one in pieces), index=index, type="model_output")


def call(*pieces: str, index: int = 0, **fields: Any) -> list[Event]:
    wire = {"type": "function_call", "id": "c1", "name": "look_up", "arguments": {}} | fields
    return step(*({"type": "arguments_delta", "arguments": one} for one in pieces), index=index, **wire)


def completed(status: str = "completed", **usage: Any) -> Event:
    return event("interaction.completed", interaction={"id": "i-1", "status": status, "usage": usage})


def _bytes(events: list[Event], *, named: bool) -> bytes:
    names = (f"event: {one['event_type']}\n".encode() if named else b"" for one in events)
    return b"".join(
        name + b"data: " + json.dumps(one).encode() + b"\n\n" for name, one in zip(names, events, strict=True)
    )


def _read(data: bytes, size: int | None, options: StreamOptions, framing: str = "sse") -> Result:
    reader = StreamReader(ROW, options, framing=FRAMINGS[framing])
    outputs: list[StreamOutput] = []
    for at in range(0, len(data), size or len(data)):
        outputs += reader.feed(data[at : at + (size or len(data))])
    return check(Result(outputs + reader.end()))


def read(*groups: Event | list[Event], **options: Any) -> Result:
    """Reads the events in every way that there is, which must not make a difference."""
    events = [one for group in groups for one in (group if isinstance(group, list) else [group])]
    settings = StreamOptions(**{"call_id_prefix": "", **options})
    named, lines = _bytes(events, named=True), b"".join(json.dumps(one).encode() + b"\n" for one in events)
    result = _read(named, None, settings)
    for other in (
        _read(named, 1, settings),
        _read(_bytes(events, named=False), None, settings),
        _read(lines, None, settings, "jsonl"),
    ):
        assert comparable(other) == comparable(result)
    return result


def carried(result: Result) -> list[Event]:
    listed = [one.metadata[ITEMS] for one in result.outputs if isinstance(one, ThinkingPart) and one.metadata]
    return [{name: value for name, value in item.items() if name != "type"} for item in (listed or [[]])[-1]]


def test_thoughts_texts_and_tokens() -> None:
    thought = step(
        {"type": "thought_summary", "content": {"type": "text", "text": "Hm."}},
        {"type": "thought_signature", "signature": "s"},
        type="thought",
    )
    usage = {"total_input_tokens": 9, "total_output_tokens": 23, "total_thought_tokens": 302, "total_cached_tokens": 4}
    result = read(created(), thought, said("Hi ", "there", index=1), completed(**usage))
    assert (result.thinking, result.text, result.finish.outcome) == ("Hm.", "Hi there", Outcome.COMPLETED)
    assert carried(result) == [
        {"step": {"type": "thought", "signature": "s", "summary": [{"type": "text", "text": "Hm."}]}}
    ]
    counted = result.finish.usage
    assert counted is not None
    found = (counted.input_tokens, counted.output_tokens, counted.reasoning_tokens, counted.cached_tokens)
    assert found == (9, 325, 302, 4)
    assert (result.finish.response_id, result.finish.model) == ("i-1", "m-1")


@pytest.mark.parametrize("status", ["completed", "requires_action"])
def test_calls_are_parsed_when_their_step_ends_whatever_the_status(status: str) -> None:
    result = read(created(), call('{"a"', ": 1}", signature="s"), call(index=1, id="c2"), completed(status))
    assert result.calls == [("c1", "look_up", {"a": 1}), ("c2", "look_up", {})]
    assert result.finish.reason is not None
    assert (result.finish.reason.unified, result.finish.reason.raw) == (UnifiedFinishReason.TOOL_CALLS, status)
    assert carried(result) == [{"toolCallId": "c1", "signature": "s"}]


def test_a_call_whose_step_did_not_end_is_none() -> None:
    result = read(created(), call('{"a": 1}')[:-1], completed("incomplete"))
    assert (result.calls, result.finish.outcome) == ([], Outcome.INCOMPLETE)


def test_a_call_that_comes_twice_is_handed_out_once() -> None:
    result = read(created(), call(), call(index=1), completed())
    assert result.calls == [("c1", "look_up", {})]
    assert result.unmapped == {"tool call look_up (repeated)": 1}


def test_arguments_that_are_no_object_make_no_call() -> None:
    result = read(created(), call('{"a"'), completed())
    assert result.calls == []
    assert isinstance(result.finish.error, ToolArgumentsError)


@pytest.mark.parametrize("kind", ["google_search_call", "code_execution_result", "mcp_server_tool_call"])
def test_what_the_server_runs_is_no_call_and_goes_back(kind: str) -> None:
    ran = step({"type": kind, "id": "t", "arguments": {"queries": ["q"]}}, type=kind)
    result = read(created(), ran, said("Hi", index=1), completed())
    assert (result.calls, result.text, result.unmapped) == ([], "Hi", {f"step:{kind}": 1})
    assert carried(result) == [{"step": {"type": kind, "id": "t", "arguments": {"queries": ["q"]}}}]


@pytest.mark.parametrize("events", [[created()], [created(), *said("Hi")], [created(), *said("Hi")[:-1]]])
def test_without_an_end_the_answer_is_truncated(events: list[Event]) -> None:
    assert isinstance(read(events).finish.error, TruncatedStreamError)


def test_a_status_that_says_the_end_is_one() -> None:
    update = event("interaction.status_update", interaction_id="i-1", status="completed")
    assert read(created(), said("Hi"), update).finish.outcome is Outcome.COMPLETED


@pytest.mark.parametrize(
    ("status", "outcome", "unified"),
    [
        ("incomplete", Outcome.INCOMPLETE, UnifiedFinishReason.LENGTH),
        ("budget_exceeded", Outcome.INCOMPLETE, UnifiedFinishReason.LENGTH),
        ("failed", Outcome.FAILED, UnifiedFinishReason.ERROR),
        ("cancelled", Outcome.FAILED, UnifiedFinishReason.ERROR),
    ],
)
def test_a_status_says_how_the_answer_ended(status: str, outcome: Outcome, unified: UnifiedFinishReason) -> None:
    finish = read(created(), said("Hi"), completed(status)).finish
    assert finish.reason is not None
    assert (finish.outcome, finish.reason.unified, finish.reason.raw) == (outcome, unified, status)


def test_an_error_ends_the_answer() -> None:
    failed = event("error", error={"code": "invalid_request", "message": "No."})
    result = read(created(), said("Hi"), failed, said("never"))
    assert isinstance(result.finish.error, UpstreamFailureError)
    assert ("No." in str(result.finish.error), result.text) == (True, "Hi")


def test_images_and_sources_are_shown() -> None:
    image = {"type": "image", "mime_type": "image/png", "data": b64encode(b"png").decode()}
    cited = {"type": "url_citation", "url": "https://e.org/a", "title": "A", "start_index": 0, "end_index": 2}
    annotations = {"type": "text_annotation_delta", "annotations": [cited, cited]}
    result = read(created(), step({"type": "text", "text": "Hi"}, annotations, image, type="model_output"), completed())
    assert result.text == "Hi [A](https://e.org/a)"
    assert [one for one in result.outputs if isinstance(one, DataPart)] == [DataPart(b"png", "image/png")]


def test_the_older_names_of_events_mean_the_same() -> None:
    older = {"step.": "content.", "created": "start", "completed": "complete"}
    events = [created(), *said("Hi"), completed()]
    for one in events:
        for new, old in older.items():
            one["event_type"] = one["event_type"].replace(new, old)
        if "step" in one:
            one["content"] = one.pop("step")
    assert (read(events).text, read(events).finish.outcome) == ("Hi", Outcome.COMPLETED)


def test_what_is_not_known_is_counted() -> None:
    odd = [event("interaction.odd"), *step({"type": "hologram"}, index=3, type="hologram")]
    result = read(created(), odd, said("Hi"), completed())
    assert result.unmapped == {"interaction.odd": 1, "delta:hologram": 1, "step:hologram": 1}


def test_a_document_says_what_a_stream_says() -> None:
    steps = [
        {"type": "thought", "signature": "s", "summary": [{"type": "text", "text": "Hm."}]},
        {"type": "model_output", "content": [{"type": "text", "text": "Hi"}]},
        {"type": "function_call", "id": "c1", "name": "look_up", "arguments": {"a": 1}},
    ]
    document = {"id": "i-1", "status": "requires_action", "model": "m-1", "steps": steps}
    reader = StreamReader(ROW, PLAIN)
    result = check(Result([*reader.feed_document(json.dumps(document).encode()), *reader.end()]))
    assert (result.thinking, result.text) == ("Hm.", "Hi")
    assert result.calls == [("c1", "look_up", {"a": 1})]


def test_a_recording_is_known_without_its_protocol() -> None:
    data = _bytes([created(), *said("Hi"), completed()], named=True)
    assert Result(list(read_recording(data, "a.sse", None, PLAIN))).text == "Hi"
