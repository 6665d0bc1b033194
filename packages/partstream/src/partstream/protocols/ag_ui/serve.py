"""Reads `RunAgentInput` and writes the events of a run, as an agent does.

A frontend knows an agent by its address alone: so the path names the model, `/ag-ui/MODEL`, or `forwardedProps` does.
Fields that the answer depends on are checked. Fields for an agent that keeps a state, and the activity messages of an
application, are counted in :attr:`partstream.lm.outputs.InboundRequest.unmapped`, and fail no request. The context of a
request is a system message.

Texts and thoughts are messages that stream. A call is whole in three events, without a result, because the frontend
runs it. The last event tells the outcome of the run, and in its metadata the facts without a field on the wire.
`verifyEvents` of @ag-ui/client refuses events out of order.

Source: `RunAgentInput` and `ag_ui.core.events` of ag-ui-protocol 1.0.0; older ones lack `protocolVersion` and `resume`.
"""

from __future__ import annotations
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from partstream.codec.checks import places
from partstream.errors import InvalidRequestError, UpstreamError
from partstream.lm.messages import ChatMessage, RequestOptions
from partstream.lm.outputs import Facts, Finish, InboundRequest, Outcome, Repeated, Reply, StreamOutput
from partstream.lm.parts import DataPart, MessagePart, TextPart, ThinkingPart, ToolCallPart, ToolResultPart
from partstream.protocols import read_request
from partstream.protocols.ag_ui import OF_MODEL
from partstream.protocols.ag_ui import read_response as wire
from partstream.protocols.ag_ui.write_request import EFFORT, PROTOCOL_VERSION, chosen_options, digest_of
from partstream.protocols.failures import STATUSES, FailedReply, ServedFailure, retry_headers, sentence_of
from partstream.protocols.model_documents import MODEL_DOCUMENTS
from partstream.protocols.read_response import identifier
from partstream.protocols.serve import RequestReader, ResponseWriter, WireRequest, model_in_path, pieces_of_arguments

# ---- The request ----


def _media(part: Mapping[str, Any], where: str, counts: read_request.Counts) -> DataPart | None:
    source, at = part.get("source"), f"{where}.source"
    if not isinstance(source, dict):
        raise InvalidRequestError(at, read_request.described(source), "an object with a type")
    kind = read_request.optional_text(source, "type", at)
    label = read_request.optional_text(source, "mimeType", at)
    if kind == "url":
        usual = read_request.DOCUMENT if part["type"] == "document" else f"{part['type']}/*"
        return read_request.read_address(read_request.required_text(source, "value", at), f"{at}.value", label or usual)
    if kind == "data":
        return read_request.read_bytes(read_request.required_text(source, "value", at), f"{at}.value", label)
    counts.add(f"content[].source.{kind or 'without a type'}")  # a file that only a provider can reach
    return None


def _binary(part: Mapping[str, Any], where: str, counts: read_request.Counts) -> DataPart | None:
    """A part as packages before 1.0 send it: `{"type": "binary", "mimeType", "data" | "url" | "id"}`."""
    label = read_request.optional_text(part, "mimeType", where)
    if data := read_request.optional_text(part, "data", where):
        return read_request.read_bytes(data, f"{where}.data", label)
    if url := read_request.optional_text(part, "url", where):
        return read_request.read_address(url, f"{where}.url", label)
    counts.add("content[].binary.id")
    return None


_PARTS: Final[Mapping[str, Callable[[Mapping[str, Any], str, read_request.Counts], TextPart | DataPart | None]]] = {
    "text": lambda part, where, _counts: read_request.said(part, "text", where),
    **dict.fromkeys(("image", "audio", "video", "document"), _media),
    "binary": _binary,
}

_FIELDS: Final = places(
    {
        "messages[]": "id role content name toolCalls toolCallId error metadata encryptedValue subagentRunId",
        "messages[].toolCalls[|function]": "id type function metadata encryptedValue",
        "messages[].toolCalls[].function": "name arguments",
        f"messages[].content[{'|'.join(_PARTS)}]": "type id text source metadata mimeType data url filename",
        "messages[].content[].source": "type value mimeType",
        "context[]": "description value",
        "tools[]": "name description parameters metadata",
    }
)


def read_context(value: object) -> ChatMessage | None:
    """The context of a request as a system message; None without any."""
    lines = []
    for where, entry in read_request.objects_in([] if value is None else value, "context", "a list of entries"):
        description = read_request.optional_text(entry, "description", where)
        said = read_request.optional_text(entry, "value", where)
        lines.append(f"{description}:\n{said}" if description else said)
    return ChatMessage.system("\n\n".join(lines)) if any(lines) else None


def read_messages(value: object, counts: read_request.Counts) -> tuple[ChatMessage, ...]:
    """The conversation."""
    reader = _Reader(counts)
    for role, message, where in read_request.messages_by_role(value, _READERS):
        _READERS[role](reader, message, where)
    return reader.messages.end()


class _Reader:
    """The messages of one request so far."""

    def __init__(self, counts: read_request.Counts) -> None:
        self.messages = read_request.AskedMessages()
        self._counts = counts

    def _system(self, message: Mapping[str, Any], where: str) -> None:
        name = read_request.optional_text(message, "name", where) or None
        self.messages.add(ChatMessage.system(read_request.optional_text(message, "content", where), name))

    def _user(self, message: Mapping[str, Any], where: str) -> None:
        content = read_request.read_parts(message.get("content"), f"{where}.content", self._counts, _PARTS)
        self.messages.add(ChatMessage.user(content, read_request.optional_text(message, "name", where) or None))

    def _assistant(self, message: Mapping[str, Any], where: str) -> None:
        text = read_request.optional_text(message, "content", where)
        listed = read_request.checked(message, "toolCalls", list, "a list of calls", where) or []
        calls = [read_request.read_call(call, f"{where}.toolCalls[{place}]") for place, call in enumerate(listed)]
        parts: list[MessagePart] = [*([TextPart(text)] if text else []), *calls]
        if parts:
            self.messages.add(ChatMessage.assistant(parts, read_request.optional_text(message, "name", where) or None))

    def _reasoning(self, message: Mapping[str, Any], where: str) -> None:
        if text := read_request.optional_text(message, "content", where):
            thought = ThinkingPart(text, read_request.optional_text(message, "id", where) or None)
            self.messages.add(ChatMessage.assistant([thought]))

    def _tool(self, message: Mapping[str, Any], where: str) -> None:
        call_id = read_request.required_text(message, "toolCallId", where)
        said: tuple[TextPart | DataPart, ...] = read_request.read_parts(
            message.get("content"), f"{where}.content", self._counts, _PARTS
        )
        error = read_request.optional_text(message, "error", where)
        content = said or ((TextPart(error),) if error else ())
        self.messages.add_result(ToolResultPart(call_id, content, is_error=bool(error)))


_READERS: Final[dict[str, Callable[[_Reader, Mapping[str, Any], str], None]]] = {
    "system": _Reader._system,
    "developer": _Reader._system,
    "user": _Reader._user,
    "assistant": _Reader._assistant,
    "reasoning": _Reader._reasoning,
    "tool": _Reader._tool,
    "activity": lambda reader, _message, _where: reader._counts.add("messages[].activity"),
}


class AGUIRequests(RequestReader):
    """Reads the requests of frontends."""

    def read(self, request: WireRequest) -> InboundRequest:  # noqa: D102
        body, accept = request.body, request.headers.get("accept", "")
        counts = read_request.Counts()
        forwarded = body.get("forwardedProps")
        fields: dict[str, Any] = dict(forwarded) if isinstance(forwarded, dict) else {}
        messages = read_messages(body.get("messages"), counts)
        context = read_context(body.get("context"))
        read_request.count_unread(body, _FIELDS, counts)
        chosen = chosen_options(fields)
        effort = chosen.pop(EFFORT, None)
        tools = read_request.AskedTools(counts)
        tools.read(body.get("tools"))
        unmapped = {**read_request.not_default(body, _OF_A_STATE), **counts.numbers}
        unmapped |= {name: value for name, value in body.items() if name not in _READ_FIELDS and value is not None}
        if forwarded and not isinstance(forwarded, dict):
            unmapped["forwardedProps"] = forwarded
        return InboundRequest(
            model=model_in_path(OF_MODEL, request.path)
            or read_request.optional_text(fields, wire.MODEL, "forwardedProps"),
            messages=messages if context is None else (context, *messages),
            options=RequestOptions(
                tuple(tools.tools.values()),
                model_options={name: value for name, value in chosen.items() if value is not None},
                model_configuration={} if effort is None else {EFFORT: effort},
            ),
            # All clients take events but one that accepts JSON alone.
            stream="application/json" not in accept or "text/event-stream" in accept or "*/*" in accept,
            unmapped=unmapped,
            dialect=read_request.optional_text(body, "protocolVersion"),
            body=body,
        )


_OF_A_STATE: Final[Mapping[str, Any]] = {"state": {}, "resume": [], "parentRunId": None}
"""The fields for an agent that keeps a state, with the value that means nothing."""

_READ_FIELDS: Final = frozenset(
    {"threadId", "runId", "protocolVersion", "messages", "tools", "context", "forwardedProps", *_OF_A_STATE}
)

READ_REQUEST: Final = AGUIRequests()

# ---- The response ----

_Event = dict[str, Any]
_TEXT: Final = "TEXT_MESSAGE"
_THOUGHT: Final = "REASONING_MESSAGE"


class AGUIWriter(ResponseWriter):
    """One run."""

    drops_thinking_state = True
    says = frozenset({"thinking.state", "finish_reason.filter", "usage.half", *Facts.COUNTS})
    documents = MODEL_DOCUMENTS

    def __init__(self, asked: InboundRequest, reply: Reply) -> None:
        super().__init__(asked, reply)
        self._identity = digest_of(reply.identity)
        self._run = {
            "threadId": identifier(asked.body, "threadId") or f"thread_{self._identity}",
            "runId": identifier(asked.body, "runId") or f"run_{self._identity}",
        }
        self._speaks_1_0 = bool(asked.dialect)
        self._messages = 0
        self._open: tuple[type, str | None] | None = None  # the class and the id of the parts of the open message
        self._message_id = ""
        self._text_id: str | None = None  # of the last message of text, which holds the calls after it
        self._calls: list[str] = []

    def _begin(self, _output: StreamOutput) -> list[_Event]:
        return [{"type": "RUN_STARTED", **self._run, "protocolVersion": PROTOCOL_VERSION}]

    def repeated(self, part: TextPart | ThinkingPart) -> Repeated | None:  # noqa: D102
        if self._open is None or self._open != _kind_of(part):
            return None
        kind, message_id = _TEXT if isinstance(part, TextPart) else _THOUGHT, self._message_id
        return Repeated(lambda text, _number: _content(kind, message_id, text))

    def _text(self, part: TextPart) -> list[_Event]:
        events = self._say(part, _TEXT)
        self._text_id = self._message_id if events else self._text_id
        return events

    def _thinking(self, part: ThinkingPart) -> list[_Event]:
        return self._say(part, _THOUGHT)

    def _say(self, part: TextPart | ThinkingPart, kind: str) -> list[_Event]:
        """Says a text or a thought, in a message of its own unless its message is open."""
        if not part.value:
            return []
        begun: list[_Event] = []
        if self._open != _kind_of(part):
            begun = self._closed()
            self._open = _kind_of(part)
            self._messages += 1
            said = {"messageId": f"msg_{self._identity}_{self._messages}"}
            self._message_id = said["messageId"]
            if kind == _THOUGHT:
                begun.append({"type": "REASONING_START", **said})
            begun.append({"type": f"{kind}_START", **said, "role": "assistant" if kind == _TEXT else "reasoning"})
        return [*begun, _content(kind, self._message_id, part.value)]

    def _closed(self) -> list[_Event]:
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
        pieces = pieces_of_arguments(part, self._reply.argument_size)
        return [
            *self._closed(),
            {"type": "TOOL_CALL_START", **call, "toolCallName": part.name, **parent},
            *({"type": "TOOL_CALL_ARGS", **call, "delta": piece} for piece in pieces),
            {"type": "TOOL_CALL_END", **call},
        ]

    def _finish(self, finish: Finish) -> list[_Event]:
        usage = wire.written_usage(finish.usage, finish.model)
        ours: _Event = {}  # facts without a field on the wire; the model, where no usage names it
        if finish.outcome in {Outcome.FAILED, Outcome.TRUNCATED}:
            code = finish.error.provider_code if isinstance(finish.error, UpstreamError) else None
            end: _Event = {"type": wire.RUN_ERROR, "message": sentence_of(finish.error)} | (
                {"code": code} if code else {}
            )
        else:
            ours |= {} if finish.reason is None else {wire.FINISH_REASON: finish.reason.unified.value}
            ours |= {wire.IS_CUT: True} if finish.outcome is Outcome.INCOMPLETE else {}
            # Frontends before 1.0 refuse the list; without an outcome, the run was a success for every one of them.
            pending = {"pendingToolCallIds": self._calls} if self._calls else {}
            outcome = {"outcome": {"type": wire.SUCCESS, **pending}} if self._speaks_1_0 else {}
            end = {"type": "RUN_FINISHED", **self._run, **outcome}
        ours |= {wire.MODEL: finish.model} if finish.model and not usage else {}
        return [*self._closed(), {**end, **usage, **({"metadata": {wire.OURS: ours}} if ours else {})}]

    @staticmethod
    def document(events: Sequence[Mapping[str, Any]]) -> tuple[int, _Event]:
        """The events of a run in one document; of a run that failed, its error."""
        last = dict(events[-1])
        return (500, last) if last["type"] == wire.RUN_ERROR else (200, {"events": [dict(event) for event in events]})

    @staticmethod
    def error(_status: int, message: str) -> _Event:
        """The event with which a run fails."""
        return {"type": wire.RUN_ERROR, "message": message}

    @classmethod
    def failed(cls, failure: ServedFailure) -> FailedReply:
        """A failure before the run, as the event that the run would have ended with: frontends show its message."""
        code = failure.code or failure.kind.value.replace(" ", "_")
        body = {"type": wire.RUN_ERROR, "message": failure.message, "code": code}
        return FailedReply(STATUSES[failure.kind], retry_headers(failure), body)


def _kind_of(part: TextPart | ThinkingPart) -> tuple[type, str | None]:
    return (ThinkingPart, part.id) if isinstance(part, ThinkingPart) else (TextPart, None)


def _content(kind: str, message_id: str, text: str) -> _Event:
    return {"type": f"{kind}_CONTENT", "messageId": message_id, "delta": text}
