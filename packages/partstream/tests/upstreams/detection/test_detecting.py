"""Finding out what a real server speaks: how often it is asked, what is remembered, and when it is asked again."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from models.lists import OPENAI
from models.server import Clock, ModelServer, serving
from partstream import CancellationTokenSource, LanguageModelChatInformation
from partstream.errors import UpstreamConnectionError, UpstreamError
from partstream.settings.kinds import ConfigurationError
from partstream.upstream.configuration import GatewayConfiguration
from partstream.upstream.detection import Detected, Detector, known_wires, probed_wires
from partstream.upstream.endpoint import CredentialError, Secret
from partstream.upstream.http import Connections
from partstream.upstream.provider import GatewayProvider
from partstream_devtools.testing.faults import document
from upstreams.upstreams import RETRY, ask, run, server_of

RESPONSES, CHAT, MESSAGES, MODELS = "/v1/responses", "/v1/chat/completions", "/v1/messages", "/v1/models"
KEY = "sk-planted-0123456789"


ROUND = 1 + len(probed_wires(known_wires()))
"""The requests below one base URL: the list of models, and one to each endpoint."""


class Speaking(ModelServer):
    """A model server that refuses empty requests to its endpoints, as real ones do."""

    def speak(self, *paths: str, status: int = 400) -> "Speaking":
        self.statuses |= dict.fromkeys(paths, status)
        return self


@asynccontextmanager
async def speaking(*paths: str, models: bool = True) -> AsyncIterator[Speaking]:
    server = Speaking({MODELS: OPENAI} if models else {}).speak(*paths)
    async with serving(server):
        yield server


def origin(server: ModelServer) -> str:
    return server.url.removesuffix("/v1")


@asynccontextmanager
async def detecting(url: str, **settings: Any) -> AsyncIterator[Detector]:
    configuration = GatewayConfiguration(url, **settings)
    async with (
        aclosing(Connections(configuration)) as connections,
        aclosing(Detector(configuration, connections)) as one,
    ):
        yield one


async def detected(url: str, **settings: Any) -> Detected:
    async with detecting(url, **settings) as detector:
        return await detector.detected()


# ---- what it speaks, and at which URL ----


@pytest.mark.parametrize(
    ("paths", "protocol"),
    [((RESPONSES,), "openresponses"), ((CHAT,), "chat-completions"), ((RESPONSES, CHAT), "openresponses")],
)
def test_the_endpoint_that_is_there_tells_the_protocol(paths: tuple[str, ...], protocol: str):
    async def test() -> None:
        async with speaking(*paths) as server:
            found = await detected(server.url)
            assert (found.protocol, found.base_url, found.is_certain) == (protocol, server.url, True)
            assert "answers an empty request (HTTP 400)" in found.reason

    run(test())


@pytest.mark.parametrize(
    "form",
    ["", "/", "/v1", "/v1/", "//v1//", "/v1/chat/completions", "/v1/responses/", "/v1/models", "/api", "/api/v0"],
)
def test_every_form_of_a_wrong_url_is_understood(form: str):
    async def test() -> None:
        async with speaking(CHAT) as server:
            found = await detected(origin(server) + form)
            assert (found.protocol, found.base_url) == ("chat-completions", server.url)

    run(test())


def test_a_url_of_an_endpoint_without_a_version_is_understood_where_the_server_has_none():
    async def test() -> None:
        async with speaking("/chat/completions") as server:
            found = await detected(f"{origin(server)}/chat/completions")
            assert (found.protocol, found.base_url) == ("chat-completions", origin(server))

    run(test())


NATIVE, GEMINI = "/api/chat", "/v1beta/models/partstream:streamGenerateContent"
OLLAMA_LIST = {"object": "list", "data": [{"id": "qwen3:8b", "owned_by": "library"}]}


def test_a_proxy_that_speaks_nothing_but_anthropic_messages_is_understood():
    async def test() -> None:
        async with speaking(MESSAGES, models=False) as server:
            for form in ("", "/v1", "/v1/messages"):
                found = await detected(origin(server) + form)
                assert (found.protocol, found.base_url) == ("anthropic-messages", server.url)

    run(test())


@pytest.mark.parametrize("form", ["", "/v1", "/api", "/api/chat", "/v1/chat/completions"])
def test_ollama_is_told_by_its_list_and_asked_on_the_wire_that_loses_least(form: str):
    async def test() -> None:
        async with speaking(RESPONSES, CHAT, MESSAGES, NATIVE) as server:
            server.documents[MODELS] = OLLAMA_LIST
            found = await detected(origin(server) + form)
            assert (found.protocol, found.base_url) == ("ollama", f"{origin(server)}/api")
            assert found.is_certain
            assert len(server.requests) <= 2 * ROUND + 2

    run(test())


def test_the_reason_says_what_the_other_wires_of_ollama_lose():
    async def test() -> None:
        async with speaking(RESPONSES, CHAT, MESSAGES, NATIVE) as server:
            server.documents[MODELS] = OLLAMA_LIST
            found = await detected(server.url)
            assert found.reason.startswith("/api/chat answers an empty request (HTTP 400); ")
            for title in ("OpenResponses", "Chat Completions", "Anthropic Messages"):
                assert f"{title} is not complete at Ollama (" in found.reason

    run(test())


def test_an_ollama_whose_own_wire_is_closed_is_asked_on_the_next_best():
    async def test() -> None:
        async with speaking(RESPONSES, CHAT, MESSAGES) as server:
            server.documents[MODELS] = OLLAMA_LIST
            found = await detected(server.url)
            assert (found.protocol, found.base_url) == ("chat-completions", server.url)

    run(test())


@pytest.mark.parametrize(("path", "protocol", "base"), [(NATIVE, "ollama", "/api"), (GEMINI, "gemini", "/v1beta")])
@pytest.mark.parametrize("form", ["", "/v1"])
def test_a_wire_with_a_base_path_of_its_own_is_found_where_nothing_else_is(
    path: str, protocol: str, base: str, form: str
):
    async def test() -> None:
        async with speaking(path, models=False) as server:
            found = await detected(origin(server) + form)
            assert (found.protocol, found.base_url) == (protocol, origin(server) + base)
            assert len(server.requests) <= 3 * ROUND + 2

    run(test())


def test_no_address_costs_more_than_some_requests():
    async def test() -> None:
        async with speaking(models=False) as server:
            found = await detected(f"{origin(server)}/somewhere")
            assert not found.is_certain
            assert len(server.requests) == 3 * ROUND + 2

    run(test())


# ---- how often it is asked ----


def test_a_few_small_requests_are_sent_at_the_same_time():
    async def test() -> None:
        async with speaking(CHAT) as server:
            server.gate.clear()
            task = asyncio.create_task(detected(server.url))
            async with asyncio.timeout(10):
                while len(server.requests) < ROUND:  # each of them waits for the gate
                    await asyncio.sleep(0)
            server.gate.set()
            assert (await task).protocol == "chat-completions"
            assert server.most_at_once == ROUND
            assert sorted((one.method, one.path, one.body) for one in server.requests) == [
                ("GET", MODELS, b""),
                ("POST", CHAT, b'{"max_tokens":1}'),
                ("POST", MESSAGES, b"{}"),
                ("POST", RESPONSES, b"{}"),
            ]

    run(test())


def test_fifty_questions_at_once_are_one_detection():
    async def test() -> None:
        async with speaking(CHAT) as server, detecting(server.url) as detector:
            found = await asyncio.gather(*(detector.detected() for _ in range(50)))
            assert {one.protocol for one in found} == {"chat-completions"}
            assert len(server.requests) == ROUND
            assert await detector.detected() is detector.known
            assert len(server.requests) == ROUND

    run(test())


def test_a_caller_that_stops_waiting_does_not_stop_the_others():
    async def test() -> None:
        async with speaking(CHAT) as server, detecting(server.url) as detector:
            server.gate.clear()
            first, second = (asyncio.create_task(detector.detected()) for _ in range(2))
            async with asyncio.timeout(10):
                while not server.requests:
                    await asyncio.sleep(0)
            first.cancel()
            server.gate.set()
            assert (await second).protocol == "chat-completions"
            assert first.cancelled()
            assert len(server.requests) == ROUND

    run(test())


def test_a_known_host_and_a_protocol_that_is_set_are_never_asked():
    async def test() -> None:
        async with speaking(CHAT) as server:
            found = await detected("https://api.deepseek.com")
            assert (found.protocol, found.is_certain) == ("chat-completions", True)
            forced = GatewayConfiguration(server.url, protocol="openresponses")
            async with aclosing(GatewayProvider(forced)) as provider:
                assert await listed(provider)
            assert {one.method for one in server.requests} == {"GET"}

    run(test())


async def listed(provider: GatewayProvider) -> list[LanguageModelChatInformation]:
    return list(await provider.provide_language_model_chat_information(True, CancellationTokenSource().token))


def test_a_key_goes_with_the_requests_to_the_host_and_a_redirect_is_not_followed():
    async def test() -> None:
        async with (
            server_of(document(200, b"{}")) as (other, elsewhere),
            server_of(document(307, b"", headers=(("location", f"{other}/responses"),))) as (url, requests),
        ):
            found = await detected(url, api_key=Secret(KEY))
            assert not found.is_certain
            assert elsewhere == []
            keys = [
                (one.headers.get("authorization", "").removeprefix("Bearer "), one.headers.get("x-api-key", ""))
                for one in requests
            ]
            assert {"".join(key) for key in keys} == {KEY}
            assert KEY not in repr(found) + found.says

    run(test())


# ---- what is remembered ----


def test_it_is_remembered_in_the_folder_of_the_cache_without_host_and_key(tmp_path: Path):
    async def test() -> None:
        async with speaking(CHAT) as server:
            url = f"{origin(server)}?key={KEY}"
            found = await detected(url, cache_folder=tmp_path)
            asked = len(server.requests)
            again = await detected(url, cache_folder=tmp_path)
            assert (again.protocol, again.base_url, again.reason) == (found.protocol, found.base_url, found.reason)
            assert again.base_url == f"{server.url}?key={KEY}"
            assert len(server.requests) == asked
            (file,) = tmp_path.glob("protocol-*.json")
            kept = file.read_text() + file.name
            assert KEY not in kept
            assert "127.0.0.1" not in kept

    run(test())


def test_the_known_server_is_remembered_and_an_unknown_one_is_none(tmp_path: Path):
    async def test() -> None:
        async with speaking(CHAT) as server:
            server.documents[MODELS] = {"data": [{"id": "m", "owned_by": "vllm"}]}
            assert (await detected(server.url, cache_folder=tmp_path)).server == "vllm"
            asked = len(server.requests)
            assert (await detected(server.url, cache_folder=tmp_path)).server == "vllm"
            assert len(server.requests) == asked
            (file,) = tmp_path.glob("protocol-*.json")
            file.write_text(json.dumps({**json.loads(file.read_text()), "server": "unknown"}))
            assert (await detected(server.url, cache_folder=tmp_path)).server == ""
            assert len(server.requests) == asked

    run(test())


@pytest.mark.parametrize(
    "damage",
    [
        lambda kept: "no JSON",
        lambda kept: json.dumps([kept]),
        lambda kept: json.dumps({**kept, "version": "0.0.1"}),
        lambda kept: json.dumps({**kept, "protocol": "morse"}),
        lambda kept: json.dumps({**kept, "path": "@elsewhere.example/v1"}),
        lambda kept: json.dumps({**kept, "path": 5}),
        lambda kept: json.dumps({**kept, "at": kept["at"] - 25 * 3600}),
        lambda kept: json.dumps({**kept, "at": kept["at"] + 3600}),
    ],
    ids=[
        "no JSON",
        "a list",
        "another version",
        "an unknown protocol",
        "no path",
        "no text",
        "too old",
        "of the future",
    ],
)
def test_what_is_of_no_use_in_the_folder_is_found_out_again(tmp_path: Path, damage: Any):
    async def test() -> None:
        async with speaking(CHAT) as server:
            await detected(server.url, cache_folder=tmp_path)
            (file,) = tmp_path.glob("protocol-*.json")
            file.write_text(damage(json.loads(file.read_text())))
            asked = len(server.requests)
            found = await detected(server.url, cache_folder=tmp_path)
            assert (found.protocol, found.base_url) == ("chat-completions", server.url)
            assert len(server.requests) == asked + ROUND

    run(test())


def test_a_guess_is_not_kept(tmp_path: Path):
    async def test() -> None:
        async with speaking(RESPONSES, CHAT) as server:
            await detected(server.url, cache_folder=tmp_path)
            (file,) = tmp_path.glob("protocol-*.json")
            file.unlink()
            server.speak(RESPONSES, CHAT, status=401)
            clock = [1_000_000.0]
            configuration = GatewayConfiguration(server.url, cache_folder=tmp_path)
            async with aclosing(Connections(configuration)) as connections:
                detector = Detector(configuration, connections, lambda: clock[0])
                assert not (await detector.detected()).is_certain
                assert detector.known is None
                assert list(tmp_path.glob("protocol-*.json")) == []
                server.speak(RESPONSES, status=404).speak(CHAT)
                clock[0] += 60
                assert (await detector.detected()).protocol == "chat-completions"

    run(test())


# ---- when it was wrong ----


def test_a_server_that_speaks_something_else_now_is_asked_again_once(caplog: pytest.LogCaptureFixture):
    async def test() -> None:
        async with speaking(CHAT) as server, detecting(server.url) as detector:
            first = await detector.detected()
            server.speak(CHAT, status=404).speak(RESPONSES)
            again = await asyncio.gather(*(detector.detected_again(first) for _ in range(20)))
            assert {one.protocol for one in again} == {"openresponses"}
            assert len(server.requests) == 2 * ROUND
            assert (await detector.detected()).protocol == "openresponses"
            assert len(server.requests) == 2 * ROUND

    caplog.set_level(logging.INFO, "partstream.upstreams")
    run(test())
    said = [record.getMessage() for record in caplog.records if record.name == "partstream.upstreams"]
    assert sum("Speaks Chat Completions: /v1/chat/completions answers an empty request" in one for one in said) == 1
    assert sum("Speaks OpenResponses: /v1/responses answers an empty request" in one for one in said) == 1


def test_a_server_for_which_the_same_was_found_out_again_has_a_pause():
    async def test() -> None:
        async with speaking(CHAT) as server:
            clock = [1_000_000.0]
            configuration = GatewayConfiguration(server.url)
            async with aclosing(Connections(configuration)) as connections:
                detector = Detector(configuration, connections, lambda: clock[0])
                found = await detector.detected()
                for _ in range(10):
                    assert await detector.detected_again(found) == found
                assert len(server.requests) == 2 * ROUND
                clock[0] += 60
                assert await detector.detected_again(found) == found
                assert len(server.requests) == 3 * ROUND

    run(test())


# ---- where no one can be asked ----


def test_the_error_of_a_dead_server_is_that_of_the_connection():
    async def test() -> None:
        configuration = GatewayConfiguration("http://127.0.0.1:9/v1", retry=RETRY)
        async with aclosing(GatewayProvider(configuration)) as provider:
            with pytest.raises(UpstreamConnectionError, match=r"nothing listens at 127\.0\.0\.1:9"):
                await listed(provider)
            assert (await ask(provider, "Hi")).error is not None

    run(test())


def test_a_key_that_cannot_be_had_is_the_error():
    class Lost:
        async def get(self) -> Secret:
            raise CredentialError("a test", "nothing", "a key")

        async def refresh(self, refused: Secret) -> None:
            return None

    async def test() -> None:
        async with speaking(CHAT) as server:
            with pytest.raises(CredentialError):
                await detected(server.url, credentials=Lost())
            assert server.requests == []

    run(test())


def test_a_refused_key_is_not_renewed_for_the_sake_of_a_detection():
    class Renewing:
        async def get(self) -> Secret:
            return Secret("key-1")

        async def refresh(self, refused: Secret) -> Secret:
            raise AssertionError("another key was asked for")

    async def test() -> None:
        async with speaking(RESPONSES, CHAT) as server:
            server.speak(RESPONSES, CHAT, MODELS, status=401)
            found = await detected(server.url, credentials=Renewing())
            assert (found.protocol, found.is_certain) == ("openresponses", False)
            assert "HTTP 401" in found.reason
            assert len(server.requests) == ROUND

    run(test())


def test_a_server_that_shows_a_page_for_everything_is_no_model_server():
    async def test() -> None:
        page = document(200, b"<html><title>Sign in</title></html>", "text/html")
        async with server_of(page) as (url, _), aclosing(GatewayProvider(GatewayConfiguration(url))) as provider:
            with pytest.raises(UpstreamError, match="a web page, perhaps a login \\(Sign in\\), and no list of models"):
                await listed(provider)

    run(test())


def test_a_port_that_wants_https_is_answered_with_the_url_to_use():
    async def test() -> None:
        plain = document(400, b"Client sent an HTTP request to an HTTPS server.\n", "text/plain")
        async with server_of(plain) as (url, _), aclosing(GatewayProvider(GatewayConfiguration(url))) as provider:
            with pytest.raises(UpstreamError) as raised:
                await listed(provider)
            assert raised.value.advice == f"this port wants https: use {url.replace('http://', 'https://')}"

    run(test())


# ---- what people see ----


def test_the_tooltip_of_a_model_says_what_its_server_speaks_and_why():
    async def test() -> None:
        async with speaking(RESPONSES) as server:
            async with aclosing(GatewayProvider(GatewayConfiguration(server.url))) as provider:
                (first, *_) = await listed(provider)
                assert first.tooltip is not None
                assert first.tooltip.splitlines()[-1] == (
                    "Speaks OpenResponses: /v1/responses answers an empty request (HTTP 400); "
                    "/v1/chat/completions is missing (HTTP 404); /v1/messages is missing (HTTP 404)"
                )
            forced = GatewayConfiguration(server.url, protocol="openresponses")
            async with aclosing(GatewayProvider(forced)) as provider:
                (first, *_) = await listed(provider)
                assert "Speaks" not in (first.tooltip or "")

    run(test())


def test_the_refusal_of_plain_http_to_another_machine_names_the_machine_and_shows_no_query():
    with pytest.raises(ConfigurationError, match=r"refusing plain HTTP to api\.example\.com: ") as caught:
        GatewayConfiguration(f"http://api.example.com/v1?key={KEY}")
    assert KEY not in str(caught.value)


def test_a_server_that_falls_silent_keeps_nobody_waiting_before_each_question():
    async def test() -> None:
        clock = Clock()

        class Slow(Connections):
            def open(self) -> Any:
                clock.now += 5  # the longest wait
                return super().open()

        async with speaking(RESPONSES, CHAT) as server:
            server.speak(RESPONSES, CHAT, MODELS, status=503)
            configuration = GatewayConfiguration(server.url)
            async with aclosing(Slow(configuration)) as connections:
                detector = Detector(configuration, connections, clock)
                guess = await detector.detected()
                assert not guess.is_certain
                clock.now += 50
                assert await detector.detected() is guess
                assert len(server.requests) == ROUND
                clock.now += 300
                assert not (await detector.detected()).is_certain
                assert len(server.requests) == 2 * ROUND

    run(test())
