"""Writes a request as the body of OpenResponses; `partstream.conversation` has prepared it.

Source: OpenResponses specification 2026-04-24, `CreateResponseBody` and `ItemParam`. The protocol has no place for
cache breakpoints: servers find the common beginning by themselves, helped by `prompt_cache_key`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from partstream.conversation.rules import ConversationRules
from partstream.messages import ToolMode
from partstream.protocols.openresponses.count import COUNT
from partstream.protocols.openresponses.errors import ENCRYPTED_REASONING, ERRORS, LEAVE_OUT
from partstream.protocols.openresponses.input_items import input_items
from partstream.protocols.openresponses.settings import OWN_SETTINGS, EncryptedReasoning, OpenResponsesSettings
from partstream.protocols.options import AnswerFormat, options_for, with_extra_fields
from partstream.protocols.protocol import NO_FIELDS, RequestWriterSpec
from partstream.protocols.serve import WireRequest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from partstream.conversation.chat_request import ChatRequest
    from partstream.messages import Tool

__all__ = ["NOT_OPTIONS", "OPTION_NAMES", "PATH", "WRITE_REQUEST", "build_request"]

PATH: Final = "/responses"

OPTION_NAMES: Final = {
    "maxTokens": "max_output_tokens",
    "max_tokens": "max_output_tokens",
    "max_completion_tokens": "max_output_tokens",
    "maxOutputTokens": "max_output_tokens",
    "topP": "top_p",
    "presencePenalty": "presence_penalty",
    "frequencyPenalty": "frequency_penalty",
    "parallelToolCalls": "parallel_tool_calls",
}
"""Options in the words of other protocols and SDKs; all others are sent as they are."""

_WIRE: Final = "openresponses"
_KNOWN_OPTIONS: Final = frozenset(OPTION_NAMES) - {"presencePenalty", "frequencyPenalty"} | {
    "max_output_tokens",
    "parallel_tool_calls",
    "safety_identifier",
    "temperature",
    "top_p",
    "user",
}
"""The options of other wires that mean the same here."""


def _format_option(asked: AnswerFormat) -> dict[str, Any]:
    if asked.schema is None:
        return {"text": {"format": {"type": "json_object"}}}
    said = {"type": "json_schema", "name": asked.name, "schema": dict(asked.schema)}
    return {"text": {"format": {**said, **({} if asked.is_strict is None else {"strict": asked.is_strict})}}}


NOT_OPTIONS: Final = OWN_SETTINGS.request_fields | {"messages", "instructions", "tools", "tool_choice", "store"}
"""Fields that no option of a caller replaces: the request and the settings of its owner say them."""


def build_request(request: ChatRequest) -> dict[str, Any]:
    """The JSON body that asks for the answer as a stream.

    Raises:
        RequestNotExpressibleError: A part is larger than the protocol allows, or holds what JSON has no form for.
    """
    settings = request.settings
    own = settings.own_settings(OpenResponsesSettings)
    body: dict[str, Any] = {
        "model": request.model_id,
        "input": input_items(request.turns, settings),
        "stream": True,
        "store": settings.stores,
    }
    if request.instructions:
        body["instructions"] = request.instructions
    if request.previous_response_id is not None:
        body["previous_response_id"] = request.previous_response_id
    if request.tools:
        body["tools"] = [_tool(tool) for tool in request.tools]
        body["tool_choice"] = "required" if request.tool_mode is ToolMode.REQUIRED else "auto"
    if own.truncation is not None:
        body["truncation"] = own.truncation.value
    if own.compact_at is not None:
        # OpenAI's reference, `context_management`: the server summarises by itself from that many tokens on.
        body["context_management"] = [{"type": "compaction", "compact_threshold": own.compact_at}]
    body |= _chosen(request)
    return with_extra_fields(body, settings.extra_body)


def _chosen(request: ChatRequest) -> dict[str, Any]:
    """The chosen value: from the options of the request, else from the configuration of the model."""
    settings = request.settings
    given = options_for(request, _WIRE, _KNOWN_OPTIONS, _format_option)
    options = {OPTION_NAMES.get(name, name): value for name, value in given.items()}
    chosen: dict[str, Any] = {}
    if request.reasoning_effort is not None:
        chosen["reasoning"] = {"effort": request.reasoning_effort}
        if request.reasoning_effort != "none":
            chosen["reasoning"]["summary"] = "auto"  # without it nothing is shown of the reasoning
    if request.cache_key is not None:
        chosen["prompt_cache_key"] = request.cache_key
    if settings.max_output_tokens is not None:
        chosen["max_output_tokens"] = settings.max_output_tokens
    if settings.context_size_field and request.context_size is not None:
        chosen[settings.context_size_field] = request.context_size
    chosen |= {name: value for name, value in options.items() if name not in NOT_OPTIONS}
    if _wants_encrypted_reasoning(request, chosen) and "include" not in chosen:
        chosen["include"] = [ENCRYPTED_REASONING]
    return chosen


def _wants_encrypted_reasoning(request: ChatRequest, chosen: dict[str, Any]) -> bool:
    wanted = request.settings.own_settings(OpenResponsesSettings).encrypted_reasoning
    if wanted is EncryptedReasoning.AUTO:
        effort = chosen.get("reasoning")
        return request.has_reasoning or (isinstance(effort, dict) and effort.get("effort") not in {None, "none"})
    return wanted is EncryptedReasoning.ON


def _tool(tool: Tool) -> dict[str, Any]:
    return {
        "type": "function",
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.input_schema,
        "strict": False,  # arbitrary schemas do not satisfy strict mode (docs/wires/openresponses.md#tools)
    }


def _write(request: ChatRequest) -> WireRequest:
    return WireRequest(PATH, build_request(request))


def _may_end(item: Mapping[str, Any]) -> bool:
    """Reasoning is refused without the item that it led to; a summary of the conversation stands for itself."""
    return item.get("type") not in {None, "reasoning"}


_RULES: Final = ConversationRules(may_end=_may_end)

WRITE_REQUEST: Final = RequestWriterSpec(
    write=_write,
    path=PATH,
    conversation_rules=lambda _settings, _model_id: _RULES,
    continues=True,
    errors=ERRORS,
    leave_out=LEAVE_OUT,
    count=COUNT,
    empty_request=NO_FIELDS,
)
