"""What a caller chose, under whatever name, as fields of a body and its `options` (docs/wires/ollama.md#requests)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple, TypeAlias

__all__ = ["MODEL_OPTIONS", "NUM_CTX", "NUM_PREDICT", "ChosenOptions", "read_options"]

_Wire: TypeAlias = dict[str, Any]

NUM_CTX: Final = "num_ctx"
NUM_PREDICT: Final = "num_predict"
_EFFORT: Final = "effort"
_FORMAT: Final = "format"
_OPTIONS: Final = "options"

MODEL_OPTIONS: Final = frozenset(
    {NUM_CTX, NUM_PREDICT, "num_keep", "seed", "temperature", "top_k", "top_p", "min_p", "typical_p", "stop"}
    | {"repeat_last_n", "repeat_penalty", "presence_penalty", "frequency_penalty", "mirostat", "mirostat_tau"}
    | {"mirostat_eta", "penalize_newline", "num_batch", "num_gpu", "main_gpu", "num_thread", "use_mmap", "numa"}
    | {"tfs_z", "low_vram", "vocab_only", "use_mlock", "draft_num_predict"}
)
"""The fields of `options`; what is none of them is a field of the body itself."""

_NAMES: Final = {
    **dict.fromkeys(
        ("maxTokens", "max_tokens", "max_completion_tokens", "max_output_tokens", "maxOutputTokens"), NUM_PREDICT
    ),
    "reasoning_effort": _EFFORT,
    "reasoningEffort": _EFFORT,
    "topP": "top_p",
    "topK": "top_k",
    "minP": "min_p",
    "presencePenalty": "presence_penalty",
    "frequencyPenalty": "frequency_penalty",
    "stopSequences": "stop",
    "stop_sequences": "stop",
    "responseFormat": _FORMAT,
    "response_format": _FORMAT,
    "keepAlive": "keep_alive",
}
"""Options in the words of other protocols and SDKs; all others are sent as they are."""

_NOT_OPTIONS: Final = frozenset(
    {"model", "messages", "stream", "tools", "tool_choice", "stream_options", "store", "parallel_tool_calls"}
    | {"prompt", "input", "instructions", "previous_response_id"}
)
"""Fields that no option of a caller replaces, and fields of other wires that mean nothing here."""


class ChosenOptions(NamedTuple):
    """What was chosen.

    Attributes:
        fields: Fields of the body.
        options: Fields of `options` in the body.
        effort: The reasoning effort, or None.
    """

    fields: _Wire
    options: _Wire
    effort: str | None


def read_options(given: Mapping[str, Any]) -> ChosenOptions:
    """Reads the options of a request."""
    named = {_NAMES.get(name, name): value for name, value in given.items() if name not in _NOT_OPTIONS}
    effort = named.pop(_EFFORT, None)
    reasoning = named.get("reasoning")
    if effort is None and isinstance(reasoning, Mapping) and reasoning.keys() <= {"effort", "summary"}:
        effort = named.pop("reasoning").get("effort")  # as OpenResponses says it
    nested = named.pop(_OPTIONS, None)
    options = dict(nested) if isinstance(nested, Mapping) else {}
    options |= {name: value for name, value in named.items() if name in MODEL_OPTIONS}
    fields = {name: value for name, value in named.items() if name not in MODEL_OPTIONS}
    if _FORMAT in fields:
        fields[_FORMAT] = _format(fields[_FORMAT])
    if isinstance(options.get("stop"), str):
        options["stop"] = [options["stop"]]
    return ChosenOptions(fields, options, effort if isinstance(effort, str) and effort else None)


def _format(value: Any) -> Any:
    """`"json"` or a JSON Schema, also of the objects in which Chat Completions says them."""
    kind = value.get("type") if isinstance(value, Mapping) else None
    if kind == "json_object":
        return "json"
    if kind == "json_schema" and isinstance(wrapped := value.get("json_schema"), Mapping):
        return wrapped.get("schema", value)
    return value
