"""A request as the body of `POST /language-model`, in versions 2, 3 and 4 of the language model specification.

The body is what an SDK hands to a model (`LanguageModelV2CallOptions` to `V4`); the model's id is in a header. Source:
`gateway-stream-request.json` of the recordings, `@ai-sdk/gateway` 2.0.168, 3.0.228 and 4.0.146.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from partstream.conversation.deferral import shown_by_user
from partstream.conversation.settings import ToolImages
from partstream.messages import ToolMode
from partstream.protocols.ai_gateway.call_options import PROMPT, read_call_options
from partstream.protocols.ai_gateway.models import (
    DOCUMENT_HEADERS,
    AIGatewaySettings,
    authorize,
    build_headers,
    complete_settings,
    model_lists,
    specification_version,
)
from partstream.protocols.ai_gateway.provider_options import effort_options, merged, own_options, shown_reasoning
from partstream.protocols.ai_gateway.read_response import ERRORS
from partstream.protocols.ai_sdk.provider_state import RULES
from partstream.protocols.ai_sdk.write_request import PROMPT_FORMS, prompt_messages
from partstream.protocols.options import with_extra_fields
from partstream.protocols.protocol import RequestWriterSpec
from partstream.protocols.serve import WireRequest

if TYPE_CHECKING:
    from partstream.conversation.chat_request import ChatRequest
    from partstream.messages import Tool
    from partstream.protocols.ai_sdk.write_request import Wire

__all__ = ["PATH", "WRITE_REQUEST", "build_request"]

PATH: Final = "/language-model"

_HAS_REASONING: Final = 4
"""The first version with a word of its own for the reasoning effort."""


def build_request(request: ChatRequest) -> dict[str, Any]:
    """The JSON body that asks for the answer as a stream.

    Raises:
        RequestNotExpressibleError: Something holds what JSON has no form for, or stands where it cannot be said.
    """
    settings, version = request.settings, specification_version(request.settings)
    options = read_call_options(request.options)
    reasoning, provider_options = _reasoning(request, options.reasoning or request.reasoning_effort, version)
    provider_options = merged(
        own_options(request),
        provider_options,
        settings.own_settings(AIGatewaySettings).provider_options,
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
    """Turns as the prompt: instructions first, as one string, then the messages.

    Raises:
        RequestNotExpressibleError: The arguments of a call hold what JSON has no form for.
    """
    # The specification has a place for them in results: they stay there unless somebody says that the model's
    # provider does not take them.
    moved = request.settings.tool_images is ToolImages.USER_MESSAGE
    turns = shown_by_user(request.turns, of_results=moved, of_assistant=False)
    messages = prompt_messages(turns, PROMPT_FORMS[version])
    if request.instructions:
        messages.insert(0, {"role": "system", "content": request.instructions})
    return messages


def _reasoning(request: ChatRequest, effort: str | None, version: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """The reasoning effort: fields of the body, and options of the model's provider."""
    if effort is None:
        return {}, {}
    shown = shown_reasoning(request.model_id, effort)
    options = None if version >= _HAS_REASONING else effort_options(request.model_id, effort)
    if options is None:
        return {"reasoning": effort}, shown
    return {}, merged(options, shown)


def _tool(tool: Tool) -> dict[str, Any]:
    described = {"description": tool.description} if tool.description else {}
    return {"type": "function", "name": tool.name, **described, "inputSchema": tool.input_schema}


def _write(request: ChatRequest) -> WireRequest:
    return WireRequest(PATH, build_request(request), build_headers(request))


WRITE_REQUEST: Final = RequestWriterSpec(
    write=_write,
    path=PATH,
    authorize=authorize,
    document_headers=DOCUMENT_HEADERS,
    find_model_lists=model_lists,
    complete_settings=complete_settings,
    conversation_rules=lambda _settings, _model_id: RULES,
    errors=ERRORS,
)
