"""What an exact continuation of a run needs, as JSON and back: the framework's session, and what it has asked.

The framework wants approvals back with the session that it asked them in (Agent Framework 1.23,
`_resolve_approval_responses`); what is in it comes from our own folder alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from partstream.agents.agent_framework.conversation import resumed_messages
from partstream.codec.json_codec import is_json

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agent_framework import AgentSession, Message

    from partstream.agents.adapter import AgentRequest
    from partstream.agents.agent_framework.inner_tools import InnerTools

__all__ = ["kept_state", "restored"]


def kept_state(session: AgentSession, tools: InnerTools) -> dict[str, Any] | None:
    """The state of a run as JSON; None where the session holds what has no form in JSON."""
    state = {
        "session": session.to_dict(),
        "asked": [content.to_dict() for content in tools.requests],
        "open": tools.open_calls,
    }
    return state if is_json(state) else None


def restored(
    request: AgentRequest, state: Mapping[str, Any], tools: InnerTools
) -> tuple[AgentSession, list[Message]] | None:
    """The session that a request goes on with, and its new messages; None for a state of another version.

    Args:
        request: The request.
        state: The state, as :func:`kept_state` said it.
        tools: Takes the calls whose results are still to come.
    """
    from agent_framework import AgentSession  # noqa: PLC0415 - only where the person's file has imported it
    from agent_framework.exceptions import AgentFrameworkException  # noqa: PLC0415

    try:
        session = AgentSession.from_dict(dict(state["session"]))
        messages = resumed_messages(request, state["asked"])
        tools.expect(state["open"])
    except (AgentFrameworkException, KeyError, TypeError, ValueError):
        return None
    return session, messages
