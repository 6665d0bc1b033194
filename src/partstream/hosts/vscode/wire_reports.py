"""The shapes of reports for people: tokens, costs, how texts are counted, how answers ended, broken rules.

They belong to :mod:`partstream.hosts.vscode.wire`, which holds all other shapes and exports these too.
"""

from typing import Literal, TypeAlias, TypedDict

from partstream.tokens.usage_records import AnswerUsage, ConversationUsage, DayUsage, TokenCountSource, UsageSums

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
    "PageParams",
    "PageResult",
    "TokenCountSource",
    "UsageResult",
    "UsageSums",
]

FinishReason: TypeAlias = Literal["stop", "length", "content-filter", "tool-calls", "error", "other"]


class DidAnswerParams(TypedDict):
    """An answer that ended, with the sums of its conversation and its day.

    `conversation` is null for a request outside any conversation, such as the one for a title; `day` is the day by this
    machine's clock.
    """

    answer: AnswerUsage
    conversation: UsageSums | None
    day: UsageSums


class UsageResult(TypedDict):
    """The last answers and conversations of this process, and the last days of this user, newest first."""

    answers: list[AnswerUsage]
    conversations: list[ConversationUsage]
    days: list[DayUsage]


class PageParams(TypedDict):
    """For whom a page is made: a webview, whose policy allows what has this nonce, and what comes from `source`."""

    nonce: str
    source: str


class PageResult(TypedDict):
    """A page as one HTML document."""

    html: str


class Counting(TypedDict):
    """How texts are currently counted for a model.

    `model` is the model's id in the extension. `source` tells whether a tokenizer counts or an estimate is made;
    `factor` multiplies estimates: null for providers that do not learn, 1 before anything is learnt.
    """

    group: str | None
    model: str
    family: str
    maxInputTokens: int
    source: TokenCountSource
    factor: float | None


class CountingResult(TypedDict):
    """How texts are counted for the models listed so far."""

    models: list[Counting]


AnswerOutcome: TypeAlias = Literal["completed", "incomplete", "failed", "truncated", "cancelled"]


class AnswerEnd(TypedDict):
    """How one answer ended; a fact that was not reported is null.

    `endedAt` is in seconds since 1970, `provider` is the provider's name in the log, `model` is the model's own id. A
    limit or a filter stopped an `incomplete` answer; the upstream's bytes of a `truncated` answer ended too early.
    `answeredBy` is the upstream's name of the model that answered, `error` is the name of the error's class.
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
    """A rule of the contract that a provider has broken since it was loaded, and how often.

    A part that breaks a MUST was dropped. `place` is the line of the provider's code that first broke the rule, as
    `file:line`; null if unknown.
    """

    provider: str
    rule: str
    level: Literal["MUST", "SHOULD"]
    sentence: str
    count: int
    place: str | None


class DiagnosticsResult(TypedDict):
    """How the last answers ended, newest first, and the rules that the loaded providers broke."""

    answers: list[AnswerEnd]
    brokenRules: list[BrokenRule]
