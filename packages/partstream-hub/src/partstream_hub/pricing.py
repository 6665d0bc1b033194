"""What a model costs: its price, what an answer costs at most, and what it cost; in whole nanodollars, rounded up.

The price of the hub's own route counts first, then the upstream's own bill where it reports one, then the price that
the provider lists. An answer that was cut was paid for as far as it came, which no report says: it is charged by an
estimate of what was sent and seen, and marked as one.

Before an answer begins, :mod:`partstream.tokens.bounds` says what it can take at most. An :class:`AnswerMeter` counts
answers of upstreams that may keep no limit.
"""

from __future__ import annotations
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import ROUND_CEILING, Decimal
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from partstream.codec.checks import MOST_DOLLARS, as_amount, as_count, dataclass, fields, replace
from partstream.codec.json_codec import dumps
from partstream.lm.outputs import InboundRequest, Outcome
from partstream.lm.parts import DataPart, MessagePart, ResponsePart, TextPart, ThinkingPart, ToolCallPart, Usage
from partstream.runtime.progress import thinking_text
from partstream.server.settings import EndedAnswer, HeldText
from partstream.tokens.amounts import MOST_AMOUNT, BudgetUnit, nanodollars, usage_cost
from partstream.tokens.bounds import MOST_ROUNDS, OUTPUT_NAMES
from partstream.tokens.counting import counter_of
from partstream.tokens.files import FileBound, most_input
from partstream_hub.directory import BudgetRule, Directory, ModelPrice, Need

if TYPE_CHECKING:
    from asyncio import Future

    from partstream.server.models import CataloguedModel
    from partstream.tokens.records import UsageRow
    from partstream_hub.budgets import Reservation

# ---- Prices ----

_MILLION: Final = 1_000_000
COSTS: Final = ("inputCost", "outputCost", "cacheCost", "cacheWriteCost")
LONG_COSTS: Final = tuple(f"longContext{name[0].upper()}{name[1:]}" for name in COSTS)
"""The prices of :class:`partstream.lm.provider.ModelFields`: the usual ones, and those of long contexts."""
_OF_A_CENT: Final = 10**7
"""Nanodollars of a hundredth of a dollar, in which providers list the price of a million tokens."""


class ChargedPrice(NamedTuple):
    """What is charged for a model."""

    price: ModelPrice
    highest: ModelPrice  # that may hold for a request: of long conversations, and of models that answer in its place
    is_of_route: bool  # the hub itself says the price: what an upstream reports does not matter then


def charged_price(directory: Directory, model: CataloguedModel) -> ChargedPrice | None:
    """What is charged for a model; None if its price is unknown."""
    route = directory.routes.get(model.id)
    if route is not None and route.price is not None:
        return ChargedPrice(route.price, route.price, is_of_route=True)
    extra = model.information.extra
    said = _listed(extra, *COSTS)
    if said is None:
        return None
    in_its_place = () if route is None else (directory.routes.get(name) for name in route.fallbacks)
    others = (_listed(extra, *LONG_COSTS), *(one.price for one in in_its_place if one is not None))
    kinds = ([getattr(one, kind.name, None) for one in (said, *others)] for kind in fields(ModelPrice))
    highest: list[Any] = [max((one for one in kind if one is not None), default=None) for kind in kinds]
    return ChargedPrice(said, ModelPrice(*highest), is_of_route=False)


_TIERS: Final = frozenset({"servicetier", "speed", "inferencegeo"})
"""The fields with which a request chooses another price, folded."""
_LISTED_TIERS: Final = frozenset(
    {"", "auto", "default", "standard", "standard_only", "on_demand", "flex", "batch", "not_available", "global"}
    | {"unspecified", "service_tier_unspecified"}
)
"""Their values at which no more is paid than the listed price."""


def dearer_field(asked: InboundRequest) -> str | None:
    """The field by which a request asks for more than the listed price buys, such as a faster answer, which costs up to
    six times as much; None without one."""
    whole = (asked.body, asked.options.model_options)
    of_gateways = (one.get(_GATEWAYS) for one in whole)
    inner = (value for one in of_gateways if isinstance(one, Mapping) for value in one.values())
    places: Iterable[Mapping[str, Any]] = (one for one in chain(whole, inner) if isinstance(one, Mapping))
    for name, value in chain.from_iterable(one.items() for one in places):
        is_tier = len(name) <= _LONGEST_TIER and name.replace("_", "").casefold() in _TIERS
        if is_tier and value is not None and not (isinstance(value, str) and value.casefold() in _LISTED_TIERS):
            return name
    return None


_LONGEST_TIER: Final = 20
_GATEWAYS: Final = "providerOptions"
_HOUR: Final = 2
"""How many times the price of input it costs to write a token into a cache for an hour; providers list that of five
minutes (Anthropic's prices, 2026)."""


def asks_for_an_hour(body: Mapping[str, Any]) -> bool:
    """Whether a request has something written into a cache for an hour."""
    values: list[Any] = [body]
    while values:
        one = values.pop()
        if isinstance(one, dict):
            if one.get("ttl") == "1h" and one.get("type") == "ephemeral":
                return True
            one = [*one.values()]
        if isinstance(one, list):
            values += one
    return False


def for_an_hour(price: ChargedPrice) -> ChargedPrice:
    """The price of a request that has something written into a cache for an hour: reports do not say what of it was."""

    def raised(one: ModelPrice) -> ModelPrice:
        return replace(one, cache_write=max(one.cache_write or 0, _HOUR * one.input))

    return price._replace(price=raised(price.price), highest=raised(price.highest))


def highest_cost(price: ModelPrice, input_tokens: int, output_tokens: int) -> int:
    """What a request costs at most: each token of its input may be written to a cache."""
    return _rounded_up(input_tokens * _dearest_input(price) + output_tokens * price.output)


def cost_of_usage(price: ModelPrice, usage: Usage) -> int:
    """What tokens cost; a number that is not known counts as none."""
    return _rounded_up(usage_cost(usage, (price.input, price.output, price.cached_input, price.cache_write)))


def _dearest_input(price: ModelPrice) -> int:
    return max(price.input, price.cached_input or 0, price.cache_write or 0)


def _rounded_up(millionths: int) -> int:
    return -(-millionths // _MILLION)


def _listed(extra: Mapping[str, Any], *names: str) -> ModelPrice | None:
    """The prices of these names; None without those of input and output."""
    given, written, read, cached = (_price_of_cents(extra.get(name)) for name in names)
    return None if given is None or written is None else ModelPrice(given, written, read, cached)


def _price_of_cents(cents: object) -> int | None:
    """The price of a million tokens; None for what is none."""
    if isinstance(cents, bool) or not isinstance(cents, int | float) or not 0 <= cents <= MOST_AMOUNT:
        return None
    exact = Decimal(str(cents)) * _OF_A_CENT
    return int(exact.to_integral_value(ROUND_CEILING)) if exact <= MOST_AMOUNT else None


# ---- Charging ----

_TIMED_OUT = "UpstreamTimeoutError"
_BEYOND: Final = 4
"""By how much a report may exceed what a request can take: a server may add a prompt of its own, or read a file in a
finer way. A bound by bytes is three to four times what a tokenizer finds, so that four times it is far above all."""
_BESIDE: Final = 32_768  # tokens that a server may add to the shortest request: its own prompt, with its tools
UNBELIEVABLE: Final = "UnbelievableUsage"
"""What the ledger has as the error of an answer whose report was not believed, and that has no other."""


class AnswerCharge(NamedTuple):
    """What an answer took."""

    usage: Usage
    nanodollars: int | None  # None if the price is not known
    is_estimated: bool  # the tokens were not reported
    is_unbelievable: bool = False  # more was reported than the request can have taken: its bound is charged

    @property
    def tokens(self) -> int:
        """All tokens, of input and output."""
        return (self.usage.input_tokens or 0) + (self.usage.output_tokens or 0)


def taken_by(
    ended: EndedAnswer, family: str, price: ChargedPrice | None, bound: RequestBound | None = None
) -> AnswerCharge:
    """What an answer took whose provider was asked; without a bound of what it can take, every report is believed."""
    observation = ended.observation
    # As the provider, or the upstreams that it asked, reported it; of both, the larger number. A report with a number
    # that no answer has is none, so that no answer is charged by it, or charged nothing.
    told = [ended.usage, _sum(ended.kept), None if observation.is_usage_counted else observation.usage]
    whole = [one for one in told if one and None not in (as_count(one.input_tokens), as_count(one.output_tokens))]
    if whole:
        reported = max(whole, key=lambda one: (one.input_tokens or 0) + (one.output_tokens or 0))
        charge = AnswerCharge(reported, _cost(ended, reported, price, is_estimated=False), False)
        return charge if bound is None else _believed(charge, ended, family, price, bound)
    # What an upstream refused, or could not be reached for, is not billed. One that has said anything of an answer, or
    # was silent until its time was over, has read the prompt.
    is_silent = observation.first_part_after is None and not ended.held
    if observation.outcome is Outcome.FAILED and is_silent and observation.error != _TIMED_OUT:
        return AnswerCharge(Usage(0, 0, 0), None if price is None else 0, True)
    # The tokens of the request and of what was seen of the answer; what was counted already is not counted again.
    known, counter = observation.usage or Usage(), counter_of(family)
    given, written = as_count(known.input_tokens), as_count(known.output_tokens)
    if given is None:
        given = counter.count_request(ended.asked.messages, ended.asked.options.tools).tokens
    if written is None:
        said = ended.answer().content
        written = round(sum(counter.count_part(part).tokens for part in said) * ended.length)
        written += max(0, ended.held - sum(map(_size_before, said))) // _CHARACTERS
    estimated = Usage(given, written, given + written)
    return AnswerCharge(estimated, _cost(ended, estimated, price, is_estimated=True), True)


def _believed(
    charge: AnswerCharge, ended: EndedAnswer, family: str, price: ChargedPrice | None, bound: RequestBound
) -> AnswerCharge:
    """The charge of a report; of one far above what the request can have taken, its bound."""
    usage, written = charge.usage, bound.output_tokens
    window = most_input(family) * MOST_ROUNDS if len(ended.kept) != 1 or ended.asked.hosted_tools else 0
    given = max(_BEYOND * bound.input_tokens + _BESIDE, window)

    def is_possible() -> bool:
        most = max(_BEYOND * written + _BESIDE, window)
        if (usage.input_tokens or 0) > given or (usage.output_tokens or 0) > most:
            return False
        has_list = price is not None and not price.is_of_route
        return not has_list or charge.nanodollars is None or charge.nanodollars <= highest_cost(highest, given, most)

    highest = ModelPrice(0, 0) if price is None else price.highest
    if is_possible():  # as nearly always, so that the answer is looked at only where its limit does not explain it
        return charge
    seen = 0  # characters or bytes
    for part in ended.answer().content:
        seen += _size_before(part)
        if isinstance(part, TextPart | ThinkingPart):
            seen += len(part.value if isinstance(part, TextPart) else thinking_text(part))
        elif isinstance(part, DataPart):
            seen += len(part.data)
    written += math.ceil(seen * ended.length + ended.held)
    if is_possible():
        return charge
    given = min(usage.input_tokens or 0, bound.input_tokens)
    written = min(usage.output_tokens or 0, written)
    usage = Usage(given, written, given + written)
    by_list = None if price is None else cost_of_usage(price.price, usage)
    return AnswerCharge(usage, by_list, True, is_unbelievable=True)


def _sum(rows: Sequence[UsageRow]) -> Usage | None:
    """The tokens of all upstreams that were asked; None where one of them did not say."""
    if not rows or any(None in (row.input_tokens, row.output_tokens) for row in rows):
        return None
    names = ("input_tokens", "output_tokens", "cached_tokens", "reasoning_tokens")
    given, written, cached, reasoning = (sum(getattr(row, name) or 0 for row in rows) for name in names)
    return Usage(given, written, given + written, cached, reasoning)


def _size_before(part: MessagePart) -> int:
    """How many characters of a part came before it was one, at most."""
    if isinstance(part, ToolCallPart):
        return len(dumps(part.input))
    return len(dumps(part.metadata)) if isinstance(part, ThinkingPart) and part.metadata else 0


def _cost(ended: EndedAnswer, usage: Usage, price: ChargedPrice | None, *, is_estimated: bool) -> int | None:
    """What is charged: by the hub's own price, else by the bill of the upstream, else by the prices that are listed."""
    by_list = None if price is None else cost_of_usage(price.price, usage)
    cost = as_amount(ended.observation.cost, MOST_DOLLARS)
    if cost is None or (price is not None and price.is_of_route):
        return by_list
    billed = nanodollars(cost)
    return max(billed, by_list or 0) if is_estimated else billed


# ---- Needs ----

LEAST_OUTPUT: Final = 256
"""The tokens of output with which it still makes sense to begin an answer; fewer where fewer are asked for."""


class RequestBound(NamedTuple):
    """The most that a request can take."""

    input_tokens: int
    output_tokens: int
    price: ModelPrice | None  # the highest that may hold for it; None where no budget counts money
    files: FileBound = FileBound(0, "")  # what files take of the input, and why

    def amount(self, rule: BudgetRule, output_tokens: int) -> int:
        """What the request takes of a budget at most, with this much output."""
        if rule.unit is BudgetUnit.TOKENS or self.price is None:
            return self.input_tokens + output_tokens
        return highest_cost(self.price, self.input_tokens, output_tokens)

    def step(self, rule: BudgetRule, output_tokens: int) -> int:
        """What as much more output takes of a budget at most."""
        return self._replace(input_tokens=0).amount(rule, output_tokens)

    def needs(self, rules: Iterable[BudgetRule]) -> tuple[Need, ...]:
        """What the request needs of all budgets."""
        least = min(self.output_tokens, LEAST_OUTPUT)
        return tuple(Need(rule, self.amount(rule, self.output_tokens), self.amount(rule, least)) for rule in rules)


def output_within(bound: RequestBound, reservation: Reservation, rules: Iterable[BudgetRule]) -> int:
    """The most tokens of output that all that is reserved covers, however the tokens of the input are billed."""
    covered = [bound.output_tokens]
    for rule in rules:
        amount = reservation.amount(rule)
        if rule.unit is BudgetUnit.TOKENS or bound.price is None:
            covered.append(amount - bound.input_tokens)
        elif bound.price.output:  # where output is free, any number is covered
            rest = amount * _MILLION - bound.input_tokens * _dearest_input(bound.price)
            covered.append(rest // bound.price.output)
    return max(0, min(covered))


def shrunk(bound: RequestBound, reservation: Reservation, rules: Iterable[BudgetRule], output_tokens: int) -> None:
    """Frees what is reserved of each budget beyond a shorter output, which another budget has made so short."""
    for rule in rules:
        surplus = reservation.amount(rule) - bound.amount(rule, output_tokens)
        if surplus > 0:
            reservation.reduce(rule, surplus)


# ---- The meter of a running answer ----

BUDGET_SPENT: Final = "budget_spent"
_CHARACTERS: Final = 3
"""Characters of a token of plain text at least, on average: until as many were written, nothing has to be counted. What
is no part yet is not kept, and counts by them."""
_MOST_UNANSWERED: Final = 1024
"""More tokens than one read says: an answer waits between two of them, as long as the database may take."""
_BYTES_A_DATA_TOKEN: Final = 16  # bytes of an image or a file for one token


@dataclass(eq=False)
class AnswerMeter:
    """Says when an answer has used up what it has, and whether it gets more; its text is kept and counted from time to
    time, the more seldom the more is left.

    Until `trusted` tokens were counted, the upstream is taken to keep its limit, which is reserved: a count by estimate
    must not cut an honest answer off before it reports its end. Beyond that it plainly keeps none, and all that was
    counted has to be reserved. That is asked for half-way, so that the database has answered in time; an answer that is
    faster waits for it.
    """

    tokens: int  # that are reserved
    step: int  # how many tokens more it gets at a time
    top_up: Callable[[int], bool | Future[bool]]  # reserves more: whether that was possible, a future until it is known
    count: Callable[[str], int]  # the tokens of a text
    trusted: int | None = None  # None for nothing beyond what is reserved

    def __post_init__(self) -> None:
        self._tokens = self.tokens if self.trusted is None else max(self.tokens, self.trusted)
        self._owed = self._tokens - self.tokens
        self._unanswered = 0 if self.trusted is None else _MOST_UNANSWERED
        self._left = self._until_look()
        self._asked = 0
        self._held = 0  # characters that were counted before they were a part
        self._texts: list[str] = []

    def reported(self, part: ResponsePart | HeldText) -> str | Future[bool] | None:
        """Takes a part, or what came before it was one; says that the answer must end with it if nothing is left, or
        what it waits for."""
        if isinstance(part, TextPart):  # nearly all are
            text = part.value
        elif isinstance(part, ThinkingPart):
            text = thinking_text(part)
        elif isinstance(part, ToolCallPart):
            arguments = bytes(dumps(part.input)).decode(errors="replace")
            known = min(self._held, len(arguments))
            self._held -= known
            text = part.name + arguments[known:]
        elif isinstance(part, HeldText):
            before = self._held // _CHARACTERS
            self._held += part.characters
            self._tokens -= self._held // _CHARACTERS - before
            self._left -= part.characters
            return None if self._left > 0 else self._look()
        else:
            self._tokens -= len(part.data) // _BYTES_A_DATA_TOKEN
            return self._look()
        self._texts.append(text)
        # Other letters than ASCII take a token each at most in the texts that there are.
        self._left -= len(text) if text.isascii() else _CHARACTERS * len(text)
        return None if self._left > 0 else self._look()

    def _look(self) -> str | Future[bool] | None:
        """Counts what was written since the last look."""
        self._tokens -= self.count("".join(self._texts))
        self._texts.clear()
        # Asked before it is needed, so that the database has answered in time.
        if self._asked or 0 < self._tokens <= self._ahead:
            self._ask(self.step)
        while self._tokens <= 0:
            reserved = self._ask(self.step * (1 - self._tokens // self.step))
            if reserved is False or (reserved is not True and -self._tokens >= self._unanswered):
                return BUDGET_SPENT
            if reserved is not True:
                self._left = 0
                return reserved
        self._left = self._until_look()
        return None

    def _ask(self, tokens: int) -> bool | Future[bool]:
        """Asks for more, or hears of what was asked before."""
        self._asked = self._asked or self._owed or tokens
        reserved = self.top_up(self._asked)
        if not isinstance(reserved, bool):
            return reserved
        if reserved and self._owed:
            self._owed = 0
        elif reserved:
            self._tokens += self._asked
        self._asked = 0
        return reserved

    @property
    def _ahead(self) -> int:
        """With how many tokens left more is asked for."""
        return self._owed // 2 or self.step

    def _until_look(self) -> int:
        """The characters until which nothing has to be counted nor asked for."""
        return _CHARACTERS * (self._tokens - self._ahead if self._tokens > self._ahead else self._tokens)


# ---- The limit of the output ----

_NOT_EVERYWHERE: Final = frozenset({"num_predict"})
"""The names of the limit that only the writer of their own wire understands."""
_NAME: Final = "max_output_tokens"
"""The name that every wire's writer takes, whichever wire the request came from; a test tries all pairs."""


def is_plain_limit(asked: InboundRequest) -> bool:
    """Whether a request says its limit once, as a whole number, and by a name that every wire's writer understands:
    otherwise an upstream may be sent another limit than :func:`asked_output` reads, or none."""
    said = {name: value for name, value in asked.options.model_options.items() if name in OUTPUT_NAMES}
    return len(said) == 1 and all(type(value) is int and name not in _NOT_EVERYWHERE for name, value in said.items())


def with_output_limit(asked: InboundRequest, tokens: int) -> InboundRequest:
    """The same request with this limit in place of every other."""
    options = asked.options
    kept = {name: value for name, value in options.model_options.items() if name not in OUTPUT_NAMES}
    return replace(asked, options=replace(options, model_options={**kept, _NAME: tokens}))
