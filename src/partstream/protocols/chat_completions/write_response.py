"""Writes an answer as the chunks of Chat Completions, part by part, or as one document.

The first chunk holds the role, the last the finish reason; a call is one delta with its id and name and then its
arguments. Thinking stands in `reasoning_content`: no official type has a field for it, and this spelling is the one
that most clients read (`@ai-sdk/openai-compatible` 3.0.92 and LiteLLM; docs/wires/chat-completions.md#thinking-fields).

Source: `openai` 3.54.0, `types/chat/chat_completion_chunk.py`, and how its helper joins deltas
(`lib/streaming/_deltas.py`): lists are joined by the `index` of their entries, so each entry has one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from partstream.codec.json_codec import dumps
from partstream.conversation.media import URI_LIST, MediaKind, data_url, read_media
from partstream.errors import AdapterUsageError
from partstream.outputs import Finish, Outcome, Repeated, Unmapped
from partstream.parts import DataPart, TextPart, ThinkingPart, ToolCallPart, row_of_class
from partstream.protocols.chat_completions.errors import error_document, error_event
from partstream.protocols.chat_completions.written_chunks import ASSISTANT, PendingChunks, WrittenCalls
from partstream.protocols.chat_completions.written_document import write_document
from partstream.protocols.chat_completions.written_state import WrittenState
from partstream.protocols.citations import read_citation
from partstream.protocols.failures import common_reply
from partstream.protocols.model_documents import MODEL_DOCUMENTS
from partstream.protocols.read_response import LifecycleState
from partstream.protocols.serve import ResponseWriterSpec
from partstream.usage import UnifiedFinishReason

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from partstream.outputs import InboundRequest, Reply, StreamOutput
    from partstream.protocols.citations import Citation
    from partstream.usage import FinishReason

__all__ = ["WRITE_RESPONSE", "ChatCompletionsWriter", "annotation_of", "finish_word", "picture_address"]


class ChatCompletionsWriter:
    """One answer of a server of Chat Completions; see :class:`partstream.outputs.ResponseWriter`."""

    def __init__(self, asked: InboundRequest, reply: Reply) -> None:
        self._chunks = PendingChunks(asked, reply)
        self._calls = WrittenCalls(reply.argument_size)
        self._thinking_state = WrittenState(self._calls)
        self._length = 0
        self._images = 0
        self._annotations = 0
        self._state = LifecycleState.IDLE

    def write(self, output: StreamOutput) -> list[dict[str, Any]]:
        """Takes the next output and returns its chunks.

        Raises:
            AdapterUsageError: The Finish was written before.
        """
        if self._state is LifecycleState.FINISHED:
            raise AdapterUsageError("written to after the Finish")
        if self._state is LifecycleState.IDLE:
            self._state = LifecycleState.OPEN
            self._chunks.say(role=ASSISTANT, content="")
        row_of_class(_WRITERS, output)(self, output)
        return self._chunks.take()

    def repeated(self, part: TextPart | ThinkingPart) -> Repeated:
        """See :class:`partstream.outputs.FastPathWriter`."""
        if isinstance(part, ThinkingPart):
            return Repeated(lambda text, _number: self._chunks.chunk({"reasoning_content": text}))
        return Repeated(lambda text, _number: self._chunks.chunk({"content": text}), self._count)

    def _count(self, text: str) -> int:
        """Counts the characters of the text; chunks have no number."""
        self._length += len(text)
        return 0

    def _text(self, part: TextPart) -> None:
        if part.value:
            self._count(part.value)
            self._chunks.say(content=part.value)

    def _thinking(self, part: ThinkingPart) -> None:
        if part.value:
            self._chunks.say(reasoning_content=part.value)
        if part.metadata:
            for delta in self._thinking_state.write(part.metadata):
                self._chunks.say(**delta)

    def _call(self, part: ToolCallPart) -> None:
        for delta in self._calls.write(part):
            self._chunks.say(tool_calls=[delta])

    def _data(self, part: DataPart) -> None:
        """Writes sources and pictures; other data has no place among the chunks."""
        source = read_citation(part)
        if source is not None and source.url is not None:
            entry = annotation_of(source, self._length)
            self._chunks.say(annotations=[{"index": self._annotations, **entry}])
            self._annotations += 1
        elif address := picture_address(part):
            entry = {"index": self._images, "type": "image_url", "image_url": {"url": address}}
            self._chunks.say(images=[entry])
            self._images += 1

    def _nothing(self, _output: Unmapped) -> None:
        """Writes nothing: what no part holds has no place among the chunks either."""

    def _finish(self, finish: Finish) -> None:
        self._state = LifecycleState.FINISHED
        if finish.outcome in {Outcome.FAILED, Outcome.TRUNCATED}:
            self._chunks.fail(error_event(finish.error), finish.usage)
        else:
            self._chunks.finish(finish_word(finish.outcome, finish.reason, called=len(self._calls) > 0), finish.usage)


_WRITERS: Final[dict[type, Callable[..., None]]] = {
    TextPart: ChatCompletionsWriter._text,
    ThinkingPart: ChatCompletionsWriter._thinking,
    ToolCallPart: ChatCompletionsWriter._call,
    DataPart: ChatCompletionsWriter._data,
    Unmapped: ChatCompletionsWriter._nothing,
    Finish: ChatCompletionsWriter._finish,
}


_CUT: Final = ("length", "content_filter")
_WORDS: Final = {
    UnifiedFinishReason.LENGTH: "length",
    UnifiedFinishReason.CONTENT_FILTER: "content_filter",
}
"""The words for an answer that did not come to its end. Clients with closed types refuse any that the reference does
not have, so no other is written."""


def finish_word(outcome: Outcome, reason: FinishReason | None, *, called: bool) -> str:
    """The finish reason of an answer that did not fail.

    Args:
        outcome: How it ended.
        reason: Why the model stopped.
        called: Whether it holds calls.
    """
    word = None if reason is None else _WORDS.get(reason.unified, reason.raw)
    word = word if word in _CUT else None
    if outcome is Outcome.INCOMPLETE:
        return word or "length"
    return "tool_calls" if called else word or "stop"


def annotation_of(source: Citation, length: int) -> dict[str, Any]:
    """A source as an annotation. A source without a position stands behind the whole text.

    Args:
        source: The source, with an address.
        length: How many characters the text has so far.
    """
    cited = {
        "url": source.url,
        "title": source.title or "",
        "start_index": length if source.start is None else source.start,
        "end_index": length if source.end is None else source.end,
    }
    if source.cited_text:
        cited["content"] = source.cited_text  # OpenRouter's field (docs/wires/chat-completions.md#citations)
    return {"type": "url_citation", "url_citation": cited}


def picture_address(part: DataPart) -> str:
    """The address of a picture, or its bytes as a data URL; empty for other data."""
    if part.mime_type == URI_LIST:
        return part.data.decode(errors="replace")
    media = read_media(part)
    return data_url(part.data, media.media_type) if media.kind is MediaKind.IMAGE else ""


def frame(event: Mapping[str, Any]) -> bytes:
    """The bytes of one chunk: a `data` line without a name."""
    return b"data: " + dumps(event) + b"\n\n"


WRITE_RESPONSE: Final = ResponseWriterSpec(
    open=ChatCompletionsWriter,
    frame=frame,
    document=write_document,
    error=error_document,
    end_of_stream=b"data: [DONE]\n\n",
    documents=MODEL_DOCUMENTS,
    fail=common_reply,
    drops_thinking_state=True,  # the official types have no field for it
)
