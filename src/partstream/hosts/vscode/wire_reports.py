"""The shapes of what the sidecar tells people: tokens, costs, how texts are counted, how answers ended, broken rules.

They belong to :mod:`partstream.hosts.vscode.wire`, which holds all others and hands these on.
"""

from typing import Literal, TypeAlias, TypedDict

__all__ = [
    "AnswerEnd",
    "AnswerOutcome",
    "AnswerUsage",
    "BrokenRule",
    "ConversationUsage",
    "Counting",
    "CountingResult",
    "DayUsage",
    "DiagnosticsResult",
    "DidAnswerParams",
    "FinishReason",
    "TokenCountSource",
    "UsageResult",
    "UsageSums",
]

FinishReason: TypeAlias = Literal["stop", "length", "content-filter", "tool-calls", "error", "other"]

TokenCountSource: TypeAlias = Literal["reported", "counted", "estimated"]


class AnswerUsage(TypedDict):
    """What one answer took, in tokens; null is what nobody knows.

    `model` is the model's name, `endedAt` in seconds since 1970, `cost` in US dollars by the model's list prices,
    `source` that of the least sure number, `maxInputTokens` the input limit of the model. Each of `edits` says in a
    few words what the upstream took out of the conversation by itself.
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
    """What several answers took together: only what is known is added up.

    `cost` is null where no answer has one; `withoutCost` of the answers have none, and `estimated` of them count
    with numbers that the upstream did not report.
    """

    answers: int
    inputTokens: int
    outputTokens: int
    cachedTokens: int
    cost: float | None
    withoutCost: int
    estimated: int


class DidAnswerParams(TypedDict):
    """An answer ended, and the sums that it belongs to.

    `conversation` is null for a request that belongs to none, such as that for a title; `day` is that of this
    machine's clock.
    """

    answer: AnswerUsage
    conversation: UsageSums | None
    day: UsageSums


class ConversationUsage(TypedDict):
    """One conversation: when its last answer ended, in seconds since 1970, the model's name, and its sums."""

    endedAt: float
    model: str
    sums: UsageSums


class DayUsage(TypedDict):
    """One day, as `2026-11-21`, and its sums."""

    day: str
    sums: UsageSums


class UsageResult(TypedDict):
    """The last answers and conversations of this process, and the last days of this user, the newest first."""

    answers: list[AnswerUsage]
    conversations: list[ConversationUsage]
    days: list[DayUsage]


class Counting(TypedDict):
    """How the texts of a model are counted now.

    `model` is the id as the extension knows it. `source` says whether a tokenizer or an estimate does it, and `factor`
    what estimates are multiplied with: null for providers that do not learn, 1 while nothing is known.
    """

    group: str | None
    model: str
    family: str
    maxInputTokens: int
    source: TokenCountSource
    factor: float | None


class CountingResult(TypedDict):
    """The models that were listed so far."""

    models: list[Counting]


AnswerOutcome: TypeAlias = Literal["completed", "incomplete", "failed", "truncated", "cancelled"]


class AnswerEnd(TypedDict):
    """How one answer ended; null is what nobody said.

    `endedAt` is in seconds since 1970, `provider` what the log calls the provider, `model` the model's own id.
    An `incomplete` answer was stopped by a limit or a filter; of a `truncated` one the upstream's bytes ended early.
    `answeredBy` is the model as the upstream names it, `error` the name of the error's class.
    """

    endedAt: float
    provider: str
    model: str
    outcome: AnswerOutcome
    finishReason: FinishReason | None
    providerFinishReason: str | None
    responseId: str | None
    answeredBy: str | None
    error: str | None
    providerCode: str | None
    httpStatus: int | None


class BrokenRule(TypedDict):
    """A rule of the contract of a response stream that a provider broke since it was loaded, and how often.

    A part that breaks a MUST was dropped. `place` is the line of its code that broke the rule first, as `file:line`, or
    null where that is unknown.
    """

    provider: str
    rule: str
    level: Literal["MUST", "SHOULD"]
    sentence: str
    count: int
    place: str | None


class DiagnosticsResult(TypedDict):
    """How the last answers ended, the newest first, and what the providers that are loaded do wrong."""

    answers: list[AnswerEnd]
    brokenRules: list[BrokenRule]
