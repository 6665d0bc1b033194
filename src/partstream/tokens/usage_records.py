"""The shapes of what answers took, as hosts send them and pages show them; every one is JSON."""

from typing import Literal, TypeAlias, TypedDict

__all__ = [
    "AnswerUsage",
    "ContextFill",
    "ConversationUsage",
    "DayUsage",
    "ListedAnswer",
    "ShownConversation",
    "TokenCountSource",
    "UsageSums",
    "UsageView",
]

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


class ConversationUsage(TypedDict):
    """One conversation: when its last answer ended, in seconds since 1970, the model's name, and its sums."""

    endedAt: float
    model: str
    sums: UsageSums


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
    """One answer on a page, as :class:`AnswerUsage` has it, but that more of it may be unknown: such a number is null.

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


class ShownConversation(ConversationUsage):
    """One conversation on a page; the fills of its last answers are in the order of time.

    `number` stays the same, and is that of no other conversation of its book.
    """

    number: int
    fills: list[ContextFill]


class UsageView(TypedDict):
    """What a page shows: the last answers and conversations and the last days, newest first."""

    answers: list[ListedAnswer]
    conversations: list[ShownConversation]
    days: list[DayUsage]
