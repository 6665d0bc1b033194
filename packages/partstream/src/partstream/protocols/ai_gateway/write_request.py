"""Writes a request as the body of `POST /language-model`, in versions 2, 3 and 4 of the language model specification.

The body holds the call options of the AI SDK's models (`LanguageModelV2CallOptions` to `V4`); the model's id is in a
header. Options in the words of other protocols and SDKs get the names of the specification. Facts that only a provider
has an option for go into `providerOptions`, under the creator in the model's id: the effort before version 4, which has
a field of its own for it, visible reasoning, and storage. Options of a person win over those, options of a request over
both.

Sources: `gateway-stream-request.json` of the recordings, `@ai-sdk/gateway` 2.0.168, 3.0.228 and 4.0.146;
`@ai-sdk/provider` 2.0.5, 3.0.19 and 4.0.38; the options of `@ai-sdk/openai` 3.0.141, `@ai-sdk/anthropic` 3.0.138,
`@ai-sdk/google` 3.0.141 and `@ai-sdk/xai` 3.0.138; "Migrating from providerOptions" in the documentation of `ai`
7.0.173.
"""

from __future__ import annotations
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Final, NamedTuple

from partstream.conversation.preparation import ChatRequest, ToolImages
from partstream.conversation.turns import shown_by_user
from partstream.errors import RequestNotExpressibleError
from partstream.lm.messages import Tool, ToolMode
from partstream.protocols.ai_gateway import models
from partstream.protocols.ai_gateway.read_response import ERRORS, LEAVE_OUT
from partstream.protocols.ai_sdk.provider_state import RULES
from partstream.protocols.ai_sdk.write_request import PROMPT_FORMS, Wire, prompt_messages
from partstream.protocols.options import (
    NO_FIELD,
    UNNAMED,
    AnswerFormat,
    ChosenOptions,
    Option,
    OptionRules,
    notes_on_options,
    options_of,
    with_extra_fields,
)
from partstream.protocols.protocol import RequestWriterSpec
from partstream.protocols.schemas import PLAIN, for_model
from partstream.protocols.serve import WireRequest

# ---- Call options ----

PROMPT: Final = "prompt"
"""The field that holds the request itself."""

WIRE: Final = "ai-gateway"


def _format_option(asked: AnswerFormat) -> dict[str, Any]:
    if asked.schema is None:
        return {"responseFormat": {"type": "json"}}
    named = {} if asked.name == UNNAMED else {"name": asked.name}
    described = {} if asked.description is None else {"description": asked.description}
    return {"responseFormat": {"type": "json", "schema": asked.schema, **named, **described}}


OPTIONS: Final = OptionRules(
    {
        Option.LIMIT: "maxOutputTokens",
        Option.EFFORT: NO_FIELD,
        Option.TEMPERATURE: "temperature",
        Option.TOP_P: "topP",
        Option.TOP_K: "topK",
        Option.STOP: "stopSequences",
        Option.SEED: "seed",
        Option.PRESENCE_PENALTY: "presencePenalty",
        Option.FREQUENCY_PENALTY: "frequencyPenalty",
    },
    frozenset(
        {PROMPT, "model", "stream", "messages", "input", "previous_response_id", "instructions"}
        | {"tools", "toolChoice", "tool_choice", "store"}
    ),
    _format_option,
    renamed={"provider_options": "providerOptions"},
)


class CallOptions(NamedTuple):
    """What was chosen.

    Attributes:
        provider_options: Options for providers, by the provider's name.
    """

    fields: dict[str, Any]
    reasoning: str | None
    provider_options: Mapping[str, Mapping[str, Any]]


def read_call_options(options: ChosenOptions) -> CallOptions:
    """The options of a request by their place in the body.

    Raises:
        RequestNotExpressibleError: The provider options are no object of objects.
    """
    fields = dict(options.fields)
    effort, chosen = fields.pop("reasoning", None), fields.pop("providerOptions", {})
    if isinstance(effort, Mapping):  # as OpenResponses says it
        effort = effort.get("effort")
    if (wrong := check_provider_options(chosen)) is not None:
        place, got = wrong
        raise RequestNotExpressibleError(got, f"modelOptions.providerOptions{place}", "an object of objects")
    return CallOptions(fields, options.effort or (effort if isinstance(effort, str) else None), chosen)


def check_provider_options(value: Any) -> tuple[str, str] | None:
    """The place and the type of a value that makes something no object of objects; None where all is well."""
    if not isinstance(value, Mapping):
        return "", type(value).__name__
    wrong = next((name for name, options in value.items() if not isinstance(options, Mapping)), None)
    return None if wrong is None else (f".{wrong}", type(value[wrong]).__name__)


# ---- Provider options, by the creator in the model's id ----


def creator_of(model_id: str) -> str:
    """The creator of a model: the part before the slash of its id; empty for an id without one."""
    creator, slash, _ = model_id.partition("/")
    return creator if slash else ""


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


_EFFORTS: Final[Mapping[str, Callable[[str], dict[str, Any]]]] = {
    "anthropic": lambda effort: (
        {"thinking": {"type": "disabled"}} if effort == "none" else {"thinking": {"type": "adaptive"}, "effort": effort}
    ),
    "google": lambda effort: {
        "thinkingConfig": {"thinkingBudget": 0} if effort == "none" else {"thinkingLevel": effort}
    },
    "openai": lambda effort: {"reasoningEffort": effort},
    "xai": lambda effort: {"reasoningEffort": effort},
}
"""A reasoning effort in the words of a creator, for versions without a field of their own."""

_SHOWN: Final[Mapping[str, dict[str, Any]]] = {
    "google": {"thinkingConfig": {"includeThoughts": True}},
    "openai": {"reasoningSummary": "auto"},
}
"""The options that make a provider show its reasoning, where it shows none by default."""


# ---- The request ----

PATH: Final = "/language-model"

_HAS_REASONING: Final = 4
"""The first version with a word of its own for the reasoning effort."""


def build_request(request: ChatRequest) -> dict[str, Any]:
    """The JSON body that asks for the answer as a stream.

    Raises:
        RequestNotExpressibleError: Something holds what JSON has no form for, or has no place in the request.
    """
    settings, version = request.settings, models.specification_version(request.settings)
    options = read_call_options(options_of(request, WIRE, OPTIONS))
    effort, creator = options.reasoning or request.reasoning_effort, creator_of(request.model_id)
    own: dict[str, Any] = {}
    if creator == "openai" and not settings.stores:
        # OpenAI stores responses by default; unstored, it gives its reasoning to the client, encrypted.
        own["store"] = False
    if creator == "openai" and request.cache_key is not None:
        own["promptCacheKey"] = request.cache_key
    reasoning, reasoning_options = ({}, {}) if effort is None else _reasoning(creator, effort, version)
    provider_options = merged(
        {creator: own} if own else {},
        {creator: reasoning_options} if reasoning_options else {},
        settings.own_settings(models.AIGatewaySettings).provider_options,
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
    # The specification has a place for images in results: they stay there unless a setting moves them, for a model's
    # provider that does not take them.
    moved = request.settings.tool_images is ToolImages.USER_MESSAGE
    turns = shown_by_user(request.turns, of_results=moved, of_assistant=False)
    messages = prompt_messages(turns, PROMPT_FORMS[version])
    if request.instructions:
        messages.insert(0, {"role": "system", "content": request.instructions})
    return messages


def _reasoning(creator: str, effort: str, version: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """The reasoning effort: fields of the body, and options of the model's provider."""
    shown = {} if effort == "none" else _SHOWN.get(creator, {})
    words = None if version >= _HAS_REASONING else _EFFORTS.get(creator)
    return ({"reasoning": effort}, shown) if words is None else ({}, merged(words(effort), shown))


def _tool(tool: Tool) -> dict[str, Any]:
    described = {"description": tool.description} if tool.description else {}
    return {"type": "function", "name": tool.name, **described, "inputSchema": tool.input_schema}


WRITE_REQUEST: Final = RequestWriterSpec(
    write=lambda request: WireRequest(PATH, build_request(request), models.build_headers(request)),
    notes=lambda request: notes_on_options(options_of(request, WIRE, OPTIONS)),
    path=PATH,
    authorize=models.authorize,
    document_headers=models.DOCUMENT_HEADERS,
    find_model_lists=models.model_lists,
    complete_settings=models.complete_settings,
    conversation_rules=lambda _settings, model_id: replace(RULES, tool_schema=partial(for_model, PLAIN, model_id)),
    leave_out=LEAVE_OUT,
    errors=ERRORS,
)
