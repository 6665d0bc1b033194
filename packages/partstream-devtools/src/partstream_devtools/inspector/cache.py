"""The cache doctor: where the prompt of a request stopped being the one before it, what that cost, and what helps.

A server reads a prompt from its cache as far as it is the same, byte for byte, from its beginning on. It puts the tools
first, then the system prompt, then the messages, whatever the order of the fields in the body. So a request is read
into pieces in that order, each as JSON without what only marks places for the cache, and two requests are compared
piece by piece. The byte that is named counts in these pieces. Another model has another cache, so nothing is
the same; some options, such as the effort of thinking, are put before the messages.

What it cost: the tokens that the cache could have given, which are those of the request before, less those that it
gave, at the difference of the prices of both. Where the server reports no number, both are estimated by bytes.

Servers compare requests themselves, if they are asked to, and say what they found: Anthropic in
`diagnostics.cache_miss_reason` (docs/wires/anthropic-messages.md#cache-diagnosis), OpenAI in `prompt_cache_diagnostics`
(docs/wires/openresponses.md#usage). That is shown beside it.
"""

from __future__ import annotations
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from partstream.codec.checks import as_count
from partstream.codec.json_codec import JSONDecodeError, dumps, loads

if TYPE_CHECKING:
    from partstream.lm.parts import Usage
    from partstream.upstream.model_information import Pricing
    from partstream_devtools.bundles.exchange import RecordedExchange
    from partstream_devtools.inspector.reading import ReadAnswer
    from partstream_devtools.inspector.shapes import CacheView

Prices: TypeAlias = "Callable[[str], Pricing | None]"
"""Gives the prices of a model, where they are known."""

# ---- The pieces of a prompt ----

_TOOLS: Final = ("tools",)
_SYSTEM: Final = ("system", "instructions", "systemInstruction", "system_instruction")
_MESSAGES: Final = ("messages", "input", "contents", "prompt")
_ORDER: Final = {"tools": 0, "system": 1, "messages": 2}
_SYSTEM_ROLES: Final = frozenset({"system", "developer"})
_MARKS: Final = frozenset({"cache_control", "cachePoint", "prompt_cache_breakpoint"})
"""Fields that say where the cache shall begin or end: they move with every request, and are no part of the prompt."""
_OPTIONS: Final = (
    *("thinking", "tool_choice", "toolConfig", "output_config", "reasoning", "reasoning_effort", "verbosity"),
    *("response_format", "text", "context_management", "prompt_cache_key", "service_tier", "think", "options"),
)
"""Fields of a body that are put into the prompt before the messages, or choose another cache."""


class _Piece(NamedTuple):
    """A piece of a prompt: what it is, its place in the body, and its bytes."""

    kind: str  # `tools`, `system` or `messages`
    where: str
    data: bytes


class _Prompt(NamedTuple):
    model: str
    options: Mapping[str, Any]
    pieces: tuple[_Piece, ...]

    def of(self, kind: str) -> list[bytes]:
        """The pieces of a kind."""
        return [piece.data for piece in self.pieces if piece.kind == kind]


def _prompt_of(exchange: RecordedExchange) -> _Prompt | None:
    """The prompt of a request; None where its body is not there as a whole, or is no question to a model."""
    request = exchange.request
    if request is None or (exchange.left_out is not None and exchange.left_out.request_bytes):
        return None
    try:
        body = loads(request.body)
    except JSONDecodeError:
        return None
    if not isinstance(body, dict) or not any(name in body for name in _MESSAGES):
        return None
    pieces: list[_Piece] = []
    for kind, names in (("tools", _TOOLS), ("system", _SYSTEM), ("messages", _MESSAGES)):
        for name in (one for one in names if one in body):
            items = body[name] if isinstance(body[name], list) else [body[name]]
            for index, item in enumerate(items):
                is_system = kind == "messages" and isinstance(item, dict) and item.get("role") in _SYSTEM_ROLES
                where = f"{name}[{index}]" if isinstance(body[name], list) else name
                pieces.append(_Piece("system" if is_system else kind, where, bytes(dumps(_unmarked(item)))))
    model = body.get("model")
    # Gemini names the model in the path.
    named = model if isinstance(model, str) else request.path.rpartition("/")[2].partition(":")[0]
    kinds = [piece.kind for piece in pieces if piece.kind != "tools"]
    if kinds == sorted(kinds, reverse=True):  # all of `system` before all `messages`
        pieces.sort(key=lambda piece: _ORDER[piece.kind])
    return _Prompt(named, {name: body[name] for name in _OPTIONS if name in body}, tuple(pieces))


def _unmarked(value: Any) -> Any:
    """A JSON value without the marks of places for the cache."""
    if isinstance(value, dict):
        return {name: _unmarked(one) for name, one in value.items() if name not in _MARKS}
    return [_unmarked(one) for one in value] if isinstance(value, list) else value


# ---- What became different ----


class _Difference(NamedTuple):
    """Where two prompts stopped being the same, by a kind of :data:`_SAYS`."""

    kind: str
    where: str
    byte: int


_SAYS: Final[Mapping[str, tuple[str, str]]] = {
    "model": (
        "another model was asked",
        "stay with one model in a conversation, or begin a new one with the other",
    ),
    "tool order": (
        "the same tools came in another order",
        "list the tools in the same order each time, such as by name",
    ),
    "tools": (
        "the list of tools changed",
        "keep one list for the whole conversation; tools that are needed now and then cost less if they stay",
    ),
    "tool": (
        "a tool was described in other words",
        "keep what changes, such as a date or a list of files, out of descriptions and schemas",
    ),
    "system": (
        "the system prompt changed",
        "keep what changes, such as the time or the open file, out of the system prompt: say it in the last message",
    ),
    "options": (
        "an option changed that is put before the messages",
        "keep the effort of thinking, the choice of tools and the form of the answer as they are in a conversation",
    ),
    "edited": (
        "an earlier message was edited",
        "add messages at the end, and leave those before as they were sent",
    ),
    "removed": (
        "earlier messages were taken out",
        "shorten a conversation seldom and by much: each time, all that follows is paid in full",
    ),
    "inserted": (
        "something was put between earlier messages",
        "put what is new after the last message, such as a reminder or the state of the editor",
    ),
    "nothing": (
        "the whole prompt before is the beginning of this one",
        "",
    ),
}
"""What is said of each kind of difference, and what helps."""


def _difference(before: _Prompt, now: _Prompt) -> _Difference:
    if before.model != now.model:
        return _Difference("model", "model", 0)
    same = 0
    is_before_messages = True
    for index, old in enumerate(before.pieces):
        new = now.pieces[index] if index < len(now.pieces) else None
        if is_before_messages and old.kind == "messages":
            is_before_messages = False
            changed = (name for name in _OPTIONS if before.options.get(name) != now.options.get(name))
            if (name := next(changed, None)) is not None:
                return _Difference("options", name, same)
        if new is not None and new.data == old.data and new.kind == old.kind:
            same += len(old.data)
            continue
        both = enumerate(zip(old.data, b"" if new is None else new.data, strict=False))
        common = next((place for place, (one, two) in both if one != two), 0 if new is None else len(old.data))
        kind = _kind_of(before, now, old, new)
        # Where one has no more of a kind, the place is that of the piece that the other has more.
        is_gone = new is None or _ORDER[old.kind] < _ORDER[new.kind]
        return _Difference(kind, old.where if new is None or is_gone else new.where, same + common)
    return _Difference("nothing", "", same)


def _kind_of(before: _Prompt, now: _Prompt, old: _Piece, new: _Piece | None) -> str:
    """What the first piece that differs tells."""
    kinds = {old.kind} if new is None else {old.kind, new.kind}
    if "tools" in kinds:
        was, is_now = before.of("tools"), now.of("tools")
        if sorted(was) == sorted(is_now):
            return "tool order"
        return "tool" if len(was) == len(is_now) and sum(one not in is_now for one in was) == 1 else "tools"
    if "system" in kinds:
        return "system"
    was, is_now = before.of("messages"), now.of("messages")
    first = next((place for place, (one, two) in enumerate(zip(was, is_now, strict=False)) if one != two), len(is_now))
    rest, rest_now = was[first:], is_now[first:]
    if not rest_now or rest_now[0] in rest[1:]:
        return "removed"
    return "inserted" if rest[0] in rest_now[1:] else "edited"


# ---- What the vendor says ----


def _said_by_vendor(read: ReadAnswer) -> str:
    """What the server itself found when it compared the requests; empty where it says nothing."""
    found = ""
    for event in read.events:
        for document in (event.event, event.event.get("message"), event.event.get("response")):
            if isinstance(document, dict):
                found = _vendor_words(document) or found
    return found


def _vendor_words(document: Mapping[str, Any]) -> str:
    anthropic, openai = document.get("diagnostics"), document.get("prompt_cache_diagnostics")
    said = anthropic.get("cache_miss_reason") if isinstance(anthropic, dict) else openai
    if not isinstance(said, dict):
        return ""
    reason = said.get("reason") or said.get("type")
    missed = as_count(said.get("cache_missed_input_tokens", said.get("cache_missed_tokens")))
    return f"{reason!s:.60}" + ("" if missed is None else f", {missed:,} tokens not read from the cache")


# ---- The finding ----

_BYTES_A_TOKEN: Final = 4
_FEW: Final = 1024
"""Tokens below which most servers keep no prompt; also the coarseness in which they keep one."""
_EXPIRED: Final = (
    "the cache may have expired (after five minutes at most vendors), the request may have gone to another machine, or "
    "the prompt has no mark for the cache"
)


def finding_of(
    before: RecordedExchange,
    now: RecordedExchange,
    read_before: ReadAnswer,
    read: ReadAnswer,
    earlier: str,
    prices: Prices = lambda _model: None,
) -> CacheView | None:
    """What became of the prompt cache between two requests; None where one of them is not known as a whole.

    Args:
        earlier: What the request before is called.
        prices: The known prices.
    """
    one, two = _prompt_of(before), _prompt_of(now)
    if one is None or two is None:
        return None
    difference = _difference(one, two)
    size = sum(len(piece.data) for piece in one.pieces)
    missed = _missed(_usage_of(read_before), _usage_of(read), difference.byte, size)
    price = prices(two.model)
    cost = None if missed is None or price is None else _cost(missed, price)
    what, advice = _SAYS[difference.kind]
    if difference.kind == "nothing" and missed is not None and missed > _FEW:
        advice = _EXPIRED
    elif missed == 0:
        advice = ""
    found: CacheView = {
        "before": earlier,
        "kind": difference.kind,
        "where": difference.where,
        "byte": difference.byte,
        "bytes": size,
        "says": what,
        "missedTokens": missed,
        "cost": cost,
        "advice": advice,
        "vendor": _said_by_vendor(read),
        "text": "",
    }
    return {**found, "text": _text_of(found)}


def _text_of(found: CacheView) -> str:
    if found["kind"] == "nothing":
        said = f"{found['says']} ({found['bytes']:,} bytes of {found['before']})"
    else:
        said = (
            f"the same as in {found['before']} up to byte {found['byte']:,} of {found['bytes']:,}; "
            f"then {found['says']} ({found['where']})"
        )
    missed, cost = found["missedTokens"], found["cost"]
    if missed:
        paid = "no price is known" if cost is None else f"${cost:.2g}"
        said += f". {missed:,} tokens that the cache had were not read from it ({paid})"
    elif missed == 0 and found["kind"] != "nothing":
        said += ". All that the cache had was read from it all the same"
    helps = "Possible causes" if found["kind"] == "nothing" else "What helps"
    said += f". {helps}: {found['advice']}" if found["advice"] else ""
    return said + (f". The server says: {found['vendor']}." if found["vendor"] else ".")


def _usage_of(read: ReadAnswer) -> Usage | None:
    return None if read.finish is None else read.finish.usage


def _missed(before: Usage | None, now: Usage | None, byte: int, size: int) -> int | None:
    """The tokens of the prompt before that were not read from the cache: reported, or else estimated by bytes."""
    had = None if before is None else as_count(before.input_tokens)
    read = None if now is None else as_count(now.cached_tokens)
    if had is None:
        return None if byte >= size else (size - byte) // _BYTES_A_TOKEN
    if read is None:
        return round(had * (size - byte) / size) if size and byte < size else None
    return max(0, had - read)


def _cost(missed: int, price: Pricing) -> float | None:
    """What tokens cost more than if the cache had given them; None where both prices are not known."""
    if price.input is None or price.cache_read is None:
        return None
    paid = price.input if price.cache_write is None else price.cache_write
    return float(missed * max(paid - price.cache_read, Decimal(0)))


# ---- Which requests belong together ----

_SHARE: Final = 0.4
"""More than this share of the messages of a request is in another one of its conversation."""
_MOST_BEFORE: Final = 50
"""So many requests are looked at for the one before: each of a long file compared with all others takes the square."""


class Conversations:
    """Requests in their order, after some that came earlier."""

    def __init__(self, earlier: Iterable[RecordedExchange]) -> None:
        self._last = deque([(one, _prompt_of(one)) for one in earlier], _MOST_BEFORE)

    def request_before(self, now: RecordedExchange) -> RecordedExchange | None:
        """The last request that is of the same conversation as the next one; None where none is."""
        candidates = [pair for pair in self._last if pair[0].protocol == now.protocol and pair[0] is not now]
        self._last.append((now, prompt := _prompt_of(now)))
        pieces, are_many = set() if prompt is None else {piece.data for piece in prompt.pieces}, len(candidates) > 1
        for one, of in candidates[::-1]:
            # Of two requests alone, any piece that both have tells; of many, more than tools and a system prompt.
            own = [] if of is None else of.of("messages") if are_many else [piece.data for piece in of.pieces]
            if sum(piece in pieces for piece in own) > (_SHARE if are_many else 0.0) * len(own):
                return one
        return None


def prices_of_settings() -> Prices:
    """The prices that the configuration file and the environment set; settings that cannot be read set none."""
    from partstream.config.loading import load_configuration  # noqa: PLC0415 - for who looks at a prompt alone
    from partstream.settings.kinds import ConfigurationError  # noqa: PLC0415
    from partstream.upstream.model_information import ModelSelection  # noqa: PLC0415

    try:
        given = load_configuration(may_lack_file=True).resolved.values.get("prices")
    except ConfigurationError:  # every other command says what is wrong
        given = None
    return ModelSelection(prices={} if given is None else given.value).price_of
