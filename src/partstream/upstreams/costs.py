"""The cost of an answer: as the upstream reports it, else its tokens by list prices."""

from __future__ import annotations

import logging
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any, Final

from partstream.codec.checks import MOST_DOLLARS, as_amount

if TYPE_CHECKING:
    from collections.abc import Mapping

    from partstream.lm.outputs import Finish
    from partstream.lm.parts import Usage
    from partstream.upstream.model_facts import Pricing

__all__ = ["cost_of"]

_logger = logging.getLogger("partstream.upstreams")

_MOST_DIGITS: Final = 40
_TICK: Final = Decimal("1e-10")
"""US dollars. Recording xai-text: 1,466,250 ticks are 1 token at $0.30, 11 at $0.075 and 291 at $0.50 a million."""


def cost_of(finish: Finish, pricing: Pricing | None) -> float | None:
    """The cost of an answer in US dollars; None if neither the cost nor all needed prices are known."""
    reported = _reported_cost(finish)
    if reported is None and finish.usage is not None and pricing is not None:
        reported = _list_cost(finish.usage, pricing)
    return None if reported is None else as_amount(float(reported), MOST_DOLLARS)


def _reported_cost(finish: Finish) -> Decimal | None:
    """The cost that the upstream reports.

    Sources: the Vercel AI Gateway's `providerMetadata.gateway.cost`, a string; OpenRouter's `usage.cost`, a number;
    Perplexity's `usage.cost.total_cost`; xAI's `usage.cost_in_usd_ticks` (recordings of Chat Completions).
    """
    said = [about.get("cost") for about in finish.provider_metadata.values() if isinstance(about, dict)]
    costs = (_dollars(value) for value in said)
    reported = next((cost for cost in costs if cost is not None), None)
    return _cost_in_usage(finish.usage.raw) if reported is None and finish.usage is not None else reported


def _cost_in_usage(raw: Mapping[str, Any]) -> Decimal | None:
    cost = raw.get("cost")
    if isinstance(cost, dict):
        return _dollars(cost.get("total_cost"))
    if cost is None:
        ticks = _dollars(raw.get("cost_in_usd_ticks"), most=MOST_DOLLARS / _TICK)
        return None if ticks is None else ticks * _TICK
    charged, details = _dollars(cost), raw.get("cost_details")
    if charged is None or raw.get("is_byok") is not True or not isinstance(details, dict):
        return charged
    # With a key of one's own, OpenRouter charges its fee alone, and the provider of the model sends a bill too.
    return charged + (_dollars(details.get("upstream_inference_cost")) or 0)


def _list_cost(usage: Usage, pricing: Pricing) -> Decimal | None:
    """The tokens times their prices; None if a price or a number is missing.

    Tokens read from the cache and written into it cost as much as others where no price of their own is listed. Not all
    servers say what they wrote into it; there the true cost may be some per cent higher.
    """
    if usage.input_tokens is None or usage.output_tokens is None:
        return None
    prices = pricing
    if pricing.long_context is not None and usage.input_tokens >= (pricing.long_context_from or 0):
        prices = pricing.long_context
    if prices.input is None or prices.output is None:
        return None
    read = min(usage.cached_tokens or 0, usage.input_tokens)
    written = min(usage.cache_write_tokens or 0, usage.input_tokens - read)
    cache_read = prices.input if prices.cache_read is None else prices.cache_read
    cache_write = prices.input if prices.cache_write is None else prices.cache_write
    other = (usage.input_tokens - read - written) * prices.input
    return other + read * cache_read + written * cache_write + usage.output_tokens * prices.output


def _dollars(value: Any, most: Decimal = Decimal(MOST_DOLLARS)) -> Decimal | None:
    """The amount in a number or a text, or None; the log names a value that is none."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    try:
        amount = Decimal(str(value)[:_MOST_DIGITS])
    except (InvalidOperation, ValueError):  # an integer of thousands of digits has no text
        amount = Decimal("NaN")
    if amount.is_finite() and 0 <= amount <= most:
        return amount
    _logger.warning("the upstream reports a cost that is no amount in dollars (%.40s); it counts as unknown", amount)
    return None
