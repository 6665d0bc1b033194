"""What a caller may choose for a request, under whatever name, as fields of a body."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from partstream.protocols.options import AnswerFormat, options_for

if TYPE_CHECKING:
    from partstream.conversation.chat_request import ChatRequest
    from partstream.protocols.chat_completions.attachments import Wire

__all__ = ["ChosenOptions", "options_of", "read_options"]

_LIMIT: Final = "limit"
_EFFORT: Final = "effort"

_NAMES: Final = {
    "maxTokens": _LIMIT,
    "max_tokens": _LIMIT,
    "max_completion_tokens": _LIMIT,
    "max_output_tokens": _LIMIT,
    "maxOutputTokens": _LIMIT,
    "reasoning_effort": _EFFORT,
    "reasoningEffort": _EFFORT,
    "topP": "top_p",
    "topK": "top_k",
    "presencePenalty": "presence_penalty",
    "frequencyPenalty": "frequency_penalty",
    "parallelToolCalls": "parallel_tool_calls",
    "stopSequences": "stop",
    "stop_sequences": "stop",
    "responseFormat": "response_format",
}
"""Options in the words of other protocols and SDKs; all others are sent as they are."""

_NOT_OPTIONS: Final = frozenset(
    {"model", "messages", "stream", "stream_options", "tools", "tool_choice", "store"}
    | {"prompt", "input", "instructions", "previous_response_id"}
)
"""Fields that no option of a caller replaces: the request and the settings of its owner say them."""


class ChosenOptions(NamedTuple):
    """What was chosen.

    Attributes:
        fields: Fields of the body.
        limit: The most tokens of the answer, or None.
        effort: The reasoning effort, or None.
    """

    fields: Wire
    limit: Any
    effort: str | None


_WIRE: Final = "chat-completions"
_KNOWN: Final = frozenset(_NAMES) | {
    "frequency_penalty",
    "logit_bias",
    "parallel_tool_calls",
    "presence_penalty",
    "safety_identifier",
    "seed",
    "stop",
    "temperature",
    "top_p",
    "user",
} - {"topK"}
"""The options of other wires that mean the same here."""


def options_of(request: ChatRequest) -> ChosenOptions:
    """Reads the options of a request, which may have come in over another wire."""
    return read_options(options_for(request, _WIRE, _KNOWN, _format_option))


def _format_option(asked: AnswerFormat) -> dict[str, Any]:
    if asked.schema is None:
        return {"response_format": {"type": "json_object"}}
    strict = {} if asked.is_strict is None else {"strict": asked.is_strict}
    schema = {"name": asked.name, "schema": dict(asked.schema), **strict}
    return {"response_format": {"type": "json_schema", "json_schema": schema}}


def read_options(options: Mapping[str, Any]) -> ChosenOptions:
    """Reads the options of a request."""
    named = {_NAMES.get(name, name): value for name, value in options.items() if name not in _NOT_OPTIONS}
    limit, effort = named.pop(_LIMIT, None), named.pop(_EFFORT, None)
    reasoning = named.get("reasoning")
    if effort is None and isinstance(reasoning, Mapping) and reasoning.keys() <= {"effort", "summary"}:
        effort = named.pop("reasoning").get("effort")  # as OpenResponses says it
    return ChosenOptions(named, limit, effort if isinstance(effort, str) and effort else None)
