"""Writes a request as the body of Chat Completions.

:mod:`partstream.conversation.turns` has prepared the conversation. :class:`ChatRequests` writes the body in this order:
model, messages, the fields that demand a stream with usage, tools, fields of the server, chosen options, cache marks.
The differences between servers are a table (:mod:`partstream.protocols.chat_completions.models`); an unknown server
gets the smallest body.

Rules of messages (docs/wires/chat-completions.md#messages): contents are strings wherever a string can hold them,
because lists of texts break small servers, and make models imitate them. Every tool result directly follows the message
with its call. Reasoning goes back with the message that it came with. `strict` of tools is sent only for a client that
asks for it: many servers refuse it, and schemas of tools do not satisfy it
(docs/wires/chat-completions.md#tools-and-schemas).

Anthropic's models cache only marked parts, also through OpenRouter and LiteLLM, and take at most four marks
(docs/wires/chat-completions.md#prompt-caching).
"""

from __future__ import annotations
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import groupby
from types import MappingProxyType
from typing import Any, Final

from partstream.codec.checks import replace
from partstream.conversation import turns as conversation
from partstream.conversation.preparation import ChatRequest, ConversationRules, RequestSettings, SystemAs, ToolImages
from partstream.conversation.tool_forms import WEB_SEARCH, HostedForm
from partstream.lm.messages import ToolMode
from partstream.lm.provider import LanguageModelChatInformation
from partstream.protocols.chat_completions import models
from partstream.protocols.chat_completions.errors import ERRORS, LEAVE_OUT
from partstream.protocols.chat_completions.provider_state import CarriedMessage, joined_items
from partstream.protocols.options import (
    NO_FIELD,
    AnswerFormat,
    Option,
    OptionRules,
    function_of,
    snake_case,
    states_of_calls,
    text_of_arguments,
    tiers,
    with_extra_fields,
)
from partstream.protocols.protocol import RequestWriter
from partstream.protocols.schemas import for_model
from partstream.protocols.serve import WireRequest
from partstream.settings.kinds import fits_header
from partstream.settings.known_servers import KnownServer


class ChatRequests(RequestWriter):
    """Requests of Chat Completions; see :class:`partstream.protocols.protocol.RequestWriter`."""

    path = "/chat/completions"
    errors = ERRORS
    leave_out = staticmethod(LEAVE_OUT)
    # llama-cpp-python needs no field: without a limit, it fills its window, and answers no other request meanwhile.
    empty_request = MappingProxyType({"max_tokens": 1})

    def write(self, request: ChatRequest) -> WireRequest:
        """Writes a request for a streamed response down.

        Raises:
            RequestNotExpressibleError: The server does not take a file, or something holds what JSON has no form for.
        """
        quirks, key = _quirks(request.settings, request.model_id), request.cache_key
        has_calls = any(isinstance(piece, conversation.Call) for turn in request.turns for piece in turn.content)
        body: models.JSONObject = {
            "model": request.model_id,
            "messages": messages_of(request, quirks),
            "stream": True,
            **({} if quirks.stream_options is None else {"stream_options": dict(quirks.stream_options)}),
            **_tool_fields(request, quirks, has_calls=has_calls),
            **quirks.fields,
            **_chosen(request, quirks),
        }
        whole = with_extra_fields(_marked_for_cache(body, quirks.cache_marks), request.settings.extra_body)
        headers = {quirks.session_header: key} if quirks.session_header and key and fits_header(key) else {}
        return WireRequest(self.path, whole, headers)

    def notes(self, request: ChatRequest) -> tuple[conversation.Note, ...]:  # noqa: D102
        quirks = _quirks(request.settings, request.model_id)
        return OPTIONS.notes(request, OPTIONS.of(request, quirks.sampling), quirks.attachments.takes)

    def complete_settings(
        self,
        settings: RequestSettings,
        _base_url: str,
        _model: LanguageModelChatInformation,
        server: KnownServer | None,
    ) -> RequestSettings:
        """The settings with the name of the known server, where they name none."""
        own = settings.own_settings(models.ChatCompletionsSettings)
        return replace(settings, own=own if own.server or server is None else replace(own, server=server.name))

    def usage_fields(self, body: Mapping[str, Any], settings: RequestSettings, model_id: str) -> Mapping[str, Any]:
        """The option of the stream, where the client has not set it."""
        said = body.get("stream_options") or {}
        is_asked = isinstance(said, Mapping) and said.get("include_usage") is True
        if is_asked or _quirks(settings, model_id).stream_options is None:
            return {}
        return {"stream_options": {**said, "include_usage": True}}

    def conversation_rules(self, settings: RequestSettings, model_id: str) -> ConversationRules:  # noqa: D102
        quirks = _quirks(settings, model_id)
        schemas = partial(for_model, quirks.schemas, model_id)
        return ConversationRules(
            quirks.call_ids,
            quirks.tool_names,
            tool_schema=schemas,
            takes_strict=True,
            file_words={**dict.fromkeys(conversation.FILE_NAMES, "file"), "detail": "image"},
            hosted_tools=_HOSTED if any(word in model_id for word in _SEARCHES) else {},
        )


_SEARCH: Final = "web_search_options"
_HOSTED: Final = {WEB_SEARCH: HostedForm({_SEARCH: {}}, {"search_context_size": _SEARCH, "user_location": _SEARCH})}
"""The tool that the servers run."""
_SEARCHES: Final = ("-search", "sonar")
"""In the names of the models of OpenAI and Perplexity that search the web: no other takes the field."""

WRITE_REQUEST: Final = ChatRequests()


def _quirks(settings: RequestSettings, model_id: str) -> models.Quirks:
    return models.quirks_of(settings.own_settings(models.ChatCompletionsSettings), model_id)


def _chosen(request: ChatRequest, quirks: models.Quirks) -> models.JSONObject:
    """The chosen values: from the options of the request, else from the configuration of the model."""
    settings = request.settings
    options = OPTIONS.of(request, quirks.sampling)
    chosen: dict[str, Any] = {}
    effort = options.effort or request.reasoning_effort
    if effort is not None:
        chosen |= quirks.effort.fields(effort)
    if quirks.cache_key_field and request.cache_key is not None:
        chosen[quirks.cache_key_field] = request.cache_key
    limit = options.elsewhere.get(Option.LIMIT)
    if (limit := settings.max_output_tokens if limit is None else limit) is not None:
        chosen[quirks.limit_field] = limit
    if settings.store:
        chosen["store"] = True
    return chosen | options.fields


# ---- Messages ----

NO_OUTPUT: Final = "(no output)"
"""The result of a tool without output: gateways before Anthropic and Gemini refuse an empty one."""
_RESULTS_SEEN: Final = "I have processed the tool results."
"""The text of the assistant between results and the user, at servers that require one."""
_NO_SIGNATURE: Final = {"google": {"thought_signature": "skip_thought_signature_validator"}}
"""Replaces the signature of a call that another model made (docs/wires/chat-completions.md#gemini-signatures)."""


def messages_of(request: ChatRequest, quirks: models.Quirks) -> list[models.JSONObject]:
    """The messages of a conversation, in order.

    Images and files that the protocol does not allow in their place follow in a message of the user, after all results
    of the turn.

    Raises:
        RequestNotExpressibleError: The server does not take a file of the user, or a call holds what JSON has no form
            for.
    """
    native = request.settings.tool_images is ToolImages.NATIVE
    turns = (
        replace(turn, content=tuple(_with_words(piece, quirks.attachments) for piece in turn.content))
        for turn in request.turns
    )
    shown = conversation.shown_by_user(turns, of_results=not native, of_assistant=True)
    writer = _Writer(quirks)
    if request.instructions:
        writer.say(quirks.system_role, request.instructions, request.instructions_name)
    system_roles = {SystemAs.DEVELOPER: "developer", SystemAs.SYSTEM: "system"}
    system_role = system_roles.get(request.settings.system_as, quirks.system_role)
    # Servers that join users demand that speakers take turns, whatever their names.
    names_assistants = conversation.TurnRole.ASSISTANT in quirks.named_roles and not quirks.joins_users
    merged = conversation.merged_turns(shown, by_name=names_assistants)
    for system_name, run in groupby(merged, lambda turn: _system_name(turn, quirks)):
        if system_name is not None:
            texts = (
                "".join(piece.value for piece in turn.content if isinstance(piece, conversation.Text)) for turn in run
            )
            writer.say(system_role, "\n\n".join(texts), system_name)
            continue
        for turn in run:
            writer.write(turn)
    return writer.messages


def _system_name(turn: conversation.MergedTurn, quirks: models.Quirks) -> str | None:
    """Whom a system message names; None for another message."""
    if turn.role is not conversation.TurnRole.SYSTEM:
        return None
    return turn.name if conversation.TurnRole.SYSTEM in quirks.named_roles and not quirks.joins_users else ""


def _with_words(piece: conversation.Piece, forms: models.AttachmentForms) -> conversation.Piece:
    """The piece with words in place of each file of a result that the server does not take."""
    if not isinstance(piece, conversation.Result):
        return piece
    content = (
        one.in_words if isinstance(one, conversation.Attachment) and not forms.takes(one) else one
        for one in piece.content
    )
    return replace(piece, content=tuple(content))


class _Writer:
    """The messages of one request so far."""

    def __init__(self, quirks: models.Quirks) -> None:
        self.messages: list[models.JSONObject] = []
        self._quirks = quirks

    def say(self, role: str, text: str, name: str = "") -> None:
        """Adds a message of text alone; the name is that of a system message."""
        if text:
            named = self._named(conversation.TurnRole.SYSTEM, name)
            self.messages.append({"role": role, **named, "content": text})

    def _named(self, role: conversation.TurnRole, name: str) -> models.JSONObject:
        return {"name": name} if name and role in self._quirks.named_roles else {}

    def write(self, turn: conversation.MergedTurn) -> None:
        """Adds the messages of a speaker, and of the results of its calls."""
        if turn.role is conversation.TurnRole.USER:
            self._user(turn)
        elif turn.role is conversation.TurnRole.ASSISTANT:
            self._assistant(turn)
        for result in turn.ordered_results:
            self._result(result)

    def _user(self, turn: conversation.MergedTurn) -> None:
        content = [piece for piece in turn.content if isinstance(piece, conversation.Text | conversation.Attachment)]
        if not content:
            return
        if self._quirks.answers_results and self.messages and self.messages[-1]["role"] == "tool":
            self.say("assistant", _RESULTS_SEEN)
        said, named = self._content(content), self._named(conversation.TurnRole.USER, turn.name)
        if self._quirks.joins_users and self.messages and self.messages[-1]["role"] == "user":
            before = self.messages.pop()
            earlier, name = before["content"], before.get("name", "")
            if name != turn.name:  # one message has one name: the words say who speaks
                earlier, said, named = _spoken(name, earlier), _spoken(turn.name, said), {}
            said = _joined(earlier, said)
        self.messages.append({"role": "user", **named, "content": said})

    def _assistant(self, turn: conversation.MergedTurn) -> None:
        calls = [piece for piece in turn.content if isinstance(piece, conversation.Call)]
        text = turn.text
        if not (text or calls):
            return  # servers refuse a message of the assistant without both, and reasoning alone is none
        carried = joined_items(piece.item for piece in turn.content if isinstance(piece, conversation.Reasoning))
        back = models.sent_back(carried, self._quirks.reasoning_back)
        text = back.opening + text
        content: str | list[models.JSONObject] | None = text or self._quirks.empty_content
        if back.parts:
            content = [*back.parts, *([{"type": "text", "text": text}] if text else [])]
        named = self._named(conversation.TurnRole.ASSISTANT, turn.name)
        message: models.JSONObject = {"role": "assistant", **named, "content": content, **back.fields}
        if calls:
            # DeepSeek requires empty reasoning (docs/wires/chat-completions.md#sending-reasoning-back).
            name = self._quirks.filled_reasoning
            if name and self._quirks.reasoning_back is not models.ReasoningBack.OFF:
                message.setdefault(name, "")
            extras = _extras(turn.content, carried)
            if self._quirks.fills_signatures and not extras:
                extras = {calls[0].call_id: _NO_SIGNATURE}
            message["tool_calls"] = [_call(call, extras.get(call.call_id)) for call in calls]
        self.messages.append(message)

    def _result(self, result: conversation.Result) -> None:
        name = {"name": result.name} if self._quirks.names_results else {}
        content = self._content(result.told) or NO_OUTPUT
        self.messages.append({"role": "tool", "tool_call_id": result.call_id, **name, "content": content})

    def _content(self, pieces: Sequence[conversation.ResultContent]) -> str | list[models.JSONObject]:
        """A string if a string can hold it."""
        texts = [piece.value for piece in pieces if isinstance(piece, conversation.Text)]
        if len(texts) == len(pieces):
            return conversation.joined_texts(texts)
        return [
            {"type": "text", "text": piece.value}
            if isinstance(piece, conversation.Text)
            else self._quirks.attachments.write(piece)
            for piece in pieces
        ]


def _spoken(name: str, content: str | list[models.JSONObject]) -> str | list[models.JSONObject]:
    """A content after the name of who speaks; as it is without one."""
    if not name:
        return content
    return f"{name}: {content}" if isinstance(content, str) else [{"type": "text", "text": f"{name}:"}, *content]


def _joined(
    first: str | list[models.JSONObject], second: str | list[models.JSONObject]
) -> str | list[models.JSONObject]:
    if isinstance(first, str) and isinstance(second, str):
        return f"{first}\n\n{second}"
    return [
        part
        for content in (first, second)
        for part in ([{"type": "text", "text": content}] if isinstance(content, str) else content)
    ]


def _call(call: conversation.Call, extra: Mapping[str, object] | None) -> models.JSONObject:
    function = {"name": call.name, "arguments": text_of_arguments(call)}
    carried = {"extra_content": dict(extra)} if extra else {}
    return {"id": call.call_id, "type": "function", "function": function, **carried}


def _extras(content: Sequence[conversation.Piece], carried: CarriedMessage) -> dict[str, Mapping[str, object]]:
    """The `extra_content` of each call, by the id that is sent."""

    def read(item: Mapping[str, Any]) -> tuple[str, Mapping[str, object]] | None:
        call_id = item.get("toolCallId")
        extra = carried.extra_of_calls.get(call_id) if isinstance(call_id, str) else None
        return None if extra is None else (str(call_id), extra)

    return states_of_calls(content, read)


# ---- Tools ----


def _tool_fields(request: ChatRequest, quirks: models.Quirks, *, has_calls: bool) -> models.JSONObject:
    """The fields of the tools and their choice; `has_calls` if the conversation holds calls."""
    hosted = {name: value for tool in request.hosted_tools for name, value in tool.items()}  # fields of the body
    if near := hosted.get(_SEARCH, {}).get("user_location"):
        place = {name: value for name, value in near.items() if name != "type"}
        hosted[_SEARCH] |= {"user_location": {"type": "approximate", "approximate": place}}
    if not (listed := request.tools or request.idle_tools):
        return hosted | ({"tools": []} if quirks.lists_no_tools and has_calls else {})
    fields: models.JSONObject = {"tools": [function_of(tool) for tool in listed], **quirks.tool_fields, **hosted}
    if request.idle_tools:
        fields["tool_choice"] = "none"
    if request.tool_mode is ToolMode.REQUIRED and quirks.required:
        fields["tool_choice"] = quirks.required
    return fields


# ---- Options ----


def _format_option(asked: AnswerFormat) -> dict[str, Any]:
    if asked.schema is None:
        return {"response_format": {"type": "json_object"}}
    return {"response_format": {"type": "json_schema", "json_schema": asked.fields}}


OPTIONS: Final = OptionRules(
    "chat-completions",
    {
        **snake_case(*(option for option in Option if option is not Option.THINKING_TOKENS)),
        Option.LIMIT: NO_FIELD,
        Option.EFFORT: NO_FIELD,
    },
    frozenset(
        {"model", "messages", "stream", "stream_options", "tools", "tool_choice", "store"}
        | {"prompt", "input", "instructions", "previous_response_id"}
    ),
    _format_option,
    formats=frozenset({"response_format"}),
    only_own=frozenset({Option.TOP_K, Option.MIN_P}),  # OpenAI has neither
    lists_stops=False,
    names_speakers=True,
    tiers=tiers("default", "flex", "priority"),  # each vendor has further ones of its own
)

# ---- Cache marks: the prompt is cached up to a marked part ----

_MARK: Final = {"cache_control": {"type": "ephemeral"}}


def _marked_for_cache(body: models.JSONObject, marks: models.CacheMarks) -> models.JSONObject:
    """The body with marks on the system message, the last tool and the last text, or on the last text alone."""
    if marks is models.CacheMarks.NONE:
        return body
    fields, messages = dict(body), list(body["messages"])
    if marks is models.CacheMarks.ALL:
        if body.get("tools"):
            *before, last = body["tools"]
            fields["tools"] = [*before, {**last, **_MARK}]
        if messages and messages[0]["role"] in {"system", "developer"}:
            messages[0] = _marked(messages[0]) or messages[0]
    for index in range(len(messages) - 1, -1, -1):
        marked = _marked(messages[index])
        if marked is not None:
            messages[index] = marked
            break
    return {**fields, "messages": messages}


def _marked(message: Mapping[str, Any]) -> dict[str, Any] | None:
    """The message with a mark on its last text, which only a part can carry; None for a message without text."""
    content = message["content"]
    parts = [{"type": "text", "text": content}] if isinstance(content, str) and content else content
    if not isinstance(parts, list):
        return None
    place = next((index for index in range(len(parts) - 1, -1, -1) if parts[index]["type"] == "text"), None)
    if place is None:
        return None
    return {**message, "content": [*parts[:place], {**parts[place], **_MARK}, *parts[place + 1 :]]}
