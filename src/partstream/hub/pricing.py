"""What a model costs: its price, what an answer costs at most, and what it cost; in whole nanodollars, rounded up.

The route's own price counts where there is one. Otherwise that which the provider lists does, and the upstream's own
bill where it reports one.
"""

from __future__ import annotations

from decimal import ROUND_CEILING, Decimal
from typing import TYPE_CHECKING, Final, NamedTuple

from partstream.hub.directory import MOST_AMOUNT, ModelPrice
from partstream.numbers import as_count

if TYPE_CHECKING:
    from collections.abc import Sequence

    from partstream.hub.directory import Directory
    from partstream.serving.models import CataloguedModel
    from partstream.usage import Usage

__all__ = ["ChargedPrice", "charged_price", "cost_of_usage", "highest_cost", "output_covered"]

_MILLION: Final = 1_000_000
_OF_A_CENT: Final = 10**7
"""Nanodollars of a hundredth of a dollar, in which providers list the price of a million tokens."""
_LONG: Final = "longContext"


class ChargedPrice(NamedTuple):
    """What is charged for a model.

    Attributes:
        price: The price.
        highest: The highest prices that may hold for a request: those of long conversations, and those that the hub
            says of the models that may answer in its place.
        is_of_route: Whether the hub itself says the price: what an upstream reports does not matter then.
    """

    price: ModelPrice
    highest: ModelPrice
    is_of_route: bool


def charged_price(directory: Directory, model: CataloguedModel) -> ChargedPrice | None:
    """What is charged for a model; None if nobody knows its price.

    Args:
        directory: The routes with prices of their own.
        model: The model.
    """
    route = directory.routes.get(model.id)
    if route is not None and route.price is not None:
        return ChargedPrice(route.price, route.price, is_of_route=True)
    extra = model.information.extra
    said = _listed(extra, "inputCost", "outputCost", "cacheCost", "cacheWriteCost")
    if said is None:
        return None
    names = (f"{_LONG}{name}" for name in ("InputCost", "OutputCost", "CacheCost", "CacheWriteCost"))
    in_its_place = () if route is None else (directory.routes.get(name) for name in route.fallbacks)
    others = (_listed(extra, *names), *(one.price for one in in_its_place if one is not None))
    return ChargedPrice(said, _highest((said, *(one for one in others if one is not None))), is_of_route=False)


def highest_cost(price: ModelPrice, input_tokens: int, output_tokens: int) -> int:
    """What a request costs at most.

    Args:
        price: The highest prices.
        input_tokens: The most tokens of its input, each of which may be written to a cache.
        output_tokens: The most tokens of its output.
    """
    return _rounded_up(input_tokens * _dearest_input(price) + output_tokens * price.output)


def output_covered(price: ModelPrice, input_tokens: int, amount: int) -> int | None:
    """How many tokens of output an amount covers beside the most that the input costs; None for any number.

    Args:
        price: The highest prices.
        input_tokens: The most tokens of the input.
        amount: What is reserved, in nanodollars.
    """
    rest = amount * _MILLION - input_tokens * _dearest_input(price)
    return max(0, rest // price.output) if price.output else None


def cost_of_usage(price: ModelPrice, usage: Usage) -> int:
    """What tokens cost; a number that is not known counts as none."""
    given = as_count(usage.input_tokens) or 0
    read = min(as_count(usage.cached_tokens) or 0, given)
    written = min(as_count(usage.cache_write_tokens) or 0, given - read)
    return _rounded_up(
        (given - read - written) * price.input
        + read * (price.input if price.cached_input is None else price.cached_input)
        + written * (price.input if price.cache_write is None else price.cache_write)
        + (as_count(usage.output_tokens) or 0) * price.output
    )


def _dearest_input(price: ModelPrice) -> int:
    return max(price.input, price.cached_input or 0, price.cache_write or 0)


def _rounded_up(millionths: int) -> int:
    return -(-millionths // _MILLION)


def _listed(extra: object, *names: str) -> ModelPrice | None:
    """The prices of these names; None without those of input and output."""
    if not hasattr(extra, "get"):
        return None
    given, written, read, cached = (_nanodollars(extra.get(name)) for name in names)
    return None if given is None or written is None else ModelPrice(given, written, read, cached)


def _nanodollars(cents: object) -> int | None:
    """The price of a million tokens; None for what is none."""
    if isinstance(cents, bool) or not isinstance(cents, int | float) or not 0 <= cents <= MOST_AMOUNT:
        return None
    exact = Decimal(str(cents)) * _OF_A_CENT
    if exact > MOST_AMOUNT:
        return None
    return int(exact.to_integral_value(ROUND_CEILING))


def _highest(prices: Sequence[ModelPrice]) -> ModelPrice:
    cached = [one.cached_input for one in prices if one.cached_input is not None]
    written = [one.cache_write for one in prices if one.cache_write is not None]
    return ModelPrice(
        max(one.input for one in prices),
        max(one.output for one in prices),
        max(cached, default=None),
        max(written, default=None),
    )
