"""Rounds of a conversation over real HTTP: what a server gave goes back to it, within the turn and later."""

import json
from typing import Any

import pytest

from chat_schema import check_demands
from conversation.samples import WEATHER, assistant, user
from conversation.samples import gave as result
from models.server import ModelServer, serving
from partstream import ChatMessage, RequestOptions, ToolCallPart
from partstream.conversation.preparation import RequestSettings
from partstream.protocols.chat_completions.models import ChatCompletionsSettings
from partstream.protocols.protocol import AUTO
from partstream.upstream.endpoint import Secret
from partstream_devtools.testing.faults import END_OF_STREAM, Send, Step, event_stream
from protocols.chat_completions.requests import call, calls, gave, said
from upstreams.test_requests import kept
from upstreams.upstreams import Answer, ask, gateway_to, run, server_of

within_and_later = pytest.mark.parametrize("thinking", [True, False], ids=["within the turn", "in a later turn"])


def stream_of(*deltas: dict[str, Any], finish: str = "stop") -> list[Step]:
    """A stream of chunks, one for each delta."""
    choices = [{"index": 0, "delta": delta, "finish_reason": None} for delta in deltas]
    choices.append({"index": 0, "delta": {}, "finish_reason": finish})
    chunks = [{"id": "c1", "object": "chat.completion.chunk", "model": "text", "choices": [one]} for one in choices]
    events = [Send(b"data: " + json.dumps(chunk).encode() + b"\n\n", "chunk") for chunk in chunks]
    return list(event_stream([*events, Send(b"data: [DONE]\n\n", END_OF_STREAM)]))


def two_calls(**of_first: Any) -> dict[str, Any]:
    first = {"index": 0, "id": "functions.f:0", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    second = {"index": 1, "id": "c2", "type": "function", "function": {"name": "f", "arguments": '{"a":1}'}}
    return {"tool_calls": [{**first, **of_first}, second]}


# What the deltas say before two calls, the server, and the message of the next request.
GIVEN: dict[str, tuple[str, list[dict[str, Any]], dict[str, Any]]] = {
    "reasoning_content": (
        "unknown",
        [{"reasoning_content": "h"}, {"reasoning_content": "m"}, {"content": "Wait."}],
        {"content": "Wait.", "reasoning_content": "hm"},
    ),
    "reasoning": ("unknown", [{"reasoning": "hm"}], {"content": None, "reasoning": "hm"}),
    "nothing, where some is demanded": ("deepseek", [], {"content": None, "reasoning_content": ""}),
    "details": (
        "openrouter",
        [
            {"reasoning": "h", "reasoning_details": [{"type": "reasoning.text", "text": "h", "index": 0}]},
            {"reasoning": "m", "reasoning_details": [{"type": "reasoning.text", "text": "m", "index": 0}]},
            {"reasoning_details": [{"type": "reasoning.encrypted", "data": "e", "index": 1}]},
        ],
        {
            "content": None,
            "reasoning_details": [
                {"type": "reasoning.text", "text": "hm", "index": 0},
                {"type": "reasoning.encrypted", "data": "e", "index": 1},
            ],
        },
    ),
    "Copilot's": (
        "github-copilot",
        [{"reasoning_text": "hm"}, {"reasoning_opaque": "o"}],
        {"content": None, "reasoning_text": "hm", "reasoning_opaque": "o"},
    ),
    "tags in the text": (
        "minimax",
        [{"content": "<think>h"}, {"content": "m</think>\n\nWait."}],
        {"content": "<think>hm</think>\n\nWait."},
    ),
    "where it is not taken": ("xai", [{"reasoning_content": "hm"}], {"content": None}),
}


async def second_request(server: str, reply: list[Step], *, thinking: bool) -> dict[str, Any]:
    """The body of the request that answers the calls of a reply."""
    own = ChatCompletionsSettings(server=server)
    async with (
        server_of(reply, stream_of({"content": "Done."})) as (url, requests),
        gateway_to(url, protocol="chat-completions", request=RequestSettings(own=own), api_key=Secret("k")) as provider,
    ):
        options = RequestOptions(tools=(WEATHER,))
        first = await ask(provider, "Hi", options=options)
        assert first.error is None
        made = [part for part in first.parts if isinstance(part, ToolCallPart)]
        assert [part.call_id for part in made] == ["gw-functions.f:0", "gw-c2"]
        results = user([result(part.call_id, "x") for part in made])
        again = await ask(provider, [user("Hi"), kept(first.parts, thinking=thinking), results], options=options)
        assert (again.text, again.error) == ("Done.", None)
        assert [request.path for request in requests] == ["/v1/chat/completions"] * 2
        assert requests[0].headers["authorization"] == "Bearer k"
        body: dict[str, Any] = json.loads(requests[1].body)
        check_demands(body)
        return body


@within_and_later
@pytest.mark.parametrize(("server", "deltas", "message"), GIVEN.values(), ids=GIVEN)
def test_what_a_server_gave_goes_back_as_it_came(
    server: str, deltas: list[dict[str, Any]], message: dict[str, Any], *, thinking: bool
) -> None:
    async def test() -> None:
        body = await second_request(server, stream_of(*deltas, two_calls(), finish="tool_calls"), thinking=thinking)
        both = call("functions.f:0"), call("c2", arguments='{"a":1}')
        results = gave("x", "functions.f:0"), gave("x", "c2")
        assert body["messages"] == [said("user", "Hi"), calls(*both, **message), *results]

    run(test())


@within_and_later
def test_a_signature_goes_back_with_its_call(*, thinking: bool) -> None:
    async def test() -> None:
        signature = {"extra_content": {"google": {"thought_signature": "s"}}}
        body = await second_request("gemini", stream_of(two_calls(**signature), finish="tool_calls"), thinking=thinking)
        assert [one.get("extra_content") for one in body["messages"][1]["tool_calls"]] == [
            signature["extra_content"],
            None,
        ]

    run(test())


def test_what_one_model_thought_does_not_go_to_another() -> None:
    async def test() -> None:
        async with (
            server_of(stream_of({"reasoning_content": "hm"}, {"content": "Ho"})) as (url, requests),
            gateway_to(url, protocol="chat-completions") as provider,
        ):
            first: Answer = await ask(provider, "Hi")
            history: list[ChatMessage] = [user("Hi"), kept(first.parts, thinking=True), user("Go on")]
            await ask(provider, history, model_id="other")
            await ask(provider, history)
            sent = [json.loads(request.body)["messages"][1] for request in requests[1:]]
            assert sent == [said("assistant", "Ho"), said("assistant", "Ho", reasoning_content="hm")]

    run(test())


def test_thinking_too_long_for_the_marker_is_lost_in_later_turns_and_its_place_is_kept() -> None:
    async def test() -> None:
        long = [{"reasoning_content": "e" * 70_000}, two_calls()]
        for thinking, sent in ((True, "e" * 70_000), (False, "")):
            body = await second_request("deepseek", stream_of(*long, finish="tool_calls"), thinking=thinking)
            assert body["messages"][1]["reasoning_content"] == sent

    run(test())


def test_a_server_gets_the_words_of_what_its_list_of_models_says_that_it_is() -> None:
    def answer(body: bytes) -> Any:
        if b"messages" not in body:
            return {"error": {"message": "messages is missing"}}
        message = {"role": "assistant", "content": "Ho"}
        return {"object": "chat.completion", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}

    async def test() -> None:
        listed = {"object": "list", "data": [{"id": "text", "owned_by": "vllm", "max_model_len": 4096}]}
        server = ModelServer({"/v1/models": listed, "/v1/chat/completions": answer})
        async with serving(server), gateway_to(server.url, protocol=AUTO) as provider:
            options = RequestOptions(model_configuration={"reasoningEffort": "max"})
            answered = await ask(provider, "Hi", options=options)
            assert (answered.text, answered.error) == ("Ho", None)
        sent = json.loads(server.requests[-1].body)
        assert sent["chat_template_kwargs"] == {"enable_thinking": True, "thinking": True}
        assert sent["reasoning_effort"] == "high"

    run(test())


def test_a_conversation_that_begins_with_calls_of_another_provider_is_taken() -> None:
    async def test() -> None:
        async with (
            server_of(stream_of({"content": "Ho"})) as (url, requests),
            gateway_to(url, protocol="chat-completions") as provider,
        ):
            foreign = ToolCallPart("toolu_" + "x" * 60, "f", {})
            history = [user("Hi"), assistant([foreign]), user([result(foreign.call_id, "x")])]
            assert (await ask(provider, history)).text == "Ho"
            body = json.loads(requests[0].body)
            check_demands(body)
            assert len(body["messages"][2]["tool_call_id"]) == 40

    run(test())
