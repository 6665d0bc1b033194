"""Writes an answer as the events of a run, part by part: what a frontend shows as one agent's answer.

Texts and thoughts are messages that stream; a call is whole in three events, and stays without a result: it is the
frontend's to run. The last event says how the run went, and in its metadata what the wire has no field for.

Source: ag-ui-protocol 1.0.0 (`ag_ui.core.events`); `verifyEvents` of @ag-ui/client, which refuses events out of order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from partstream.codec.json_codec import dumps
from partstream.errors import AdapterUsageError, UpstreamError, UpstreamFailureError, UpstreamHTTPError
from partstream.outputs import Finish, Outcome, Repeated, Unmapped
from partstream.parts import DataPart, TextPart, ThinkingPart, ToolCallPart, row_of_class
from partstream.protocols.ag_ui.errors import FINISH_REASON, IS_CUT, MODEL, OURS, RUN_ERROR, SUCCESS, written_usage
from partstream.protocols.ag_ui.provider_state import digest_of
from partstream.protocols.ag_ui.write_request import PROTOCOL_VERSION
from partstream.protocols.errors import NO_REASON
from partstream.protocols.failures import STATUSES, FailedReply, ServedFailure, retry_headers
from partstream.protocols.model_documents import MODEL_DOCUMENTS
from partstream.protocols.read_response import LifecycleState, identifier
from partstream.protocols.serve import ResponseWriterSpec

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from partstream.errors import LanguageModelError
    from partstream.outputs import InboundRequest, Reply, StreamOutput

__all__ = ["WRITE_RESPONSE", "AGUIWriter"]

_Event = dict[str, Any]
_TEXT: Final = "TEXT_MESSAGE"
_THOUGHT: Final = "REASONING_MESSAGE"
_INTERNAL: Final = 500


class AGUIWriter:
    """One run; see :class:`partstream.outputs.ResponseWriter`."""

    def __init__(self, asked: InboundRequest, reply: Reply) -> None:
        self._identity = digest_of(reply.identity)
        self._run = {
            "threadId": identifier(asked.body, "threadId") or f"thread_{self._identity}",
            "runId": identifier(asked.body, "runId") or f"run_{self._identity}",
        }
        self._speaks_1_0 = bool(asked.dialect)
        self._argument_size = reply.argument_size
        self._messages = 0
        self._open: tuple[type, str | None] | None = None  # the class and the id of the parts of the open message
        self._message_id = ""
        self._text_id: str | None = None  # of the last message of text, which holds the calls behind it
        self._calls: list[str] = []
        self._state = LifecycleState.IDLE

    def write(self, output: StreamOutput) -> list[_Event]:
        """Takes the next output and returns its events.

        Raises:
            AdapterUsageError: The Finish was written before.
        """
        if self._state is LifecycleState.FINISHED:
            raise AdapterUsageError("written to after the Finish")
        begun = self._begun()
        events: list[_Event] = row_of_class(_WRITERS, output)(self, output)
        return [*begun, *events]

    def repeated(self, part: TextPart | ThinkingPart) -> Repeated | None:
        """See :class:`partstream.outputs.FastPathWriter`."""
        if self._open is None or self._open != _kind_of(part):
            return None
        kind, message_id = _TEXT if isinstance(part, TextPart) else _THOUGHT, self._message_id
        return Repeated(lambda text, _number: _content(kind, message_id, text))

    def _begun(self) -> list[_Event]:
        if self._state is not LifecycleState.IDLE:
            return []
        self._state = LifecycleState.OPEN
        return [{"type": "RUN_STARTED", **self._run, "protocolVersion": PROTOCOL_VERSION}]

    def _text(self, part: TextPart) -> list[_Event]:
        if not part.value:
            return []
        begun = self._message(part)
        self._text_id = self._message_id
        return [*begun, _content(_TEXT, self._message_id, part.value)]

    def _thinking(self, part: ThinkingPart) -> list[_Event]:
        return [*self._message(part), _content(_THOUGHT, self._message_id, part.value)] if part.value else []

    def _message(self, part: TextPart | ThinkingPart) -> list[_Event]:
        """Opens the message of a part, unless it is the one that is open."""
        kind = _kind_of(part)
        if self._open == kind:
            return []
        closed = self._closed()
        self._open = kind
        self._messages += 1
        self._message_id = f"msg_{self._identity}_{self._messages}"
        said = {"messageId": self._message_id}
        if isinstance(part, TextPart):
            return [*closed, {"type": f"{_TEXT}_START", **said, "role": "assistant"}]
        return [
            *closed,
            {"type": "REASONING_START", **said},
            {"type": f"{_THOUGHT}_START", **said, "role": "reasoning"},
        ]

    def _closed(self) -> list[_Event]:
        """Closes the message that is open."""
        if self._open is None:
            return []
        (kind, _), said = self._open, {"messageId": self._message_id}
        self._open = None
        if kind is TextPart:
            return [{"type": f"{_TEXT}_END", **said}]
        return [{"type": f"{_THOUGHT}_END", **said}, {"type": "REASONING_END", **said}]

    def _call(self, part: ToolCallPart) -> list[_Event]:
        self._calls.append(part.call_id)
        call = {"toolCallId": part.call_id}
        parent = {} if self._text_id is None else {"parentMessageId": self._text_id}
        said = dumps(dict(part.input)).decode()
        size = self._argument_size or len(said)
        return [
            *self._closed(),
            {"type": "TOOL_CALL_START", **call, "toolCallName": part.name, **parent},
            *(
                {"type": "TOOL_CALL_ARGS", **call, "delta": said[start : start + size]}
                for start in range(0, len(said), size)
            ),
            {"type": "TOOL_CALL_END", **call},
        ]

    def _nothing(self, _output: DataPart | Unmapped) -> list[_Event]:
        """Writes nothing: an agent's message is text."""
        return []

    def _finish(self, finish: Finish) -> list[_Event]:
        self._state = LifecycleState.FINISHED
        usage = written_usage(finish.usage, finish.model)
        if finish.outcome in {Outcome.FAILED, Outcome.TRUNCATED}:
            code = finish.error.provider_code if isinstance(finish.error, UpstreamError) else None
            said = {"message": _said(finish.error)} | ({"code": code} if code else {})
            return [*self._closed(), {"type": RUN_ERROR, **said, **usage, **_besides({}, finish)}]
        reason = {} if finish.reason is None else {FINISH_REASON: finish.reason.unified.value}
        ours = _besides(reason | ({IS_CUT: True} if finish.outcome is Outcome.INCOMPLETE else {}), finish)
        # Frontends before 1.0 refuse the list; without an outcome, the run was a success for every one of them.
        pending = {"pendingToolCallIds": self._calls} if self._calls else {}
        outcome = {"outcome": {"type": SUCCESS, **pending}} if self._speaks_1_0 else {}
        return [*self._closed(), {"type": "RUN_FINISHED", **self._run, **outcome, **usage, **ours}]


_WRITERS: Final[dict[type, Callable[..., list[_Event]]]] = {
    TextPart: AGUIWriter._text,
    ThinkingPart: AGUIWriter._thinking,
    ToolCallPart: AGUIWriter._call,
    DataPart: AGUIWriter._nothing,
    Unmapped: AGUIWriter._nothing,
    Finish: AGUIWriter._finish,
}


def _kind_of(part: TextPart | ThinkingPart) -> tuple[type, str | None]:
    return (ThinkingPart, part.id) if isinstance(part, ThinkingPart) else (TextPart, None)


def _besides(said: Mapping[str, Any], finish: Finish) -> _Event:
    """The metadata of a last event: what no field of the wire says; the model, where no tokens name it."""
    named = {MODEL: finish.model} if finish.model and not written_usage(finish.usage, finish.model) else {}
    return {"metadata": {OURS: {**said, **named}}} if said or named else {}


def _content(kind: str, message_id: str, text: str) -> _Event:
    return {"type": f"{kind}_CONTENT", "messageId": message_id, "delta": text}


def _said(error: LanguageModelError | None) -> str:
    if error is None:
        return NO_REASON
    said = error.provider_message if isinstance(error, UpstreamFailureError | UpstreamHTTPError) else None
    return said or error.message or NO_REASON


def _frame(event: Mapping[str, Any]) -> bytes:
    return b"data: " + dumps(event) + b"\n\n"


def _document(events: Sequence[Mapping[str, Any]]) -> tuple[int, _Event]:
    """The events of a run in one document, for a client that takes no stream; of a run that failed, its error."""
    last = dict(events[-1])
    return (_INTERNAL, last) if last["type"] == RUN_ERROR else (200, {"events": [dict(event) for event in events]})


def _error(_status: int, message: str) -> _Event:
    return {"type": RUN_ERROR, "message": message}


def _failed_reply(failure: ServedFailure) -> FailedReply:
    """A failure before the run, as the event that the run would have ended with: frontends show its message."""
    code = failure.code or failure.kind.value.replace(" ", "_")
    return FailedReply(STATUSES[failure.kind], retry_headers(failure), {**_error(0, failure.message), "code": code})


WRITE_RESPONSE: Final = ResponseWriterSpec(
    open=AGUIWriter,
    frame=_frame,
    document=_document,
    error=_error,
    fail=_failed_reply,
    drops_thinking_state=True,
    documents=MODEL_DOCUMENTS,
    base_paths=("/ag-ui",),
)
