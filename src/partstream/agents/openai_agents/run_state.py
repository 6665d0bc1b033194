"""The state of a run that the SDK has stopped, as JSON and back. What cannot be kept is rebuilt from the conversation.

The SDK's own warning stands (`RunState.from_json`): only a state of our own comes here, see
:mod:`partstream.agents.run`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from partstream.agents.openai_agents.inner_tools import call_id_of
from partstream.agents.openai_agents.wire import message_as_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agents import Agent, RunState
    from agents.result import RunResultStreaming

    from partstream.agents.adapter import AgentRequest

__all__ = ["kept_state", "restored_state"]


def kept_state(result: RunResultStreaming) -> dict[str, Any] | None:
    """The state of a run as JSON; None where the SDK cannot say it, as for two agents of one name."""
    from agents import UserError  # noqa: PLC0415 - only where the person's file has imported it

    try:
        return result.to_state().to_json()
    except UserError:
        return None


async def restored_state(
    agent: Agent[Any], request: AgentRequest, context: Any, max_turns: int | None
) -> RunState[Any, Agent[Any]] | None:
    """The state that a request goes on with, with what the host returned and the person decided; None where it belongs
    to another version of the SDK or of the agent: then the run is rebuilt.

    Args:
        agent: The agent, with the host's tools of the request.
        request: The request.
        context: The person's own object that the tools of the agent get.
        max_turns: The most requests to the model in this run, or None for any number.
    """
    from agents import RunState, UserError  # noqa: PLC0415 - see `kept_state`

    if request.resumed is None:
        return None
    try:
        state = await RunState.from_json(
            agent,
            _as_given(_with_turns(request.resumed, max_turns)),
            **({} if context is None else {"context_override": context}),
        )
        for item in state.get_interruptions():
            call_id = call_id_of(item.raw_item)
            decision = request.decisions.get(call_id)
            if call_id in request.results or (decision is not None and decision.approved):
                state.approve(item)
            elif decision is not None:
                state.reject(item, rejection_message=decision.reason or None)
    except (UserError, KeyError, TypeError, ValueError):
        return None
    return state


def _with_turns(state: Mapping[str, Any], max_turns: int | None) -> dict[str, Any]:
    """The state with the whole limit of turns ahead. The SDK counts those of all runs of a state, and each call of a
    host's tool is a turn: a person would meet the limit in the middle of ordinary work."""
    taken = state.get("current_turn")
    if not isinstance(taken, int) or "max_turns" not in state:
        return dict(state)
    return {**state, "max_turns": None if max_turns is None else taken + max_turns}


def _as_given(state: dict[str, Any]) -> dict[str, Any]:
    """The state with messages of the assistant as :func:`run_arguments` gave them. The SDK writes them in pieces, and
    its own models of Chat Completions refuse that form (0.24, `RunState._serialize_input`)."""
    given = state.get("original_input")
    return {**state, "original_input": [message_as_text(item) for item in given]} if isinstance(given, list) else state
