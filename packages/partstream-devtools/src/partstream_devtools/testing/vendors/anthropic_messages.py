"""Anthropic's servers: what they refuse in their own words, which signatures they want back, and their prompt cache.

A request passes the checks in the order of :meth:`_Anthropic.checks`: headers and fields, thinking, tools, messages,
the pairs of calls and results, marks for the cache, edits of the conversation. The sentence of a check is that of the
real server, with its typing errors, because clients match these sentences. What depends on a model is refused
by the row of its line (:mod:`partstream.protocols.anthropic_messages.models`); a model that is not among them takes
everything that any of them takes.

Signatures: in the turn that is under way every thinking block comes back as it was and at its place; a foreign
signature is refused at any place (docs/wires/anthropic-messages.md#thinking-that-goes-back).

The cache: the order is tools, system, messages. A beginning is written at a mark alone, and found at most 20 blocks
before one. Changed tools make the server forget everything; another choice of tools, another kind of thinking, or
images that come or go, only the messages (docs/wires/anthropic-messages.md#prompt-cache).

Source: docs/wires/anthropic-messages.md, and the issues that it cites.
"""

from __future__ import annotations
import re
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files
from itertools import groupby, takewhile
from typing import Any, Final, NamedTuple

from partstream.codec.checks import replace
from partstream.codec.json_codec import loads
from partstream.conversation.preparation import ThinkingForm
from partstream.conversation.provider_state import open_state
from partstream.protocols.anthropic_messages import models
from partstream.protocols.failures import RefusedRequestError
from partstream.protocols.serve import WireRequest
from partstream_devtools.testing.vendors import vendor

_THINKING: Final = frozenset({"thinking", "redacted_thinking"})
"""The types of blocks of thinking: they end no message, and take no mark."""
_MARK: Final = "cache_control"


_REFUSALS: Final[Mapping[str, str]] = loads((files(__package__) / "anthropic_refusals.json").read_bytes())
"""The longer sentences of the server, with its typing errors and with names in braces."""


def _sentence(name: str, /, **names: Any) -> str:
    """A sentence of the file."""
    return _REFUSALS[name].format(**names)


class _Anthropic(vendor.Vendor):
    def checks(self, request: WireRequest) -> vendor.Checks:
        headers, body = request.headers, request.body
        betas = [name.strip() for name in headers.get("anthropic-beta", "").split(",") if name.strip()]
        yield from _check_headers(headers, betas)
        forbidden = models.FORBIDDEN.get(headers[models.VERSION], models.Forbidden())
        yield from _check_fields(body, betas, forbidden.fields)
        yield from _check_thinking(body)
        yield from _check_tools(body)
        yield from _check_messages(body)
        # What the version of the API takes out of messages: docs/wires/anthropic-messages.md#versions.
        for place, message in enumerate(body["messages"]):
            for number, block in enumerate(_blocks_of(message) if message["role"] == "assistant" else ()):
                where = f"messages.{place}.content.{number}"
                yield block["type"] in forbidden.answer_blocks, f"{where}: Input tag '{block['type']}' found"
        yield from _check_results(body["messages"])
        yield from _check_marks(body)
        yield from _check_edits(body)

    def signed_state(self, request: WireRequest) -> Iterator[vendor.SignedState | vendor.CallWithThinking]:
        messages = request.body["messages"]
        for place, message in enumerate(messages):
            for number, block in enumerate(_blocks_of(message)):
                if _is_signed(block):
                    where = f"messages.{place}.content.{number}"
                    refusal = RefusedRequestError(f"{where}: Invalid `signature` in `thinking` block")
                    # The text beside a signature of hidden thinking is empty, and proves nothing.
                    yield vendor.SignedState(block["signature"], block.get("thinking") or None, refusal)
        if (request.body.get("thinking") or {}).get("type") in _THINKS:
            for place, message in _answers_in_turn(messages):
                yield from _calls_with_thinking(place, message)

    def cached_prompt(self, request: WireRequest) -> vendor.CachedPrompt:
        body = request.body
        model = str(body.get("model") or "")
        tools = (tool for tool in vendor.objects_in(body.get("tools")) if tool.get("defer_loading") is not True)
        blocks = [
            *(_cached_block(tool, "tools") for tool in tools),
            *(_cached_block(block, "system") for block in _content_blocks(body.get("system"))),
            *_cached_messages(body, model),
        ]
        if isinstance(body.get(_MARK), Mapping) and blocks:  # the automatic mark, on the last block that can have one
            blocks[-1] = replace(blocks[-1], is_marked=True)
        row = models.by_line(model)
        least = _LEAST_OF_OTHERS if row is None else row.min_cached_tokens
        rule = vendor.CacheRule(least, look_back=20, most_marks=4, write_price=1.25, read_price=0.1)
        return vendor.CachedPrompt(tuple(blocks), rule, model)


# ---- headers and fields ----

_FILE: Final[Mapping[str, Any]] = loads((files(__package__) / "anthropic_fields.json").read_bytes())
_FIELDS: Final = frozenset(_FILE["always"])
_OF_BETAS: Final[Mapping[str, tuple[str, ...]]] = {name: tuple(betas) for name, betas in _FILE["of_betas"].items()}
"""Fields that a beta adds, with the beginnings of the betas that add them."""

_BETA: Final = re.compile(r"[a-z0-9-]+-\d{4}-?\d{2}-?\d{2}")
"""The form of all names of betas: a feature and a date."""


def _check_headers(headers: Mapping[str, str], betas: Sequence[str]) -> vendor.Checks:
    version = headers.get(models.VERSION)
    yield version is None, f"{models.VERSION}: header is required"
    is_known = version == models.OLDER_VERSION or version in models.FORBIDDEN
    yield not is_known, f'{models.VERSION}: "{version}" is not a valid version'
    has_two_keys = "x-api-key" in headers and "authorization" in headers
    yield has_two_keys, RefusedRequestError("invalid x-api-key", status=401)
    unknown = [f"`{name}`" for name in betas if not _BETA.fullmatch(name)]
    yield unknown, _sentence("unknown beta", named=", ".join(unknown))


_EXTRA: Final = "Extra inputs are not permitted"


def _check_fields(body: Mapping[str, Any], betas: Sequence[str], forbidden: frozenset[str]) -> vendor.Checks:
    for name in ("model", "max_tokens"):
        yield body.get(name) is None, f"{name}: Field required"
    for name in body:
        added = any(beta.startswith(_OF_BETAS.get(name, ())) for beta in betas)
        yield name in forbidden or (name not in _FIELDS and not added), f"{name}: {_EXTRA}"
    limit, least = body["max_tokens"], 1 if body.get("stream") else 0
    yield type(limit) is not int, "max_tokens: Input should be a valid integer"
    yield limit < least, f"max_tokens: Input should be greater than or equal to {least}"


# ---- thinking, effort and sampling: docs/wires/anthropic-messages.md#thinking-by-model ----

_LEAST_BUDGET: Final = 1024
_LEVELS: Final = ("low", "medium", "high", "xhigh", "max")
_FORMS: Final = {"adaptive": ThinkingForm.ADAPTIVE, "enabled": ThinkingForm.BUDGET, "disabled": None}
_EXCLUDED: Final = {"adaptive": ("budget_tokens",), "enabled": (), "disabled": ("budget_tokens", "display")}


def _check_thinking(body: Mapping[str, Any]) -> vendor.Checks:
    row = models.by_line(str(body["model"]))
    thinking: Mapping[str, Any] = body.get("thinking") or {}
    effort, kind = (body.get("output_config") or {}).get("effort"), thinking.get("type")
    if effort is not None:
        yield effort not in _LEVELS, f"output_config.effort: Input should be one of {', '.join(map(repr, _LEVELS))}"
        efforts = _LEVELS if row is None or row.efforts is None else sorted(row.efforts)
        yield not efforts, "This model does not support the effort parameter."
        supported = f"Supported levels: {', '.join(efforts)}."
        yield effort not in efforts, f"This model does not support effort level '{effort}'. {supported}"
    if kind is not None:
        yield kind not in _FORMS, "thinking: Input should be a valid `adaptive`, `enabled` or `disabled`"
        if row is not None and _FORMS[kind] not in (row.thinking or ()):
            yield kind == "adaptive", "adaptive thinking is not supported on this model"
            yield kind == "enabled", _sentence("no budget")
            beside = f" with effort '{effort}'" if row.takes_disabled else ""
            is_taken = bool(row.takes_disabled) and (effort is None or effort in row.takes_disabled)
            yield not is_taken, _sentence("no switch", beside=beside)
        for name in _EXCLUDED[kind]:
            yield name in thinking, f"thinking.{kind}.{name}: {_EXTRA}"
    if kind == "enabled":
        budget: Any = thinking.get("budget_tokens")
        yield type(budget) is not int, "thinking.enabled.budget_tokens: Field required"
        yield budget < _LEAST_BUDGET, _sentence("low budget", least_budget=_LEAST_BUDGET)
        yield budget >= body["max_tokens"], "`max_tokens` must be greater than `thinking.budget_tokens`."
        is_forced = (body.get("tool_choice") or {}).get("type") in {"any", "tool"}
        yield is_forced, "Thinking may not be enabled when tool_choice forces tool use."
    yield from _check_sampling(body, row, thinks=kind in _THINKS)


_LEAST_TOP_P: Final = 0.95


def _check_sampling(body: Mapping[str, Any], row: models.Abilities | None, *, thinks: bool) -> vendor.Checks:
    for name in models.SAMPLING:
        yield not isinstance(body.get(name), int | float | None), f"{name}: Input should be a valid number"
    temperature, top_p, top_k = (body.get(name) for name in models.SAMPLING)
    yield not 0 <= (temperature or 0) <= 1, "temperature: range: 0..1"
    chosen = {"temperature": temperature not in {None, 1}, "top_p": top_p not in {None, 1}, "top_k": top_k is not None}
    is_refused = row is not None and row.sampling is models.Sampling.REFUSED
    for name, is_chosen in chosen.items():
        yield is_refused and is_chosen, f"`{name}` is deprecated for this model."
    if thinks:
        mode = "when thinking is enabled or in adaptive mode."
        yield chosen["temperature"], f"`temperature` may only be set to 1 {mode}"
        yield chosen["top_k"], f"`top_k` must be unset {mode}"
        yield top_p is not None and top_p < _LEAST_TOP_P, _sentence("low top_p", least_top_p=_LEAST_TOP_P)


# ---- tools: docs/wires/anthropic-messages.md#tools-and-tool-choice ----

_TOOL_NAME: Final = re.compile(r"[a-zA-Z0-9_-]{1,128}")
_ALTERNATIVES: Final = frozenset({"oneOf", "anyOf", "allOf"})


def _check_tools(body: Mapping[str, Any]) -> vendor.Checks:
    tools = body.get("tools") or ()
    names = [str(tool.get("name")) for tool in tools]
    yield len(set(names)) < len(names), "tools: Tool names must be unique."
    is_deferred = tools and all(tool.get("defer_loading") for tool in tools)
    yield is_deferred, "At least one tool must have defer_loading=false."
    for place, tool in enumerate(tools):
        if tool.get("type") in {None, "custom"}:
            where, schema = f"tools.{place}.custom", tool.get("input_schema")
            has_name = _TOOL_NAME.fullmatch(str(tool.get("name")))
            yield not has_name, f"{where}.name: String should match pattern '^{_TOOL_NAME.pattern}$'"
            yield not isinstance(schema, dict), f"{where}.input_schema: Field required"
            yield schema.get("type") is None, f"{where}.input_schema.type: Field required"
            yield schema["type"] != "object", f"{where}.input_schema.type: Input should be 'object'"
            yield not _ALTERNATIVES.isdisjoint(schema), _sentence("alternatives", where=where)
    choice = body.get("tool_choice")
    if choice is not None:
        yield not names, "tool_choice may only be specified while providing tools."
        name = choice.get("name")
        is_lost = choice.get("type") == "tool" and name not in names
        yield is_lost, f"tool_choice: Tool '{name}' not found in provided tools."


# ---- messages: docs/wires/anthropic-messages.md#messages ----

_PICTURES: Final = ("image/jpeg", "image/png", "image/gif", "image/webp")


def _check_messages(body: Mapping[str, Any]) -> vendor.Checks:
    messages: Sequence[Mapping[str, Any]] = body["messages"]
    row = models.by_line(str(body["model"]))
    yield not messages, "messages: at least one message is required"
    yield messages[0]["role"] != "user", 'messages: first message must use the "user" role'
    for block in body["system"] if isinstance(body.get("system"), list) else ():
        yield from _check_text(block, "system")
    for place, message in enumerate(messages):
        if message["role"] == "system":
            yield row is not None and not row.takes_system_turns, _sentence("system role")
            after = messages[place + 1]["role"] if place + 1 < len(messages) else "assistant"
            is_between = messages[place - 1]["role"] == "user" and after == "assistant"
            yield not is_between, _sentence("system place", place=place)
        yield from _check_content(message, place, is_last=place == len(messages) - 1)
    yield from _check_end(messages, row, has_budget=(body.get("thinking") or {}).get("type") == "enabled")


def _check_content(message: Mapping[str, Any], place: int, *, is_last: bool) -> vendor.Checks:
    blocks, is_answer = _blocks_of(message), message["role"] == "assistant"
    yield not blocks and not (is_last and is_answer), _sentence("empty message", place=place)
    for number, block in enumerate(blocks):
        where = f"messages.{place}.content.{number}"
        yield from _check_text(block, "messages")
        if block["type"] == "image":
            source = block["source"]
            is_other = source["type"] == "base64" and source.get("media_type") not in _PICTURES
            expected = ", ".join(map(repr, _PICTURES))
            yield is_other, f"{where}.image.source.base64.media_type: Input should be one of {expected}"
        elif block["type"] == "thinking":
            yield block.get("signature") is None, f"{where}.thinking.signature: Field required"
    ends_thinking = is_answer and blocks and blocks[-1]["type"] in _THINKING
    yield ends_thinking, f"messages.{place}: The final block in an assistant message cannot be `thinking`."


def _check_text(block: Mapping[str, Any], where: str) -> vendor.Checks:
    if block["type"] == "text":
        yield not block["text"], f"{where}: text content blocks must be non-empty"
        yield not block["text"].strip(), f"{where}: text content blocks must contain non-whitespace text"


def _check_end(
    messages: Sequence[Mapping[str, Any]], row: models.Abilities | None, *, has_budget: bool
) -> vendor.Checks:
    """The end: an answer goes on only where the server paused it (docs/wires/anthropic-messages.md#paused-answers).

    With a budget for thinking, the turn that goes on with results of tools has to begin with thinking.
    """
    blocks = _blocks_of(messages[-1])
    is_paused = any(block["type"] == "server_tool_use" for block in blocks)
    if messages[-1]["role"] == "assistant" and not is_paused:
        yield row is None or not row.takes_prefill, _sentence("prefill")
        text = blocks[-1]["text"] if blocks and blocks[-1]["type"] == "text" else ""
        yield text != text.rstrip(), "messages: final assistant content cannot end with trailing whitespace"
    answers = _answers_in_turn(messages)
    if has_budget and answers and _is_results_only(messages[-1]):
        place, answer = answers[0]
        first = _blocks_of(answer)[0]["type"]
        yield first not in _THINKING, _sentence("no thinking first", place=place, first=first)


# ---- calls and results: docs/wires/anthropic-messages.md#tool-results ----

_CALL_ID: Final = re.compile(r"[a-zA-Z0-9_-]+")


class _Block(NamedTuple):
    """A block with its place, such as `messages.2.content.0`."""

    where: str
    fields: Mapping[str, Any]

    @property
    def type(self) -> str:
        return str(self.fields["type"])


class _Said(NamedTuple):
    """What one side says in a row (the server joins its messages), with the number of its last message."""

    place: int
    role: str
    blocks: list[_Block]


def _check_results(messages: Sequence[Mapping[str, Any]]) -> vendor.Checks:
    """Calls without results after them, results without calls before them, and halves of the server's tools."""
    said = list(_joined(messages))
    known: set[str] = set()
    for block in (block for one in said for block in one.blocks if block.type == "tool_use"):
        call_id = block.fields["id"]
        is_id = _CALL_ID.fullmatch(call_id)
        yield not is_id, f"{block.where}.tool_use.id: String should match pattern '^{_CALL_ID.pattern}$'"
        yield call_id in known, "messages: `tool_use` ids must be unique"
        known.add(call_id)
    for before, this in zip([None, *said], said, strict=False):
        if this.role == "user":
            yield from _check_known(_calls_of(before), this)
    for this, after in zip(said, [*said[1:], None], strict=True):
        if this.role == "assistant":
            first = takewhile(lambda block: block.type == "tool_result", after.blocks if after else ())
            answered = {block.fields["tool_use_id"] for block in first}
            missing = [call_id for call_id in _calls_of(this) if call_id not in answered]
            yield missing, _sentence("call without result", place=this.place, missing=", ".join(missing))
    yield from _check_server_tools(said)


def _joined(messages: Sequence[Mapping[str, Any]]) -> Iterator[_Said]:
    spoken = [(place, one) for place, one in enumerate(messages) if one["role"] != "system"]
    for role, run in groupby(spoken, lambda pair: str(pair[1]["role"])):
        listed = list(run)
        blocks = [
            _Block(f"messages.{place}.content.{number}", block)
            for place, one in listed
            for number, block in enumerate(_blocks_of(one))
        ]
        yield _Said(listed[-1][0], role, blocks)


def _calls_of(said: _Said | None) -> list[str]:
    return [block.fields["id"] for block in (said.blocks if said else ()) if block.type == "tool_use"]


def _check_known(calls: Sequence[str], said: _Said) -> vendor.Checks:
    answered: set[str] = set()
    for block in (block for block in said.blocks if block.type == "tool_result"):
        call_id = block.fields["tool_use_id"]
        yield call_id not in calls, _sentence("result without call", where=block.where, call_id=call_id)
        yield call_id in answered, _sentence("second result", where=block.where, call_id=call_id)
        answered.add(call_id)


_SERVER_CALLS: Final = frozenset({"server_tool_use", "mcp_tool_use"})


def _check_server_tools(said: list[_Said]) -> vendor.Checks:
    """The server's own tools: a result may come in the next answer, if the client sends nothing but results before."""
    waiting: dict[str, _Block] = {}
    for one in said:
        if one.role == "user":
            for half in waiting.values() if any(block.type != "tool_result" for block in one.blocks) else ():
                name, call_id = half.fields.get("name"), half.fields.get("id")
                yield True, _sentence("half of a tool", where=half.where, name=name, call_id=call_id)
            continue
        for block in one.blocks:
            call_id = str(block.fields.get("tool_use_id"))
            if block.type in _SERVER_CALLS:
                waiting[str(block.fields.get("id"))] = block
            elif block.type.endswith("_tool_result"):
                known = waiting.pop(call_id, None)
                where, kind = block.where, block.type
                yield known is None, _sentence("result of no tool", where=where, type=kind, call_id=call_id)


# ---- marks for the cache: docs/wires/anthropic-messages.md#prompt-cache ----

_MOST_MARKS: Final = 4


def _check_marks(body: Mapping[str, Any]) -> vendor.Checks:
    """Marks at places that take none, more than four of them, and a long life after a short one."""
    marks = []
    for where, block in _markable(body):
        mark, kind = block.get(_MARK), block.get("type")
        if mark is not None:
            yield not isinstance(mark, dict), f"{where}.{_MARK}: Input should be a valid dictionary"
            yield kind in _THINKING, f"{where}.{kind}.{_MARK}: {_EXTRA}"
            is_empty = kind == "text" and not block.get("text")
            yield is_empty, f"{where}.text: {_MARK} cannot be set for empty text blocks"
            is_deferred = block.get("defer_loading")
            yield is_deferred, f"{where}: {_MARK} cannot be set for a tool with defer_loading=true"
            marks.append(mark)
        inside = block.get("content") if kind == "tool_result" else None
        is_inside = any(_MARK in one for _, one in _listed(where, inside))
        yield is_inside, f"{where}.tool_result.content: {_MARK} cannot be set inside a tool result"
    count = len(marks) + (body.get(_MARK) is not None)
    yield count > _MOST_MARKS, _sentence("many marks", most_marks=_MOST_MARKS, count=count)
    lives = [mark.get("ttl", "5m") for mark in marks]
    is_late = "5m" in lives and "1h" in lives[lives.index("5m") :]
    yield is_late, "A ttl='1h' cache_control block must not come after a ttl='5m' cache_control block."


def _markable(body: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Everything that may be marked with its place, in the order of the cache: tools, system, messages."""
    yield from _listed("tools", body.get("tools"))
    yield from _listed("system", body.get("system"))
    for number, message in enumerate(body["messages"]):
        yield from _listed(f"messages.{number}.content", message.get("content"))


def _listed(where: str, value: Any) -> Iterator[tuple[str, Mapping[str, Any]]]:
    listed = enumerate(value if isinstance(value, list) else ())
    return ((f"{where}.{place}", one) for place, one in listed if isinstance(one, dict))


# ---- edits of the conversation: docs/wires/anthropic-messages.md#betas ----


_CLEAR_THINKING: Final = "clear_thinking_20251015"
_COMPACT: Final = "compact_20260112"
_LEAST_TRIGGER: Final = 50_000


def _check_edits(body: Mapping[str, Any]) -> vendor.Checks:
    """The order of edits, and the least trigger of a summary."""
    edits = (body.get("context_management") or {}).get("edits") or []
    is_list = isinstance(edits, list) and all(isinstance(edit, dict) for edit in edits)
    yield not is_list, "context_management.edits: Input should be a valid list"
    is_late = _CLEAR_THINKING in [edit.get("type") for edit in edits[1:]]
    yield is_late, _sentence("clear thinking late", clear_thinking=_CLEAR_THINKING)
    for place, edit in enumerate(edits):
        trigger = edit.get("trigger")
        least = trigger.get("value") if isinstance(trigger, dict) else None
        is_low = edit.get("type") == _COMPACT and isinstance(least, int) and least < _LEAST_TRIGGER
        yield is_low, _sentence("low trigger", place=place, least_trigger=_LEAST_TRIGGER)


# ---- the blocks of messages, and the turn that is under way ----


def _blocks_of(message: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The content of a message as blocks; a string is one text."""
    return _content_blocks(message.get("content"))


def _is_results_only(message: Mapping[str, Any]) -> bool:
    blocks = _blocks_of(message)
    return message["role"] == "user" and bool(blocks) and all(block.get("type") == "tool_result" for block in blocks)


def _answers_in_turn(messages: Sequence[Mapping[str, Any]]) -> list[tuple[int, Mapping[str, Any]]]:
    """The answers of the turn that is under way, each with its place."""
    begin = _start_of_turn(messages)
    return [(place, one) for place, one in enumerate(messages) if place >= begin and one["role"] == "assistant"]


def _start_of_turn(messages: Sequence[Mapping[str, Any]]) -> int:
    """The number of the last message of the user that is not results alone."""
    said = (place for place, one in enumerate(messages) if one.get("role") == "user" and not _is_results_only(one))
    return max(said, default=0)


# ---- signatures ----

_THINKS: Final = frozenset({"adaptive", "enabled"})
"""Where thinking was switched off inside a turn, the server goes on without it."""


def _calls_with_thinking(place: int, message: Mapping[str, Any]) -> Iterator[vendor.CallWithThinking]:
    signatures: tuple[str, ...] = ()
    for number, block in enumerate(_blocks_of(message)):
        if _is_signed(block):
            signatures = (*signatures, block["signature"])
        elif block["type"] == "tool_use":
            refusal = RefusedRequestError(_sentence("changed thinking", place=place, number=number))
            yield vendor.CallWithThinking(block["id"], signatures, refusal)


def _is_signed(block: Mapping[str, Any]) -> bool:
    signature = block.get("signature")
    return block["type"] == "thinking" and isinstance(signature, str) and open_state(signature) is None


# ---- the prompt cache ----

_LEAST_OF_OTHERS: Final = 1024
"""The shortest beginning that is kept, of models that have no row."""


def _cached_messages(body: Mapping[str, Any], model: str) -> Iterator[vendor.PromptBlock]:
    messages = vendor.objects_in(body.get("messages"))
    said = [(message.get("role"), _content_blocks(message.get("content"))) for message in messages]
    choice, thinking, output = body.get("tool_choice"), body.get("thinking"), body.get("output_config")
    has_images = any(_has_image(block) for _, content in said for block in content)
    row = models.by_line(model)
    # Before the current turn, the servers of some models strip thinking.
    current = 0 if row is None or row.keeps_thinking else _start_of_turn(messages)
    for number, (role, content) in enumerate(said):
        for block in content:
            if number >= current or block.get("type") not in _THINKING:
                yield _cached_block(block, role, choice, thinking, output, has_images)


def _has_image(block: Mapping[str, Any]) -> bool:
    return block.get("type") == "image" or any(map(_has_image, vendor.objects_in(block.get("content"))))


def _cached_block(block: Mapping[str, Any], *beside: Any) -> vendor.PromptBlock:
    return vendor.block_of(block, *beside, ignored=[_MARK], is_marked=isinstance(block.get(_MARK), Mapping))


def _content_blocks(content: Any) -> list[Mapping[str, Any]]:
    """The blocks of a content; a text is one."""
    return [{"type": "text", "text": content}] if isinstance(content, str) else vendor.objects_in(content)


VENDOR: Final = _Anthropic()
