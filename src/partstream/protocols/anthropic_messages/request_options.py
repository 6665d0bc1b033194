"""The options of a caller, under whatever name, as fields (docs/wires/anthropic-messages.md#request-fields)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from partstream.protocols.options import AnswerFormat, options_for

if TYPE_CHECKING:
    from partstream.conversation.chat_request import ChatRequest
    from partstream.protocols.anthropic_messages.provider_state import Wire

__all__ = ["ChosenOptions", "options_of", "read_options"]

_LIMIT: Final = "limit"
_EFFORT: Final = "effort"
_PARALLEL: Final = "parallel"

_NAMES: Final = {
    "maxTokens": _LIMIT,
    "max_tokens": _LIMIT,
    "max_completion_tokens": _LIMIT,
    "max_output_tokens": _LIMIT,
    "maxOutputTokens": _LIMIT,
    "reasoning_effort": _EFFORT,
    "reasoningEffort": _EFFORT,
    "parallel_tool_calls": _PARALLEL,
    "parallelToolCalls": _PARALLEL,
    "topP": "top_p",
    "topK": "top_k",
    "stop": "stop_sequences",
    "stopSequences": "stop_sequences",
}
"""Options in the words of other protocols and SDKs; all others are sent as they are."""

_NOT_OPTIONS: Final = frozenset(
    {"model", "messages", "system", "stream", "stream_options", "tools", "tool_choice", "store", "n"}
    | {"prompt", "input", "instructions", "previous_response_id"}
)
"""Fields that no option of a caller replaces: the request and the settings of its owner say them, or they say how an
answer is read."""


class ChosenOptions(NamedTuple):
    """What was chosen.

    Attributes:
        fields: Fields of the body.
        limit: The most tokens of the answer, or None.
        effort: The effort, or None.
        parallel: Whether several tools may be called at once, or None.
    """

    fields: Wire
    limit: int | None
    effort: str | None
    parallel: bool | None


_WIRE: Final = "anthropic-messages"
_KNOWN: Final = frozenset(_NAMES) | {"stop_sequences", "temperature", "top_k", "top_p"}
"""The options of other wires that mean the same here."""


def options_of(request: ChatRequest) -> ChosenOptions:
    """Reads the options of a request, which may have come in over another wire."""
    return read_options(options_for(request, _WIRE, _KNOWN, _format_option))


def _format_option(asked: AnswerFormat) -> dict[str, Any]:
    """The format of an answer; only a schema has a form here (docs/wires/anthropic-messages.md#request-fields)."""
    if asked.schema is None:
        return {}
    return {"output_config": {"format": {"type": "json_schema", "schema": dict(asked.schema)}}}


def read_options(options: Mapping[str, Any]) -> ChosenOptions:
    """Reads the options of a request."""
    named = {_NAMES.get(name, name): value for name, value in options.items() if name not in _NOT_OPTIONS}
    limit, effort, parallel = (named.pop(name, None) for name in (_LIMIT, _EFFORT, _PARALLEL))
    if isinstance(named.get("stop_sequences"), str):
        named["stop_sequences"] = [named["stop_sequences"]]
    reasoning = named.get("reasoning")
    if effort is None and isinstance(reasoning, Mapping) and reasoning.keys() <= {"effort", "summary"}:
        effort = named.pop("reasoning").get("effort")  # as OpenResponses says it
    return ChosenOptions(
        named,
        limit if type(limit) is int and limit > 0 else None,
        effort if isinstance(effort, str) and effort else None,
        parallel if isinstance(parallel, bool) else None,
    )
