"""What a compiled graph tells of itself before its run, by its attributes; imports no framework."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["forget_thread", "has_checkpointer", "host_tools_enter", "inner_tools_of", "tool_nodes_of"]

_MIDDLEWARE_NODE: Final = "HostToolsMiddleware.before_model"
"""The node that `create_agent` makes of our middleware."""
_IN_MEMORY: Final = "langgraph.checkpoint.memory"
_OWN_MODULES: Final = "partstream."
_SEAT: Final = "partstream_host_tools"


def has_checkpointer(graph: Any) -> bool:
    """Whether runs of a graph leave a state in a thread. True and False only say what a sub-graph inherits."""
    found = getattr(graph, "checkpointer", None)
    return found is not None and not isinstance(found, bool)


async def forget_thread(graph: Any, thread_id: str) -> None:
    """Removes the thread of a run that has ended from a checkpointer in memory, which would keep it for ever.

    Nobody goes on with such a thread. Other checkpointers keep it, for people to look at.
    """
    saver = graph.checkpointer
    if any(one.__module__.startswith(_IN_MEMORY) for one in type(saver).__mro__) and hasattr(saver, "adelete_thread"):
        await saver.adelete_thread(thread_id)


def tool_nodes_of(graph: Any) -> frozenset[str]:
    """The nodes that run tools: what a model says there is no answer."""
    return frozenset({"tools", *(name for name, node in _nodes(graph).items() if _tools_of(node))})


def inner_tools_of(graph: Any) -> frozenset[str]:
    """The names of the tools of a graph and its sub-graphs, without the host's."""
    return frozenset(
        name
        for one in _with_subgraphs(graph)
        for node in _nodes(one).values()
        for name, tool in _tools_of(node).items()
        if not type(tool).__module__.startswith(_OWN_MODULES) and name != _SEAT
    )


def host_tools_enter(graph: Any, *, through_middleware: bool = False) -> bool:
    """Whether a graph takes the host's tools: by our middleware, or because it was made with them.

    Args:
        graph: The graph.
        through_middleware: Whether only the graph's own middleware counts.
    """
    if through_middleware:
        return _MIDDLEWARE_NODE in _nodes(graph)
    for one in _with_subgraphs(graph):
        if _MIDDLEWARE_NODE in _nodes(one):
            return True
        tools = [tool for node in _nodes(one).values() for tool in _tools_of(node).values()]
        if any(type(tool).__module__.startswith(_OWN_MODULES) for tool in tools):
            return True
    return False


def _with_subgraphs(graph: Any) -> Iterator[Any]:
    yield graph
    if hasattr(graph, "get_subgraphs"):
        yield from (found for _, found in graph.get_subgraphs(recurse=True))


def _nodes(graph: Any) -> Mapping[str, Any]:
    found = getattr(graph, "nodes", None)
    return found if isinstance(found, dict) else {}


def _tools_of(node: Any) -> Mapping[str, Any]:
    """The tools of a node that runs tools; none for other nodes."""
    found = getattr(getattr(node, "bound", None), "tools_by_name", None)
    return found if isinstance(found, dict) else {}
