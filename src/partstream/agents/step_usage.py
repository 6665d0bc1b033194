"""The tokens of an agent's inner requests: those of the last fill its window, the sum is what the answer took."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from partstream.conversation.digest import short_digest
from partstream.tokens.ledger.rows import UsageRow
from partstream.usage import Usage

if TYPE_CHECKING:
    from partstream.conversation.state_marker import Origin
    from partstream.messages import RequestOptions

__all__ = ["StepUsages", "usage_row"]

_COUNTS: Final = (
    "input_tokens",
    "output_tokens",
    "total_tokens",
    "cached_tokens",
    "reasoning_tokens",
    "cache_write_tokens",
)


class StepUsages:
    """The tokens of the inner requests of one answer.

    Attributes:
        last: The tokens of the last request, by which a host decides when to compact; None without any.
        total: The sum of all requests, a count that no request has being unknown; None without any.
    """

    def __init__(self) -> None:
        self.last: Usage | None = None
        self.total: Usage | None = None

    def add(self, usage: Usage) -> None:
        """Adds the next request; zeros are what frameworks say of a model that told nothing."""
        if not (usage.input_tokens or usage.output_tokens or usage.total_tokens):
            return
        self.last = usage
        self.total = usage if self.total is None else _sum(self.total, usage)


def _sum(one: Usage, other: Usage) -> Usage:
    counts: dict[str, Any] = {}
    for name in _COUNTS:
        values = [value for usage in (one, other) if (value := getattr(usage, name)) is not None]
        if values:
            counts[name] = sum(values)
    return Usage(**counts)


def usage_row(total: Usage, origin: Origin, options: RequestOptions, now: float) -> UsageRow:
    """The row of an answer in the ledger.

    Args:
        total: The sum of its inner requests.
        origin: The agent and its model.
        options: The options of the request, with the name that the host has for the conversation.
        now: The end of the answer, in seconds since 1970.
    """
    conversation = options.model_options.get("_conversationId")
    return UsageRow(
        time=now,
        model=origin.model,
        upstream=origin.upstream,
        conversation=short_digest(conversation) if isinstance(conversation, str) and conversation else None,
        input_tokens=total.input_tokens,
        output_tokens=total.output_tokens,
        cached_tokens=total.cached_tokens,
        reasoning_tokens=total.reasoning_tokens,
        cost=None,
    )
