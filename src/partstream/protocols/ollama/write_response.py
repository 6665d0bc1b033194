"""Writes an answer as lines of Ollama, part by part, or as one document (docs/wires/ollama.md).

A call is whole in one line; the last line says why the model stopped and how many tokens there were. An error is a line
of its own, and nothing follows it.
"""

from __future__ import annotations

from base64 import b64encode
from typing import TYPE_CHECKING, Any, Final

from partstream.codec.json_codec import dumps
from partstream.conversation.media import MediaKind, read_media
from partstream.errors import AdapterUsageError, UpstreamFailureError, UpstreamHTTPError
from partstream.outputs import Finish, Outcome, Repeated, Unmapped
from partstream.parts import DataPart, TextPart, ThinkingPart, ToolCallPart, row_of_class
from partstream.protocols.failures import STATUSES, FailedReply, FailureKind, ServedFailure, retry_headers
from partstream.protocols.ollama.read_response import DURATIONS, METADATA
from partstream.protocols.ollama.served_documents import DOCUMENTS
from partstream.protocols.read_response import LifecycleState
from partstream.protocols.serve import ResponseWriterSpec
from partstream.protocols.timestamps import rfc3339
from partstream.usage import UnifiedFinishReason

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from partstream.errors import LanguageModelError
    from partstream.outputs import InboundRequest, Reply, StreamOutput
    from partstream.usage import Usage

__all__ = ["NO_REASON", "WRITE_RESPONSE", "OllamaWriter", "finish_word", "is_picture"]

NO_REASON: Final = "it gave no reason"
_STOP: Final = "stop"
_LENGTH: Final = "length"
_INTERNAL: Final = 500
_LISTS: Final = ("images", "tool_calls")
_TEXTS: Final = ("content", "thinking")


class OllamaWriter:
    """One answer of Ollama; see :class:`partstream.outputs.ResponseWriter`."""

    def __init__(self, asked: InboundRequest, reply: Reply) -> None:
        self._head = {"model": asked.model, "created_at": rfc3339(reply.created_at)}
        self._calls = 0
        self._state = LifecycleState.IDLE

    def write(self, output: StreamOutput) -> list[dict[str, Any]]:
        """Takes the next output and returns its lines.

        Raises:
            AdapterUsageError: The Finish was written before.
        """
        if self._state is LifecycleState.FINISHED:
            raise AdapterUsageError("written to after the Finish")
        self._state = LifecycleState.OPEN
        lines: list[dict[str, Any]] = row_of_class(_WRITERS, output)(self, output)
        return lines

    def repeated(self, part: TextPart | ThinkingPart) -> Repeated:
        """See :class:`partstream.outputs.FastPathWriter`."""
        field = "thinking" if isinstance(part, ThinkingPart) else "content"
        return Repeated(lambda text, _number: self._line({field: text}))

    def _line(self, message: Mapping[str, Any], **beside: Any) -> dict[str, Any]:
        said = {"role": "assistant", "content": "", **message}
        return {**self._head, "message": said, "done": False, **beside}

    def _text(self, part: TextPart) -> list[dict[str, Any]]:
        return [self._line({"content": part.value})] if part.value else []

    def _thinking(self, part: ThinkingPart) -> list[dict[str, Any]]:
        return [self._line({"thinking": part.value})] if part.value else []

    def _call(self, part: ToolCallPart) -> list[dict[str, Any]]:
        function = {"index": self._calls, "name": part.name, "arguments": dict(part.input)}
        self._calls += 1
        return [self._line({"tool_calls": [{"id": part.call_id, "function": function}]})]

    def _data(self, part: DataPart) -> list[dict[str, Any]]:
        """Writes a picture; other data has no place."""
        return [self._line({"images": [b64encode(part.data).decode()]})] if is_picture(part) else []

    def _nothing(self, _output: Unmapped) -> list[dict[str, Any]]:
        """Writes nothing: what no part holds has no place among the lines either."""
        return []

    def _finish(self, finish: Finish) -> list[dict[str, Any]]:
        self._state = LifecycleState.FINISHED
        if finish.outcome in {Outcome.FAILED, Outcome.TRUNCATED}:
            return [{"error": _said(finish.error)}]
        facts = finish.provider_metadata.get(METADATA, {})
        times = {name: facts[name] for name in DURATIONS if name in facts} if isinstance(facts, dict) else {}
        word = finish_word(finish)
        return [self._line({}, done=True, done_reason=word, **times, **_counts(finish.usage))]


_WRITERS: Final[dict[type, Callable[..., list[dict[str, Any]]]]] = {
    TextPart: OllamaWriter._text,
    ThinkingPart: OllamaWriter._thinking,
    ToolCallPart: OllamaWriter._call,
    DataPart: OllamaWriter._data,
    Unmapped: OllamaWriter._nothing,
    Finish: OllamaWriter._finish,
}


def is_picture(part: DataPart) -> bool:
    """Whether a data part holds the bytes of a picture."""
    media = read_media(part)
    return media.kind is MediaKind.IMAGE and not media.url and bool(part.data)


def finish_word(finish: Finish) -> str:
    """The reason of an answer that did not fail: there are two (docs/wires/ollama.md#ends)."""
    is_cut = finish.outcome is Outcome.INCOMPLETE
    is_long = finish.reason is not None and finish.reason.unified is UnifiedFinishReason.LENGTH
    return _LENGTH if is_cut or is_long else _STOP


def _counts(usage: Usage | None) -> dict[str, int]:
    if usage is None:
        return {}
    counts = {"prompt_eval_count": usage.input_tokens, "eval_count": usage.output_tokens}
    return {name: count for name, count in counts.items() if count is not None}


def _said(error: LanguageModelError | None) -> str:
    if error is None:
        return NO_REASON
    said = error.provider_message if isinstance(error, UpstreamFailureError | UpstreamHTTPError) else None
    return said or error.message or NO_REASON


def _frame(event: Mapping[str, Any]) -> bytes:
    return dumps(event) + b"\n"


def _document(events: Sequence[Mapping[str, Any]]) -> tuple[int, dict[str, Any]]:
    """The lines of a whole answer as one: HTTP status and JSON."""
    last = dict(events[-1])
    if "error" in last:
        return _INTERNAL, last
    messages = [event["message"] for event in events]
    message: dict[str, Any] = {"role": "assistant"}
    for name in _TEXTS:
        message[name] = "".join(one.get(name, "") for one in messages)
    for name in _LISTS:
        message[name] = [entry for one in messages for entry in one.get(name, ())]
    kept = {name: value for name, value in message.items() if value or name == "content"}
    return 200, last | {"message": kept}


def _error(_status: int, message: str) -> dict[str, Any]:
    return {"error": message}


_STATUSES: Final[Mapping[FailureKind, int]] = {**STATUSES, FailureKind.SPENT_BUDGET: 402}


def _failed_reply(failure: ServedFailure) -> FailedReply:
    """A failure as an HTTP reply: clients know only the status and one sentence (docs/wires/ollama.md#errors)."""
    return FailedReply(_STATUSES[failure.kind], retry_headers(failure), {"error": failure.message})


WRITE_RESPONSE: Final = ResponseWriterSpec(
    open=OllamaWriter,
    frame=_frame,
    document=_document,
    error=_error,
    fail=_failed_reply,
    drops_thinking_state=True,
    content_type="application/x-ndjson",
    documents=DOCUMENTS,
    base_paths=("/api",),
)
