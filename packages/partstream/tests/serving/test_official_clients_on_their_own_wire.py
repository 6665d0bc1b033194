"""The official clients before a vendor of their own wire: what the vendor and the client get is the same as without the
server between them."""

from __future__ import annotations
import asyncio
import gzip
import json
from typing import TYPE_CHECKING, Any

import pytest

from partstream.protocols.protocol import PROTOCOLS
from partstream.server.application import app
from partstream_devtools.testing.faults import End, Head, Send, Stall
from serving.asgi import WAIT
from serving.served import served
from serving.vendors import CHAT, GEMINI, INTERACTIONS, MESSAGES, MODEL, RESPONSES, VENDORS, Vendor, vendor_of
from upstreams.upstreams import run, server_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

# A client that is imported for the first time is compiled first: half a minute where much else runs.
pytestmark = pytest.mark.timeout(240)

SAID: Any = [{"role": "user", "content": "Hi"}]
TWO: dict[str, Any] = {"candidate_count": 2, "response_logprobs": True}


async def _chat(url: str, key: str) -> list[Any]:
    from openai import AsyncOpenAI

    async with AsyncOpenAI(base_url=f"{url}/v1", api_key=key, max_retries=0, project="proj_1") as client:
        asked: dict[str, Any] = {"model": MODEL, "messages": SAID, "n": 2, "logprobs": True, "store": True}
        create = client.chat.completions.create
        whole = await create(**asked, extra_headers={"x-client-request-id": "mine"})
        options: Any = {"include_usage": True, "include_obfuscation": False}
        return [
            whole,
            *[one async for one in await client.chat.completions.create(**asked, stream=True, stream_options=options)],
        ]


async def _responses(url: str, key: str) -> list[Any]:
    from openai import AsyncOpenAI

    async with AsyncOpenAI(base_url=f"{url}/v1", api_key=key, max_retries=0) as client:
        asked: dict[str, Any] = {"model": MODEL, "input": "Hi", "prompt": {"id": "pmpt_1"}, "store": False}
        asked |= {"previous_response_id": "resp_of_the_vendor", "extra_body": {"own": [1.5, None]}}
        whole = await client.responses.create(**asked, top_logprobs=2)
        return [whole, *[one async for one in await client.responses.create(**asked, stream=True)]]


async def _messages(url: str, key: str) -> list[Any]:
    from anthropic import AsyncAnthropic

    async with AsyncAnthropic(base_url=url, api_key=key, max_retries=0) as client:
        asked: dict[str, Any] = {"model": MODEL, "max_tokens": 9, "messages": SAID, "betas": ["context-1m-2025-08-07"]}
        asked |= {
            "tools": [{"type": "web_search_20250305", "name": "web_search"}],
            "extra_body": {"thread": {"type": "create"}},
        }
        whole = await client.beta.messages.create(**asked)
        async with client.beta.messages.stream(**asked) as stream:
            return [whole, *[one async for one in stream], await stream.get_final_message()]


async def _gemini(url: str, key: str) -> list[Any]:
    from google import genai

    client = genai.Client(api_key=key, http_options={"base_url": url, "api_version": "v1beta"}).aio
    try:
        asked: dict[str, Any] = {"model": MODEL, "contents": "Hi", "config": TWO}
        whole = await client.models.generate_content(**asked)
        return [whole, *[one async for one in await client.models.generate_content_stream(**asked)]]
    finally:
        await client.aclose()


async def _interactions(url: str, key: str) -> list[Any]:
    from google import genai

    client = genai.Client(api_key=key, http_options={"base_url": url, "api_version": "v1beta"}).aio
    try:
        asked: dict[str, Any] = {"model": MODEL, "input": "Hi", "previous_interaction_id": "v1_of_the_vendor"}
        whole = await client.interactions.create(**asked)
        return [whole, *[one async for one in await client.interactions.create(**asked, stream=True)]]
    finally:
        await client.aclose()


ASKING: dict[str, tuple[Vendor, Callable[[str, str], Awaitable[list[Any]]]]] = {
    "openai, Chat Completions": (CHAT, _chat),
    "openai, Responses": (RESPONSES, _responses),
    "anthropic": (MESSAGES, _messages),
    "google-genai": (GEMINI, _gemini),
    "google-genai, Interactions": (INTERACTIONS, _interactions),
}


def seen(request: Any, vendor: Vendor) -> dict[str, Any]:
    """What a vendor sees of a request, without the key and without what belongs to the connection."""
    rules = PROTOCOLS[vendor.name].read_request().forwarding
    assert rules is not None
    headers = {name: request.headers[name] for name in rules.headers if name in request.headers}
    return {"path": request.path, "query": request.query, "headers": headers, "body": request.body}


def shown(answer: Any) -> Any:
    """An object of a client, without the headers of its reply."""
    whole = answer.model_dump(warnings=False)
    whole.pop("sdk_http_response", None)
    return whole


@pytest.mark.parametrize("client", ASKING)
def test_the_vendor_and_the_client_get_the_same_as_without_the_server(client: str) -> None:
    vendor, use = ASKING[client]
    replies = vendor.reply(stream=False), vendor.reply(stream=True)

    async def test() -> None:
        async with server_of(*replies) as (url, direct):
            straight = await use(url.removesuffix("/v1"), "key-of-the-client")
        async with vendor_of(vendor, *replies) as (provider, passed), served(app(provider)) as url:
            through = await use(url, "key-of-the-client")
        assert [*map(shown, through)] == [*map(shown, straight)]
        assert [seen(one, vendor) for one in passed] == [seen(one, vendor) for one in direct]
        assert "key-of-the-client" not in str([one.headers for one in passed])

    run(test())


def test_a_client_of_a_socket_has_its_increments_completed_for_a_vendor_that_has_none() -> None:
    from openai import AsyncOpenAI

    output = json.loads(RESPONSES.whole)["output"]

    async def test() -> None:
        async with (
            vendor_of(RESPONSES, RESPONSES.reply(stream=True)) as (provider, requests),
            served(app(provider)) as url,
            AsyncOpenAI(base_url=f"{url}/v1", api_key="key-of-the-client", max_retries=0) as client,
            client.responses.connect() as connection,
        ):
            previous: dict[str, Any] = {}
            for word in ("Hi", "And?"):
                said: Any = [{"role": "user", "content": word}]
                await connection.response.create(model=MODEL, input=said, store=False, **previous)
                async for event in connection:
                    if event.type == "response.completed":
                        assert event.response.output_text == "Hello you"
                        previous = {"previous_response_id": event.response.id}
                        break
            first, second = (json.loads(one.body)["input"] for one in requests)
            assert first == [{"role": "user", "content": "Hi"}]
            assert second == [*first, *output, {"role": "user", "content": "And?"}]

    run(test())


# ---- The connection ----


async def exchanged(url: str, request: bytes, *, until: bytes = b"") -> bytes:
    """The bytes of a reply to the bytes of a request; up to some of them, or to the end of the connection."""
    port = int(url.rpartition(":")[2])
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        async with asyncio.timeout(WAIT):
            writer.write(request)
            said = b""
            while data := await reader.read(65536):
                said += data
                if until and until in said:
                    break
            return said
    finally:
        writer.close()
        await writer.wait_closed()


def raw(vendor: Vendor, *, version: str = "1.1", path: str = "", method: str = "POST") -> bytes:
    own, body, headers, query = vendor.request(stream=True)
    target = (path or own) + (f"?{query}" if query else "")
    lines = [f"{method} {target} HTTP/{version}", "host: here", "connection: close", f"content-length: {len(body)}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return "\r\n".join((*lines, "", "")).encode() + body


@pytest.mark.parametrize("vendor", VENDORS, ids=lambda vendor: vendor.name)
def test_an_old_client_gets_the_bytes_without_a_frame_around_them(vendor: Vendor) -> None:
    async def test() -> None:
        async with vendor_of(vendor, vendor.reply(stream=True)) as (provider, _), served(app(provider)) as url:
            head, _, body = (await exchanged(url, raw(vendor, version="1.0"))).partition(b"\r\n\r\n")
            assert b"transfer-encoding" not in head.lower()
            assert body == b"".join(vendor.events)

    run(test())


def test_a_slash_at_the_end_of_a_path_and_a_method_without_an_answer_reach_no_vendor() -> None:
    async def test() -> None:
        async with vendor_of(CHAT, CHAT.reply(stream=True)) as (provider, requests), served(app(provider)) as url:
            slash = await exchanged(url, raw(CHAT, path="/v1/chat/completions/"))
            assert b"".join(CHAT.events[:1]) in slash or slash.startswith(b"HTTP/1.1 404")
            before = len(requests)
            head = await exchanged(url, raw(CHAT, method="HEAD"))
            assert head.startswith(b"HTTP/1.1 405")
            assert head.endswith(b"\r\n\r\n")
            assert len(requests) == before

    run(test())


def test_a_packed_answer_reaches_the_client_unpacked_and_whole() -> None:
    async def test() -> None:
        whole = gzip.compress(b"".join(CHAT.events))
        head = Head(200, (("content-type", "text/event-stream"), ("content-encoding", "gzip")))
        packed = (head, Send(whole[:40]), Send(whole[40:]), End())
        async with vendor_of(CHAT, packed) as (provider, _), served(app(provider)) as url:
            said, _, body = (await exchanged(url, raw(CHAT, version="1.0"))).partition(b"\r\n\r\n")
            assert b"content-encoding" not in said.lower()
            assert body == b"".join(CHAT.events)

    run(test())


@pytest.mark.parametrize("vendor", VENDORS, ids=lambda vendor: vendor.name)
def test_a_client_that_leaves_has_the_vendor_asked_no_longer(vendor: Vendor) -> None:
    async def test() -> None:
        place = next(number for number, event in enumerate(vendor.events) if b"Hello" in event) + 1
        head, *_ = vendor.reply(stream=True)
        stalled = (head, *map(Send, vendor.events[:place]), Stall(None))
        async with vendor_of(vendor, stalled) as (provider, _):
            application = app(provider)
            left: asyncio.Queue[Any] = asyncio.Queue()
            application.on_did_finish_answer(left.put_nowait)
            async with served(application) as url:
                await exchanged(url, raw(vendor), until=b"Hello")
                async with asyncio.timeout(WAIT):
                    assert (await left.get()).is_cancelled

    run(test())
