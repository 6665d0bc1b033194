"""Serves Gemini: reads requests of `generateContent` as its server does, and writes responses as chunks or a document.

Reading. The path names the model, and says whether to stream. What an answer depends on is read with care: the wrong
type of it is refused with its place. Fields have two names, `systemInstruction` and `system_instruction`, as the JSON
form of Protocol Buffers says. Fields of the generation are options of the model and go on under their names; tools of
the server itself and parts of an unknown kind are counted in
:attr:`partstream.lm.outputs.InboundRequest.unmapped`. What a signature carries goes where
:mod:`partstream.conversation.provider_state` looks for it, with its place.

Writing. A call is one part with its id; the first call of an answer of a model that signs calls has a signature.
Sources are in the grounding of the last chunk, which says why the model stopped.
"""

from __future__ import annotations
import re
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qs

from partstream.codec.checks import places, replace
from partstream.codec.json_codec import dumps
from partstream.conversation.citations import SaidBytes, read_citation
from partstream.conversation.media import address_part, is_address
from partstream.conversation.provider_state import ITEMS, PLACE, AnswerPlace
from partstream.conversation.tool_forms import FUNCTION, hosted_kind
from partstream.errors import InvalidRequestError, UnsupportedParameterError
from partstream.lm.messages import ChatMessage, Tool, ToolMode
from partstream.lm.outputs import SERVICE_TIER, Facts, Finish, InboundRequest, Outcome, Repeated, Reply
from partstream.lm.parts import (
    DataPart,
    MessagePart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolResultPart,
    UnifiedFinishReason,
    is_mark,
)
from partstream.protocols import read_request, serve
from partstream.protocols.failures import RefusedRequestError
from partstream.protocols.gemini import PATHS, STREAM, errors, models
from partstream.protocols.gemini import provider_state as state
from partstream.protocols.gemini.provider_state import SIGNATURE, usable_signature
from partstream.protocols.gemini.read_response import FILTERS
from partstream.protocols.options import NO_EFFORT, effort_of
from partstream.protocols.read_request import (
    DOCUMENT,
    AskedTools,
    Counts,
    attached,
    checked,
    described,
    optional_text,
    read_bytes,
    required_text,
)
from partstream.protocols.schemas import of_google
from partstream.protocols.serve import MODEL, RequestReader, ResponseWriter, ServedDocument, StreamForm, path_for_model

if TYPE_CHECKING:
    from partstream.lm.parts import FinishReason, Usage
    from partstream.protocols.serve import ServedModel, WireEvent, WireRequest

# ---- Fields ----


def camel_case(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of an object under the names in camel case."""
    return {models.camel_case(name): value for name, value in fields.items()}


def object_of(fields: Mapping[str, Any], name: str, where: str = "") -> dict[str, Any]:
    """The object in a field, its own fields in camel case; empty if it is missing."""
    return camel_case(checked(fields, name, dict, "an object", where) or {})


def list_of(fields: Mapping[str, Any], name: str, where: str = "") -> list[dict[str, Any]]:
    """The objects in a list, their own fields in camel case; empty if it is missing. One object counts as a list."""
    if isinstance(fields.get(name), dict):
        return [camel_case(fields[name])]
    value = checked(fields, name, list, "a list", where) or ()
    for place, one in enumerate(value):
        if not isinstance(one, dict):
            at = f"{name}[{place}]"
            raise InvalidRequestError(f"{where}.{at}" if where else at, described(one), "an object")
    return [camel_case(one) for one in value]


# ---- Requests ----

ARRAY: Final = "array"
"""The :attr:`InboundRequest.dialect` of a client that wants a stream and no events: it gets an array."""

_READ: Final = frozenset({"contents", "systemInstruction", "tools", "toolConfig", "generationConfig", "model", "store"})
"""The fields of a body that are no options; `store` is for the server itself."""


class GeminiRequestReader(RequestReader):
    """Reads requests of `generateContent` and `streamGenerateContent`."""

    forwarding = serve.ForwardingRules(
        query=frozenset({"alt"}),
        output_limits=tuple(
            (outer, inner)
            for outer in ("generationConfig", "generation_config")
            for inner in ("maxOutputTokens", "max_output_tokens")
        ),
        new_limit=("generationConfig", "maxOutputTokens"),
        model_prefix="models/",
        answers=("generationConfig", "candidateCount"),
    )

    def read(self, request: WireRequest) -> InboundRequest:  # noqa: D102
        body = camel_case(request.body)
        counts = Counts()
        messages = (*_read_system(body, counts), *_read_contents(body, counts))
        tools = AskedTools(counts)
        chosen = _read_tools(body, tools)
        read_request.count_unread(body, _FIELDS, counts, camel_case)
        effort, options = _read_generation(body)
        named = (serve.model_in_path(pattern, request.path) for pattern in PATHS)
        is_stream = request.path.endswith(f":{STREAM}")
        is_events = parse_qs(request.query).get("alt") == ["sse"]
        return tools.asked(
            *(body, messages, chosen, options, effort, _READ, {"store": False}),
            model=next(filter(None, named), "").removeprefix("models/"),
            stream=is_stream,
            dialect=ARRAY if is_stream and not is_events else "",
            asks_to_think=_shows_thoughts(body) or effort not in {None, NO_EFFORT},
        )


READ_REQUEST: Final = GeminiRequestReader()

_OF_FILES: Final = "videoMetadata mediaResolution"
"""What a part says about its file."""
_OF_PARTS: Final = {
    "": "text thought thoughtSignature functionCall functionResponse inlineData fileData"
    f" executableCode codeExecutionResult toolCall toolResponse {_OF_FILES}",
    ".functionCall": "id name args",
    ".functionResponse": "id name response parts",
    ".functionResponse.parts[]": "inlineData fileData",
    **{f"{of}.inlineData": "data mimeType displayName" for of in ("", ".functionResponse.parts[]")},
    **{f"{of}.fileData": "fileUri mimeType displayName" for of in ("", ".functionResponse.parts[]")},
}
_FIELDS: Final = places(
    {
        "contents[]": "role parts",
        **{f"contents[].parts[]{place}": read for place, read in _OF_PARTS.items()},
        "systemInstruction": "role parts",
        "tools[]": "functionDeclarations googleSearch googleSearchRetrieval codeExecution urlContext",
        "tools[].functionDeclarations[]": "name description parameters parametersJsonSchema",
        "toolConfig": "functionCallingConfig",
        "toolConfig.functionCallingConfig": "mode allowedFunctionNames",
    }
)


def _read_generation(body: Mapping[str, Any]) -> tuple[str | None, dict[str, Any]]:
    """The reasoning effort, and the other fields of `generationConfig`."""
    where = "generationConfig"
    config = {name: value for name, value in object_of(body, where).items() if value is not None}
    if (count := config.pop("candidateCount", 1)) != 1:
        raise UnsupportedParameterError(f"{where}.candidateCount", f"{count!r:.60}", "1")
    thinking = object_of(config, "thinkingConfig", where)
    effort = optional_text(thinking, "thinkingLevel", f"{where}.thinkingConfig").lower()
    kept = {name: value for name, value in thinking.items() if name not in {"thinkingLevel", "includeThoughts"}}
    if not effort and type(budget := kept.get("thinkingBudget")) is int:
        effort = effort_of(budget)
    config.pop("thinkingConfig", None)
    return effort or None, config | ({"thinkingConfig": kept} if kept else {})


def _shows_thoughts(body: Mapping[str, Any]) -> bool:
    """Whether a client wants to see the thoughts of the model (docs/wires/gemini.md#thinking-config)."""
    where = "generationConfig"
    return object_of(object_of(body, where), "thinkingConfig", where).get("includeThoughts") is True


# ---- Contents (docs/wires/gemini.md#contents) ----

_MODEL: Final = "model"
_ROLES: Final = ("", "user", "function", _MODEL)
"""The user is the default; `function` is the older role of results."""


def _read_contents(body: Mapping[str, Any], counts: Counts) -> list[ChatMessage]:
    """The conversation that the `contents` of a request hold."""
    calls = OpenCalls()
    messages = []
    if "contents" not in body:
        raise RefusedRequestError("* GenerateContentRequest.contents: contents is not specified", "contents")
    for place, content in enumerate(list_of(body, "contents")):
        where = f"contents[{place}]"
        role = optional_text(content, "role", where)
        if role not in _ROLES:
            raise InvalidRequestError(f"{where}.role", described(role), "user or model")
        reader = _ContentReader(calls, counts)
        for number, part in enumerate(list_of(content, "parts", where)):
            reader.read(part, f"{where}.parts[{number}]")
        message = reader.message(is_model=role == _MODEL)
        messages += [message] if message.content else []
    return messages


def _read_system(body: Mapping[str, Any], counts: Counts) -> tuple[ChatMessage, ...]:
    """The message that the `systemInstruction` of a request holds, if there is one."""
    parts = list_of(object_of(body, "systemInstruction"), "parts", "systemInstruction")
    texts = [optional_text(part, "text", f"systemInstruction.parts[{place}]") for place, part in enumerate(parts)]
    for part in parts:
        for name in part.keys() - {"text"}:
            counts.add(f"systemInstruction.parts[].{name}")
    said = [TextPart(text) for text in texts if text]
    return (ChatMessage.system(said),) if said else ()


class OpenCalls:
    """The calls of a conversation that wait for their responses."""

    def __init__(self) -> None:
        self._opened = 0
        self._waiting: list[tuple[str, str]] = []  # id and name

    def open(self, call_id: str, name: str) -> str:
        """The id of the next call: its own, or one of ours."""
        self._opened += 1
        call_id = call_id or f"call_{self._opened}"
        self._waiting.append((call_id, name))
        return call_id

    def close(self, call_id: str, name: str) -> str:
        """The id of the call that a response answers, else of the first of its name (docs/wires/gemini.md#call-ids)."""
        for one in self._waiting:
            if one[0] == call_id or (not call_id and one[1] == name):
                self._waiting.remove(one)
                return one[0]
        self._opened += 1
        return call_id or f"call_{self._opened}"


class ReadState:
    """The state that the parts of one message bring back: items of a type, and what else was sealed beside items."""

    def __init__(self, item_type: str) -> None:
        self.place = AnswerPlace()
        self._type = item_type
        self._items: list[Mapping[str, Any]] = []
        self._beside: Mapping[str, Any] = {}

    def carry(self, item: Mapping[str, Any]) -> None:
        """Takes an item of this wire, at its place."""
        self._items.append({"type": self._type, **item, PLACE: self.place.value})

    def unseal(self, signature: str) -> bool:
        """Takes what a signature carries that this server made; says whether it is one."""
        sealed = state.read_sealed(signature)
        if sealed is not None:
            self._items += [] if sealed.item is None else [sealed.item]
            self._beside = {**self._beside, **sealed.beside}
        return sealed is not None or state.is_made_up(signature)

    @property
    def parts(self) -> list[MessagePart]:
        """The part with all of it; none where nothing came."""
        if not self._items and not self._beside:
            return []
        return [ThinkingPart("", None, {**self._beside, ITEMS: list(self._items)})]


class _ContentReader:
    """Reads the parts of one content."""

    def __init__(self, calls: OpenCalls, counts: Counts) -> None:
        self._calls = calls
        self._counts = counts
        self._parts: list[MessagePart] = []
        self._state = ReadState(state.ITEM_TYPE)

    def read(self, part: Mapping[str, Any], where: str) -> None:
        for name in () if part.keys() & {"inlineData", "fileData"} else part.keys() & {*_OF_FILES.split()}:
            self._counts.add(f"contents[].parts[].{name}")
        reader = next((reader for name, reader in _READERS.items() if name in part), None)
        if reader is not None:
            reader(self, part, where)
            return
        self._sign_text(part, 0)

    def message(self, *, is_model: bool) -> ChatMessage:
        """The message with all parts, the state before them."""
        parts = [*self._state.parts, *self._parts]
        return ChatMessage.assistant(parts) if is_model else ChatMessage.user(parts)

    def _text(self, part: Mapping[str, Any], where: str) -> None:
        value = optional_text(part, "text", where)
        if part.get("thought") is True:
            self._parts += [ThinkingPart(value)] if value else []
            if usable_signature(part.get(SIGNATURE)) is not None:
                self._state.carry({state.PART: dict(part)})
            return
        if value:
            self._parts.append(TextPart(value))
            self._state.place.add_text(value)
        self._sign_text(part, len(value))

    def _sign_text(self, part: Mapping[str, Any], length: int) -> None:
        """Takes the signature of a text, in which something may be sealed."""
        signature = usable_signature(part.get(SIGNATURE))
        if signature is not None and not self._state.unseal(signature):
            self._state.carry({state.TEXT_LENGTH: length, SIGNATURE: signature})

    def _call(self, part: Mapping[str, Any], where: str) -> None:
        call = object_of(part, "functionCall", where)
        at = f"{where}.functionCall"
        given, name = optional_text(call, "id", at), required_text(call, "name", at)
        call_id = self._calls.open(given, name)
        signature = usable_signature(part.get(SIGNATURE))
        if signature is not None and not state.is_made_up(signature):
            self._state.carry({state.TOOL_CALL_ID: call_id, state.GIVEN: bool(given), SIGNATURE: signature})
        arguments = checked(call, "args", dict, "an object", at) or {}
        self._parts.append(ToolCallPart(call_id, name, arguments))
        self._state.place.add_call()

    def _response(self, part: Mapping[str, Any], where: str) -> None:
        response = object_of(part, "functionResponse", where)
        at = f"{where}.functionResponse"
        name = required_text(response, "name", at)
        call_id = self._calls.close(optional_text(response, "id", at), name)
        said = checked(response, "response", dict, "an object", at) or {}
        is_error = "error" in said and not said.keys() - {"error"}
        content: list[TextPart | DataPart] = [TextPart(text)] if (text := _words(said, name)) else []
        for number, inner in enumerate(list_of(response, "parts", at)):
            content.append(_blob(inner, f"{at}.parts[{number}]"))
        self._parts.append(ToolResultPart(call_id, content, is_error))

    def _file(self, part: Mapping[str, Any], where: str) -> None:
        self._parts.append(_blob(part, where))

    def _ran(self, part: Mapping[str, Any], _where: str) -> None:
        """What the server ran goes back to it as it came."""
        self._state.carry({state.PART: dict(part)})


_READERS: Final[Mapping[str, Callable[[_ContentReader, Mapping[str, Any], str], None]]] = {
    "functionCall": _ContentReader._call,
    "functionResponse": _ContentReader._response,
    "inlineData": _ContentReader._file,
    "fileData": _ContentReader._file,
    **dict.fromkeys(("executableCode", "codeExecutionResult", "toolCall", "toolResponse"), _ContentReader._ran),
    "text": _ContentReader._text,
}

_KEYS: Final = ("output", "error", "result", "return_value")
"""The documented keys of the output of a tool and of its failure, the key of the official Python client, and that of
pydantic-ai 2.66."""


def _words(response: Mapping[str, Any], name: str) -> str:
    """The text of a response: that of a known key without others, else the JSON of the whole object.

    The AI SDK names the function once more and puts the output beside it, under `content` (`@ai-sdk/google` 4.0.121).
    """
    if response.keys() == {"name", "content"} and response["name"] == name:
        response = {"output": response["content"]}
    key = next(iter(response)) if len(response) == 1 else ""
    if key in _KEYS and isinstance(response[key], str):
        return str(response[key])
    return dumps(response.get(key, response) if key in _KEYS else response).decode() if response else ""


def _blob(part: Mapping[str, Any], where: str) -> DataPart:
    """The bytes or the address of a file."""
    name = "fileData" if "fileData" in part else "inlineData"
    file, at = object_of(part, name, where), f"{where}.{name}"
    media_type = optional_text(file, "mimeType", at)
    if name == "fileData":
        address = optional_text(file, "fileUri", at)
        read = address_part(address, media_type or ("video/*" if _VIDEO.search(address) else DOCUMENT))
    else:
        read = read_blob(optional_text(file, "data", at), f"{at}.data", media_type)
    return attached(read, {**part, **file}, f"displayName {_OF_FILES}", where)


_VIDEO: Final = re.compile(r"https?://(?:[\w-]+\.)?(?:youtube\.com|youtu\.be)/", re.IGNORECASE)
"""Addresses that need no type (docs/wires/gemini.md#contents)."""


def read_blob(said: str, where: str, media_type: str) -> DataPart:
    """The file in a text of base64, in either alphabet."""
    return read_bytes(said.replace("-", "+").replace("_", "/"), where, media_type)


# ---- Tools (docs/wires/gemini.md#tools-and-schemas) ----

_DECLARED: Final = "functionDeclarations"
_MODES: Final = {
    **dict.fromkeys(("", "mode_unspecified", "auto", "validated"), ToolMode.AUTO),
    "any": ToolMode.REQUIRED,
}


def _read_tools(body: Mapping[str, Any], tools: AskedTools) -> tuple[tuple[Tool, ...], ToolMode]:
    """Takes all tools; returns the functions that the model may call, and whether it must call one."""
    for place, tool in enumerate(list_of(body, "tools")):
        for name in filter(hosted_kind, tool):
            tools.host(name, tool[name] if isinstance(tool[name], dict) else {}, f"tools[].{name}")
        where = f"tools[{place}]"
        for number, declared in enumerate(list_of(tool, _DECLARED, where)):
            at = f"{where}.{_DECLARED}[{number}]"
            schema = checked(declared, "parametersJsonSchema", dict, "a JSON schema", at)
            if schema is None and (subset := checked(declared, "parameters", dict, "a schema", at)) is not None:
                schema = of_google(subset)
            tools.add(FUNCTION, declared, at, schema)
    calling = "toolConfig.functionCallingConfig"
    config = object_of(body, "toolConfig")
    chosen = object_of(config, "functionCallingConfig", "toolConfig")
    mode = optional_text(chosen, "mode", calling)
    return chosen_tools(tools, mode, chosen.get("allowedFunctionNames"), f"{calling}.mode")


def chosen_tools(tools: AskedTools, mode: str, allowed: Any, where: str) -> tuple[tuple[Tool, ...], ToolMode]:
    """The tools that a word at a place in the request chooses, and whether the model must call one; of `allowed`, no
    names allow all."""
    if mode.lower() == "none":
        return tools.kept(None)
    if mode.lower() not in _MODES:
        raise InvalidRequestError(where, described(mode), "auto, any, validated or none")
    if allowed is not None and not isinstance(allowed, list):
        raise InvalidRequestError(where, described(allowed), "a list of names beside the mode")
    names = {name for own in allowed or () for name in tools.called(str(own), where)}
    return tools.kept(_MODES[mode.lower()], names or None, "toolConfig.functionCallingConfig.mode")


# ---- Documents (docs/wires/gemini.md#models-and-counting) ----

_ONE: Final = f"/models/{MODEL}"
_COUNT: Final = f"{_ONE}:countTokens"
_PAGE: Final = 50
_MOST: Final = 1000


def _list(request: WireRequest, listed: Sequence[ServedModel], _tokens: int) -> tuple[int, WireEvent]:
    """One page of the models; a page without a size has fifty."""
    query = {name: values[-1] for name, values in parse_qs(request.query).items()}
    size, token = query.get("pageSize", str(_PAGE)), query.get("pageToken", "0")
    if not size.isdecimal() or not token.isdecimal():
        raise RefusedRequestError("Request contains an invalid argument.")
    start, count = int(token), min(int(size) or _PAGE, _MOST)
    end = start + count
    next_page = {"nextPageToken": str(end)} if end < len(listed) else {}
    return 200, {"models": [_entry(model) for model in listed[start:end]], **next_page}


def _one(request: WireRequest, listed: Sequence[ServedModel], _tokens: int) -> tuple[int, WireEvent]:
    model_id = serve.model_in_path(_ONE, request.path)
    for model in listed:
        if model.id == model_id:
            return 200, _entry(model)
    raise RefusedRequestError(
        f"models/{model_id} is not found for API version v1beta, or is not supported for generateContent. Call "
        "ListModels to see the list of available models and their supported methods.",
        status=404,
    )


def _entry(model: ServedModel) -> WireEvent:
    return {
        "name": f"models/{model.id}",
        "baseModelId": model.id,
        "version": "001",
        "displayName": model.name,
        "inputTokenLimit": model.max_input_tokens,
        "outputTokenLimit": model.max_output_tokens,
        "supportedGenerationMethods": ["generateContent", STREAM, "countTokens"],
        "thinking": model.thinking,
    }


def _counted(request: WireRequest) -> InboundRequest:
    """The request that is counted: `contents`, or the whole request in `generateContentRequest`."""
    model_id = serve.model_in_path(_COUNT, request.path) or ""
    body: Mapping[str, Any] = request.body.get("generateContentRequest") or request.body
    return READ_REQUEST.read(replace(request, path=path_for_model(f"{_ONE}:generateContent", model_id), body=body))


def _count(_request: WireRequest, _models: Sequence[ServedModel], tokens: int) -> tuple[int, WireEvent]:
    return 200, {"totalTokens": tokens, "promptTokensDetails": [{"modality": "TEXT", "tokenCount": tokens}]}


def _is_meant(headers: Mapping[str, str]) -> bool:
    """Google's clients say so in every request: at `/v1/models`, others ask for another list."""
    return "x-goog-api-client" in headers or "x-goog-api-key" in headers


# ---- Responses ----

# No comment keeps these streams alive: google-genai 3.4 reads every line that is no data as JSON, and its package for
# JavaScript takes an event only from the very beginning of what it has.
_ARRAY: Final = StreamForm(dumps, b"[", b",\r\n", b"\n]\n", "application/json; charset=UTF-8")


class GeminiResponseWriter(ResponseWriter):
    """Writes one response of a Gemini server."""

    adopts_the_first = True
    says = Facts.MOST - {Facts.COUNTS[-1]} | {"usage.half"} | Facts.FILES | Facts.PLACES
    tiers = frozenset({"flex", "priority"})
    documents = (
        ServedDocument("GET", "/models", _list, _is_meant),
        ServedDocument("GET", _ONE, _one, _is_meant),
        ServedDocument("POST", _COUNT, _count, counts=_counted),
    )

    def __init__(self, asked: InboundRequest, reply: Reply) -> None:
        super().__init__(asked, reply)
        self._head = {
            "modelVersion": asked.model,
            "responseId": sha256(f"{reply.identity}/gemini".encode()).hexdigest()[:24],
        }
        self._signs_calls = models.known_model(asked.model).signs_calls
        self._calls = 0
        self._thinking_state = state.WrittenState()
        self._hides_thoughts = asked.asks_to_think is not None and not _shows_thoughts(asked.body)
        self._sources: list[WireEvent] = []
        self._places: list[WireEvent] = []
        self._said = SaidBytes()

    def repeated(self, part: TextPart | ThinkingPart) -> Repeated | None:  # noqa: D102
        if isinstance(part, ThinkingPart) and self._hides_thoughts:
            return None
        if isinstance(part, ThinkingPart):
            return Repeated(lambda text, _number: self._chunk({"text": text, "thought": True}))
        return Repeated(lambda text, _number: self._chunk({"text": text}), self._said.add)

    @staticmethod
    def frame(event: WireEvent) -> bytes:
        """The bytes of one chunk: a `data` line without a name, with the line ends of Google's servers."""
        return b"data: " + dumps(event) + b"\r\n\r\n"

    @staticmethod
    def document(events: Sequence[WireEvent]) -> tuple[int, WireEvent]:  # noqa: D102
        last = events[-1]
        if "error" in last:
            return last["error"]["code"], {"error": last["error"]}
        joined: list[WireEvent] = []
        parts = (part for event in events for one in event["candidates"] for part in one["content"]["parts"])
        # Neighbouring texts without a signature are one, and empty ones are left out.
        for form, run in groupby(parts, lambda part: tuple(part) if part.keys() <= {"text", "thought"} else ()):
            pieces = [dict(part) for part in run]
            if not form:
                joined += pieces
            elif said := "".join(part["text"] for part in pieces):
                joined.append({**pieces[0], "text": said})
        content = {"parts": joined, "role": "model"}
        return 200, {**last, "candidates": [{**last["candidates"][0], "content": content}]}

    error = staticmethod(errors.error_document)
    failed = staticmethod(errors.failed_reply)

    @classmethod
    def stream_form(cls, asked: InboundRequest) -> StreamForm:
        """Events, or an array."""
        return _ARRAY if asked.dialect == ARRAY else StreamForm(cls.frame)

    def _say(self, part: WireEvent) -> None:
        self._kept.append(self._chunk(part))

    def _chunk(self, part: WireEvent) -> WireEvent:
        return {"candidates": [{"content": {"parts": [part], "role": "model"}, "index": 0}], **self._head}

    def _text(self, part: TextPart) -> None:
        if part.value:
            self._said.add(part.value)
            self._say({"text": part.value})

    def _thinking(self, part: ThinkingPart) -> None:
        for entry in filter(None, () if self._hides_thoughts else part.entries or (part.value,)):
            self._say({"text": entry, "thought": True})
        for signature in self._thinking_state.write(part.metadata or {}):
            self._say({"text": "", SIGNATURE: signature})

    def _call(self, part: ToolCallPart) -> None:
        signature = self._thinking_state.of_call(part.call_id)
        if signature is None and self._signs_calls and self._calls == 0:
            signature = state.made_up_signature(part.call_id)
        self._calls += 1
        call = {"id": part.call_id, "name": part.name, "args": dict(part.input)}
        self._say({"functionCall": call, **({} if signature is None else {SIGNATURE: signature})})

    def _data(self, part: DataPart) -> None:
        """Writes a file, and keeps a source for the end: a page, or a document with cited words."""
        source = read_citation(part)
        if source is not None and source.url is not None:
            said = {"uri": source.url, "title": source.title, "text": source.cited_text}
            kept = {name: value for name, value in said.items() if value}
            if place := self._said.place(source):
                segment = dict(zip(("startIndex", "endIndex", "text"), place, strict=True))
                self._places.append({"segment": segment, "groundingChunkIndices": [len(self._sources)]})
            elif source.start is not None:
                self.dropped["citation.startIndex"] = None
            self._sources.append({"retrievedContext" if source.cited_text else "web": kept})
        elif (written := file_part(part)) is not None:
            self._say(written)

    def _finish(self, finish: Finish) -> None:
        counts = {**(named_counts(finish.usage, COUNTS) or {}), **self._tier(finish, SERVICE_TIER)}
        usage = {"usageMetadata": counts} if counts else {}
        if finish.outcome in {Outcome.FAILED, Outcome.TRUNCATED}:
            self._kept += [{**usage, **self._head}] if usage else []
            self._kept.append(errors.error_event(finish.error))
            return
        supports = {"groundingSupports": self._places} if self._places else {}
        grounding = {"groundingMetadata": {"groundingChunks": self._sources, **supports}} if self._sources else {}
        word = finish_word(finish.outcome, finish.reason)
        if finish.reason is not None and word == finish.reason.raw:
            self.dropped.pop("finish_reason", None)
        candidate = {
            "content": {"parts": [{"text": ""}], "role": "model"},  # docs/wires/gemini.md#observed-streams
            "finishReason": word,
            "index": 0,
            **grounding,
            **({"logprobsResult": _logprobs(finish.logprobs)} if finish.logprobs else {}),
        }
        self._kept.append({"candidates": [candidate], **usage, **self._head})


def _logprobs(listed: Sequence[Mapping[str, Any]]) -> WireEvent:
    def said(one: Mapping[str, Any]) -> WireEvent:
        return {"token": one["token"], "logProbability": one["logprob"]}

    top = [{"candidates": [*map(said, one.get("top_logprobs", ()))]} for one in listed]
    return {"chosenCandidates": [*map(said, listed)], "topCandidates": top}


COUNTS: Final = tuple(f"{name}TokenCount" for name in ("prompt", "candidates", "thoughts", "total", "cachedContent"))
"""The names of the counts of an answer in its `usageMetadata` (docs/wires/gemini.md#usage)."""


def named_counts(usage: Usage | None, names: Sequence[str]) -> dict[str, int] | None:
    """The tokens of an answer by the names for the prompt, the answer, thoughts, the total and cached tokens.

    Thoughts are beside the other tokens of an answer, and the total is the sum. None where nothing is known.
    """
    if usage is None:
        return None
    given, made, thoughts = usage.input_tokens, usage.output_tokens, usage.reasoning_tokens
    if made is None or thoughts is None or thoughts > made:
        thoughts = None
    counts = (
        given,
        None if made is None else made - (thoughts or 0),
        thoughts,
        None if given is None or made is None else given + made,
        usage.cached_tokens,
    )
    return {name: count for name, count in zip(names, counts, strict=True) if count is not None} or None


_CUT: Final = {UnifiedFinishReason.LENGTH: "MAX_TOKENS", UnifiedFinishReason.CONTENT_FILTER: "SAFETY"}
_OTHER: Final = ("OTHER", "NO_IMAGE", "IMAGE_OTHER")


def finish_word(outcome: Outcome, reason: FinishReason | None) -> str:
    """The finish reason of an answer that did not fail; no word says that there are calls."""
    raw = None if reason is None else reason.raw
    if outcome is Outcome.INCOMPLETE:
        if raw in FILTERS:
            return raw
        return _CUT.get(reason.unified if reason is not None else UnifiedFinishReason.LENGTH, "MAX_TOKENS")
    if reason is not None and reason.unified is UnifiedFinishReason.OTHER:
        return raw if raw in _OTHER else "OTHER"
    return "STOP"


def file_part(part: DataPart) -> WireEvent | None:
    """A file as a part: its bytes, or its address; None for an empty one, and for a mark of the host."""
    if is_mark(part.mime_type):
        return None
    if (address := web_address(part)) is not None:
        return {"fileData": {"fileUri": address}}
    data = b64encode(part.data).decode()
    return {"inlineData": {"mimeType": part.mime_type, "data": data}} if data else None


def web_address(part: DataPart) -> str | None:
    """The address of a file of which a part holds no more; None for any other part."""
    address = part.data.decode(errors="replace") if is_address(part) else ""
    return address if address.lower().startswith(("http://", "https://")) else None
