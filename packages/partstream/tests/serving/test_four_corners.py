"""Two servers, one behind the other: a client of any wire, any wire between the servers, and a vendor that signs.

Its state has to come back in the second round, beside two parallel calls in their order."""

from __future__ import annotations
import json
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

import pytest

from listening import deliver, listening
from partstream.protocols.protocol import PROTOCOLS
from partstream.server.application import app
from partstream.server.clients import Caller
from partstream.server.settings import ServingSettings
from partstream.upstream.provider import GatewayProvider
from partstream_devtools.testing.faults import End, Head, Send, document
from serving.asgi import ask
from serving.served import served
from serving.vendors import model
from upstreams.upstreams import configuration, run

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from partstream.server.application import ServingApp
    from partstream.server.loopback import ServerConnection

Document = dict[str, Any]
SIGNATURE = "EqoBCkgIAhABGAIiQL" + "x" * 60
OF_CALL = "c2lnbmF0dXJlQQ=="
SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}}
FUNCTION = {"type": "function", "function": {"name": "f", "parameters": SCHEMA}}


# ---- Vendors ----


@dataclass(frozen=True)
class Vendor:
    """A vendor that signs what it thinks.

    Attributes:
        protocol: Its wire.
        model: The name of its model.
        answers: Its answers to the first and the second request, as documents.
        events: The events of an answer.
        brought: What the second request has to bring back: the answer of the first round, then the results.
        read: Reads the same of a request.
    """

    protocol: str
    model: str
    answers: tuple[Document, Document]
    events: Callable[[Document], list[Document]]
    brought: tuple[list[Any], list[Any]]
    read: Callable[[Document], tuple[list[Any], list[Any]]]


def _message(stop: str, *blocks: Document) -> Document:
    usage = {"input_tokens": 6, "output_tokens": 5}
    head = {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5"}
    return {**head, "content": [*blocks], "stop_reason": stop, "stop_sequence": None, "usage": usage}


_EMPTY = {"text": {"text": ""}, "thinking": {"thinking": "", "signature": ""}, "tool_use": {"input": {}}}
_DELTAS: Mapping[str, Callable[[Document], list[Document]]] = {
    "text": lambda block: [{"type": "text_delta", "text": block["text"]}],
    "thinking": lambda block: [
        {"type": "thinking_delta", "thinking": block["thinking"]},
        {"type": "signature_delta", "signature": block["signature"]},
    ],
    "tool_use": lambda block: [{"type": "input_json_delta", "partial_json": json.dumps(block["input"])}],
}


def _message_events(message: Document) -> list[Document]:
    begun = {**message, "content": [], "stop_reason": None}
    events: list[Document] = [{"type": "message_start", "message": begun}]
    for index, block in enumerate(message["content"]):
        empty = {**block, **_EMPTY[block["type"]]}
        events.append({"type": "content_block_start", "index": index, "content_block": empty})
        for delta in _DELTAS[block["type"]](block):
            events.append({"type": "content_block_delta", "index": index, "delta": delta})
        events.append({"type": "content_block_stop", "index": index})
    delta = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    return [*events, {"type": "message_delta", "delta": delta, "usage": message["usage"]}, {"type": "message_stop"}]


def _blocks_brought(request: Document) -> tuple[list[Any], list[Any]]:
    answer = next(one for one in request["messages"] if one["role"] == "assistant")
    results = request["messages"][-1]["content"]
    said = [(block["type"], *(block.get(name) for name in ("signature", "text", "id"))) for block in answer["content"]]
    return said, [(one["tool_use_id"], _text(one["content"])) for one in results if one["type"] == "tool_result"]


def _text(content: Any) -> str:
    return content if isinstance(content, str) else "".join(block["text"] for block in content)


ANTHROPIC = Vendor(
    "anthropic-messages",
    "claude-sonnet-4-5",
    (
        _message(
            "tool_use",
            {"type": "thinking", "thinking": "I should call both.", "signature": SIGNATURE},
            {"type": "text", "text": "Let me look."},
            {"type": "tool_use", "id": "toolu_A", "name": "f", "input": {"a": 1}},
            {"type": "tool_use", "id": "toolu_B", "name": "f", "input": {"a": 2}},
        ),
        _message("end_turn", {"type": "text", "text": "Done."}),
    ),
    _message_events,
    (
        [
            ("thinking", SIGNATURE, None, None),
            ("text", None, "Let me look.", None),
            ("tool_use", None, None, "toolu_A"),
            ("tool_use", None, None, "toolu_B"),
        ],
        [("toolu_A", "r1"), ("toolu_B", "r2")],
    ),
    _blocks_brought,
)


def _candidate(*parts: Document) -> Document:
    usage = {"promptTokenCount": 10, "candidatesTokenCount": 3, "thoughtsTokenCount": 2, "totalTokenCount": 15}
    candidate = {"content": {"parts": [*parts], "role": "model"}, "index": 0, "finishReason": "STOP"}
    return {
        "candidates": [candidate],
        "usageMetadata": usage,
        "modelVersion": "gemini-3-pro-preview",
        "responseId": "r1",
    }


def _parts_brought(request: Document) -> tuple[list[Any], list[Any]]:
    answer = next(one for one in request["contents"] if one["role"] == "model")
    said = [part for part in answer["parts"] if not part.get("thought")]
    results = [part["functionResponse"] for part in request["contents"][-1]["parts"] if "functionResponse" in part]
    return (
        [(part.get("text"), part.get("functionCall", {}).get("id"), part.get("thoughtSignature")) for part in said],
        [(one.get("id"), *one["response"].values()) for one in results],
    )


GOOGLE = Vendor(
    "gemini",
    "gemini-3-pro-preview",
    (
        _candidate(
            {"text": "I should call both.", "thought": True},
            {"text": "Let me look."},
            {"functionCall": {"name": "f", "args": {"a": 1}, "id": "call_g1"}, "thoughtSignature": OF_CALL},
            {"functionCall": {"name": "f", "args": {"a": 2}, "id": "call_g2"}},
        ),
        _candidate({"text": "Done."}),
    ),
    lambda whole: [whole],
    (
        [("Let me look.", None, None), (None, "call_g1", OF_CALL), (None, "call_g2", None)],
        [("call_g1", "r1"), ("call_g2", "r2")],
    ),
    _parts_brought,
)
VENDORS = {"Anthropic": ANTHROPIC, "Google": GOOGLE}


@asynccontextmanager
async def answering(vendor: Vendor) -> AsyncIterator[tuple[str, list[Document]]]:
    """The vendor on loopback: its URL, and the requests for an answer that came."""
    asked: list[Document] = []

    async def serve(connection: ServerConnection) -> None:
        while (request := await connection.next_request()) is not None:
            body = json.loads(request.body)
            asked.append(body)
            answer = vendor.answers[(len(asked) - 1) % 2]
            if body.get("stream") or ":stream" in request.path:
                events = vendor.events(answer)
                named = [f"event: {one['type']}\n" if "type" in one else "" for one in events]
                pieces = [
                    f"{name}data: {json.dumps(one)}\n\n".encode() for name, one in zip(named, events, strict=True)
                ]
                reply = (Head(200, (("content-type", "text/event-stream"),)), *map(Send, pieces), End())
            else:
                reply = document(200, json.dumps(answer).encode())
            await deliver(connection, request, reply)

    async with listening(serve) as url:
        yield url, asked


# ---- Clients ----


@dataclass(frozen=True)
class Client:
    """A client of a wire: its first request, its second one, and where it asks."""

    path: str
    first: Document
    second: Callable[[Document, Document], Document]
    names_model: bool = True

    async def session(self, application: ServingApp, name: str) -> None:
        """Two rounds: what the model calls is answered, and its answer goes back as it came."""
        path = self.path.replace("{model}", name)
        body: Document = {**self.first, **({"model": name} if self.names_model else {})}
        first = await ask(application, path, json.dumps(body).encode())
        assert first.status == 200, first.body
        second = await ask(application, path, json.dumps(self.second(body, first.json)).encode())
        assert second.status == 200, second.body
        assert b"Done." in second.body


def _more(body: Document, name: str, *items: Any) -> Document:
    return {**body, name: [*body[name], *items]}


def _responses(body: Document, answer: Document) -> Document:
    calls = [item for item in answer["output"] if item["type"] == "function_call"]
    results = [
        {"type": "function_call_output", "call_id": call["call_id"], "output": f"r{json.loads(call['arguments'])['a']}"}
        for call in calls
    ]
    return _more(body, "input", *answer["output"], *results)


def _chat(body: Document, answer: Document) -> Document:
    message = answer["choices"][0]["message"]
    results = [
        {
            "role": "tool",
            "tool_call_id": call["id"],
            "content": f"r{json.loads(call['function']['arguments'])['a']}",
        }
        for call in message["tool_calls"]
    ]
    return _more(body, "messages", message, *results)


def _chat_of_official_types(body: Document, answer: Document) -> Document:
    message = answer["choices"][0]["message"]
    known = {name: message[name] for name in ("role", "content", "tool_calls")}
    return _chat(body, {"choices": [{"message": known}]})


def _messages(body: Document, answer: Document) -> Document:
    results = [
        {"type": "tool_result", "tool_use_id": block["id"], "content": f"r{block['input']['a']}"}
        for block in answer["content"]
        if block["type"] == "tool_use"
    ]
    said = {"role": "assistant", "content": answer["content"]}
    return _more(body, "messages", said, {"role": "user", "content": results})


def _gemini(body: Document, answer: Document) -> Document:
    content = answer["candidates"][0]["content"]
    calls = [part["functionCall"] for part in content["parts"] if "functionCall" in part]
    results = [
        {
            "functionResponse": {
                **({"id": call["id"]} if "id" in call else {}),
                "name": "f",
                "response": {"result": f"r{call['args']['a']}"},
            }
        }
        for call in calls
    ]
    return _more(body, "contents", content, {"role": "user", "parts": results})


def _ollama(body: Document, answer: Document) -> Document:
    message = answer["message"]
    results = [
        {"role": "tool", "tool_name": "f", "content": f"r{call['function']['arguments']['a']}"}
        for call in message["tool_calls"]
    ]
    return _more(body, "messages", message, *results)


_ASKED = [{"role": "user", "content": "go"}]
_CHAT = Client("/v1/chat/completions", {"reasoning_effort": "low", "messages": _ASKED, "tools": [FUNCTION]}, _chat)
CLIENTS = {
    "OpenResponses": Client(
        "/v1/responses",
        {
            "store": False,
            "include": ["reasoning.encrypted_content"],
            "reasoning": {"effort": "low"},
            "input": _ASKED,
            "tools": [{"type": "function", "name": "f", "parameters": SCHEMA}],
        },
        _responses,
    ),
    "Chat Completions": _CHAT,
    "Chat Completions, official fields alone": Client(_CHAT.path, _CHAT.first, _chat_of_official_types),
    "Anthropic Messages": Client(
        "/v1/messages",
        {
            "max_tokens": 5000,
            "thinking": {"type": "enabled", "budget_tokens": 2000},
            "messages": _ASKED,
            "tools": [{"name": "f", "input_schema": SCHEMA}],
        },
        _messages,
    ),
    "Gemini": Client(
        "/v1beta/models/{model}:generateContent",
        {
            "contents": [{"role": "user", "parts": [{"text": "go"}]}],
            "tools": [{"functionDeclarations": [{"name": "f", "parametersJsonSchema": SCHEMA}]}],
            "generationConfig": {"thinkingConfig": {"includeThoughts": True, "thinkingLevel": "LOW"}},
        },
        _gemini,
        names_model=False,
    ),
    "Ollama": Client("/api/chat", {"stream": False, "messages": _ASKED, "tools": [FUNCTION]}, _ollama),
}
BETWEEN = ("openresponses", "chat-completions", "anthropic-messages", "gemini", "ollama")
CORNERS = [*product(CLIENTS, BETWEEN, VENDORS)]


@pytest.mark.parametrize(("client", "between", "vendor"), CORNERS, ids=map("-".join, CORNERS))
def test_signatures_ids_and_order_come_back_through_two_servers(client: str, between: str, vendor: str) -> None:
    maker = VENDORS[vendor]

    async def test() -> None:
        async with AsyncExitStack() as stack:

            def asking(url: str, protocol: str) -> GatewayProvider:
                settings = configuration(url, protocol=protocol, models=(model(maker.model),))
                provider = GatewayProvider(settings)
                stack.push_async_callback(provider.aclose)
                return provider

            vendor_url, asked = await stack.enter_async_context(answering(maker))
            behind = asking(vendor_url + _base_path(maker.protocol), maker.protocol)
            settings = ServingSettings(authenticate=lambda _headers: Caller("ann"))
            url = await stack.enter_async_context(served(app(behind, settings)))
            front = app(asking(url + _base_path(between), between), settings)
            await CLIENTS[client].session(front, maker.model)
            assert len(asked) == 2
            assert maker.read(asked[1]) == maker.brought

    run(test(), 60)


def _base_path(protocol: str) -> str:
    return PROTOCOLS[protocol].base_paths[0]
