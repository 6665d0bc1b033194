"""A provider and a served Gemini over real HTTP: paths, the key, the list of models, counts and signatures."""

import json
import logging
from typing import Any

import pytest

from conversation.samples import WEATHER, user
from conversation.samples import gave as gave_back
from partstream import ChatMessage, RequestOptions, ToolCallPart
from partstream.conversation.preparation import CountTokens, RequestSettings
from partstream.upstream.detection import decide_by_host, known_wires
from partstream.upstream.endpoint import Secret
from partstream_devtools.testing.upstream import ReplayUpstream
from protocols.gemini import wire
from protocols.gemini.requests import call
from protocols.gemini.wire import chunk
from upstreams.test_gemini_refusals import HELLO, NEW, streamed
from upstreams.test_refusals import Body, server
from upstreams.upstreams import ask, gateway_to, run

GEMINI: dict[str, Any] = {"protocol": "gemini"}
SAID = "Hello from Partstream!"


HOST, VERTEX = "https://generativelanguage.googleapis.com", "https://aiplatform.googleapis.com"


@pytest.mark.parametrize(
    ("url", "protocol", "base_url"),
    [
        (HOST, "gemini", f"{HOST}/v1beta"),
        (f"{HOST}/v1beta/", "gemini", f"{HOST}/v1beta"),
        (f"{HOST}/v1beta/models", "gemini", f"{HOST}/v1beta"),
        (f"{HOST}/v1beta/models/gemini-3-pro:generateContent", "gemini", f"{HOST}/v1beta"),
        (f"{HOST}/v1beta/openai", "chat-completions", f"{HOST}/v1beta/openai"),
        (f"{HOST}/v1beta/openai/chat/completions", "chat-completions", f"{HOST}/v1beta/openai"),
        (VERTEX, "gemini", f"{VERTEX}/v1/publishers/google"),
        (f"{VERTEX}/v1/publishers/google", "gemini", f"{VERTEX}/v1/publishers/google"),
    ],
)
def test_googles_hosts_speak_their_own_wire_and_the_compatible_one_where_somebody_names_it(
    url: str, protocol: str, base_url: str
) -> None:
    found = decide_by_host(url, known_wires())
    assert found is not None
    assert (found.protocol, found.base_url) == (protocol, base_url)


@pytest.mark.parametrize("base_path", ["/v1beta", "/v1", "/v1/publishers/google"])
def test_the_gemini_api_and_vertex_in_express_mode_differ_in_the_base_url_alone(base_path: str) -> None:
    async def check() -> None:
        async with ReplayUpstream() as upstream:
            url = upstream.base_url_of("gemini").removesuffix("/v1beta") + base_path
            async with gateway_to(url, **GEMINI, api_key=Secret("AIza-a-key")) as provider:
                assert SAID in (await ask(provider, "Hi")).text
            request = upstream.requests[-1]
            assert request.path == f"{base_path}/models/text:streamGenerateContent"
            assert "x-goog-api-key" in request.headers
            assert "authorization" not in request.headers

    run(check())


def test_the_server_counts_with_tools_and_system_where_somebody_wants_it(caplog: pytest.LogCaptureFixture) -> None:
    async def check() -> None:
        async with ReplayUpstream() as upstream:
            counting = RequestSettings(count_tokens=CountTokens.UPSTREAM)
            async with gateway_to(upstream.base_url_of("gemini"), **GEMINI, request=counting) as provider:
                with caplog.at_level(logging.INFO):
                    await ask(provider, "Hi", options=RequestOptions([WEATHER]))
            asked, sent = upstream.requests
            assert asked.path == "/v1beta/models/text:countTokens"
            assert asked.body["generateContentRequest"] == {"model": "models/text", **sent.body}
            assert "(counted)" in caplog.text

    run(check())


def test_the_models_of_a_served_gemini_are_offered() -> None:
    async def check() -> None:
        async with ReplayUpstream() as upstream:
            async with gateway_to(upstream.base_url_of("gemini"), **GEMINI, models=()) as provider:
                models = await provider.provide_language_model_chat_information(None, None)
            assert "text" in {model.id for model in models}

    run(check())


def test_ten_rounds_of_parallel_calls_bring_every_signature_back_to_its_part() -> None:
    """Each round is one more step of the same turn, and all are checked (docs/wires/gemini.md#unsigned-calls)."""

    async def check() -> None:
        def answer_to(body: Body) -> list[Any]:
            number = sum(content["role"] == "model" for content in body["contents"])
            calls = [wire.call("f", f"sign-{number}", id=f"c{number}"), wire.call("g", id=f"d{number}")]
            return streamed(chunk(wire.said(f"Step {number}.")), chunk(*calls), chunk(finish="STOP"))

        async with server(answer_to) as (url, came), gateway_to(url, **GEMINI) as provider:
            history = [user("?")]
            for _ in range(10):
                answer = await ask(provider, history, model_id=NEW)
                calls = [part for part in answer.parts if isinstance(part, ToolCallPart)]
                history += [ChatMessage.assistant(answer.parts), user([gave_back(one.call_id, "x") for one in calls])]
            models = [content["parts"] for content in came[-1]["contents"] if content["role"] == "model"]
            assert models == [
                [
                    {"text": f"Step {number}."},
                    call("f", f"sign-{number}", id=f"c{number}"),
                    call("g", id=f"d{number}"),
                ]
                for number in range(9)
            ]
            whole = json.dumps(came[-1]["contents"])
            assert all(whole.startswith(json.dumps(body["contents"])[:-1]) for body in came)

    run(check())


def test_a_request_begins_with_what_stays_the_same_so_that_the_server_finds_it_in_its_cache() -> None:
    async def check() -> None:
        async with server(lambda _body: HELLO) as (url, came), gateway_to(url, **GEMINI) as provider:
            for said in ("one", "two"):
                history = [ChatMessage.system("Be brief."), user(said)]
                await ask(provider, history, model_id=NEW, options=RequestOptions([WEATHER]))
            first, second = (list(body.items()) for body in came)
            names = [name for name, _ in first]
            assert names[:3] == ["systemInstruction", "tools", "contents"]
            assert first[:2] == second[:2]

    run(check())
