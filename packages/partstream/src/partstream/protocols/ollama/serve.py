"""The server's side of Ollama: reads requests of `/api/chat`, writes responses, and answers for its models.

**Requests** (docs/wires/ollama.md#requests). A field that the response depends on is checked, and a wrong type is
refused with its place. An unknown field is an option of the model and passes under its name; a field for the server
itself is counted in :attr:`partstream.lm.outputs.InboundRequest.unmapped` and fails no request. Neighbouring tool
results become one message of the user. Clients of old servers send calls and results without ids: such a result belongs
to the first open call of its tool, else to the first open call.

**Responses** (docs/wires/ollama.md). Each part is a line; a call is whole in one line. The last line has the finish
reason and the tokens. An error is a line of its own, and nothing follows it.
"""

from __future__ import annotations
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from typing import Any, Final

from partstream.codec.checks import places
from partstream.codec.json_codec import dumps
from partstream.conversation.media import MediaKind, read_media
from partstream.errors import InvalidRequestError
from partstream.lm.messages import ChatMessage, RequestOptions, Role, ToolMode
from partstream.lm.outputs import Finish, InboundRequest, Outcome, Repeated, Reply
from partstream.lm.parts import DataPart, TextPart, ThinkingPart, ToolCallPart, ToolResultPart, UnifiedFinishReason
from partstream.protocols import failures, read_request, serve
from partstream.protocols.ollama.models import NUM_CTX
from partstream.protocols.ollama.read_response import COUNTS, DURATIONS, METADATA

# ---- Requests ----


class OllamaRequestReader(serve.RequestReader):
    """Reads requests of `/api/chat`; see :class:`partstream.protocols.serve.RequestReader`."""

    forwarding = serve.ForwardingRules(
        output_limits=(("options", "num_predict"),), new_limit=("options", "num_predict")
    )

    def read(self, request: serve.WireRequest) -> InboundRequest:  # noqa: D102
        body = request.body
        counts = read_request.Counts()
        read_request.checked(body, "stream", bool, "true or false")
        asked = read_request.AskedTools(counts)
        asked.read(body.get("tools"), within="function")
        options: dict[str, Any] = dict(read_request.checked(body, "options", dict, "an object") or {})
        window = options.pop(NUM_CTX, None)
        read_request.count_unread(body, _READ, counts)
        think = body.get("think")
        effort = "none" if think is False else think if isinstance(think, str) and think else None
        fields = {name: value for name, value in body.items() if name not in _READ_FIELDS}
        chosen = {name: value for name, value in (options | fields).items() if value is not None}
        configuration = {"reasoningEffort": effort, "contextSize": window}
        return InboundRequest(
            model=read_request.optional_text(body, "model"),
            messages=read_messages(body.get("messages"), counts),
            options=RequestOptions(
                *asked.kept(ToolMode.AUTO),
                chosen,
                {name: value for name, value in configuration.items() if value is not None},
            ),
            stream=body.get("stream") is not False,
            unmapped={**read_request.not_default(body, _OF_THE_SERVER), **counts.numbers},
            body=body,
            asks_to_think=None if think is None else think is not False,
        )


READ_REQUEST: Final = OllamaRequestReader()

_OF_THE_SERVER: Final[Mapping[str, Any]] = {"truncate": False, "shift": False, "keep_alive": None}
"""Fields for the server itself and not for a model, each with the value that demands nothing."""

_READ_FIELDS: Final = frozenset({"model", "messages", "tools", "stream", "options", "think", *_OF_THE_SERVER})
"""Fields that are no options of the model; all others are, under their own names."""

_READ: Final = places(
    {
        "messages[]": "role content images",
        "messages[tool]": "role content images tool_name tool_call_id name",
        "messages[assistant]": "role content images thinking tool_calls",
        "messages[].tool_calls[|function]": "id type function",
        "messages[].tool_calls[].function": "index name arguments",
        "tools[|function]": "type function",
        "tools[].function": "name description parameters strict",
    }
)


def read_messages(value: object, counts: read_request.Counts) -> tuple[ChatMessage, ...]:
    """The conversation of a request; empty for a request that loads a model.

    Raises:
        InvalidRequestError: A message has the wrong form.
    """
    if value is None:
        return ()
    reader = _Reader()
    for role, message, where in read_request.messages_by_role(value, _READERS):
        _READERS[role](reader, message, where)
    return reader.messages.end()


class _Reader:
    """The messages of one request so far."""

    def __init__(self) -> None:
        self.messages = read_request.AskedMessages()
        self._open: list[ToolCallPart] = []
        self._calls = 0

    def _say(self, message: Mapping[str, Any], where: str) -> None:
        self.messages.add(ChatMessage(_ROLES[message["role"]], _content(message, where)))

    def _assistant(self, message: Mapping[str, Any], where: str) -> None:
        thought = read_request.optional_text(message, "thinking", where)
        listed = read_request.checked(message, "tool_calls", list, "a list of calls", where) or []
        calls = [self._call(call, f"{where}.tool_calls[{place}]") for place, call in enumerate(listed)]
        parts = (*([ThinkingPart(thought)] if thought else []), *_content(message, where), *calls)
        if parts:
            self.messages.add(ChatMessage(Role.ASSISTANT, parts))

    def _call(self, call: object, where: str) -> ToolCallPart:
        function = call.get("function") if isinstance(call, dict) else None
        if not isinstance(call, dict) or not isinstance(function, dict):
            raise InvalidRequestError(f"{where}.function", read_request.described(function), "an object with a name")
        self._calls += 1
        at = f"{where}.function"
        call_id = read_request.optional_text(call, "id", where) or f"call_{self._calls}"
        arguments = read_request.checked(function, "arguments", dict, "an object", at) or {}
        part = ToolCallPart(call_id, read_request.required_text(function, "name", at), arguments)
        self._open.append(part)
        return part

    def _tool(self, message: Mapping[str, Any], where: str) -> None:
        call_id, name, older_name = (
            read_request.optional_text(message, field, where) for field in ("tool_call_id", "tool_name", "name")
        )
        name = name or older_name
        if call_id:
            meant = next((one for one in self._open if one.call_id == call_id), None)
        else:
            meant = next((one for one in self._open if one.name == name), next(iter(self._open), None))
        if meant is not None:
            self._open.remove(meant)
            call_id = meant.call_id
        if not call_id:
            raise InvalidRequestError(where, f"a result of {name or 'a tool'!r}", "a call before it")
        self.messages.add_result(ToolResultPart(call_id, _content(message, where)))


_ROLES: Final = {"system": Role.SYSTEM, "user": Role.USER}
_READERS: Final[dict[str, Callable[[_Reader, Mapping[str, Any], str], None]]] = {
    "system": _Reader._say,
    "user": _Reader._say,
    "assistant": _Reader._assistant,
    "tool": _Reader._tool,
}


def _content(message: Mapping[str, Any], where: str) -> tuple[TextPart | DataPart, ...]:
    """The text of a message, and the images beside it."""
    text = read_request.optional_text(message, "content", where)
    listed = read_request.checked(message, "images", list, "a list of images", where) or []
    images: list[DataPart] = []
    for place, image in enumerate(listed):
        at = f"{where}.images[{place}]"
        if not isinstance(image, str):
            raise InvalidRequestError(at, read_request.described(image), "base64")
        images.append(read_request.read_bytes(image, at))
    return (*([TextPart(text)] if text else []), *images)


# ---- Documents about models (docs/wires/ollama.md#models) ----

VERSION: Final = "0.15.0"
"""The version on which clients may gate features."""
_FAMILY: Final = "partstream"
_LONG_AGO: Final = "2026-01-01T00:00:00Z"
_DETAILS: Final[dict[str, Any]] = {
    "parent_model": "",
    "format": "gguf",
    "family": _FAMILY,
    "families": [_FAMILY],
    "parameter_size": "1B",
    "quantization_level": "Q4_K_M",
}


def _capabilities(model: serve.ServedModel) -> list[str]:
    has = {"tools": model.tool_calling, "vision": model.image_input, "thinking": model.thinking}
    return ["completion", *(name for name, is_there in has.items() if is_there)]


def _tags(_request: serve.WireRequest, models: Sequence[serve.ServedModel], _tokens: int) -> tuple[int, dict[str, Any]]:
    listed = [
        {
            "name": model.id,
            "model": model.id,
            "size": 1,
            "digest": sha256(model.id.encode()).hexdigest(),
            "details": _DETAILS,
            "modified_at": _LONG_AGO,
            "capabilities": _capabilities(model),
        }
        for model in models
    ]
    return 200, {"models": listed}


def _show(request: serve.WireRequest, models: Sequence[serve.ServedModel], _tokens: int) -> tuple[int, dict[str, Any]]:
    name = request.body.get("model") or request.body.get("name")
    if not name:
        raise failures.RefusedRequestError("model is required")
    model = next((one for one in models if one.id == name), None)
    if model is None:
        raise failures.RefusedRequestError(f"model '{name}' not found", status=404)
    window = model.max_input_tokens + model.max_output_tokens
    information = {"general.architecture": _FAMILY, f"{_FAMILY}.context_length": window}
    return 200, {
        "details": _DETAILS,
        "model_info": information,
        "capabilities": _capabilities(model),
        "modified_at": _LONG_AGO,
    }


# ---- Responses ----


class OllamaWriter(serve.ResponseWriter):
    """One response of Ollama; see :class:`partstream.protocols.serve.ResponseWriter`."""

    content_type = "application/x-ndjson"
    adopts_the_first = True
    drops_thinking_state = True
    # A server remembers the state of thinking.
    says = frozenset({"image", "logprobs", "logprobs.bytes", "usage.half", *DURATIONS, "thinking.state"})
    says |= {"usage.input_tokens", "usage.output_tokens"}
    documents = (
        serve.ServedDocument("GET", "/tags", _tags),
        serve.ServedDocument("POST", "/show", _show),
        serve.ServedDocument(
            "GET", "/ps", lambda _request, _models, _tokens: (200, {"models": []})
        ),  # none needs loading
        serve.ServedDocument("GET", "/version", lambda _request, _models, _tokens: (200, {"version": VERSION})),
    )

    def __init__(self, asked: InboundRequest, reply: Reply) -> None:
        super().__init__(asked, reply)
        self._head = {"model": asked.model, "created_at": serve.rfc3339(reply.created_at)}
        self._calls = 0

    @staticmethod
    def frame(event: Mapping[str, Any]) -> bytes:  # noqa: D102
        return dumps(event) + b"\n"

    @staticmethod
    def error(_status: int, message: str) -> dict[str, Any]:
        """The JSON object of an HTTP error: clients know only the status and one sentence."""
        return {"error": message}

    @classmethod
    def failed(cls, failure: failures.ServedFailure) -> failures.FailedReply:
        """A failure as an HTTP reply (docs/wires/ollama.md#errors)."""
        status = 402 if failure.kind is failures.FailureKind.SPENT_BUDGET else failures.STATUSES[failure.kind]
        return failures.FailedReply(status, failures.retry_headers(failure), cls.error(status, failure.message))

    @staticmethod
    def document(events: Sequence[Mapping[str, Any]]) -> tuple[int, dict[str, Any]]:
        """The lines of a whole response as one: HTTP status and JSON."""
        last = dict(events[-1])
        if "error" in last:
            return 500, last
        messages = [event["message"] for event in events]
        message: dict[str, Any] = {"role": "assistant"}
        for name in ("content", "thinking"):
            message[name] = "".join(one.get(name, "") for one in messages)
        for name in ("images", "tool_calls"):
            message[name] = [entry for one in messages for entry in one.get(name, ())]
        kept = {name: value for name, value in message.items() if value or name == "content"}
        return 200, last | {"message": kept}

    def repeated(self, part: TextPart | ThinkingPart) -> Repeated | None:  # noqa: D102
        if isinstance(part, ThinkingPart) and self._asked.asks_to_think is False:
            return None
        field = "thinking" if isinstance(part, ThinkingPart) else "content"
        return Repeated(lambda text, _number: self._line({field: text}))

    def _line(self, message: Mapping[str, Any], **beside: Any) -> dict[str, Any]:
        said = {"role": "assistant", "content": "", **message}
        return {**self._head, "message": said, "done": False, **beside}

    def _text(self, part: TextPart) -> list[dict[str, Any]]:
        return [self._line({"content": part.value})] if part.value else []

    def _thinking(self, part: ThinkingPart) -> list[dict[str, Any]]:
        is_shown = part.value and self._asked.asks_to_think is not False
        return [self._line({"thinking": part.value})] if is_shown else []

    def _call(self, part: ToolCallPart) -> list[dict[str, Any]]:
        function = {"index": self._calls, "name": part.name, "arguments": dict(part.input)}
        self._calls += 1
        return [self._line({"tool_calls": [{"id": part.call_id, "function": function}]})]

    def _data(self, part: DataPart) -> list[dict[str, Any]]:
        """Writes a picture; other data has no place."""
        return [self._line({"images": [b64encode(part.data).decode()]})] if is_picture(part) else []

    def _finish(self, finish: Finish) -> list[dict[str, Any]]:
        if finish.outcome in {Outcome.FAILED, Outcome.TRUNCATED}:
            return [{"error": failures.sentence_of(finish.error)}]
        facts = finish.provider_metadata.get(METADATA, {})
        times = {name: facts[name] for name in DURATIONS if name in facts} if isinstance(facts, dict) else {}
        tokens = () if finish.usage is None else (finish.usage.input_tokens, finish.usage.output_tokens)
        counts = {name: count for name, count in zip(COUNTS, tokens, strict=False) if count is not None}
        # There are two finish reasons (docs/wires/ollama.md#ends).
        is_long = finish.reason is not None and finish.reason.unified is UnifiedFinishReason.LENGTH
        word = "length" if is_long or finish.outcome is Outcome.INCOMPLETE else "stop"
        beside = {"logprobs": [*finish.logprobs]} if finish.logprobs else {}
        return [self._line({}, done=True, done_reason=word, **times, **counts, **beside)]


def is_picture(part: DataPart) -> bool:
    """Whether a data part holds the bytes of a picture."""
    media = read_media(part)
    return media.kind is MediaKind.IMAGE and not media.url and bool(part.data)
