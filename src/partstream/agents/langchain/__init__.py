"""LangChain's agents and chat models, and graphs of LangGraph, as models of VS Code.

Nothing here imports LangChain before it is used: the person's own file has imported it then.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from partstream.agents.langchain.answering_graph import AnsweringGraph

if TYPE_CHECKING:
    from partstream.agents.langchain.middleware import HostToolsMiddleware

__all__ = ["AnsweringGraph", "host_tools"]


def host_tools() -> HostToolsMiddleware:
    """The middleware with which an agent of `create_agent` takes the tools of VS Code.

    ::

        agent = create_agent("openai:gpt-5.5", tools=[search], middleware=[host_tools()])

    It also adds the host's instructions to the agent's own. Where the agent runs without a host, it adds nothing.

    Raises:
        ImportError: LangChain 1.0 or later is not installed.
    """
    from partstream.agents.langchain.middleware import HostToolsMiddleware  # noqa: PLC0415 - imports LangChain

    return HostToolsMiddleware()
