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
    AdapterUsageError,
    CallerError,
    ContextLengthExceededError,
    ContractViolationError,
    DuplicateVendorError,
    EventTooLargeError,
    InvalidRequestError,
    LanguageModelError,
    LanguageModelErrorCode,
    PartstreamError,
    ProviderStuckError,
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
    ToolResultContent,
    ToolResultPart,
)
from partstream.provider import (
    DrainingProgress,
    FinishingProgress,
    LanguageModelChatCapabilities,
    LanguageModelChatInformation,
    LanguageModelChatProvider,
    ModelFields,
    Progress,
    WaitingProgress,
)
from partstream.usage import FinishReason, UnifiedFinishReason, Usage

if TYPE_CHECKING:
    from partstream.answer_functions import UnknownKeywordError
    from partstream.checked_progress import CheckedProgress
    from partstream.chunk_mapping import StreamUsage
    from partstream.chunk_sources import Chunk, Chunks
    from partstream.connecting import connect
    from partstream.consumer import (
        ConsumerLimits,
        LanguageModelChat,
        LanguageModelChatResponse,
        LanguageModelChatSelector,
        LanguageModels,
        LoopFinished,
        PartReceived,
        ProviderErrorListener,
        RoundStarted,
        SelectorFields,
        ToolCallable,
        ToolCallStarted,
        ToolFunction,
        ToolLoopEvent,
        ToolLoopResult,
        ToolResultReceived,
        ViolationListener,
        run_tool_loop,
        stream_tool_loop,
    )
    from partstream.contract import CheckMode, CodePlace, ContractChecker, Evidence, Level, Rule, Violation
    from partstream.conversation.settings import Continuation, CountTokens, RequestSettings, SystemAs, ToolImages
    from partstream.error_text import ErrorMode
    from partstream.log_level import LogLevel
    from partstream.models.filters import ModelOverride, ModelSelection
    from partstream.models.limits import LimitPolicy, LimitSettings
    from partstream.outputs import (
        CitationMode,
        FileMode,
        Finish,
        Outcome,
        StreamOptions,
        StreamOutput,
        ThinkingMode,
        Unmapped,
    )
    from partstream.protocols.framings import Framing
    from partstream.protocols.protocol import KeyKind
    from partstream.protocols.reader import StreamReader
    from partstream.protocols.registry import PROTOCOLS, ProtocolLoadError, UnknownProtocolError
    from partstream.reading import read_stream
    from partstream.simple import AnswerFunction, FunctionProvider, chat_model, text_of, user_request
    from partstream.stream_adapter import StreamAdapter
    from partstream.tokens import CountSource, TokenCount
    from partstream.upstreams import (
        ConfigurationError,
        GatewayConfiguration,
        GatewayProvider,
        RetryPolicy,
        Secret,
        Timeouts,
    )
    from partstream.upstreams.credentials import CredentialError, CredentialSource

__all__ = [
    "PROTOCOLS",
    "AdapterUsageError",
    "AnswerFunction",
    "CallerError",
    "CancellationToken",
    "CancellationTokenSource",
    "ChatMessage",
    "CheckMode",
    "CheckedProgress",
    "Chunk",
    "Chunks",
    "CitationMode",
    "CodePlace",
    "ConfigurationError",
    "ConsumerLimits",
    "ContextLengthExceededError",
    "Continuation",
    "ContractChecker",
    "ContractViolationError",
    "CountSource",
    "CountTokens",
    "CredentialError",
    "CredentialSource",
    "DataPart",
    "Disposable",
    "DrainingProgress",
    "DuplicateVendorError",
    "ErrorMode",
    "Event",
    "EventEmitter",
    "EventTooLargeError",
    "Evidence",
    "FileMode",
    "Finish",
    "FinishReason",
    "FinishingProgress",
    "Framing",
    "FunctionProvider",
    "GatewayConfiguration",
    "GatewayProvider",
    "InvalidArgumentError",
    "InvalidRequestError",
    "KeyKind",
    "LanguageModelChat",
    "LanguageModelChatCapabilities",
    "LanguageModelChatInformation",
    "LanguageModelChatProvider",
    "LanguageModelChatResponse",
    "LanguageModelChatSelector",
    "LanguageModelError",
    "LanguageModelErrorCode",
    "LanguageModels",
    "Level",
    "LimitPolicy",
    "LimitSettings",
    "LogLevel",
    "LoopFinished",
    "MessagePart",
    "ModelFields",
    "ModelOverride",
    "ModelSelection",
    "Outcome",
    "PartReceived",
    "PartstreamError",
    "Progress",
    "ProtocolLoadError",
    "ProviderErrorListener",
    "ProviderStuckError",
    "RequestNotExpressibleError",
    "RequestOptions",
    "RequestSettings",
    "ResponsePart",
    "RetryPolicy",
    "Role",
    "RoundStarted",
    "Rule",
    "Secret",
    "SelectorFields",
    "StreamAdapter",
    "StreamOptions",
    "StreamOutput",
    "StreamReader",
    "StreamUsage",
    "SystemAs",
    "TextPart",
    "ThinkingMode",
    "ThinkingPart",
    "TimeoutPhase",
    "Timeouts",
    "TokenCount",
    "Tool",
    "ToolArgumentsError",
    "ToolCallPart",
    "ToolCallStarted",
    "ToolCallable",
    "ToolFunction",
    "ToolImages",
    "ToolLoopEvent",
    "ToolLoopResult",
    "ToolMode",
    "ToolResultContent",
    "ToolResultPart",
    "ToolResultReceived",
    "ToolRoundLimitError",
    "TruncatedStreamError",
    "UnifiedFinishReason",
    "UnknownKeywordError",
    "UnknownModelError",
    "UnknownProtocolError",
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
    "ViolationListener",
    "WaitingProgress",
    "__version__",
    "chat_model",
    "connect",
    "read_stream",
    "run_tool_loop",
    "stream_tool_loop",
    "text_of",
    "user_request",
]

_LAZY = {
    "UnknownKeywordError": "partstream.answer_functions",
    "CheckedProgress": "partstream.checked_progress",
    "Chunk": "partstream.chunk_sources",
    "Chunks": "partstream.chunk_sources",
    "StreamUsage": "partstream.chunk_mapping",
    "connect": "partstream.connecting",
    "ConsumerLimits": "partstream.consumer",
    "LanguageModelChat": "partstream.consumer",
    "LanguageModelChatResponse": "partstream.consumer",
    "LanguageModelChatSelector": "partstream.consumer",
    "LanguageModels": "partstream.consumer",
    "LoopFinished": "partstream.consumer",
    "PartReceived": "partstream.consumer",
    "ProviderErrorListener": "partstream.consumer",
    "RoundStarted": "partstream.consumer",
    "SelectorFields": "partstream.consumer",
    "ToolCallStarted": "partstream.consumer",
    "ToolCallable": "partstream.consumer",
    "ToolFunction": "partstream.consumer",
    "ToolLoopEvent": "partstream.consumer",
    "ToolLoopResult": "partstream.consumer",
    "ToolResultReceived": "partstream.consumer",
    "ViolationListener": "partstream.consumer",
    "run_tool_loop": "partstream.consumer",
    "stream_tool_loop": "partstream.consumer",
    "CheckMode": "partstream.contract",
    "CodePlace": "partstream.contract",
    "ContractChecker": "partstream.contract",
    "Evidence": "partstream.contract",
    "Level": "partstream.contract",
    "Rule": "partstream.contract",
    "Violation": "partstream.contract",
    "Continuation": "partstream.conversation.settings",
    "CountTokens": "partstream.conversation.settings",
    "RequestSettings": "partstream.conversation.settings",
    "SystemAs": "partstream.conversation.settings",
    "ToolImages": "partstream.conversation.settings",
    "LogLevel": "partstream.log_level",
    "ModelOverride": "partstream.models.filters",
    "ModelSelection": "partstream.models.filters",
    "LimitPolicy": "partstream.models.limits",
    "LimitSettings": "partstream.models.limits",
    "CitationMode": "partstream.outputs",
    "FileMode": "partstream.outputs",
    "Finish": "partstream.outputs",
    "Outcome": "partstream.outputs",
    "StreamOptions": "partstream.outputs",
    "StreamOutput": "partstream.outputs",
    "ThinkingMode": "partstream.outputs",
    "Unmapped": "partstream.outputs",
    "Framing": "partstream.protocols.framings",
    "KeyKind": "partstream.protocols.protocol",
    "StreamReader": "partstream.protocols.reader",
    "PROTOCOLS": "partstream.protocols.registry",
    "UnknownProtocolError": "partstream.protocols.registry",
    "ProtocolLoadError": "partstream.protocols.registry",
    "read_stream": "partstream.reading",
    "AnswerFunction": "partstream.simple",
    "FunctionProvider": "partstream.simple",
    "chat_model": "partstream.simple",
    "text_of": "partstream.simple",
    "user_request": "partstream.simple",
    "StreamAdapter": "partstream.stream_adapter",
    "CountSource": "partstream.tokens",
    "TokenCount": "partstream.tokens",
    "ConfigurationError": "partstream.upstreams",
    "GatewayConfiguration": "partstream.upstreams",
    "GatewayProvider": "partstream.upstreams",
    "RetryPolicy": "partstream.upstreams",
    "Secret": "partstream.upstreams",
    "Timeouts": "partstream.upstreams",
    "CredentialError": "partstream.upstreams.credentials",
    "CredentialSource": "partstream.upstreams.credentials",
    "ErrorMode": "partstream.error_text",
}


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def __getattr__(name: str) -> Any:
    module = _LAZY.get(name)
    if module is None:
        raise AttributeError(f"module 'partstream' has no attribute {name!r}")
    return getattr(import_module(module), name)
