"""The one table of everything the extension and the sidecar say to each other; knows no transport and no handler.

The style is LSP's: `initialize` first, `$/progress` and `$/cancelRequest` for any request, `shutdown` then `exit`
last. `scripts/generate.py` writes `extension/src/protocol.generated.ts` from it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum, StrEnum
from typing import TYPE_CHECKING, Any

from partstream.hosts.vscode import wire

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["METHODS", "PROTOCOL_VERSION", "Direction", "ErrorCode", "Method"]

PROTOCOL_VERSION = 1
"""Raised with every change that an older peer would misunderstand; peers of different versions refuse each other."""


class Direction(StrEnum):
    """Who sends it."""

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
    """The model or its provider failed; the data is a :class:`partstream.hosts.vscode.wire.ErrorData`."""
    PROTOCOL_VERSION_MISMATCH = -32011
    """The data is a :class:`partstream.hosts.vscode.wire.VersionMismatchData`."""


@dataclass(frozen=True, slots=True)
class Method:
    """One row.

    Attributes:
        name: The method's name on the wire.
        direction: Who sends it.
        params: The TypedDict of the parameters, or None when it has none.
        result: The TypedDict of the result, None for a result of null; meaningless for a notification.
        is_request: Whether it is answered; a notification is not.
        doc: What it is for, in one sentence.
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
        "Opens the conversation; a sidecar of another protocol version refuses with ProtocolVersionMismatch.",
    ),
    _request(
        "languageModels/information",
        wire.InformationParams,
        wire.InformationResult,
        "Lists the models of a group; a provider that fails stands among the errors and does not fail the request.",
    ),
    _request(
        "languageModels/response",
        wire.ResponseParams,
        wire.ResponseResult,
        "Answers a conversation; the parts stream as $/progress, the result says that the answer is whole.",
    ),
    _request(
        "languageModels/tokenCount",
        wire.TokenCountParams,
        wire.TokenCountResult,
        "Counts tokens, many texts at once; a count that fails is an estimate, never an error.",
    ),
    _request(
        "languageModels/usage",
        None,
        wire.UsageResult,
        "Gives the tokens and costs of the last answers, conversations and days.",
    ),
    _request(
        "languageModels/counting",
        None,
        wire.CountingResult,
        "Tells how tokens are counted, for the debug information; asks nobody and loads nothing.",
    ),
    _request(
        "languageModels/diagnostics",
        None,
        wire.DiagnosticsResult,
        "Tells how the last answers ended and which rules providers broke, for the debug information.",
    ),
    _request("shutdown", None, None, "Cancels what runs and releases what is held; afterwards only exit is accepted."),
    _notification("exit", Direction.TO_SIDECAR, None, "Ends the process: status 0 after shutdown, otherwise 1."),
    _notification(
        "$/cancelRequest",
        Direction.TO_SIDECAR,
        wire.CancelParams,
        "Cancels a request, which is answered at once with RequestCancelled; nothing more of it is sent.",
    ),
    _notification(
        "$/progress", Direction.TO_EXTENSION, wire.ProgressParams, "Carries the next parts of a running answer."
    ),
    _notification(
        "languageModels/didChange",
        Direction.TO_EXTENSION,
        wire.ModelsDidChangeParams,
        "Says that a list of models may have changed; never sent because of languageModels/information itself.",
    ),
    _notification(
        "languageModels/tokenCountsDidChange",
        Direction.TO_EXTENSION,
        wire.TokenCountsDidChangeParams,
        "Says that texts of these models count noticeably otherwise than they did before.",
    ),
    _notification(
        "languageModels/didAnswer",
        Direction.TO_EXTENSION,
        wire.DidAnswerParams,
        "Tells what an answer took, when it has ended.",
    ),
    _notification("log", Direction.TO_EXTENSION, wire.LogParams, "Carries a line for the output channel."),
)

METHODS: Mapping[str, Method] = {row.name: row for row in _ROWS}
"""All methods by name."""
