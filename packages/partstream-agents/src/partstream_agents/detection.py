"""Which framework an object is of, by the modules of its classes and by its attributes; imports no framework.

The table below is the only place outside their modules that names frameworks. An object may also have a method
`__partstream_model__` that returns a provider or an :class:`~partstream_agents.adapter.AgentPairing`.
"""

from __future__ import annotations
import inspect
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, Final

from partstream.codec.checks import dataclass, described
from partstream.runtime.provider_files import NoAgentError
from partstream_agents.adapter import AgentAdapter, AgentPairing

HOOK: Final = "__partstream_model__"
"""The name of the method that returns the provider or the pairing of an object."""


@dataclass(frozen=True, slots=True)
class AgentKind:
    """One kind of objects that can be asked as a model."""

    title: str  # what such an object is, for people
    module: str  # the module, or the package, of one of the object's classes
    attributes: tuple[str, ...]  # the attributes that it has; what else comes from the package has not all of them
    adapter: str  # our module whose `ADAPTER` runs it
    # of several objects in a file, those of the lowest rank are meant: agents are made of chains and models, chains of
    # models
    rank: int = 0


_CHAT_MODELS: Final = "partstream_agents.langchain.chat_models"
KINDS: Final[tuple[AgentKind, ...]] = (
    AgentKind("a pydantic-ai agent", "pydantic_ai", ("run_stream_events",), "partstream_agents.pydantic_ai"),
    AgentKind(
        "a compiled LangGraph graph", "langgraph", ("astream", "get_graph"), "partstream_agents.langchain.graphs"
    ),
    AgentKind(
        "a graph with its answer nodes",
        "partstream_agents.langchain",
        ("graph", "answer_nodes"),
        "partstream_agents.langchain.graphs",
    ),
    AgentKind(
        "a LangChain chat model", "langchain_core.language_models", ("astream", "bind_tools"), _CHAT_MODELS, rank=2
    ),
    *(
        AgentKind(title, f"langchain_core.runnables.{module}", ("astream", of), _CHAT_MODELS, rank=1)
        for title, module, of in (
            ("a chain of LangChain", "base", "steps"),
            ("a chat model or chain with a configuration", "base", "bound"),
            ("a chat model with fallbacks", "fallbacks", "fallbacks"),
        )
    ),
    AgentKind("an agent of the OpenAI Agents SDK", "agents", ("handoffs", "clone"), "partstream_agents.openai_agents"),
    AgentKind(
        "an agent of the Microsoft Agent Framework",
        "agent_framework",
        ("run", "create_session"),
        "partstream_agents.agent_framework",
    ),
)
"""The kinds of objects, the first that fits counts."""


class UnknownAgentError(NoAgentError):
    """An object is no agent that is known here."""

    def __init__(self, got: str) -> None:
        known = ", ".join(kind.title for kind in KINDS)
        expected = f"{known}, an object with a method `{HOOK}`, or a function that makes one of these"
        super().__init__(got, f"as_model: got {got}, expected {expected}")


def kind_of(value: object) -> AgentKind | None:
    """The row of an object; None for an object of no known kind. Never raises: a module may hold anything."""
    try:
        modules = [str(one.__module__) for one in type(value).__mro__]
        for kind in () if isinstance(value, type) else KINDS:
            is_of = any(module == kind.module or module.startswith(f"{kind.module}.") for module in modules)
            if is_of and all(hasattr(value, name) for name in kind.attributes):
                return kind
    except Exception:  # proxies of some libraries fail at every look
        return None
    return None


def hook_of(value: object) -> Callable[[], Any] | None:
    """The bound method by which an object says what it is; None for an object without one, and for a class."""
    try:
        hook = None if isinstance(value, type) else getattr(value, HOOK, None)
        # Proxies and mocks answer every name; only a method of the class was written on purpose.
        return hook if callable(hook) and any(HOOK in vars(one) for one in type(value).__mro__) else None
    except Exception:  # as in `kind_of`
        return None


def is_agent(value: object) -> bool:
    """Whether an object can be asked as a model."""
    return hook_of(value) is not None or kind_of(value) is not None


def find_adapter(value: object) -> AgentAdapter | None:
    """The adapter of an object by the table, imported now; None for an object of no known kind."""
    kind = kind_of(value)
    if kind is None:
        return None
    adapter: AgentAdapter = import_module(kind.adapter).ADAPTER
    return adapter


def pairing_of(agent: Any) -> AgentPairing | None:
    """The agent and its adapter, by the object itself or by the table; None for an object of no known kind.

    Raises:
        UnknownAgentError: The hook of the object returned no pairing.
    """
    if isinstance(agent, AgentPairing):
        return agent
    if (hook := hook_of(agent)) is not None:
        said = hook()
        if isinstance(said, AgentPairing):
            return said
        expected = "an AgentPairing; a provider needs no as_model"
        raise UnknownAgentError(f"an object whose {HOOK} returned {described(said)}, expected {expected}")
    adapter = find_adapter(agent)
    return None if adapter is None else AgentPairing(agent, adapter)


# ---- Functions that make agents ----


def is_factory(value: object) -> bool:
    """Whether an object can be called for an agent: with nothing, or with the host's tools as the one argument."""
    if not callable(value) or any(is_kind(value) for is_kind in _ASYNCHRONOUS):
        return False
    parameters = _parameters(value)
    return sum(one.default is one.empty and one.kind is not one.VAR_KEYWORD for one in parameters) <= 1


def as_factory(make: Callable[..., Any]) -> Callable[[Sequence[Any]], Any]:
    """A function that makes agents, as one that takes the host's tools."""
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return make if any(one.kind in positional for one in _parameters(make)) else lambda _tools: make()


_ASYNCHRONOUS = (inspect.iscoroutinefunction, inspect.isasyncgenfunction, inspect.isgeneratorfunction)
"""A call of such a function makes no agent."""


def _parameters(make: Callable[..., Any]) -> list[inspect.Parameter]:
    try:
        return list(inspect.signature(make).parameters.values())
    except (TypeError, ValueError):  # a function without a signature, such as one written in C
        return []
