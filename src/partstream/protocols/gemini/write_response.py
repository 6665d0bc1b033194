"""Writes an answer as the chunks of `generateContent`, part by part, or as one document (docs/wires/gemini.md).

A call is one part with its id; the first call of an answer of a model that signs calls has a signature. Sources stand
in the grounding of the last chunk, which says why the model stopped.
"""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

from partstream.codec.json_codec import dumps
from partstream.conversation.markers import is_mark
from partstream.conversation.media import URI_LIST
from partstream.errors import AdapterUsageError
from partstream.outputs import Finish, Outcome, Repeated, Unmapped
from partstream.parts import DataPart, TextPart, ThinkingPart, ToolCallPart, row_of_class
from partstream.protocols.citations import read_citation
from partstream.protocols.gemini.errors import error_document, error_event, failed_reply
from partstream.protocols.gemini.models import known_model
from partstream.protocols.gemini.provider_state import SIGNATURE, WrittenState, made_up_signature
from partstream.protocols.gemini.read_request import ARRAY
from partstream.protocols.gemini.read_response import FILTERS
from partstream.protocols.gemini.served_documents import DOCUMENTS
from partstream.protocols.gemini.written_document import write_document
from partstream.protocols.gemini.written_usage import written_usage
from partstream.protocols.read_response import LifecycleState
from partstream.protocols.serve import ResponseWriterSpec, StreamForm
from partstream.usage import UnifiedFinishReason

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from partstream.outputs import InboundRequest, Reply, StreamOutput
    from partstream.protocols.citations import Citation
    from partstream.usage import FinishReason

__all__ = ["WRITE_RESPONSE", "GeminiWriter", "file_part", "finish_word", "grounding_chunk"]


class GeminiWriter:
    """One answer of a Gemini server; see :class:`partstream.outputs.ResponseWriter`."""

    def __init__(self, asked: InboundRequest, reply: Reply) -> None:
        self._head = {
            "modelVersion": asked.model,
            "responseId": sha256(f"{reply.identity}/gemini".encode()).hexdigest()[:24],
        }
        self._signs_calls = known_model(asked.model).signs_calls
        self._calls = 0
        self._thinking_state = WrittenState()
        self._sources: list[dict[str, Any]] = []
        self._chunks: list[dict[str, Any]] = []
        self._state = LifecycleState.OPEN

    def write(self, output: StreamOutput) -> list[dict[str, Any]]:
        """Takes the next output and returns its chunks.

        Raises:
            AdapterUsageError: The Finish was written before.
        """
        if self._state is LifecycleState.FINISHED:
            raise AdapterUsageError("written to after the Finish")
        row_of_class(_WRITERS, output)(self, output)
        chunks, self._chunks = self._chunks, []
        return chunks

    def repeated(self, part: TextPart | ThinkingPart) -> Repeated:
        """See :class:`partstream.outputs.FastPathWriter`."""
        beside = {"thought": True} if isinstance(part, ThinkingPart) else {}
        return Repeated(lambda text, _number: self._chunk({"text": text, **beside}))

    def _say(self, part: dict[str, Any]) -> None:
        self._chunks.append(self._chunk(part))

    def _chunk(self, part: dict[str, Any]) -> dict[str, Any]:
        return {"candidates": [{"content": {"parts": [part], "role": "model"}, "index": 0}], **self._head}

    def _text(self, part: TextPart) -> None:
        if part.value:
            self._say({"text": part.value})

    def _thinking(self, part: ThinkingPart) -> None:
        if part.value:
            self._say({"text": part.value, "thought": True})
        for signature in self._thinking_state.write(part.metadata or {}):
            self._say({"text": "", SIGNATURE: signature})

    def _call(self, part: ToolCallPart) -> None:
        signature = self._thinking_state.of_call(part.call_id)
        if signature is None and self._signs_calls and self._calls == 0:
            signature = made_up_signature(part.call_id)
        self._calls += 1
        call = {"id": part.call_id, "name": part.name, "args": dict(part.input)}
        self._say({"functionCall": call, **({} if signature is None else {SIGNATURE: signature})})

    def _data(self, part: DataPart) -> None:
        """Writes a file, and keeps a source for the end."""
        source = read_citation(part)
        if source is not None and source.url is not None:
            self._sources.append(grounding_chunk(source))
        elif (written := file_part(part)) is not None:
            self._say(written)

    def _nothing(self, _output: Unmapped) -> None:
        """Writes nothing: what no part holds has no place among the chunks either."""

    def _finish(self, finish: Finish) -> None:
        self._state = LifecycleState.FINISHED
        told = written_usage(finish.usage)
        usage = {} if told is None else {"usageMetadata": told}
        if finish.outcome in {Outcome.FAILED, Outcome.TRUNCATED}:
            self._chunks += [{**usage, **self._head}] if usage else []
            self._chunks.append(error_event(finish.error))
            return
        grounding = {"groundingMetadata": {"groundingChunks": self._sources}} if self._sources else {}
        candidate = {
            "content": {"parts": [{"text": ""}], "role": "model"},  # docs/wires/gemini.md#observed-streams
            "finishReason": finish_word(finish.outcome, finish.reason),
            "index": 0,
            **grounding,
        }
        self._chunks.append({"candidates": [candidate], **usage, **self._head})


_WRITERS: Final[dict[type, Callable[..., None]]] = {
    TextPart: GeminiWriter._text,
    ThinkingPart: GeminiWriter._thinking,
    ToolCallPart: GeminiWriter._call,
    DataPart: GeminiWriter._data,
    Unmapped: GeminiWriter._nothing,
    Finish: GeminiWriter._finish,
}

_CUT: Final = {UnifiedFinishReason.LENGTH: "MAX_TOKENS", UnifiedFinishReason.CONTENT_FILTER: "SAFETY"}
_OTHER: Final = ("OTHER", "NO_IMAGE", "IMAGE_OTHER")


def finish_word(outcome: Outcome, reason: FinishReason | None) -> str:
    """The finish reason of an answer that did not fail; no word says that there are calls.

    Args:
        outcome: How it ended.
        reason: Why the model stopped.
    """
    raw = None if reason is None else reason.raw
    if outcome is Outcome.INCOMPLETE:
        if raw in FILTERS:
            return raw
        return _CUT.get(reason.unified if reason is not None else UnifiedFinishReason.LENGTH, "MAX_TOKENS")
    if reason is not None and reason.unified is UnifiedFinishReason.OTHER:
        return raw if raw in _OTHER else "OTHER"
    return "STOP"


def grounding_chunk(source: Citation) -> dict[str, Any]:
    """A source as a chunk of the grounding: a page, or a document of which words are cited."""
    said = {"uri": source.url, "title": source.title, "text": source.cited_text}
    kept = {name: value for name, value in said.items() if value}
    return {"retrievedContext" if source.cited_text else "web": kept}


def file_part(part: DataPart) -> dict[str, Any] | None:
    """A file as a part: its bytes, or its address; None for an empty one, and for a mark of the host."""
    if is_mark(part.mime_type):
        return None
    address = part.data.decode(errors="replace") if part.mime_type == URI_LIST else ""
    if address.lower().startswith(("http://", "https://")):
        return {"fileData": {"fileUri": address}}
    data = b64encode(part.data).decode()
    return {"inlineData": {"mimeType": part.mime_type, "data": data}} if data else None


def frame(event: Mapping[str, Any]) -> bytes:
    """The bytes of one chunk: a `data` line without a name, with the line ends of Google's servers."""
    return b"data: " + dumps(event) + b"\r\n\r\n"


# No comment keeps these streams alive: google-genai 3.4 reads every line that is no data as JSON, and its package for
# JavaScript takes an event only from the very beginning of what it has.
_EVENTS: Final = StreamForm(frame)
_ARRAY: Final = StreamForm(dumps, b"[", b",\r\n", b"\n]\n", "application/json; charset=UTF-8")


def _form_of(asked: InboundRequest) -> StreamForm:
    """Events; without `alt=sse`, the elements of one array (docs/wires/gemini.md#framing)."""
    return _ARRAY if asked.dialect == ARRAY else _EVENTS


WRITE_RESPONSE: Final = ResponseWriterSpec(
    open=GeminiWriter,
    frame=frame,
    document=write_document,
    error=error_document,
    fail=failed_reply,
    documents=DOCUMENTS,
    form_of=_form_of,
    base_paths=("/v1beta", "/v1"),
)
