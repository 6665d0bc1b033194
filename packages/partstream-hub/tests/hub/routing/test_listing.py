"""What is said of a routed model: what all its upstreams can do, and the highest price that an answer may come to."""

from __future__ import annotations
import asyncio
from typing import Any

import pytest

from partstream.lm.cancellation import CancellationToken
from partstream.lm.provider import LanguageModelChatCapabilities, LanguageModelChatInformation
from partstream_hub.directory import ModelRoute, Route
from partstream_hub.routing import RoutedProvider, UpstreamModels, routed_information
from serving.asgi import WAIT
from serving.test_models import Listing

ROUTE = ModelRoute("big")


def model(
    tools: bool | int = True, images: bool = True, most: int = 1000, **extra: Any
) -> LanguageModelChatInformation:
    capabilities = LanguageModelChatCapabilities(image_input=images, tool_calling=tools)
    return LanguageModelChatInformation(
        "m", "Big", "big", "1", most, most // 10, capabilities=capabilities, extra=extra
    )


def test_it_has_the_limits_that_every_upstream_keeps():
    listed = routed_information(ROUTE, [model(most=2000), model(most=500)])
    assert (listed.id, listed.name, listed.max_input_tokens, listed.max_output_tokens) == ("big", "Big", 500, 50)


@pytest.mark.parametrize(
    ("tools", "together"), [((True, True), True), ((True, 64), 64), ((128, 64), 64), ((True, False), False)]
)
def test_it_calls_the_tools_that_every_upstream_calls(tools, together):
    assert routed_information(ROUTE, [model(tools=one) for one in tools]).capabilities.tool_calling == together


def test_it_sees_images_if_all_do():
    assert not routed_information(ROUTE, [model(), model(images=False)]).capabilities.image_input


@pytest.mark.parametrize(
    ("own", "fallbacks", "price"),
    [
        ((300, 500), (), 500),
        ((300, 500), (900,), 900),
        ((300, None), (), None),
        ((300,), (None,), 300),
    ],
)
def test_its_price_is_the_highest_that_an_answer_may_come_to(own, fallbacks, price):
    def of(cost):
        return model() if cost is None else model(inputCost=cost)

    listed = routed_information(ROUTE, [of(cost) for cost in own], [of(cost) for cost in fallbacks])
    assert listed.extra.get("inputCost") == price


def test_it_offers_the_choices_that_all_upstreams_offer():
    choices = {"properties": {"reasoningEffort": {}}}
    assert routed_information(ROUTE, [model(configurationSchema=choices)] * 2).extra == {"configurationSchema": choices}
    assert routed_information(ROUTE, [model(configurationSchema=choices), model()]).extra == {}


def test_a_provider_whose_list_hangs_again_holds_up_those_alone_who_want_a_model_that_no_other_offers() -> None:
    async def run() -> None:
        evil = Listing("q")
        evil.error = ValueError()
        models = UpstreamModels({"evil": evil, "good": Listing("m")})
        assert await models.offering("m") == (Route("good", "m"),)
        evil.gate.clear()
        evil.error = None
        async with asyncio.timeout(WAIT):
            assert [await models.offering("m") for _ in range(5)] == [(Route("good", "m"),)] * 5
            assert not evil.gate.is_set()
            wanting = asyncio.create_task(models.offering("q"))
            await asyncio.sleep(0)
            evil.gate.set()
            assert await wanting == (Route("evil", "q"),)

    asyncio.run(run())


def test_models_that_a_hanging_provider_may_offer_are_waited_for_together() -> None:
    async def run() -> None:
        evil = Listing("q1", "q2", "q3")
        evil.error = ValueError()
        routes = {name: ModelRoute(name, (Route("evil", "q1"),), (f"q{name}",)) for name in "123"}
        routed = RoutedProvider({"evil": evil}, routes)
        assert not await routed.provide_language_model_chat_information(True, CancellationToken())
        before, evil.error = evil.asked, ValueError()
        async with asyncio.timeout(WAIT):
            await routed.provide_language_model_chat_information(True, CancellationToken())
        assert evil.asked - before <= 3  # for the names without and with a wait, and for the list

    asyncio.run(run())
