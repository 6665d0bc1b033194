"""Requests of Anthropic Messages, written for a server; nothing here knows more than what the provider itself uses."""

import json
from dataclasses import replace
from typing import Any

from conversation.samples import ORIGIN, PREFIX
from partstream import ChatMessage, LanguageModelChatInformation, ModelCapabilities, RequestOptions
from partstream.conversation.preparation import RequestSettings, prepare
from partstream.conversation.provider_state import Carried
from partstream.lm.parts import ThinkingPart
from partstream.protocols.anthropic_messages.models import AnthropicMessagesSettings
from partstream.protocols.anthropic_messages.provider_state import block_item
from partstream.protocols.anthropic_messages.serve import READ_REQUEST
from partstream.protocols.anthropic_messages.write_request import WRITE_REQUEST
from partstream.protocols.serve import WireRequest
from partstream.settings.kinds import Choice
from partstream.settings.known_servers import server_at
from partstream_devtools.testing.vendors.anthropic_messages import VENDOR

ANTHROPIC = "https://api.anthropic.com/v1"
HAIKU, SONNET, OPUS_46, OPUS_5 = "claude-haiku-4-5", "claude-sonnet-4-5", "claude-opus-4-6", "claude-opus-5"
THOUGHT = {"type": "thinking", "thinking": "Hm.", "signature": "sig_1"}


def written(
    *messages: ChatMessage,
    url: str = ANTHROPIC,
    model: str = OPUS_5,
    settings: RequestSettings | None = None,
    known: ModelCapabilities | None = None,
    carried: Carried = Carried.EVERYTHING,
    input_tokens: int | None = None,
    options: dict[str, Any] | None = None,
    effort: str | None = None,
    tools: Any = (),
    tool_mode: Any = None,
    **own: Any,
) -> WireRequest:
    """The request to a server, given its base URL, or its name in `messages_server`."""
    chosen = replace(
        settings or RequestSettings(),
        own=chosen_settings(**own),
        **({} if known is None else {"capabilities": known}),
    )
    information = LanguageModelChatInformation(model, model, model, "1", 1000, 1000)
    completed = WRITE_REQUEST.complete_settings(chosen, url, information, server_at(url))
    rules = WRITE_REQUEST.conversation_rules(completed, model)
    mode = {} if tool_mode is None else {"tool_mode": tool_mode}
    configuration = {} if effort is None else {"reasoningEffort": effort}
    request_options = RequestOptions(tools, **mode, model_options=options or {}, model_configuration=configuration)
    prepared = prepare(replace(ORIGIN, model=model), messages, request_options, completed, PREFIX, rules)
    asked = prepared.request(carried & WRITE_REQUEST.carries)
    return WRITE_REQUEST.write(replace(asked, input_tokens=input_tokens))


def chosen_settings(**fields: Any) -> AnthropicMessagesSettings:
    """The settings of these fields, a word of a choice as the text that a person writes."""
    plain = AnthropicMessagesSettings()
    of_choices = {name: type(getattr(plain, name)) for name in fields if isinstance(getattr(plain, name), Choice)}
    return replace(plain, **{name: of_choices.get(name, lambda one: one)(value) for name, value in fields.items()})


def refused_by_anthropic(request: WireRequest) -> str | None:
    """What Anthropic says to a request that it does not take; None for one that it takes."""
    try:
        READ_REQUEST.read(request)
        VENDOR.refuse(request)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None


def body_of(*messages: ChatMessage, **options: Any) -> dict[str, Any]:
    """The body as JSON, after our own server, which refuses what Anthropic refuses, has accepted it."""
    request = written(*messages, **options)
    if options.get("url", ANTHROPIC) == ANTHROPIC and "messages_server" not in options:
        assert refused_by_anthropic(request) is None, refused_by_anthropic(request)
    return json.loads(json.dumps(request.body))


def messages_of(*messages: ChatMessage, **options: Any) -> list[dict[str, Any]]:
    """The messages of the body, without marks for the prompt cache."""
    return body_of(*messages, **{"prompt_cache": "off", **options})["messages"]


def thinking(*blocks: dict[str, Any], model: str = OPUS_5, after: tuple[int, int] = (0, 0)) -> ThinkingPart:
    """The part that carries blocks which stood after so many calls, and characters of text behind them."""
    items = [{**block_item(block), "after": list(after)} for block in blocks]
    return ThinkingPart("", None, {"reasoning_items": items, "origin": replace(ORIGIN, model=model).key})


# ---- what a body holds ----


def said(role: str, *content: Any) -> dict[str, Any]:
    return {"role": role, "content": [text(one) if isinstance(one, str) else one for one in content]}


def text(value: str) -> dict[str, Any]:
    return {"type": "text", "text": value}


def use(call_id: str = "1", name: str = "f", **arguments: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": name, "input": arguments}


def result(content: Any = None, call_id: str = "1", **more: Any) -> dict[str, Any]:
    given = {} if content is None else {"content": content}
    return {"type": "tool_result", "tool_use_id": call_id, **given, **more}
