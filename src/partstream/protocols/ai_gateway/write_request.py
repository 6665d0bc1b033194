"""A request as the body of `POST /language-model`, in versions 2, 3 and 4 of the language model specification.

The body is what an SDK hands to a model (`LanguageModelV2CallOptions` to `V4`); the model's id is in a header. Source:
`gateway-stream-request.json` of the recordings, `@ai-sdk/gateway` 2.0.168, 3.0.228 and 4.0.146.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from partstream.conversation.preparation import ToolImages
from partstream.conversation.turns import shown_by_user
from partstream.errors import RequestNotExpressibleError
from partstream.lm.messages import ToolMode
from partstream.protocols.ai_gateway.models import (
    DOCUMENT_HEADERS,
    AIGatewaySettings,
    authorize,
    build_headers,
    complete_settings,
    model_lists,
    specification_version,
)
from partstream.protocols.ai_gateway.read_response import ERRORS
from partstream.protocols.ai_sdk.provider_state import RULES
from partstream.protocols.ai_sdk.write_request import PROMPT_FORMS, prompt_messages
from partstream.protocols.options import with_extra_fields
from partstream.protocols.protocol import RequestWriterSpec
from partstream.protocols.serve import WireRequest

if TYPE_CHECKING:
    from collections.abc import Callable

    from partstream.conversation.preparation import ChatRequest
    from partstream.lm.messages import Tool
    from partstream.protocols.ai_sdk.write_request import Wire


# ---- call options ----
# What a caller may choose for a request, under whatever name, as call options of the specification.
#
# Source: `LanguageModelV2CallOptions` to `V4` of `@ai-sdk/provider` 2.0.5, 3.0.19 and 4.0.38.

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
    "stopSequences": lambda value: [value] if isinstance(value, str) else value,
    "responseFormat": _response_format,
}


# ---- provider options ----
# The options of the providers behind the gateway, by the creator that a model's id names.
#
# Source: the options of `@ai-sdk/openai` 3.0.141, `@ai-sdk/anthropic` 3.0.138, `@ai-sdk/google` 3.0.141 and
# `@ai-sdk/xai` 3.0.138, and "Migrating from providerOptions" in the documentation of `ai` 7.0.173.


def creator_of(model_id: str) -> str:
    """Who made a model: what stands before the slash of its id; empty for an id without one."""
    creator, slash, _ = model_id.partition("/")
    return creator if slash else ""


def own_options(request: ChatRequest) -> dict[str, Any]:
    """The facts of a request that only a provider has an option for."""
    if creator_of(request.model_id) != "openai":
        return {}
    # OpenAI stores answers unless told otherwise; unstored, it gives its reasoning to the client, encrypted.
    options: dict[str, Any] = {} if request.settings.stores else {"store": False}
    if request.cache_key is not None:
        options["promptCacheKey"] = request.cache_key
    return {"openai": options} if options else {}


def shown_reasoning(model_id: str, effort: str) -> dict[str, Any]:
    """The options that make a provider show its reasoning, if it shows none by default."""
    options = _SHOWN.get(creator_of(model_id))
    return {} if options is None or effort == "none" else {creator_of(model_id): options}


def effort_options(model_id: str, effort: str) -> dict[str, Any] | None:
    """A reasoning effort in the words of the model's creator, for versions without a word of their own.

    Returns:
        None for a creator whose words are not known.
    """
    creator = creator_of(model_id)
    options = _EFFORTS.get(creator)
    return None if options is None else {creator: options(effort)}


def merged(*options: Mapping[str, Any]) -> dict[str, Any]:
    """Merges objects, at any depth; later values win."""
    result: dict[str, Any] = {}
    for one in options:
        for name, value in one.items():
            before = result.get(name)
            if isinstance(before, Mapping) and isinstance(value, Mapping):
                value = merged(before, value)  # noqa: PLW2901 - the value that is kept
            result[name] = value
    return result


def _anthropic(effort: str) -> dict[str, Any]:
    if effort == "none":
        return {"thinking": {"type": "disabled"}}
    return {"thinking": {"type": "adaptive"}, "effort": effort}


def _google(effort: str) -> dict[str, Any]:
    return {"thinkingConfig": {"thinkingBudget": 0} if effort == "none" else {"thinkingLevel": effort}}


_EFFORTS: Final[Mapping[str, Callable[[str], dict[str, Any]]]] = {
    "anthropic": _anthropic,
    "google": _google,
    "openai": lambda effort: {"reasoningEffort": effort},
    "xai": lambda effort: {"reasoningEffort": effort},
}

_SHOWN: Final[Mapping[str, dict[str, Any]]] = {
    "google": {"thinkingConfig": {"includeThoughts": True}},
    "openai": {"reasoningSummary": "auto"},
}


# ---- write request ----

PATH: Final = "/language-model"

_HAS_REASONING: Final = 4
"""The first version with a word of its own for the reasoning effort."""


def build_request(request: ChatRequest) -> dict[str, Any]:
    """The JSON body that asks for the answer as a stream.

    Raises:
        RequestNotExpressibleError: Something holds what JSON has no form for, or stands where it cannot be said.
    """
    settings, version = request.settings, specification_version(request.settings)
    options = read_call_options(request.options)
    reasoning, provider_options = _reasoning(request, options.reasoning or request.reasoning_effort, version)
    provider_options = merged(
        own_options(request),
        provider_options,
        settings.own_settings(AIGatewaySettings).provider_options,
        options.provider_options,
    )
    body: dict[str, Any] = {PROMPT: _prompt(request, version), **reasoning}
    if request.tools:
        body["tools"] = [_tool(tool) for tool in request.tools]
        body["toolChoice"] = {"type": "required" if request.tool_mode is ToolMode.REQUIRED else "auto"}
    if settings.max_output_tokens is not None:
        body["maxOutputTokens"] = settings.max_output_tokens
    if settings.context_size_field and request.context_size is not None:
        body[settings.context_size_field] = request.context_size
    body |= options.fields
    if provider_options:
        body["providerOptions"] = provider_options
    return with_extra_fields(body, settings.extra_body)


def _prompt(request: ChatRequest, version: int) -> list[Wire]:
    """Turns as the prompt: instructions first, as one string, then the messages."""
    # The specification has a place for them in results: they stay there unless somebody says that the model's
    # provider does not take them.
    moved = request.settings.tool_images is ToolImages.USER_MESSAGE
    turns = shown_by_user(request.turns, of_results=moved, of_assistant=False)
    messages = prompt_messages(turns, PROMPT_FORMS[version])
    if request.instructions:
        messages.insert(0, {"role": "system", "content": request.instructions})
    return messages


def _reasoning(request: ChatRequest, effort: str | None, version: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """The reasoning effort: fields of the body, and options of the model's provider."""
    if effort is None:
        return {}, {}
    shown = shown_reasoning(request.model_id, effort)
    options = None if version >= _HAS_REASONING else effort_options(request.model_id, effort)
    if options is None:
        return {"reasoning": effort}, shown
    return {}, merged(options, shown)


def _tool(tool: Tool) -> dict[str, Any]:
    described = {"description": tool.description} if tool.description else {}
    return {"type": "function", "name": tool.name, **described, "inputSchema": tool.input_schema}


WRITE_REQUEST: Final = RequestWriterSpec(
    write=lambda request: WireRequest(PATH, build_request(request), build_headers(request)),
    path=PATH,
    authorize=authorize,
    document_headers=DOCUMENT_HEADERS,
    find_model_lists=model_lists,
    complete_settings=complete_settings,
    conversation_rules=lambda _settings, _model_id: RULES,
    errors=ERRORS,
)
