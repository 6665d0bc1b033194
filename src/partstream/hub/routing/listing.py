"""A routed model as hosts and clients see it: one model, with what all its upstreams can do."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from partstream.hub.directory import ModelRoute
    from partstream.provider import LanguageModelChatCapabilities, LanguageModelChatInformation
    from partstream.serving.models import CataloguedModel

__all__ = ["is_behind_a_route", "is_routed", "routed_information"]

_COSTS: Final = (
    "inputCost",
    "outputCost",
    "cacheCost",
    "cacheWriteCost",
    "longContextInputCost",
    "longContextOutputCost",
    "longContextCacheCost",
    "longContextCacheWriteCost",
)
"""The prices of :class:`partstream.provider.ModelFields`."""


def is_routed(route: ModelRoute) -> bool:
    """Whether a model has upstreams or fallbacks; otherwise the hub only knows its price."""
    return bool(route.upstreams or route.fallbacks)


def is_behind_a_route(model: CataloguedModel, routes: Mapping[str, ModelRoute]) -> bool:
    """Whether a model of one of the worker's own providers is to be had by its route alone.

    It is not listed beside the route, and nobody who names it goes around the route.

    Args:
        model: The model of a provider.
        routes: The routed models by name.
    """
    name, model_id = model.provider_name, model.information.id
    if any((one.provider, one.model) == (name, model_id) for route in routes.values() for one in route.upstreams):
        return True
    own = routes.get(model_id)
    return own is not None and not own.upstreams and bool(own.fallbacks)


def routed_information(
    route: ModelRoute,
    upstreams: Sequence[LanguageModelChatInformation],
    in_its_place: Sequence[LanguageModelChatInformation] = (),
) -> LanguageModelChatInformation:
    """What is said of a routed model: the name and the look of its first upstream, the limits and capabilities that all
    of them have, and the highest price that an answer may have.

    Args:
        route: The model.
        upstreams: What its upstreams say of theirs, those with the largest share first; at least one.
        in_its_place: What is said of the models that may answer in its place.
    """
    first = upstreams[0]
    return replace(
        first,
        id=route.name,
        max_input_tokens=min(one.max_input_tokens for one in upstreams),
        max_output_tokens=min(one.max_output_tokens for one in upstreams),
        capabilities=replace(
            first.capabilities,
            image_input=all(one.capabilities.image_input for one in upstreams),
            tool_calling=_tool_calling([one.capabilities for one in upstreams]),
        ),
        extra=_extra([one.extra for one in upstreams], [one.extra for one in in_its_place]),
    )


def _tool_calling(capabilities: Iterable[LanguageModelChatCapabilities]) -> bool | int:
    """False if one of them calls no tools, the smallest number of tools if one says a number, else True."""
    said = [one.tool_calling for one in capabilities]
    if not all(said):
        return False
    numbers = [one for one in said if one is not True]
    return min(numbers) if numbers else True


def _extra(extras: Sequence[Mapping[str, Any]], others: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The further fields: those of the first, choices only where all offer the same, and the highest prices.

    A price that one of them does not say is unknown: it may be higher.
    """
    first = dict(extras[0])
    if any(one.get("configurationSchema") != first.get("configurationSchema") for one in extras):
        first.pop("configurationSchema", None)
    for name in _COSTS:
        costs = [one[name] for one in extras if isinstance(one.get(name), int | float)]
        of_others = [one[name] for one in others if isinstance(one.get(name), int | float)]
        first.pop(name, None)
        if len(costs) == len(extras):
            first[name] = max(*costs, *of_others, costs[0])
    return first
