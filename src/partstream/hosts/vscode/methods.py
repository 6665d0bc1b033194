"""The table of all methods between the extension and the sidecar; knows no transport and no handler.

The protocol follows LSP: `initialize` first, `$/progress` and `$/cancelRequest` for any request, `shutdown` and `exit`
last. `scripts/generate.py` writes `extension/src/protocol.generated.ts` from this table.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum, StrEnum
from typing import TYPE_CHECKING, Any

from partstream.vscode import rpc_types as wire

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["METHODS", "PROTOCOL_VERSION", "Direction", "ErrorCode", "Method"]

PROTOCOL_VERSION = 1
"""Increases with every change that an older peer would misunderstand; peers of different versions refuse each other."""


class Direction(StrEnum):
    """The direction in which a method is sent."""

    TO_SIDECAR = "to sidecar"
    TO_EXTENSION = "to extension"


class ErrorCode(IntEnum):
    """The codes of error responses: JSON-RPC 2.0 section 5.1, LSP 3.17 `ErrorCodes`, and our own from -32000."""

    PARSE_ERROR = -32700
    INVALID_REQUEST = -32600
    METHOD_NOT_FOUND = -32601
    INVALID_PARAMS = -32602
    INTERNAL_ERROR = -32603
    SERVER_NOT_INITIALIZED = -32002
    REQUEST_CANCELLED = -32800
    LANGUAGE_MODEL_FAILED = -32010
    """The model or its provider failed; the data is a :class:`partstream.vscode.rpc_types.ErrorData`."""
    PROTOCOL_VERSION_MISMATCH = -32011
    """The data is a :class:`partstream.vscode.rpc_types.VersionMismatchData`."""


@dataclass(frozen=True, slots=True)
class Method:
    """A method of the protocol.

    Attributes:
        name: The method's name on the wire.
        direction: The direction in which the method is sent.
        params: The TypedDict of the parameters, or None for a method without parameters.
        result: The TypedDict of the result, or None for a result of null; has no meaning for a notification.
        is_request: Whether the method is a request, which gets a response; otherwise it is a notification.
        doc: The method's purpose, in one sentence.
    """

    name: str
    direction: Direction
    params: type[Any] | None
    result: type[Any] | None
    is_request: bool
    doc: str


def _request(name: str, params: type[Any] | None, result: type[Any] | None, doc: str) -> Method:
    return Method(name, Direction.TO_SIDECAR, params, result, is_request=True, doc=doc)


def _notification(name: str, direction: Direction, params: type[Any] | None, doc: str) -> Method:
    return Method(name, direction, params, None, is_request=False, doc=doc)


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
        wire.ResponseResult,
        "Answers a conversation; the parts stream as $/progress, and the result completes the answer.",
    ),
    _request(
        "languageModels/tokenCount",
        wire.TokenCountParams,
        wire.TokenCountResult,
        "Counts the tokens of many texts at once; an estimate replaces a count that fails.",
    ),
    _request(
        "languageModels/usage",
        None,
        wire.UsageResult,
        "Returns the tokens and costs of the last answers, conversations and days.",
    ),
    _request(
        "languageModels/usagePage",
        wire.PageParams,
        wire.PageResult,
        "Returns the same as a page for a webview, with the answers of other processes; the page takes a newer one as "
        "the message `page`.",
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
        "languageModels/tryServer",
        wire.TryServerParams,
        wire.TryServerResult,
        "Asks a server for its models before it becomes a group; the result names what is wrong, and the request "
        "succeeds.",
    ),
    _request(
        "languageModels/examine",
        wire.ExamineParams,
        wire.ExamineResult,
        "Runs the checks of `partstream doctor` on a group or on a provider in the settings.",
    ),
    _request(
        "languageModels/findingsPage",
        wire.FindingsPageParams,
        wire.PageResult,
        "Returns what was found as a page for a webview; the page posts the messages `copy` and `again`.",
    ),
    _request(
        "languageModels/recordNext",
        wire.RecordNextParams,
        None,
        "Has the next answer recorded to a file of the user's data folder, without keys, or calls that off; "
        "languageModels/didRecord follows when it has ended.",
    ),
    _request(
        "languageModels/inspect",
        wire.InspectParams,
        wire.InspectResult,
        "Returns the page of the last answer, also of one that goes on, or of a recording, for a webview.",
    ),
    _request(
        "languageModels/sharePreview",
        wire.SharePreviewParams,
        wire.SharePreviewResult,
        "Says what a file to share will hold: without keys and texts, with everything that a fault depends on.",
    ),
    _request(
        "languageModels/share",
        wire.ShareParams,
        wire.ShareResult,
        "Returns that file.",
    ),
    _request(
        "languageModels/joinHub",
        wire.JoinHubParams,
        wire.JoinHubResult,
        "Gives a join code for a key at a hub; the result says why it gave none, and the request succeeds.",
    ),
    _request(
        "languageModels/hubStanding",
        wire.HubStandingParams,
        wire.HubStandingResult,
        "Asks the hub of a group what is left of the person's budgets; asks no server that is no hub.",
    ),
    _request("shutdown", None, None, "Cancels all requests and closes all providers; then only exit is accepted."),
    _notification(
        "languageModels/forgetGroup",
        Direction.TO_SIDECAR,
        wire.ForgetGroupParams,
        "Announces that a group is gone: its provider is closed once its running answers have ended.",
    ),
    _notification("exit", Direction.TO_SIDECAR, None, "Ends the process, with status 0 after shutdown, otherwise 1."),
    _notification(
        "$/cancelRequest",
        Direction.TO_SIDECAR,
        wire.CancelParams,
        "Cancels a request: its response is RequestCancelled, sent at once, and no progress follows.",
    ),
    _notification(
        "$/progress", Direction.TO_EXTENSION, wire.ProgressParams, "Carries the next parts of a running answer."
    ),
    _notification(
        "languageModels/didChange",
        Direction.TO_EXTENSION,
        wire.ModelsDidChangeParams,
        "Announces that a list of models may have changed; never sent because of languageModels/information itself.",
    ),
    _notification(
        "languageModels/providerDidLoad",
        Direction.TO_EXTENSION,
        wire.ProviderDidLoadParams,
        "Announces that a person's own provider was loaded, or could not be loaded.",
    ),
    _notification(
        "languageModels/tokenCountsDidChange",
        Direction.TO_EXTENSION,
        wire.TokenCountsDidChangeParams,
        "Announces that token counts of texts have noticeably changed for some models.",
    ),
    _notification(
        "languageModels/didAnswer",
        Direction.TO_EXTENSION,
        wire.DidAnswerParams,
        "Announces the usage of an answer that has ended.",
    ),
    _notification(
        "languageModels/didRecord",
        Direction.TO_EXTENSION,
        wire.DidRecordParams,
        "Announces that a recording that was asked for has ended, and where it is.",
    ),
    _notification(
        "setLogLevel",
        Direction.TO_SIDECAR,
        wire.SetLogLevelParams,
        "Says which messages the output channel shows: sent behind initialize, and when the level changes.",
    ),
    _notification("log", Direction.TO_EXTENSION, wire.LogParams, "Carries a line for the output channel."),
)

METHODS: Mapping[str, Method] = {row.name: row for row in _ROWS}
"""All methods by name."""
