"""Writes a request as the body of Anthropic Messages; :mod:`partstream.conversation.turns` has prepared it.

:func:`build_request` writes the body, in the order of this page: messages, options, tools, the limit of the response,
thinking, edits of the context, the caller's further fields and, last of all, the marks of the prompt cache. What a
model takes is known from its server's list, else by its name; what a server takes is a row of its own (both in
:mod:`partstream.protocols.anthropic_messages.models`).

- Messages (docs/wires/anthropic-messages.md#messages): user and assistant alternate, beginning and ending with the
  user; all results of an answer come first in the message after it. Servers other than Anthropic's refuse what is not
  merged, so everything is merged here.
- Blocks that go back: thinking unmodified, in order, and before what it led to. What comes before the last block of the
  type `fallback` is another model's: its thinking and its client calls do not go back
  (docs/wires/anthropic-messages.md#fallback-models). Blocks of the server's tools go back in pairs or not at all.
- Options (docs/wires/anthropic-messages.md#request-fields) have many names in other protocols and SDKs.
- Tools (docs/wires/anthropic-messages.md#tools-and-tool-choice) take a schema of an object without alternatives on top.
- Thinking is asked for in a form that the model takes (docs/wires/anthropic-messages.md#thinking-by-model).
- Marks (docs/wires/anthropic-messages.md#prompt-cache) say where the prompt cache is written and read. A server takes
  four: after the tools, after the system prompt, after the end of the request before this one, and after the end of
  this one. The third is exactly where the request before wrote its fourth, so that reading never depends on how many
  blocks a server looks back. Some models forget the thinking of a finished turn
  (docs/wires/anthropic-messages.md#thinking-by-model): then all that follows the question before the next one is
  another prompt. There a mark after that question replaces the one after the tools, which the mark after the system
  prompt covers too.
"""

from __future__ import annotations
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import quote

from partstream.conversation import preparation
from partstream.conversation.media import MediaKind
from partstream.conversation.tool_forms import CODE, FETCH, WEB_SEARCH, HostedForm
from partstream.conversation.turns import (
    FILE_NAMES,
    MISSING_RESULT,
    Attachment,
    Call,
    Note,
    Reasoning,
    Text,
    TurnRole,
    merged_turns,
    shown_by_user,
)
from partstream.errors import RequestNotExpressibleError
from partstream.lm.messages import ToolMode
from partstream.protocols import protocol
from partstream.protocols.anthropic_messages import models
from partstream.protocols.anthropic_messages.errors import ERRORS, without_refused
from partstream.protocols.anthropic_messages.provider_state import FALLBACK, block_of, container_of, fields_of_call
from partstream.protocols.options import (
    BUDGETS,
    NO_EFFORT,
    NO_FIELD,
    AnswerFormat,
    Option,
    OptionRules,
    call_arguments,
    declared,
    states_of_calls,
    tiers,
    with_extra_fields,
)
from partstream.protocols.read_response import JSONObject, identifier, mapping
from partstream.protocols.schemas import closed_schema
from partstream.protocols.serve import WireRequest

if TYPE_CHECKING:
    from partstream.conversation.turns import MergedTurn, Piece, Result, ResultContent, Turn
    from partstream.lm.provider import LanguageModelChatInformation
    from partstream.settings.known_servers import KnownServer

# ---- Input: what a user says, or a tool gives ----

_IMAGES: Final = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})
_PDF: Final = "application/pdf"


def text_blocks(value: str) -> list[JSONObject]:
    """A text as the blocks that it makes: one, or none for white space alone."""
    return [{"type": "text", "text": value}] if value.strip() else []


def takes(piece: Attachment, rules: models.ServerRules) -> bool:
    """Whether the server takes an image or a file."""
    if piece.url and not rules.fetches:
        return False
    if piece.kind is MediaKind.IMAGE:
        return rules.takes_images and piece.media_type in _IMAGES
    return rules.takes_documents and piece.media_type == _PDF


def input_blocks(pieces: Iterable[ResultContent], rules: models.ServerRules) -> list[JSONObject]:
    """What a user says, or a tool gave, as blocks.

    Raises:
        RequestNotExpressibleError: The server does not take an image or a file.
    """
    blocks: list[JSONObject] = []
    for piece in pieces:
        if isinstance(piece, Text):
            blocks += text_blocks(piece.value)
            continue
        if not takes(piece, rules):
            raise _not_taken(piece, rules)
        kind = "image" if piece.kind is MediaKind.IMAGE else "document"
        source = {"type": "url", "url": piece.url}
        if not piece.url:
            data = b64encode(piece.data).decode()
            source = {"type": "base64", "media_type": piece.media_type, "data": data}
        named = {"title": piece.title} if piece.title and kind == "document" else {}
        beside = {name: piece.about[name] for name in ("context", "citations") if name in piece.about}
        blocks.append({"type": kind, "source": source, **named, **beside})
    return blocks


def result_block(result: Result, rules: models.ServerRules) -> JSONObject:
    """The result of a tool; one without content is legal, and one that is missing counts as an error.

    Words replace what the server does not take of it: the model asked for it, and can look for another way.
    """
    said = (one if isinstance(one, Text) or takes(one, rules) else one.in_words for one in result.content)
    content = input_blocks(said, rules)
    block: JSONObject = {"type": "tool_result", "tool_use_id": result.call_id}
    if content:
        block["content"] = content[0]["text"] if len(content) == 1 and content[0]["type"] == "text" else content
    if result.is_error or result.content == (Text(MISSING_RESULT),):
        block["is_error"] = True
    return block


def _not_taken(piece: Attachment, rules: models.ServerRules) -> RequestNotExpressibleError:
    got = f"the address of {piece.media_type}" if piece.url else f"{len(piece.data):,} bytes of {piece.media_type}"
    if piece.url and not rules.fetches:
        expected = "the file itself: this server fetches none"
    else:
        images = ", ".join(sorted(one.removeprefix("image/") for one in _IMAGES))
        taken = ["text", *([f"images ({images})"] if rules.takes_images else [])]
        expected = " or ".join([*taken, *(["PDF files"] if rules.takes_documents else [])])
    return RequestNotExpressibleError(got, piece.where, expected)


# ---- Blocks that go back ----

_SERVER_CALLS: Final = frozenset({"server_tool_use", "mcp_tool_use"})


def is_thinking(block: Mapping[str, Any]) -> bool:
    """Whether a block is thinking, shown or redacted."""
    return block.get("type") in {"thinking", "redacted_thinking"}


def may_end(item: Mapping[str, Any]) -> bool:
    """Whether an item of an answer may be its last: thinking may not, and nothing that belongs to a call."""
    if container_of(item) is not None:  # known at the end of an answer, often after its last call
        return True
    block = block_of(item)
    return block is not None and not is_thinking(block)


def answer_blocks(pieces: Sequence[Piece]) -> list[JSONObject]:
    """What the assistant said in one message, as blocks; empty for an answer that was thinking alone.

    White space at the end of the last text is left out: servers refuse it in the last message.

    Raises:
        RequestNotExpressibleError: A call holds what JSON has no form for.
    """
    extras = states_of_calls(pieces, fields_of_call)
    blocks: list[JSONObject] = []
    for is_text, run in groupby(pieces, lambda piece: isinstance(piece, Text)):
        if is_text:
            blocks += text_blocks("".join(piece.value for piece in run if isinstance(piece, Text)))
            continue
        for piece in run:
            if isinstance(piece, Call):
                call_arguments(piece)  # raises for what JSON has no form for
                call = {"type": "tool_use", "id": piece.call_id, "name": piece.name, "input": dict(piece.input)}
                blocks.append({**call, **extras.get(piece.call_id, {})})
            elif isinstance(piece, Reasoning) and (block := block_of(piece.item)) is not None:
                blocks.append(block)
    # Without thinking before the last change of the model (docs/wires/anthropic-messages.md#fallback-models).
    last = max((place for place, block in enumerate(blocks) if block["type"] == FALLBACK), default=0)
    return _ended([block for place, block in enumerate(blocks) if place >= last or not is_thinking(block)])


def _ended(blocks: Sequence[JSONObject]) -> list[JSONObject]:
    """The blocks without thinking after all others, and without white space at the end."""
    ended = list(blocks)
    while ended and is_thinking(ended[-1]):
        ended.pop()
    if ended and ended[-1]["type"] == "text":
        ended[-1] = {**ended[-1], "text": ended[-1]["text"].rstrip()}
    return ended


def paired(messages: Sequence[JSONObject]) -> list[JSONObject]:
    """The messages without blocks of server tools whose other half is not there; messages that are left empty go too.

    A call of the last answer may lack its result where results of the client's tools follow it: the server runs it when
    they have come, and its result begins the next answer (docs/wires/anthropic-messages.md#mixed-turns).
    """
    answers = [message["content"] for message in messages if message["role"] == "assistant"]
    gives_results = any(block["type"] == "tool_result" for message in messages[-1:] for block in message["content"])
    waiting = {id(block) for block in answers[-1]} if answers and gives_results else set()
    results = {block.get("tool_use_id") for blocks in answers for block in blocks if _is_result(block)}
    calls = {block.get("id") for blocks in answers for block in blocks if block["type"] in _SERVER_CALLS}

    def is_whole(block: JSONObject) -> bool:
        if _is_result(block):
            return block.get("tool_use_id") in calls
        return block["type"] not in _SERVER_CALLS or block.get("id") in results or id(block) in waiting

    kept = [
        {**message, "content": _ended(list(filter(is_whole, message["content"])))}
        if message["role"] == "assistant"
        else message
        for message in messages
    ]
    return [message for message in kept if message["content"]]


def waits_for_server(blocks: Sequence[JSONObject]) -> bool:
    """Whether an answer calls a tool of the server that has not run."""
    done = {block.get("tool_use_id") for block in blocks if _is_result(block)}
    return any(block.get("id") not in done for block in blocks if block["type"] in _SERVER_CALLS)


def _is_result(block: JSONObject) -> bool:
    """Whether a block holds what a tool of the server gave."""
    return str(block["type"]).endswith("_tool_result")


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
        self._messages: list[JSONObject] = []
        self._late: list[str] = []

    def write(self, turn: MergedTurn) -> None:
        if turn.role is TurnRole.SYSTEM:
            self._system("".join(piece.value for piece in turn.content if isinstance(piece, Text)))
        elif turn.role is TurnRole.USER:
            said = [piece for piece in turn.content if isinstance(piece, Text | Attachment)]
            self._add("user", input_blocks(said, self._rules))
        elif turn.role is TurnRole.ASSISTANT:
            self._assistant(turn)
        self._add("user", [result_block(result, self._rules) for result in turn.ordered_results])

    def end(self) -> list[JSONObject]:
        """The messages, of which the last is the user's, or a system message after it."""
        if not self._messages or self._messages[-1]["role"] == "assistant":
            self._add("user", text_blocks(CONTINUE))
        self._say_late()
        merged: list[JSONObject] = []
        for message in paired(self._messages):
            if merged and merged[-1]["role"] == message["role"]:
                merged[-1] = {**merged[-1], "content": [*merged[-1]["content"], *message["content"]]}
            else:
                merged.append(message)
        # After a waiting tool of the server, other content than results ends the turn, and the waiting call is refused
        # (docs/wires/anthropic-messages.md#mixed-turns). So it goes into the last result, where the model reads it too.
        return [
            _with_results_alone(message)
            if message["role"] == "user" and place and waits_for_server(merged[place - 1]["content"])
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
            self._messages.append({"role": "system", "content": text_blocks("\n\n".join(self._late))})
            self._late = []

    def _add(self, role: str, blocks: list[JSONObject]) -> None:
        if blocks and self._messages and self._messages[-1]["role"] == role:
            self._messages[-1]["content"] += blocks
        elif blocks:
            self._messages.append({"role": role, "content": blocks})

    def _assistant(self, turn: MergedTurn) -> None:
        blocks = [
            block
            for one in turn.turns
            for block in answer_blocks(one.content)
            if block["type"] not in self._forbidden.answer_blocks
        ]
        if not blocks:
            return
        if not self._messages:
            self._add("user", text_blocks(NO_BEGINNING))
        self._say_late()
        self._add("assistant", blocks)


def _with_results_alone(message: JSONObject) -> JSONObject:
    results = [block for block in message["content"] if block["type"] == "tool_result"]
    others = [block for block in message["content"] if block["type"] != "tool_result"]
    if not results or not others:
        return message
    given = results[-1].get("content", [])
    content = text_blocks(given) if isinstance(given, str) else list(given)
    results[-1] = {**results[-1], "content": [*content, *others]}
    return {**message, "content": results}


def _container(turns: Sequence[Turn]) -> str | None:
    """The container of the last answer: one of an earlier answer may be gone."""
    last = next((turn for turn in reversed(turns) if turn.role is TurnRole.ASSISTANT), None)
    for piece in reversed(last.content if last is not None else ()):
        container = container_of(piece.item) if isinstance(piece, Reasoning) else None
        if container is not None and isinstance(container.get("id"), str):
            return str(container["id"])
    return None


# ---- Options ----


def _format_option(asked: AnswerFormat) -> dict[str, Any] | None:
    """Only a schema has a form here (docs/wires/anthropic-messages.md#request-fields)."""
    schema = None if asked.described is None else closed_schema(asked.described)
    return None if schema is None else {"output_config": {"format": {"type": "json_schema", "schema": schema}}}


_SEARCH: Final = {"user_location": "", "allowed_domains": "", "blocked_domains": "", "max_uses": ""}
HOSTED_TOOLS: Final = {
    WEB_SEARCH: HostedForm({"type": "web_search_20250305", "name": "web_search"}, _SEARCH),
    CODE: HostedForm({"type": "code_execution_20250825", "name": "code_execution"}),
    FETCH: HostedForm({"type": "web_fetch_20250910", "name": "web_fetch"}, _SEARCH),
}

OPTIONS: Final = OptionRules(
    "anthropic-messages",
    {
        Option.LIMIT: NO_FIELD,
        Option.EFFORT: NO_FIELD,
        Option.THINKING_TOKENS: NO_FIELD,
        Option.PARALLEL_CALLS: NO_FIELD,
        Option.TEMPERATURE: "temperature",
        Option.TOP_P: "top_p",
        Option.TOP_K: "top_k",
        Option.STOP: "stop_sequences",
        Option.USER: "metadata.user_id",
        Option.SAFETY_IDENTIFIER: "metadata.user_id",
        Option.SERVICE_TIER: "service_tier",
    },
    frozenset(
        {"model", "messages", "system", "stream", "stream_options", "tools", "tool_choice", "store", "n"}
        | {"prompt", "input", "instructions", "previous_response_id"}
    ),
    _format_option,
    formats=frozenset({"output_config", "output_format"}),
    objects=frozenset({"output_config"}),
    tiers=tiers("standard_only"),
)


# ---- Tools ----


def tool_fields(request: preparation.ChatRequest, *, parallel: bool | None) -> JSONObject:
    """The fields of a body that say which tools there are, and whether several may be called at once (None without a
    choice). `strict` is sent only for a client that asks for it: it has limits that the tools of an editor exceed."""
    if idle := [declared(tool, "input_schema") for tool in request.idle_tools]:
        return {"tools": idle, "tool_choice": {"type": "none"}}
    if not request.tools and not request.hosted_tools:
        return {}
    choice: JSONObject = {"type": "any"} if request.tool_mode is ToolMode.REQUIRED else {}
    if request.demanded_tool is not None:
        choice = {"type": "tool", "name": request.demanded_tool["name"]}
    if parallel is not None:
        choice = {"type": "auto", **choice, "disable_parallel_tool_use": not parallel}
    tools = [*(declared(tool, "input_schema") for tool in request.tools), *request.hosted_tools]
    return {"tools": tools, **({"tool_choice": choice} if choice else {})}


# ---- The limit of a response: docs/wires/anthropic-messages.md#output-limit ----

UNKNOWN_MODEL_TOKENS: Final = 4096  # what every model can answer
LEAST_TOKENS: Final = 1024
"""The fewest tokens that are asked for: a prompt that leaves less is for the server to refuse."""
_MOST_ASSUMED: Final = 32_000
_MARGIN: Final = 1.1
"""A prompt is estimated before it is sent, and may have more tokens than that."""


def answer_limit(chosen: int | None, abilities: models.Abilities, input_tokens: int | None, *, reserves: bool) -> int:
    """The most tokens of a response. A server that `reserves` wants prompt and answer to fit into the window together,
    or cuts what does not."""
    window = abilities.window  # of a model without a known limit, a quarter of it
    assumed = UNKNOWN_MODEL_TOKENS if window is None else max(UNKNOWN_MODEL_TOKENS, min(window // 4, _MOST_ASSUMED))
    limit = chosen or abilities.max_tokens or assumed
    if window is None or input_tokens is None or not (reserves or abilities.reserves):
        return limit
    return max(min(limit, LEAST_TOKENS), min(limit, window - int(input_tokens * _MARGIN)))


# ---- Thinking ----

_LADDER: Final = (NO_EFFORT, "minimal", "low", "medium", "high", "xhigh", "max")
_USUAL_BUDGET: Final = BUDGETS["high"]
"""The tokens of thinking for models without an effort, where none is chosen."""
_LEAST_TOP_P: Final = 0.95
"""The least `top_p` beside thinking (docs/wires/anthropic-messages.md#thinking-by-model)."""


class ThinkingChoice(NamedTuple):
    """What decides how a model is asked to think; `max_tokens` limits the response with its thinking, `budget` is the
    caller's number of tokens for it, and `asks` is :attr:`ChatRequest.asks_to_think`."""

    own: models.AnthropicMessagesSettings
    effort: str | None
    abilities: models.Abilities
    rules: models.ServerRules
    max_tokens: int
    must_call: bool
    messages: Sequence[JSONObject]
    may_think: bool = True
    budget: int | None = None
    asks: bool | None = None

    @property
    def tokens(self) -> int | None:
        """The chosen number of tokens for the budget: that of the caller, else that of a person."""
        return self.own.thinking_tokens if self.budget is None else self.budget


def thinking_fields(choice: ThinkingChoice) -> JSONObject:
    """The fields `thinking` and `output_config` of a body; without a field, the server decides."""
    form = _form(choice)
    fields: JSONObject = {}
    if form is models.ThinkingAs.DISABLED:
        fields["thinking"] = {"type": "disabled"}  # `display` beside it is refused
    elif form is not None:
        budget = {"budget_tokens": budget_of(choice)} if form is models.ThinkingAs.ENABLED else {}
        fields["thinking"] = {"type": form.value, **budget, "display": choice.own.thinking_display.value}
    effort = _effort(choice, form)
    return fields if effort is None else {**fields, "output_config": {"effort": effort}}


_AS: Final = {
    preparation.ThinkingForm.ADAPTIVE: models.ThinkingAs.ADAPTIVE,
    preparation.ThinkingForm.BUDGET: models.ThinkingAs.ENABLED,
}


def _form(choice: ThinkingChoice) -> models.ThinkingAs | None:
    """The form of the field `thinking`; None for no field."""
    set_form = choice.own.thinking_as
    if set_form is models.ThinkingAs.OFF:
        return None
    if set_form is models.ThinkingAs.DISABLED or choice.effort == NO_EFFORT or not _may_think(choice):
        thinks = choice.abilities.thinking != ()
        return models.ThinkingAs.DISABLED if choice.abilities.takes_disabled and thinks else None
    form = _chosen_form(choice) if set_form is models.ThinkingAs.AUTO else set_form
    return None if form is models.ThinkingAs.ENABLED and not _fits_budget(choice) else form


def _may_think(choice: ThinkingChoice) -> bool:
    """Whether earlier answers allow thinking (docs/wires/anthropic-messages.md#thinking-that-goes-back)."""
    answers = [message["content"] for message in choice.messages if message["role"] == "assistant"]
    lacks = any(
        any(block["type"] == "tool_use" for block in content) and not any(map(is_thinking, content))
        for content in answers
    )
    return choice.may_think and not (choice.rules.demands_thinking and lacks)


def _chosen_form(choice: ThinkingChoice) -> models.ThinkingAs | None:
    forms = choice.abilities.thinking
    if choice.asks is False and choice.own.thinking_tokens is None:
        return None
    is_wished = choice.asks or choice.effort is not None or choice.tokens is not None
    if forms is None:  # not known whether it thinks: it is asked to only on demand
        return _AS[choice.rules.thinking] if is_wished else None
    if preparation.ThinkingForm.ADAPTIVE in forms and not (choice.tokens and preparation.ThinkingForm.BUDGET in forms):
        return models.ThinkingAs.ADAPTIVE
    return models.ThinkingAs.ENABLED if preparation.ThinkingForm.BUDGET in forms and is_wished else None


def _fits_budget(choice: ThinkingChoice) -> bool:
    """Whether a budget fits: not beside a forced call (docs/wires/anthropic-messages.md#tools-and-tool-choice), not
    after a response that began without thinking, and not in a response too short for it."""
    if choice.must_call or budget_of(choice) < models.LEAST_BUDGET:
        return False
    if not choice.abilities.is_claude:
        return True
    start = 0  # of the current turn: a user's message with results begins none
    for index, message in enumerate(choice.messages):
        if message["role"] == "user" and not any(block["type"] == "tool_result" for block in message["content"]):
            start = index
    first = next((message for message in choice.messages[start:] if message["role"] == "assistant"), None)
    return first is None or is_thinking(first["content"][0])


def budget_of(choice: ThinkingChoice) -> int:
    """The budget in tokens; at most half of the response by default, and always less than the response."""
    if choice.tokens is not None:
        return min(choice.tokens, choice.max_tokens - 1)
    return min(BUDGETS.get(choice.effort or "", _USUAL_BUDGET), choice.max_tokens // 2)


def _effort(choice: ThinkingChoice, form: models.ThinkingAs | None) -> str | None:
    """The level of effort in the server's words: the highest that the model takes up to the chosen one, else its
    lowest; None for no field."""
    word, known = choice.effort, choice.abilities.efforts
    if word is None or form is models.ThinkingAs.DISABLED or choice.own.thinking_as is models.ThinkingAs.OFF:
        return None  # Opus 5 refuses high levels beside `disabled` (docs/wires/anthropic-messages.md#thinking-by-model)
    if known is None:
        return choice.rules.efforts.get(word, word) if word != NO_EFFORT else None
    if word in known or not known:
        return word if known else None
    if word not in _LADDER:
        return word
    below = [level for level in known if level in _LADDER and _LADDER.index(level) <= _LADDER.index(word)]
    return below[-1] if below else known[0]


def without_refused_sampling(
    body: Mapping[str, Any], abilities: models.Abilities, forbidden: frozenset[str]
) -> dict[str, Any]:
    """The body without the sampling parameters that the model refuses, and without the fields that the version does."""
    body = {name: value for name, value in body.items() if name not in forbidden}
    is_sometimes_taken = abilities.sampling is models.Sampling.NOT_WHILE_THINKING
    if abilities.sampling is models.Sampling.TAKEN or (is_sometimes_taken and not models.asks_to_think(body)):
        return body
    top_p = body.get("top_p")
    is_high = isinstance(top_p, int | float) and _LEAST_TOP_P <= top_p <= 1
    kept = {"top_p"} if is_sometimes_taken and is_high else set()
    return {name: value for name, value in body.items() if name not in models.SAMPLING or name in kept}


# ---- Context edits ----
# A window below a million tokens fills within one long turn of an agent, and old results of tools are most of it.

_CLEAR_AT: Final = 0.6
"""The part of the window from which on results are taken out: early enough that one more step fits."""
_CLEAR_AT_LEAST: Final = 0.1
"""The part of the window that has to become free: each time, the prompt cache after it is written anew."""
_USUAL_CLEAR_AT: Final = 100_000
"""Where the window is not known: the server's own number."""
_KEPT_RESULTS: Final = 3
_KEPT_THINKING: Final = 1
"""Turns whose thinking stays; models with a small window keep no more by themselves, but for Opus 4.5."""
_EDITS: Final = frozenset(preparation.ContextEdit)


def context_management(
    own: models.AnthropicMessagesSettings, abilities: models.Abilities, body: Mapping[str, Any]
) -> JSONObject:
    """The field `context_management` of a body, which says whether the model thinks; empty for leaving the conversation
    as it is."""
    may = _EDITS if abilities.edits is None else abilities.edits
    clears = own.context_editing is models.ContextEditing.ON
    if own.context_editing is models.ContextEditing.AUTO:
        is_small = abilities.window is not None and abilities.window < models.MILLION
        clears = is_small and preparation.ContextEdit.CLEAR_TOOL_RESULTS in (abilities.edits or ())
    edits: list[JSONObject] = []
    if clears and preparation.ContextEdit.CLEAR_THINKING in may and models.asks_to_think(body):  # has to be the first
        edits.append({"type": models.CLEAR_THINKING, "keep": {"type": "thinking_turns", "value": _KEPT_THINKING}})
    if clears and preparation.ContextEdit.CLEAR_TOOL_RESULTS in may and body.get("tools"):
        at = own.clear_results_at or (int(abilities.window * _CLEAR_AT) if abilities.window else _USUAL_CLEAR_AT)
        edit = {
            "type": models.CLEAR_TOOL_USES,
            "trigger": _tokens(at),
            "keep": {"type": "tool_uses", "value": _KEPT_RESULTS},
        }
        edits.append({**edit, "clear_at_least": _tokens(int(at * _CLEAR_AT_LEAST / _CLEAR_AT))})
    if own.summarize_at is not None and preparation.ContextEdit.SUMMARIZE in may:
        edits.append({"type": models.COMPACT, "trigger": _tokens(own.summarize_at)})
    return {"context_management": {"edits": edits}} if edits else {}


def _tokens(number: int) -> JSONObject:
    return {"type": "input_tokens", "value": number}


# ---- Marks of the prompt cache ----

MARK: Final = "cache_control"
"""The field of a mark. At the top of a body, it is the server's own mark after the last block."""


def mark_for_cache(body: Mapping[str, Any], lifetime: str | None, *, keeps_thinking: bool = True) -> dict[str, Any]:
    """The body with its marks; without a lifetime, such as `1h`, they hold for the server's five minutes."""
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


def _is_markable(block: JSONObject) -> bool:
    return not is_thinking(block) and (block.get("type") != "text" or bool(str(block.get("text", "")).strip()))


def _last(items: Sequence[JSONObject], fits: Any) -> int | None:
    return next((index for index in range(len(items) - 1, -1, -1) if fits(items[index])), None)


def _with_mark(items: Sequence[JSONObject], index: int | None, mark: JSONObject) -> list[JSONObject]:
    if index is None:
        return list(items)
    return [*items[:index], {**items[index], **mark}, *items[index + 1 :]]


# ---- The body ----


def build_request(request: preparation.ChatRequest) -> dict[str, Any]:
    """The JSON body that asks for the answer as a stream, for Anthropic's own API.

    Raises:
        RequestNotExpressibleError: The server does not take a file, or something holds what JSON has no form for.
    """
    settings = request.settings
    own = settings.own_settings(models.AnthropicMessagesSettings)
    rules = models.rules_of(own.messages_server, request.model_id)
    abilities = models.abilities_of(request.model_id, settings.capabilities)
    options = OPTIONS.of(request)
    forbidden = models.FORBIDDEN.get(_version(request, own), models.Forbidden())
    asked = options.elsewhere.get(Option.LIMIT)
    limit = asked if type(asked) is int and asked > 0 else None
    keeps_places = settings.system_as is not preparation.SystemAs.INSTRUCTIONS
    conversation = _Writer(rules, forbidden, request.instructions, keeps_places=keeps_places)
    deferred = settings.tool_images is preparation.ToolImages.USER_MESSAGE
    for turn in merged_turns(shown_by_user(request.turns, of_results=deferred, of_assistant=True)):
        conversation.write(turn)
    messages, container = conversation.end(), _container(request.turns)
    body: dict[str, Any] = {
        "model": request.model_id,
        "max_tokens": answer_limit(
            settings.max_output_tokens if limit is None else limit,
            abilities,
            request.input_tokens,
            reserves=rules.reserves,
        ),
        "stream": True,
        **({"system": conversation.system} if conversation.system.strip() else {}),
        "messages": messages,
        **tool_fields(request, parallel=options.elsewhere.get(Option.PARALLEL_CALLS)),
        **({} if container is None else {"container": container}),
    }
    body |= thinking_fields(
        ThinkingChoice(
            own,
            options.effort or request.reasoning_effort,
            abilities,
            rules,
            body["max_tokens"],
            body.get("tool_choice", {}).get("type") in {"any", "tool"},
            body["messages"],
            may_think=not request.reasoning_is_refused,
            budget=options.elsewhere.get(Option.THINKING_TOKENS),
            asks=request.asks_to_think,
        )
    )
    body |= context_management(own, abilities, body)
    output = options.fields.get("output_config")  # of the caller: what it holds is added to ours
    joined_output = {"output_config": {**body.get("output_config", {}), **output}} if isinstance(output, dict) else {}
    body = without_refused_sampling({**body, **options.fields, **joined_output}, abilities, forbidden.fields)
    body = with_extra_fields(body, settings.extra_body)
    is_marked = own.prompt_cache is not models.PromptCache.OFF
    if not (rules.caches_marks if own.prompt_cache is models.PromptCache.AUTO else is_marked):
        return body
    forgets = models.asks_to_think(body) and not abilities.keeps_thinking
    return mark_for_cache(body, _LIFETIMES.get(own.prompt_cache), keeps_thinking=not forgets)


_LIFETIMES: Final = {models.PromptCache.ONE_HOUR: "1h"}


def _version(request: preparation.ChatRequest, own: models.AnthropicMessagesSettings) -> str:
    """The version of the API, which decides what the body may hold; a header that a person sets wins over the row."""
    said = (value for name, value in request.settings.extra_headers.items() if name.lower() == models.VERSION)
    return next(said, models.rules_of(own.messages_server, request.model_id).version)


# ---- Platforms ----

PATH: Final = "/messages"
_IN_BODY: Final = "anthropic_version"


def on_platform(request: WireRequest, platform: models.Platform) -> WireRequest:
    """A request to Anthropic's own API as a platform takes it."""
    if platform is models.Platform.ANTHROPIC:
        return request
    model = request.body["model"]
    body = {name: value for name, value in request.body.items() if name != "model"}
    if platform is models.Platform.VERTEX:  # below `.../publishers/anthropic/models`
        path = f"/{quote(model, safe='@')}:streamRawPredict"
        return replace(request, path=path, body={_IN_BODY: "vertex-2023-10-16", **body})
    # Bedrock's InvokeModel: its stream has a framing of its own, so the response is asked for as a whole.
    body.pop("stream", None)
    if betas := models.named(request.headers.get(models.BETA_HEADER, "")):
        body = {"anthropic_beta": betas, **body}
    return replace(
        request,
        path=f"/model/{quote(model, safe='')}/invoke",
        body={_IN_BODY: "bedrock-2023-05-31", **body},
        headers={name: value for name, value in request.headers.items() if name != models.BETA_HEADER},
    )


# ---- The writer ----

_COUNTED: Final = frozenset(
    {"model", "messages", "system", "tools", "tool_choice", "thinking", "output_config"}
    | {"cache_control", "context_management"}
)
"""The fields that the endpoint for counts takes (docs/wires/anthropic-messages.md#models-and-counting)."""
_FOLDERS: Final = ("/anthropic/v1", "/anthropic")
"""The paths at which servers of another wire speak this one too; their models are listed beside these folders."""


class MessagesRequests(protocol.RequestWriter):
    """Writes requests to servers of Anthropic Messages."""

    path = PATH
    errors = ERRORS
    leave_out = staticmethod(without_refused)
    document_headers: Mapping[str, str] = {models.VERSION: models.OLDER_VERSION}
    pauses = True
    count = protocol.CountEndpoint(protocol.count_of_fields("/messages/count_tokens", _COUNTED))
    empty_request = protocol.NO_FIELDS

    def write(self, request: preparation.ChatRequest) -> WireRequest:
        """Writes a request down, with the version and the betas that it needs."""
        own = request.settings.own_settings(models.AnthropicMessagesSettings)
        body = build_request(request)
        betas = models.joined([*models.betas_of(body), *own.betas])
        headers = {models.VERSION: _version(request, own), **({models.BETA_HEADER: betas} if betas else {})}
        return on_platform(WireRequest(PATH, body, headers), own.platform)

    def notes(self, request: preparation.ChatRequest) -> tuple[Note, ...]:
        """Notes on the options that have no place on this wire, and on those that the version of the API forbids."""
        options = OPTIONS.of(request)
        own = request.settings.own_settings(models.AnthropicMessagesSettings)
        version = _version(request, own)
        forbidden = models.FORBIDDEN.get(version, models.Forbidden()).fields
        lost = {f"version {version} of the API": sorted(forbidden & options.fields.keys())}
        if (sampling := options.fields.keys() & set(models.SAMPLING) - forbidden) and (
            models.abilities_of(request.model_id, request.settings.capabilities).sampling is not models.Sampling.TAKEN
        ):
            lost["the model"] = sorted(sampling - build_request(request).keys())
        said = (
            (f"options that {who} does not take: {', '.join(names)}", names) for who, names in lost.items() if names
        )
        rules = models.rules_of(own.messages_server, request.model_id)
        notes = OPTIONS.notes(request, options, lambda one: takes(one, rules))
        return (*notes, *(Note(one, "modelOptions", tuple(names)) for one, names in said))

    def conversation_rules(self, settings: preparation.RequestSettings, model_id: str) -> preparation.ConversationRules:
        """The ids, names and schemas that the server of a model takes, and which blocks may end an answer."""
        server = settings.own_settings(models.AnthropicMessagesSettings).messages_server
        rules = models.rules_of(server, model_id)
        abilities = models.abilities_of(model_id, settings.capabilities)
        return preparation.ConversationRules(
            rules.call_ids,
            may_end=may_end,
            tool_schema=replace(rules.schemas, flattens=True, names=True).of,
            takes_strict="claude" in model_id,
            hosted_tools=HOSTED_TOOLS,
            file_words=dict.fromkeys((*FILE_NAMES, "context", "citations"), "file"),
            fits_answer=abilities.window is not None and (rules.reserves or abilities.reserves),
        )

    def complete_settings(
        self,
        settings: preparation.RequestSettings,
        _base_url: str,
        model: LanguageModelChatInformation,
        server: KnownServer | None,
    ) -> preparation.RequestSettings:
        """The settings with the name of the known server, where they name none, and with the place of late system
        messages that the model takes."""
        own = settings.own_settings(models.AnthropicMessagesSettings)
        if own.messages_server is None and server is not None:
            own = replace(own, messages_server=server.name)
        if own.late_system is models.LateSystem.AUTO:
            is_chosen = settings.system_as is not preparation.SystemAs.INSTRUCTIONS
            takes = is_chosen or models.abilities_of(model.id, settings.capabilities).takes_system_turns
            own = replace(own, late_system=models.LateSystem.IN_PLACE if takes else models.LateSystem.JOIN)
        system_as = (
            preparation.SystemAs.SYSTEM
            if own.late_system is models.LateSystem.IN_PLACE
            else preparation.SystemAs.INSTRUCTIONS
        )
        return replace(settings, own=own, system_as=system_as)

    def authorize(self, key: str, kind: protocol.KeyKind) -> Mapping[str, str]:
        """The header for an unknown server: a token of an identity provider is always a bearer token. Anthropic refuses
        two headers together (docs/wires/anthropic-messages.md#endpoints-and-headers)."""
        return protocol.bearer(key, kind) if kind is protocol.KeyKind.OIDC else {"x-api-key": key}

    def authorizer(self, settings: preparation.RequestSettings, server: KnownServer | None) -> protocol.Authorizer:
        """The function that makes the header, as a person set it and as the server takes it."""
        own = settings.own_settings(models.AnthropicMessagesSettings)
        if own.key_header is not models.KeyHeader.AUTO:
            return protocol.bearer if own.key_header is models.KeyHeader.BEARER else protocol.key_in_header("x-api-key")
        name = own.messages_server or (None if server is None else server.name)
        wants_bearer = own.platform is not models.Platform.ANTHROPIC or models.rules_of(name, "").wants_bearer
        return protocol.bearer if wants_bearer else self.authorize

    def find_model_lists(self, base_path: str) -> tuple[str, tuple[str, ...]]:
        """The path above the list of models, and the paths of further lists."""
        path = base_path.rstrip("/")
        folder = next((folder for folder in _FOLDERS if path.endswith(folder)), None)
        if folder is None:
            return path, ()
        root = path.removesuffix(folder)
        return path, (f"{root}/v1/models", f"{root}/models")

    def resume(self, request: WireRequest, paused: Mapping[str, Any]) -> WireRequest:
        """The same request with the response so far after its messages, as it came, and no word of the user's."""
        body = dict(request.body)
        body["messages"] = [*body.get("messages", ()), {"role": "assistant", "content": list(paused["content"])}]
        container = identifier(mapping(paused, "container"), "id")
        if container is not None:
            asked = body.get("container")
            body["container"] = {**asked, "id": container} if isinstance(asked, Mapping) else container
        return replace(request, body=body)


WRITE_REQUEST: Final = MessagesRequests()
