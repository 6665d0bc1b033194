"""The consumer's side: register providers, select models, send requests, count tokens, run the tool loop.

The counterpart of `vscode.lm` and its objects; runs on asyncio and opens no file and no connection.
"""

import partstream.codec.system  # noqa: F401 - for its effect
from partstream.consumer.tool_execution import ToolCallable, ToolFunction, tool_result_content
from partstream.consumer.tool_loop import DEFAULT_MAX_ROUNDS, run_tool_loop, stream_tool_loop
from partstream.consumer.tool_loop_events import (
    LoopFinished,
    PartReceived,
    RoundStarted,
    ToolCallStarted,
    ToolLoopEvent,
    ToolLoopResult,
    ToolResultReceived,
)
from partstream.runtime.consumer import LanguageModelChat, LanguageModelChatSelector, LanguageModels, SelectorFields
from partstream.runtime.requests import (
    ConsumerLimits,
    LanguageModelChatResponse,
    ProviderErrorListener,
    ViolationListener,
)

__all__ = [
    "DEFAULT_MAX_ROUNDS",
    "ConsumerLimits",
    "LanguageModelChat",
    "LanguageModelChatResponse",
    "LanguageModelChatSelector",
    "LanguageModels",
    "LoopFinished",
    "PartReceived",
    "ProviderErrorListener",
    "RoundStarted",
    "SelectorFields",
    "ToolCallStarted",
    "ToolCallable",
    "ToolFunction",
    "ToolLoopEvent",
    "ToolLoopResult",
    "ToolResultReceived",
    "ViolationListener",
    "run_tool_loop",
    "stream_tool_loop",
    "tool_result_content",
]
