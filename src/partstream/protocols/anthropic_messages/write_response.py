"""Writes an answer as the events of Anthropic Messages, part by part, or as one document.

The order is the official one (docs/wires/anthropic-messages.md#order-of-blocks): `message_start`, the blocks one after
the other, `message_delta` with the stop reason and the tokens, `message_stop`. Every event has its type twice, as the
name of the frame and in the data: official clients read only the name (docs/wires/anthropic-messages.md#events).

Source: `anthropic` 2.12.0, `types/raw_message_stream_event.py`.
"""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

from partstream.codec.json_codec import dumps
from partstream.errors import AdapterUsageError
from partstream.outputs import Finish, Outcome, Unmapped
from partstream.parts import DataPart, TextPart, ThinkingPart, ToolCallPart, row_of_class
from partstream.protocols.anthropic_messages.errors import error_document, error_event, failed_reply
from partstream.protocols.anthropic_messages.served_documents import DOCUMENTS, PREFIX
from partstream.protocols.anthropic_messages.written_blocks import WrittenBlocks
from partstream.protocols.anthropic_messages.written_document import write_document
from partstream.protocols.anthropic_messages.written_state import WrittenState
from partstream.protocols.anthropic_messages.written_usage import usage_at_end, usage_at_start
from partstream.protocols.citations import read_citation
from partstream.protocols.read_response import LifecycleState
from partstream.protocols.serve import ResponseWriterSpec
from partstream.usage import UnifiedFinishReason

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from partstream.outputs import InboundRequest, Repeated, Reply, StreamOutput
    from partstream.protocols.citations import Citation
    from partstream.usage import FinishReason

__all__ = ["WRITE_RESPONSE", "MessagesWriter", "citation_of", "stop_word"]


class MessagesWriter:
    """One answer of a server of Anthropic Messages; see :class:`partstream.outputs.ResponseWriter`."""

    def __init__(self, asked: InboundRequest, reply: Reply) -> None:
        self._model = asked.model
        self._id = f"msg_{sha256(f'{reply.identity}/msg'.encode()).hexdigest()[:24]}"
        thinking = asked.body.get("thinking")
        shows_thinking = not (isinstance(thinking, dict) and thinking.get("display") == "omitted")
        self._blocks = WrittenBlocks(reply.argument_size, shows_thinking=shows_thinking)
        self._thinking_state = WrittenState(self._blocks)
        self._called = False
        self._state = LifecycleState.IDLE

    def write(self, output: StreamOutput) -> list[dict[str, Any]]:
        """Takes the next output and returns its events.

        Raises:
            AdapterUsageError: The Finish was written before.
        """
        if self._state is LifecycleState.FINISHED:
            raise AdapterUsageError("written to after the Finish")
        begins = [self._start()] if self._state is LifecycleState.IDLE else []
        self._state = LifecycleState.OPEN
        ends: list[dict[str, Any]] = row_of_class(_WRITERS, output)(self, output) or []
        return [*begins, *self._blocks.take(), *ends]

    def repeated(self, _part: TextPart | ThinkingPart) -> Repeated | None:
        """See :class:`partstream.outputs.FastPathWriter`."""
        return self._blocks.repeated()

    def _start(self) -> dict[str, Any]:
        message: dict[str, Any] = {
            "id": self._id,
            "type": "message",
            "role": "assistant",
            "model": self._model,
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": usage_at_start(),
        }
        return {"type": "message_start", "message": message}

    def _text(self, part: TextPart) -> None:
        if part.value:
            self._blocks.say(part.value)

    def _thinking(self, part: ThinkingPart) -> None:
        if part.value:
            self._blocks.think(part.value, part.id)
        if part.metadata:
            self._thinking_state.write(part.metadata)

    def _call(self, part: ToolCallPart) -> None:
        self._called = True
        self._blocks.call(part, self._thinking_state.fields_of(part.call_id))

    def _data(self, part: DataPart) -> None:
        """Writes sources; other data has no place among the blocks of an answer."""
        citation = citation_of(read_citation(part))
        if citation is not None:
            self._blocks.cite(citation)

    def _nothing(self, _output: Unmapped) -> None:
        """Writes nothing: what no part holds has no place among the blocks either."""

    def _finish(self, finish: Finish) -> list[dict[str, Any]]:
        self._state = LifecycleState.FINISHED
        self._blocks.close()
        if finish.outcome in {Outcome.FAILED, Outcome.TRUNCATED}:
            known = [] if finish.usage is None else [self._delta(None, finish)]
            return [*known, error_event(finish.error)]
        word = stop_word(finish.outcome, finish.reason, called=self._called)
        return [self._delta(word, finish), {"type": "message_stop"}]

    def _delta(self, word: str | None, finish: Finish) -> dict[str, Any]:
        delta: dict[str, Any] = {"stop_reason": word, "stop_sequence": None}
        if self._thinking_state.container is not None:
            delta["container"] = dict(self._thinking_state.container)
        return {"type": "message_delta", "delta": delta, "usage": usage_at_end(finish.usage)}


_WRITERS: Final[dict[type, Callable[..., list[dict[str, Any]] | None]]] = {
    TextPart: MessagesWriter._text,
    ThinkingPart: MessagesWriter._thinking,
    ToolCallPart: MessagesWriter._call,
    DataPart: MessagesWriter._data,
    Unmapped: MessagesWriter._nothing,
    Finish: MessagesWriter._finish,
}


_CUT: Final = frozenset({"max_tokens", "model_context_window_exceeded", "refusal", "pause_turn"})
_WHOLE: Final = frozenset({"end_turn", "stop_sequence"})
_WORDS: Final = {
    UnifiedFinishReason.LENGTH: "max_tokens",
    UnifiedFinishReason.CONTENT_FILTER: "refusal",
}
"""The words for an answer that did not come to its end. Clients with closed types refuse any that the reference does
not have, so no other is written."""


def stop_word(outcome: Outcome, reason: FinishReason | None, *, called: bool) -> str:
    """The stop reason of an answer that did not fail.

    Args:
        outcome: How it ended.
        reason: Why the model stopped.
        called: Whether it holds calls.
    """
    raw = None if reason is None else reason.raw
    word = raw if raw in _CUT else None if reason is None else _WORDS.get(reason.unified)
    if outcome is Outcome.INCOMPLETE or word is not None:
        return word or "max_tokens"
    return "tool_use" if called else raw if raw in _WHOLE else "end_turn"


def citation_of(source: Citation | None) -> dict[str, Any] | None:
    """A source as a citation; None for one without an address, which no citation of an answer can name."""
    if source is None or source.url is None:
        return None
    return {
        "type": "web_search_result_location",
        "url": source.url,
        "title": source.title or "",
        "cited_text": source.cited_text or "",
        "encrypted_index": "",
    }


def frame(event: Mapping[str, Any]) -> bytes:
    """The bytes of one event."""
    return b"event: " + str(event.get("type")).encode() + b"\ndata: " + dumps(event) + b"\n\n"


WRITE_RESPONSE: Final = ResponseWriterSpec(
    open=MessagesWriter,
    frame=frame,
    document=write_document,
    error=error_document,
    fail=failed_reply,
    aliases=(PREFIX,),
    documents=DOCUMENTS,
    request_id_header="request-id",
)
