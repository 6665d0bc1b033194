"""The agent that a user's file is about, and the provider that it becomes: a file need not call `as_model`.

::

    from pydantic_ai import Agent

    agent = Agent("openai:gpt-5", name="My agent")
"""

from __future__ import annotations
from collections.abc import Mapping
from typing import Final

from partstream.errors import CallerError
from partstream.lm.provider import LanguageModelChatProvider
from partstream_agents.detection import UnknownAgentError, hook_of, is_agent, is_factory, kind_of

_MEANT: Final = "agent"
"""The name of the variable that wins where a file holds several agents."""


def agents_in(names: Mapping[str, object]) -> tuple[str, ...]:
    """The names of the variables of a module that hold the agent that is meant: one where it is clear.

    The variable `agent` wins over others; agents win over chains and models, which are mostly what they are made of.
    """
    found = {name: value for name, value in names.items() if not name.startswith("_") and is_agent(value)}
    if _MEANT in found:
        return (_MEANT,)
    ranks = {name: kind.rank if (kind := kind_of(value)) else 0 for name, value in found.items()}
    meant = {id(found[name]): name for name, rank in ranks.items() if rank == min(ranks.values())}
    return tuple(sorted(meant.values()))


def provider_of(agent: object, default_name: str) -> LanguageModelChatProvider:
    """The provider of an agent in a file.

    Args:
        agent: The agent; or a function that makes agents.
        default_name: The name of the model where the agent has none.

    Raises:
        UnknownAgentError: It is neither.
    """
    if (hook := hook_of(agent)) is not None and isinstance(provider := hook(), LanguageModelChatProvider):
        return provider
    if not is_agent(agent) and not is_factory(agent):
        raise UnknownAgentError(f"an object of type {type(agent).__name__}")
    from partstream_agents.agent_model import as_model, own_name  # noqa: PLC0415 - only where there is an agent

    return as_model(agent, name=own_name(agent) or default_name)


def of_profile(name: str) -> LanguageModelChatProvider:
    """The provider of the program that a profile of the user's file names.

    Raises:
        CallerError: There is no such profile, it names no program, or a setting of it is invalid.
    """
    from partstream.config.loading import load_configuration  # noqa: PLC0415 - only where there is such a profile
    from partstream.config.table import RawValue  # noqa: PLC0415 - the same
    from partstream_agents import acp_agent  # noqa: PLC0415 - the same

    found = load_configuration(command_line={"profile": RawValue(name, "profile")}).resolved.values
    given = {one: found[one].value for one in ("command", "folder", "permissions") if one in found}
    if "command" not in given:
        raise CallerError(f"the profile {name} names no `command`, expected one that is an agent")
    return acp_agent(**given, name=name)
