import asyncio
from collections.abc import Mapping
from typing import Any

from calling_tools import provider

from partstream import ChatMessage, CheckMode, Tool, ToolFunction, connect, run_tool_loop


def read_file(arguments: Mapping[str, Any]) -> str:
    return f"contents of {arguments['filePath']}"


def test_it_reads_the_file_that_the_person_names() -> None:
    async def ask() -> None:
        tools = [ToolFunction(Tool("read_file", "Reads a file."), read_file)]
        async with connect(provider, contract_mode=CheckMode.STRICT) as model:
            result = await run_tool_loop(model, [ChatMessage.user("notes.txt")], tools)
        assert result.text == "The file says: contents of notes.txt"
        assert result.rounds == 2

    asyncio.run(ask())
