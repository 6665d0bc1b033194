"""A model server that counts prompts with o200k: what it reports over HTTP comes from the JSON that it received.

It answers as the replay upstream does; only the usage is its own. Nothing of what Partstream counts with is used, but
the tokenizer itself.
"""

import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from functools import lru_cache
from typing import Any

from listening import listening
from partstream.codec.json_codec import dumps, loads
from partstream.server.loopback import ServerConnection
from partstream.server.requests import Application, Message, Receive, Scope, Send
from partstream.tokens import Vocabulary
from partstream.tokens.counting import bpe_openai_counter
from partstream_devtools.testing.upstream import ReplayUpstream

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
    upstream = ReplayUpstream()

    async def serve(connection: ServerConnection) -> None:
        while (request := await connection.next_request()) is not None:
            await connection.answer(request, _counting(upstream.application, count_prompt(loads(request.body))))

    async with listening(serve) as url:
        yield f"{url}/v1"


def _counting(application: Application, tokens: int) -> Application:
    """The application, with that number as the tokens of the prompt in what it reports."""

    async def counting(scope: Scope, receive: Receive, send: Send) -> None:
        await application(scope, receive, lambda message: send(_with_usage(message, tokens)))

    return counting


def _with_usage(message: Message, tokens: int) -> Message:
    """The message, with the tokens of the prompt if it holds the event that reports them."""
    data = message.get("body", b"")
    if not data.startswith(b"event: response.completed"):
        return message
    head, said = data.split(b"data: ", 1)
    event = loads(said.strip())
    usage = event["response"]["usage"]
    usage["input_tokens"] = tokens
    usage["total_tokens"] = tokens + usage["output_tokens"]
    return message | {"body": head + b"data: " + dumps(event) + b"\n\n"}
