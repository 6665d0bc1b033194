"""Rounds of a conversation with a served Anthropic that refuses as the real one does, and thinking that crosses a
client of this wire on its way back to another server (docs/wires/anthropic-messages.md#thinking-that-goes-back)."""

import json
from collections.abc import Iterator
from itertools import groupby
from typing import Any

import pytest

from conversation.samples import WEATHER, user
from conversation.samples import gave as result
from partstream import ChatMessage, RequestOptions, ToolCallPart
from partstream.conversation.preparation import ResponseState
from partstream.conversation.provider_state import Origin
from partstream.conversation.turns import ToolNames
from partstream.lm.outputs import Finish, InboundRequest, Reply, StreamOptions, StreamOutput, Unmapped
from partstream.lm.parts import ResponsePart, TextPart
from partstream.protocols.protocol import PROTOCOLS
from partstream.protocols.serve import WireRequest
from partstream.runtime.translation import (
    frame_answer,
    read_answer,
    read_question,
    write_answer,
    write_document,
    write_question,
)
from partstream_devtools.testing.directives import NamedValue
from partstream_devtools.testing.scripted_model import play
from partstream_devtools.testing.upstream import ReplayUpstream
from testing.clients import run as ask_with_client
from upstreams.test_requests import kept
from upstreams.upstreams import ask, gateway_to, run

MESSAGES = PROTOCOLS["anthropic-messages"]
ASKED = InboundRequest(
    "m",
    (ChatMessage.user("The weather in Lisbon?"),),
    RequestOptions(tools=(WEATHER,)),
    body={"include": ["reasoning.encrypted_content"]},
)
UPSTREAM = "up"


@pytest.mark.parametrize("thinking", [True, False], ids=["within the turn", "in a later turn"])
@pytest.mark.parametrize("display", ["summarized", "omitted"])
def test_a_tool_loop_brings_its_thinking_back_unrefused(display: str, *, thinking: bool) -> None:
    async def test() -> None:
        async with ReplayUpstream(scenario="tools") as upstream:
            url = upstream.base_url_of("anthropic-messages")
            async with gateway_to(url, protocol="anthropic-messages") as provider:
                asks_to_think = {"thinking": {"type": "adaptive", "display": display}}
                options = RequestOptions(tools=(WEATHER,), model_options=asks_to_think)
                first = await ask(provider, "The weather in Lisbon?", options=options, model_id="tools")
                calls = [part for part in first.parts if isinstance(part, ToolCallPart)]
                results = user([result(call.call_id, "Warm.") for call in calls])
                history = [user("The weather in Lisbon?"), kept(first.parts, thinking=thinking), results]
                second = await ask(provider, history, options=options, model_id="tools")
                assert (first.error, second.error) == (None, None)
                assert second.text.count("Warm.") == len(calls) == 2
        asked, answered = (one.body for one in upstream.requests if one.path == "/v1/messages")
        assert asked["thinking"] == answered["thinking"] == asks_to_think["thinking"]
        (thought, *_rest) = answered["messages"][1]["content"]
        assert thought["type"] == "thinking"
        assert bool(thought["thinking"]) == (display == "summarized")
        assert len(upstream.requests) == 2, "nothing was refused, and nothing sent again"

    run(test())


@pytest.mark.parametrize(
    ("headers", "status"),
    [({"x-api-key": "k"}, 200), ({"authorization": "Bearer k"}, 200), ({"x-api-key": "other"}, 401), ({}, 401)],
)
def test_a_key_is_taken_in_either_of_its_headers(headers: dict[str, str], status: int) -> None:
    async def check(upstream: ReplayUpstream, client: Any) -> None:
        sent = {"anthropic-version": "2023-06-01", **headers}
        url = upstream.base_url_of("anthropic-messages") + "/messages"
        body = {"model": "text", "max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}]}
        answered = await client.post(url, json=body, headers=sent)
        assert (answered.status_code, answered.json()["type"]) == (status, "message" if status == 200 else "error")

    ask_with_client(check, token="k")  # noqa: S106 - invented


def answer_of(protocol: str) -> list[ResponsePart | Finish]:
    """An answer of the scripted model as a provider gives it that asked over this protocol: with whose state it is."""
    row = PROTOCOLS[protocol]
    outputs: list[StreamOutput] = list(play(NamedValue("tools"), ASKED, "identity"))
    data = frame_answer(row, write_answer(row, ASKED, outputs, Reply("identity", 1)))
    state = ResponseState(Origin(UPSTREAM, "m"), ToolNames([]))
    read = (one for one in read_answer(row, data, StreamOptions(call_id_prefix="")) if not isinstance(one, Unmapped))
    return [one if isinstance(one, Finish) else state.see(one) for one in read]


def joined(outputs: list[ResponsePart | Finish]) -> Iterator[ResponsePart]:
    """The parts of an answer, each text as one, as hosts keep it."""
    for kind, same in groupby(outputs, type):
        if kind is TextPart:
            yield TextPart("".join(part.value for part in same if isinstance(part, TextPart)))
        elif kind is not Finish:
            yield from same  # type: ignore[misc]


def results_of(parts: list[Any]) -> list[dict[str, Any]]:
    return [
        {"type": "tool_result", "tool_use_id": part.call_id, "content": "Warm."}
        for part in parts
        if isinstance(part, ToolCallPart)
    ]


@pytest.mark.parametrize(
    "protocol", ["openresponses", "chat-completions", "anthropic-messages", "gemini", "ollama", "ai-gateway"]
)
def test_thinking_of_any_server_comes_back_whole_through_a_client_of_this_wire(protocol: str) -> None:
    outputs = answer_of(protocol)
    status, message = write_document(MESSAGES, ASKED, outputs, Reply("identity", 1))
    assert status == 200
    content = json.loads(json.dumps(message["content"]))
    assert {block["type"] for block in content} & {"thinking", "redacted_thinking"}
    parts = list(joined(outputs))
    asked = write_question(MESSAGES, ASKED)
    said = [*asked.body["messages"], {"role": "assistant", "content": content}]
    body = {**asked.body, "messages": [*said, {"role": "user", "content": results_of(parts)}]}
    crossed = read_question(MESSAGES, WireRequest(asked.path, body))
    results = ChatMessage.user([result(part.call_id, "Warm.") for part in parts if isinstance(part, ToolCallPart)])
    direct = InboundRequest("m", (*ASKED.messages, ChatMessage.assistant(parts), results), crossed.options)
    row = PROTOCOLS[protocol]
    expected = write_question(row, direct, upstream=UPSTREAM)
    assert write_question(row, crossed, upstream=UPSTREAM).body == expected.body
    assert write_question(row, direct, upstream="another").body != expected.body, "there was state to bring back"
