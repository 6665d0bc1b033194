"""What a caller may choose for a request, under whatever name, as fields of a body.

Source: docs/wires/gemini.md#thinking-config. Nearly all of it has its place in `generationConfig`; a field that Google
does not know fails the whole request.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from partstream.protocols.gemini.models import Wire

__all__ = ["ChosenOptions", "read_options"]

_EFFORT: Final = "effort"

_GENERATION: Final = {
    **dict.fromkeys(
        ("maxOutputTokens", "maxTokens", "max_tokens", "max_output_tokens", "max_completion_tokens"), "maxOutputTokens"
    ),
    **dict.fromkeys(("stopSequences", "stop_sequences", "stop"), "stopSequences"),
    **dict.fromkeys(("topP", "top_p"), "topP"),
    **dict.fromkeys(("topK", "top_k"), "topK"),
    **dict.fromkeys(("presencePenalty", "presence_penalty"), "presencePenalty"),
    **dict.fromkeys(("frequencyPenalty", "frequency_penalty"), "frequencyPenalty"),
    **dict.fromkeys(("responseMimeType", "response_mime_type"), "responseMimeType"),
    **dict.fromkeys(("responseJsonSchema", "response_json_schema"), "responseJsonSchema"),
    **dict.fromkeys(("responseSchema", "response_schema"), "responseSchema"),
    **dict.fromkeys(("responseModalities", "response_modalities"), "responseModalities"),
    **dict.fromkeys(("mediaResolution", "media_resolution"), "mediaResolution"),
    **dict.fromkeys(("thinkingConfig", "thinking_config"), "thinkingConfig"),
    **dict.fromkeys(("imageConfig", "image_config"), "imageConfig"),
    **dict.fromkeys(("speechConfig", "speech_config"), "speechConfig"),
    **{name: name for name in ("temperature", "seed", "responseLogprobs", "logprobs")},
}
"""Options in Google's words and those of other protocols and SDKs, by their place in `generationConfig`."""

_TOP: Final = {
    **dict.fromkeys(("safetySettings", "safety_settings"), "safetySettings"),
    **dict.fromkeys(("cachedContent", "cached_content"), "cachedContent"),
    **dict.fromkeys(("serviceTier", "service_tier"), "serviceTier"),
    **{name: name for name in ("labels",)},
}
"""Options that stand beside `contents`."""

_EFFORTS: Final = frozenset({"reasoning_effort", "reasoningEffort"})


@dataclass(frozen=True, slots=True)
class ChosenOptions:
    """What was chosen.

    Attributes:
        generation: Fields of `generationConfig`.
        fields: Fields of the body.
        effort: The reasoning effort, or None.
    """

    generation: Wire = field(default_factory=dict)
    fields: Wire = field(default_factory=dict)
    effort: str | None = None


def read_options(options: Mapping[str, Any]) -> ChosenOptions:
    """Reads the options of a request; those that this wire has no place for are left out."""
    chosen = ChosenOptions(
        {_GENERATION[name]: value for name, value in options.items() if name in _GENERATION},
        {_TOP[name]: value for name, value in options.items() if name in _TOP},
        _effort(options),
    )
    generation = chosen.generation | _format(options.get("response_format") or options.get("responseFormat"))
    if isinstance(stop := generation.get("stopSequences"), str):
        generation["stopSequences"] = [stop]
    return ChosenOptions(generation, chosen.fields, chosen.effort)


def _effort(options: Mapping[str, Any]) -> str | None:
    said = next((options[name] for name in _EFFORTS if name in options), None)
    reasoning = options.get("reasoning")
    if said is None and isinstance(reasoning, Mapping):
        said = reasoning.get(_EFFORT)  # as OpenResponses says it
    return said if isinstance(said, str) and said else None


def _format(wanted: Any) -> Wire:
    """The fields for what Chat Completions calls the format of the answer."""
    kind = wanted.get("type") if isinstance(wanted, Mapping) else None
    if kind not in {"json_object", "json_schema"}:
        return {}
    holder = wanted.get("json_schema")
    schema = holder.get("schema") if isinstance(holder, Mapping) else None
    return {"responseMimeType": "application/json"} | ({"responseJsonSchema": schema} if schema else {})
