"""The id of a conversation goes to the hub that gave the key, and to no other server."""

import asyncio

import pytest

from partstream import RequestOptions
from partstream.upstream.endpoint import Secret

from .upstreams import ask, replay

CONVERSATION = "5f0c8a8e-6f0e-4f0b-9a53-0d9a7b1c2d3e"
HUB_KEY = "psk_ada1_" + "s3cretWord" * 4


@pytest.mark.parametrize(
    ("key", "conversation", "told"),
    [
        (HUB_KEY, CONVERSATION, CONVERSATION),
        (HUB_KEY, None, None),
        (HUB_KEY, "two\r\nlines: of a header", None),
        ("sk-0123456789abcdefghij", CONVERSATION, None),
    ],
)
def test_a_hub_is_told_which_conversation_a_request_belongs_to(key: str, conversation: str | None, told: str | None):
    async def test() -> None:
        options = RequestOptions(model_options={} if conversation is None else {"_conversationId": conversation})
        async with replay(token=key, api_key=Secret(key)) as (upstream, provider):
            answer = await ask(provider, "Hi", options=options)
            assert answer.error is None
            (request,) = upstream.requests
            assert request.headers.get("x-session-id") == told

    asyncio.run(test())
