"""What the clients of model servers stream, as parts of an answer: found out by its events, and closed in the end."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing
from typing import Any

import pytest
from pydantic import BaseModel
from scenarios import Chat

from partstream import (
    Finish,
    InvalidArgumentError,
    LanguageModelError,
    TextPart,
    ToolCallPart,
    UnknownProtocolError,
    UpstreamConnectionError,
    UpstreamHTTPError,
    UpstreamProtocolError,
    chat_model,
    from_events,
)
from partstream.conversation.thinking import open_response
from partstream.lm.outputs import StreamOptions
from partstream.protocols.protocol import PROTOCOLS
from partstream_devtools.testing.upstream import ReplayUpstream
from recordings import recordings
from rows import one_test_for

CHAT = [
    {"object": "chat.completion.chunk", "id": "c", "choices": [{"index": 0, "delta": {"content": "Hel"}}]},
    {"object": "chat.completion.chunk", "id": "c", "choices": [{"index": 0, "delta": {"content": "lo"}}]},
    {
        "object": "chat.completion.chunk",
        "id": "c",
        "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5},
    },
]


class Chunk(BaseModel):
    """An object as the clients of OpenAI and LiteLLM give it."""

    id: str
    object: str
    choices: list[dict[str, Any]]
    usage: dict[str, Any] | None = None
    system_fingerprint: str | None = None


class Stream:
    """A stream as the client of OpenAI has it: an asynchronous iterator that is closed by `close`."""

    def __init__(self, events: list[Any], error: Exception | None = None) -> None:
        self._events = events
        self._error = error
        self.is_closed = False

    async def __aiter__(self):
        for event in self._events:
            await asyncio.sleep(0)
            yield event
        if self._error is not None:
            raise self._error

    async def close(self) -> None:
        self.is_closed = True


def _parts(events: Any, protocol: str | None = None) -> list[Any]:
    async def collect() -> list[Any]:
        return [part async for part in from_events(events, protocol)]

    return asyncio.run(collect())


FORMS = {
    "dicts": CHAT,
    "objects of Pydantic": [Chunk(**event) for event in CHAT],
    "JSON texts": [json.dumps(event) for event in CHAT],
    "an asynchronous stream": Stream(CHAT),
    "a generator": (event for event in CHAT),
}


@one_test_for("events", FORMS.values(), ids=FORMS)
def test_events_become_parts_in_whatever_form_they_come(events):
    *parts, finish = _parts(events)
    assert parts == [TextPart("Hel"), TextPart("lo")]
    assert isinstance(finish, Finish)
    assert (finish.usage.input_tokens, finish.usage.output_tokens) == (3, 2)


RECORDED = [
    (folder.replace("_", "-"), one.values[0])
    for folder in ("openresponses", "chat_completions", "anthropic_messages", "gemini")
    for one in recordings(folder)[:8]
    if one.values[0].path.is_file()
]


@one_test_for(("name", "recording"), RECORDED, ids=[recording.path.stem for _, recording in RECORDED])
def test_the_protocol_is_found_out_by_the_events(name, recording):
    events = [json.loads(line) for line in recording.lines]
    stream = open_response(PROTOCOLS[name].read_response(), StreamOptions(call_id_prefix=""))
    expected = [part for event in events for part in stream.feed(event)] + stream.end()
    kinds = (TextPart, ToolCallPart)
    found = [one for one in _parts(events) if isinstance(one, kinds)]
    assert found == [one for one in expected if isinstance(one, kinds)]


def test_the_stream_of_the_client_is_closed_at_the_end_and_at_a_cancellation():
    async def read() -> list[bool]:
        whole, left = Stream(CHAT), Stream(CHAT)
        async for _ in from_events(whole):
            pass
        async with aclosing(from_events(left)) as parts:
            async for _ in parts:
                break
        return [whole.is_closed, left.is_closed]

    assert asyncio.run(read()) == [True, True]


class APIStatusError(Exception):
    status_code = 429


class RateLimitError(APIStatusError):
    """As the clients of OpenAI and Anthropic raise it."""


class APIConnectionError(Exception):
    """As the clients of OpenAI and Anthropic raise it."""


@pytest.mark.parametrize(
    ("error", "becomes", "said"),
    [
        (RateLimitError("spent"), UpstreamHTTPError, "HTTP 429: spent"),
        (APIConnectionError("no way"), UpstreamConnectionError, "no way"),
        (ZeroDivisionError("a bug"), ZeroDivisionError, "a bug"),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_an_error_of_the_client_comes_after_the_parts_before_it(error, becomes, said):
    @chat_model(name="Mine")
    async def provider(messages, options):
        async for part in from_events(Stream(CHAT[:1], error)):
            yield part

    answer = asyncio.run(Chat(provider, ()).say("Hi", fails=True))
    assert answer.text == "Hel"
    assert isinstance(answer.error, becomes)
    assert said in str(answer.error)
    assert error in (answer.error, answer.error.__cause__)


def test_events_of_nobody_are_an_error():
    [finish] = _parts([{"a": 1}, {"b": 2}])
    assert isinstance(finish.error, LanguageModelError)


def test_a_stream_that_breaks_off_is_an_error():
    *parts, finish = _parts(CHAT[:2])
    assert parts == [TextPart("Hel"), TextPart("lo")]
    assert isinstance(finish.error, LanguageModelError)


REFUSED = {
    "a whole answer": (Chunk(**CHAT[0]), None, InvalidArgumentError, "stream=True"),
    "one event": (CHAT[0], None, InvalidArgumentError, "stream=True"),
    "an unknown protocol": (CHAT, "unheard-of", UnknownProtocolError, "unheard-of"),
    "no event": ([], None, UpstreamProtocolError, "no event"),
    "no objects": ([1], None, UpstreamProtocolError, "int 1"),
}


@one_test_for(("events", "protocol", "error", "said"), REFUSED.values(), ids=REFUSED)
def test_what_is_no_stream_of_events_is_refused_with_what_would_do(events, protocol, error, said):
    with pytest.raises(error, match=said):
        _parts(events, protocol)


def test_the_events_of_a_real_client_are_read_in_both_of_its_wires():
    import openai  # other tests of agents pay for it too

    tool = {"name": "read_file", "strict": False, "parameters": {"type": "object", "properties": {}}}
    asked = {"model": "tools", "stream": True}

    async def ask() -> list[list[Any]]:
        async with (
            asyncio.timeout(30),
            ReplayUpstream(scenario="tools") as upstream,
            openai.AsyncOpenAI(base_url=upstream.base_url, api_key="key", max_retries=0) as client,
        ):
            events = [
                await client.responses.create(
                    input="Hi", tools=[{"type": "function", "strict": False, **tool}], **asked
                ),
                await client.chat.completions.create(
                    messages=[{"role": "user", "content": "Hi"}],
                    tools=[{"type": "function", "function": tool}],
                    **asked,
                ),
            ]
            return [[part async for part in from_events(one)] for one in events]

    for parts in asyncio.run(ask()):
        assert [part.name for part in parts if isinstance(part, ToolCallPart)] == ["read_file", "read_file"]
        assert "".join(part.value for part in parts if isinstance(part, TextPart)).endswith("up.")
        assert parts[-1].usage.output_tokens == 21


class _Closable(list[Any]):
    closed = False

    def close(self) -> None:
        self.closed = True


def test_events_of_a_synchronous_client_are_read_without_async() -> None:
    events = _Closable(CHAT)
    assert repr(list(from_events(events))) == repr(_parts(CHAT))
    assert events.closed


def test_a_synchronous_client_that_breaks_off_raises_behind_the_parts_before_it() -> None:
    def broken() -> Iterator[Any]:
        yield from CHAT[:2]
        raise OSError("cable")

    parts = iter(from_events(broken()))
    assert [next(parts), next(parts)] == [TextPart("Hel"), TextPart("lo")]
    with pytest.raises(OSError, match="cable"):
        next(parts)


def test_asynchronous_events_say_that_they_are_read_with_async_for() -> None:
    async def events() -> AsyncIterator[Any]:
        yield CHAT[0]

    with pytest.raises(InvalidArgumentError, match="`async for` reads these"):
        iter(from_events(events()))


@pytest.mark.parametrize("protocol", ["openai", "auto", None, PROTOCOLS["chat-completions"]])
def test_the_protocol_may_be_any_of_its_names(protocol: Any) -> None:
    assert repr(list(from_events(CHAT, protocol))) == repr(_parts(CHAT))
