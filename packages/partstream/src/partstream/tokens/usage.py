"""Adds up the usage of answers, by conversation, day, model or client; knows no connection and reads no clock.

The book holds the answers of this process, and those of other processes in the ledger. The typed dictionaries are the
shapes in which hosts send usage and pages show it; every one is JSON.
"""

from __future__ import annotations
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable
from datetime import UTC, date, datetime
from fnmatch import fnmatchcase
from itertools import count
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, TypedDict, TypeVar

from partstream.codec.checks import dataclass, field

if TYPE_CHECKING:
    from partstream.tokens.records import AnswerRow, UsageRow

Key = TypeVar("Key", bound=Any)

DAYS: Final = 30
"""The number of days to show, and to look up in the ledger."""
_ANSWERS: Final = 100
_CONVERSATIONS: Final = 100
_FILLS: Final = 200
"""The most answers of a conversation whose share of the context window is kept."""


# ---- Totals ----


@dataclass(slots=True)
class Sum:
    """A sum of the known numbers of answers, how many they are, and how many numbers are unknown."""

    known: float = 0
    answers: int = 0
    unknown: int = 0

    def add(self, number: float | None) -> None:
        """Adds a number; None is an unknown number."""
        if number is None:
            self.unknown += 1
        else:
            self.known += number
            self.answers += 1

    @property
    def value(self) -> float | None:
        """The sum, or None if no number is known."""
        return self.known if self.answers else None


@dataclass(slots=True)
class UsageTotals:
    """The total usage of several answers; an unknown number counts as unknown and never as 0.

    Attributes:
        of_cached: The tokens of the prompts whose cached tokens are known.
        uncounted: The answers whose input or output is unknown.
        estimated: The answers whose tokens the upstream did not report.
        repeated: The answers to requests that their client had sent before; known of served answers.
    """

    answers: int = 0
    input: Sum = field(default_factory=Sum)
    output: Sum = field(default_factory=Sum)
    cached: Sum = field(default_factory=Sum)
    reasoning: Sum = field(default_factory=Sum)
    cost: Sum = field(default_factory=Sum)
    of_cached: int = 0
    uncounted: int = 0
    estimated: int = 0
    repeated: int = 0

    def add(
        self,
        input_tokens: int | None,
        output_tokens: int | None,
        cached_tokens: int | None,
        cost: float | None,
        reasoning_tokens: int | None = None,
    ) -> None:
        """Adds an answer."""
        self.answers += 1
        self.input.add(input_tokens)
        self.output.add(output_tokens)
        self.cached.add(cached_tokens)
        self.reasoning.add(reasoning_tokens)
        self.cost.add(cost)
        self.uncounted += input_tokens is None or output_tokens is None
        if cached_tokens is not None and input_tokens is not None:
            self.of_cached += input_tokens

    @property
    def cached_share(self) -> float | None:
        """The share of prompt tokens that were read from a cache, from 0 to 1; None if unknown."""
        return min(self.cached.known / self.of_cached, 1.0) if self.of_cached else None

    def shown(self) -> UsageSums:
        """The sums as a page and a host show them."""
        return {
            "answers": self.answers,
            "inputTokens": int(self.input.known),
            "outputTokens": int(self.output.known),
            "cachedTokens": int(self.cached.known),
            "cost": self.cost.value,
            "withoutCost": self.cost.unknown,
            "withoutTokens": self.uncounted,
            "estimated": self.estimated,
        }


def add_up(
    rows: Iterable[AnswerRow], key: Callable[[AnswerRow], Key], model_pattern: str = "*"
) -> dict[Key, UsageTotals]:
    """The totals of the answers of some models by what `key` gives for each, such as its day, in that order."""
    totals: dict[Key, UsageTotals] = {}
    for row in rows:
        used = row.usage
        if fnmatchcase(used.model, model_pattern):
            one = totals.setdefault(key(row), UsageTotals())
            one.add(used.input_tokens, used.output_tokens, used.cached_tokens, used.cost, used.reasoning_tokens)
            one.repeated += row.retry > 0
    return dict(sorted(totals.items(), key=itemgetter(0)))


def day_of(time: float) -> date:
    """The day in the local calendar."""
    return datetime.fromtimestamp(time, UTC).astimezone().date()


# ---- The book ----


@dataclass(slots=True)
class _Conversation:
    """One conversation."""

    number: int
    ended_at: float
    model: str
    totals: UsageTotals = field(default_factory=UsageTotals)
    fills: deque[ContextFill] = field(default_factory=lambda: deque(maxlen=_FILLS))

    def add(self, answer: ListedAnswer) -> None:
        _add_to(self.totals, answer)
        if answer["endedAt"] >= self.ended_at:  # not one of another process that is read late
            self.ended_at, self.model = answer["endedAt"], answer["model"]
        if answer["inputTokens"] is not None:
            self.fills.append(
                {
                    "endedAt": answer["endedAt"],
                    "inputTokens": answer["inputTokens"],
                    "maxInputTokens": answer["maxInputTokens"],
                }
            )

    def shown(self) -> ShownConversation:
        fills = sorted(self.fills, key=itemgetter("endedAt"))
        sums = self.totals.shown()
        return {"endedAt": self.ended_at, "model": self.model, "sums": sums, "number": self.number, "fills": fills}


class UsageBook:
    """The usage of the last answers, and its sums."""

    def __init__(self, days: int = DAYS) -> None:
        self._most_days = days
        self._listed: deque[ListedAnswer] = deque(maxlen=_ANSWERS)
        self._conversations: OrderedDict[str, _Conversation] = OrderedDict()
        self._days: dict[str, UsageTotals] = {}
        self._numbers = count(1)

    def remember(self, rows: Iterable[UsageRow], asked_by: str | None = None) -> None:
        """Adds the usage of other processes' answers, in any order."""
        for row in sorted(rows, key=lambda row: row.time):
            answer: ListedAnswer = {
                "model": row.model,
                "endedAt": row.time,
                "inputTokens": row.input_tokens,
                "outputTokens": row.output_tokens,
                "cachedTokens": row.cached_tokens,
                "cost": row.cost,
                "source": "reported",
                "maxInputTokens": None,
                "edits": [],
                "askedBy": asked_by,
            }
            self._add(answer, row.conversation)

    def add(self, answer: AnswerUsage, conversation: str | None) -> None:
        """Adds an answer, with the digest of its conversation if it has one."""
        self._add({**answer, "askedBy": None}, conversation)

    def sums_of(self, answer: AnswerUsage, conversation: str | None) -> tuple[UsageSums | None, UsageSums]:
        """The current sums of the conversation and of the day of an answer that was added."""
        known = None if conversation is None else self._conversations.get(conversation)
        of_day = self._days[day_of(answer["endedAt"]).isoformat()]
        return None if known is None else known.totals.shown(), of_day.shown()

    def view(self) -> UsageView:
        """All that a page shows: answers, conversations and days, newest first."""
        by_end = itemgetter("endedAt")
        conversations = [one.shown() for one in self._conversations.values()]
        days = sorted(self._days, reverse=True)[: self._most_days]
        return {
            "answers": sorted(self._listed, key=by_end, reverse=True),
            "conversations": sorted(conversations, key=by_end, reverse=True),
            "days": [{"day": day, "sums": self._days[day].shown()} for day in days],
        }

    def _add(self, answer: ListedAnswer, conversation: str | None) -> None:
        self._listed.append(answer)
        _add_to(self._days.setdefault(day_of(answer["endedAt"]).isoformat(), UsageTotals()), answer)
        if conversation is None:
            return
        known = self._conversations.pop(conversation, None)
        if known is None:
            known = _Conversation(next(self._numbers), answer["endedAt"], answer["model"])
        known.add(answer)
        self._conversations[conversation] = known
        if len(self._conversations) > _CONVERSATIONS:
            self._conversations.popitem(last=False)


def _add_to(totals: UsageTotals, answer: ListedAnswer) -> None:
    totals.add(answer["inputTokens"], answer["outputTokens"], answer["cachedTokens"], answer["cost"])
    totals.estimated += answer["source"] == "estimated"


TokenCountSource: TypeAlias = Literal["reported", "counted", "estimated"]


class AnswerUsage(TypedDict):
    """The usage of one answer, in tokens; an unknown number is null.

    `model` is the model's name, `endedAt` is in seconds since 1970, `cost` is in US dollars by the model's list prices,
    `source` is that of the least certain number, `maxInputTokens` is the model's input limit. Each of `edits` describes
    in a few words a cut that the upstream itself made to the conversation.
    """

    model: str
    endedAt: float
    inputTokens: int
    outputTokens: int
    cachedTokens: int | None
    cost: float | None
    source: TokenCountSource
    maxInputTokens: int
    edits: list[str]


class UsageSums(TypedDict):
    """The sums of several answers' known numbers.

    `cost` is null if no answer has one. `withoutCost` is the number of answers without a cost, `withoutTokens` that of
    answers whose input or output is unknown; `estimated` is the number of answers whose tokens the upstream did not
    report.
    """

    answers: int
    inputTokens: int
    outputTokens: int
    cachedTokens: int
    cost: float | None
    withoutCost: int
    withoutTokens: int
    estimated: int


class DayUsage(TypedDict):
    """One day, as `2026-11-21`, and its sums."""

    day: str
    sums: UsageSums


class ContextFill(TypedDict):
    """How much of the context window the prompt of an answer took; the limit is null if it is unknown."""

    endedAt: float
    inputTokens: int
    maxInputTokens: int | None


class ListedAnswer(TypedDict):
    """One answer on a page: as :class:`AnswerUsage`, but more numbers may be unknown and then are null.

    `askedBy` is the program that asked, where that is known.
    """

    model: str
    endedAt: float
    inputTokens: int | None
    outputTokens: int | None
    cachedTokens: int | None
    cost: float | None
    source: TokenCountSource
    maxInputTokens: int | None
    edits: list[str]
    askedBy: str | None


class ShownConversation(TypedDict):
    """One conversation on a page: when its last answer ended, in seconds since 1970, and that answer's model.

    The fills of its last answers are in the order of time. `number` stays the same, and is that of no other
    conversation of its book.
    """

    endedAt: float
    model: str
    sums: UsageSums
    number: int
    fills: list[ContextFill]


class UsageView(TypedDict):
    """What a page shows: the last answers and conversations and the last days, newest first."""

    answers: list[ListedAnswer]
    conversations: list[ShownConversation]
    days: list[DayUsage]
