"""Requests of Gemini, written for a model; nothing here knows more than what the provider itself uses."""

import json
from dataclasses import replace
from typing import Any

from conversation.samples import ORIGIN, PREFIX
from partstream import ChatMessage, RequestOptions
from partstream.conversation.preparation import (
    UNKNOWN_CAPABILITIES,
    ModelCapabilities,
    Preparation,
    RequestSettings,
    ResponseState,
    prepare,
)
from partstream.conversation.provider_state import Carried
from partstream.conversation.turns import ToolNames
from partstream.lm.outputs import Finish, Unmapped
from partstream.protocols.gemini.models import GeminiSettings
from partstream.protocols.gemini.write_request import WRITE_REQUEST
from partstream.protocols.serve import WireRequest
from protocols.gemini.wire import read

NEW, OLD = "gemini-3.5-flash", "gemini-2.5-flash"
"""A model that demands signatures, and one that does not."""


def prepared(
    *messages: ChatMessage,
    model: str = NEW,
    settings: RequestSettings | None = None,
    own: GeminiSettings | None = None,
    capabilities: ModelCapabilities = UNKNOWN_CAPABILITIES,
    **options: Any,
) -> Preparation:
    chosen = replace(settings or RequestSettings(), own=own, capabilities=capabilities)
    rules = WRITE_REQUEST.conversation_rules(chosen, model)
    origin = replace(ORIGIN, model=model)
    return prepare(origin, messages, RequestOptions(**options), chosen, PREFIX, rules)


def written(*messages: ChatMessage, carried: Carried = Carried.EVERYTHING, **options: Any) -> WireRequest:
    """The request to a model."""
    return WRITE_REQUEST.write(prepared(*messages, **options).request(carried & WRITE_REQUEST.carries))


def body_of(*messages: ChatMessage, **options: Any) -> dict[str, Any]:
    """The body as JSON."""
    return json.loads(json.dumps(written(*messages, **options).body))


def contents_of(*messages: ChatMessage, **options: Any) -> list[dict[str, Any]]:
    """The contents of the body."""
    return body_of(*messages, **options)["contents"]


def answer(*chunks: dict[str, Any], model: str = NEW) -> ChatMessage:
    """What a host keeps of an answer in chunks."""
    result = read(list(chunks), call_id_prefix=PREFIX)
    state = ResponseState(replace(ORIGIN, model=model), ToolNames([]))
    return ChatMessage.assistant([state.see(one) for one in result.outputs if not isinstance(one, Finish | Unmapped)])


# ---- what contents hold ----


def said(role: str, *parts: dict[str, Any] | str) -> dict[str, Any]:
    return {"role": role, "parts": [{"text": part} if isinstance(part, str) else part for part in parts]}


def call(name: str = "f", signature: str | None = None, **call: Any) -> dict[str, Any]:
    signed = {} if signature is None else {"thoughtSignature": signature}
    return {"functionCall": {"name": name, "args": {}, **call}, **signed}


def result(output: str = "", name: str = "f", error: str | None = None, **response: Any) -> dict[str, Any]:
    told = {"output": output} if error is None else {"error": error}
    return {"functionResponse": {"name": name, "response": told, **response}}
