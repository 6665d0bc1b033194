"""Requests of Ollama as they are written; nothing here knows more than what the provider itself uses."""

import json
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from conversation.samples import ORIGIN, PREFIX
from partstream import (
    ChatMessage,
    DataPart,
    LanguageModelChatInformation,
    RequestOptions,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolResultPart,
)
from partstream.conversation.preparation import ModelCapabilities, RequestSettings, prepare
from partstream.conversation.provider_state import Carried
from partstream.protocols.ollama.models import OllamaSettings
from partstream.protocols.ollama.write_request import WRITE_REQUEST
from partstream.protocols.serve import WireRequest

URL = "http://localhost:11434/api"
_Said = str | DataPart | TextPart | ThinkingPart | ToolCallPart | ToolResultPart


def user(*content: _Said) -> ChatMessage:
    return ChatMessage.user(_parts(content))


def assistant(*content: _Said) -> ChatMessage:
    return ChatMessage.assistant(_parts(content))


def _parts(content: Iterable[_Said]) -> list[Any]:
    return [TextPart(one) if isinstance(one, str) else one for one in content]


THINKS = ModelCapabilities(reasoning=True)


def written(
    *messages: ChatMessage,
    model: str = ORIGIN.model,
    settings: RequestSettings | None = None,
    own: OllamaSettings | None = None,
    known: ModelCapabilities | None = None,
    **options: Any,
) -> WireRequest:
    """The request to a model of which `known` is known."""
    chosen = replace(settings or RequestSettings(), own=own, capabilities=known or ModelCapabilities())
    information = LanguageModelChatInformation(model, model, model, "1", 6000, 2000)
    completed = WRITE_REQUEST.complete_settings(chosen, URL, information, None)
    rules = WRITE_REQUEST.conversation_rules(completed, model)
    prepared = prepare(replace(ORIGIN, model=model), messages, RequestOptions(**options), completed, PREFIX, rules)
    return WRITE_REQUEST.write(prepared.request(Carried.EVERYTHING & WRITE_REQUEST.carries))


def body_of(*messages: ChatMessage, **options: Any) -> dict[str, Any]:
    """The body as JSON."""
    body: dict[str, Any] = json.loads(json.dumps(written(*messages, **options).body))
    return body


def messages_of(*messages: ChatMessage, **options: Any) -> list[dict[str, Any]]:
    """The messages of the body."""
    said: list[dict[str, Any]] = body_of(*messages, **options)["messages"]
    return said
