"""Writes an answer as the events of OpenResponses, part by part, or as one document.

Every event is valid by the published schema and stands in the order that the specification asks for ("Streaming",
version 2026-04-24): `output_item.added`, `content_part.added`, deltas, the `.done` of each, `output_item.done`; the
terminal event holds the whole response.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from partstream.codec.json_codec import dumps
from partstream.conversation.reasoning import ITEMS
from partstream.errors import AdapterUsageError
from partstream.outputs import Finish, Outcome, Unmapped
from partstream.parts import DataPart, TextPart, ThinkingPart, ToolCallPart, row_of_class
from partstream.protocols.failures import common_reply
from partstream.protocols.openresponses.errors import (
    ENCRYPTED_REASONING,
    error_document,
    error_of,
    error_payload,
    incomplete_reason,
)
from partstream.protocols.openresponses.output_items import (
    COMPACTION,
    Identifiers,
    Message,
    OutputItems,
    PendingEvents,
    WrittenReasoning,
    new_response,
    source_of,
    write_call,
    write_compaction,
    written_usage,
)
from partstream.protocols.openresponses.sealed_state import opaque_text
from partstream.protocols.openresponses.served_compaction import COMPACT
from partstream.protocols.openresponses.served_documents import DOCUMENTS
from partstream.protocols.openresponses.stored_responses import STATE
from partstream.protocols.read_response import LifecycleState
from partstream.protocols.serve import ResponseWriterSpec

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from partstream.outputs import InboundRequest, Repeated, Reply, StreamOutput

__all__ = ["WRITE_RESPONSE", "OpenResponsesWriter"]


class OpenResponsesWriter:
    """One response of an OpenResponses server; see :class:`partstream.outputs.ResponseWriter`."""

    def __init__(self, asked: InboundRequest, reply: Reply) -> None:
        self._reply = reply
        identifiers = Identifiers(reply.identity)
        self._response = new_response(asked, identifiers.make("resp", "response"), reply.created_at)
        self._items = OutputItems(identifiers)
        self._events = PendingEvents()
        self._open: Message | WrittenReasoning | None = None
        self._listed = 0
        self._wants_state = ENCRYPTED_REASONING in (asked.body.get("include") or ())
        self._state = LifecycleState.IDLE

    def write(self, output: StreamOutput) -> list[dict[str, Any]]:
        """Takes the next output and returns its events.

        Raises:
            AdapterUsageError: The Finish was written before.
        """
        if self._state is LifecycleState.FINISHED:
            raise AdapterUsageError("written to after the Finish")
        if self._state is LifecycleState.IDLE:
            self._begin(output)
        row_of_class(_WRITERS, output)(self, output)
        return self._events.take()

    def repeated(self, _part: TextPart | ThinkingPart) -> Repeated | None:
        """See :class:`partstream.outputs.FastPathWriter`."""
        return None if self._open is None else self._open.repeated(self._events)

    def idle(self) -> list[dict[str, Any]]:
        """A repeated `response.in_progress`: Codex drops a stream without an event, and counts no comment as one
        (docs/wires/openresponses.md#what-codex-demands).

        Raises:
            AdapterUsageError: The Finish was written before.
        """
        if self._state is LifecycleState.FINISHED:
            raise AdapterUsageError("written to after the Finish")
        if self._state is LifecycleState.IDLE:
            self._begin(None)
        else:
            self._events.add("response.in_progress", response=self._snapshot("in_progress"))
        return self._events.take()

    def _begin(self, output: StreamOutput | None) -> None:
        self._state = LifecycleState.OPEN
        if isinstance(output, Finish):
            self._name(output)
        self._events.add("response.created", response=self._snapshot("in_progress"))
        self._events.add("response.in_progress", response=self._snapshot("in_progress"))

    def _text(self, part: TextPart) -> None:
        if part.value:
            self._message().say(part.value, self._events)

    def _thinking(self, part: ThinkingPart) -> None:
        if part.value:
            if not (isinstance(self._open, WrittenReasoning) and self._open.part_id == part.id):
                self._close()
                self._open = WrittenReasoning(self._items, part.id, self._events, is_raw=self._reply.raw_reasoning)
            self._open.say(part.value, self._events)
        if part.metadata:
            self._carry(part.id, part.metadata)

    def _carry(self, part_id: str | None, metadata: Mapping[str, Any]) -> None:
        """Writes the state that the upstream wants back.

        Metadata lists all items so far, and each metadata closes one.
        """
        listed = metadata.get(ITEMS)
        new: Sequence[Any] = [None]
        if isinstance(listed, list | tuple):
            new, self._listed = listed[self._listed :], len(listed)
        for item in new:
            if not isinstance(item, Mapping | None):
                continue
            state = opaque_text(item, metadata, foreign=self._wants_state)
            item_id = (item or metadata).get("id") or part_id
            if item is not None and item.get("type") == COMPACTION and state is not None:
                self._close()
                write_compaction(item_id, state, self._items, self._events)
                continue
            if state is not None and not isinstance(self._open, WrittenReasoning):
                self._close()
                self._open = WrittenReasoning(self._items, item_id, self._events, is_raw=self._reply.raw_reasoning)
            if isinstance(self._open, WrittenReasoning):
                self._open.encrypted_content = state
                self._close()

    def _call(self, part: ToolCallPart) -> None:
        self._close()
        write_call(part, self._reply.argument_size, self._items, self._events)

    def _data(self, part: DataPart) -> None:
        """Writes sources; other data has no place among the events."""
        source = source_of(part)
        if source is not None:
            self._message().cite(source, self._events)

    def _nothing(self, _output: Unmapped) -> None:
        """Writes nothing: what no part holds has no place among the events either."""

    def _finish(self, finish: Finish) -> None:
        self._state = LifecycleState.FINISHED
        self._name(finish)
        self._response |= {"output": self._items.done, "usage": written_usage(finish)}
        _ENDINGS[finish.outcome](self, finish)

    def _completed(self, _finish: Finish) -> None:
        self._close()
        self._response["completed_at"] = self._reply.created_at
        self._events.add("response.completed", response=self._snapshot("completed"))

    def _incomplete(self, finish: Finish) -> None:
        self._close("incomplete")
        self._response["incomplete_details"] = {"reason": incomplete_reason(finish.reason)}
        self._events.add("response.incomplete", response=self._snapshot("incomplete"))

    def _failed(self, finish: Finish) -> None:
        """Leaves an open item open, because its end is unknown."""
        error = error_of(finish.error)
        self._events.add("error", error=error_payload(error))
        self._response["error"] = error
        self._events.add("response.failed", response=self._snapshot("failed"))

    def _message(self) -> Message:
        if not isinstance(self._open, Message):
            self._close()
            self._open = Message(self._items, self._events)
        return self._open

    def _close(self, status: str = "completed") -> None:
        if self._open is not None:
            self._open.close(status, self._events)
            self._open = None

    def _name(self, finish: Finish) -> None:
        """Takes the names of the upstream in place of the generated ones."""
        self._response["id"] = finish.response_id or self._response["id"]
        self._response["model"] = finish.model or self._response["model"]

    def _snapshot(self, status: str) -> dict[str, Any]:
        return {**self._response, "status": status}


_WRITERS: Final[dict[type, Callable[..., None]]] = {
    TextPart: OpenResponsesWriter._text,
    ThinkingPart: OpenResponsesWriter._thinking,
    ToolCallPart: OpenResponsesWriter._call,
    DataPart: OpenResponsesWriter._data,
    Unmapped: OpenResponsesWriter._nothing,
    Finish: OpenResponsesWriter._finish,
}

_ENDINGS: Final[dict[Outcome, Callable[[OpenResponsesWriter, Finish], None]]] = {
    Outcome.COMPLETED: OpenResponsesWriter._completed,
    Outcome.INCOMPLETE: OpenResponsesWriter._incomplete,
    Outcome.FAILED: OpenResponsesWriter._failed,
    Outcome.TRUNCATED: OpenResponsesWriter._failed,
}


def write_document(events: Sequence[Mapping[str, Any]]) -> tuple[int, dict[str, Any]]:
    """The document for a client that wants no stream: the response of the terminal event, or its failure."""
    response: dict[str, Any] = events[-1]["response"]
    if response["status"] == "failed":
        return 500, {"error": error_payload(response["error"])}
    return 200, response


def frame(event: Mapping[str, Any]) -> bytes:
    """The bytes of one event: `event` equals `type`, line feeds only, no `id` (specification, "Streaming")."""
    name = event.get("type")
    head = f"event: {name}\n".encode() if isinstance(name, str) else b""
    return head + b"data: " + dumps(event) + b"\n\n"


WRITE_RESPONSE: Final = ResponseWriterSpec(
    open=OpenResponsesWriter,
    frame=frame,
    document=write_document,
    error=error_document,
    end_of_stream=b"data: [DONE]\n\n",
    documents=DOCUMENTS,
    stopped=Outcome.INCOMPLETE,
    fail=common_reply,
    state=STATE,
    further=(COMPACT,),
)
