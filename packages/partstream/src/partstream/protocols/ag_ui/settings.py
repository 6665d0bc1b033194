"""AG-UI's own settings, and the options of a request as `forwardedProps`.

`forwardedProps` holds the values that an application passes to its agent untouched. Agents take what they know of it
and leave the rest; a model of `partstream serve` takes all of it.
"""

from __future__ import annotations
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from partstream.conversation.preparation import ChatRequest
from partstream.protocols.protocol import OwnSettings
from partstream.settings.kinds import Choice, ConfigurationError, choice, shortened, text
from partstream.settings.row import Setting

_PATH: Final = re.compile(r"(?:/(?:[\w.~!$&'()*+,;=:@%-]|\{model\})*)*", re.ASCII)


class Thread(Choice):
    """What the agent takes for one conversation."""

    REQUEST = "request", "Each request, which brings the whole conversation; an interrupted run goes on in its own"
    CONVERSATION = "conversation", "The conversation, for agents that keep it themselves, such as those of Google's ADK"


@dataclass(frozen=True, slots=True)
class AGUISettings:
    """The request settings of AG-UI alone.

    Attributes:
        agent_path: Where the agent is below the base URL; `{model}` is the model's id. Empty where the base URL
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


# ---- Options ----

EFFORT: Final = "reasoningEffort"
MOST: Final = "maxOutputTokens"
_EFFORT_NAMES: Final = (EFFORT, "reasoning_effort")
_NAMES: Final = dict.fromkeys(("maxTokens", "max_tokens", "max_completion_tokens", "max_output_tokens"), MOST)
"""The most tokens of an answer in the words of other protocols."""
NOT_OPTIONS: Final = frozenset(
    {"model", "messages", "stream", "tools", "tool_choice", "stream_options", "store", "parallel_tool_calls"}
    | {"prompt", "input", "instructions", "previous_response_id"}
)
"""Options that would replace the request itself, and fields of other wires that mean nothing here."""


def chosen_options(given: Mapping[str, Any]) -> dict[str, Any]:
    """The options that are passed on, with the reasoning effort under its one name."""
    passed = {name: value for name, value in given.items() if name not in NOT_OPTIONS and not name.startswith("_")}
    kept = {_NAMES.get(name, name): value for name, value in passed.items()}
    effort = next((kept.pop(name) for name in _EFFORT_NAMES if isinstance(kept.get(name), str)), None)
    kept = {name: value for name, value in kept.items() if name not in _EFFORT_NAMES}
    return kept | ({EFFORT: effort} if effort else {})


def forwarded_options(request: ChatRequest) -> dict[str, Any]:
    """The options of a request, its reasoning effort and the most tokens of its answer."""
    chosen = chosen_options(request.options)
    if request.reasoning_effort is not None:
        chosen.setdefault(EFFORT, request.reasoning_effort)
    most = request.settings.max_output_tokens
    return ({} if most is None else {MOST: most}) | chosen
