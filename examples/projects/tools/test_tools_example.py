"""What Tools example promises: `python -m pytest` checks it."""

import asyncio
from collections.abc import Mapping
from typing import Any

from partstream import ChatMessage, CheckMode, Tool, ToolFunction, ask_sync, connect, run_tool_loop
from partstream_devtools.conformance import assert_contract, recorded_answer_sync

from tools_example import provider


def shout(arguments: Mapping[str, Any]) -> str:
    return str(arguments["text"]).upper()


def test_it_calls_a_tool_and_says_what_the_tool_said() -> None:
    async def test() -> None:
        tools = [ToolFunction(Tool("shout", "Says it loudly."), shout)]
        async with connect(provider, contract_mode=CheckMode.STRICT) as model:
            result = await run_tool_loop(model, [ChatMessage.user('run shout {"text": "hello"}')], tools)
        assert result.text == "The tool said: HELLO"

    asyncio.run(test())


def test_without_a_tool_it_says_what_it_takes() -> None:
    assert ask_sync(provider, "Hello") == "I have 0 tools. Say `run NAME {...}`."
    assert_contract(recorded_answer_sync(provider, "Hello"))
