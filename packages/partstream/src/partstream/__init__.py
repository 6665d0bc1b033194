"""Partstream: any language model in VS Code chat, through Python.

The names below are the public API. Names that a provider of your own does not need, such as everything that opens
sockets or runs event loops, are imported when first used: importing the package stays quick and does no I/O.
"""

from __future__ import annotations
from importlib import import_module
from typing import TYPE_CHECKING, Any

from partstream._moved import find_moved_modules
from partstream._version import __version__
from partstream.codec.checks import InvalidArgumentError
from partstream.errors import (
    AdapterUsageError,
    AnswerTooLargeError,
    BudgetError,
    BudgetReachedError,
    BudgetUnknownError,
    CallerError,
    ContextLengthExceededError,
    ContractViolationError,
    DuplicateVendorError,
    EmptyAnswerError,
    EmptyStreamError,
    EventTooLargeError,
    InvalidRequestError,
    KeyNeededError,
    LanguageModelError,
    LanguageModelErrorCode,
    PartstreamError,
    ProviderStuckError,
    RateReachedError,
    RequestNotExpressibleError,
    TimeoutPhase,
    ToolArgumentsError,
    ToolRoundLimitError,
    TruncatedStreamError,
    UnknownModelError,
    UnreadableStreamError,
    UpstreamAbortedError,
    UpstreamConnectionError,
    UpstreamError,
    UpstreamFailureError,
    UpstreamHTTPError,
    UpstreamProtocolError,
    UpstreamTimeoutError,
)
from partstream.lm.cancellation import CancellationToken, CancellationTokenSource, Disposable, Event, EventEmitter
from partstream.lm.completions import CompletionRequest, CompletionSnippet
from partstream.lm.messages import ChatMessage, RequestOptions, Role, Tool, ToolMode
from partstream.lm.parts import (
    Audience,
    DataPart,
    FinishReason,
    MessagePart,
    ResponsePart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolResultContent,
    ToolResultPart,
    UnifiedFinishReason,
    Usage,
)
from partstream.lm.provider import (
    DrainingProgress,
    FinishingProgress,
    LanguageModelChatCapabilities,
    LanguageModelChatInformation,
    LanguageModelChatProvider,
    ModelFields,
    Progress,
    WaitingProgress,
)

if TYPE_CHECKING:
    from partstream.conversation.preparation import (
        ContextEdit,
        Continuation,
        CountTokens,
        ModelCapabilities,
        RequestSettings,
        SystemAs,
        ThinkingForm,
        ToolImages,
    )
    from partstream.lm.contract import CheckMode, CodePlace, ContractChecker, Evidence, Level, Rule, Violation
    from partstream.lm.outputs import (
        CitationMode,
        ErrorMode,
        ExecutedCode,
        FileMode,
        Finish,
        Outcome,
        PausingStream,
        StreamOptions,
        StreamOutput,
        ThinkingMode,
        ThinkTags,
        Unmapped,
    )
    from partstream.protocols.protocol import (
        PROTOCOLS,
        Framing,
        KeyKind,
        ProtocolLoadError,
        ProtocolName,
        UnknownProtocolError,
    )
    from partstream.protocols.reader import StreamReader
    from partstream.runtime.client_events import ClientEvents, ClientParts, from_events, in_thread
    from partstream.runtime.connect import AskSettings, Connection, ConnectSettings, ask, ask_sync, connect
    from partstream.runtime.consumer import (
        LanguageModelChat,
        LanguageModelChatSelector,
        LanguageModels,
        Prompt,
        RequestFields,
        SelectorFields,
    )
    from partstream.runtime.progress import CheckedProgress
    from partstream.runtime.read_stream import read_stream
    from partstream.runtime.requests import (
        ConsumerLimits,
        LanguageModelChatResponse,
        ProviderErrorListener,
        ViolationListener,
    )
    from partstream.runtime.simple import (
        AnswerFunction,
        CompletionFunction,
        CompletionProvider,
        FunctionProvider,
        UnknownKeywordError,
        chat_model,
        completion_model,
        text_of,
        user_request,
    )
    from partstream.runtime.stream_adapter import Chunk, Chunks, StreamAdapter, StreamUsage
    from partstream.runtime.tool_loop import (
        LoopFinished,
        PartReceived,
        RoundStarted,
        ToolCallable,
        ToolCallStarted,
        ToolFunction,
        ToolLoopEvent,
        ToolLoopResult,
        ToolResultReceived,
        run_tool_loop,
        stream_tool_loop,
    )
    from partstream.settings.kinds import ConfigurationError
    from partstream.tokens import CountSource, TokenCount
    from partstream.upstream.configuration import (
        CaptureMode,
        CompletionWay,
        GatewayConfiguration,
        Limits,
        RetryPolicy,
        Timeouts,
    )
    from partstream.upstream.context import LogLevel
    from partstream.upstream.endpoint import CredentialError, CredentialSource, Secret
    from partstream.upstream.model_information import LimitPolicy, LimitSettings, ModelOverride, ModelSelection, Pricing
    from partstream.upstream.provider import GatewayProvider

__all__ = [
    "PROTOCOLS",
    "AdapterUsageError",
    "AnswerFunction",
    "AnswerTooLargeError",
    "AskSettings",
    "Audience",
    "BudgetError",
    "BudgetReachedError",
    "BudgetUnknownError",
    "CallerError",
    "CancellationToken",
    "CancellationTokenSource",
    "CaptureMode",
    "ChatMessage",
    "CheckMode",
    "CheckedProgress",
    "Chunk",
    "Chunks",
    "CitationMode",
    "ClientEvents",
    "ClientParts",
    "CodePlace",
    "CompletionFunction",
    "CompletionProvider",
    "CompletionRequest",
    "CompletionSnippet",
    "CompletionWay",
    "ConfigurationError",
    "ConnectSettings",
    "Connection",
    "ConsumerLimits",
    "ContextEdit",
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
    "EmptyAnswerError",
    "EmptyStreamError",
    "ErrorMode",
    "Event",
    "EventEmitter",
    "EventTooLargeError",
    "Evidence",
    "ExecutedCode",
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
    "KeyNeededError",
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
    "Limits",
    "LogLevel",
    "LoopFinished",
    "MessagePart",
    "ModelCapabilities",
    "ModelFields",
    "ModelOverride",
    "ModelSelection",
    "Outcome",
    "PartReceived",
    "PartstreamError",
    "PausingStream",
    "Pricing",
    "Progress",
    "Prompt",
    "ProtocolLoadError",
    "ProtocolName",
    "ProviderErrorListener",
    "ProviderStuckError",
    "RateReachedError",
    "RequestFields",
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
    "ThinkTags",
    "ThinkingForm",
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
    "UnreadableStreamError",
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
    "ask",
    "ask_sync",
    "chat_model",
    "completion_model",
    "connect",
    "from_events",
    "in_thread",
    "read_stream",
    "run_tool_loop",
    "stream_tool_loop",
    "text_of",
    "user_request",
]

_HOMES = {
    "partstream.conversation.preparation": (
        "ContextEdit Continuation CountTokens ModelCapabilities RequestSettings SystemAs ThinkingForm ToolImages"
    ),
    "partstream.lm.contract": "CheckMode CodePlace ContractChecker Evidence Level Rule Violation",
    "partstream.lm.outputs": (
        "CitationMode ErrorMode ExecutedCode FileMode Finish Outcome PausingStream StreamOptions StreamOutput "
        "ThinkTags ThinkingMode Unmapped"
    ),
    "partstream.protocols.protocol": "PROTOCOLS Framing KeyKind ProtocolLoadError ProtocolName UnknownProtocolError",
    "partstream.protocols.reader": "StreamReader",
    "partstream.runtime.client_events": "ClientEvents ClientParts from_events in_thread",
    "partstream.runtime.connect": "AskSettings ConnectSettings Connection ask ask_sync connect",
    "partstream.runtime.consumer": (
        "LanguageModelChat LanguageModelChatSelector LanguageModels Prompt RequestFields SelectorFields"
    ),
    "partstream.runtime.progress": "CheckedProgress",
    "partstream.runtime.read_stream": "read_stream",
    "partstream.runtime.requests": "ConsumerLimits LanguageModelChatResponse ProviderErrorListener ViolationListener",
    "partstream.runtime.simple": (
        "AnswerFunction CompletionFunction CompletionProvider FunctionProvider UnknownKeywordError chat_model "
        "completion_model text_of user_request"
    ),
    "partstream.runtime.stream_adapter": "Chunk Chunks StreamAdapter StreamUsage",
    "partstream.runtime.tool_loop": (
        "LoopFinished PartReceived RoundStarted ToolCallStarted ToolCallable ToolFunction ToolLoopEvent "
        "ToolLoopResult ToolResultReceived run_tool_loop stream_tool_loop"
    ),
    "partstream.settings.kinds": "ConfigurationError",
    "partstream.tokens.families": "CountSource TokenCount",
    "partstream.upstream.configuration": "CaptureMode CompletionWay GatewayConfiguration Limits RetryPolicy Timeouts",
    "partstream.upstream.context": "LogLevel",
    "partstream.upstream.endpoint": "CredentialError CredentialSource Secret",
    "partstream.upstream.model_information": "LimitPolicy LimitSettings ModelOverride ModelSelection Pricing",
    "partstream.upstream.provider": "GatewayProvider",
}
_LAZY = {name: module for module, names in _HOMES.items() for name in names.split()}

find_moved_modules()


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def __getattr__(name: str) -> Any:
    module = _LAZY.get(name)
    if module is None:
        raise AttributeError(f"module 'partstream' has no attribute {name!r}")
    return getattr(import_module(module), name)
