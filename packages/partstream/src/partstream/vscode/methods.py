"""The methods between the extension and the sidecar, and the conversion of their values; knows no transport.

The protocol follows LSP: `initialize` first, `$/progress` and `$/cancelRequest` for any request, `shutdown` and `exit`
last. `tools/generate.py` writes `extension/src/protocol.generated.ts` from the table of methods.

Params are checked in two steps. :func:`check` compares JSON values with the TypedDicts of
:mod:`partstream.vscode.rpc_types` and ignores fields that a shape does not have: a newer peer may send more. It leaves
out parts, the unions of TypedDicts. :func:`decode_part` checks those by the rows of :data:`PART_ROWS`; it logs and
skips a part of an unknown type, except in a tool result, which keeps it as JSON: a newer VS Code may send types that
this version does not know. :class:`Announcements` sends the sidecar's own events, from any thread.
"""

from __future__ import annotations
import logging
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from functools import cache
from types import NoneType, UnionType
from typing import (
    TYPE_CHECKING,
    Any,
    Final,
    Literal,
    NotRequired,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from partstream.codec.checks import MOST_TOKENS, as_count, dataclass
from partstream.codec.json_codec import dumps, loads, may_nest_deeply
from partstream.errors import CallerError, UnexpectedValueError
from partstream.lm.messages import ChatMessage, RequestOptions, Role, Tool, ToolMode
from partstream.lm.parts import (
    Audience,
    DataPart,
    MessagePart,
    ResponsePart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolResultPart,
    row_of_class,
    tool_call_part,
    unchecked_part,
)
from partstream.runtime.progress import thinking_text
from partstream.vscode import rpc_types as wire
from partstream.vscode.rpc import Outbox, RequestId, encode_notification

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop

    from partstream.lm.provider import LanguageModelChatInformation
    from partstream.vscode.failures import GroupSecrets

PROTOCOL_VERSION = 1
"""Increases with every change that an older peer would misunderstand; peers of different versions refuse each other."""


class Direction(StrEnum):
    """The direction in which a method is sent."""

    TO_SIDECAR = "to sidecar"
    TO_EXTENSION = "to extension"


@dataclass(frozen=True, slots=True)
class Method:
    """A method of the protocol."""

    name: str
    direction: Direction
    params: type[Any] | None  # the TypedDict of the parameters, or None for a method without parameters
    # the TypedDict of the result, or None for a result of null; has no meaning for a notification
    result: type[Any] | None
    is_request: bool  # whether the method is a request, which gets a response; otherwise it is a notification
    doc: str  # the method's purpose, in one sentence


def _request(name: str, params: type[Any] | None, result: type[Any] | None, doc: str) -> Method:
    return Method(name, Direction.TO_SIDECAR, params, result, is_request=True, doc=doc)


def _ask(name: str, params: type[Any] | None, result: type[Any] | None, doc: str) -> Method:
    return Method(name, Direction.TO_EXTENSION, params, result, is_request=True, doc=doc)


def _notification(name: str, params: type[Any] | None, doc: str) -> Method:
    return Method(name, Direction.TO_SIDECAR, params, None, is_request=False, doc=doc)


def _announcement(name: str, params: type[Any] | None, doc: str) -> Method:
    return Method(name, Direction.TO_EXTENSION, params, None, is_request=False, doc=doc)


_ROWS = (
    _request(
        "initialize",
        wire.InitializeParams,
        wire.InitializeResult,
        "Opens the connection; a sidecar of another protocol version refuses with ProtocolVersionMismatch.",
    ),
    _request(
        "languageModels/information",
        wire.InformationParams,
        wire.InformationResult,
        "Lists the models of a group; the result names the providers that failed, and the request succeeds.",
    ),
    _request(
        "languageModels/response",
        wire.ResponseParams,
        None,
        "Answers a conversation; the parts stream as $/progress, and the result completes the answer.",
    ),
    _request(
        "languageModels/complete",
        wire.CompleteParams,
        wire.CompleteResult,
        "Completes the text at a cursor, from memory or, after a delay, by a model; cancelled, the model is too.",
    ),
    _request(
        "languageModels/countCompletions",
        wire.CompletionCounts,
        wire.CompletionCounts,
        "Counts completions; the result has the counts of today in all windows.",
    ),
    _request(
        "languageModels/tokenCount",
        wire.TokenCountParams,
        wire.TokenCountResult,
        "Counts the tokens of many texts at once; an estimate replaces a count that fails.",
    ),
    _request(
        "languageModels/page",
        wire.PageParams,
        wire.PageResult,
        "Returns a page for a webview. That of usage takes a newer one as the message `page`; that of a connection "
        "posts the messages `copy` and `again`.",
    ),
    _request(
        "languageModels/counting",
        None,
        wire.CountingResult,
        "Returns how tokens are counted, for the debug information; asks no provider and loads none.",
    ),
    _request(
        "languageModels/diagnostics",
        None,
        wire.DiagnosticsResult,
        "Returns how the last answers ended and which rules providers broke, for the debug information.",
    ),
    _request(
        "languageModels/recordNext",
        wire.RecordNextParams,
        None,
        "Has the next answer recorded to a file of the user's data folder, without keys, or calls that off; "
        "languageModels/didRecord follows when it has ended.",
    ),
    _request("ui/run", wire.RunParams, wire.RunResult, "Runs a dialog, which asks the extension for what it shows."),
    _request("ui/check", wire.CheckParams, wire.CheckResult, "Asks whether a text can be taken that a box has."),
    _ask("ui/list", wire.ListParams, wire.PageReply, "Shows a list to choose from, or that something goes on."),
    _ask("ui/box", wire.BoxParams, wire.PageReply, "Asks for a text."),
    _ask("ui/message", wire.MessageParams, wire.MessageResult, "Shows a notification or a question."),
    _ask("ui/progress", wire.ProgressTitle, None, "Shows that something goes on, until it is cancelled or stopped."),
    _ask("ui/path", wire.PathParams, wire.PathResult, "Asks for a file, or for a place to save one."),
    _ask("ui/write", wire.WriteParams, wire.WriteResult, "Writes a file; its content is base64."),
    _ask("ui/command", wire.CommandParams, wire.CommandResult, "Runs a command of VS Code."),
    _ask("ui/open", wire.OpenParams, None, "Opens a file or a page."),
    _ask("ui/copy", wire.CopyParams, None, "Puts a text into the clipboard."),
    _ask("ui/settings", wire.SettingsParams, wire.SettingsResult, "Reads settings."),
    _ask("ui/change", wire.SettingChange, None, "Writes a setting that begins no new process."),
    _ask("ui/memory", wire.MemoryParams, wire.MemoryResult, "Reads or writes what outlives the window."),
    _ask("ui/facts", None, wire.WindowFacts, "Says what the window is like."),
    _ask("ui/models", None, wire.UsableModels, "Says which models VS Code has."),
    _ask("ui/lists", None, wire.ListsResult, "Says what is known of every group and provider."),
    _ask("ui/debugInformation", None, wire.DebugInformation, "Collects the debug information."),
    _ask("ui/page", wire.PageName, None, "Shows a page, whose content the extension asks for."),
    _ask("ui/setUpChat", None, wire.IsDone, "Sets up VS Code's chat without signing in, and waits for it."),
    _ask("ui/addGroup", wire.NewGroup, wire.IsDone, "Adds a group."),
    _request("shutdown", None, None, "Cancels all requests and closes all providers; then only exit is accepted."),
    _notification(
        "languageModels/forgetGroup",
        wire.ForgetGroupParams,
        "Announces that a group is gone: its provider is closed once its running answers have ended.",
    ),
    _notification("ui/focus", wire.FocusParams, "Says whether the window has the focus."),
    _announcement("ui/budgetsDidChange", wire.BudgetsDidChangeParams, "Announces what is left of budgets at hubs."),
    _notification("exit", None, "Ends the process, with status 0 after shutdown, otherwise 1."),
    _notification(
        "$/cancelRequest",
        wire.CancelParams,
        "Cancels a request: its response is RequestCancelled, sent at once, and no progress follows.",
    ),
    _announcement("$/progress", wire.ProgressParams, "Carries the next parts of a running answer."),
    _announcement(
        "languageModels/didChange",
        wire.ModelsDidChangeParams,
        "Announces that a list of models may have changed; never sent because of languageModels/information itself.",
    ),
    _announcement(
        "languageModels/providerDidLoad",
        wire.ProviderDidLoadParams,
        "Announces that a person's own provider was loaded, or could not be loaded.",
    ),
    _announcement(
        "languageModels/tokenCountsDidChange",
        wire.TokenCountsDidChangeParams,
        "Announces that token counts of texts have noticeably changed for some models.",
    ),
    _announcement("languageModels/didAnswer", wire.DidAnswerParams, "Announces the usage of an answer that has ended."),
    _announcement(
        "languageModels/didRecord",
        wire.DidRecordParams,
        "Announces that a recording that was asked for has ended, and where it is.",
    ),
    _notification(
        "setLogLevel",
        wire.SetLogLevelParams,
        "Says which messages the output channel shows: sent after initialize, and when the level changes.",
    ),
    _announcement("log", wire.LogParams, "Carries a line for the output channel."),
)

METHODS: Mapping[str, Method] = {row.name: row for row in _ROWS}

# ---- Validation ----

_NAMES = {
    str: "a string",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    NoneType: "null",
    list: "an array",
    dict: "an object",
}


class InvalidParamsError(UnexpectedValueError, CallerError):
    """The peer sent a value of the wrong shape; `where` is a place such as `params.messages[2].role`."""


def check(value: object, shape: Any, where: str) -> None:
    """Checks `value` and all values in it, except parts.

    Raises:
        InvalidParamsError: The first place with the wrong shape.
    """
    if is_typeddict(shape):
        _check_object(value, shape, where)
        return
    origin = get_origin(shape)
    if origin in {Union, UnionType}:
        _check_union(value, get_args(shape), where)
    elif origin is list:
        item = get_args(shape)[0]
        if not isinstance(value, list):
            raise InvalidParamsError(where, _describe(value), _NAMES[list])
        for index, entry in enumerate(value):
            check(entry, item, f"{where}[{index}]")
    elif origin is dict:
        _expect(isinstance(value, dict), value, where, _NAMES[dict])
    elif origin is Literal:
        choices = get_args(shape)
        is_one = any(value == choice and type(value) is type(choice) for choice in choices)
        _expect(is_one, value, where, " or ".join(map(repr, choices)))
    elif shape is not Any:
        _expect(_is_a(value, shape), value, where, _NAMES[shape])


def _check_object(value: object, shape: Any, where: str) -> None:
    if not isinstance(value, dict):
        raise InvalidParamsError(where, _describe(value), _NAMES[dict])
    for name, (hint, required) in _fields(shape).items():
        if name in value:
            check(value[name], hint, f"{where}.{name}")
        elif required:
            raise InvalidParamsError(f"{where}.{name}", "nothing", _NAMES.get(get_origin(hint) or hint, "a value"))


def _check_union(value: object, choices: tuple[Any, ...], where: str) -> None:
    if value is None and NoneType in choices:
        return
    shapes = [choice for choice in choices if choice is not NoneType]
    if len(shapes) == 1:
        check(value, shapes[0], where)
    elif not all(map(is_typeddict, shapes)):
        _expect(any(_is_a(value, shape) for shape in shapes), value, where, " or ".join(_NAMES[s] for s in shapes))


@cache
def _fields(shape: Any) -> dict[str, tuple[Any, bool]]:
    """The fields of a TypedDict: the shape of each, and whether it is required."""
    fields = {}
    for name, hint in get_type_hints(shape, include_extras=True).items():
        optional = get_origin(hint) is NotRequired
        fields[name] = (get_args(hint)[0] if optional else hint, not optional)
    return fields


def _is_a(value: object, kind: type) -> bool:
    if isinstance(value, bool):
        return kind is bool
    return isinstance(value, int | float) if kind is float else isinstance(value, kind)


def _expect(fits: bool, value: object, where: str, expected: str) -> None:
    if not fits:
        raise InvalidParamsError(where, _describe(value), expected)


def _describe(value: object) -> str:
    # Shows only numbers and booleans: a string may be a key in the wrong field.
    name = _NAMES.get(type(value), type(value).__name__)
    return repr(value) if isinstance(value, int | float) else name


# ---- Conversion ----

_logger = logging.getLogger("partstream.hosts.vscode")


@dataclass(frozen=True, slots=True)
class PartRow:
    """The conversion of one type of part, both ways."""

    tag: str  # the `type` on the wire
    part: type[Any]  # the library's class
    shape: type[Any]  # the TypedDict on the wire
    decode: Callable[[Any, str], MessagePart]  # makes a part of a checked wire value and its place
    encode: Callable[[Any], Mapping[str, Any]]  # makes the wire value of a part
    in_response: bool = True  # whether a provider may report such parts


def _decode_bytes(value: str, where: str) -> bytes:
    try:
        return b64decode(value, validate=True)
    except ValueError as error:
        raise InvalidParamsError(where, f"invalid base64 ({error})", "base64") from error


def _decode_tool_result(value: wire.ToolResultPart, where: str) -> ToolResultPart:
    content = tuple(_decode_result(item, f"{where}.content[{index}]") for index, item in enumerate(value["content"]))
    return unchecked_part(ToolResultPart, value["callId"], content, value.get("isError", False))


def _decode_result(value: object, where: str) -> TextPart | DataPart:
    """A part of a tool's result. The model waits for it: what is neither text nor data becomes JSON, and is logged."""
    kind = value.get("type") if isinstance(value, dict) else None
    if isinstance(kind, str) and kind in _RESULT_TAGS:
        return cast("TextPart | DataPart", decode_part(value, where))
    _logger.warning("%s: passed a part of a tool result as JSON, whose type is %.80r, not text or data", where, kind)
    return TextPart(dumps(value).decode())


def _encode_tool_result(part: ToolResultPart) -> wire.ToolResultPart:
    content = cast("list[wire.TextPart | wire.DataPart]", [encode_part(item) for item in part.content])
    return {"type": "tool_result", "callId": part.call_id, "content": content, "isError": part.is_error}


def _encode_thinking(part: ThinkingPart) -> wire.ThinkingPart:
    shown: wire.ThinkingPart = {
        "type": "thinking",
        "value": thinking_text(part),
        "id": part.id,
        "metadata": cast("dict[str, Any] | None", part.metadata),
    }
    if part.entries:
        shown["entries"] = list(part.entries)
    return shown


def _encode_audience(part: TextPart | DataPart) -> Mapping[str, Any]:
    """The field of a part with an audience; no field for any other part."""
    return {} if part.audience is None else {"audience": [int(one) for one in part.audience]}


def _decode_audience(value: Mapping[str, Any]) -> tuple[Audience, ...] | None:
    """The audience without readers that only a newer host knows; empty where these are all."""
    audience = value.get("audience")
    return None if audience is None else tuple(Audience(one) for one in audience if one in _KNOWN_AUDIENCES)


_KNOWN_AUDIENCES: Final = frozenset(Audience)

PART_ROWS = (
    PartRow(
        "text",
        TextPart,
        wire.TextPart,
        lambda value, _: TextPart(value["value"], _decode_audience(value)),
        lambda part: {"type": "text", "value": part.value, **_encode_audience(part)},
    ),
    PartRow(
        "thinking",
        ThinkingPart,
        wire.ThinkingPart,
        lambda value, _: ThinkingPart(
            value["value"], value.get("id"), value.get("metadata"), value.get("entries") or ()
        ),
        _encode_thinking,
    ),
    PartRow(
        "tool_call",
        ToolCallPart,
        wire.ToolCallPart,
        lambda value, _: tool_call_part(value["callId"], value["name"], value["input"]),
        lambda part: {"type": "tool_call", "callId": part.call_id, "name": part.name, "input": part.input},
    ),
    PartRow(
        "data",
        DataPart,
        wire.DataPart,
        lambda value, where: unchecked_part(
            DataPart, _decode_bytes(value["data"], f"{where}.data"), value["mimeType"], _decode_audience(value)
        ),
        lambda part: {
            "type": "data",
            "mimeType": part.mime_type,
            "data": b64encode(part.data).decode("ascii"),
            **_encode_audience(part),
        },
    ),
    PartRow(
        "tool_result", ToolResultPart, wire.ToolResultPart, _decode_tool_result, _encode_tool_result, in_response=False
    ),
)

_ROW_BY_TAG = {row.tag: row for row in PART_ROWS}
_RESULT_TAGS = {row.tag for row in PART_ROWS if row.part in (TextPart, DataPart)}
_ROW_BY_PART = {row.part: row for row in PART_ROWS}
_RESPONSE_ROW_BY_PART = {row.part: row for row in PART_ROWS if row.in_response}


def encode_part(part: MessagePart) -> Mapping[str, Any]:
    """The wire value of a part."""
    return row_of_class(_ROW_BY_PART, part).encode(part)


def encode_response_part(part: ResponsePart) -> Mapping[str, Any]:
    """The wire value of a part that a provider reports.

    Raises:
        TypeError: `part` is not a part, or one that only messages may hold.
    """
    row = _RESPONSE_ROW_BY_PART.get(type(part)) or next(
        (row for base in type(part).__mro__ if (row := _RESPONSE_ROW_BY_PART.get(base))), None
    )
    if row is None:
        parts = ", ".join(part.__name__ for part in _RESPONSE_ROW_BY_PART)
        raise TypeError(f"a provider reported a {type(part).__name__}, expected one of {parts}")
    return row.encode(part)


def decode_part(value: object, where: str) -> MessagePart | None:
    """Makes a part of a wire value; logs an unknown type and returns None for it.

    Raises:
        InvalidParamsError: `value` is not a part, or its fields have the wrong shape.
    """
    kind = value.get("type") if isinstance(value, dict) else None
    if not isinstance(kind, str):
        raise InvalidParamsError(where, type(value).__name__, "an object with a `type`")
    row = _ROW_BY_TAG.get(kind)
    if row is None:
        _logger.warning("%s: skipped a part of the unknown type %r", where, kind[:80])
        return None
    check(value, row.shape, where)
    return row.decode(value, where)


def decode_message(value: wire.RequestMessage, where: str) -> ChatMessage:
    """Makes a message of a wire value that was checked against its shape; without parts of unknown types."""
    decoded = (decode_part(part, f"{where}.content[{index}]") for index, part in enumerate(value["content"]))
    content = tuple(part for part in decoded if part is not None)
    return ChatMessage(Role(value["role"]), content, value.get("name") or None)


def decode_options(value: wire.RequestOptions) -> RequestOptions:
    """Makes the options of a wire value that was checked against its shape."""
    return RequestOptions(
        tools=tuple(
            Tool(tool["name"], tool["description"], tool.get("inputSchema")) for tool in value.get("tools", ())
        ),
        tool_mode=ToolMode(value.get("toolMode", ToolMode.AUTO)),
        model_options=value.get("modelOptions", {}),
        model_configuration=value.get("modelConfiguration", {}),
        request_initiator=value.get("requestInitiator"),
    )


def encode_information(information: LanguageModelChatInformation) -> wire.LanguageModelChatInformation:
    """The wire value of a model, under its own id.

    Raises:
        TypeError: A field has another type than VS Code takes, or holds a value that JSON cannot represent; the message
            names the model and the field. One such model would keep VS Code from reading all models.
    """
    capabilities = information.capabilities
    where = f"model {information.id!r:.100}"
    shown: wire.LanguageModelChatInformation = {
        "id": information.id,
        "name": information.name,
        "family": information.family,
        "version": information.version,
        "maxInputTokens": _limit(information.max_input_tokens),
        "maxOutputTokens": _limit(information.max_output_tokens),
        "tooltip": information.tooltip,
        "detail": information.detail,
        "capabilities": {"imageInput": capabilities.image_input, "toolCalling": capabilities.tool_calling},
        "extra": dict(information.extra),
    }
    try:
        check(shown, wire.LanguageModelChatInformation, where)
    except InvalidParamsError as error:
        raise TypeError(str(error)) from error
    try:
        written = dumps(shown)
    except TypeError as error:
        raise TypeError(_unwritable(shown, where) or f"{where}: {error}") from error
    # From Python 3.14 on, JSON is written as deep as the stack of C reaches; before, far less was too deep.
    if may_nest_deeply(written) and (said := _unwritable(shown, where)):
        raise TypeError(said)
    model: wire.LanguageModelChatInformation = loads(written)
    return model


def _unwritable(shown: object, where: str) -> str | None:
    from partstream.codec.json_codec import find_non_json  # noqa: PLC0415 - not before the first answer

    return find_non_json(shown, where)


def _limit(value: object) -> Any:
    """A limit of tokens, at most a billion: a provider without a limit may name any. What is none stays as it is."""
    if type(value) is int:
        return min(value, MOST_TOKENS)
    known = as_count(value)
    return value if known is None else known


# ---- Announcements ----


class Announcements:
    """Sends the notifications, from any thread. `group` is a group's id; None means the user's own providers."""

    def __init__(self, loop: AbstractEventLoop, outbox: Outbox, redactor: GroupSecrets) -> None:
        self._loop = loop
        self._outbox = outbox
        self._redactor = redactor
        self._scheduled: set[bytes] = set()

    def models_did_change(self, group: str | None) -> None:
        """Sends `languageModels/didChange`."""
        params: wire.ModelsDidChangeParams = {"group": group}
        self._post_once("languageModels/didChange", params)

    def token_counts_did_change(self, group: str | None, models: Sequence[str]) -> None:
        """Sends `languageModels/tokenCountsDidChange`, unless there are no models."""
        params: wire.TokenCountsDidChangeParams = {"group": group, "models": list(models)}
        if models:
            self._post_once("languageModels/tokenCountsDidChange", params)

    def waits(self, progress_token: RequestId, reason: str, seconds: float) -> None:
        """Sends a `$/progress` without parts: why the answer does not begin yet."""
        wait: wire.AnswerWait = {"reason": reason, "seconds": seconds}
        params: wire.ProgressParams = {"token": progress_token, "value": {"parts": [], "wait": wait}}
        self.post("$/progress", params)

    def post(self, method: str, params: Any) -> None:
        """Sends any other notification, without secrets: the message of an error may quote anything."""
        frame = encode_notification(method, self._redactor.redact_values(params))
        self._loop.call_soon_threadsafe(self._outbox.post, frame)

    def _post_once(self, method: str, params: Any) -> None:
        """Sends a notification that says no more when it is sent twice: once in a turn of the event loop."""
        frame = encode_notification(method, params)
        if frame in self._scheduled:
            return
        self._scheduled.add(frame)
        self._loop.call_soon_threadsafe(self._post_scheduled, frame)

    def _post_scheduled(self, frame: bytes) -> None:
        self._scheduled.discard(frame)
        self._outbox.post(frame)
