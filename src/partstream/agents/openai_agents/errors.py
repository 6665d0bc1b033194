"""What the exceptions of the SDK, and of the client that its models use, mean.

Source: OpenAI Agents SDK 0.24, `agents.exceptions`; openai 2.45, `openai._exceptions`, which LiteLLM's derive from.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from partstream.agents.failures import FailureKind

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["ERRORS"]

ERRORS: Final[Mapping[str, FailureKind]] = {
    "MaxTurnsExceeded": FailureKind.LIMIT,
    "ModelBehaviorError": FailureKind.MODEL,
    "ModelRefusalError": FailureKind.REFUSED,
    "ModelTimeoutError": FailureKind.TIMEOUT,
    "InputGuardrailTripwireTriggered": FailureKind.REFUSED,
    "OutputGuardrailTripwireTriggered": FailureKind.REFUSED,
    "ToolInputGuardrailTripwireTriggered": FailureKind.REFUSED,
    "ToolOutputGuardrailTripwireTriggered": FailureKind.REFUSED,
    "ToolTimeoutError": FailureKind.TOOL,
    "MCPToolCancellationError": FailureKind.TOOL,
    "UserError": FailureKind.USAGE,
    "AgentsException": FailureKind.MODEL,
    # The client of the models.
    "APITimeoutError": FailureKind.TIMEOUT,
    "APIStatusError": FailureKind.HTTP,
    "APIError": FailureKind.MODEL,
}
