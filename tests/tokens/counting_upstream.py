"""A model server that counts prompts with o200k: what it reports over HTTP comes from the JSON that it received.

It answers as the replay upstream does; only the usage is its own. Nothing of what Partstream counts with is used, but
the tokenizer itself.
"""

import json
import time
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager
from functools import lru_cache
from typing import Any

from listening import listening
from partstream.json_codec import dumps, loads
from partstream.testing.answering import Answering, Moment
from partstream.testing.connection import Delivery, HTTPRequest, ServerConnection
from partstream.testing.steps import Send, Step
from partstream.tokens import Vocabulary
from partstream.tokens.counting.counters import bpe_openai_counter

AROUND_A_MESSAGE, AROUND_A_TOOL, AROUND_A_REQUEST = 4, 11, 60
"""Tokens that no text accounts for; not those that Partstream assumes."""


def count_prompt(body: Any) -> int:
    """The tokens of a request to OpenResponses, by its JSON alone."""
    things = [(AROUND_A_MESSAGE, item) for item in body["input"]]
    things += [(AROUND_A_TOOL, tool) for tool in body.get("tools", ())]
    words = _count(body.get("instructions") or "")
    return AROUND_A_REQUEST + words + sum(around + _count_json(json.dumps(thing)) for around, thing in things)


@lru_cache(maxsize=20_000)
def _count_json(thing: str) -> int:
    return sum(map(_count, _words(json.loads(thing))))


def _words(thing: Any) -> Iterator[str]:
    """What a model reads of an item of the input or of a tool."""
    match thing:
        case {"type": "message", "content": str(text)}:
            yield text
        case {"type": "message", "content": list(parts)}:
            yield "".join(part["text"] for part in parts)
        case {"type": "function_call", "name": name, "arguments": arguments}:
            yield name
            yield arguments
        case {"type": "function_call_output", "output": str(text)}:
            yield text
        case {"type": "function_call_output", "output": list(parts)}:
            yield "".join(part["text"] for part in parts)
        case {"type": "function", "name": name, "description": description, "parameters": schema}:
            yield name
            yield description
            yield json.dumps(schema)
        case _:
            raise ValueError(f"nothing is known of how to count {thing}")


@lru_cache(maxsize=1)
def _counter() -> Any:
    return bpe_openai_counter(Vocabulary.O200K)


def _count(text: str) -> int:
    return int(_counter().count(text)) if text else 0


@asynccontextmanager
async def counting_upstream() -> AsyncIterator[str]:
    """The base URL of such a server on loopback."""
    answering = Answering("text", None, 0.0, None, None)
    started = time.time()

    async def serve(connection: ServerConnection) -> None:
        number = 0
        while (request := await connection.next_request()) is not None:
            number += 1
            plan = answering.plan(request, Moment(number, 1, started))
            await connection.deliver(_with_usage(request, plan.steps), Delivery(), lambda: None)

    async with listening(serve) as url:
        yield f"{url}/v1"


def _with_usage(request: HTTPRequest, steps: Iterable[Step]) -> Iterator[Step]:
    """The steps of a reply, with the tokens of the prompt as they are counted here."""
    for step in steps:
        if isinstance(step, Send) and step.event == "response.completed":
            head, data = step.data.split(b"data: ", 1)
            event = loads(data.strip())
            usage = event["response"]["usage"]
            usage["input_tokens"] = count_prompt(loads(request.body))
            usage["total_tokens"] = usage["input_tokens"] + usage["output_tokens"]
            yield Send(head + b"data: " + dumps(event) + b"\n\n", step.event)
        else:
            yield step
