"""Asks as programs with Ollama's Python package do: for a stream, for a stream without waiting, for a document.

Reads one job a line from standard input and writes one result a line; `interop/clients/jobs.py` describes both.
"""

from __future__ import annotations
import asyncio
import json
import sys
from collections.abc import Callable
from typing import Any

import httpx
import ollama


def main() -> None:
    """Runs the jobs in the mode that the second argument names, against the base URL in the first."""
    host = sys.argv[1].removesuffix("/api")
    for line in sys.stdin:
        print(json.dumps(run(host, MODES[sys.argv[2]], json.loads(line))), flush=True)


def run(host: str, ask: Callable[..., list[Any]], job: dict[str, Any]) -> dict[str, Any]:
    """The rounds of one job, and the error that ended it."""
    rounds: list[dict[str, Any]] = []
    messages = list(job["messages"])
    try:
        if job["asks"] in DOCUMENTS:
            return {"told": DOCUMENTS[job["asks"]](ollama.Client(host=host, timeout=20), job), "error": None}
        for _ in range(3):
            chunks = ask(host, {**job["body"], "messages": messages})
            rounds.append(told(chunks))
            results = answers(chunks)
            if not results:
                break
            messages += [one.message for one in chunks] + results
    except (ollama.ResponseError, httpx.HTTPError, ConnectionError) as error:
        return {"rounds": rounds, "error": described(error)}
    return {"rounds": rounds, "error": None}


def described(error: Exception) -> dict[str, Any]:
    """An error in the fields that programs look at."""
    return {
        "kind": type(error).__name__,
        "status": getattr(error, "status_code", None),
        "message": str(error),
        "code": None,
    }


def answers(chunks: list[Any]) -> list[dict[str, Any]]:
    """A result for each call."""
    calls = [call for one in chunks for call in one.message.tool_calls or []]
    return [
        {"role": "tool", "tool_name": one.function.name, "content": f"{one.function.name} says yes"} for one in calls
    ]


def ask_for_chunks(host: str, body: dict[str, Any]) -> list[Any]:
    """The lines of a stream."""
    return list(ollama.Client(host=host, timeout=20).chat(**body, stream=True))


def ask_without_waiting(host: str, body: dict[str, Any]) -> list[Any]:
    """The lines of a stream, from the client for event loops."""

    async def lines() -> list[Any]:
        return [one async for one in await ollama.AsyncClient(host=host, timeout=20).chat(**body, stream=True)]

    return asyncio.run(lines())


def ask_for_document(host: str, body: dict[str, Any]) -> list[Any]:
    """The answer in one document."""
    return [ollama.Client(host=host, timeout=20).chat(**body)]


def told(chunks: list[Any]) -> dict[str, Any]:
    """An answer in the form that all clients are compared in."""
    calls = [call for one in chunks for call in one.message.tool_calls or []]
    last = chunks[-1] if chunks and chunks[-1].done else None
    counts = None if last is None else [last.prompt_eval_count, last.eval_count]
    return {
        "text": "".join(one.message.content or "" for one in chunks),
        "thinking": "".join(one.message.thinking or "" for one in chunks),
        "calls": [
            {"id": getattr(one, "id", None), "name": one.function.name, "input": dict(one.function.arguments)}
            for one in calls
        ],
        "finish": None if last is None else last.done_reason,
        "tokens": counts,
        "sources": [],
    }


def models(client: ollama.Client, _job: dict[str, Any]) -> list[str]:
    """The names of all models."""
    return [one.model for one in client.list().models]


def window(client: ollama.Client, job: dict[str, Any]) -> int:
    """The window of the model."""
    facts = client.show(job["body"]["model"]).modelinfo
    return next(value for name, value in facts.items() if name.endswith(".context_length"))


DOCUMENTS = {"models": models, "window": window}
MODES = {"chunks": ask_for_chunks, "async": ask_without_waiting, "document": ask_for_document}

if __name__ == "__main__":
    main()
