"""What a caller chose, as `forwardedProps`: the values that an application passes through to its agent untouched.

Agents take what they know of it and leave the rest; a model behind `partstream serve` takes all of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from partstream.conversation.chat_request import ChatRequest

__all__ = ["EFFORT", "NOT_OPTIONS", "chosen_options", "forwarded_options"]

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
