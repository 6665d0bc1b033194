"""What an answer took: as it was reported, or as much as was seen of it; pure.

An answer that was cut, by its client or by its upstream, was paid for as far as it came. Nobody reports that, so it is
charged by an estimate of what was sent and seen, and marked as such.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from partstream.hub.budgets.amounts import nanodollars
from partstream.hub.pricing import cost_of_usage
from partstream.numbers import MOST_DOLLARS, as_amount, as_count
from partstream.outputs import Outcome
from partstream.tokens import MessageCounter
from partstream.usage import Usage

if TYPE_CHECKING:
    from collections.abc import Iterable

    from partstream.hub.pricing import ChargedPrice
    from partstream.serving.admission import EndedAnswer
    from partstream.tokens.ledger.rows import UsageRow

__all__ = ["Taken", "taken_by"]

_TIMED_OUT = "UpstreamTimeoutError"


class Taken(NamedTuple):
    """What an answer took.

    Attributes:
        usage: The tokens; input and output are known.
        nanodollars: What it cost; None if the price is not known.
        is_estimated: Whether nobody reported the tokens.
    """

    usage: Usage
    nanodollars: int | None
    is_estimated: bool

    @property
    def tokens(self) -> int:
        """All tokens, of input and output."""
        return (self.usage.input_tokens or 0) + (self.usage.output_tokens or 0)


def taken_by(ended: EndedAnswer, family: str, price: ChargedPrice | None) -> Taken:
    """What an answer took whose provider was asked.

    Args:
        ended: The answer.
        family: The family of its model, for estimates.
        price: What is charged for its model; None if nobody knows.
    """
    reported = _reported(ended)
    if reported is not None:
        return Taken(reported, _cost(ended, reported, price, is_estimated=False), False)
    if _took_nothing(ended):
        nothing = Usage(0, 0, 0)
        return Taken(nothing, None if price is None else 0, True)
    estimated = _estimated(ended, family)
    return Taken(estimated, _cost(ended, estimated, price, is_estimated=True), True)


def _reported(ended: EndedAnswer) -> Usage | None:
    """The tokens as the provider, or the upstreams that it asked, reported them; of both, the larger number. A report
    with a number that no answer has is none, so that nobody is charged by it, or charged nothing."""
    observation = ended.observation
    told = [ended.usage, _sum(ended.kept)]
    if not observation.is_usage_counted:
        told.append(observation.usage)
    whole = [
        one for one in told if one is not None and None not in (as_count(one.input_tokens), as_count(one.output_tokens))
    ]
    return max(whole, key=lambda one: (one.input_tokens or 0) + (one.output_tokens or 0), default=None)


def _sum(rows: Iterable[UsageRow]) -> Usage | None:
    """The tokens of all upstreams that were asked; None where one of them did not say."""
    rows = tuple(rows)
    if not rows or any(row.input_tokens is None or row.output_tokens is None for row in rows):
        return None
    given = sum(row.input_tokens or 0 for row in rows)
    written = sum(row.output_tokens or 0 for row in rows)
    cached = sum(row.cached_tokens or 0 for row in rows)
    return Usage(given, written, given + written, cached, sum(row.reasoning_tokens or 0 for row in rows))


def _took_nothing(ended: EndedAnswer) -> bool:
    """Whether the upstream refused the request, or could not be reached: nobody bills that. One that was silent until
    its time was over has read the prompt."""
    observation = ended.observation
    has_failed = observation.outcome is Outcome.FAILED
    return has_failed and observation.first_part_after is None and observation.error != _TIMED_OUT


def _estimated(ended: EndedAnswer, family: str) -> Usage:
    """The tokens of the request and of what was seen of the answer; what was counted already is not counted again."""
    known = ended.observation.usage
    counter = MessageCounter(family)
    given = None if known is None else as_count(known.input_tokens)
    written = None if known is None else as_count(known.output_tokens)
    if given is None:
        given = counter.count_request(ended.asked.messages, ended.asked.options.tools).tokens
    if written is None:
        written = round(sum(counter.count_part(part).tokens for part in ended.answer().content) * ended.length)
    return Usage(given, written, given + written)


def _cost(ended: EndedAnswer, usage: Usage, price: ChargedPrice | None, *, is_estimated: bool) -> int | None:
    """What is charged: by the hub's own price, else by the bill of the upstream, else by the prices that are listed."""
    by_list = None if price is None else cost_of_usage(price.price, usage)
    cost = as_amount(ended.observation.cost, MOST_DOLLARS)
    if cost is None or (price is not None and price.is_of_route):
        return by_list
    billed = nanodollars(cost)
    return max(billed, by_list or 0) if is_estimated else billed
