"""A vendor of each wire on loopback, with exotic fields in its requests and answers: what goes through as it came."""

from __future__ import annotations
import json
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from partstream.lm.provider import LanguageModelChatInformation
from partstream.upstream.endpoint import Secret
from partstream.upstream.provider import GatewayProvider
from partstream_devtools.testing.faults import End, Head, Send, Step, document
from upstreams.upstreams import configuration, server_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Mapping

    from partstream.server.loopback import LoopbackRequest

KEY = "sk-planted-0123456789abcdef"
MODEL = "vendor-model-1"
LIMITS = (("x-ratelimit-remaining-requests", "41"), ("retry-after-ms", "7"))
KEPT_BACK = (("set-cookie", "a=b"), ("x-internal", "1"))


def sse(*events: Mapping[str, Any], named: bool = True, end: bytes = b"") -> tuple[bytes, ...]:
    """Events with blanks in their JSON, which no writer of this project makes."""
    return (
        *(
            (f"event: {one['type']}\n" if named else "").encode() + b"data: " + json.dumps(one).encode() + b"\n\n"
            for one in events
        ),
        *([end] if end else []),
    )


@dataclass(frozen=True)
class Vendor:
    """A wire as one vendor speaks it.

    Attributes:
        name: The protocol.
        path: The path of requests below the base path, for a stream.
        body: A request.
        events: The stream of an answer that says "Hello you".
        whole: The same as a document.
        field: The name by which the body names the model; empty where the path does.
        headers: Headers of a client that go on.
        query: A query that goes on.
        tokens: The tokens that the answer reports.
    """

    name: str
    base_path: str
    path: str
    body: Mapping[str, Any]
    events: tuple[bytes, ...]
    whole: bytes
    content_type: str = "text/event-stream"
    headers: Mapping[str, str] = field(default_factory=dict)
    query: str = ""
    document_path: str = ""
    tokens: tuple[int, int] = (12, 5)

    def request(self, *, stream: bool, model: str = MODEL) -> tuple[str, bytes, dict[str, str], str]:
        """Path, body, headers and query of a client's request."""
        said: dict[str, Any] = dict(self.body)
        path = self.path if stream else self.document_path or self.path
        if "{model}" not in path:
            said |= {"model": model, "stream": stream}
        headers = {**self.headers, "content-type": "application/json", "cookie": "no=1", "authorization": "Bearer none"}
        query = self.query if stream or "alt" not in self.query else ""
        return self.base_path + path.replace("{model}", model), json.dumps(said, indent=1).encode(), headers, query

    def reply(self, *, stream: bool) -> tuple[Step, ...]:
        """The steps of a vendor's reply."""
        if not stream:
            return document(200, self.whole, headers=(*LIMITS, *KEPT_BACK))
        head = Head(200, (("content-type", self.content_type), *LIMITS, *KEPT_BACK))
        return head, *map(Send, self.events), End()


_CHAT = {"id": "c-9", "object": "chat.completion.chunk", "created": 1, "model": MODEL, "system_fingerprint": "fp_1"}


def _choice(delta: Mapping[str, Any], finish: str | None = None) -> dict[str, Any]:
    return {**_CHAT, "choices": [{"index": 0, "delta": delta, "logprobs": {"content": []}, "finish_reason": finish}]}


_CHAT_USAGE = {"prompt_tokens": 12, "completion_tokens": 5, "total_tokens": 17}
CHAT = Vendor(
    "chat-completions",
    "/v1",
    "/chat/completions",
    {
        "messages": [{"role": "user", "content": "Hi", "name": "ada"}],
        "web_search_options": {"search_context_size": "low"},
        "tools": [{"type": "custom", "custom": {"name": "apply"}}],
        "max_completion_tokens": 1000,
    },
    sse(
        _choice({"role": "assistant", "content": "", "refusal": None}),
        _choice({"content": "Hello"}),
        _choice({"content": " you"}),
        _choice({}, "stop"),
        {**_CHAT, "choices": [], "usage": _CHAT_USAGE},
        named=False,
        end=b"data: [DONE]\n\n",
    ),
    json.dumps(
        {
            **_CHAT,
            "object": "chat.completion",
            "choices": [
                {"index": 0, "message": {"role": "assistant", "content": "Hello you"}, "finish_reason": "stop"}
            ],
            "usage": _CHAT_USAGE,
        },
        indent=1,
    ).encode(),
    headers={"openai-beta": "x=1", "openai-organization": "org-1", "idempotency-key": "i-1"},
)

VENDORS = (CHAT,)


def model(name: str = MODEL, offered_as: str | None = None) -> LanguageModelChatInformation:
    """The vendor's model."""
    del offered_as
    return LanguageModelChatInformation(name, name, "f", "1", 100_000, 8000)


@asynccontextmanager
async def vendor_of(
    vendor: Vendor, *replies: Iterable[Step], **changes: Any
) -> AsyncIterator[tuple[GatewayProvider, list[LoopbackRequest]]]:
    """A gateway to a vendor that gives these replies, and the requests that came there."""
    async with server_of(*replies) as (url, requests):
        base_url = url.removesuffix("/v1") + vendor.base_path
        usual = {"protocol": vendor.name, "models": (model(),), "api_key": Secret(KEY)}
        provider = GatewayProvider(configuration(base_url, **(usual | changes)))
        try:
            yield provider, requests
        finally:
            await provider.aclose()
