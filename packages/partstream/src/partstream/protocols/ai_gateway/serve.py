"""Reads requests of the AI Gateway and writes its responses, as a server does, in versions 2, 3 and 4.

The model, the version and whether to stream are in headers. The shape of a request is checked by tables for the version
that the client names. A wrong or unknown type is refused with its place. Known content without a place among VS Code's
values is collected (:attr:`partstream.lm.outputs.InboundRequest.unmapped`), and so is every field that the published
types do not have: approvals, calls that the provider itself has run, files that only a provider can reach, options of a
provider on anything but reasoning and calls.

A response is the stream of a provider. Unknown numbers are left out, because JSON has no undefined; none becomes 0. The
published client accepts in the list of models only those of its own version; its base path tells the version.

Source: `LanguageModelV2CallOptions`, `…Prompt` and `…StreamPart` to `V4` of `@ai-sdk/provider` 2.0.5, 3.0.19 and
4.0.38, `gateway-config.json` of the recordings, and the requests recorded in tests/fixtures/ai_sdk.
"""

from __future__ import annotations
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import sha256
from types import MappingProxyType
from typing import Any, Final, NamedTuple, TypeAlias

from partstream.codec.checks import replace
from partstream.codec.json_codec import is_json
from partstream.conversation.media import file_name, type_of_file
from partstream.conversation.provider_state import ITEMS, MOST_ITEMS, PLACE, AnswerPlace
from partstream.errors import InvalidRequestError
from partstream.lm.messages import ChatMessage, RequestOptions, Role, Tool, ToolMode
from partstream.lm.outputs import FileMode, Finish, InboundRequest, Reply, StreamOutput, Unmapped
from partstream.lm.parts import (
    DataPart,
    FinishReason,
    MessagePart,
    TextPart,
    ToolResultContent,
    ToolResultPart,
    UnifiedFinishReason,
    Usage,
    thinking_part,
    tool_call_part,
    unchecked_part,
)
from partstream.protocols.ai_gateway import OF_BASE_PATHS
from partstream.protocols.ai_gateway import models as gateway
from partstream.protocols.ai_sdk.blocks import file_part
from partstream.protocols.ai_sdk.errors import Chunk, error_value, is_summary, take_metadata
from partstream.protocols.ai_sdk.provider_state import GATEWAY, REASONING, SUMMARY, TOOL_CALL, unwrap, wrap
from partstream.protocols.ai_sdk.serve import TEXT, ChunkWriter, Metadata, beside, known, rest_of, warnings
from partstream.protocols.failures import STATUSES, FailedReply, FailureKind, FailureRow, ServedFailure, common_reply
from partstream.protocols.serve import RequestReader, ServedDocument, ServedModel, WireRequest

# ---- The prompt as VS Code's messages, after its shape was checked ----

DENIED: Final = "The tool was not run: its execution was denied."
"""The result of a call that was forbidden without a reason."""

_OPTIONS_FIELD: Final = "providerOptions"


class _Prompt:
    """Reads the messages of a prompt; what has no place is collected."""

    def __init__(self, unmapped: dict[str, Any]) -> None:
        self._unmapped = unmapped
        self._calls: dict[str, Mapping[str, Any]] = {}  # as they came, by their ids
        self._parts: list[MessagePart] = []  # of the message that is read
        self._items: list[Mapping[str, Any]] = []
        self._place = AnswerPlace()

    def read(self, prompt: Iterable[Mapping[str, Any]]) -> tuple[ChatMessage, ...]:
        """The messages, in order."""
        messages = []
        for number, message in enumerate(prompt):
            role, content = message["role"], message["content"]
            self._parts, self._items, self._place = [], [], AnswerPlace()
            if role == "system":
                self._parts += [TextPart(content)] if content else []
            else:
                read = {"user": self._show, "assistant": self._said, "tool": self._result}[role]
                for place, part in enumerate(content):
                    read(part, f"prompt[{number}].content[{place}]")
            if self._parts:
                messages.append(ChatMessage(_SPEAKERS[role], tuple(self._parts)))
        return tuple(messages)

    def _show(self, part: Mapping[str, Any], where: str) -> None:
        """A text or a file of a person, or a file that the model made."""
        self._collect_options(part, where)
        self._parts += self._shown(part, where)

    def _said(self, part: Mapping[str, Any], where: str) -> None:
        """A part of a message of the assistant."""
        kind, options = part["type"], part.get(_OPTIONS_FIELD) or {}
        if part.get("providerExecuted") is True:
            self._unmapped[where] = part
        elif kind == REASONING:
            self._carry({"type": REASONING, "text": part["text"]}, options, part["text"])
        elif kind == TOOL_CALL:
            call_id = part["toolCallId"]
            self._carry({"type": TOOL_CALL, "toolCallId": call_id}, options)
            self._calls[call_id] = part
            self._place.add_call()
            self._parts.append(tool_call_part(call_id, part["toolName"], part["input"]))
        elif kind == SUMMARY and is_summary(options):  # no visible text: it goes back to its provider alone
            self._carry({"type": SUMMARY, "text": part["text"]}, options)
        elif kind in {"text", "file"}:
            if kind == "text" and part["text"]:
                self._place.add_text(part["text"])
            self._show(part, where)
        else:
            self._unmapped[where] = part

    def _result(self, part: Mapping[str, Any], where: str) -> None:
        if part["type"] != "tool-result":
            self._unmapped[where] = part
            return
        call = self._calls.get(part["toolCallId"], {})
        if call.get("toolName", part["toolName"]) != part["toolName"]:
            self._unmapped[f"{where}.toolName"] = part["toolName"]
        # Clients repeat at the result what they give back at its call.
        if part.get(_OPTIONS_FIELD) != call.get(_OPTIONS_FIELD):
            self._collect_options(part, where)
        output = part["output"]
        content: list[ToolResultContent] = []
        match output["type"]:
            case "text" | "error-text":
                content += [TextPart(output["value"])] if output["value"] else []
            case "json" | "error-json":
                content.append(DataPart.json(output["value"]))
            case "content":
                for place, item in enumerate(output["value"]):
                    content += self._shown(item, f"{where}.output.value[{place}]")
            case _:
                content.append(TextPart(output.get("reason") or DENIED))
        is_error = output["type"] not in {"text", "json", "content"}
        self._parts.append(unchecked_part(ToolResultPart, part["toolCallId"], tuple(content), is_error))

    def _carry(self, item: dict[str, Any], options: Mapping[str, Any], text: str = "") -> None:
        """Adds the thinking part that shows a text and brings back an item."""
        own, foreign, beside, thought_id = unwrap({name: options[name] for name in options if name != GATEWAY})
        new = [dict(foreign)] if foreign is not None else []
        if any(own.values()):
            new.append({**item, _OPTIONS_FIELD: own})
        if new and len(self._items) >= MOST_ITEMS:
            self._unmapped[f"{_OPTIONS_FIELD} (more than {MOST_ITEMS} of one message)"] = options
            new = []
        self._items += [{**one, PLACE: self._place.value} for one in new]
        metadata = {**beside, **({ITEMS: list(self._items)} if new else {})}
        if text or metadata:
            self._parts.append(thinking_part(text, thought_id, metadata or None))

    def _shown(self, part: Mapping[str, Any], where: str) -> list[TextPart | DataPart]:
        """A text or a file, also as an item of a result."""
        if part["type"] == "text":
            return [TextPart(part["text"])] if part["text"] else []
        data = part.get("data")
        if isinstance(data, dict) and data["type"] == "text":
            content = data["text"].encode()
            read: Any = unchecked_part(DataPart, content, type_of_file(content, part["mediaType"]))
        else:
            read = file_part(dict(part), FileMode.ADDRESS)
        if isinstance(read, Unmapped):  # the reference of a file that a provider keeps
            self._unmapped[where] = part
            return []
        if part.get("filename", made_up := file_name(read.mime_type)) != made_up:
            self._unmapped[f"{where}.filename"] = part["filename"]
        return [read]

    def _collect_options(self, part: Mapping[str, Any], where: str) -> None:
        """Collects a provider's options of a text or a file, without the gateway's own metadata."""
        options = {name: value for name, value in (part.get(_OPTIONS_FIELD) or {}).items() if name != GATEWAY}
        if options:
            self._unmapped[f"{where}.{_OPTIONS_FIELD}"] = options


_SPEAKERS: Final = {"system": Role.SYSTEM, "user": Role.USER, "assistant": Role.ASSISTANT, "tool": Role.USER}

# ---- Shapes of JSON values; they know nothing of the protocol ----

Check: TypeAlias = "Callable[[Any, str, dict[str, Any]], None]"
"""Takes a value, its place and the values collected so far; raises :class:`InvalidRequestError`."""


class ObjectShape(NamedTuple):
    """The fields of an object; any other is collected as it is, and `unplaced` ones are checked as well."""

    required: Mapping[str, Check]
    optional: Mapping[str, Check] = MappingProxyType({})
    unplaced: Mapping[str, Check] = MappingProxyType({})


def check_object(value: object, where: str, shape: ObjectShape, unmapped: dict[str, Any]) -> None:
    """Checks an object field by field.

    Raises:
        InvalidRequestError: It is no object, a field is missing, or the value of one is not what its check allows.
    """
    fields = _object(value, where)
    for name in shape.required:
        if name not in fields:
            raise InvalidRequestError(inside(where, name), "nothing", "this field")
    for name, field in fields.items():
        check = shape.required.get(name) or shape.optional.get(name)
        if check is None:
            unmapped[inside(where, name)] = field
            check = shape.unplaced.get(name, any_json)
        check(field, inside(where, name), unmapped)


def inside(where: str, name: str) -> str:
    """The place of a field; the body itself has no name."""
    return f"{where}.{name}" if where else name


def _object(value: object, where: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise InvalidRequestError(where or "body", type_name(value), "an object")
    return value


def _of_type(types: tuple[type, ...], expected: str) -> Check:
    def check(value: object, where: str, _unmapped: dict[str, Any]) -> None:
        # A truth value is an int in Python and none in JSON.
        if not isinstance(value, types) or (isinstance(value, bool) and bool not in types):
            raise InvalidRequestError(where, type_name(value), expected)

    return check


string: Final = _of_type((str,), "a string")
boolean: Final = _of_type((bool,), "true or false")
number: Final = _of_type((int, float), "a number")
integer: Final = _of_type((int,), "an integer")


def any_json(value: object, where: str, unmapped: dict[str, Any]) -> None:
    """Any JSON value, including null; the readers of Python also take infinite numbers."""
    if not is_json(value):
        raise InvalidRequestError(where, "a number that is not finite, or nesting that is too deep", "a JSON value")


def whole_number(value: Any, where: str, unmapped: dict[str, Any]) -> None:
    """An integer above zero."""
    integer(value, where, unmapped)
    if value < 1:
        raise InvalidRequestError(where, repr(value), "an integer above zero")


def base64_text(value: Any, where: str, unmapped: dict[str, Any]) -> None:
    """Bytes as base64, at least one."""
    string(value, where, unmapped)
    try:
        data = b64decode(value, validate=True)
    except ValueError as error:
        raise InvalidRequestError(where, f"text that is no base64 ({error})", "base64") from error
    if not data:
        raise InvalidRequestError(where, "an empty string", "base64 of at least one byte")


def one_of(values: Iterable[str]) -> Check:
    """One of the words."""
    words = tuple(values)

    def check(value: object, where: str, _unmapped: dict[str, Any]) -> None:
        if value not in words:
            raise InvalidRequestError(where, repr(value), f"one of {', '.join(words)}")

    return check


def list_of(check_item: Check) -> Check:
    """A list, each item of which passes the check."""

    def check(value: object, where: str, unmapped: dict[str, Any]) -> None:
        if not isinstance(value, list):
            raise InvalidRequestError(where, type_name(value), "a list")
        for index, item in enumerate(value):
            check_item(item, f"{where}[{index}]", unmapped)

    return check


def object_of(check_value: Check) -> Check:
    """An object with any names, each value of which passes the check."""

    def check(value: object, where: str, unmapped: dict[str, Any]) -> None:
        for name, field in _object(value, where).items():
            check_value(field, f"{where}.{name}", unmapped)

    return check


def tagged(shapes: Mapping[str, ObjectShape]) -> Check:
    """An object of one of the shapes, by its `type`."""

    def check(value: object, where: str, unmapped: dict[str, Any]) -> None:
        kind = _object(value, where).get("type")
        if not isinstance(kind, str) or kind not in shapes:
            got = "nothing" if kind is None else repr(kind)
            raise InvalidRequestError(f"{where}.type", got, f"one of {', '.join(shapes)}")
        shape = shapes[kind]
        check_object(value, where, shape._replace(required={"type": string, **shape.required}), unmapped)

    return check


def type_name(value: object) -> str:
    """The type of a value for an error; its content may be secret, so it is not shown."""
    return "null" if value is None else type(value).__name__


# ---- The shapes of prompts in each version ----

VERSIONS: Final = tuple(map(str, gateway.SPECIFICATION_VERSIONS))

_PROVIDER_OPTIONS: Final[dict[str, Check]] = {"providerOptions": object_of(object_of(any_json))}
"""An object for each provider."""


def prompt_of(version: str) -> Check:
    """The check of a whole prompt in one version of the specification."""
    parts = _parts(version)
    contents: dict[str, Check] = {"system": string}
    for role, names in _PARTS_OF_ROLE.items():
        contents[role] = list_of(tagged({name: parts[name] for name in names if name in parts}))

    def check_message(message: object, where: str, unmapped: dict[str, Any]) -> None:
        role = message.get("role") if isinstance(message, dict) else None
        if not isinstance(role, str) or role not in contents:
            got = repr(role) if isinstance(message, dict) else type_name(message)
            raise InvalidRequestError(f"{where}.role", got, f"one of {', '.join(contents)}")
        shape = ObjectShape({"role": string, "content": contents[role]}, unplaced=_PROVIDER_OPTIONS)
        check_object(message, where, shape, unmapped)

    def check(prompt: object, where: str, unmapped: dict[str, Any]) -> None:
        if prompt == []:
            raise InvalidRequestError(where, "an empty list", "at least one message")
        list_of(check_message)(prompt, where, unmapped)

    return check


def _file_text(value: Any, where: str, unmapped: dict[str, Any]) -> None:
    """Versions 2 and 3: base64, a web address, or a data URL, all of them strings."""
    string(value, where, unmapped)
    if value.startswith(("http://", "https://")):
        return
    if not value.startswith("data:"):
        base64_text(value, where, unmapped)
        return
    head, comma, data = value.partition(",")
    if not comma or not head.endswith(";base64"):
        raise InvalidRequestError(where, "a data URL without ;base64,", "a data URL in base64")
    base64_text(data, where, unmapped)


def _url(value: Any, where: str, unmapped: dict[str, Any]) -> None:
    string(value, where, unmapped)
    if not value.startswith(("http://", "https://", "data:")):
        raise InvalidRequestError(where, "a string that is no URL", "a URL")


_BYTES: Final[dict[str, ObjectShape]] = {
    "data": ObjectShape({"data": base64_text}),
    "url": ObjectShape({"url": _url}, {"originalUrl": string}),
}
_TAGGED_DATA: Final[dict[str, ObjectShape]] = _BYTES | {
    "reference": ObjectShape({"reference": object_of(string)}),
    "text": ObjectShape({"text": string}),
}

_NAMED: Final[dict[str, Check]] = {"filename": string}
# `originalUrl` is where the SDK has fetched the bytes; with the bytes, it is not needed.
_FILE_OF_TEXT: Final = ObjectShape(
    {"data": _file_text, "mediaType": string}, _NAMED | {"originalUrl": string}, _PROVIDER_OPTIONS
)
_FILE: Final = ObjectShape({"data": tagged(_TAGGED_DATA), "mediaType": string}, _NAMED, _PROVIDER_OPTIONS)


def _file_id(value: object, where: str, unmapped: dict[str, Any]) -> None:
    check: Check = string if isinstance(value, str) else object_of(string)
    check(value, where, unmapped)


_MEDIA: Final[dict[str, Check]] = {"data": base64_text, "mediaType": string}
_TEXT_ITEM: Final = ObjectShape({"text": string}, unplaced=_PROVIDER_OPTIONS)
_OUTPUT_ITEMS: Final[dict[str, dict[str, ObjectShape]]] = {
    "2": {"text": ObjectShape({"text": string}), "media": ObjectShape(_MEDIA)},
    "3": {
        "text": _TEXT_ITEM,
        "file-data": ObjectShape(_MEDIA, _NAMED, _PROVIDER_OPTIONS),
        "file-url": ObjectShape({"url": _url}, {"mediaType": string}, _PROVIDER_OPTIONS),
        "file-id": ObjectShape({"fileId": _file_id}, unplaced=_PROVIDER_OPTIONS),
        "image-data": ObjectShape(_MEDIA, unplaced=_PROVIDER_OPTIONS),
        "image-url": ObjectShape({"url": _url}, unplaced=_PROVIDER_OPTIONS),
        "image-file-id": ObjectShape({"fileId": _file_id}, unplaced=_PROVIDER_OPTIONS),
        "custom": ObjectShape({}, unplaced=_PROVIDER_OPTIONS),
    },
    "4": {"text": _TEXT_ITEM, "file": _FILE, "custom": ObjectShape({}, unplaced=_PROVIDER_OPTIONS)},
}


def _outputs(version: str) -> dict[str, ObjectShape]:
    more = {} if version == "2" else _PROVIDER_OPTIONS
    values = {"text": string, "json": any_json, "error-text": string, "error-json": any_json}
    values["content"] = list_of(tagged(_OUTPUT_ITEMS[version]))
    shapes = {kind: ObjectShape({"value": value}, unplaced=more) for kind, value in values.items()}
    return shapes if version == "2" else shapes | {"execution-denied": ObjectShape({}, {"reason": string}, more)}


def _tool_input(value: object, where: str, unmapped: dict[str, Any]) -> None:
    """An object in a prompt, JSON text in a response: a string was copied from a response without a look at it."""
    if not isinstance(value, dict):
        raise InvalidRequestError(where, type_name(value), "the input as an object, not as text")
    any_json(value, where, unmapped)


def _parts(version: str) -> dict[str, ObjectShape]:
    parts = {
        "text": ObjectShape({"text": string}, _PROVIDER_OPTIONS),
        "reasoning": ObjectShape({"text": string}, _PROVIDER_OPTIONS),
        "file": _FILE if version == "4" else _FILE_OF_TEXT,
        "tool-call": ObjectShape(
            {"toolCallId": string, "toolName": string, "input": _tool_input},
            {"providerExecuted": boolean, **_PROVIDER_OPTIONS},
        ),
        "tool-result": ObjectShape(
            {"toolCallId": string, "toolName": string, "output": tagged(_outputs(version))}, _PROVIDER_OPTIONS
        ),
    }
    if version != "2":
        parts["tool-approval-response"] = ObjectShape(
            {"approvalId": string, "approved": boolean}, {"reason": string, **_PROVIDER_OPTIONS}
        )
    if version == "4":
        parts["custom"] = ObjectShape({"kind": string}, _PROVIDER_OPTIONS)
        parts["reasoning-file"] = ObjectShape({"data": tagged(_BYTES), "mediaType": string}, _PROVIDER_OPTIONS)
    return parts


_PARTS_OF_ROLE: Final[dict[str, tuple[str, ...]]] = {
    "user": ("text", "file"),
    "assistant": ("text", "file", "reasoning", "tool-call", "tool-result", "custom", "reasoning-file"),
    "tool": ("tool-result", "tool-approval-response"),
}


# ---- The request ----


class GatewayRequests(RequestReader):
    """Reads the requests of clients."""

    def read(self, request: WireRequest) -> InboundRequest:
        """Reads `POST {base}/language-model`.

        Raises:
            InvalidRequestError: A header or a field of the body is not what the protocol asks for.
        """
        headers, body = request.headers, request.body
        for name, values in _HEADERS.items():
            if headers.get(name) not in values:
                raise InvalidRequestError(f"header {name}", _got(headers.get(name)), f"one of {', '.join(values)}")
        if not headers.get(gateway.MODEL_HEADER):
            raise InvalidRequestError(
                f"header {gateway.MODEL_HEADER}", _got(headers.get(gateway.MODEL_HEADER)), "the id of a model"
            )
        unmapped: dict[str, Any] = {}
        check_object(body, "", _BODY[headers[gateway.VERSION_HEADER]], unmapped)
        tools = body.get("tools") or []
        left, mode = _choose(tools, body.get("toolChoice"), unmapped)
        effort = body.get("reasoning")
        if body.get("includeRawChunks"):
            unmapped["includeRawChunks"] = True
        return InboundRequest(
            model=headers[gateway.MODEL_HEADER],
            messages=_Prompt(unmapped).read(body["prompt"]),
            options=RequestOptions(
                left,
                mode,
                {name: value for name, value in body.items() if name in _OPTIONS},
                {} if effort in (None, "provider-default") else {"reasoningEffort": effort},
            ),
            stream=headers[gateway.STREAMING_HEADER] == "true",
            unmapped=unmapped,
            dialect=headers[gateway.VERSION_HEADER],
            body=body,
        )


READ_REQUEST: Final = GatewayRequests()

_HEADERS: Final[dict[str, tuple[str, ...]]] = {
    gateway.PROTOCOL_VERSION_HEADER: (gateway.PROTOCOL_VERSION,),
    gateway.VERSION_HEADER: VERSIONS,
    gateway.STREAMING_HEADER: ("true", "false"),
}


def _got(value: str | None) -> str:
    return "nothing" if value is None else repr(value)


def _tools(version: str) -> Check:
    later: dict[str, Check] = {"inputExamples": list_of(object_of(any_json)), "strict": boolean}
    unplaced = _PROVIDER_OPTIONS | ({} if version == "2" else later)
    function = ObjectShape({"name": string, "inputSchema": object_of(any_json)}, {"description": string}, unplaced)
    provider = ObjectShape({"id": string, "name": string, "args": object_of(any_json)})
    return list_of(tagged({"function": function, "provider-defined" if version == "2" else "provider": provider}))


_TOOL_CHOICES: Final[dict[str, ObjectShape]] = {
    **dict.fromkeys(("auto", "none", "required"), ObjectShape({})),
    "tool": ObjectShape({"toolName": string}),
}
_RESPONSE_FORMATS: Final[dict[str, ObjectShape]] = {
    "text": ObjectShape({}),
    "json": ObjectShape({}, {"schema": object_of(any_json), "name": string, "description": string}),
}
_REASONING: Final = ("provider-default", "none", "minimal", "low", "medium", "high", "xhigh", "max")

_OPTIONS: Final[dict[str, Check]] = {
    "maxOutputTokens": whole_number,
    **dict.fromkeys(("temperature", "topP", "topK", "presencePenalty", "frequencyPenalty"), number),
    "stopSequences": list_of(string),
    "seed": integer,
    "responseFormat": tagged(_RESPONSE_FORMATS),
    **_PROVIDER_OPTIONS,
}
"""The options of a client, which are options of the request under the same names."""


def _body(version: str) -> ObjectShape:
    """Source: the `CallOptions` of each version; `abortSignal` stays with the client."""
    optional: dict[str, Check] = {
        **_OPTIONS,
        "tools": _tools(version),
        "toolChoice": tagged(_TOOL_CHOICES),
        "includeRawChunks": boolean,
        # Version 4 alone has it; we send it in the others as well, for creators whose own words are not known.
        "reasoning": one_of(_REASONING),
    }
    return ObjectShape({"prompt": prompt_of(version)}, optional, {"headers": object_of(string)})


_BODY: Final[dict[str, ObjectShape]] = {version: _body(version) for version in VERSIONS}


def _choose(
    tools: Sequence[Mapping[str, Any]], choice: Mapping[str, Any] | None, unmapped: dict[str, Any]
) -> tuple[tuple[Tool, ...], ToolMode]:
    """The tools that the model may call, and whether it must; those that `toolChoice` takes away are collected.

    Tools that the provider would run itself are collected as well: only the client runs tools here.
    """
    kind = "auto" if choice is None else choice["type"]
    names = [tool["name"] for tool in tools if tool["type"] == "function"]
    wanted = {"none": [], "tool": [choice and choice.get("toolName")]}.get(kind, names)
    if kind == "required" and not tools:
        raise InvalidRequestError("toolChoice.type", repr(kind), "tools beside it")
    if kind == "tool" and wanted[0] not in [tool["name"] for tool in tools]:
        expected = f"one of {', '.join(names)}" if names else "no choice, because there are no tools"
        raise InvalidRequestError("toolChoice.toolName", repr(wanted[0]), expected)
    left: dict[str, Tool] = {}
    for place, tool in enumerate(tools):
        if tool["type"] != "function" or tool["name"] not in wanted:
            unmapped[f"tools[{place}]"] = tool
        elif tool["name"] in left:
            raise InvalidRequestError(f"tools[{place}].name", f"{tool['name']!r} again", "a name of its own")
        else:
            left[tool["name"]] = Tool(tool["name"], tool.get("description") or "", tool["inputSchema"])
    return tuple(left.values()), ToolMode.REQUIRED if kind in {"required", "tool"} else ToolMode.AUTO


# ---- The list of models for the published client ----


def _configuration(request: WireRequest, models: Sequence[ServedModel], _tokens: int) -> tuple[int, dict[str, Any]]:
    version = f"v{OF_BASE_PATHS.get(request.base_path, gateway.LATEST)}"
    entries = [
        {
            "id": model.id,
            "name": model.name,
            "description": None,
            "pricing": {"input": model.input_price, "output": model.output_price},
            "specification": {"specificationVersion": version, "provider": "partstream", "modelId": model.id},
            "modelType": "language",
        }
        for model in models
    ]
    return 200, {"models": entries}


# ---- The response as the stream parts of a provider ----

_NESTS_USAGE: Final = 3
"""The first version in which usage and finish reason are objects."""
_TAGS_FILES: Final = 4
"""The first version in which the end of a text states the spans of its sources, and files are tagged."""


class GatewayWriter(ChunkWriter):
    """One answer. The finish part ends the stream; the published client takes `[DONE]` and does not need it."""

    documents = (ServedDocument("GET", "/config", _configuration),)
    input_is_text = True

    def __init__(self, asked: InboundRequest, reply: Reply) -> None:
        super().__init__(asked, reply)
        # A client of another protocol gets the latest version.
        self._version = int(asked.dialect) if asked.dialect in VERSIONS else gateway.LATEST
        self._nests = self._version >= _NESTS_USAGE

    def _begin(self, _output: StreamOutput) -> list[Chunk]:
        return [{"type": "stream-start", "warnings": warnings(self._asked)}]

    def close_chunks(self, kind: str, block_id: str, said: Metadata, cited: Sequence[Chunk]) -> list[Chunk]:  # noqa: D102
        spans = {"citations": list(cited)} if cited and self._version >= _TAGS_FILES else {}
        return [{**end, **spans} for end in super().close_chunks(kind, block_id, said, cited)]

    def file_chunks(self, part: DataPart) -> list[Chunk]:  # noqa: D102
        data = b64encode(part.data).decode()
        tagged = {"type": "data", "data": data} if self._version >= _TAGS_FILES else data
        return [{"type": "file", "mediaType": part.mime_type, "data": tagged}]

    def end_chunks(self, finish: Finish) -> list[Chunk]:
        """The ids of the response, its error and the `finish`."""
        chunks: list[Chunk] = []
        if identity := known(id=finish.response_id, modelId=finish.model):
            chunks.append({"type": "response-metadata", **identity})
        if finish.error is not None:
            chunks.append({"type": "error", "error": error_value(finish.error)})
        said = {name: value for name, value in finish.provider_metadata.items() if is_json(value)}
        reason = finish.reason or FinishReason(UnifiedFinishReason.OTHER)
        word: Any = known(unified=reason.unified.value, raw=reason.raw) if self._nests else reason.unified.value
        return [*chunks, {"type": "finish", "finishReason": word, "usage": self._usage(finish), **beside(said)}]

    def _usage(self, finish: Finish) -> Chunk:
        usage = finish.usage or Usage()
        given, made, reasoned = usage.input_tokens, usage.output_tokens, usage.reasoning_tokens
        cached, written = usage.cached_tokens, usage.cache_write_tokens
        if not self._nests:
            totals = known(inputTokens=given, outputTokens=made, totalTokens=usage.total_tokens)
            return totals | known(reasoningTokens=reasoned, cachedInputTokens=cached)
        rest = rest_of(given, cached, written)
        return {
            "inputTokens": known(total=given, noCache=rest, cacheRead=cached, cacheWrite=written),
            "outputTokens": known(total=made, text=rest_of(made, reasoned), reasoning=reasoned),
        }

    @staticmethod
    def error(status: int, message: str) -> Chunk:  # noqa: D102
        error = {"message": message, "type": _type_of(status), "param": None, "code": None}
        return {"error": error, "generationId": _generation(f"{status}/{message}")}

    @classmethod
    def failed(cls, failure: ServedFailure) -> FailedReply:
        """A failure as an HTTP reply, with the types that the gateway's client makes its errors of."""
        reply = common_reply(failure, _ROWS)
        generation = _generation(failure.request_id or f"{reply.status}/{failure.message}")
        return replace(reply, body={**reply.body, "generationId": generation})

    @staticmethod
    def document(events: Sequence[Chunk]) -> tuple[int, Chunk]:
        """The document that the chunks of a stream make, with its HTTP status; that of the error where there is one."""
        document: Chunk = {"content": _content(events), "warnings": []}
        for chunk in events:
            kind, fields = chunk["type"], {name: value for name, value in chunk.items() if name != "type"}
            if kind == "error":
                stated = fields["error"].get("statusCode")
                status = stated if isinstance(stated, int) else _DEFAULT_STATUS
                said = GatewayWriter.error(status, fields["error"].get("message", ""))
                said["error"]["type"] = fields["error"].get("type", said["error"]["type"])
                return status, said
            if kind in {"stream-start", "finish"}:
                document |= fields
            elif kind == "response-metadata":
                document["response"] = {**document.get("response", {}), **fields}
        return 200, document


_DEFAULT_STATUS: Final = 500

_REQUEST: Final = "invalid_request_error"
_TYPES: Final[dict[int, str]] = {
    401: "authentication_error",
    403: "forbidden",
    404: "not_found",
    424: "failed_dependency",
    429: "rate_limit_exceeded",
}


def _type_of(status: int) -> str:
    return _TYPES.get(status, "internal_server_error" if status >= _DEFAULT_STATUS else _REQUEST)


_ROWS: Final[Mapping[FailureKind, FailureRow]] = {
    **{kind: FailureRow(status, _type_of(status)) for kind, status in STATUSES.items()},
    FailureKind.MODEL_NOT_FOUND: FailureRow(404, "model_not_found"),
    FailureKind.CONTEXT_LENGTH: FailureRow(400, _REQUEST, "context_length_exceeded", is_acted_on=True),
    # The client asks again after 429 and never after 402.
    FailureKind.SPENT_BUDGET: FailureRow(402, "insufficient_funds"),
    FailureKind.TIMEOUT: FailureRow(504, "timeout_error"),
}


def _generation(what: str) -> str:
    """The id of a failed request, for support."""
    return f"gen_{sha256(what.encode(errors='surrogatepass')).hexdigest()[:24]}"


_BLOCKS: Final = (TEXT, REASONING)
_WHOLE: Final = frozenset({"source", "file", "tool-call", "tool-result", "tool-approval-request", "custom"})


def _content(chunks: Sequence[Chunk]) -> list[Chunk]:
    """The content parts in order: a text where it began, with the fields of its chunks.

    A document has no place for the id of a thought, which separates thoughts that follow each other: it is metadata of
    the provider `partstream`.
    """
    content: list[Chunk] = []
    open_blocks: dict[tuple[str, str], Chunk] = {}
    for chunk in chunks:
        kind, _, step = chunk["type"].partition("-")
        if chunk["type"] in _WHOLE:
            content.append(dict(chunk))
        elif kind in _BLOCKS and step in {"start", "delta", "end"}:
            key = kind, chunk["id"]
            if step == "start":
                open_blocks[key] = {"type": kind, "text": ""}
                content.append(open_blocks[key])
                if kind == "reasoning":
                    open_blocks[key]["providerMetadata"] = wrap(thought_id=chunk["id"])
            block = open_blocks[key]
            block["text"] += chunk.get("delta", "")
            block |= {name: chunk[name] for name in ("citations",) if name in chunk}
            if "providerMetadata" in chunk:
                take_metadata(block.setdefault("providerMetadata", {}), chunk)
    return content
