"""What the exceptions of the framework, and of the clients that it uses, mean.

Source: Agent Framework 1.23, `agent_framework.exceptions`; openai 2.45, `openai._exceptions`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from partstream.agents.failures import FailureKind

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["ERRORS"]

ERRORS: Final[Mapping[str, FailureKind]] = {
    **dict.fromkeys(
        (
            "AgentContentFilterException",
            "ChatClientContentFilterException",
            "IntegrationContentFilterException",
        ),
        FailureKind.REFUSED,
    ),
    **dict.fromkeys(
        (
            "AgentInvalidAuthException",
            "AgentInvalidRequestException",
            "ChatClientInvalidAuthException",
            "ChatClientInvalidRequestException",
            "IntegrationInvalidAuthException",
            "IntegrationInvalidRequestException",
            "APIStatusError",
        ),
        FailureKind.HTTP,
    ),
    "ToolException": FailureKind.TOOL,
    "MiddlewareException": FailureKind.USAGE,
    "SettingNotFoundError": FailureKind.USAGE,
    "IntegrationInitializationError": FailureKind.USAGE,
    "WorkflowConvergenceException": FailureKind.LIMIT,
    "AgentFrameworkException": FailureKind.MODEL,
    "APITimeoutError": FailureKind.TIMEOUT,
    "APIError": FailureKind.MODEL,
}
