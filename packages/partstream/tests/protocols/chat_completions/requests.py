"""Requests of Chat Completions, written for a server; nothing here knows more than what the provider itself uses."""

import json
from dataclasses import replace
from typing import Any

from conversation.samples import ORIGIN, PREFIX
from partstream import ChatMessage, LanguageModelChatInformation, RequestOptions
from partstream.conversation.preparation import RequestSettings, prepare
from partstream.conversation.provider_state import Carried
from partstream.protocols.chat_completions.models import ChatCompletionsSettings
from partstream.protocols.chat_completions.write_request import WRITE_REQUEST
from partstream.protocols.serve import WireRequest
from partstream.settings.known_servers import server_at

NOWHERE = "https://models.example/v1"
"""The base URL of an unknown server."""


def written(
    *messages: ChatMessage,
    url: str = NOWHERE,
    model: str = ORIGIN.model,
    settings: RequestSettings | None = None,
    own: ChatCompletionsSettings | None = None,
    carried: Carried = Carried.EVERYTHING,
    prefix: str = PREFIX,
    **options: Any,
) -> WireRequest:
    """The request to a server, given its base URL, or its name in `own`."""
    chosen = replace(settings or RequestSettings(), own=own)
    information = LanguageModelChatInformation(model, model, model, "1", 1000, 1000)
    completed = WRITE_REQUEST.complete_settings(chosen, url, information, server_at(url))
    rules = WRITE_REQUEST.conversation_rules(completed, model)
    origin = replace(ORIGIN, model=model)
    prepared = prepare(origin, messages, RequestOptions(**options), completed, prefix, rules)
    return WRITE_REQUEST.write(prepared.request(carried & WRITE_REQUEST.carries))


def body_of(*messages: ChatMessage, server: str | None = None, **options: Any) -> dict[str, Any]:
    """The body as JSON.

    Args:
        messages: The conversation.
        server: The name of a known server; None for an unknown one.
        options: What else :func:`written` takes.
    """
    own = options.pop("own", None) or ChatCompletionsSettings()
    body = written(*messages, own=replace(own, server=server or own.server), **options).body
    return json.loads(json.dumps(body))


def messages_of(*messages: ChatMessage, **options: Any) -> list[dict[str, Any]]:
    """The messages of the body."""
    return body_of(*messages, **options)["messages"]


def said(role: str, content: Any, **more: Any) -> dict[str, Any]:
    return {"role": role, "content": content, **more}


def call(call_id: str = "1", name: str = "f", arguments: str = "{}", **more: Any) -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}, **more}


def calls(*listed: dict[str, Any], content: Any = None, **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": content, **more, "tool_calls": list(listed)}


def gave(content: Any, call_id: str = "1", **more: Any) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": content, **more}
