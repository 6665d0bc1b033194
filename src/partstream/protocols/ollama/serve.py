"""Reads a request of Ollama's `/api/chat`, as its server does (docs/wires/ollama.md#requests).

What an answer depends on is read with care: the wrong type of it is refused with its place. A field that we do not know
is an option of the model, and goes on under its name; what a client wants of the server itself is counted in
:attr:`partstream.lm.outputs.Asked.unmapped` and fails no request.
"""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

from partstream.codec.json_codec import dumps
from partstream.conversation.media import MediaKind, read_media
from partstream.errors import AdapterUsageError, InvalidRequestError, UpstreamFailureError, UpstreamHTTPError
from partstream.lm.messages import ChatMessage, RequestOptions, Role, ToolMode
from partstream.lm.outputs import Finish, InboundRequest, Outcome, Repeated, Unmapped
from partstream.lm.parts import (
    DataPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolResultPart,
    UnifiedFinishReason,
    row_of_class,
)
from partstream.protocols.failures import (
    STATUSES,
    FailedReply,
    FailureKind,
    RefusedRequestError,
    ServedFailure,
    retry_headers,
)
from partstream.protocols.ollama.models import NUM_CTX
from partstream.protocols.ollama.read_response import DURATIONS, METADATA
from partstream.protocols.read_request import (
    AskedMessages,
    Counts,
    checked,
    described,
    messages_by_role,
    not_default,
    optional_text,
    read_bytes,
    read_function,
    required_text,
    tools_of_type,
)
from partstream.protocols.read_response import LifecycleState
from partstream.protocols.serve import RequestReaderSpec, ResponseWriterSpec, ServedDocument

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from partstream.errors import LanguageModelError
    from partstream.lm.messages import Tool
    from partstream.lm.outputs import Reply, StreamOutput
    from partstream.lm.parts import MessagePart, Usage
    from partstream.protocols.serve import ServedModel, WireRequest


# ---- asked messages ----
# Reads the messages of a request (docs/wires/ollama.md#requests).
#
# Neighbouring results of tools are one message of the user, as VS Code has them. Clients of old servers send calls
# and results without ids: a result belongs to the first open call of its tool then, else to the first open call.


def read_messages(value: object, counts: Counts) -> tuple[ChatMessage, ...]:
    """The conversation that the `messages` of a request hold; none for a request that loads a model.

    Raises:
        InvalidRequestError: A message has the wrong form.
    """
    if value is None:
        return ()
    reader = _Reader()
    for role, message, where in messages_by_role(value, _READERS):
        for name, field in message.items():
            if field and name not in _FIELDS:
                counts.add(f"messages[].{name}")
        _READERS[role](reader, message, where)
    return reader.messages.end()


class _Reader:
    """The messages of one request so far."""

    def __init__(self) -> None:
        self.messages = AskedMessages()
        self._open: list[ToolCallPart] = []
        self._calls = 0

    def _system(self, message: Mapping[str, Any], where: str) -> None:
        self._add(Role.SYSTEM, _content(message, where))

    def _user(self, message: Mapping[str, Any], where: str) -> None:
        self._add(Role.USER, _content(message, where))

    def _assistant(self, message: Mapping[str, Any], where: str) -> None:
        thought = optional_text(message, "thinking", where)
        listed = checked(message, "tool_calls", list, "a list of calls", where) or []
        calls = [self._call(call, f"{where}.tool_calls[{place}]") for place, call in enumerate(listed)]
        parts = (*([ThinkingPart(thought)] if thought else []), *_content(message, where), *calls)
        if parts:
            self._add(Role.ASSISTANT, parts)

    def _call(self, call: object, where: str) -> ToolCallPart:
        function = call.get("function") if isinstance(call, dict) else None
        if not isinstance(call, dict) or not isinstance(function, dict):
            raise InvalidRequestError(f"{where}.function", described(function), "an object with a name")
        self._calls += 1
        at = f"{where}.function"
        call_id = optional_text(call, "id", where) or f"call_{self._calls}"
        arguments = checked(function, "arguments", dict, "an object", at) or {}
        part = ToolCallPart(call_id, required_text(function, "name", at), arguments)
        self._open.append(part)
        return part

    def _tool(self, message: Mapping[str, Any], where: str) -> None:
        call_id = optional_text(message, "tool_call_id", where)
        name = optional_text(message, "tool_name", where) or optional_text(message, "name", where)
        meant = self._meant(call_id, name)
        if meant is not None:
            self._open.remove(meant)
            call_id = meant.call_id
        if not call_id:
            raise InvalidRequestError(where, f"a result of {name or 'a tool'!r}", "a call before it")
        self.messages.add_result(ToolResultPart(call_id, _content(message, where)))

    def _meant(self, call_id: str, name: str) -> ToolCallPart | None:
        """The open call that a result is of."""
        by_id = (one for one in self._open if one.call_id == call_id)
        if call_id:
            return next(by_id, None)
        return next((one for one in self._open if one.name == name), None) or next(iter(self._open), None)

    def _add(self, role: Role, parts: tuple[MessagePart, ...]) -> None:
        self.messages.add(ChatMessage(role, parts))


_READERS: Final[dict[str, Callable[[_Reader, Mapping[str, Any], str], None]]] = {
    "system": _Reader._system,
    "user": _Reader._user,
    "assistant": _Reader._assistant,
    "tool": _Reader._tool,
}

_FIELDS: Final = frozenset({"role", "content", "thinking", "images", "tool_calls", "tool_name", "tool_call_id", "name"})


def _content(message: Mapping[str, Any], where: str) -> tuple[TextPart | DataPart, ...]:
    """The text of a message, and the images beside it."""
    text = optional_text(message, "content", where)
    listed = checked(message, "images", list, "a list of images", where) or []
    images: list[DataPart] = []
    for place, image in enumerate(listed):
        at = f"{where}.images[{place}]"
        if not isinstance(image, str):
            raise InvalidRequestError(at, described(image), "base64")
        images.append(read_bytes(image, at))
    return (*([TextPart(text)] if text else []), *images)


# ---- asked tools ----
# Reads the tools of a request (docs/wires/ollama.md#requests).


def read_tools(value: object, counts: Counts) -> tuple[Tool, ...]:
    """The functions that the model may call; other tools are counted.

    Raises:
        InvalidRequestError: `tools` has the wrong form.
    """
    tools: dict[str, Tool] = {}
    for where, tool in tools_of_type(value, "function", counts):
        read = read_function(tool, where)
        if read.name in tools:
            counts.add("tools[].function (a name for the second time)")
        tools.setdefault(read.name, read)
    return tuple(tools.values())


# ---- read request ----

_NONE: Final = "none"


def _read(request: WireRequest) -> InboundRequest:
    """What a request asks.

    Raises:
        InvalidRequestError: A field that the answer depends on has the wrong type.
    """
    body = request.body
    counts = Counts()
    checked(body, "stream", bool, "true or false")
    tools = read_tools(body.get("tools"), counts)
    options: dict[str, Any] = dict(checked(body, "options", dict, "an object") or {})
    window = options.pop(NUM_CTX, None)
    effort, fields = read_think(body.get("think"))
    fields |= {name: value for name, value in body.items() if name not in _READ_FIELDS}
    chosen = {name: value for name, value in (options | fields).items() if value is not None}
    configuration = {"reasoningEffort": effort, "contextSize": window}
    return InboundRequest(
        model=optional_text(body, "model"),
        messages=read_messages(body.get("messages"), counts),
        options=RequestOptions(
            tools,
            ToolMode.AUTO,
            chosen,
            {name: value for name, value in configuration.items() if value is not None},
        ),
        stream=body.get("stream") is not False,
        unmapped={**not_default(body, _OF_THE_SERVER), **counts.numbers},
        body=body,
    )


def read_think(think: object) -> tuple[str | None, dict[str, Any]]:
    """The reasoning effort that a value of `think` says; what says that the model may think is an option."""
    if think is False:
        return _NONE, {}
    if isinstance(think, str) and think:
        return think, {}
    return None, {} if think is None else {"think": think}


_OF_THE_SERVER: Final[Mapping[str, Any]] = {"truncate": False, "shift": False, "keep_alive": None}
"""What a client wants of the server itself and not of a model, with the value that wants nothing."""

_READ_FIELDS: Final = frozenset({"model", "messages", "tools", "stream", "options", "think", *_OF_THE_SERVER})
"""Fields that are no options of the model; all others are, under the names that they have here."""


READ_REQUEST: Final = RequestReaderSpec(read=_read)


# ---- served documents ----
# The documents that a server of Ollama has beside its answers (docs/wires/ollama.md#models).

VERSION: Final = "0.15.0"
"""What clients may gate features on."""
_FAMILY: Final = "partstream"
_NOT_FOUND: Final = 404
_LONG_AGO: Final = "2026-01-01T00:00:00Z"


def _capabilities(model: ServedModel) -> list[str]:
    has = {"tools": model.tool_calling, "vision": model.image_input, "thinking": model.thinking}
    return ["completion", *(name for name, is_there in has.items() if is_there)]


def _details() -> dict[str, Any]:
    return {"parent_model": "", "format": "gguf", "family": _FAMILY, "families": [_FAMILY]} | {
        "parameter_size": "1B",
        "quantization_level": "Q4_K_M",
    }


def _entry(model: ServedModel) -> dict[str, Any]:
    digest = sha256(model.id.encode()).hexdigest()
    return {"name": model.id, "model": model.id, "size": 1, "digest": digest, "details": _details()}


def _tags(_request: WireRequest, models: Sequence[ServedModel], _tokens: int) -> tuple[int, dict[str, Any]]:
    listed = [_entry(one) | {"modified_at": _LONG_AGO, "capabilities": _capabilities(one)} for one in models]
    return 200, {"models": listed}


def _show(request: WireRequest, models: Sequence[ServedModel], _tokens: int) -> tuple[int, dict[str, Any]]:
    name = request.body.get("model") or request.body.get("name")
    if not name:
        raise RefusedRequestError("model is required")
    model = next((one for one in models if one.id == name), None)
    if model is None:
        raise RefusedRequestError(f"model '{name}' not found", status=_NOT_FOUND)
    window = model.max_input_tokens + model.max_output_tokens
    information = {"general.architecture": _FAMILY, f"{_FAMILY}.context_length": window}
    return 200, {
        "details": _details(),
        "model_info": information,
        "capabilities": _capabilities(model),
        "modified_at": _LONG_AGO,
    }


def _running(_request: WireRequest, _models: Sequence[ServedModel], _tokens: int) -> tuple[int, dict[str, Any]]:
    """No model is loaded: each answers without being loaded."""
    return 200, {"models": []}


def _version(_request: WireRequest, _models: Sequence[ServedModel], _tokens: int) -> tuple[int, dict[str, Any]]:
    return 200, {"version": VERSION}


DOCUMENTS: Final = (
    ServedDocument("GET", "/tags", _tags),
    ServedDocument("POST", "/show", _show),
    ServedDocument("GET", "/ps", _running),
    ServedDocument("GET", "/version", _version),
)


# ---- timestamps ----
# Writes a moment as RFC 3339 demands, without a clock.

_DAY: Final = 86_400
_DAYS_OF_ERA: Final = 146_097
"""Days of 400 years, after which the calendar repeats itself."""
_DAYS_BEFORE_1970: Final = 719_468
"""From 1 March of the year 0."""


def rfc3339(seconds: int) -> str:
    """The moment in UTC, such as `2026-08-21T20:22:19Z`.

    Args:
        seconds: Seconds since 1970, at least 0.
    """
    days, rest = divmod(seconds, _DAY)
    era, day_of_era = divmod(days + _DAYS_BEFORE_1970, _DAYS_OF_ERA)
    year_of_era = (day_of_era - day_of_era // 1460 + day_of_era // 36524 - day_of_era // 146096) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    month_from_march = (5 * day_of_year + 2) // 153
    day = day_of_year - (153 * month_from_march + 2) // 5 + 1
    month = month_from_march + 3 if month_from_march < 10 else month_from_march - 9
    year = era * 400 + year_of_era + (month <= 2)
    hours, minutes = divmod(rest // 60, 60)
    return f"{year:04}-{month:02}-{day:02}T{hours:02}:{minutes:02}:{rest % 60:02}Z"


# ---- write response ----
# Writes an answer as lines of Ollama, part by part, or as one document (docs/wires/ollama.md).
#
# A call is whole in one line; the last line says why the model stopped and how many tokens there were. An error is a
# line of its own, and nothing follows it.

NO_REASON: Final = "it gave no reason"
_STOP: Final = "stop"
_LENGTH: Final = "length"
_INTERNAL: Final = 500
_LISTS: Final = ("images", "tool_calls")
_TEXTS: Final = ("content", "thinking")


class OllamaWriter:
    """One answer of Ollama; see :class:`partstream.lm.outputs.ResponseWriter`."""

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
        """See :class:`partstream.lm.outputs.FastPathWriter`."""
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
