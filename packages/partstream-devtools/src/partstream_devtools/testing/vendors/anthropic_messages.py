"""Anthropic's servers: what they refuse in their own words, which signatures they want back, and their prompt cache.

A request passes the checks in the order of :meth:`_Anthropic.refuse`: headers and fields, thinking, tools, messages,
the pairs of calls and results, marks for the cache, edits of the conversation. The first check that fails says the
sentence of the real server, with its typing errors: clients match these sentences. What depends on a model is refused
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


def _refused(sentence: str, **names: Any) -> RefusedRequestError:
    """The refusal with a sentence of the file, by its name there."""
    return RefusedRequestError(_REFUSALS[sentence].format(**names))


class _Anthropic(vendor.Vendor):
    def refuse(self, request: WireRequest) -> None:
        betas = _check_headers(request.headers)
        body = request.body
        forbidden = models.FORBIDDEN.get(request.headers[models.VERSION], models.Forbidden())
        _check_fields(body, betas, forbidden.fields)
        _check_thinking(body)
        _check_tools(body)
        _check_messages(body)
        _check_version(body["messages"], forbidden)
        _check_results(body["messages"])
        _check_marks(body)
        _check_edits(body)

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


def _check_headers(headers: Mapping[str, str]) -> frozenset[str]:
    """The betas that the headers ask for."""
    version = headers.get(models.VERSION)
    if version is None:
        raise RefusedRequestError(f"{models.VERSION}: header is required")
    if version != models.OLDER_VERSION and version not in models.FORBIDDEN:
        raise RefusedRequestError(f'{models.VERSION}: "{version}" is not a valid version')
    if "x-api-key" in headers and "authorization" in headers:
        raise RefusedRequestError("invalid x-api-key", status=401)
    betas = [name.strip() for name in headers.get("anthropic-beta", "").split(",") if name.strip()]
    unknown = [name for name in betas if not _BETA.fullmatch(name)]
    if unknown:
        named = ", ".join(f"`{name}`" for name in unknown)
        raise _refused("unknown beta", named=named)
    return frozenset(betas)


_EXTRA: Final = "Extra inputs are not permitted"


def _check_fields(body: Mapping[str, Any], betas: frozenset[str], forbidden: frozenset[str]) -> None:
    for name in ("model", "max_tokens"):
        if body.get(name) is None:
            raise RefusedRequestError(f"{name}: Field required")
    for name in body:
        added = any(beta.startswith(_OF_BETAS.get(name, ())) for beta in betas)
        if name in forbidden or (name not in _FIELDS and not added):
            raise RefusedRequestError(f"{name}: {_EXTRA}")
    limit = body["max_tokens"]
    least = 1 if body.get("stream") else 0
    if type(limit) is not int:
        raise RefusedRequestError("max_tokens: Input should be a valid integer")
    if limit < least:
        raise RefusedRequestError(f"max_tokens: Input should be greater than or equal to {least}")


# ---- thinking, effort and sampling: docs/wires/anthropic-messages.md#thinking-by-model ----

_LEAST_BUDGET: Final = 1024
_LEVELS: Final = ("low", "medium", "high", "xhigh", "max")
_FORMS: Final = {"adaptive": ThinkingForm.ADAPTIVE, "enabled": ThinkingForm.BUDGET, "disabled": None}


def _check_thinking(body: Mapping[str, Any]) -> None:
    row = models.by_line(str(body["model"]))
    thinking: Mapping[str, Any] = body.get("thinking") or {}
    effort = (body.get("output_config") or {}).get("effort")
    _check_effort(effort, row)
    kind = thinking.get("type")
    if kind is not None:
        if kind not in _FORMS:
            raise RefusedRequestError("thinking: Input should be a valid `adaptive`, `enabled` or `disabled`")
        _check_form(kind, effort, row)
        _check_beside(kind, thinking, body)
    _check_sampling(body, row, thinks=kind in {"adaptive", "enabled"})


def _check_form(kind: str, effort: str | None, row: models.Abilities | None) -> None:
    if row is None or _FORMS[kind] in (row.thinking or ()):
        return
    if kind == "adaptive":
        raise RefusedRequestError("adaptive thinking is not supported on this model")
    if kind == "enabled":
        raise _refused("no budget")
    if not row.takes_disabled or (effort is not None and effort not in row.takes_disabled):
        beside = f" with effort '{effort}'" if row.takes_disabled else ""
        raise _refused("no switch", beside=beside)


def _check_beside(kind: str, thinking: Mapping[str, Any], body: Mapping[str, Any]) -> None:
    """What the form of thinking excludes: a budget, a display, a tool that must be called."""
    budget = thinking.get("budget_tokens")
    if kind != "enabled":
        for name in {"adaptive": ("budget_tokens",), "disabled": ("budget_tokens", "display")}[kind]:
            if name in thinking:
                raise RefusedRequestError(f"thinking.{kind}.{name}: {_EXTRA}")
        return
    if type(budget) is not int:
        raise RefusedRequestError("thinking.enabled.budget_tokens: Field required")
    if budget < _LEAST_BUDGET:
        raise _refused("low budget", least_budget=_LEAST_BUDGET)
    if budget >= body["max_tokens"]:
        raise RefusedRequestError("`max_tokens` must be greater than `thinking.budget_tokens`.")
    if (body.get("tool_choice") or {}).get("type") in {"any", "tool"}:
        raise RefusedRequestError("Thinking may not be enabled when tool_choice forces tool use.")


def _check_effort(effort: Any, row: models.Abilities | None) -> None:
    if effort is None:
        return
    if effort not in _LEVELS:
        raise RefusedRequestError(f"output_config.effort: Input should be one of {', '.join(map(repr, _LEVELS))}")
    if row is None or row.efforts is None or effort in row.efforts:
        return
    if not row.efforts:
        raise RefusedRequestError("This model does not support the effort parameter.")
    supported = ", ".join(sorted(row.efforts))
    raise RefusedRequestError(f"This model does not support effort level '{effort}'. Supported levels: {supported}.")


_LEAST_TOP_P: Final = 0.95


def _check_sampling(body: Mapping[str, Any], row: models.Abilities | None, *, thinks: bool) -> None:
    for name in models.SAMPLING:
        if not isinstance(body.get(name), int | float | None):
            raise RefusedRequestError(f"{name}: Input should be a valid number")
    temperature, top_p, top_k = (body.get(name) for name in models.SAMPLING)
    if temperature is not None and not 0 <= temperature <= 1:
        raise RefusedRequestError("temperature: range: 0..1")
    chosen = {"temperature": temperature not in {None, 1}, "top_p": top_p not in {None, 1}, "top_k": top_k is not None}
    if row is not None and row.sampling is models.Sampling.REFUSED and any(chosen.values()):
        name = next(name for name, is_chosen in chosen.items() if is_chosen)
        raise RefusedRequestError(f"`{name}` is deprecated for this model.")
    if not thinks:
        return
    if chosen["temperature"]:
        raise RefusedRequestError("`temperature` may only be set to 1 when thinking is enabled or in adaptive mode.")
    if chosen["top_k"]:
        raise RefusedRequestError("`top_k` must be unset when thinking is enabled or in adaptive mode.")
    if top_p is not None and top_p < _LEAST_TOP_P:
        raise _refused("low top_p", least_top_p=_LEAST_TOP_P)


# ---- tools: docs/wires/anthropic-messages.md#tools-and-tool-choice ----

_TOOL_NAME: Final = re.compile(r"[a-zA-Z0-9_-]{1,128}")
_ALTERNATIVES: Final = frozenset({"oneOf", "anyOf", "allOf"})


def _check_tools(body: Mapping[str, Any]) -> None:
    tools = body.get("tools") or ()
    names = [str(tool.get("name")) for tool in tools]
    if len(set(names)) < len(names):
        raise RefusedRequestError("tools: Tool names must be unique.")
    if tools and all(tool.get("defer_loading") for tool in tools):
        raise RefusedRequestError("At least one tool must have defer_loading=false.")
    for place, tool in enumerate(tools):
        if tool.get("type") in {None, "custom"}:
            _check_tool(tool, f"tools.{place}.custom")
    _check_choice(body.get("tool_choice"), names)


def _check_tool(tool: Mapping[str, Any], where: str) -> None:
    if not _TOOL_NAME.fullmatch(str(tool.get("name"))):
        raise RefusedRequestError(f"{where}.name: String should match pattern '^{_TOOL_NAME.pattern}$'")
    schema = tool.get("input_schema")
    if not isinstance(schema, dict):
        raise RefusedRequestError(f"{where}.input_schema: Field required")
    if schema.get("type") is None:
        raise RefusedRequestError(f"{where}.input_schema.type: Field required")
    if schema["type"] != "object":
        raise RefusedRequestError(f"{where}.input_schema.type: Input should be 'object'")
    if not _ALTERNATIVES.isdisjoint(schema):
        raise _refused("alternatives", where=where)


def _check_choice(choice: Mapping[str, Any] | None, names: list[str]) -> None:
    if choice is None:
        return
    if not names:
        raise RefusedRequestError("tool_choice may only be specified while providing tools.")
    if choice.get("type") == "tool" and choice.get("name") not in names:
        raise RefusedRequestError(f"tool_choice: Tool '{choice.get('name')}' not found in provided tools.")


# ---- messages: docs/wires/anthropic-messages.md#messages ----

_PICTURES: Final = ("image/jpeg", "image/png", "image/gif", "image/webp")


def _check_messages(body: Mapping[str, Any]) -> None:
    messages: Sequence[Mapping[str, Any]] = body["messages"]
    row = models.by_line(str(body["model"]))
    if not messages:
        raise RefusedRequestError("messages: at least one message is required")
    if messages[0]["role"] != "user":
        raise RefusedRequestError('messages: first message must use the "user" role')
    for block in body["system"] if isinstance(body.get("system"), list) else ():
        _check_text(block, "system")
    for place, message in enumerate(messages):
        if message["role"] == "system":
            _check_system(messages, place, row)
        _check_content(message, place, is_last=place == len(messages) - 1)
    _check_end(messages[-1], row)
    if (body.get("thinking") or {}).get("type") == "enabled":
        _check_beginning(messages)


def _check_version(messages: Sequence[Mapping[str, Any]], forbidden: models.Forbidden) -> None:
    """What the version of the API takes out of messages (docs/wires/anthropic-messages.md#versions)."""
    for place, message in enumerate(messages):
        for number, block in enumerate(_blocks_of(message) if message["role"] == "assistant" else ()):
            if block["type"] in forbidden.answer_blocks:
                raise RefusedRequestError(f"messages.{place}.content.{number}: Input tag '{block['type']}' found")


def _check_system(messages: Sequence[Mapping[str, Any]], place: int, row: models.Abilities | None) -> None:
    if row is not None and not row.takes_system_turns:
        raise _refused("system role")
    before = messages[place - 1]["role"]
    after = messages[place + 1]["role"] if place + 1 < len(messages) else "assistant"
    if before != "user" or after != "assistant":
        raise _refused("system place", place=place)


def _check_content(message: Mapping[str, Any], place: int, *, is_last: bool) -> None:
    blocks = _blocks_of(message)
    if not blocks and not (is_last and message["role"] == "assistant"):
        raise _refused("empty message", place=place)
    for number, block in enumerate(blocks):
        where = f"messages.{place}.content.{number}"
        _check_text(block, "messages")
        if block["type"] == "image":
            source = block["source"]
            if source["type"] == "base64" and source.get("media_type") not in _PICTURES:
                expected = ", ".join(map(repr, _PICTURES))
                raise RefusedRequestError(f"{where}.image.source.base64.media_type: Input should be one of {expected}")
        elif block["type"] == "thinking" and block.get("signature") is None:
            raise RefusedRequestError(f"{where}.thinking.signature: Field required")
    if message["role"] == "assistant" and blocks and blocks[-1]["type"] in _THINKING:
        raise RefusedRequestError(f"messages.{place}: The final block in an assistant message cannot be `thinking`.")


def _check_text(block: Mapping[str, Any], where: str) -> None:
    if block["type"] != "text":
        return
    if not block["text"]:
        raise RefusedRequestError(f"{where}: text content blocks must be non-empty")
    if not block["text"].strip():
        raise RefusedRequestError(f"{where}: text content blocks must contain non-whitespace text")


def _check_end(last: Mapping[str, Any], row: models.Abilities | None) -> None:
    """The end: an answer goes on only where the server paused it (docs/wires/anthropic-messages.md#paused-answers)."""
    blocks = _blocks_of(last)
    if last["role"] != "assistant" or any(block["type"] == "server_tool_use" for block in blocks):
        return
    if row is None or not row.takes_prefill:
        raise _refused("prefill")
    if blocks and blocks[-1]["type"] == "text" and blocks[-1]["text"] != blocks[-1]["text"].rstrip():
        raise RefusedRequestError("messages: final assistant content cannot end with trailing whitespace")


def _check_beginning(messages: Sequence[Mapping[str, Any]]) -> None:
    """With a budget for thinking, the turn that goes on with results of tools has to begin with thinking."""
    answers = _answers_in_turn(messages)
    if not answers or not _is_results_only(messages[-1]):
        return
    place, answer = answers[0]
    first = _blocks_of(answer)[0]["type"]
    if first not in _THINKING:
        raise _refused("no thinking first", place=place, first=first)


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


def _check_results(messages: Sequence[Mapping[str, Any]]) -> None:
    """Refuses calls without results after them, results without calls before them, and halves of the server's tools."""
    said = list(_joined(messages))
    _check_ids(said)
    for before, this in zip([None, *said], said, strict=False):
        if this.role == "user":
            _check_known(before, this)
    for this, after in zip(said, [*said[1:], None], strict=True):
        if this.role == "assistant":
            _check_answered(this, after)
    _check_server_tools(said)


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


def _check_ids(said: list[_Said]) -> None:
    known: set[str] = set()
    for block in (block for one in said for block in one.blocks if block.type == "tool_use"):
        call_id = block.fields["id"]
        if not _CALL_ID.fullmatch(call_id):
            raise RefusedRequestError(f"{block.where}.tool_use.id: String should match pattern '^{_CALL_ID.pattern}$'")
        if call_id in known:
            raise RefusedRequestError("messages: `tool_use` ids must be unique")
        known.add(call_id)


def _calls_of(said: _Said | None) -> list[str]:
    return [block.fields["id"] for block in (said.blocks if said else ()) if block.type == "tool_use"]


def _check_known(before: _Said | None, said: _Said) -> None:
    calls, answered = _calls_of(before), set[str]()
    for block in (block for block in said.blocks if block.type == "tool_result"):
        call_id = block.fields["tool_use_id"]
        if call_id not in calls:
            raise _refused("result without call", where=block.where, call_id=call_id)
        if call_id in answered:
            raise _refused("second result", where=block.where, call_id=call_id)
        answered.add(call_id)


def _check_answered(said: _Said, after: _Said | None) -> None:
    first = takewhile(lambda block: block.type == "tool_result", after.blocks if after else ())
    answered = {block.fields["tool_use_id"] for block in first}
    if missing := [call_id for call_id in _calls_of(said) if call_id not in answered]:
        raise _refused("call without result", place=said.place, missing=", ".join(missing))


_SERVER_CALLS: Final = frozenset({"server_tool_use", "mcp_tool_use"})


def _check_server_tools(said: list[_Said]) -> None:
    """The server's own tools: a result may come in the next answer, if the client sends nothing but results before."""
    waiting: dict[str, _Block] = {}
    for one in said:
        if one.role == "user":
            if waiting and any(block.type != "tool_result" for block in one.blocks):
                half = next(iter(waiting.values()))
                name, call_id = half.fields.get("name"), half.fields.get("id")
                raise _refused("half of a tool", where=half.where, name=name, call_id=call_id)
            continue
        for block in one.blocks:
            call_id = str(block.fields.get("tool_use_id"))
            if block.type in _SERVER_CALLS:
                waiting[str(block.fields.get("id"))] = block
            elif block.type.endswith("_tool_result") and waiting.pop(call_id, None) is None:
                raise _refused("result of no tool", where=block.where, type=block.type, call_id=call_id)


# ---- marks for the cache: docs/wires/anthropic-messages.md#prompt-cache ----

_MOST_MARKS: Final = 4


def _check_marks(body: Mapping[str, Any]) -> None:
    """Refuses marks at places that take none, more than four of them, and a long life after a short one."""
    marks = []
    for where, block in _markable(body):
        mark = block.get(_MARK)
        if mark is not None:
            if not isinstance(mark, dict):
                raise RefusedRequestError(f"{where}.{_MARK}: Input should be a valid dictionary")
            _check_marked(where, block)
            marks.append(mark)
    count = len(marks) + (body.get(_MARK) is not None)
    if count > _MOST_MARKS:
        raise _refused("many marks", most_marks=_MOST_MARKS, count=count)
    lives = [mark.get("ttl", "5m") for mark in marks]
    if "5m" in lives and "1h" in lives[lives.index("5m") :]:
        raise RefusedRequestError("A ttl='1h' cache_control block must not come after a ttl='5m' cache_control block.")


def _check_marked(where: str, block: Mapping[str, Any]) -> None:
    kind = block.get("type")
    if kind in _THINKING:
        raise RefusedRequestError(f"{where}.{kind}.{_MARK}: Extra inputs are not permitted")
    if kind == "text" and not block.get("text"):
        raise RefusedRequestError(f"{where}.text: {_MARK} cannot be set for empty text blocks")
    if block.get("defer_loading"):
        raise RefusedRequestError(f"{where}: {_MARK} cannot be set for a tool with defer_loading=true")


def _markable(body: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Everything that may be marked with its place, in the order of the cache: tools, system, messages."""
    yield from _listed("tools", body.get("tools"))
    yield from _listed("system", body.get("system"))
    for number, message in enumerate(body["messages"]):
        for where, block in _listed(f"messages.{number}.content", message.get("content")):
            yield where, block
            inside = block.get("content")
            if block.get("type") == "tool_result" and any(_MARK in one for _, one in _listed(where, inside)):
                raise RefusedRequestError(f"{where}.tool_result.content: {_MARK} cannot be set inside a tool result")


def _listed(where: str, value: Any) -> Iterator[tuple[str, Mapping[str, Any]]]:
    listed = enumerate(value if isinstance(value, list) else ())
    return ((f"{where}.{place}", one) for place, one in listed if isinstance(one, dict))


# ---- edits of the conversation: docs/wires/anthropic-messages.md#betas ----


_CLEAR_THINKING: Final = "clear_thinking_20251015"
_COMPACT: Final = "compact_20260112"
_LEAST_TRIGGER: Final = 50_000


def _check_edits(body: Mapping[str, Any]) -> None:
    """The order of edits, and the least trigger of a summary."""
    edits = (body.get("context_management") or {}).get("edits") or []
    if not isinstance(edits, list) or not all(isinstance(edit, dict) for edit in edits):
        raise RefusedRequestError("context_management.edits: Input should be a valid list")
    kinds = [edit.get("type") for edit in edits]
    if _CLEAR_THINKING in kinds[1:]:
        raise _refused("clear thinking late", clear_thinking=_CLEAR_THINKING)
    for place, edit in enumerate(edits):
        trigger = edit.get("trigger")
        least = trigger.get("value") if isinstance(trigger, dict) else None
        if edit.get("type") == _COMPACT and isinstance(least, int) and least < _LEAST_TRIGGER:
            raise _refused("low trigger", place=place, least_trigger=_LEAST_TRIGGER)


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
            refusal = _refused("changed thinking", place=place, number=number)
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
