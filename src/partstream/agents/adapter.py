"""The seam between an agent's framework and everything else: what an adapter is given, and what it has to offer.

An adapter is two halves without I/O and the loop that joins them: one half turns the conversation into the arguments
of a run (`conversation.py` of its folder), the other the framework's events into outputs (`events.py`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from partstream.messages import ToolMode

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Collection, Mapping, Sequence

    from partstream.agents.failures import FailureKind
    from partstream.agents.outputs import AgentOutput
    from partstream.conversation.turns import Result, Turn
    from partstream.messages import ChatMessage, Tool

__all__ = ["AgentAdapter", "AgentPairing", "AgentRequest", "Decision", "InnerToolsAdapter", "ToolMakingAdapter"]


@dataclass(frozen=True, slots=True)
class Decision:
    """What was decided about a call that wanted to be allowed.

    Attributes:
        approved: Whether the agent may run it.
        reason: Why not, for the model; empty if it may run.
    """

    approved: bool
    reason: str = ""


@dataclass(frozen=True, slots=True)
class AgentRequest:
    """One request to an agent.

    Attributes:
        turns: The conversation without the host's instructions. Every call has a result behind it and every result a
            call before it; names of tools are those of `tools`.
        messages: The conversation as the host sent it.
        instructions: The host's system messages as one text, such as Copilot's; may be empty.
        tools: The host's tools that the agent may call and never runs itself, under the names to use.
        tool_mode: Whether the model may or must call a tool.
        model_options: The caller's options for the model, without those of the host.
        resumed: The state that the run kept which this request goes on with, verified to belong to this conversation;
            None where the run is to be rebuilt from `turns`.
        results: The results of the calls that the kept run handed out, by the framework's own call ids, in the order
            of the calls; empty without `resumed`.
        decisions: What was decided about the calls that the kept run wants to be allowed, by call id.
        reply: What the person answered to the question of the kept run; None without one.
        thread_id: A name of the conversation that stays the same; a new one where the host names none.
    """

    turns: tuple[Turn, ...]
    messages: tuple[ChatMessage, ...]
    instructions: str = ""
    tools: tuple[Tool, ...] = ()
    tool_mode: ToolMode = ToolMode.AUTO
    model_options: Mapping[str, Any] = field(default_factory=dict)
    resumed: Mapping[str, Any] | None = field(default=None, repr=False)
    results: Mapping[str, Result] = field(default_factory=dict)
    decisions: Mapping[str, Decision] = field(default_factory=dict)
    reply: str | None = None
    thread_id: str = ""


class AgentAdapter(Protocol):
    """What a framework's folder offers, as an object without state: it serves any number of runs at once.

    Attributes:
        framework: The framework's name for people, such as `pydantic-ai`.
        tested: The versions of the framework that the tests run against, such as `2.60-2.68`.
        errors: What the framework's exceptions mean, by the name of their class or of a base class.
    """

    framework: str
    tested: str
    errors: Mapping[str, FailureKind]

    def run(self, agent: Any, request: AgentRequest) -> AsyncGenerator[AgentOutput, None]:
        """Runs the agent until it ends, wants one of the host's tools, or asks the person.

        Closing the generator stops the run and closes the stream of the model at once.

        Raises:
            Exception: Any exception of the framework, of the agent's tools or of its model.
        """
        ...


@runtime_checkable
class ToolMakingAdapter(Protocol):
    """An adapter whose agents are made with the host's tools, because a finished one takes no further tools."""

    def make_tools(self, request: AgentRequest) -> Sequence[Any]:
        """The host's tools of a request as objects of the framework, for a factory of agents."""
        ...


@runtime_checkable
class InnerToolsAdapter(Protocol):
    """An adapter that knows the tools of an agent before its run."""

    def inner_tools(self, agent: Any) -> Collection[str]:
        """The names of the agent's own tools: a host's tool of such a name gets another one."""
        ...


@dataclass(frozen=True, slots=True)
class AgentPairing:
    """An agent with the adapter that runs it; what the hook `__partstream_model__` of an object may return.

    Attributes:
        agent: The agent.
        adapter: The adapter.
    """

    agent: Any
    adapter: AgentAdapter
