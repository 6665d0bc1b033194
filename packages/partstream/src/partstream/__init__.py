"""Partstream: any language model in VS Code chat, through Python.

The names below are the public API. Each is imported when it is first used: importing the package stays quick and does
no I/O. Type checkers read the same names in `__init__.pyi`, which `tools/generate.py` makes of the table.
"""

from __future__ import annotations
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from partstream._moved import find_moved_modules

_HOMES = {
    "partstream._version": "__version__",
    "partstream.codec.checks": "InvalidArgumentError",
    "partstream.conversation.preparation": (
        "ContextEdit Continuation CountTokens ModelCapabilities RequestSettings SystemAs ThinkingForm ToolImages"
    ),
    "partstream.errors": (
        "AdapterUsageError AnswerTooLargeError BudgetError BudgetReachedError BudgetUnknownError CallerError "
        "ContextLengthExceededError ContractViolationError DuplicateVendorError EmptyAnswerError EmptyStreamError "
        "EventTooLargeError InvalidRequestError KeyNeededError LanguageModelError LanguageModelErrorCode "
        "PartstreamError ProviderStuckError RateReachedError RequestNotExpressibleError TimeoutPhase "
        "ToolArgumentsError ToolRoundLimitError TruncatedStreamError UnknownModelError UnreadableStreamError "
        "UpstreamAbortedError UpstreamConnectionError UpstreamError UpstreamFailureError UpstreamHTTPError "
        "UpstreamProtocolError UpstreamTimeoutError"
    ),
    "partstream.lm.cancellation": "CancellationToken CancellationTokenSource Disposable Event EventEmitter",
    "partstream.lm.completions": "CompletionRequest CompletionSnippet",
    "partstream.lm.contract": "CheckMode CodePlace ContractChecker Evidence Level Rule Violation",
    "partstream.lm.messages": "ChatMessage RequestOptions Role Tool ToolMode",
    "partstream.lm.outputs": (
        "CitationMode ErrorMode ExecutedCode FileMode Finish Outcome PausingStream StreamOptions StreamOutput "
        "ThinkTags ThinkingMode Unmapped"
    ),
    "partstream.lm.parts": (
        "Audience DataPart FinishReason MessagePart ResponsePart TextPart ThinkingPart ToolCallPart "
        "ToolResultContent ToolResultPart UnifiedFinishReason Usage"
    ),
    "partstream.lm.provider": (
        "DrainingProgress FinishingProgress LanguageModelChatCapabilities LanguageModelChatInformation "
        "LanguageModelChatProvider ModelFields Progress WaitingProgress"
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
"""By module, its public names."""
_MODULES = {name: module for module, names in _HOMES.items() for name in names.split()}

__all__ = sorted(_MODULES)  # noqa: PLE0605 - a list, of strings

find_moved_modules()


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def __getattr__(name: str) -> Any:
    if (module := _MODULES.get(name)) is not None:
        value = globals()[name] = getattr(import_module(module), name)
        return value
    # `partstream.errors` is found without an import of its own.
    if not name.startswith("_") and find_spec(f"{__name__}.{name}") is not None:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
