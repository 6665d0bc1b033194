"""What Server example promises: `python -m pytest` checks it, with a server of its own."""

import asyncio

import pytest
from partstream import ask
from partstream_devtools.conformance import assert_contract, recorded_answer
from partstream_devtools.testing import ReplayUpstream

from server_example import provider


def test_it_hands_on_the_answer_and_keeps_the_contract_of_vs_code(monkeypatch: pytest.MonkeyPatch) -> None:
    async def test() -> None:
        async with ReplayUpstream() as server:
            monkeypatch.setenv("MODEL_SERVER", server.base_url)
            answer = await ask(provider, "scenario:text")
            assert answer.startswith("Hello from Partstream!")
            assert_contract(await recorded_answer(provider, "scenario:thinking"))

    asyncio.run(test())
