"""Writes a request as the body of Chat Completions; `partstream.conversation` has prepared it.

What differs between servers is a table, :mod:`partstream.protocols.chat_completions.server_quirks`. A server that
nobody knows gets the smallest body: model, messages, tools, what makes it stream with usage, and what somebody set.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from partstream.conversation.rules import ConversationRules
from partstream.conversation.turns import Call
from partstream.protocols.chat_completions.cache_marks import mark_for_cache
from partstream.protocols.chat_completions.errors import ERRORS
from partstream.protocols.chat_completions.messages import messages_of
from partstream.protocols.chat_completions.optional_fields import LEAVE_OUT
from partstream.protocols.chat_completions.options import options_of
from partstream.protocols.chat_completions.server_quirks import quirks_of
from partstream.protocols.chat_completions.settings import ChatCompletionsSettings
from partstream.protocols.chat_completions.tools import tool_fields
from partstream.protocols.options import with_extra_fields
from partstream.protocols.protocol import NO_FIELDS, RequestWriterSpec
from partstream.protocols.serve import WireRequest
from partstream.settings.checks import fits_header

if TYPE_CHECKING:
    from partstream.conversation.chat_request import ChatRequest
    from partstream.conversation.settings import RequestSettings
    from partstream.protocols.chat_completions.quirks import Quirks
    from partstream.protocols.known_servers import KnownServer
    from partstream.provider import LanguageModelChatInformation

__all__ = ["PATH", "WRITE_REQUEST", "build_request", "complete_settings", "conversation_rules"]

PATH: Final = "/chat/completions"


def build_request(request: ChatRequest) -> dict[str, Any]:
    """The JSON body that asks for the answer as a stream.

    Raises:
        RequestNotExpressibleError: The server does not take a file, or something holds what JSON has no form for.
    """
    settings = request.settings
    quirks = quirks_of(settings.own_settings(ChatCompletionsSettings), request.model_id)
    has_calls = any(isinstance(piece, Call) for turn in request.turns for piece in turn.content)
    body: dict[str, Any] = {
        "model": request.model_id,
        "messages": messages_of(request, quirks),
        "stream": True,
        **({} if quirks.stream_options is None else {"stream_options": dict(quirks.stream_options)}),
        **tool_fields(request, quirks, has_calls=has_calls),
        **quirks.fields,
        **_chosen(request, quirks),
    }
    return with_extra_fields(mark_for_cache(body, quirks.cache_marks), settings.extra_body)


def _chosen(request: ChatRequest, quirks: Quirks) -> dict[str, Any]:
    """The chosen values: from the options of the request, else from the configuration of the model."""
    settings, options = request.settings, options_of(request)
    chosen: dict[str, Any] = {}
    effort = options.effort or request.reasoning_effort
    if effort is not None:
        chosen |= quirks.effort.fields(effort)
    if quirks.cache_key_field and request.cache_key is not None:
        chosen[quirks.cache_key_field] = request.cache_key
    limit = settings.max_output_tokens if options.limit is None else options.limit
    if limit is not None:
        chosen[quirks.limit_field] = limit
    if settings.context_size_field and request.context_size is not None:
        chosen[settings.context_size_field] = request.context_size
    if settings.store:
        chosen["store"] = True
    return chosen | options.fields


def _headers(request: ChatRequest) -> dict[str, str]:
    quirks = quirks_of(request.settings.own_settings(ChatCompletionsSettings), request.model_id)
    key = request.cache_key
    return {quirks.session_header: key} if quirks.session_header and key and fits_header(key) else {}


def _write(request: ChatRequest) -> WireRequest:
    return WireRequest(PATH, build_request(request), _headers(request))


def complete_settings(
    settings: RequestSettings, _base_url: str, _model: LanguageModelChatInformation, server: KnownServer | None
) -> RequestSettings:
    """The settings with the name of the known server, where they name none."""
    own = settings.own_settings(ChatCompletionsSettings)
    return settings if own.server or server is None else replace(settings, own=replace(own, server=server.name))


def conversation_rules(settings: RequestSettings, model_id: str) -> ConversationRules:
    """The ids and names that the server of a model takes."""
    quirks = quirks_of(settings.own_settings(ChatCompletionsSettings), model_id)
    return ConversationRules(quirks.call_ids, quirks.tool_names)


WRITE_REQUEST: Final = RequestWriterSpec(
    write=_write,
    path=PATH,
    complete_settings=complete_settings,
    conversation_rules=conversation_rules,
    errors=ERRORS,
    leave_out=LEAVE_OUT,
    empty_request=NO_FIELDS,
)
