"""Reads prices in the units of the servers that state prices, as US dollars per token."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, Final

from partstream.codec.checks import MOST_DOLLARS
from partstream.upstream.model_facts import Fact, Pricing

if TYPE_CHECKING:
    from partstream.upstream.model_facts import Fields

__all__ = ["XAI_PRICE_NAMES", "dollars_per_million", "dollars_per_token", "per_token_with_tiers", "xai_prices"]

_MILLION: Final = 1_000_000
_XAI_UNIT: Final = Decimal("1e-10")
"""US dollars: xAI states cents per 100 million tokens."""
XAI_PRICE_NAMES: Final = (
    "prompt_text_token_price",
    "completion_text_token_price",
    "cached_prompt_text_token_price",
)
_TIERS = ("input", "output", "input_cache_read", "input_cache_write")


def dollars_per_token(fields: Fields) -> Fact[Pricing] | None:
    """The prices under OpenRouter's names; None without prices for text."""
    return _known(
        Pricing(
            input=fields.dollars("prompt"),
            output=fields.dollars("completion"),
            cache_read=fields.dollars("input_cache_read"),
            cache_write=fields.dollars("input_cache_write"),
        ),
        fields,
    )


def dollars_per_million(
    fields: Fields, names: tuple[str, str], cache: tuple[str, ...] = (), *, tokens: int = _MILLION
) -> Fact[Pricing] | None:
    """The prices under names of a server's own; None without prices for text.

    Args:
        fields: The object that holds the prices.
        names: The names of the prices of prompt and answer.
        cache: The names of the prices of tokens that are read from the cache, and that are written to it.
        tokens: The number of tokens that the prices are stated for.
    """
    read = [None if (price := fields.dollars(name)) is None else price / tokens for name in (*names, *cache)]
    known = [*read, None, None]
    return _known(Pricing(known[0], known[1], known[2], known[3]), fields)


def xai_prices(fields: Fields) -> Fact[Pricing] | None:
    """The prices of xAI's list of language models; None without any."""
    numbers = [fields.number(name) for name in XAI_PRICE_NAMES]
    prices = [None if one is None or not 0 <= one < MOST_DOLLARS * 10**4 else one * _XAI_UNIT for one in numbers]
    return _known(Pricing(prices[0], prices[1], prices[2]), fields)


def per_token_with_tiers(fields: Fields) -> Fact[Pricing] | None:
    """The prices under the Vercel AI Gateway's names, including those of long prompts (`*_tiers`)."""
    starts = sorted({start for name in _TIERS for start, _ in _tiers(fields, name) if start > 0})
    pricing = _prices_at(fields, 0)
    if starts:
        # VS Code shows two columns: the first tier and the second.
        pricing = replace(pricing, long_context=_prices_at(fields, starts[0]), long_context_from=starts[0])
    return _known(pricing, fields)


def _prices_at(fields: Fields, tokens: int) -> Pricing:
    """The prices of a token in a prompt of `tokens` tokens; a price without tiers holds for all prompts."""
    known = []
    for name in _TIERS:
        prices = [price for start, price in _tiers(fields, name) if start <= tokens]
        known.append(prices[-1] if prices else fields.dollars(name))
    return Pricing(known[0], known[1], known[2], known[3])


def _tiers(fields: Fields, name: str) -> list[tuple[int, Decimal]]:
    """The number of tokens from which each price holds, and the price, in ascending order; `min` is inclusive."""
    tiers = []
    for tier in fields.objects(f"{name}_tiers"):
        price, start = tier.dollars("cost"), tier.tokens("min")
        if price is not None:
            tiers.append((start.value if start else 0, price))
    return sorted(tiers)


def _known(pricing: Pricing, fields: Fields) -> Fact[Pricing] | None:
    prices = (pricing.input, pricing.output, pricing.cache_read, pricing.cache_write)
    return None if all(price is None for price in prices) else Fact(pricing, fields.source, "pricing")
