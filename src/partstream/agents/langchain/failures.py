"""What the exceptions of LangChain and LangGraph mean, and those of the model servers' clients below them."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from partstream.agents.failures import FailureKind

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["CHAT_MODEL_ERRORS", "ERRORS"]

ERRORS: Final[Mapping[str, FailureKind]] = MappingProxyType(
    {
        "GraphRecursionError": FailureKind.LIMIT,
        "ModelCallLimitExceededError": FailureKind.LIMIT,
        "ToolCallLimitExceededError": FailureKind.LIMIT,
        "StructuredOutputError": FailureKind.MODEL,
        "OutputParserException": FailureKind.MODEL,
        "ToolInvocationError": FailureKind.TOOL,
        "ToolException": FailureKind.TOOL,
        "InvalidUpdateError": FailureKind.USAGE,
        "EmptyInputError": FailureKind.USAGE,
        # Clients of openai and anthropic (one tree of names), of google-genai, and of ollama.
        "APITimeoutError": FailureKind.TIMEOUT,
        "APIConnectionError": FailureKind.CONNECTION,
        "APIStatusError": FailureKind.HTTP,
        "APIError": FailureKind.HTTP,
        "ChatGoogleGenerativeAIError": FailureKind.HTTP,
        "ResponseError": FailureKind.HTTP,
    }
)
"""What an exception of a run means, by the name of its class or of a base class."""

CHAT_MODEL_ERRORS: Final[Mapping[str, FailureKind]] = MappingProxyType(
    {
        **ERRORS,
        # httpx, and sockets. Tools of an agent raise them too; a chat model has none.
        "TimeoutException": FailureKind.TIMEOUT,
        "TransportError": FailureKind.CONNECTION,
        "ConnectionError": FailureKind.CONNECTION,
    }
)
"""The same for a chat model that is asked by itself."""
