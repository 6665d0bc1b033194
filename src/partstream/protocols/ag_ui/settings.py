"""The settings of requests that only AG-UI has a place for."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from partstream.protocols.protocol import OwnSettings
from partstream.settings.checks import shortened
from partstream.settings.errors import ConfigurationError
from partstream.settings.kinds import Choice, choice, text
from partstream.settings.row import Setting

__all__ = ["OWN_SETTINGS", "AGUISettings", "Thread"]

_PATH: Final = re.compile(r"(?:/(?:[\w.~!$&'()*+,;=:@%-]|\{model\})*)*", re.ASCII)


class Thread(Choice):
    """What the agent takes for one conversation."""

    REQUEST = "request", "Each request, which brings the whole conversation; an interrupted run goes on in its own"
    CONVERSATION = "conversation", "The conversation, for agents that keep it themselves, such as those of Google's ADK"


@dataclass(frozen=True, slots=True)
class AGUISettings:
    """The request settings of AG-UI alone.

    Attributes:
        agent_path: Where the agent is below the base URL; `{model}` stands for the model's id. Empty where the base URL
            is the agent's own.
        thread: What the agent takes for one conversation.
    """

    agent_path: str = ""
    thread: Thread = Thread.REQUEST


def _agent_path(value: str, where: str) -> str:
    if _PATH.fullmatch(value) is None:
        raise ConfigurationError(where, shortened(value), "a path such as `/agents/{model}`, or nothing")
    return value


OWN_SETTINGS: Final = OwnSettings(
    AGUISettings,
    (
        Setting(
            "agentPath",
            text(_agent_path),
            "Where the agent is below the base URL, such as `/agents/{model}`; `{model}` stands for the model's id",
            otherwise="the base URL is the agent's own, and `forwardedProps` names the model",
        ),
        Setting(
            "thread",
            choice(Thread),
            "What the agent takes for one conversation: each request brings all of it, so that it need not keep any",
            "request",
        ),
    ),
    request_fields=frozenset({"threadId", "runId", "messages", "tools", "resume"}),
)
