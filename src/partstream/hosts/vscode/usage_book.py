"""Adds up the usage of answers, by conversation and by day; knows no connection and reads no clock.

Holds the answers of this process, and those of other processes in the ledger.
"""

from __future__ import annotations

import time
from collections import OrderedDict, deque
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

    from partstream.hosts.vscode import wire
    from partstream.tokens.ledger.rows import UsageRow

__all__ = ["DAYS", "UsageBook"]

DAYS: Final = 30
"""The number of days to show, and to look up in the ledger."""
_ANSWERS: Final = 100
_CONVERSATIONS: Final = 100


class UsageBook:
    """The usage of the last answers, and its sums."""

    def __init__(self) -> None:
        self._answers: deque[wire.AnswerUsage] = deque(maxlen=_ANSWERS)
        self._conversations: OrderedDict[str, wire.ConversationUsage] = OrderedDict()
        self._days: dict[str, wire.UsageSums] = {}

    def remember(self, rows: Iterable[UsageRow]) -> None:
        """Adds the usage of other processes' answers, in any order."""
        for row in sorted(rows, key=lambda row: row.time):
            self._add(_remembered(row), row.conversation)

    def add(self, answer: wire.AnswerUsage, conversation: str | None) -> None:
        """Adds an answer.

        Args:
            answer: The usage of the answer.
            conversation: The digest of its conversation, or None without a conversation.
        """
        self._answers.appendleft(answer)
        self._add(answer, conversation)

    def with_sums(self, answer: wire.AnswerUsage, conversation: str | None) -> wire.DidAnswerParams:
        """An answer that was added, with the current sums of its conversation and of its day."""
        known = None if conversation is None else self._conversations.get(conversation)
        of_conversation = None if known is None else known["sums"]
        return {"answer": answer, "conversation": of_conversation, "day": self._days[_day_of(answer)]}

    def result(self) -> wire.UsageResult:
        """All answers, conversations and days, newest first."""
        days = sorted(self._days, reverse=True)[:DAYS]
        return {
            "answers": list(self._answers),
            "conversations": list(reversed(self._conversations.values())),
            "days": [{"day": day, "sums": self._days[day]} for day in days],
        }

    def _add(self, answer: wire.AnswerUsage, conversation: str | None) -> None:
        day = _day_of(answer)
        self._days[day] = _sum(self._days.get(day), answer)
        if conversation is None:
            return
        known = self._conversations.pop(conversation, None)
        sums = _sum(known["sums"] if known is not None else None, answer)
        is_late = known is not None and known["endedAt"] > answer["endedAt"]  # of another process, read after ours
        last = known if is_late and known is not None else answer
        self._conversations[conversation] = {"endedAt": last["endedAt"], "model": last["model"], "sums": sums}
        if len(self._conversations) > _CONVERSATIONS:
            self._conversations.popitem(last=False)


def _day_of(answer: wire.AnswerUsage) -> str:
    return time.strftime("%Y-%m-%d", time.localtime(answer["endedAt"]))


def _sum(sums: wire.UsageSums | None, answer: wire.AnswerUsage) -> wire.UsageSums:
    before = sums or _NOTHING
    cost, known = answer["cost"], before["cost"]
    return {
        "answers": before["answers"] + 1,
        "inputTokens": before["inputTokens"] + answer["inputTokens"],
        "outputTokens": before["outputTokens"] + answer["outputTokens"],
        "cachedTokens": before["cachedTokens"] + (answer["cachedTokens"] or 0),
        "cost": known if cost is None else (known or 0.0) + cost,
        "withoutCost": before["withoutCost"] + (cost is None),
        "estimated": before["estimated"] + (answer["source"] == "estimated"),
    }


def _remembered(row: UsageRow) -> wire.AnswerUsage:
    """The usage of an answer in the ledger; an unknown number adds nothing."""
    return {
        "model": row.model,
        "endedAt": row.time,
        "inputTokens": row.input_tokens or 0,
        "outputTokens": row.output_tokens or 0,
        "cachedTokens": row.cached_tokens,
        "cost": row.cost,
        "source": "reported",
        "maxInputTokens": 0,
        "edits": [],
    }


_NOTHING: Final[wire.UsageSums] = {
    "answers": 0,
    "inputTokens": 0,
    "outputTokens": 0,
    "cachedTokens": 0,
    "cost": None,
    "withoutCost": 0,
    "estimated": 0,
}
