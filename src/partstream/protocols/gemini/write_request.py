"""Writes a request as the body of `streamGenerateContent`; `partstream.conversation` has prepared it.

Source: docs/wires/gemini.md#contents. What differs between models: :mod:`partstream.protocols.gemini.models`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from partstream.conversation.rules import ConversationRules
from partstream.conversation.tool_names import NameForm
from partstream.protocols.gemini.contents import contents_of, system_texts
from partstream.protocols.gemini.count import COUNT
from partstream.protocols.gemini.errors import ERRORS
from partstream.protocols.gemini.models import GeminiSettings, known_model, thinking_config
from partstream.protocols.gemini.optional_fields import LEAVE_OUT
from partstream.protocols.gemini.options import read_options
from partstream.protocols.gemini.tools import tool_fields
from partstream.protocols.protocol import NO_FIELDS, KeyKind, RequestWriterSpec
from partstream.protocols.serve import WireRequest, path_for_model

if TYPE_CHECKING:
    from partstream.conversation.chat_request import ChatRequest
    from partstream.conversation.settings import RequestSettings
    from partstream.protocols.gemini.models import KnownModel, Wire

__all__ = ["PATH", "WRITE_REQUEST", "build_request", "conversation_rules"]

PATH: Final = "/models/{model}:streamGenerateContent"
_AS_EVENTS: Final = "alt=sse"
_MEGABYTE: Final = 1_000_000
_GENERATION: Final = "generationConfig"
_THINKING: Final = "thinkingConfig"
_CACHE: Final = "cachedContent"
_CACHED: Final = frozenset({"systemInstruction", "tools", "toolConfig"})
_EITHER: Final = frozenset({"thinkingLevel", "thinkingBudget"})


def build_request(request: ChatRequest) -> dict[str, Any]:
    """The JSON body that asks for the answer.

    Raises:
        RequestNotExpressibleError: The models do not take a file, or something holds what JSON has no form for.
    """
    settings = request.settings
    own, model = settings.own_settings(GeminiSettings), known_model(request.model_id)
    options = read_options(request.options)
    generation = _generation(request, own, model)
    contents = contents_of(request, model, own.most_file_megabytes * _MEGABYTE)
    system = system_texts(request)
    body: dict[str, Any] = {
        **({"systemInstruction": {"parts": [{"text": text} for text in system]}} if system else {}),
        **tool_fields(request, own, model),
        "contents": contents,
        **({_GENERATION: generation} if generation else {}),
        **options.fields,
    }
    return _without_what_is_cached(_with_extra_fields(body, settings.extra_body))


def _without_what_is_cached(body: Wire) -> Wire:
    """The body without what its cache holds: servers refuse the repetition (docs/wires/gemini.md#caching)."""
    return {name: value for name, value in body.items() if name not in _CACHED} if body.get(_CACHE) else body


def _generation(request: ChatRequest, own: GeminiSettings, model: KnownModel) -> Wire:
    """The chosen values: from the options of the request, else from the configuration of the model."""
    options = read_options(request.options)
    effort = options.effort or request.reasoning_effort
    thinking = thinking_config(model.thinking, request.settings.capabilities, effort, shows=own.include_thoughts)
    most = request.settings.max_output_tokens
    config: Wire = {
        **({"responseModalities": ["TEXT", "IMAGE"]} if model.makes_images else {}),
        **({"maxOutputTokens": most} if most is not None else {}),
        **({_THINKING: thinking} if thinking else {}),
    }
    return _merged(config, options.generation)


def _with_extra_fields(body: Wire, extras: Mapping[str, Any]) -> Wire:
    """The body with the fields of `extras`, which win; None takes a field out.

    What holds further fields is merged, and tools are added to those of the request: to replace them would take away
    what the request is about.
    """
    merged = dict(body)
    for name, value in extras.items():
        before = merged.get(name)
        if value is None:
            merged.pop(name, None)
        elif isinstance(value, Mapping) and isinstance(before, Mapping):
            merged[name] = _merged(before, value)
        elif name == "tools" and isinstance(value, list) and isinstance(before, list):
            merged[name] = [*before, *value]
        else:
            merged[name] = value
    return merged


def _merged(config: Mapping[str, Any], chosen: Mapping[str, Any]) -> Wire:
    """The fields of both, chosen ones first; never a level and a budget (docs/wires/gemini.md#thinking-config)."""
    result = {name: value for name, value in {**config, **chosen}.items() if value is not None}
    ours, theirs = config.get(_THINKING), chosen.get(_THINKING)
    if isinstance(ours, Mapping) and isinstance(theirs, Mapping):
        kept = {name: value for name, value in ours.items() if not (name in _EITHER and _EITHER & theirs.keys())}
        result[_THINKING] = kept | {name: value for name, value in theirs.items() if value is not None}
    return result


def _write(request: ChatRequest) -> WireRequest:
    path = path_for_model(PATH, request.model_id.removeprefix("models/"))
    return WireRequest(path, build_request(request), query=_AS_EVENTS)


def conversation_rules(_settings: RequestSettings, _model_id: str) -> ConversationRules:
    """The names that the servers take. Ids are of no account: only those that a server gave go back."""
    return ConversationRules(tool_names=NameForm(letter_first=True))


_OAUTH: Final = "ya29."
"""How the tokens of Google's own sign-in begin, which Vertex takes in place of a key."""


def authorize(key: str, kind: KeyKind) -> Mapping[str, str]:
    """The header that carries a key, or a bearer token (docs/wires/gemini.md#framing)."""
    if kind is KeyKind.OIDC or key.startswith(_OAUTH):
        return {"authorization": f"Bearer {key}"}
    return {"x-goog-api-key": key}


WRITE_REQUEST: Final = RequestWriterSpec(
    write=_write,
    path=PATH,
    authorize=authorize,
    conversation_rules=conversation_rules,
    errors=ERRORS,
    leave_out=LEAVE_OUT,
    count=COUNT,
    empty_request=NO_FIELDS,
    own_base_path="/v1beta",
)
