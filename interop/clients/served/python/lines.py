"""One trial a line on standard input, one result a line on standard output; `interop/clients/served/trials.py`
describes both."""

from __future__ import annotations
import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from typing import Any

TOOL_RESULTS = {"weather": "sunny", "time": "noon"}
"""What the tools say."""

SCHEMAS = {
    "weather": {
        "type": "object",
        "properties": {"place": {"type": "string"}},
        "required": ["place"],
        "additionalProperties": False,
    },
    "time": {
        "type": "object",
        "properties": {"place": {"type": "string"}, "weather": {"type": "string"}},
        "required": ["place", "weather"],
        "additionalProperties": False,
    },
}
"""The schemas of the tools' arguments."""

MOST_ROUNDS = 5


class Told:
    """What a client has shown of a trial so far."""

    def __init__(self) -> None:
        self.text = ""
        self.thinking = ""
        self.tools: list[list[Any]] = []
        self.tokens: list[int] | None = None

    def weather(self, place: str) -> str:
        """The weather at a place.

        Args:
            place: The place.
        """
        return self.run("weather", {"place": place})

    def time(self, place: str, weather: str) -> str:
        """The time at a place.

        Args:
            place: The place.
            weather: The weather there.
        """
        return self.run("time", {"place": place, "weather": weather})

    def run(self, name: str, arguments: dict[str, Any]) -> str:
        """Runs a tool, and says what it says."""
        self.tools.append([name, arguments])
        return TOOL_RESULTS[name]


def serve(ask: Callable[[dict[str, Any], Told], Awaitable[None] | None]) -> None:
    """Lets a client do the trials; `ask` fills in what it shows, and raises what the client raises."""
    for line in sys.stdin:
        trial, told = json.loads(line), Told()
        error = None
        try:
            waiting = ask(trial, told)
            if waiting is not None:
                asyncio.run(_all_of(waiting))
        except Exception as raised:
            error = _described(raised)
        result = {"text": told.text, "thinking": told.thinking, "tools": told.tools, "tokens": told.tokens}
        print(json.dumps({**result, "error": error}), flush=True)


async def _all_of(waiting: Awaitable[None]) -> None:
    await waiting


def _described(error: BaseException) -> dict[str, Any]:
    """An error in the fields that programs look at; of a group, its first one."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    status = next(
        (value for name in ("status_code", "code", "status") if isinstance(value := getattr(error, name, None), int)),
        None,
    )
    return {"kind": type(error).__name__, "status": status, "message": str(error).strip()[:300]}
