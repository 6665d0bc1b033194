"""Answers that the owner of an upstream makes itself."""

import asyncio

from partstream import GatewayConfiguration, GatewayProvider, connect
from partstream.lm.outputs import Finish, Outcome
from partstream.lm.parts import TextPart
from partstream_devtools.testing.admission import ScriptedReply
from partstream_devtools.testing.upstream import ReplayUpstream


def _said(text, fault=""):
    return lambda asked: ScriptedReply(iter([TextPart(text), Finish(Outcome.COMPLETED)]), fault)


async def _asked(upstream, text="scenario:thinking"):
    provider = GatewayProvider(GatewayConfiguration(base_url=upstream.base_url, protocol="openresponses"))
    try:
        async with connect(provider, model="text") as model:
            return await model.ask(text)
    finally:
        await provider.aclose()


def test_an_upstream_performs_what_its_owner_makes_whatever_the_request_says():
    async def asked():
        async with ReplayUpstream() as upstream:
            upstream.perform(_said("mine"))
            first = await _asked(upstream)
            upstream.perform(None)
            return first, await _asked(upstream, "scenario:text"), upstream.exchanges[-1].choice

    first, second, choice = asyncio.run(asked())
    assert first == "mine"
    assert "Hello from Partstream" in second
    assert choice == "text"


def test_a_performance_has_faults():
    async def asked():
        async with ReplayUpstream() as upstream:
            upstream.perform(_said("mine", "status=400"))
            try:
                await _asked(upstream)
            except Exception as error:
                return str(error), upstream.exchanges[-1].delivery.status
            return None

    said, status = asyncio.run(asked())
    assert "400" in said
    assert status == 400
