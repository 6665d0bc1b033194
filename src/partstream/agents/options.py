"""How an agent is shown and what it may do, as the person chose it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from partstream.settings.kinds import Choice

if TYPE_CHECKING:
    from partstream.agents.approvals import ApprovalPolicy
    from partstream.agents.external_tools import HostTools

__all__ = ["AgentOptions", "ToolActivity"]


class ToolActivity(Choice):
    """How the calls of an agent's own tools are shown."""

    THINKING = "thinking", "As lines of thinking, which a host shows apart from the answer"
    TEXT = "text", "As lines of the answer, which stay in the conversation"
    OFF = "off", "Not at all"


@dataclass(frozen=True, slots=True)
class AgentOptions:
    """The options of one model that is an agent.

    Attributes:
        tools: How the calls of the agent's own tools are shown.
        approve: Who decides about calls that want to be allowed.
        host_tools: Which of the host's tools the agent gets.
    """

    tools: ToolActivity
    approve: ApprovalPolicy
    host_tools: HostTools
