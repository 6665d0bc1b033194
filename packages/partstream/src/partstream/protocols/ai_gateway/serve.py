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
import base64
from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any, Final, NamedTuple, TypeAlias

from partstream.codec.json_codec import dumps, is_json
from partstream.conversation.media import file_name
from partstream.conversation.provider_state import ITEMS, PLACE, AnswerPlace
from partstream.errors import InvalidRequestError
from partstream.lm.messages import ChatMessage, RequestOptions, Role, Tool, ToolMode
from partstream.lm.outputs import FileMode, Finish, InboundRequest, Unmapped
from partstream.lm.parts import (
    DataPart,
    FinishReason,
    MessagePart,
    TextPart,
    ToolCallPart,
    ToolResultContent,
    ToolResultPart,
    UnifiedFinishReason,
    Usage,
    thinking_part,
    tool_call_part,
    unchecked_part,
)
from partstream.protocols.ai_gateway.models import (
    LATEST,
    MODEL_HEADER,
    PROTOCOL_VERSION,
    PROTOCOL_VERSION_HEADER,
    STREAMING_HEADER,
    VERSION_HEADER,
)
from partstream.protocols.ai_gateway.read_response import document_of, error_body, failed_reply
from partstream.protocols.ai_sdk.blocks import file_part
from partstream.protocols.ai_sdk.errors import Chunk, error_value, is_summary
from partstream.protocols.ai_sdk.provider_state import REASONING, SUMMARY, TOOL_CALL, unwrap
from partstream.protocols.ai_sdk.serve import (
    ChunkForms,
    ChunkWriter,
    Metadata,
    beside,
    delta,
    end_block,
    known,
    rest_of,
    start_block,
    streamed_input,
    warnings,
    whole_text,
)
from partstream.protocols.serve import RequestReaderSpec, ResponseWriterSpec, ServedDocument, ServedModel, WireRequest

# ---- The prompt as VS Code's messages, after its shape was checked ----

DENIED: Final = "The tool was not run: its execution was denied."
"""The result of a call that was forbidden without a reason."""

_OPTIONS_FIELD: Final = "providerOptions"
_OF_THE_GATEWAY: Final = "gateway"
"""The gateway's own metadata of a response, which some clients give back."""

_Calls: TypeAlias = "dict[str, Mapping[str, Any]]"
"""The calls of the messages so far as they came, by their ids."""


def read_prompt(prompt: Iterable[Mapping[str, Any]], unmapped: dict[str, Any]) -> tuple[ChatMessage, ...]:
    """The messages, in order."""
    calls: _Calls = {}
    messages = []
    for number, message in enumerate(prompt):
        parts = _ROLES[message["role"]](message["content"], f"prompt[{number}].content", calls, unmapped)
        if parts:
            messages.append(ChatMessage(_SPEAKERS[message["role"]], tuple(parts)))
    return tuple(messages)


_SPEAKERS: Final = {"system": Role.SYSTEM, "user": Role.USER, "assistant": Role.ASSISTANT, "tool": Role.USER}


def _user(content: Any, where: str, _calls: _Calls, unmapped: dict[str, Any]) -> list[MessagePart]:
    parts: list[MessagePart] = []
    for place, part in enumerate(content):
        _collect_options(part, f"{where}[{place}]", unmapped)
        parts += _shown(part, f"{where}[{place}]", unmapped)
    return parts


def _assistant(content: Any, where: str, calls: _Calls, unmapped: dict[str, Any]) -> list[MessagePart]:
    reader = _Answer(unmapped)
    for place, part in enumerate(content):
        reader.read(part, f"{where}[{place}]")
    calls |= reader.calls
    return reader.parts


def _tool(content: Any, where: str, calls: _Calls, unmapped: dict[str, Any]) -> list[MessagePart]:
    parts: list[MessagePart] = []
    for place, part in enumerate(content):
        if part["type"] != "tool-result":
            unmapped[f"{where}[{place}]"] = part
            continue
        call = calls.get(part["toolCallId"], {})
        if call.get("toolName", part["toolName"]) != part["toolName"]:
            unmapped[f"{where}[{place}].toolName"] = part["toolName"]
        # Clients repeat at the result what they give back at its call.
        if part.get(_OPTIONS_FIELD) != call.get(_OPTIONS_FIELD):
            _collect_options(part, f"{where}[{place}]", unmapped)
        parts.append(_result(part, f"{where}[{place}].output", unmapped))
    return parts


_ROLES: Final[dict[str, Callable[[Any, str, _Calls, dict[str, Any]], list[MessagePart]]]] = {
    "system": lambda content, _where, _calls, _unmapped: [TextPart(content)] if content else [],
    "user": _user,
    "assistant": _assistant,
    "tool": _tool,
}


class _Answer:
    """Reads one message of the assistant."""

    def __init__(self, unmapped: dict[str, Any]) -> None:
        self.parts: list[MessagePart] = []
        self.calls: dict[str, Mapping[str, Any]] = {}
        self._unmapped = unmapped
        self._items: list[Mapping[str, Any]] = []
        self._place = AnswerPlace()

    def read(self, part: Mapping[str, Any], where: str) -> None:
        read = _PARTS.get(part["type"])
        if read is None or part.get("providerExecuted") is True:
            self._unmapped[where] = part
        else:
            read(self, part, where)

    def text(self, part: Mapping[str, Any], where: str) -> None:
        """Visible text; the summary of a compacted conversation is not, and goes back to its provider alone."""
        options = part.get(_OPTIONS_FIELD) or {}
        if is_summary(options):
            self._carry({"type": SUMMARY, "text": part["text"]}, options, "")
            return
        _collect_options(part, where, self._unmapped)
        if part["text"]:
            self._place.add_text(part["text"])
            self.parts.append(TextPart(part["text"]))

    def file(self, part: Mapping[str, Any], where: str) -> None:
        """A file that the model made."""
        _collect_options(part, where, self._unmapped)
        self.parts += _shown(part, where, self._unmapped)

    def reasoning(self, part: Mapping[str, Any], _where: str) -> None:
        """A block of reasoning, with its provider's options."""
        self._carry({"type": REASONING, "text": part["text"]}, part.get(_OPTIONS_FIELD) or {}, part["text"])

    def call(self, part: Mapping[str, Any], _where: str) -> None:
        """A call, after its provider's options."""
        self._carry({"type": TOOL_CALL, "toolCallId": part["toolCallId"]}, part.get(_OPTIONS_FIELD) or {}, "")
        self.calls[part["toolCallId"]] = part
        self._place.add_call()
        self.parts.append(tool_call_part(part["toolCallId"], part["toolName"], part["input"]))

    def _carry(self, item: dict[str, Any], options: Mapping[str, Any], text: str) -> None:
        """Adds the thinking part that shows a text and brings back an item."""
        own, foreign, beside, thought_id = unwrap({name: options[name] for name in options if name != _OF_THE_GATEWAY})
        new = [dict(foreign)] if foreign is not None else []
        if any(own.values()):
            new.append({**item, _OPTIONS_FIELD: own})
        self._items += [{**one, PLACE: self._place.value} for one in new]
        metadata = {**beside, **({ITEMS: list(self._items)} if new else {})}
        if text or metadata:
            self.parts.append(thinking_part(text, thought_id, metadata or None))


_PARTS: Final[dict[str, Callable[[_Answer, Mapping[str, Any], str], None]]] = {
    "text": _Answer.text,
    "file": _Answer.file,
    "reasoning": _Answer.reasoning,
    "tool-call": _Answer.call,
}
"""Every part that has a place, by its type."""


def _shown(part: Mapping[str, Any], where: str, unmapped: dict[str, Any]) -> list[TextPart | DataPart]:
    """A text or a file, also as an item of a result."""
    if part["type"] == "text":
        return [TextPart(part["text"])] if part["text"] else []
    data = part.get("data")
    if isinstance(data, dict) and data["type"] == "text":
        read: Any = unchecked_part(DataPart, data["text"].encode(), part["mediaType"])
    else:
        read = file_part(dict(part), FileMode.ADDRESS)
    if isinstance(read, Unmapped):  # the reference of a file that a provider keeps
        unmapped[where] = part
        return []
    if part.get("filename", made_up := file_name(read.mime_type)) != made_up:
        unmapped[f"{where}.filename"] = part["filename"]
    return [read]


def _result(part: Mapping[str, Any], where: str, unmapped: dict[str, Any]) -> ToolResultPart:
    output = part["output"]
    content = _OUTPUTS[output["type"]](output, f"{where}.value", unmapped)
    is_error = output["type"] not in {"text", "json", "content"}
    return unchecked_part(ToolResultPart, part["toolCallId"], tuple(content), is_error)


_OUTPUTS: Final[dict[str, Callable[[Mapping[str, Any], str, dict[str, Any]], list[ToolResultContent]]]] = {
    **dict.fromkeys(
        ("text", "error-text"),
        lambda output, _where, _unmapped: [TextPart(output["value"])] if output["value"] else [],
    ),
    **dict.fromkeys(("json", "error-json"), lambda output, _where, _unmapped: [DataPart.json(output["value"])]),
    "content": lambda output, where, unmapped: [
        part for place, item in enumerate(output["value"]) for part in _shown(item, f"{where}[{place}]", unmapped)
    ],
    "execution-denied": lambda output, _where, _unmapped: [TextPart(output.get("reason") or DENIED)],
}


def _collect_options(part: Mapping[str, Any], where: str, unmapped: dict[str, Any]) -> None:
    """Collects a provider's options of a text or a file, without the gateway's own metadata."""
    options = {name: value for name, value in (part.get(_OPTIONS_FIELD) or {}).items() if name != _OF_THE_GATEWAY}
    if options:
        unmapped[f"{where}.{_OPTIONS_FIELD}"] = options


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


def check_tagged(value: object, where: str, shapes: Mapping[str, ObjectShape], unmapped: dict[str, Any]) -> None:
    """Checks an object whose `type` says which of the shapes it has.

    Raises:
        InvalidRequestError: It has none of the types, or not the shape of its type.
    """
    kind = _object(value, where).get("type")
    if not isinstance(kind, str) or kind not in shapes:
        got = "nothing" if kind is None else repr(kind)
        raise InvalidRequestError(f"{where}.type", got, f"one of {', '.join(shapes)}")
    shape = shapes[kind]
    check_object(value, where, shape._replace(required={"type": string, **shape.required}), unmapped)


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
        data = base64.b64decode(value, validate=True)
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
        check_tagged(value, where, shapes, unmapped)

    return check


def type_name(value: object) -> str:
    """The type of a value for an error; its content may be secret, so it is not shown."""
    return "null" if value is None else type(value).__name__


# ---- The shapes of prompts in each version ----

VERSIONS: Final = ("2", "3", "4")
"""The versions of the specification."""

PROVIDER_OPTIONS: Final = object_of(object_of(any_json))
"""An object for each provider."""

_PROVIDER_OPTIONS: Final[dict[str, Check]] = {"providerOptions": PROVIDER_OPTIONS}


def prompt_of(version: str) -> Check:
    """The check of a whole prompt in one version of the specification."""

    contents = _CONTENTS[version]

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

# `originalUrl` is where the SDK has fetched the bytes; with the bytes, it is not needed.
_FILE: Final[dict[str, ObjectShape]] = {
    **dict.fromkeys(
        ("2", "3"),
        ObjectShape(
            {"data": _file_text, "mediaType": string},
            {"originalUrl": string, "filename": string},
            _PROVIDER_OPTIONS,
        ),
    ),
    "4": ObjectShape({"data": tagged(_TAGGED_DATA), "mediaType": string}, {"filename": string}, _PROVIDER_OPTIONS),
}


def _file_id(value: object, where: str, unmapped: dict[str, Any]) -> None:
    check: Check = string if isinstance(value, str) else object_of(string)
    check(value, where, unmapped)


_TEXT_ITEM: Final = ObjectShape({"text": string}, unplaced=_PROVIDER_OPTIONS)
_OUTPUT_ITEMS: Final[dict[str, dict[str, ObjectShape]]] = {
    "2": {
        "text": ObjectShape({"text": string}),
        "media": ObjectShape({"data": base64_text, "mediaType": string}),
    },
    "3": {
        "text": _TEXT_ITEM,
        "file-data": ObjectShape({"data": base64_text, "mediaType": string}, {"filename": string}, _PROVIDER_OPTIONS),
        "file-url": ObjectShape({"url": _url}, {"mediaType": string}, _PROVIDER_OPTIONS),
        "file-id": ObjectShape({"fileId": _file_id}, unplaced=_PROVIDER_OPTIONS),
        "image-data": ObjectShape({"data": base64_text, "mediaType": string}, unplaced=_PROVIDER_OPTIONS),
        "image-url": ObjectShape({"url": _url}, unplaced=_PROVIDER_OPTIONS),
        "image-file-id": ObjectShape({"fileId": _file_id}, unplaced=_PROVIDER_OPTIONS),
        "custom": ObjectShape({}, unplaced=_PROVIDER_OPTIONS),
    },
    "4": {
        "text": _TEXT_ITEM,
        "file": ObjectShape(
            {"data": tagged(_TAGGED_DATA), "mediaType": string}, {"filename": string}, _PROVIDER_OPTIONS
        ),
        "custom": ObjectShape({}, unplaced=_PROVIDER_OPTIONS),
    },
}


def _outputs(version: str) -> dict[str, ObjectShape]:
    more = {} if version == "2" else _PROVIDER_OPTIONS
    shapes = {
        "text": ObjectShape({"value": string}, unplaced=more),
        "json": ObjectShape({"value": any_json}, unplaced=more),
        "error-text": ObjectShape({"value": string}, unplaced=more),
        "error-json": ObjectShape({"value": any_json}, unplaced=more),
        "content": ObjectShape({"value": list_of(tagged(_OUTPUT_ITEMS[version]))}, unplaced=more),
    }
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
        "file": _FILE[version],
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


def _contents(version: str) -> dict[str, Check]:
    parts = _parts(version)
    named = {role: {name: parts[name] for name in names if name in parts} for role, names in _PARTS_OF_ROLE.items()}
    return {"system": string, **{role: list_of(tagged(shapes)) for role, shapes in named.items()}}


_CONTENTS: Final[dict[str, dict[str, Check]]] = {version: _contents(version) for version in VERSIONS}


# ---- The request ----


def read_request(request: WireRequest) -> InboundRequest:
    """Reads `POST {base}/language-model`.

    Raises:
        InvalidRequestError: A header or a field of the body is not what the protocol asks for.
    """
    headers, body = request.headers, request.body
    for name, values in _HEADERS.items():
        if headers.get(name) not in values:
            raise InvalidRequestError(f"header {name}", _got(headers.get(name)), f"one of {', '.join(values)}")
    if not headers.get(MODEL_HEADER):
        raise InvalidRequestError(f"header {MODEL_HEADER}", _got(headers.get(MODEL_HEADER)), "the id of a model")
    unmapped: dict[str, Any] = {}
    check_object(body, "", _BODY[headers[VERSION_HEADER]], unmapped)
    tools = body.get("tools") or []
    left, mode = _choose(tools, body.get("toolChoice"), unmapped)
    effort = body.get("reasoning")
    if body.get("includeRawChunks"):
        unmapped["includeRawChunks"] = True
    return InboundRequest(
        model=headers[MODEL_HEADER],
        messages=read_prompt(body["prompt"], unmapped),
        options=RequestOptions(
            left,
            mode,
            {name: value for name, value in body.items() if name in _OPTIONS},
            {} if effort in _NO_EFFORT else {"reasoningEffort": effort},
        ),
        stream=headers[STREAMING_HEADER] == "true",
        unmapped=unmapped,
        dialect=headers[VERSION_HEADER],
        body=body,
    )


_HEADERS: Final[dict[str, tuple[str, ...]]] = {
    PROTOCOL_VERSION_HEADER: (PROTOCOL_VERSION,),
    VERSION_HEADER: VERSIONS,
    STREAMING_HEADER: ("true", "false"),
}


def _got(value: str | None) -> str:
    return "nothing" if value is None else repr(value)


def _tools(version: str) -> Check:
    required: dict[str, Check] = {"name": string, "inputSchema": object_of(any_json)}
    described: dict[str, Check] = {"description": string}
    unplaced: dict[str, Check] = {"providerOptions": PROVIDER_OPTIONS}
    provider = ObjectShape({"id": string, "name": string, "args": object_of(any_json)})
    if version == "2":
        return list_of(tagged({"function": ObjectShape(required, described, unplaced), "provider-defined": provider}))
    unplaced |= {"inputExamples": list_of(object_of(any_json)), "strict": boolean}
    return list_of(tagged({"function": ObjectShape(required, described, unplaced), "provider": provider}))


_TOOL_CHOICES: Final[dict[str, ObjectShape]] = {
    **dict.fromkeys(("auto", "none", "required"), ObjectShape({})),
    "tool": ObjectShape({"toolName": string}),
}
_RESPONSE_FORMATS: Final[dict[str, ObjectShape]] = {
    "text": ObjectShape({}),
    "json": ObjectShape({}, {"schema": object_of(any_json), "name": string, "description": string}),
}
_REASONING: Final = ("provider-default", "none", "minimal", "low", "medium", "high", "xhigh", "max")
_NO_EFFORT: Final = {None, "provider-default"}

_OPTIONS: Final[dict[str, Check]] = {
    "maxOutputTokens": whole_number,
    **dict.fromkeys(("temperature", "topP", "topK", "presencePenalty", "frequencyPenalty"), number),
    "stopSequences": list_of(string),
    "seed": integer,
    "responseFormat": tagged(_RESPONSE_FORMATS),
    "providerOptions": PROVIDER_OPTIONS,
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


READ_REQUEST: Final = RequestReaderSpec(read=read_request)


# ---- The end of a response: finish reason, usage and errors ----

_UNSAID: Final = FinishReason(UnifiedFinishReason.OTHER)


def end_chunks(finish: Finish, version: int) -> list[Chunk]:
    """The last chunks of a response: its ids, its error and the `finish`."""
    chunks: list[Chunk] = []
    identity = known(id=finish.response_id, modelId=finish.model)
    if identity:
        chunks.append({"type": "response-metadata", **identity})
    if finish.error is not None:
        chunks.append({"type": "error", "error": error_value(finish.error)})
    said = {name: value for name, value in finish.provider_metadata.items() if is_json(value)}
    end = _ENDS[version](finish.reason or _UNSAID, finish.usage or Usage())
    chunks.append({"type": "finish", **end, **({"providerMetadata": said} if said else {})})
    return chunks


def _flat(reason: FinishReason, usage: Usage) -> Chunk:
    """Version 2."""
    return {
        "finishReason": reason.unified.value,
        "usage": known(
            inputTokens=usage.input_tokens,
            outputTokens=usage.output_tokens,
            totalTokens=usage.total_tokens,
            reasoningTokens=usage.reasoning_tokens,
            cachedInputTokens=usage.cached_tokens,
        ),
    }


def _nested(reason: FinishReason, usage: Usage) -> Chunk:
    """Versions 3 and 4."""
    return {
        "finishReason": known(unified=reason.unified.value, raw=reason.raw),
        "usage": {
            "inputTokens": known(
                total=usage.input_tokens,
                noCache=rest_of(usage.input_tokens, usage.cached_tokens, usage.cache_write_tokens),
                cacheRead=usage.cached_tokens,
                cacheWrite=usage.cache_write_tokens,
            ),
            "outputTokens": known(
                total=usage.output_tokens,
                text=rest_of(usage.output_tokens, usage.reasoning_tokens),
                reasoning=usage.reasoning_tokens,
            ),
        },
    }


_ENDS: Final[dict[int, Callable[[FinishReason, Usage], Chunk]]] = {2: _flat, 3: _nested, 4: _nested}


# ---- The list of models for the published client ----

_VERSIONS: Final[Mapping[str, str]] = MappingProxyType({"/v3/ai": "3", "/v1/ai": "2", "/v4/ai": "4"})
"""The version of the specification, by the base path of each major version of the published client."""

_NEWEST: Final = "4"


def _configuration(request: WireRequest, models: Sequence[ServedModel], _tokens: int) -> tuple[int, dict[str, Any]]:
    version = f"v{_VERSIONS.get(request.base_path, _NEWEST)}"
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


DOCUMENTS: Final = (ServedDocument("GET", "/config", _configuration),)


# ---- The response as the stream parts of a provider ----

_HAS_CITATIONS: Final = 4
"""The first version in which the end of a text states the spans of its sources, and files are tagged."""


def _close(version: int, kind: str, block_id: str, said: Metadata, cited: Sequence[Chunk]) -> list[Chunk]:
    (end,) = end_block(kind, block_id, said)
    return [{**end, "citations": list(cited)} if cited and version >= _HAS_CITATIONS else end]


def _call(part: ToolCallPart, pieces: Sequence[str], said: Metadata) -> list[Chunk]:
    call = {"type": "tool-call", "toolCallId": part.call_id, "toolName": part.name, "input": "".join(pieces)}
    return [*streamed_input(part, pieces), {**call, **beside(said)}]


def _file(version: int, part: DataPart) -> list[Chunk]:
    data = b64encode(part.data).decode()
    tagged = {"type": "data", "data": data} if version >= _HAS_CITATIONS else data
    return [{"type": "file", "mediaType": part.mime_type, "data": tagged}]


_FORMS: Final = {
    str(version): ChunkForms(
        start=lambda asked, _reply: [{"type": "stream-start", "warnings": warnings(asked)}],
        open=start_block,
        delta=partial(delta, "delta"),
        close=partial(_close, version),
        summary=partial(whole_text, "delta"),
        call=_call,
        source=lambda source: [source],
        file=partial(_file, version),
        end=partial(end_chunks, version=version),
    )
    for version in (2, 3, 4)
}


# The finish part ends the stream; the published client takes `[DONE]` and does not need it. A client of another
# protocol gets the latest version.
WRITE_RESPONSE: Final = ResponseWriterSpec(
    open=lambda asked, reply: ChunkWriter(_FORMS.get(asked.dialect, _FORMS[str(LATEST)]), asked, reply),
    frame=lambda chunk: b"data: " + dumps(chunk) + b"\n\n",
    document=document_of,
    error=error_body,
    documents=DOCUMENTS,
    base_paths=("/v3/ai", "/v1/ai", "/v4/ai"),  # of each major version of the published client
    fail=failed_reply,
)
