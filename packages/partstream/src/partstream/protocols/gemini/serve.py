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
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qs

from partstream.codec.json_codec import dumps
from partstream.conversation.media import URI_LIST
from partstream.conversation.provider_state import ITEMS, PLACE, AnswerPlace
from partstream.errors import InvalidRequestError, UnsupportedParameterError
from partstream.lm.messages import ChatMessage, RequestOptions, Tool, ToolMode
from partstream.lm.outputs import Finish, InboundRequest, Outcome, Repeated, Reply
from partstream.lm.parts import (
    DataPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolResultPart,
    UnifiedFinishReason,
    is_mark,
)
from partstream.protocols.citations import read_citation
from partstream.protocols.failures import RefusedRequestError
from partstream.protocols.gemini.errors import error_document, error_event, failed_reply
from partstream.protocols.gemini.models import known_model
from partstream.protocols.gemini.provider_state import (
    GIVEN,
    ITEM_TYPE,
    PART,
    SIGNATURE,
    TEXT_LENGTH,
    TOOL_CALL_ID,
    WrittenState,
    is_made_up,
    made_up_signature,
    read_sealed,
    usable_signature,
)
from partstream.protocols.gemini.read_response import FILTERS
from partstream.protocols.read_request import Counts, described, read_bytes
from partstream.protocols.schemas import with_inner_schemas
from partstream.protocols.serve import (
    MODEL,
    RequestReaderSpec,
    ResponseWriter,
    ResponseWriterSpec,
    ServedDocument,
    StreamForm,
    model_in_path,
    path_for_model,
)

if TYPE_CHECKING:
    from partstream.lm.parts import FinishReason, MessagePart, Usage
    from partstream.protocols.serve import ServedModel, WireRequest

# ---- Fields ----

_BORDER: Final = re.compile(r"_([a-z0-9])")


def camel_case(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of an object under the names in camel case."""
    return {_BORDER.sub(lambda border: border[1].upper(), name): value for name, value in fields.items()}


def field_of(fields: Mapping[str, Any], name: str, kind: type, expected: str, where: str) -> Any:
    """The value of a field; None if it is missing or null.

    Raises:
        InvalidRequestError: It has another type.
    """
    value = fields.get(name)
    if value is not None and not isinstance(value, kind):
        raise InvalidRequestError(f"{where}.{name}" if where else name, described(value), expected)
    return value


def object_of(fields: Mapping[str, Any], name: str, where: str = "") -> dict[str, Any]:
    """The object in a field, its own fields in camel case; empty if it is missing.

    Raises:
        InvalidRequestError: It has another type.
    """
    return camel_case(field_of(fields, name, dict, "an object", where) or {})


def list_of(fields: Mapping[str, Any], name: str, where: str = "") -> list[dict[str, Any]]:
    """The objects in a list, their own fields in camel case; empty if it is missing. One object counts as a list.

    Raises:
        InvalidRequestError: It has another type, or holds something else.
    """
    value = fields.get(name)
    if isinstance(value, dict):
        value = [value]
    if value is not None and not isinstance(value, list):
        raise InvalidRequestError(f"{where}.{name}" if where else name, described(value), "a list")
    for place, one in enumerate(value or ()):
        if not isinstance(one, dict):
            at = f"{name}[{place}]"
            raise InvalidRequestError(f"{where}.{at}" if where else at, described(one), "an object")
    return [camel_case(one) for one in value or ()]


def text_of(fields: Mapping[str, Any], name: str, where: str = "") -> str:
    """The string in a field; empty if it is missing.

    Raises:
        InvalidRequestError: It has another type.
    """
    return field_of(fields, name, str, "a string", where) or ""


def name_of(fields: Mapping[str, Any], where: str) -> str:
    """The name of a function or a call.

    Raises:
        InvalidRequestError: It is missing or empty, or has another type.
    """
    name = text_of(fields, "name", where)
    if not name:
        raise InvalidRequestError(f"{where}.name", "nothing", "a string that is not empty")
    return name


# ---- Contents (docs/wires/gemini.md#contents) ----

_MODEL: Final = "model"
_ROLES: Final = ("", "user", "function", _MODEL)
"""The user is the default; `function` is the older role of results."""


def read_contents(body: Mapping[str, Any], counts: Counts) -> tuple[ChatMessage, ...]:
    """The conversation that the `contents` of a request hold. A text alone is a content of the user.

    Raises:
        InvalidRequestError: A content has the wrong form.
    """
    calls = _Calls()
    messages = []
    for place, content in enumerate(list_of(body, "contents")):
        where = f"contents[{place}]"
        role = text_of(content, "role", where)
        if role not in _ROLES:
            raise InvalidRequestError(f"{where}.role", described(role), "user or model")
        reader = _ContentReader(calls, counts)
        for number, part in enumerate(list_of(content, "parts", where)):
            reader.read(part, f"{where}.parts[{number}]")
        message = reader.message(is_model=role == _MODEL)
        messages += [message] if message.content else []
    return tuple(messages)


def read_system(body: Mapping[str, Any], counts: Counts) -> tuple[ChatMessage, ...]:
    """The message that the `systemInstruction` of a request holds, if there is one.

    Raises:
        InvalidRequestError: It has the wrong form.
    """
    parts = list_of(object_of(body, "systemInstruction"), "parts", "systemInstruction")
    texts = [text_of(part, "text", f"systemInstruction.parts[{place}]") for place, part in enumerate(parts)]
    for part in parts:
        for name in part.keys() - {"text"}:
            counts.add(f"systemInstruction.parts[].{name}")
    said = [TextPart(text) for text in texts if text]
    return (ChatMessage.system(said),) if said else ()


class _Calls:
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


class _ContentReader:
    """Reads the parts of one content."""

    def __init__(self, calls: _Calls, counts: Counts) -> None:
        self._calls = calls
        self._counts = counts
        self._parts: list[MessagePart] = []
        self._place = AnswerPlace()
        self._items: list[Mapping[str, Any]] = []
        self._beside: Mapping[str, Any] = {}

    def read(self, part: Mapping[str, Any], where: str) -> None:
        reader = next((reader for name, reader in _READERS.items() if name in part), None)
        if reader is not None:
            reader(self, part, where)
            return
        if usable_signature(part.get(SIGNATURE)) is None:
            for name in part:
                self._counts.add(f"parts[].{name}")
        self._sign_text(part, 0)

    def message(self, *, is_model: bool) -> ChatMessage:
        """The message with all parts, the state before them."""
        if self._items or self._beside:
            state = ThinkingPart("", None, {**self._beside, ITEMS: list(self._items)})
            self._parts.insert(0, state)
        return ChatMessage.assistant(self._parts) if is_model else ChatMessage.user(self._parts)

    def _text(self, part: Mapping[str, Any], where: str) -> None:
        value = text_of(part, "text", where)
        if part.get("thought") is True:
            self._parts += [ThinkingPart(value)] if value else []
            if usable_signature(part.get(SIGNATURE)) is not None:
                self._carry({PART: dict(part)})
            return
        if value:
            self._parts.append(TextPart(value))
            self._place.add_text(value)
        self._sign_text(part, len(value))

    def _sign_text(self, part: Mapping[str, Any], length: int) -> None:
        """Takes the signature of a text, in which something may be sealed."""
        signature = usable_signature(part.get(SIGNATURE))
        sealed = None if signature is None else read_sealed(signature)
        if sealed is not None:
            self._items += [] if sealed.item is None else [sealed.item]
            self._beside = {**self._beside, **sealed.beside}
        elif signature is not None:
            self._carry({TEXT_LENGTH: length, SIGNATURE: signature})

    def _call(self, part: Mapping[str, Any], where: str) -> None:
        call = object_of(part, "functionCall", where)
        at = f"{where}.functionCall"
        given, name = text_of(call, "id", at), name_of(call, at)
        call_id = self._calls.open(given, name)
        signature = usable_signature(part.get(SIGNATURE))
        if signature is not None and not is_made_up(signature):
            self._carry({TOOL_CALL_ID: call_id, GIVEN: bool(given), SIGNATURE: signature})
        arguments = field_of(call, "args", dict, "an object", at) or {}
        self._parts.append(ToolCallPart(call_id, name, arguments))
        self._place.add_call()

    def _response(self, part: Mapping[str, Any], where: str) -> None:
        response = object_of(part, "functionResponse", where)
        at = f"{where}.functionResponse"
        name = name_of(response, at)
        call_id = self._calls.close(text_of(response, "id", at), name)
        said = field_of(response, "response", dict, "an object", at) or {}
        is_error = "error" in said and not said.keys() - {"error"}
        content: list[TextPart | DataPart] = [TextPart(text)] if (text := _words(said, name)) else []
        for number, inner in enumerate(list_of(response, "parts", at)):
            content.append(_blob(inner, f"{at}.parts[{number}]"))
        self._parts.append(ToolResultPart(call_id, content, is_error))

    def _file(self, part: Mapping[str, Any], where: str) -> None:
        self._parts.append(_blob(part, where))

    def _carry(self, item: Mapping[str, Any]) -> None:
        self._items.append({"type": ITEM_TYPE, **item, PLACE: self._place.value})


_READERS: Final[Mapping[str, Callable[[_ContentReader, Mapping[str, Any], str], None]]] = {
    "functionCall": _ContentReader._call,
    "functionResponse": _ContentReader._response,
    "inlineData": _ContentReader._file,
    "fileData": _ContentReader._file,
    # What the server ran goes back to it as it came.
    **dict.fromkeys(
        ("executableCode", "codeExecutionResult", "toolCall", "toolResponse"),
        lambda reader, part, _where: reader._carry({PART: dict(part)}),
    ),
    "text": _ContentReader._text,
}
"""The reader of a part, by its data field."""

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
    if "fileData" in part:
        address = text_of(object_of(part, "fileData", where), "fileUri", f"{where}.fileData")
        return DataPart.text(address, URI_LIST)
    blob = camel_case(object_of(part, "inlineData", where))
    at = f"{where}.inlineData"
    said = text_of(blob, "data", at).replace("-", "+").replace("_", "/")
    return read_bytes(said, f"{at}.data", text_of(blob, "mimeType", at))


# ---- Tools (docs/wires/gemini.md#tools-and-schemas) ----

_DECLARED: Final = "functionDeclarations"
_MODES: Final = {
    **dict.fromkeys(("", "MODE_UNSPECIFIED", "AUTO", "VALIDATED"), ToolMode.AUTO),
    "ANY": ToolMode.REQUIRED,
}


def read_tools(body: Mapping[str, Any], counts: Counts) -> tuple[tuple[Tool, ...], ToolMode]:
    """The functions that the model may call, and whether it must call one; other tools are counted.

    Raises:
        InvalidRequestError: `tools` or `toolConfig` has the wrong form.
    """
    tools: dict[str, Tool] = {}
    for place, tool in enumerate(list_of(body, "tools")):
        for name in tool.keys() - {_DECLARED}:
            counts.add(f"tools[].{name}")
        where = f"tools[{place}]"
        for number, declared in enumerate(list_of(tool, _DECLARED, where)):
            read = _function(declared, f"{where}.{_DECLARED}[{number}]")
            tools.setdefault(read.name, read)
    calling = "toolConfig.functionCallingConfig"
    config = object_of(body, "toolConfig")
    for name in config.keys() - {"functionCallingConfig"}:
        counts.add(f"toolConfig.{name}")
    chosen = object_of(config, "functionCallingConfig", "toolConfig")
    mode = text_of(chosen, "mode", calling).upper()
    if mode == "NONE":
        return (), ToolMode.AUTO
    if mode not in _MODES:
        raise InvalidRequestError(f"{calling}.mode", described(mode), "AUTO, ANY, VALIDATED or NONE")
    names = chosen.get("allowedFunctionNames") or tools.keys()
    allowed = tuple(tool for tool in tools.values() if tool.name in names)
    return allowed, _MODES[mode] if allowed else ToolMode.AUTO


def _function(declared: Mapping[str, Any], where: str) -> Tool:
    name = name_of(declared, where)
    schema = field_of(declared, "parametersJsonSchema", dict, "a JSON schema", where)
    if schema is None:
        subset = field_of(declared, "parameters", dict, "a schema", where)
        schema = None if subset is None else _json_schema(subset)
    return Tool(name, text_of(declared, "description", where), schema)


def _json_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """A schema with the names of types that JSON Schema has; Google writes them in capitals too."""
    kind = schema.get("type")
    named = {**schema, "type": kind.lower()} if isinstance(kind, str) else dict(schema)
    return dict(with_inner_schemas(named, _json_schema))


# ---- Request ----

_STREAM: Final = "streamGenerateContent"
_FOLDERS: Final = ("/models/", "/publishers/google/models/")
"""The paths of models: on the Gemini API, and on Vertex in express mode (docs/wires/gemini.md#framing)."""
PATHS: Final = tuple(f"{folder}{MODEL}:{method}" for method in (_STREAM, "generateContent") for folder in _FOLDERS)

ARRAY: Final = "array"
"""The :attr:`InboundRequest.dialect` of a client that wants a stream and no events: it gets an array."""

_READ: Final = frozenset({"contents", "systemInstruction", "tools", "toolConfig", "generationConfig", "model"})
"""The fields of a body that are no options."""


def read_asked(request: WireRequest) -> InboundRequest:
    """What a request asks.

    Raises:
        InvalidRequestError: A field that the answer depends on has the wrong type.
    """
    body = camel_case(request.body)
    counts = Counts()
    messages = (*read_system(body, counts), *read_contents(body, counts))
    tools, tool_mode = read_tools(body, counts)
    effort, options = _generation(body)
    options |= {name: value for name, value in body.items() if name not in _READ and value is not None}
    named = (model_in_path(pattern, request.path) for pattern in PATHS)
    is_stream = request.path.endswith(f":{_STREAM}")
    is_events = parse_qs(request.query).get("alt") == ["sse"]
    return InboundRequest(
        model=next(filter(None, named), "").removeprefix("models/"),
        messages=messages,
        options=RequestOptions(tools, tool_mode, options, {} if effort is None else {"reasoningEffort": effort}),
        stream=is_stream,
        unmapped=dict(counts.numbers),
        dialect=ARRAY if is_stream and not is_events else "",
        body=body,
    )


def _generation(body: Mapping[str, Any]) -> tuple[str | None, dict[str, Any]]:
    """The reasoning effort, and the other fields of `generationConfig`."""
    where = "generationConfig"
    config = {name: value for name, value in object_of(body, where).items() if value is not None}
    if config.get("candidateCount", 1) != 1:
        raise UnsupportedParameterError(f"{where}.candidateCount", f"{config['candidateCount']!r:.60}", "1")
    thinking = object_of(config, "thinkingConfig", where)
    effort = text_of(thinking, "thinkingLevel", f"{where}.thinkingConfig").lower()
    kept = {name: value for name, value in thinking.items() if name not in {"thinkingLevel", "includeThoughts"}}
    config.pop("thinkingConfig", None)
    return effort or None, config | ({"thinkingConfig": kept} if kept else {})


READ_REQUEST: Final = RequestReaderSpec(read=read_asked, paths=PATHS)


# ---- Response ----


def write_document(events: Sequence[Mapping[str, Any]]) -> tuple[int, dict[str, Any]]:
    """The document for a client that wants no stream: HTTP status and JSON.

    Args:
        events: All events of the answer.
    """
    last = events[-1]
    if "error" in last:
        return last["error"]["code"], {"error": last["error"]}
    parts = [part for event in events for one in event["candidates"] for part in one["content"]["parts"]]
    content = {"parts": _joined(parts), "role": "model"}
    return 200, {**last, "candidates": [{**last["candidates"][0], "content": content}]}


def _joined(parts: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The parts; neighbouring texts without a signature are one, and empty ones are left out."""

    def form(part: Mapping[str, Any]) -> tuple[str, ...]:
        return tuple(part) if part.keys() <= {"text", "thought"} else ()

    joined: list[dict[str, Any]] = []
    for can_join, run in groupby(parts, form):
        pieces = [dict(part) for part in run]
        if not can_join:
            joined += pieces
        elif said := "".join(part["text"] for part in pieces):
            joined.append({**pieces[0], "text": said})
    return joined


def written_usage(usage: Usage | None) -> dict[str, int] | None:
    """The `usageMetadata` of an answer (docs/wires/gemini.md#usage): thoughts are beside its other tokens, the total is
    their sum. None where nothing is known."""
    if usage is None:
        return None
    given, made, thoughts = usage.input_tokens, usage.output_tokens, usage.reasoning_tokens
    if made is None or thoughts is None or thoughts > made:
        thoughts = None
    counts = {
        "promptTokenCount": given,
        "candidatesTokenCount": None if made is None else made - (thoughts or 0),
        "thoughtsTokenCount": thoughts,
        "totalTokenCount": None if given is None or made is None else given + made,
        "cachedContentTokenCount": usage.cached_tokens,
    }
    return {name: count for name, count in counts.items() if count is not None} or None


# ---- Documents (docs/wires/gemini.md#models-and-counting) ----

_ONE: Final = f"/models/{MODEL}"
_COUNT: Final = f"/models/{MODEL}:countTokens"
_ANSWER: Final = f"/models/{MODEL}:generateContent"
_PAGE: Final = 50
_MOST: Final = 1000
_METHODS: Final = ("generateContent", "streamGenerateContent", "countTokens")


def _list(request: WireRequest, models: Sequence[ServedModel], _tokens: int) -> tuple[int, dict[str, Any]]:
    """One page of the models; a page without a size has fifty."""
    query = {name: values[-1] for name, values in parse_qs(request.query).items()}
    size, token = query.get("pageSize", str(_PAGE)), query.get("pageToken", "0")
    if not size.isdecimal() or not token.isdecimal():
        raise RefusedRequestError("Request contains an invalid argument.")
    start, count = int(token), min(int(size) or _PAGE, _MOST)
    end = start + count
    next_page = {"nextPageToken": str(end)} if end < len(models) else {}
    return 200, {"models": [_entry(model) for model in models[start:end]], **next_page}


def _one(request: WireRequest, models: Sequence[ServedModel], _tokens: int) -> tuple[int, dict[str, Any]]:
    model_id = model_in_path(_ONE, request.path)
    for model in models:
        if model.id == model_id:
            return 200, _entry(model)
    raise RefusedRequestError(
        f"models/{model_id} is not found for API version v1beta, or is not supported for generateContent. Call "
        "ListModels to see the list of available models and their supported methods.",
        status=404,
    )


def _entry(model: ServedModel) -> dict[str, Any]:
    return {
        "name": f"models/{model.id}",
        "baseModelId": model.id,
        "version": "001",
        "displayName": model.name,
        "inputTokenLimit": model.max_input_tokens,
        "outputTokenLimit": model.max_output_tokens,
        "supportedGenerationMethods": list(_METHODS),
        "thinking": model.thinking,
    }


def _counted(request: WireRequest) -> InboundRequest:
    """The request that is counted: `contents`, or the whole request in `generateContentRequest`."""
    model_id = model_in_path(_COUNT, request.path) or ""
    body: Mapping[str, Any] = request.body.get("generateContentRequest") or request.body
    return read_asked(replace(request, path=path_for_model(_ANSWER, model_id), body=body))


def _is_meant(headers: Mapping[str, str]) -> bool:
    """Google's clients say so in every request: at `/v1/models`, others ask for another list."""
    return "x-goog-api-client" in headers or "x-goog-api-key" in headers


DOCUMENTS: Final = (
    ServedDocument("GET", "/models", _list, _is_meant),
    ServedDocument("GET", _ONE, _one, _is_meant),
    ServedDocument(
        "POST",
        _COUNT,
        lambda _request, _models, tokens: (
            200,
            {"totalTokens": tokens, "promptTokensDetails": [{"modality": "TEXT", "tokenCount": tokens}]},
        ),
        counts=_counted,
    ),
)


# ---- Writer ----


class GeminiWriter(ResponseWriter):
    """One answer of a Gemini server; see :class:`partstream.protocols.serve.ResponseWriter`."""

    def __init__(self, asked: InboundRequest, reply: Reply) -> None:
        super().__init__(asked, reply)
        self._head = {
            "modelVersion": asked.model,
            "responseId": sha256(f"{reply.identity}/gemini".encode()).hexdigest()[:24],
        }
        self._signs_calls = known_model(asked.model).signs_calls
        self._calls = 0
        self._thinking_state = WrittenState()
        self._sources: list[dict[str, Any]] = []
        self._chunks: list[dict[str, Any]] = []

    def _take(self) -> list[dict[str, Any]]:
        chunks, self._chunks = self._chunks, []
        return chunks

    def repeated(self, part: TextPart | ThinkingPart) -> Repeated:
        """See :class:`partstream.lm.outputs.FastPathWriter`."""
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
        for entry in filter(None, part.entries or (part.value,)):
            self._say({"text": entry, "thought": True})
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
        """Writes a file, and keeps a source for the end: a page, or a document with cited words."""
        source = read_citation(part)
        if source is not None and source.url is not None:
            said = {"uri": source.url, "title": source.title, "text": source.cited_text}
            kept = {name: value for name, value in said.items() if value}
            self._sources.append({"retrievedContext" if source.cited_text else "web": kept})
        elif (written := file_part(part)) is not None:
            self._say(written)

    def _finish(self, finish: Finish) -> None:
        counts = written_usage(finish.usage)
        usage = {} if counts is None else {"usageMetadata": counts}
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


WRITE_RESPONSE: Final = ResponseWriterSpec(
    open=GeminiWriter,
    frame=frame,
    document=write_document,
    error=error_document,
    fail=failed_reply,
    documents=DOCUMENTS,
    form_of=lambda asked: _ARRAY if asked.dialect == ARRAY else _EVENTS,
    base_paths=("/v1beta", "/v1"),
)
