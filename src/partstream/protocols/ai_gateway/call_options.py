"""What a caller may choose for a request, under whatever name, as call options of the specification.

Source: `LanguageModelV2CallOptions` to `V4` of `@ai-sdk/provider` 2.0.5, 3.0.19 and 4.0.38.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from partstream.errors import RequestNotExpressibleError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["PROMPT", "CallOptions", "check_provider_options", "read_call_options"]

PROMPT: Final = "prompt"
"""The field that holds the request itself."""

_NAMES: Final = {
    "maxTokens": "maxOutputTokens",
    "max_tokens": "maxOutputTokens",
    "max_completion_tokens": "maxOutputTokens",
    "max_output_tokens": "maxOutputTokens",
    "top_p": "topP",
    "top_k": "topK",
    "presence_penalty": "presencePenalty",
    "frequency_penalty": "frequencyPenalty",
    "stop": "stopSequences",
    "stop_sequences": "stopSequences",
    "response_format": "responseFormat",
    "provider_options": "providerOptions",
    "reasoning_effort": "reasoning",
    "reasoningEffort": "reasoning",
}
"""Options in the words of other protocols and SDKs; all others are sent as they are."""

_NOT_OPTIONS: Final = frozenset(
    {PROMPT, "model", "stream", "messages", "input", "previous_response_id", "instructions"}
    | {"tools", "toolChoice", "tool_choice", "store"}
)
"""Fields that no option of a caller replaces: the request and the settings of its owner say them."""


class CallOptions(NamedTuple):
    """What was chosen.

    Attributes:
        fields: Fields of the body.
        reasoning: The reasoning effort, or None.
        provider_options: Options for providers, by the provider's name.
    """

    fields: dict[str, Any]
    reasoning: str | None
    provider_options: Mapping[str, Mapping[str, Any]]


def read_call_options(options: Mapping[str, Any]) -> CallOptions:
    """Reads the options of a request.

    Raises:
        RequestNotExpressibleError: The provider options are no object of objects.
    """
    named = {_NAMES.get(name, name): value for name, value in options.items() if name not in _NOT_OPTIONS}
    effort, chosen = named.pop("reasoning", None), named.pop("providerOptions", {})
    fields = {name: _FORMS[name](value) if name in _FORMS else value for name, value in named.items()}
    if isinstance(effort, Mapping):  # as OpenResponses says it
        effort = effort.get("effort")
    if (wrong := check_provider_options(chosen)) is not None:
        place, got = wrong
        raise RequestNotExpressibleError(got, f"modelOptions.providerOptions{place}", "an object of objects")
    return CallOptions(fields, effort if isinstance(effort, str) else None, chosen)


def check_provider_options(value: Any) -> tuple[str, str] | None:
    """Where something is no object of objects, and what stands there; None where all is well."""
    if not isinstance(value, Mapping):
        return "", type(value).__name__
    wrong = next((name for name, options in value.items() if not isinstance(options, Mapping)), None)
    return None if wrong is None else (f".{wrong}", type(value[wrong]).__name__)


def _stop_sequences(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


def _response_format(value: Any) -> Any:
    """`{"type": "json", "schema", "name", "description"}`, also from the two forms of OpenAI's."""
    if not isinstance(value, Mapping):
        return value
    schema = value.get("json_schema")
    if value.get("type") == "json_schema" and isinstance(schema, Mapping):
        known = {name: schema[name] for name in ("schema", "name", "description") if schema.get(name) is not None}
        return {"type": "json", **known}
    return {"type": "json"} if value.get("type") == "json_object" else value


_FORMS: Final[Mapping[str, Callable[[Any], Any]]] = {
    "stopSequences": _stop_sequences,
    "responseFormat": _response_format,
}
