"""A burst at the limit of a budget: how many requests are answered, and how many are refused."""

from __future__ import annotations
import asyncio
import json
from dataclasses import dataclass
from typing import Final

import httpx2

__all__ = ["Burst", "burst"]

_LONGEST: Final = 120.0


@dataclass(frozen=True, slots=True)
class Burst:
    """What came of a burst.

    Attributes:
        answered: How many requests got a whole answer.
        refused: How many were refused, by status.
        words: The words of all answers: what the model server was paid for.
    """

    answered: int
    refused: dict[str, int]
    words: int


def burst(port: int, key: str, *, requests: int, at_once: int, words: int) -> Burst:
    """Asks for many answers at once; never again for one that was refused.

    Args:
        port: Of the gateway.
        key: Whose budget pays.
        requests: How many.
        at_once: How many of them run at once.
        words: The words of an answer.
    """
    return asyncio.run(_burst(port, key, requests, at_once, words))


async def _burst(port: int, key: str, requests: int, at_once: int, words: int) -> Burst:
    body = {
        "model": "words",
        "stream": True,
        "max_tokens": words,
        "stream_options": {"include_usage": True},
        "messages": [{"role": "user", "content": str(words)}],
    }
    refused: dict[str, int] = {}
    answered = paid = 0
    room = asyncio.Semaphore(at_once)
    limits = httpx2.Limits(max_connections=at_once)
    async with httpx2.AsyncClient(timeout=_LONGEST, limits=limits) as client:

        async def ask() -> None:
            nonlocal answered, paid
            async with room:
                headers = {"authorization": f"Bearer {key}"}
                url = f"http://127.0.0.1:{port}/v1/chat/completions"
                response = await client.post(url, json=body, headers=headers)
            if response.status_code != 200:
                status = str(response.status_code)
                refused[status] = refused.get(status, 0) + 1
                return
            answered += 1
            paid += _words(response.text)

        await asyncio.gather(*(ask() for _ in range(requests)))
    return Burst(answered, refused, paid)


def _words(text: str) -> int:
    """The words of an answer, of which each is an event."""
    events = [line[6:] for line in text.splitlines() if line.startswith("data: {")]
    return sum(bool((json.loads(one).get("choices") or [{}])[0].get("delta", {}).get("content")) for one in events)
