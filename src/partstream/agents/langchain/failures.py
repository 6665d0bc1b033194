"""What the exceptions of LangChain and LangGraph mean, and those of the model servers' clients below them."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from partstream.agents.failures import FailureKind

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["ERRORS"]

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
        # Clients of openai and anthropic (one tree of names), and of ollama.
        "APITimeoutError": FailureKind.TIMEOUT,
        "APIStatusError": FailureKind.HTTP,
        "ResponseError": FailureKind.HTTP,
    }
)
