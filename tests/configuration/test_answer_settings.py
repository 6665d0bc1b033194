"""What a person wants of answers holds from every place where it can be said, with every protocol."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from configuration.standing import PLACES, load_from
from partstream.messages import RequestOptions
from partstream.protocols.registry import asked_protocols
from partstream.settings.row import Place
from partstream.testing import ReplayUpstream
from partstream.upstreams import ConfigurationError, GatewayConfiguration, GatewayProvider
from upstreams.upstreams import ask, run

every_place = pytest.mark.parametrize("place", PLACES, ids=str)


@asynccontextmanager
async def asked(
    place: Place, folder: Path, settings: dict[str, Any], protocol: str = "openresponses", **upstream_settings: Any
) -> AsyncIterator[tuple[ReplayUpstream, GatewayProvider]]:
    """The replay upstream, and a provider whose settings stand in one place."""
    async with ReplayUpstream(**upstream_settings) as upstream:
        given = {"baseUrl": upstream.base_url_of(protocol), "protocol": protocol, "models": ["text"], **settings}
        provider = GatewayProvider(load_from(given, place, folder).gateway())
        try:
            yield upstream, provider
        finally:
            await provider.aclose()


# ---- maxOutputTokens ----

FIELDS = {"openresponses": "max_output_tokens", "ai-gateway": "maxOutputTokens"}
SAID: dict[str, tuple[dict[str, Any], int | None]] = {
    "nowhere": ({}, None),
    "for every model": ({"maxOutputTokens": 700}, 700),
    "for one model": ({"models": [{"id": "text", "maxOutputTokens": 300}]}, 300),
    "for one model, and less for all": (
        {"maxOutputTokens": 100, "models": [{"id": "text", "maxOutputTokens": 300}]},
        300,
    ),
    "for another model": ({"maxOutputTokens": 700, "models": ["text", {"id": "other", "maxOutputTokens": 300}]}, 700),
}


@every_place
@pytest.mark.parametrize("protocol", asked_protocols())
@pytest.mark.parametrize(("settings", "sent"), SAID.values(), ids=SAID)
def test_the_longest_answer_is_sent_in_the_field_of_the_protocol(
    place: Place, protocol: str, settings: dict[str, Any], sent: int | None, tmp_path: Path
):
    async def test() -> None:
        async with asked(place, tmp_path, settings, protocol) as (upstream, provider):
            assert (await ask(provider, "Hi")).error is None
            assert upstream.requests[-1].body.get(FIELDS[protocol]) == sent

    run(test())


@pytest.mark.parametrize("protocol", asked_protocols())
def test_what_is_chosen_for_one_request_wins_and_a_body_of_ones_own_over_that(protocol: str, tmp_path: Path):
    async def test() -> None:
        options = RequestOptions(model_options={"max_tokens": 5})
        async with asked(Place.GROUP, tmp_path, {"maxOutputTokens": 700}, protocol) as (upstream, provider):
            await ask(provider, "Hi", options=options)
            assert upstream.requests[-1].body[FIELDS[protocol]] == 5
        settings = {"maxOutputTokens": 700, "request": {"extraBody": {FIELDS[protocol]: None}}}
        async with asked(Place.GROUP, tmp_path, settings, protocol) as (upstream, provider):
            await ask(provider, "Hi", options=options)
            assert FIELDS[protocol] not in upstream.requests[-1].body

    run(test())


def test_no_longest_answer_of_nothing():
    with pytest.raises(ConfigurationError, match="maxOutputTokens: got 0, expected a whole number from 1"):
        GatewayConfiguration("https://host/v1", max_output_tokens=0)
