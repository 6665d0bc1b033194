"""Writes a request as `RunAgentInput`; `partstream.conversation` has prepared it.

AG-UI has no fixed path: an agent is an address. So the base URL is the agent's own, and the model's id, which VS Code
shows, stands in `forwardedProps`, unless the setting `agentPath` puts it into the path.

Source: `RunAgentInput` of ag-ui-protocol 1.0.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from partstream.conversation.call_ids import CallIdRule, IdForm
from partstream.conversation.rules import ConversationRules
from partstream.protocols.ag_ui.errors import ERRORS
from partstream.protocols.ag_ui.messages import conversation_of
from partstream.protocols.ag_ui.provider_state import digest_of
from partstream.protocols.ag_ui.settings import AGUISettings, Thread, forwarded_options
from partstream.protocols.options import with_extra_fields
from partstream.protocols.protocol import RequestWriterSpec
from partstream.protocols.serve import MODEL, WireRequest, path_for_model

if TYPE_CHECKING:
    from partstream.conversation.chat_request import ChatRequest
    from partstream.conversation.settings import RequestSettings
    from partstream.messages import Tool

__all__ = ["FORWARDED", "PROTOCOL_VERSION", "WRITE_REQUEST", "build_request"]

PROTOCOL_VERSION: Final = "1.0"
FORWARDED: Final = "forwardedProps"
_THREAD: Final = "threadId"
_RUN: Final = "runId"


def build_request(request: ChatRequest) -> dict[str, Any]:
    """The JSON body that asks for a run.

    There is no field that forces a call: a request that demands one is sent like any other.

    Raises:
        RequestNotExpressibleError: Something holds what JSON has no form for.
    """
    settings = request.settings
    own = settings.own_settings(AGUISettings)
    conversation = conversation_of(request)
    seen = digest_of(request.cache_key, conversation.messages, conversation.resume)
    keeps = own.thread is Thread.CONVERSATION
    forwarded = forwarded_options(request)
    if MODEL not in own.agent_path:
        forwarded = {"model": request.model_id, **forwarded}
    body: dict[str, Any] = {
        _THREAD: conversation.thread_id or f"thread_{_first_words(request) if keeps else seen}",
        _RUN: f"run_{seen}",
        "protocolVersion": PROTOCOL_VERSION,
        "state": {},
        "messages": conversation.messages,
        "tools": [_tool(tool) for tool in request.tools],
        "context": [],
        FORWARDED: forwarded,
    }
    if conversation.resume:
        body["resume"] = conversation.resume
    extra = dict(settings.extra_body)
    if isinstance(extra.get(FORWARDED), dict):
        extra[FORWARDED] = with_extra_fields(forwarded, extra[FORWARDED])
    return with_extra_fields(body, extra)


def _first_words(request: ChatRequest) -> str:
    """What a conversation is known by: the host's id of it, else how it begins."""
    if request.cache_key is not None:
        return digest_of(request.cache_key)
    return digest_of([repr(turn.content) for turn in request.turns[:1]])


def _tool(tool: Tool) -> dict[str, Any]:
    return {"name": tool.name, "description": tool.description, "parameters": dict(tool.input_schema or {})}


def _write(request: ChatRequest) -> WireRequest:
    own = request.settings.own_settings(AGUISettings)
    return WireRequest(path_for_model(own.agent_path, request.model_id), build_request(request))


def _identify(request: WireRequest, identity: str) -> WireRequest:
    """Makes a run one of its own; the thread too, but that of a conversation, or of a run that goes on."""
    body = dict(request.body)
    if body[_THREAD] == body[_RUN].replace("run_", "thread_", 1):
        body[_THREAD] = f"thread_{identity}"
    return replace(request, body=body | {_RUN: f"run_{identity}"})


def _conversation_rules(_settings: RequestSettings, _model_id: str) -> ConversationRules:
    return ConversationRules(CallIdRule(IdForm(256)))


WRITE_REQUEST: Final = RequestWriterSpec(
    write=_write,
    path="",
    lists_models=False,
    conversation_rules=_conversation_rules,
    errors=ERRORS,
    identify=_identify,
)
