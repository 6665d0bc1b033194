"""A provider whose protocol is not set, against real servers: questions, settings, and a server that changes."""

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import replace
from typing import Any

import pytest

from models.lists import OPENAI
from models.server import ModelServer, serving
from partstream import CancellationTokenSource, LanguageModelChatInformation
from partstream.codec.json_codec import loads
from partstream.conversation.preparation import OwnFields, RequestSettings
from partstream.errors import UpstreamHTTPError
from partstream.protocols.ai_gateway.models import AIGatewaySettings
from partstream.protocols.openresponses.write_request import OpenResponsesSettings
from partstream.protocols.protocol import DEFAULT_PROTOCOL, asked_protocols, asking
from partstream.settings.kinds import ConfigurationError
from partstream.upstream.configuration import GatewayConfiguration, fingerprint_of, own_settings_of, upstream_rows
from partstream.upstream.provider import GatewayProvider
from partstream_devtools.testing.upstream import ReplayUpstream
from questions import questions
from upstream_settings import gateway_of
from upstreams.detection.test_detecting import ROUND
from upstreams.upstreams import HELLO, LIMITS, MODEL, ask, run

RESPONSES, CHAT, MODELS = "/v1/responses", "/v1/chat/completions", "/v1/models"
URL = "http://127.0.0.1:9/v1"


def provider_of(url: str, **settings: Any) -> GatewayProvider:
    return GatewayProvider(GatewayConfiguration(url, timeouts=LIMITS, **settings))


async def listed(provider: GatewayProvider) -> list[LanguageModelChatInformation]:
    return list(await provider.provide_language_model_chat_information(True, CancellationTokenSource().token))


# ---- questions ----


def test_fifty_questions_at_once_find_out_once_what_is_spoken():
    async def test() -> None:
        async with ReplayUpstream() as upstream, aclosing(provider_of(upstream.base_url, models=(MODEL,))) as provider:
            answers = await asyncio.gather(*(ask(provider, "Hi") for _ in range(50)))
            assert {answer.text for answer in answers} == {HELLO}
            assert len(upstream.requests) == 50 + ROUND
            assert len(questions(upstream)) == 50
            assert {request.path for request in questions(upstream)} == {RESPONSES}

    run(test())


class Changing(ModelServer):
    """A server that answers at one endpoint, which may become another one meanwhile."""

    def speak(self, path: str) -> None:
        for endpoint in (RESPONSES, CHAT):
            self.documents.pop(endpoint, None)
            self.statuses.pop(endpoint, None)
        self.documents[path] = _ANSWERS[path]


_ANSWERS: dict[str, Callable[[bytes], Any]] = {
    RESPONSES: lambda body: {
        "object": "response",
        "id": "resp_1",
        "status": "completed",
        "output": [
            {
                "type": "message",
                "id": "msg_1",
                "role": "assistant",
                "status": "completed",
                "content": [{"type": "output_text", "text": "by responses"}],
            }
        ],
    },
    CHAT: lambda body: {
        "object": "chat.completion",
        "id": "chatcmpl-1",
        "choices": [
            {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "by chat completions"}}
        ],
    },
}


def test_a_question_goes_out_once_more_in_what_the_server_speaks_now():
    async def test() -> None:
        server = Changing({MODELS: OPENAI})
        server.speak(CHAT)
        async with serving(server), aclosing(provider_of(server.url)) as provider:
            (model, *_) = await listed(provider)
            assert (await ask(provider, "Hi", model_id=model.id)).text == "by chat completions"
            server.speak(RESPONSES)
            asked = len(server.requests)
            again = await ask(provider, "Hi", model_id=model.id)
            assert (again.text, again.error) == ("by responses", None)
            # The question to the missing path, the requests that find out, and the question once more.
            assert len(server.requests) == asked + ROUND + 2
            assert (await ask(provider, "Hi", model_id=model.id)).text == "by responses"
            assert len(server.requests) == asked + ROUND + 3

    run(test())


def test_a_server_that_loses_its_endpoint_for_good_is_an_error_that_says_so():
    async def test() -> None:
        server = Changing({MODELS: OPENAI})
        server.speak(CHAT)
        async with serving(server), aclosing(provider_of(server.url)) as provider:
            assert (await ask(provider, "Hi")).error is None
            del server.documents[CHAT]
            error = (await ask(provider, "Hi")).error
            assert isinstance(error, UpstreamHTTPError)
            assert error.http_status == 404
            assert "it lists models and has none of /v1/responses, /v1/chat/completions" in error.advice

    run(test())


def test_models_without_a_list_are_offered_without_asking_anybody_and_say_later_what_is_spoken():
    async def test() -> None:
        async with ReplayUpstream() as upstream:
            group = {"baseUrl": upstream.base_url, "models": ["text"], "discover": False}
            configuration = gateway_of(group)
            async with aclosing(GatewayProvider(replace(configuration, timeouts=LIMITS))) as provider:
                changes: list[None] = []
                provider.on_did_change_language_model_chat_information(changes.append)
                (model,) = await listed(provider)
                assert upstream.requests == []
                assert "Speaks" not in (model.tooltip or "")
                assert (await ask(provider, "Hi")).text == HELLO
                assert changes == [None]
                (model,) = await listed(provider)
                assert "Speaks OpenResponses" in (model.tooltip or "")

    run(test())


# ---- settings while the protocol is not known ----


def test_the_settings_of_the_protocol_that_is_found_are_used_and_those_of_others_are_not():
    async def test() -> None:
        async with ReplayUpstream() as upstream:
            settings = {"truncation": "auto", "team": "acme", "store": True}
            group = {"baseUrl": upstream.base_url, "models": ["text"], "request": settings}
            async with aclosing(GatewayProvider(gateway_of(group))) as provider:
                assert (await ask(provider, "Hi")).text == HELLO
            (request,) = questions(upstream)
            assert (request.body["truncation"], request.body["store"]) == ("auto", True)
            assert "acme" not in str(request.body) + str(request.headers)

    run(test())


def test_settings_of_all_protocols_are_read_by_name_and_given_to_their_own():
    group = {"baseUrl": URL, "request": {"compactAt": 9000, "team": "acme"}, "modelRequests": {"m": {"team": "b"}}}
    configuration = gateway_of(group)
    assert configuration.is_detected
    as_gateway = configuration.spoken("ai-gateway", URL)
    assert as_gateway.request.own == AIGatewaySettings(team="acme")
    assert as_gateway.request_settings("m").own == AIGatewaySettings(team="b")
    as_responses = configuration.spoken("openresponses", URL)
    assert as_responses.request.own == OpenResponsesSettings(compact_at=9000)
    assert as_responses.request_settings("m").own == OpenResponsesSettings(compact_at=9000)


def test_an_object_of_a_protocols_settings_may_stand_there_and_is_dropped_by_the_others():
    own = OpenResponsesSettings(compact_at=5)
    configuration = GatewayConfiguration(URL, request=RequestSettings(own=own))
    assert configuration.spoken("openresponses", URL).request.own == own
    assert configuration.spoken("ai-gateway", URL).request.own == AIGatewaySettings()
    with pytest.raises(ConfigurationError, match="own"):
        GatewayConfiguration(URL, request=RequestSettings(own=object()))


def test_secrets_in_settings_of_any_protocol_are_known_while_none_is():
    options = {"provider": {"key": "sk-planted-0123456789"}}
    configuration = gateway_of({"baseUrl": URL, "request": {"providerOptions": options}})
    assert "sk-planted-0123456789" in configuration.secrets
    assert "sk-planted" not in repr(configuration)
    assert isinstance(configuration.request.own, OwnFields)


@pytest.mark.parametrize("field", ["model", "input", "messages", "stream", "previous_response_id"])
def test_a_field_that_holds_the_request_of_any_protocol_that_is_asked_for_is_refused(field: str):
    with pytest.raises(ConfigurationError, match=field):
        gateway_of({"baseUrl": URL, "request": {"extraBody": {field: 1}}})


def test_a_field_that_holds_the_request_of_another_protocol_is_refused_once_that_is_found():
    configuration = gateway_of({"baseUrl": URL, "request": {"extraBody": {"prompt": {"id": "p"}}}})
    assert configuration.spoken("openresponses", URL).request.extra_body == {"prompt": {"id": "p"}}
    with pytest.raises(ConfigurationError, match="prompt"):
        configuration.spoken("ai-gateway", URL)


def test_a_setting_that_two_protocols_share_is_read_in_the_same_way_by_both():
    found: dict[str, Any] = {}
    for name in asked_protocols():
        own = own_settings_of(name)
        for row in () if own is None else own.rows:
            before = found.setdefault(row.name, row)
            assert (before.path, before.kind.schema) == (row.path, row.kind.schema), row.name


def test_what_was_counted_before_the_protocol_was_found_out_by_default_is_still_known():
    assert GatewayConfiguration(URL).fingerprint == fingerprint_of(DEFAULT_PROTOCOL, URL)


def test_the_endpoints_that_are_asked_for_refuse_the_empty_request_of_their_protocol():
    async def test() -> None:
        async with ReplayUpstream() as upstream, aclosing(provider_of(upstream.base_url)) as provider:
            await listed(provider)
            asked = {request.path: request.body for request in upstream.requests if request.method == "POST"}
            corners = [corner for name in asked_protocols() if not (corner := asking(name)).own_base_path]
            assert asked == {f"/v1{one.path}": one.empty_request for one in corners if one.empty_request is not None}
            statuses = {one.request.path: one.delivery.status for one in upstream.exchanges}
            assert {statuses[path] for path in asked} == {400}

    run(test())


def test_the_word_for_finding_out_is_the_first_one_that_an_editor_offers():
    row = upstream_rows()["protocol"]
    assert row.default == "auto"
    assert row.kind.schema["enum"][0] == "auto"
    assert len(row.kind.schema["enum"]) == len(row.kind.schema["enumItemLabels"])
    assert loads(b'"auto"') in row.kind.schema["enum"]
