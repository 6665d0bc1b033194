"""What all workers in Python do alike: a line of JSON comes, one goes."""

from __future__ import annotations
import asyncio
import json
import sys
import warnings
from typing import Any

SECONDS = 20.0


class Told:
    """What a parser told of one stream."""

    def __init__(self) -> None:
        self.text = ""
        self.thinking = ""
        self.calls: list[Any] = []
        self.tokens: list[int | None] | None = None
        self.failed: str | None = None


def arguments_of(text: Any) -> Any:
    """Arguments of a call as a value: none are an empty object, and a text that is no JSON stays as it is."""
    if not isinstance(text, str):
        return text
    try:
        return json.loads(text or "{}") or {}
    except ValueError:
        return text


def serve(read: Any) -> None:
    """Reads lines `{"wire", "name", "url"}` and writes what `read(wire, url, told)` has told."""
    warnings.simplefilter("ignore")
    out = sys.stdout
    sys.stdout = sys.stderr  # packages print

    async def one(order: dict[str, str]) -> dict[str, Any]:
        told = Told()
        try:
            async with asyncio.timeout(SECONDS):
                await read(order["wire"], order["url"], told)
        except TimeoutError:
            told.failed = f"TimeoutError: no end within {SECONDS:g} s"
        except Exception as error:  # whatever a package raises is what is looked at
            told.failed = f"{type(error).__name__}: {error}"[:300]
        return {"name": order["name"], **vars(told)}

    async def all_of_them() -> None:
        for line in sys.stdin:
            print(json.dumps(await one(json.loads(line))), file=out, flush=True)

    asyncio.run(all_of_them())
