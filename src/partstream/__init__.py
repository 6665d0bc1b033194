"""Partstream: any language model in VS Code chat, through Python.

The names below are the public API. Names that a provider of your own does not need, such as everything that opens
sockets or runs event loops, are imported when first used: importing the package stays quick and does no I/O.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from partstream._version import __version__
from partstream.arguments import InvalidArgumentError
from partstream.cancellation import CancellationToken, CancellationTokenSource
from partstream.errors import (
    CallerError,
    ContextLengthExceededError,
    ContractViolationError,
    EventTooLargeError,
    LanguageModelError,
    LanguageModelErrorCode,
    PartstreamError,
    RequestNotExpressibleError,
    TimeoutPhase,
    ToolArgumentsError,
    ToolRoundLimitError,
    TruncatedStreamError,
    UnknownModelError,
    UpstreamAbortedError,
    UpstreamConnectionError,
    UpstreamError,
    UpstreamFailureError,
    UpstreamHTTPError,
    UpstreamProtocolError,
    UpstreamTimeoutError,
)
from partstream.events import Disposable, Event, EventEmitter
from partstream.messages import ChatMessage, RequestOptions, Role, Tool, ToolMode
from partstream.parts import (
    DataPart,
    MessagePart,
    ResponsePart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolResultPart,
)
from partstream.provider import (
    DrainingProgress,
    FinishingProgress,
    LanguageModelChatCapabilities,
    LanguageModelChatInformation,
    LanguageModelChatProvider,
    Progress,
    WaitingProgress,
)
from partstream.usage import FinishReason, UnifiedFinishReason, Usage

if TYPE_CHECKING:
    from partstream.checked_progress import CheckedProgress
    from partstream.connecting import connect
    from partstream.consumer import (
        LanguageModelChat,
        LanguageModelChatResponse,
        LanguageModelChatSelector,
        LanguageModels,
        run_tool_loop,
    )
    from partstream.contract import CheckMode, ContractChecker, Violation
    from partstream.outputs import CitationMode, Finish, Outcome, StreamOptions, ThinkingMode, Unmapped
    from partstream.protocols.reader import StreamReader
    from partstream.protocols.registry import PROTOCOLS
    from partstream.reading import read_stream
    from partstream.simple import chat_model, text_of, user_request
    from partstream.stream_adapter import StreamAdapter, StreamUsage
    from partstream.upstreams import (
        ConfigurationError,
        GatewayConfiguration,
        GatewayProvider,
        RetryPolicy,
        Secret,
        Timeouts,
    )
    from partstream.upstreams.credentials import CredentialError

__all__ = [
    "PROTOCOLS",
    "CallerError",
    "CancellationToken",
    "CancellationTokenSource",
    "ChatMessage",
    "CheckMode",
    "CheckedProgress",
    "CitationMode",
    "ConfigurationError",
    "ContextLengthExceededError",
    "ContractChecker",
    "ContractViolationError",
    "CredentialError",
    "DataPart",
    "Disposable",
    "DrainingProgress",
    "Event",
    "EventEmitter",
    "EventTooLargeError",
    "Finish",
    "FinishReason",
    "FinishingProgress",
    "GatewayConfiguration",
    "GatewayProvider",
    "InvalidArgumentError",
    "LanguageModelChat",
    "LanguageModelChatCapabilities",
    "LanguageModelChatInformation",
    "LanguageModelChatProvider",
    "LanguageModelChatResponse",
    "LanguageModelChatSelector",
    "LanguageModelError",
    "LanguageModelErrorCode",
    "LanguageModels",
    "MessagePart",
    "Outcome",
    "PartstreamError",
    "Progress",
    "RequestNotExpressibleError",
    "RequestOptions",
    "ResponsePart",
    "RetryPolicy",
    "Role",
    "Secret",
    "StreamAdapter",
    "StreamOptions",
    "StreamReader",
    "StreamUsage",
    "TextPart",
    "ThinkingMode",
    "ThinkingPart",
    "TimeoutPhase",
    "Timeouts",
    "Tool",
    "ToolArgumentsError",
    "ToolCallPart",
    "ToolMode",
    "ToolResultPart",
    "ToolRoundLimitError",
    "TruncatedStreamError",
    "UnifiedFinishReason",
    "UnknownModelError",
    "Unmapped",
    "UpstreamAbortedError",
    "UpstreamConnectionError",
    "UpstreamError",
    "UpstreamFailureError",
    "UpstreamHTTPError",
    "UpstreamProtocolError",
    "UpstreamTimeoutError",
    "Usage",
    "Violation",
    "WaitingProgress",
    "__version__",
    "chat_model",
    "connect",
    "read_stream",
    "run_tool_loop",
    "text_of",
    "user_request",
]

_LAZY = {
    "CheckedProgress": "partstream.checked_progress",
    "connect": "partstream.connecting",
    "LanguageModelChat": "partstream.consumer",
    "LanguageModelChatResponse": "partstream.consumer",
    "LanguageModelChatSelector": "partstream.consumer",
    "LanguageModels": "partstream.consumer",
    "run_tool_loop": "partstream.consumer",
    "CheckMode": "partstream.contract",
    "ContractChecker": "partstream.contract",
    "Violation": "partstream.contract",
    "CitationMode": "partstream.outputs",
    "Finish": "partstream.outputs",
    "Outcome": "partstream.outputs",
    "StreamOptions": "partstream.outputs",
    "ThinkingMode": "partstream.outputs",
    "Unmapped": "partstream.outputs",
    "StreamReader": "partstream.protocols.reader",
    "PROTOCOLS": "partstream.protocols.registry",
    "read_stream": "partstream.reading",
    "chat_model": "partstream.simple",
    "text_of": "partstream.simple",
    "user_request": "partstream.simple",
    "StreamAdapter": "partstream.stream_adapter",
    "StreamUsage": "partstream.stream_adapter",
    "ConfigurationError": "partstream.upstreams",
    "GatewayConfiguration": "partstream.upstreams",
    "GatewayProvider": "partstream.upstreams",
    "RetryPolicy": "partstream.upstreams",
    "Secret": "partstream.upstreams",
    "Timeouts": "partstream.upstreams",
    "CredentialError": "partstream.upstreams.credentials",
}


def __getattr__(name: str) -> Any:
    module = _LAZY.get(name)
    if module is None:
        raise AttributeError(f"module 'partstream' has no attribute {name!r}")
    return getattr(import_module(module), name)
