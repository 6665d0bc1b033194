"""Adds up the usage of answers, by conversation and by day; knows no connection and reads no clock.

The book holds the answers of this process, and those of other processes in the ledger. The typed dictionaries are the
shapes in which hosts send usage and pages show it; every one is JSON.
"""

from __future__ import annotations
import time
from collections import OrderedDict, deque
from collections.abc import Iterable
from itertools import count
from operator import itemgetter
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, TypedDict

from partstream.codec.checks import dataclass

if TYPE_CHECKING:
    from partstream.tokens.records import UsageRow

DAYS: Final = 30
"""The number of days to show, and to look up in the ledger."""
_ANSWERS: Final = 100
_CONVERSATIONS: Final = 100
_FILLS: Final = 200
"""The most answers of a conversation whose share of the context window is kept."""


@dataclass(slots=True)
class _Conversation:
    """One conversation."""

    number: int
    ended_at: float
    model: str
    sums: UsageSums
    fills: deque[ContextFill]

    def add(self, answer: ListedAnswer) -> None:
        self.sums = _sum(self.sums, answer)
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
        return {
            "endedAt": self.ended_at, "model": self.model, "sums": self.sums, "number": self.number, "fills": fills,
        }  # fmt: skip


class UsageBook:
    """The usage of the last answers, and its sums."""

    def __init__(self, days: int = DAYS) -> None:
        self._most_days = days
        self._listed: deque[ListedAnswer] = deque(maxlen=_ANSWERS)
        self._conversations: OrderedDict[str, _Conversation] = OrderedDict()
        self._days: dict[str, UsageSums] = {}
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
        return None if known is None else known.sums, self._days[_day_of(answer["endedAt"])]

    def view(self) -> UsageView:
        """All that a page shows: answers, conversations and days, newest first."""
        by_end = itemgetter("endedAt")
        conversations = [one.shown() for one in self._conversations.values()]
        days = sorted(self._days, reverse=True)[: self._most_days]
        return {
            "answers": sorted(self._listed, key=by_end, reverse=True),
            "conversations": sorted(conversations, key=by_end, reverse=True),
            "days": [{"day": day, "sums": self._days[day]} for day in days],
        }

    def _add(self, answer: ListedAnswer, conversation: str | None) -> None:
        day = _day_of(answer["endedAt"])
        self._listed.append(answer)
        self._days[day] = _sum(self._days.get(day, _NOTHING), answer)
        if conversation is None:
            return
        known = self._conversations.pop(conversation, None)
        if known is None:
            number = next(self._numbers)
            known = _Conversation(number, answer["endedAt"], answer["model"], _NOTHING, deque(maxlen=_FILLS))
        known.add(answer)
        self._conversations[conversation] = known
        if len(self._conversations) > _CONVERSATIONS:
            self._conversations.popitem(last=False)


def _day_of(ended_at: float) -> str:
    return time.strftime("%Y-%m-%d", time.localtime(ended_at))


def _sum(before: UsageSums, answer: ListedAnswer) -> UsageSums:
    cost, known = answer["cost"], before["cost"]
    is_known = answer["inputTokens"] is not None and answer["outputTokens"] is not None
    return {
        "answers": before["answers"] + 1,
        "inputTokens": before["inputTokens"] + (answer["inputTokens"] or 0),
        "outputTokens": before["outputTokens"] + (answer["outputTokens"] or 0),
        "cachedTokens": before["cachedTokens"] + (answer["cachedTokens"] or 0),
        "cost": known if cost is None else (known or 0.0) + cost,
        "withoutCost": before["withoutCost"] + (cost is None),
        "withoutTokens": before["withoutTokens"] + (not is_known),
        "estimated": before["estimated"] + (answer["source"] == "estimated"),
    }


_NOTHING: Final[UsageSums] = {
    "answers": 0,
    "inputTokens": 0,
    "outputTokens": 0,
    "cachedTokens": 0,
    "cost": None,
    "withoutCost": 0,
    "withoutTokens": 0,
    "estimated": 0,
}

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
