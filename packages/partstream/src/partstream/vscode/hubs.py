"""Joins hubs, and asks them what is left of budgets; where no group has the key of a hub, no hub is asked."""

from __future__ import annotations
import logging
from contextlib import suppress
from typing import TYPE_CHECKING

from partstream.errors import LanguageModelError
from partstream.settings.kinds import ConfigurationError
from partstream.settings.row import hidden_url
from partstream.vscode.gateway import GatewayLoader, GatewaySurroundings

if TYPE_CHECKING:
    from partstream.upstream.configuration import GatewayConfiguration
    from partstream.upstream.hub import HubStanding
    from partstream.vscode import rpc_types as wire
    from partstream.vscode.hosted import HostedProvider

_logger = logging.getLogger("partstream.hosts.vscode")


async def join_hub(params: wire.JoinHubParams, surroundings: GatewaySurroundings) -> wire.JoinHubResult:
    """Gives a join code for a key, at the address that the person has confirmed and at no other.

    Args:
        params: The address and the code, both checked again: a link may come from anybody.
        surroundings: The other things that a gateway needs; learns the code and the key, so that no log shows them.
    """
    from partstream.upstream.hub import (  # noqa: PLC0415 - as above
        base_url_of,
        hub_address,
        join,
        join_code,
    )

    surroundings.learn(params["code"])
    try:
        base_url = base_url_of(hub_address(params["hub"]))
        code = join_code(params["code"])
        joined = await join(GatewayLoader({"baseUrl": base_url}, surroundings).configuration(), code)
    except (LanguageModelError, ConfigurationError) as error:
        return {"problem": str(error)}
    key = joined.key.reveal()
    surroundings.learn(key)
    return {"joined": {"baseUrl": base_url, "apiKey": key, "person": joined.person}}


async def hub_of(hosted: HostedProvider) -> GatewayConfiguration | None:
    """The hub that a group asks, if its provider is loaded and its key is one that a hub gave; None for all others."""
    from partstream.upstream.hub import is_of_hub  # noqa: PLC0415 - with httpx2, which a loaded gateway has imported
    from partstream.upstream.provider import GatewayProvider  # noqa: PLC0415 - as above

    generation = hosted.loaded
    if generation is None or not isinstance(generation.provider, GatewayProvider):
        return None
    configuration = generation.provider.configuration
    with suppress(LanguageModelError):  # the list of its models says that there is no key
        return configuration if await is_of_hub(configuration) else None
    return None


async def standing_of(hub: GatewayConfiguration) -> wire.HubStanding:
    """The standing of the person whose key a hub gave, or why it is unknown."""
    from partstream.upstream.hub import fetch_standing  # noqa: PLC0415 - as above

    address = hidden_url(hub.base_url).partition("?")[0].rstrip("/").removesuffix("/v1")
    shown: wire.HubStanding = {"hub": address, "page": f"{address}/hub", "person": "", "budgets": []}
    try:
        standing = await fetch_standing(hub)
    except (LanguageModelError, ConfigurationError) as error:
        _logger.info("nothing is known of the budgets at %s: %s", address, error)
        return {**shown, "problem": str(error)}
    for problem in standing.problems:
        _logger.warning("the budgets at %s: %s", address, problem)
    return {**shown, "person": standing.person, "budgets": _budgets(standing)}


def _budgets(standing: HubStanding) -> list[wire.HubBudget]:
    from partstream.upstream.hub import left_text  # noqa: PLC0415 - as above

    return [
        {"text": left_text(one), "shareLeft": one.share_left, "resetsAt": one.resets_at} for one in standing.budgets
    ]
