"""Writes a prepared request as the body of Ollama's `/api/chat` (docs/wires/ollama.md#context-window).

Every body says the context window, and that the server may cut nothing: a prompt that is too long is an error with
numbers then, in place of half a conversation without a word.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from partstream.conversation.call_ids import CallIdRule, IdForm
from partstream.conversation.rules import ConversationRules
from partstream.protocols.ollama.messages import messages_of
from partstream.protocols.ollama.models import (
    NUM_CTX,
    NUM_PREDICT,
    OllamaSettings,
    choose_window,
    complete_settings,
    read_options,
    think_for,
)
from partstream.protocols.ollama.read_response import ERRORS, LEAVE_OUT
from partstream.protocols.options import with_extra_fields
from partstream.protocols.protocol import NO_FIELDS, RequestWriterSpec
from partstream.protocols.schemas import tool_schema
from partstream.protocols.serve import WireRequest

if TYPE_CHECKING:
    from partstream.conversation.chat_request import ChatRequest
    from partstream.conversation.settings import RequestSettings
    from partstream.messages import Tool

__all__ = ["PATH", "WRITE_REQUEST", "build_request"]

PATH: Final = "/chat"
MODELS_PATH: Final = "/tags"
_OPTIONS: Final = "options"


def build_request(request: ChatRequest) -> dict[str, Any]:
    """The JSON body that asks for the answer as a stream.

    There is no field that forces a call: a request that demands one is sent like any other.

    Raises:
        RequestNotExpressibleError: A file is no image, or something holds what JSON has no form for.
    """
    settings = request.settings
    own, chosen = settings.own_settings(OllamaSettings), read_options(request.options)
    body: dict[str, Any] = {
        "model": request.model_id,
        "messages": messages_of(request),
        "stream": True,
        "truncate": own.truncate,
        "shift": own.shift,
    }
    if request.tools:
        body["tools"] = [_tool(tool) for tool in request.tools]
    effort = chosen.effort or request.reasoning_effort
    if effort is not None and (think := think_for(effort, request.model_id, settings.capabilities)) is not None:
        body["think"] = think
    if own.keep_alive is not None:
        body["keep_alive"] = _keep_alive(own.keep_alive)
    body |= chosen.fields
    extra = dict(settings.extra_body)
    if isinstance(extra.get(_OPTIONS), Mapping):
        extra[_OPTIONS] = with_extra_fields(_options(request, own, chosen.options), extra[_OPTIONS])
    return with_extra_fields(body | {_OPTIONS: _options(request, own, chosen.options)}, extra)


def _options(request: ChatRequest, own: OllamaSettings, chosen: Mapping[str, Any]) -> dict[str, Any]:
    """The field `options`: the window that a person chose for this request, else that of the settings."""
    window = request.context_size or own.num_ctx
    limit = request.settings.max_output_tokens
    options = {NUM_CTX: window} if window else {}
    return options | ({NUM_PREDICT: limit} if limit is not None else {}) | dict(chosen)


def _tool(tool: Tool) -> dict[str, Any]:
    function: dict[str, Any] = {"name": tool.name}
    if tool.description:
        function["description"] = tool.description
    return {"type": "function", "function": function | {"parameters": tool_schema(tool.input_schema or {})}}


def _keep_alive(duration: str) -> int | str:
    """Seconds as a number: a text needs a unit."""
    return int(duration) if duration.removeprefix("-").isdigit() else duration


def _write(request: ChatRequest) -> WireRequest:
    return WireRequest(PATH, build_request(request))


def _conversation_rules(_settings: RequestSettings, _model_id: str) -> ConversationRules:
    return ConversationRules(CallIdRule(IdForm(256)))


WRITE_REQUEST: Final = RequestWriterSpec(
    write=_write,
    path=PATH,
    complete_settings=complete_settings,
    conversation_rules=_conversation_rules,
    errors=ERRORS,
    leave_out=LEAVE_OUT,
    empty_request=NO_FIELDS,
    own_base_path="/api",
    models_path=MODELS_PATH,
    choose_window=choose_window,
    loads_models=True,
)
