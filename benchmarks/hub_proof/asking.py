"""The clients: each asks once, keeps what it got, and never asks again."""

from __future__ import annotations
import asyncio
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import httpx2

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Reply", "ask", "ask_all", "body_of"]

_LONGEST: Final = 120.0


@dataclass(frozen=True, slots=True)
class Reply:
    """What a client got.

    Attributes:
        port: The worker that was asked.
        status: The status of the reply; 0 if there was none.
        answer_id: The id of the request, as the reply names it, or "".
        words: How many words came.
        is_whole: Whether the answer came to its end.
        said: The error, of a request that was refused.
    """

    port: int
    status: int
    answer_id: str = ""
    words: int = 0
    is_whole: bool = False
    said: str = ""


async def ask_all(ports: Sequence[int], keys: Sequence[str], *, words: int, requests: int) -> list[Reply]:
    """Asks for many answers at once, of each worker in turn, with each key in turn."""
    limits = httpx2.Limits(max_connections=None)
    async with httpx2.AsyncClient(timeout=_LONGEST, limits=limits) as client:
        asked = (
            ask(client, ports[number % len(ports)], keys[number // len(ports) % len(keys)], words)
            for number in range(requests)
        )
        return list(await asyncio.gather(*asked))


def body_of(words: int) -> dict[str, object]:
    """The request of Chat Completions for an answer of so many words."""
    messages = [{"role": "user", "content": str(words)}]
    return {"model": "words", "stream": True, "max_tokens": words, "messages": messages}


async def ask(client: httpx2.AsyncClient, port: int, key: str, words: int) -> Reply:
    """Asks for one answer."""
    url, headers = f"http://127.0.0.1:{port}/v1/chat/completions", {"authorization": f"Bearer {key}"}
    status, answer_id, came, is_whole = 0, "", 0, False
    try:
        async with client.stream("POST", url, json=body_of(words), headers=headers) as response:
            status, answer_id = response.status_code, response.headers.get("x-request-id", "")
            if status != 200:
                return Reply(port, status, answer_id, said=(await response.aread()).decode())
            async for line in response.aiter_lines():
                is_whole = is_whole or line == "data: [DONE]"
                came += _is_word(line)
    except httpx2.TransportError:
        is_whole = False
    return Reply(port, status, answer_id, came, is_whole)


def _is_word(line: str) -> bool:
    if not line.startswith("data: {"):
        return False
    choices = json.loads(line[6:]).get("choices") or [{}]
    return bool(choices[0].get("delta", {}).get("content"))
