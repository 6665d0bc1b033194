"""Writes a request as the body of Anthropic Messages; `partstream.conversation` has prepared it.

What a model takes is known from its server's list, else by its name (:mod:`.model_table`); what a server takes is a
row (:mod:`.server_rules`). Source: docs/wires/anthropic-messages.md, from "Request fields" on.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from partstream.conversation.rules import ConversationRules
from partstream.conversation.settings import SystemAs
from partstream.messages import ToolMode
from partstream.protocols.anthropic_messages.cache_marks import mark_for_cache
from partstream.protocols.anthropic_messages.endpoint import (
    BETA_HEADER,
    COUNT,
    PATH,
    ThinkingChoice,
    answer_limit,
    asks_to_think,
    authorize,
    authorize_for,
    betas_of,
    context_management,
    joined,
    on_platform,
    resume,
    thinking_fields,
    without_refused_sampling,
)
from partstream.protocols.anthropic_messages.errors import ERRORS
from partstream.protocols.anthropic_messages.input_messages import write_conversation
from partstream.protocols.anthropic_messages.models import (
    AnthropicMessagesSettings,
    LateSystem,
    PromptCache,
    abilities_of,
    rules_of,
)
from partstream.protocols.anthropic_messages.optional_fields import LEAVE_OUT
from partstream.protocols.anthropic_messages.provider_state import may_end
from partstream.protocols.anthropic_messages.request_options import options_of
from partstream.protocols.anthropic_messages.request_tools import tool_fields
from partstream.protocols.options import with_extra_fields
from partstream.protocols.protocol import NO_FIELDS, RequestWriterSpec
from partstream.protocols.serve import WireRequest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from partstream.conversation.chat_request import ChatRequest
    from partstream.conversation.settings import RequestSettings
    from partstream.protocols.anthropic_messages.models import Abilities, ServerRules
    from partstream.protocols.anthropic_messages.request_options import ChosenOptions
    from partstream.protocols.known_servers import KnownServer
    from partstream.provider import LanguageModelChatInformation

__all__ = [
    "VERSION_HEADERS",
    "WRITE_REQUEST",
    "build_request",
    "complete_settings",
    "conversation_rules",
    "find_model_lists",
]

VERSION_HEADERS: Final[Mapping[str, str]] = {"anthropic-version": "2023-06-01"}
"""Every request needs it, that for the list of models too; there is no newer value."""


def build_request(request: ChatRequest) -> dict[str, Any]:
    """The JSON body that asks for the answer as a stream, for Anthropic's own API.

    Raises:
        RequestNotExpressibleError: The server does not take a file, or something holds what JSON has no form for.
    """
    settings = request.settings
    own = settings.own_settings(AnthropicMessagesSettings)
    rules = rules_of(own.messages_server, request.model_id)
    abilities = abilities_of(request.model_id, settings.capabilities)
    options = options_of(request)
    said = write_conversation(request, rules, has_system_turns=settings.system_as is not SystemAs.INSTRUCTIONS)
    body: dict[str, Any] = {
        "model": request.model_id,
        "max_tokens": _limit(request, options, abilities, rules),
        "stream": True,
        **({"system": said.system} if said.system.strip() else {}),
        "messages": said.messages,
        **tool_fields(request, parallel=options.parallel),
        **({} if said.container is None else {"container": said.container}),
    }
    body |= _thinking(request, body, abilities, rules)
    body |= context_management(own, abilities, body)
    if settings.context_size_field and request.context_size is not None:
        body[settings.context_size_field] = request.context_size
    body = without_refused_sampling(_with_options(body, options), abilities)
    body = with_extra_fields(body, settings.extra_body)
    if not _marks(own, rules):
        return body
    forgets = asks_to_think(body) and not abilities.keeps_thinking
    return mark_for_cache(body, _LIFETIMES.get(own.prompt_cache), keeps_thinking=not forgets)


def _limit(request: ChatRequest, options: ChosenOptions, abilities: Abilities, rules: ServerRules) -> int:
    chosen = request.settings.max_output_tokens if options.limit is None else options.limit
    return answer_limit(chosen, abilities, request.input_tokens, reserves=rules.reserves)


def _thinking(request: ChatRequest, body: Mapping[str, Any], abilities: Abilities, rules: ServerRules) -> Any:
    return thinking_fields(
        ThinkingChoice(
            request.settings.own_settings(AnthropicMessagesSettings),
            options_of(request).effort or request.reasoning_effort,
            abilities,
            rules,
            body["max_tokens"],
            bool(request.tools) and request.tool_mode is ToolMode.REQUIRED,
            body["messages"],
            may_think=not request.reasoning_is_refused,
        )
    )


def _with_options(body: Mapping[str, Any], options: ChosenOptions) -> dict[str, Any]:
    """The body with the options of a caller, of which what an object holds is added to ours."""
    output = options.fields.get("output_config")
    joined_output = {**body.get("output_config", {}), **output} if isinstance(output, dict) else None
    return {**body, **options.fields, **({} if joined_output is None else {"output_config": joined_output})}


def _marks(own: AnthropicMessagesSettings, rules: ServerRules) -> bool:
    return rules.caches_marks if own.prompt_cache is PromptCache.AUTO else own.prompt_cache is not PromptCache.OFF


_LIFETIMES: Final = {PromptCache.ONE_HOUR: "1h"}


def _write(request: ChatRequest) -> WireRequest:
    own = request.settings.own_settings(AnthropicMessagesSettings)
    body = build_request(request)
    betas = joined([*betas_of(body), *own.betas])
    headers = {**VERSION_HEADERS, **({BETA_HEADER: betas} if betas else {})}
    return on_platform(WireRequest(PATH, body, headers), own.platform)


def complete_settings(
    settings: RequestSettings, _base_url: str, model: LanguageModelChatInformation, server: KnownServer | None
) -> RequestSettings:
    """The settings with the name of the known server, where they name none, and with the place of late system messages
    that the model takes."""
    own = settings.own_settings(AnthropicMessagesSettings)
    if own.messages_server is None and server is not None:
        own = replace(own, messages_server=server.name)
    if own.late_system is LateSystem.AUTO:
        is_chosen = settings.system_as is not SystemAs.INSTRUCTIONS
        takes = is_chosen or abilities_of(model.id, settings.capabilities).takes_system_turns
        own = replace(own, late_system=LateSystem.IN_PLACE if takes else LateSystem.JOIN)
    system_as = SystemAs.SYSTEM if own.late_system is LateSystem.IN_PLACE else SystemAs.INSTRUCTIONS
    return replace(settings, own=own, system_as=system_as)


def conversation_rules(settings: RequestSettings, model_id: str) -> ConversationRules:
    """The ids and names that the server of a model takes, and which blocks may end an answer."""
    rules = rules_of(settings.own_settings(AnthropicMessagesSettings).messages_server, model_id)
    return ConversationRules(rules.call_ids, may_end=may_end)


_FOLDERS: Final = ("/anthropic/v1", "/anthropic")
"""Where servers of another wire speak this one too; their models are listed beside these folders."""


def find_model_lists(base_path: str) -> tuple[str, tuple[str, ...]]:
    """The path that the list of models stands below, and the paths of further lists."""
    path = base_path.rstrip("/")
    folder = next((folder for folder in _FOLDERS if path.endswith(folder)), None)
    if folder is None:
        return path, ()
    root = path.removesuffix(folder)
    return path, (f"{root}/v1/models", f"{root}/models")


WRITE_REQUEST: Final = RequestWriterSpec(
    write=_write,
    path=PATH,
    authorize=authorize,
    authorize_for=authorize_for,
    document_headers=VERSION_HEADERS,
    find_model_lists=find_model_lists,
    complete_settings=complete_settings,
    conversation_rules=conversation_rules,
    errors=ERRORS,
    leave_out=LEAVE_OUT,
    resume=resume,
    count=COUNT,
    empty_request=NO_FIELDS,
    fits_answers=True,
)
