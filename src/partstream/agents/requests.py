"""A host's request as one to an agent: turns in pairs, instructions, the host's tools; no I/O."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING
from uuid import uuid4

from partstream.agents.adapter import AgentRequest
from partstream.agents.external_tools import ExternalTools, selected
from partstream.conversation.call_ids import CallIds
from partstream.conversation.normal_form import read_turns
from partstream.conversation.pairing import pair
from partstream.conversation.turns import Call, Result, Text, TurnRole
from partstream.messages import ChatMessage

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from partstream.agents.external_tools import HostTools
    from partstream.conversation.turns import Turn
    from partstream.messages import RequestOptions
    from partstream.parts import ToolResultPart

__all__ = ["read_agent_request", "read_results"]


def read_agent_request(
    messages: Sequence[ChatMessage], options: RequestOptions, host_tools: HostTools, inner_tools: Collection[str]
) -> tuple[AgentRequest, ExternalTools]:
    """The request, rebuilt from the conversation alone, and the host's tools of it.

    Args:
        messages: The conversation.
        options: The tools and options of the host.
        host_tools: Which of the host's tools the agent gets.
        inner_tools: The names of the agent's own tools.
    """
    given, _ = read_turns(messages)
    called = (piece.name for turn in given for piece in turn.content if isinstance(piece, Call))
    external = ExternalTools(selected(options.tools, host_tools), inner_tools, called)
    turns, _ = pair(external.renamed_turns(given), CallIds(""), external.names)
    named = options.model_options.get("_conversationId")
    return AgentRequest(
        turns=tuple(turn for turn in turns if turn.role is not TurnRole.SYSTEM),
        messages=tuple(messages),
        instructions=_instructions(turns),
        tools=external.tools,
        tool_mode=options.tool_mode,
        # Names with an underscore are for the host (observed in Copilot 0.67).
        model_options={name: value for name, value in options.model_options.items() if not name.startswith("_")},
        thread_id=named if isinstance(named, str) and named else uuid4().hex,
    ), external


def read_results(results: Iterable[ToolResultPart], names: dict[str, str]) -> dict[str, Result]:
    """Results of the host as pieces of turns, by the ids of their calls.

    Args:
        results: The results.
        names: The agent's names of the tools, by call id.
    """
    pieces: dict[str, Result] = {}
    for result in results:
        for turn in read_turns([ChatMessage.user([result])])[0]:
            for piece in turn.content:
                if isinstance(piece, Result):
                    pieces[piece.call_id] = replace(piece, name=names.get(piece.call_id, piece.name))
    return pieces


def _instructions(turns: Iterable[Turn]) -> str:
    texts = (
        "".join(piece.value for piece in turn.content if isinstance(piece, Text))
        for turn in turns
        if turn.role is TurnRole.SYSTEM
    )
    return "\n\n".join(filter(None, texts))
