"""Writes a request as the body of Anthropic Messages; :mod:`partstream.conversation.turns` has prepared it.

:func:`build_request` writes the body: messages, options, tools, thinking, the caller's further fields and, last of all,
the marks of the prompt cache. What a model takes is known from its server's list, else by its name; what a server takes
is a row of its own (both in :mod:`partstream.protocols.anthropic_messages.models`).

- Messages (docs/wires/anthropic-messages.md#messages): user and assistant alternate, beginning and ending with the
  user; all results of an answer come first in the message after it. Servers other than Anthropic's refuse what is not
  merged, so everything is merged here.
- Options (docs/wires/anthropic-messages.md#request-fields) have many names in other protocols and SDKs.
- Tools (docs/wires/anthropic-messages.md#tools-and-tool-choice) take a schema of an object without alternatives on top.
- Marks (docs/wires/anthropic-messages.md#prompt-cache) say where the prompt cache is written and read. A server takes
  four: after the tools, after the system prompt, after the end of the request before this one, and after the end of
  this one. The third is exactly where the request before wrote its fourth, so that reading never depends on how many
  blocks a server looks back. Some models forget the thinking of a finished turn
  (docs/wires/anthropic-messages.md#thinking-by-model): then all that follows the question before the next one is
  another prompt. There a mark after that question replaces the one after the tools, which the mark after the system
  prompt covers too.
"""

from __future__ import annotations
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from partstream.conversation.preparation import ChatRequest, ConversationRules, RequestSettings, SystemAs, ToolImages
from partstream.conversation.turns import (
    Attachment,
    Call,
    Note,
    Reasoning,
    Text,
    TurnRole,
    merged_turns,
    shown_by_user,
)
from partstream.lm.messages import ToolMode
from partstream.protocols.anthropic_messages import endpoint, models, provider_state
from partstream.protocols.anthropic_messages.errors import ERRORS, without_refused
from partstream.protocols.options import (
    NO_FIELD,
    AnswerFormat,
    Option,
    OptionRules,
    notes_on_options,
    options_of,
    with_extra_fields,
)
from partstream.protocols.protocol import NO_FIELDS, RequestWriterSpec
from partstream.protocols.serve import WireRequest

if TYPE_CHECKING:
    from partstream.conversation.turns import MergedTurn, Turn
    from partstream.lm.provider import LanguageModelChatInformation
    from partstream.protocols.known_servers import KnownServer

# ---- Messages ----

CONTINUE: Final = "Please continue."
"""The user's text after a last answer, which models refuse (docs/wires/anthropic-messages.md#messages)."""
NO_BEGINNING: Final = "[The beginning of the conversation is missing.]"
"""The user's text before a first answer: the first message has to be a user's."""


class _Writer:
    """The messages of one request so far.

    Attributes:
        system: The text of the system messages at the beginning.
    """

    def __init__(
        self, rules: models.ServerRules, forbidden: models.Forbidden, instructions: str, *, keeps_places: bool
    ) -> None:
        self.system = instructions
        self._rules = rules
        self._forbidden = forbidden
        self._keeps_places = keeps_places
        self._messages: list[provider_state.Wire] = []
        self._late: list[str] = []

    def write(self, turn: MergedTurn) -> None:
        if turn.role is TurnRole.SYSTEM:
            self._system("".join(piece.value for piece in turn.content if isinstance(piece, Text)))
        elif turn.role is TurnRole.USER:
            self._user(
                provider_state.input_blocks(
                    [piece for piece in turn.content if isinstance(piece, Text | Attachment)], self._rules
                )
            )
        elif turn.role is TurnRole.ASSISTANT:
            self._assistant(turn)
        self._results(turn)

    def end(self) -> list[provider_state.Wire]:
        """The messages, of which the last is the user's, or a system message after it."""
        if not self._messages or self._messages[-1]["role"] == "assistant":
            self._user(provider_state.text_blocks(CONTINUE))
        self._say_late()
        merged: list[provider_state.Wire] = []
        for message in provider_state.paired(self._messages):
            if merged and merged[-1]["role"] == message["role"]:
                merged[-1] = {**merged[-1], "content": [*merged[-1]["content"], *message["content"]]}
            else:
                merged.append(message)
        # After a waiting tool of the server, other content than results ends the turn, and the waiting call is refused
        # (docs/wires/anthropic-messages.md#mixed-turns). So it goes into the last result, where the model reads it too.
        return [
            _with_results_alone(message)
            if message["role"] == "user" and place and provider_state.waits_for_server(merged[place - 1]["content"])
            else message
            for place, message in enumerate(merged)
        ]

    def _system(self, text: str) -> None:
        if not text.strip():
            return
        if self._keeps_places and self._messages:
            self._late.append(text)
        else:
            self.system = f"{self.system}\n\n{text}" if self.system else text

    def _say_late(self) -> None:
        """Adds the system messages that wait, right after a user's message and before an answer or at the end."""
        if self._late and self._messages and self._messages[-1]["role"] == "user":
            self._messages.append({"role": "system", "content": provider_state.text_blocks("\n\n".join(self._late))})
            self._late = []

    def _user(self, blocks: list[provider_state.Wire]) -> None:
        if not blocks:
            return
        if self._messages and self._messages[-1]["role"] == "user":
            self._messages[-1]["content"] += blocks
        else:
            self._messages.append({"role": "user", "content": list(blocks)})

    def _assistant(self, turn: MergedTurn) -> None:
        blocks: list[provider_state.Wire] = []
        for one in turn.turns:
            blocks += provider_state.answer_blocks(one.content)
        if self._forbidden.answer_blocks:
            blocks = [block for block in blocks if block["type"] not in self._forbidden.answer_blocks]
        if not blocks:
            return
        if not self._messages:
            self._user(provider_state.text_blocks(NO_BEGINNING))
        self._say_late()
        if self._messages[-1]["role"] == "assistant":
            self._messages[-1]["content"] += blocks
        else:
            self._messages.append({"role": "assistant", "content": blocks})

    def _results(self, turn: MergedTurn) -> None:
        order = {piece.call_id: place for place, piece in enumerate(turn.content) if isinstance(piece, Call)}
        results = sorted(turn.results, key=lambda result: order.get(result.call_id, len(order)))
        self._user([provider_state.result_block(result, self._rules) for result in results])


def _with_results_alone(message: provider_state.Wire) -> provider_state.Wire:
    results = [block for block in message["content"] if block["type"] == "tool_result"]
    others = [block for block in message["content"] if block["type"] != "tool_result"]
    if not results or not others:
        return message
    given = results[-1].get("content", [])
    content = provider_state.text_blocks(given) if isinstance(given, str) else list(given)
    results[-1] = {**results[-1], "content": [*content, *others]}
    return {**message, "content": results}


def _container(turns: Sequence[Turn]) -> str | None:
    """The container of the last answer: one of an earlier answer may be gone."""
    last = next((turn for turn in reversed(turns) if turn.role is TurnRole.ASSISTANT), None)
    for piece in reversed(last.content if last is not None else ()):
        held = piece.item if isinstance(piece, Reasoning) and piece.item.get("type") == provider_state.ITEM_TYPE else {}
        container = held.get(provider_state.CONTAINER)
        if isinstance(container, dict) and isinstance(container.get("id"), str):
            return str(container["id"])
    return None


# ---- Options ----

WIRE: Final = "anthropic-messages"


def _format_option(asked: AnswerFormat) -> dict[str, Any] | None:
    """Only a schema has a form here (docs/wires/anthropic-messages.md#request-fields)."""
    if asked.schema is None:
        return None
    return {"output_config": {"format": {"type": "json_schema", "schema": dict(asked.schema)}}}


OPTIONS: Final = OptionRules(
    {
        Option.LIMIT: NO_FIELD,
        Option.EFFORT: NO_FIELD,
        Option.PARALLEL_CALLS: NO_FIELD,
        Option.TEMPERATURE: "temperature",
        Option.TOP_P: "top_p",
        Option.TOP_K: "top_k",
        Option.STOP: "stop_sequences",
        Option.USER: "metadata.user_id",
        Option.SERVICE_TIER: "service_tier",
    },
    frozenset(
        {"model", "messages", "system", "stream", "stream_options", "tools", "tool_choice", "store", "n"}
        | {"prompt", "input", "instructions", "previous_response_id"}
    ),
    _format_option,
    formats=frozenset({"output_config", "output_format"}),
    objects=frozenset({"output_config"}),
    only_own=frozenset({Option.SERVICE_TIER}),  # its tiers are others than those of OpenAI
)


# ---- Tools ----


def tool_fields(request: ChatRequest, *, parallel: bool | None) -> provider_state.Wire:
    """The fields of a body that say which tools there are.

    `strict` is never sent: it has limits that the tools of an editor exceed.

    Args:
        request: The request.
        parallel: Whether several tools may be called at once; None without a choice.
    """
    if not request.tools:
        return {}
    choice: provider_state.Wire = {"type": "any"} if request.tool_mode is ToolMode.REQUIRED else {}
    if parallel is not None:
        choice = {"type": "auto", **choice, "disable_parallel_tool_use": not parallel}
    tools = [
        {
            "name": tool.name,
            **({"description": tool.description} if tool.description else {}),
            "input_schema": tool.input_schema,
        }
        for tool in request.tools
    ]
    return {"tools": tools, **({"tool_choice": choice} if choice else {})}


# ---- Marks of the prompt cache ----

MARK: Final = "cache_control"
"""The field of a mark. At the top of a body, it is the server's own mark after the last block."""

_NEVER_MARKED: Final = frozenset({"thinking", "redacted_thinking"})


def mark_for_cache(body: Mapping[str, Any], lifetime: str | None, *, keeps_thinking: bool = True) -> dict[str, Any]:
    """The body with its marks.

    Args:
        body: The body, whose system prompt is a text or a list of blocks.
        lifetime: How long what is written stays, such as `1h`; None for the server's five minutes.
        keeps_thinking: Whether the model keeps the thinking of finished turns.
    """
    mark = {MARK: {"type": "ephemeral", **({} if lifetime is None else {"ttl": lifetime})}}
    marked = dict(body)
    if (tools := marked.get("tools")) and (keeps_thinking or not marked.get("system")):
        marked["tools"] = _with_mark(tools, _last(tools, lambda tool: not tool.get("defer_loading")), mark)
    if system := marked.get("system"):
        blocks = [{"type": "text", "text": system}] if isinstance(system, str) else list(system)
        marked["system"] = _with_mark(blocks, _last(blocks, _is_markable), mark)
    messages = list(marked["messages"])
    users = [place for place, message in enumerate(messages) if message["role"] == "user"]
    last_answer = max((place for place, message in enumerate(messages) if message["role"] == "assistant"), default=-1)
    before = [place for place in users if place < last_answer]
    places = {*before[-1:], *(users[-1:] if MARK not in marked else ())}
    if not keeps_thinking:  # the question that began the turn of the last answer
        asked = [place for place in before if any(one["type"] != "tool_result" for one in messages[place]["content"])]
        places |= {*asked[-1:]}
    for place in places:
        content = messages[place]["content"]
        index = _last(content, _is_markable)
        messages[place] = {**messages[place], "content": _with_mark(content, index, mark)}
    return marked | {"messages": messages}


def _is_markable(block: provider_state.Wire) -> bool:
    return block.get("type") not in _NEVER_MARKED and (
        block.get("type") != "text" or bool(str(block.get("text", "")).strip())
    )


def _last(items: Sequence[provider_state.Wire], fits: Any) -> int | None:
    return next((index for index in range(len(items) - 1, -1, -1) if fits(items[index])), None)


def _with_mark(
    items: Sequence[provider_state.Wire], index: int | None, mark: provider_state.Wire
) -> list[provider_state.Wire]:
    if index is None:
        return list(items)
    return [*items[:index], {**items[index], **mark}, *items[index + 1 :]]


# ---- The body ----


def build_request(request: ChatRequest) -> dict[str, Any]:
    """The JSON body that asks for the answer as a stream, for Anthropic's own API.

    Raises:
        RequestNotExpressibleError: The server does not take a file, or something holds what JSON has no form for.
    """
    settings = request.settings
    own = settings.own_settings(models.AnthropicMessagesSettings)
    rules = models.rules_of(own.messages_server, request.model_id)
    abilities = models.abilities_of(request.model_id, settings.capabilities)
    options = options_of(request, WIRE, OPTIONS)
    forbidden = models.FORBIDDEN.get(_version(request, own), models.Forbidden())
    limit = options.limit if type(options.limit) is int and options.limit > 0 else None
    keeps_places = settings.system_as is not SystemAs.INSTRUCTIONS
    conversation = _Writer(rules, forbidden, request.instructions, keeps_places=keeps_places)
    deferred = settings.tool_images is ToolImages.USER_MESSAGE
    for turn in merged_turns(shown_by_user(request.turns, of_results=deferred, of_assistant=True)):
        conversation.write(turn)
    messages, container = conversation.end(), _container(request.turns)
    body: dict[str, Any] = {
        "model": request.model_id,
        "max_tokens": endpoint.answer_limit(
            settings.max_output_tokens if limit is None else limit,
            abilities,
            request.input_tokens,
            reserves=rules.reserves,
        ),
        "stream": True,
        **({"system": conversation.system} if conversation.system.strip() else {}),
        "messages": messages,
        **tool_fields(request, parallel=options.parallel),
        **({} if container is None else {"container": container}),
    }
    body |= endpoint.thinking_fields(
        endpoint.ThinkingChoice(
            own,
            options.effort or request.reasoning_effort,
            abilities,
            rules,
            body["max_tokens"],
            bool(request.tools) and request.tool_mode is ToolMode.REQUIRED,
            body["messages"],
            may_think=not request.reasoning_is_refused,
        )
    )
    body |= endpoint.context_management(own, abilities, body)
    if settings.context_size_field and request.context_size is not None:
        body[settings.context_size_field] = request.context_size
    output = options.fields.get("output_config")  # of the caller: what it holds is added to ours
    joined_output = {"output_config": {**body.get("output_config", {}), **output}} if isinstance(output, dict) else {}
    body = endpoint.without_refused_sampling({**body, **options.fields, **joined_output}, abilities, forbidden.fields)
    body = with_extra_fields(body, settings.extra_body)
    is_marked = own.prompt_cache is not models.PromptCache.OFF
    if not (rules.caches_marks if own.prompt_cache is models.PromptCache.AUTO else is_marked):
        return body
    forgets = endpoint.asks_to_think(body) and not abilities.keeps_thinking
    return mark_for_cache(body, _LIFETIMES.get(own.prompt_cache), keeps_thinking=not forgets)


_LIFETIMES: Final = {models.PromptCache.ONE_HOUR: "1h"}


def _version(request: ChatRequest, own: models.AnthropicMessagesSettings) -> str:
    """The version of the API, which decides what the body may hold; a header that a person sets wins over the row."""
    said = (value for name, value in request.settings.extra_headers.items() if name.lower() == models.VERSION)
    return next(said, models.rules_of(own.messages_server, request.model_id).version)


def notes(request: ChatRequest) -> tuple[Note, ...]:
    """The options that have no place on this wire, and those that the version of the API forbids."""
    options = options_of(request, WIRE, OPTIONS)
    version = _version(request, request.settings.own_settings(models.AnthropicMessagesSettings))
    lost = sorted(models.FORBIDDEN.get(version, models.Forbidden()).fields & options.fields.keys())
    said = f"options that version {version} of the API does not take: {', '.join(lost)}"
    return (*notes_on_options(options), *((Note(said, "modelOptions"),) if lost else ()))


def _write(request: ChatRequest) -> WireRequest:
    own = request.settings.own_settings(models.AnthropicMessagesSettings)
    body = build_request(request)
    betas = endpoint.joined([*endpoint.betas_of(body), *own.betas])
    headers = {models.VERSION: _version(request, own), **({endpoint.BETA_HEADER: betas} if betas else {})}
    return endpoint.on_platform(WireRequest(endpoint.PATH, body, headers), own.platform)


def complete_settings(
    settings: RequestSettings, _base_url: str, model: LanguageModelChatInformation, server: KnownServer | None
) -> RequestSettings:
    """The settings with the name of the known server, where they name none, and with the place of late system messages
    that the model takes."""
    own = settings.own_settings(models.AnthropicMessagesSettings)
    if own.messages_server is None and server is not None:
        own = replace(own, messages_server=server.name)
    if own.late_system is models.LateSystem.AUTO:
        is_chosen = settings.system_as is not SystemAs.INSTRUCTIONS
        takes = is_chosen or models.abilities_of(model.id, settings.capabilities).takes_system_turns
        own = replace(own, late_system=models.LateSystem.IN_PLACE if takes else models.LateSystem.JOIN)
    system_as = SystemAs.SYSTEM if own.late_system is models.LateSystem.IN_PLACE else SystemAs.INSTRUCTIONS
    return replace(settings, own=own, system_as=system_as)


def conversation_rules(settings: RequestSettings, model_id: str) -> ConversationRules:
    """The ids, names and schemas that the server of a model takes, and which blocks may end an answer."""
    server = settings.own_settings(models.AnthropicMessagesSettings).messages_server
    rules = models.rules_of(server, model_id)
    form = replace(rules.schemas, flattens=True, names=True)
    return ConversationRules(rules.call_ids, may_end=provider_state.may_end, tool_schema=form.of)


_FOLDERS: Final = ("/anthropic/v1", "/anthropic")
"""The paths at which servers of another wire speak this one too; their models are listed beside these folders."""


def find_model_lists(base_path: str) -> tuple[str, tuple[str, ...]]:
    """The path above the list of models, and the paths of further lists."""
    path = base_path.rstrip("/")
    folder = next((folder for folder in _FOLDERS if path.endswith(folder)), None)
    if folder is None:
        return path, ()
    root = path.removesuffix(folder)
    return path, (f"{root}/v1/models", f"{root}/models")


WRITE_REQUEST: Final = RequestWriterSpec(
    write=_write,
    notes=notes,
    path=endpoint.PATH,
    authorize=endpoint.authorize,
    authorize_for=endpoint.authorize_for,
    document_headers={models.VERSION: models.OLDER_VERSION},
    find_model_lists=find_model_lists,
    complete_settings=complete_settings,
    conversation_rules=conversation_rules,
    errors=ERRORS,
    leave_out=without_refused,
    resume=endpoint.resume,
    count=endpoint.COUNT,
    empty_request=NO_FIELDS,
    fits_answers=True,
)
