"""Responses of Google Interactions as a server writes them, and statuses that end one."""

from typing import Any

import pytest

from partstream.conversation.citations import CITATION_MIME_TYPE
from partstream.conversation.provider_state import ITEMS
from partstream.errors import ContextLengthExceededError, UpstreamFailureError
from partstream.lm.messages import ChatMessage, RequestOptions
from partstream.lm.outputs import Finish, InboundRequest, Outcome, Reply, StreamOutput
from partstream.lm.parts import DataPart, FinishReason, TextPart, ThinkingPart, ToolCallPart, UnifiedFinishReason, Usage
from partstream.protocols.gemini.provider_state import read_sealed
from partstream.protocols.gemini_interactions.serve import InteractionsResponseWriter
from protocols.gemini_interactions.test_read_response import created, event, read, said
from protocols.openresponses.wire import Event

DONE = Finish(Outcome.COMPLETED, FinishReason(UnifiedFinishReason.STOP), Usage(9, 25, 34, 4, 20))


def written(*outputs: StreamOutput, size: int | None = None, store: bool = False) -> list[Event]:
    asked = InboundRequest("m-1", (ChatMessage.user("Hi"),), RequestOptions(), body={"store": store})
    writer = InteractionsResponseWriter(asked, Reply("identity", 1_784_000_000, argument_size=size))
    return [one for output in outputs for one in writer.write(output)]


def short(events: list[Event]) -> list[Any]:
    """The events between the beginning and the end: the index, and what the step or the delta says."""
    assert [one["event_type"] for one in events[:2]] == ["interaction.created", "interaction.status_update"]
    return [(one["index"], one.get("step") or one.get("delta") or "stop") for one in events[2:] if "index" in one]


def test_an_interaction_has_an_id_unless_the_client_wants_nothing_stored() -> None:
    events = written(TextPart("Hi"), DONE, store=True)
    ids = {one["interaction"]["id"] for one in events if "interaction" in one}
    assert ids == {one["interaction_id"] for one in events if "interaction_id" in one}
    assert ids != {""}
    assert len(ids) == 1


def test_a_response_has_the_events_of_the_types() -> None:
    events = written(TextPart("Hi"), DONE)
    usage = {"total_input_tokens": 9, "total_output_tokens": 5, "total_thought_tokens": 20, "total_tokens": 34}
    assert events == [
        event(
            "interaction.created",
            interaction={"id": "", "status": "in_progress", "object": "interaction", "model": "m-1"},
        ),
        event("interaction.status_update", interaction_id="", status="in_progress"),
        event("step.start", index=0, step={"type": "model_output"}),
        event("step.delta", index=0, delta={"type": "text", "text": "Hi"}),
        event("step.stop", index=0),
        event(
            "interaction.completed",
            interaction={
                "id": "",
                "status": "completed",
                "usage": usage | {"total_cached_tokens": 4},
                "created": "2026-07-14T03:33:20Z",
                "updated": "2026-07-14T03:33:20Z",
                "object": "interaction",
                "model": "m-1",
            },
        ),
    ]
    assert InteractionsResponseWriter.frame(events[4]) == (
        b'event: step.stop\ndata: {"index":0,"event_type":"step.stop"}\n\n'
    )


def test_each_kind_of_output_is_a_step_of_its_own() -> None:
    parts = (ThinkingPart("Hm."), TextPart("Look"), DataPart(b"png", "image/png"), ToolCallPart("c1", "f", {"a": 1}))
    events = written(*parts, DONE, size=4)
    assert short(events) == [
        (0, {"type": "thought"}),
        (0, {"type": "thought_summary", "content": {"type": "text", "text": "Hm."}}),
        (0, "stop"),
        (1, {"type": "model_output"}),
        (1, {"type": "text", "text": "Look"}),
        (1, {"type": "image", "mime_type": "image/png", "data": "cG5n"}),
        (1, "stop"),
        (2, {"type": "function_call", "id": "c1", "name": "f", "arguments": {}}),
        (2, {"type": "arguments_delta", "arguments": '{"a"'}),
        (2, {"type": "arguments_delta", "arguments": ":1}"}),
        (2, "stop"),
    ]
    assert events[-1]["interaction"]["status"] == "requires_action"


def test_state_of_this_wire_is_written_as_it_came_and_other_state_is_sealed() -> None:
    ran = {"type": "google_search_call", "id": "g1", "arguments": {}}
    own = [
        {"type": "interaction-step", "step": {"type": "thought", "signature": "s1"}},
        {"type": "interaction-step", "step": ran},
        {"type": "interaction-step", "toolCallId": "c1", "signature": "s2"},
    ]
    events = written(ThinkingPart("Hm."), ThinkingPart("", None, {ITEMS: own}), ToolCallPart("c1", "f", {}), DONE)
    assert [said for _, said in short(events) if said != "stop"] == [
        {"type": "thought"},
        {"type": "thought_summary", "content": {"type": "text", "text": "Hm."}},
        {"type": "thought_signature", "signature": "s1"},
        ran,
        {"type": "function_call", "id": "c1", "name": "f", "arguments": {}, "signature": "s2"},
        {"type": "arguments_delta", "arguments": "{}"},
    ]
    [_, (_, signed), _] = short(written(ThinkingPart("", None, {"encrypted": "e"}), DONE))
    sealed = read_sealed(signed["signature"])
    assert sealed is not None
    assert sealed.beside == {"encrypted": "e"}


def test_sources_are_annotations_of_the_text() -> None:
    source = {"type": "citation", "sourceType": "url", "url": "https://e.org", "sourceId": "s", "title": "E"}
    events = written(TextPart("Hi"), DataPart.json(source, CITATION_MIME_TYPE), TextPart(" you"), DONE)
    cited = {"type": "url_citation", "url": "https://e.org", "title": "E"}
    assert short(events)[2] == (0, {"type": "text_annotation_delta", "annotations": [cited]})
    status, document = InteractionsResponseWriter.document(events)
    content = [{"type": "text", "text": "Hi", "annotations": [cited]}, {"type": "text", "text": " you"}]
    assert (status, document["steps"]) == (200, [{"type": "model_output", "content": content}])


def test_a_failure_is_an_event_and_an_error_with_its_status() -> None:
    usage = Usage(9, 25, 34)
    failed = written(TextPart("Hi"), Finish(Outcome.FAILED, usage=usage, error=UpstreamFailureError("No.")))
    assert failed[-2]["usage"]["total_tokens"] == 34
    assert failed[-1] == {"event_type": "error", "error": {"code": "internal", "message": "No."}}
    long = written(Finish(Outcome.FAILED, error=ContextLengthExceededError("m", count=215, limit=200)))
    message = "The input token count (215) exceeds the maximum number of tokens allowed (200)."
    assert InteractionsResponseWriter.document(long) == (
        400,
        {"error": {"code": "invalid_request", "message": message}},
    )


@pytest.mark.parametrize(
    ("status", "outcome", "unified"),
    [
        ("idle", Outcome.COMPLETED, UnifiedFinishReason.STOP),
        ("completed", Outcome.COMPLETED, UnifiedFinishReason.STOP),
        ("requires_continuation", Outcome.INCOMPLETE, UnifiedFinishReason.LENGTH),
        ("in_progress", Outcome.TRUNCATED, None),
        ("queued", Outcome.TRUNCATED, None),
    ],
)
def test_the_last_status_of_a_stream_without_an_end_says_whether_it_is_whole(
    status: str, outcome: Outcome, unified: UnifiedFinishReason | None
) -> None:
    finish = read(created(), said("Hi"), event("interaction.status_update", interaction_id="i-1", status=status)).finish
    assert finish.outcome is outcome
    assert (None if finish.reason is None else finish.reason.unified) is unified


def test_an_interaction_that_was_idle_may_go_on() -> None:
    idle, again = (event("interaction.status_update", status=one) for one in ("idle", "in_progress"))
    assert read(created(), said("Hi"), idle, again, said(" you", index=1)).finish.outcome is Outcome.TRUNCATED


def test_contents_in_place_of_steps_are_shown() -> None:
    document = {"id": "", "status": "completed", "outputs": [{"type": "text", "text": "Hi"}]}
    events = [event("content.start", index=0, content={"type": "text", "text": "Hi"}), event("content.stop", index=0)]
    assert read(created(), events, event("interaction.complete", interaction=document)).text == "Hi"
