"""A gateway provider that speaks the AI Gateway's protocol: rounds with reasoning, keys, errors, over real HTTP."""

import json
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from conversation.samples import PNG, WEATHER, assistant, gave, user
from partstream import CancellationTokenSource, DataPart, RequestOptions, ThinkingPart, ToolCallPart
from partstream.conversation.preparation import Continuation, RequestSettings
from partstream.errors import RequestNotExpressibleError, UpstreamHTTPError
from partstream.protocols.protocol import KeyKind
from partstream.server.loopback import LoopbackRequest
from partstream.upstream.configuration import RetryPolicy
from partstream.upstream.endpoint import Secret
from partstream.upstream.provider import GatewayProvider
from partstream_devtools.testing.faults import Step, document
from partstream_devtools.testing.upstream import ReplayUpstream
from protocols.ai_sdk.messages import call, check_calls, message
from upstreams.test_requests import kept
from upstreams.upstreams import Answer, ask, gateway_to, respond, run, server_of

BASES = {"/v1/ai": "2", "/v3/ai": "3", "/v4/ai": "4"}
CLAUDE = "anthropic/claude-sonnet-4.5"
GATEWAY = {"protocol": "ai-gateway"}

each_version = pytest.mark.parametrize("base", BASES)


@asynccontextmanager
async def replay(base: str = "/v4/ai", **changes: Any) -> AsyncIterator[tuple[ReplayUpstream, GatewayProvider]]:
    """The replay upstream as an AI Gateway, and a gateway to it."""
    async with (
        ReplayUpstream() as upstream,
        gateway_to(f"http://127.0.0.1:{upstream.port}{base}", **GATEWAY, **changes) as provider,
    ):
        yield upstream, provider


def prompts(upstream: ReplayUpstream) -> list[list[dict[str, Any]]]:
    found = [request.body["prompt"] for request in upstream.requests]
    for prompt in found:
        check_calls(prompt)
    return found


def parts_of(prompt: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    said = [part for one in prompt if isinstance(one["content"], list) for part in one["content"]]
    return [part for part in said if part["type"] == kind]


@each_version
def test_the_headers_say_model_and_version_and_the_body_says_neither(base: str):
    async def test() -> None:
        async with replay(base) as (upstream, provider):
            answer = await ask(provider, "Hi")
            assert answer.error is None
            assert answer.text.startswith("Hello from Partstream!")
            (request,) = upstream.requests
            assert request.headers["ai-language-model-id"] == "text"
            assert request.headers["ai-language-model-specification-version"] == BASES[base]
            assert request.body == {"prompt": [message("user", "Hi")]}

    run(test())


@each_version
@pytest.mark.parametrize("thinking", [True, False], ids=["within the turn", "in a later turn"])
def test_what_the_model_signed_goes_back_to_it_as_it_was_given(base: str, thinking: bool):
    options = RequestOptions(tools=(WEATHER,))

    async def test() -> None:
        async with replay(base) as (upstream, provider):
            first = await ask(provider, "The weather in Lisbon?", model_id="tools", options=options)
            calls = [part for part in first.parts if isinstance(part, ToolCallPart)]
            assert len(calls) == 2
            results = user([gave(part.call_id, "12 °C") for part in calls])
            history = [user("The weather in Lisbon?"), kept(first.parts, thinking=thinking), results]
            # The upstream refuses a signature of anything but its own part.
            second = await ask(provider, history, model_id="tools", options=options)
            assert second.error is None
            assert "12 °C" in second.text
            _, prompt = prompts(upstream)
            (thought,) = parts_of(prompt, "reasoning")
            assert thought.keys() == {"type", "text", "providerOptions"}
            assert thought["providerOptions"].keys() == {"anthropic"}
            signed, plain = parts_of(prompt, "tool-call")
            assert signed["providerOptions"]["google"].keys() == {"thoughtSignature"}
            assert "providerOptions" not in plain
            assert [part["toolCallId"] for part in (signed, plain)] == [
                part.call_id.removeprefix("gw-") for part in calls
            ]

    run(test())


@each_version
def test_what_the_model_signed_goes_to_no_other_and_never_becomes_text(base: str):
    async def test() -> None:
        async with replay(base) as (upstream, provider):
            first = await ask(provider, "Hi", model_id="thinking")
            thoughts = "".join(part.value for part in first.parts if isinstance(part, ThinkingPart))
            assert thoughts
            for thinking in (True, False):
                await ask(provider, [user("Hi"), kept(first.parts, thinking=thinking), user("And?")])
                assert thoughts not in json.dumps(prompts(upstream)[-1])

    run(test())


def stream_of(*events: dict[str, Any]) -> tuple[Step, ...]:
    finish = {"type": "finish", "finishReason": "stop", "usage": {"inputTokens": 1, "outputTokens": 1}}
    lines = "".join(f"data: {json.dumps(event)}\n\n" for event in (*events, finish))
    return document(200, lines.encode(), "text/event-stream")


THOUGHT = (
    {"type": "reasoning-start", "id": "r"},
    {"type": "reasoning-delta", "id": "r", "delta": "hm"},
    {"type": "reasoning-end", "id": "r", "providerMetadata": {"anthropic": {"signature": "s"}}},
    {"type": "tool-call", "toolCallId": "c1", "toolName": "f", "input": "{}"},
)


def test_a_signature_that_is_refused_is_left_out_the_second_time():
    refusal = document(
        400, b'{"error":{"message":"Invalid `signature` in `thinking` block","type":"invalid_request_error"}}'
    )

    async def test() -> None:
        replies = (stream_of(*THOUGHT), refusal, stream_of({"type": "text-delta", "id": "1", "delta": "Done."}))
        async with server_of(*replies) as (url, requests), gateway_to(url, **GATEWAY) as provider:
            first = await ask(provider, "Hi")
            results = user([gave("gw-c1", "x")])
            second = await ask(provider, [user("Hi"), kept(first.parts, thinking=True), results])
            assert second.text == "Done."
            refused, accepted = (json.loads(request.body)["prompt"] for request in requests[1:])
            signed = {"type": "reasoning", "text": "hm", "providerOptions": {"anthropic": {"signature": "s"}}}
            assert refused[1] == message("assistant", signed, call("c1"))
            assert accepted[1] == message("assistant", call("c1"))

    run(test())


def test_no_request_goes_on_from_a_stored_response():
    async def test() -> None:
        settings = RequestSettings(continuation=Continuation.ON)
        async with replay(request=settings) as (upstream, provider):
            first = await ask(provider, "Hi")
            await ask(provider, [user("Hi"), kept(first.parts, thinking=True), user("And?")])
            assert [said["role"] for said in prompts(upstream)[1]] == ["user", "assistant", "user"]

    run(test())


@each_version
def test_images_arrive_in_messages_and_in_results(base: str):
    pixel = DataPart(PNG, "image/png")

    async def test() -> None:
        async with replay(base) as (_, provider):
            given = [assistant([ToolCallPart("gw-1", "look", {})]), user([gave("gw-1", pixel)])]
            for history in ([user([pixel])], given):
                answer = await ask(provider, history, model_id="image_echo")
                assert answer.error is None
                assert "I see 1 image(s):\n1. image/png, 67 bytes" in answer.text

    run(test())


# ---- keys ----


class Renewed:
    """A key that is a plain one at first, and a token once that was refused."""

    async def get(self) -> Secret:
        return Secret("planted-key-1")

    async def refresh(self, refused: Secret) -> Secret:
        return Secret("planted-token-2", KeyKind.OIDC)


def test_the_header_says_of_each_key_what_it_is():
    refusal = document(401, b'{"error":{"message":"bad key planted-key-1","type":"authentication_error"}}')

    async def test() -> None:
        async with (
            server_of(refusal, stream_of()) as (url, requests),
            gateway_to(url, **GATEWAY, credentials=Renewed()) as provider,
        ):
            await ask(provider, "Hi")
            assert [_authorization(request) for request in requests] == [
                ("Bearer planted-key-1", "api-key"),
                ("Bearer planted-token-2", "oidc"),
            ]

    run(test())


def _authorization(request: LoopbackRequest) -> tuple[str | None, str | None]:
    return request.headers.get("authorization"), request.headers.get("ai-gateway-auth-method")


def test_headers_that_somebody_sets_win_over_those_of_the_protocol():
    async def test() -> None:
        async with replay(headers={"AI-Gateway-Auth-Method": "oidc"}, api_key=Secret("planted-1")) as (
            upstream,
            provider,
        ):
            await ask(provider, "Hi")
            assert upstream.requests[0].headers["ai-gateway-auth-method"] == "oidc"

    run(test())


# ---- errors ----


def test_an_error_keeps_its_id_and_the_name_of_the_model_and_loses_the_key(caplog: pytest.LogCaptureFixture):
    body = {
        "error": {"message": f"Model {CLAUDE} is not for planted-key-1", "type": "model_not_found"},
        "generationId": "gen_1",
    }

    async def test() -> None:
        async with (
            server_of(document(404, json.dumps(body).encode())) as (url, _),
            gateway_to(url, **GATEWAY, api_key=Secret("planted-key-1")) as provider,
        ):
            answer = await ask(provider, "Hi", model_id=CLAUDE)
            assert isinstance(answer.error, UpstreamHTTPError)
            assert answer.error.generation_id == "gen_1"
            assert answer.error.message == f"the server answered HTTP 404: Model {CLAUDE} is not for *** [gen_1]"
            assert answer.error.provider_code == "model_not_found"

    with caplog.at_level(logging.DEBUG):
        run(test())
    assert "planted-key-1" not in caplog.text


def test_an_id_that_no_header_holds_is_refused_before_anything_is_sent():
    async def test() -> None:
        async with replay() as (upstream, provider):
            answer = await ask(provider, "Hi", model_id="a\r\nb: c")
            assert isinstance(answer.error, RequestNotExpressibleError)
            assert upstream.requests == []

    run(test())


OVERLOADED = {
    "an error status": document(503, b'{"error":{"message":"busy","type":"internal_server_error"}}'),
    "an error in the stream": stream_of(
        {"type": "error", "error": {"message": "Overloaded", "type": "overloaded_error", "statusCode": 529}}
    ),
}


@pytest.mark.parametrize("failure", OVERLOADED.values(), ids=OVERLOADED)
def test_another_model_answers_in_the_place_of_one_that_is_overloaded(failure: tuple[Step, ...]):
    hello = stream_of({"type": "text-delta", "id": "1", "delta": "Hello"})

    async def test() -> None:
        settings = {"fallbacks": {"a/large": ("b/small",)}, "retry": RetryPolicy(attempts=1)}
        async with server_of(failure, hello) as (url, requests), gateway_to(url, **GATEWAY, **settings) as provider:
            answer = await ask(provider, "Hi", model_id="a/large")
            assert (answer.error, answer.text) == (None, "Hello")
            assert len(answer.parts) == 2  # with one usage, that of the answer
            assert [request.headers["ai-language-model-id"] for request in requests] == ["a/large", "b/small"]

    run(test())


def test_cancelling_ends_the_answer_at_once():
    async def test() -> None:
        async with replay() as (_, provider):
            source, answer = CancellationTokenSource(), Answer()
            report = answer.report

            def report_and_cancel(part: Any, /) -> None:
                report(part)
                source.cancel()

            answer.report = report_and_cancel  # type: ignore[method-assign]
            await respond(provider, "Hi", answer, source.token, model_id="long")
            assert len(answer.parts) == 1

    run(test())
