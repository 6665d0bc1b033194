"""LangChain's agents and chat models, and graphs of LangGraph, as models of VS Code.

Nothing here imports LangChain before it is used: the person's own file has imported it then.
"""

from __future__ import annotations
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from partstream.codec.checks import dataclass, field

if TYPE_CHECKING:
    from partstream_agents.langchain.middleware import HostToolsMiddleware


@dataclass(frozen=True, slots=True)
class AnsweringGraph:
    """A compiled graph of LangGraph, and which of its nodes answer.

    ::

        from partstream_agents.langchain import AnsweringGraph

        model = AnsweringGraph(graph, answer_nodes=["writer"])

    Attributes:
        graph: The compiled graph.
        answer_nodes: The names of the nodes and sub-graphs whose text is the answer; the text of others is shown as
            thinking. None for all nodes of the graph itself, but not those of its sub-graphs.
        input: Makes the graph's input of the conversation, a list of LangChain's messages; None for a graph whose state
            has the field `messages`.
        output: Makes the answer of the last state, a text or an object, which is shown after the graph's own text;
            None where that text is the answer.
        context: The run-time context of each run (`context_schema`), or None.
        config: Further configuration of each run, such as `{"recursion_limit": 50}`.
    """

    graph: Any
    answer_nodes: Sequence[str] | None = None
    input: Callable[[list[Any]], Any] | None = None
    output: Callable[[Any], Any] | None = None
    context: Any = None
    config: Mapping[str, Any] = field(default_factory=dict)


def host_tools() -> HostToolsMiddleware:
    """The middleware with which an agent of `create_agent` takes the tools of VS Code.

    ::

        agent = create_agent("openai:gpt-5.5", tools=[search], middleware=[host_tools()])

    It also adds the host's instructions to the agent's own. Where the agent runs without a host, it adds nothing.

    Raises:
        ImportError: LangChain 1.0 or later is not installed.
    """
    from partstream_agents.langchain.middleware import HostToolsMiddleware  # noqa: PLC0415 - imports LangChain

    return HostToolsMiddleware()
