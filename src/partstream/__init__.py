"""Partstream: any language model in VS Code chat, through Python.

The names below are the public surface. Those that a provider of one's own does not need, such as all that open sockets
or run event loops, are loaded when first used, so that importing the package stays quick and free of I/O.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from partstream._version import __version__
from partstream.cancellation import CancellationToken, CancellationTokenSource
from partstream.errors import LanguageModelError, LanguageModelErrorCode, PartstreamError
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
    LanguageModelChatCapabilities,
    LanguageModelChatInformation,
    LanguageModelChatProvider,
    Progress,
)
from partstream.usage import FinishReason, UnifiedFinishReason, Usage

if TYPE_CHECKING:
    from partstream.consumer import LanguageModelChat, LanguageModels, run_tool_loop
    from partstream.outputs import CitationMode, Finish, Outcome, StreamOptions, ThinkingMode, Unmapped
    from partstream.protocols.reader import StreamReader
    from partstream.protocols.registry import PROTOCOLS
    from partstream.reading import read_stream
    from partstream.stream_adapter import StreamAdapter, StreamUsage
    from partstream.upstreams import GatewayProvider

__all__ = [
    "PROTOCOLS",
    "CancellationToken",
    "CancellationTokenSource",
    "ChatMessage",
    "CitationMode",
    "DataPart",
    "Disposable",
    "Event",
    "EventEmitter",
    "Finish",
    "FinishReason",
    "GatewayProvider",
    "LanguageModelChat",
    "LanguageModelChatCapabilities",
    "LanguageModelChatInformation",
    "LanguageModelChatProvider",
    "LanguageModelError",
    "LanguageModelErrorCode",
    "LanguageModels",
    "MessagePart",
    "Outcome",
    "PartstreamError",
    "Progress",
    "RequestOptions",
    "ResponsePart",
    "Role",
    "StreamAdapter",
    "StreamOptions",
    "StreamReader",
    "StreamUsage",
    "TextPart",
    "ThinkingMode",
    "ThinkingPart",
    "Tool",
    "ToolCallPart",
    "ToolMode",
    "ToolResultPart",
    "UnifiedFinishReason",
    "Unmapped",
    "Usage",
    "__version__",
    "read_stream",
    "run_tool_loop",
]

_LAZY = {
    "CitationMode": "partstream.outputs",
    "Finish": "partstream.outputs",
    "Outcome": "partstream.outputs",
    "StreamOptions": "partstream.outputs",
    "ThinkingMode": "partstream.outputs",
    "Unmapped": "partstream.outputs",
    "PROTOCOLS": "partstream.protocols.registry",
    "StreamReader": "partstream.protocols.reader",
    "read_stream": "partstream.reading",
    "GatewayProvider": "partstream.upstreams",
    "LanguageModelChat": "partstream.consumer",
    "LanguageModels": "partstream.consumer",
    "StreamAdapter": "partstream.stream_adapter",
    "StreamUsage": "partstream.stream_adapter",
    "run_tool_loop": "partstream.consumer",
}


def __getattr__(name: str) -> Any:
    module = _LAZY.get(name)
    if module is None:
        raise AttributeError(f"module 'partstream' has no attribute {name!r}")
    return getattr(import_module(module), name)
