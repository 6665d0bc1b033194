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
KEPT_BACK = (("set-cookie", "a=b"), ("x-internal", "1"), ("request-id", "req_of_the_vendor"))


def sse(*events: Mapping[str, Any], named: bool = True, end: bytes = b"", kind: str = "type") -> tuple[bytes, ...]:
    """Events with blanks in their JSON, which no writer of this project makes."""
    return (
        *(
            (f"event: {one[kind]}\n" if named else "").encode() + b"data: " + json.dumps(one).encode() + b"\n\n"
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
        own = {"cookie": "no=1", "authorization": "Bearer none", "x-codex-turn-metadata": '{"workspace": "/home/ada"}'}
        headers = {**self.headers, "content-type": "application/json", **own}
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
        "stream_options": {"include_usage": True},
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

_MESSAGE = {
    "id": "msg_9",
    "type": "message",
    "role": "assistant",
    "model": MODEL,
    "content": [],
    "stop_reason": None,
    "stop_sequence": None,
    "usage": {"input_tokens": 12, "output_tokens": 1, "service_tier": "standard"},
}
MESSAGES = Vendor(
    "anthropic-messages",
    "/v1",
    "/messages",
    {
        "max_tokens": 1000,
        "system": [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral", "ttl": "1h"}}],
        "messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Well,"}],
        "tools": [{"type": "web_search_20250305", "name": "web_search"}],
        "tool_choice": {"type": "auto", "disable_parallel_tool_use": True},
        "inference_geo": "us",
    },
    sse(
        {"type": "message_start", "message": _MESSAGE},
        {"type": "ping"},
        {
            "type": "content_block_start",
            "index": 0,
            "content_block": {"type": "thinking", "thinking": "", "signature": ""},
        },
        {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "Hm"}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "vendor=="}},
        {"type": "content_block_stop", "index": 0},
        {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "Hello"}},
        {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": " you"}},
        {"type": "content_block_stop", "index": 1},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 5}},
        {"type": "message_stop"},
    ),
    json.dumps(
        {
            **_MESSAGE,
            "content": [
                {"type": "thinking", "thinking": "Hm", "signature": "vendor=="},
                {"type": "text", "text": "Hello you", "citations": None},
            ],
            "stop_reason": "end_turn",
            "usage": {"input_tokens": 12, "output_tokens": 5},
        },
        indent=1,
    ).encode(),
    headers={"anthropic-version": "2023-06-01", "anthropic-beta": "context-1m-2025-08-07"},
    query="beta=true",
)

_ITEM = {
    "type": "message",
    "id": "msg_9",
    "status": "in_progress",
    "role": "assistant",
    "phase": "final",
    "content": [],
}
_SAID = {"type": "output_text", "text": "Hello you", "annotations": [], "logprobs": []}
_RESPONSE = {
    "id": "resp_9",
    "object": "response",
    "created_at": 1,
    "model": MODEL,
    "status": "in_progress",
    "output": [],
}
_DONE = {
    **_RESPONSE,
    "status": "completed",
    "output": [{**_ITEM, "status": "completed", "content": [_SAID]}],
    "usage": {
        "input_tokens": 12,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": 5,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 17,
    },
}
_AT = {"item_id": "msg_9", "output_index": 0, "content_index": 0}


def _numbered(*events: Mapping[str, Any]) -> tuple[Mapping[str, Any], ...]:
    return tuple({**one, "sequence_number": number} for number, one in enumerate(events))


RESPONSES = Vendor(
    "openresponses",
    "/v1",
    "/responses",
    {
        "input": [{"type": "message", "role": "user", "content": "Hi"}],
        "tools": [{"type": "namespace", "name": "mcp__docs", "description": "d", "tools": []}],
        "max_output_tokens": 1000,
        "store": False,
    },
    sse(
        *_numbered(
            {"type": "response.created", "response": _RESPONSE},
            {"type": "response.output_item.added", "output_index": 0, "item": _ITEM},
            {
                "type": "response.content_part.added",
                **_AT,
                "part": {"type": "output_text", "text": "", "annotations": [], "logprobs": []},
            },
            {"type": "response.output_text.delta", **_AT, "delta": "Hello", "logprobs": [], "obfuscation": "xy"},
            {"type": "response.output_text.delta", **_AT, "delta": " you", "logprobs": [], "obfuscation": "z"},
            {"type": "response.output_text.done", **_AT, "text": "Hello you", "logprobs": []},
            {"type": "response.content_part.done", **_AT, "part": _SAID},
            {"type": "response.output_item.done", "output_index": 0, "item": _DONE["output"][0]},
            {"type": "response.completed", "response": _DONE},
        )
    ),
    json.dumps(_DONE, indent=1).encode(),
    headers={
        "openai-beta": "responses=v1",
        "originator": "codex_exec",
        "session-id": "0199-aa",
        "thread-id": "0199-bb",
        "x-codex-beta-features": "a,b",
        "x-codex-turn-state": "sticky",
    },
)


def _candidate(text: str, **more: Any) -> dict[str, Any]:
    content = {"parts": [{"text": text}], "role": "model"}
    return {"candidates": [{"content": content, "index": 0, **more}], "modelVersion": MODEL, "responseId": "g-9"}


_GEMINI_USAGE = {"promptTokenCount": 12, "candidatesTokenCount": 5, "totalTokenCount": 17}
GEMINI = Vendor(
    "gemini",
    "/v1beta",
    "/models/{model}:streamGenerateContent",
    {
        "contents": [{"role": "user", "parts": [{"text": "Hi"}]}],
        "tools": [{"googleSearch": {}}],
        "generationConfig": {"maxOutputTokens": 1000, "thinkingConfig": {"thinkingBudget": 77}},
    },
    tuple(
        b"data: " + json.dumps(one).encode() + b"\r\n\r\n"
        for one in (
            _candidate("Hello"),
            _candidate(" you", avgLogprobs=-0.1),
            {**_candidate("", finishReason="STOP"), "usageMetadata": _GEMINI_USAGE},
        )
    ),
    json.dumps({**_candidate("Hello you", finishReason="STOP"), "usageMetadata": _GEMINI_USAGE}, indent=1).encode(),
    query="alt=sse",
    document_path="/models/{model}:generateContent",
)


def _line(content: str, **more: Any) -> dict[str, Any]:
    message = {"role": "assistant", "content": content}
    return {"model": MODEL, "created_at": "2026-01-01T00:00:00Z", "message": message, "done": False, **more}


_ENDED = {"done": True, "done_reason": "stop", "prompt_eval_count": 12, "eval_count": 5, "total_duration": 9}
OLLAMA = Vendor(
    "ollama",
    "/api",
    "/chat",
    {
        "messages": [{"role": "user", "content": "Hi"}],
        "options": {"num_predict": 1000, "num_ctx": 4096, "mirostat": 1},
        "keep_alive": "5m",
    },
    tuple(json.dumps(one).encode() + b"\n" for one in (_line("Hello"), _line(" you"), _line("", **_ENDED))),
    json.dumps(_line("Hello you", **_ENDED), indent=1).encode(),
    content_type="application/x-ndjson",
)

_INTERACTION = {"id": "v1_9", "object": "interaction", "model": MODEL, "status": "in_progress", "own": 1}
_COUNTS = {"total_input_tokens": 12, "total_output_tokens": 5, "total_tokens": 17}


def _step(kind: str, index: int, **fields: Any) -> dict[str, Any]:
    return {"event_type": f"step.{kind}", "index": index, **fields, "event_id": "e"}


def _said(text: str) -> dict[str, Any]:
    return {"delta": {"type": "text", "text": text}}


_STEPS = (
    {"event_type": "interaction.created", "interaction": _INTERACTION, "event_id": "e"},
    _step("start", 0, step={"type": "model_output"}),
    _step("delta", 0, **_said("Hello")),
    _step("delta", 0, **_said(" you")),
    _step("stop", 0),
    {"event_type": "interaction.completed", "interaction": {**_INTERACTION, "status": "completed", "usage": _COUNTS}},
)
INTERACTIONS = Vendor(
    "gemini-interactions",
    "/v1beta",
    "/interactions",
    {
        "input": [{"type": "user_input", "content": [{"type": "text", "text": "Hi"}]}],
        "tools": [{"type": "google_search", "own": True}],
        "generation_config": {"max_output_tokens": 1000, "own": [1]},
        "store": True,
    },
    sse(*_STEPS, end=b"event: done\ndata: [DONE]\n\n", kind="event_type"),
    json.dumps(
        {
            **_INTERACTION,
            "status": "completed",
            "steps": [{"type": "model_output", "content": [{"type": "text", "text": "Hello you"}]}],
            "usage": _COUNTS,
        },
        indent=1,
    ).encode(),
    headers={"api-revision": "2026-05-20"},
)

VENDORS = (CHAT, MESSAGES, RESPONSES, GEMINI, OLLAMA, INTERACTIONS)


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
