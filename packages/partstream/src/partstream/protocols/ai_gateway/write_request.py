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
import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from partstream.codec.checks import replace
from partstream.conversation.preparation import ChatRequest, ConversationRules, RequestSettings, ToolImages
from partstream.conversation.provider_state import Carried
from partstream.conversation.turns import shown_by_user
from partstream.errors import RequestNotExpressibleError, UpstreamError, UpstreamHTTPError
from partstream.lm.messages import ToolMode
from partstream.protocols.ai_gateway import models
from partstream.protocols.ai_sdk.provider_state import RULES
from partstream.protocols.ai_sdk.write_request import PROMPT_FORMS, JSONObject, prompt_messages
from partstream.protocols.errors import Errors
from partstream.protocols.options import (
    NO_FIELD,
    UNNAMED,
    AnswerFormat,
    Correction,
    Option,
    OptionRules,
    camel_case,
    declared,
    leave_out,
    refused_fields,
    with_extra_fields,
)
from partstream.protocols.protocol import KeyKind, RequestWriter, bearer
from partstream.protocols.schemas import PLAIN, for_model, smallest_schemas
from partstream.protocols.serve import WireRequest

if TYPE_CHECKING:
    from partstream.lm.provider import LanguageModelChatInformation
    from partstream.settings.known_servers import KnownServer

# ---- Errors ----
# The gateway passes on the messages of its providers and has no codes of its own for them, so a refusal of reasoning is
# found by words. Source: `create-gateway-error.ts` of `@ai-sdk/gateway` 4.0.146.

_REQUEST_IS_WRONG: Final = frozenset({400, 404, 422})

_WORDS: Final = (
    "signature",
    "encrypted content",
    "encrypted_content",
    "blocks in the latest assistant message cannot be",
)
"""The words of refusals of reasoning. Google: "Corrupted thought signature.";
OpenAI: "The encrypted content for item rs_1 could not be verified."; Anthropic: "Invalid `signature` in `thinking`
block", "`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified"."""
_MISSING: Final = "missing"


def refuses_reasoning(error: UpstreamError) -> bool:
    """Whether a provider does not take its reasoning back: another account's, a model that was replaced."""
    if isinstance(error, UpstreamHTTPError) and error.http_status not in _REQUEST_IS_WRONG:
        return False
    attempts = error.attempts if isinstance(error, UpstreamHTTPError) else ()
    said = " ".join((error.message, *attempts)).lower()
    if _MISSING in said:  # a signature that was not sent: without the rest there would be even less
        return False
    return any(word in said for word in _WORDS)


_CORRECTIONS: Final = (Correction(*smallest_schemas("tools[].inputSchema")),)

LEAVE_OUT: Final = leave_out((), _CORRECTIONS)
"""For :attr:`partstream.protocols.protocol.RequestWriter.leave_out`."""

ERRORS: Final = Errors(
    refused=lambda error: Carried.REASONING if refuses_reasoning(error) else Carried.NOTHING,
    refused_fields=refused_fields((), _CORRECTIONS),
)

# ---- Call options ----

PROMPT: Final = "prompt"


def _format_option(asked: AnswerFormat) -> dict[str, Any]:
    if asked.schema is None:
        return {"responseFormat": {"type": "json"}}
    named = {} if asked.name == UNNAMED else {"name": asked.name}
    described = {} if asked.description is None else {"description": asked.description}
    return {"responseFormat": {"type": "json", "schema": asked.schema, **named, **described}}


OPTIONS: Final = OptionRules(
    "ai-gateway",
    {
        Option.LIMIT: "maxOutputTokens",
        Option.EFFORT: NO_FIELD,
        **camel_case(Option.TEMPERATURE, Option.TOP_P, Option.TOP_K, Option.STOP, Option.SEED),
        **camel_case(Option.PRESENCE_PENALTY, Option.FREQUENCY_PENALTY),
    },
    frozenset(
        {PROMPT, "model", "stream", "messages", "input", "previous_response_id", "instructions"}
        | {"tools", "toolChoice", "tool_choice", "store"}
    ),
    _format_option,
    renamed={"provider_options": "providerOptions"},
)


# ---- Provider options, by the creator in the model's id ----


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
    creator, slash, _ = request.model_id.partition("/")
    creator = creator if slash else ""
    options = OPTIONS.of(request)
    fields = dict(options.fields)
    # The provider options of a request, which are an object of objects.
    value = fields.pop("providerOptions", {})
    inner = value.items() if isinstance(value, Mapping) else ()
    for place, one in (("", value), *((f".{name}", one) for name, one in inner)):
        if not isinstance(one, Mapping):
            where = f"modelOptions.providerOptions{place}"
            raise RequestNotExpressibleError(type(one).__name__, where, "an object of objects")
    asked, chosen = fields.pop("reasoning", None), value
    if isinstance(asked, Mapping):  # as OpenResponses says it
        asked = asked.get("effort")
    effort = options.effort or (asked if isinstance(asked, str) else None) or request.reasoning_effort
    body: dict[str, Any] = {PROMPT: _prompt(request, version)}
    own: dict[str, Any] = {}
    if creator == "openai" and not settings.stores:
        # OpenAI stores responses by default; unstored, it gives its reasoning to the client, encrypted.
        own["store"] = False
    if creator == "openai" and request.cache_key is not None:
        own["promptCacheKey"] = request.cache_key
    if effort is not None:
        words = None if version >= _HAS_REASONING else _EFFORTS.get(creator)
        body |= {"reasoning": effort} if words is None else {}
        shown = {} if effort == "none" else _SHOWN.get(creator, {})
        own = merged(own, {} if words is None else words(effort), shown)
    if request.tools:
        body["tools"] = [{"type": "function", **declared(tool, "inputSchema")} for tool in request.tools]
        body["toolChoice"] = {"type": "required" if request.tool_mode is ToolMode.REQUIRED else "auto"}
    if settings.max_output_tokens is not None:
        body["maxOutputTokens"] = settings.max_output_tokens
    body |= fields
    person = settings.own_settings(models.AIGatewaySettings).provider_options
    if provider_options := merged({creator: own} if own else {}, person, chosen):
        body["providerOptions"] = provider_options
    return with_extra_fields(body, settings.extra_body)


def _prompt(request: ChatRequest, version: int) -> list[JSONObject]:
    """Turns as the prompt: instructions first, as one string, then the messages."""
    # The specification has a place for images in results: they stay there unless a setting moves them, for a model's
    # provider that does not take them.
    moved = request.settings.tool_images is ToolImages.USER_MESSAGE
    turns = shown_by_user(request.turns, of_results=moved, of_assistant=False)
    messages = prompt_messages(turns, PROMPT_FORMS[version])
    if request.instructions:
        messages.insert(0, {"role": "system", "content": request.instructions})
    return messages


class GatewayRequestWriter(RequestWriter):
    """Writes requests to the gateway."""

    path = PATH
    errors = ERRORS
    notes = staticmethod(OPTIONS.notes)
    leave_out = staticmethod(LEAVE_OUT)
    document_headers = models.DOCUMENT_HEADERS

    def write(self, request: ChatRequest) -> WireRequest:  # noqa: D102
        return WireRequest(PATH, build_request(request), models.build_headers(request))

    def conversation_rules(self, _settings: RequestSettings, model_id: str) -> ConversationRules:  # noqa: D102
        return replace(RULES, tool_schema=partial(for_model, PLAIN, model_id))

    def complete_settings(
        self,
        settings: RequestSettings,
        base_url: str,
        model: LanguageModelChatInformation,
        _server: KnownServer | None = None,
    ) -> RequestSettings:
        """Adds the version of the base URL, where the settings have none, and the context edits of the model."""
        own = settings.own_settings(models.AIGatewaySettings).for_model(model.id, model.max_input_tokens)
        path = _PATH_OF_VERSION.search(urlsplit(base_url).path)
        version = own.specification_version or (models.LATEST if path is None else _VERSIONS[path[1]])
        return replace(settings, own=replace(own, specification_version=version))

    def authorize(self, key: str, kind: KeyKind) -> dict[str, str]:
        """The headers that carry a key and say who issued it."""
        return {**bearer(key, kind), "ai-gateway-auth-method": kind.value}

    def find_model_lists(self, base_path: str) -> tuple[str, tuple[str, ...]]:
        """The path above `/models`, and the paths of further lists, for the path of a base URL such as `/v3/ai`."""
        path = base_path.rstrip("/")
        return f"{_MODEL_LISTS_PATH.sub('', path)}/v1", (f"{path}/config",)


_PATH_OF_VERSION: Final = re.compile(r"/v([1-4])/ai/?")
_VERSIONS: Final = {"1": 2, "2": 2, "3": 3, "4": 4}
_MODEL_LISTS_PATH: Final = re.compile(r"/v\d+/ai$")

WRITE_REQUEST: Final = GatewayRequestWriter()
