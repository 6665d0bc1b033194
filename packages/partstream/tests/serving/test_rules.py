"""A server that stands for another one: how strict it is, how it names its replies, which models it answers for."""

from __future__ import annotations
import asyncio

import pytest

from partstream import LanguageModelChatInformation, chat_model
from partstream.lm.outputs import Reply
from partstream.protocols.failures import RefusedRequestError
from partstream.protocols.protocol import loadable_protocols
from partstream.server.application import ServingApp
from partstream.server.settings import ServerOverrides, ServingSettings
from partstream_devtools.testing.scripted_model import ScriptedProvider
from serving.asgi import ask
from serving.wires import WIRES, Wire

every_wire = pytest.mark.parametrize("wire", WIRES, ids=lambda wire: wire.name)
EXTRA = {"inputCost": 300, "outputCost": 1.5}


class Open(ScriptedProvider):
    """Answers for every model whose name begins with `my`, lists one with a price, and counts requests as a whole."""

    async def provide_language_model_chat_information(self, silent, token):
        return [LanguageModelChatInformation("text", "Text", "f", "1", 1000, 100, extra=EXTRA)]

    def find_unlisted_model(self, model_id):
        known = model_id.startswith("my")
        return LanguageModelChatInformation(model_id, model_id, "f", "1", 1000, 100) if known else None

    async def provide_request_token_count(self, model, messages, options, token):
        return 100 * len(messages) + len(options.tools)


@chat_model(id="text", name="Text")
async def parrot(messages, options):
    yield messages[-1].content[0].value


def server(provider=None, **rules):
    protocols = loadable_protocols()[0].values()
    return ServingApp(provider or Open(), ServingSettings(), protocols, ServerOverrides(**rules))


def answered(application, wire, model="text", **more):
    arguments, headers = wire.asking(model, **more)
    return asyncio.run(ask(application, *arguments, **headers))


@every_wire
def test_what_a_rule_refuses_is_said_in_the_words_of_the_wire(wire: Wire):
    seen = []

    def admit(endpoint, request, asked):
        seen.append((endpoint.protocol.name, asked.model))
        raise RefusedRequestError("Not today.", "model", "closed")

    reply = answered(server(admit=admit), wire)
    assert (reply.status, seen) == (400, [(wire.name, "text")])
    assert "Not today." in str(reply.json)


@every_wire
def test_a_rule_names_the_replies(wire: Wire):
    replies = [answered(server(parrot, identify=lambda _: Reply("same", 7, 3)), wire).body for _ in range(2)]
    assert replies[0] == replies[1]


def test_a_path_is_corrected_unless_a_rule_says_no():
    async def statuses(**rules):
        return [(await ask(server(**rules), path)).status for path in ("/models", "/v1/models")]

    assert asyncio.run(statuses()) == [200, 200]
    assert asyncio.run(statuses(corrects_paths=False)) == [404, 200]


@every_wire
def test_a_provider_may_answer_for_models_that_it_does_not_list(wire: Wire):
    assert answered(server(), wire, "my-own").status == 200
    refused = answered(server(), wire, "another")
    assert refused.status == 404
    assert "another" in str(refused.json)


def test_a_provider_may_count_a_request_as_a_whole():
    said = [("user", "a"), ("assistant", "b")]
    body = {"model": "text", "messages": [{"role": role, "content": text} for role, text in said]}
    counted = asyncio.run(ask(server(), "/v1/messages/count_tokens", body))
    assert counted.json["input_tokens"] == 200


def test_the_price_of_a_model_is_told_for_one_token():
    (model,) = asyncio.run(ask(server(), "/v1/models")).json["data"]
    assert model["pricing"] == {"input": "0.000003", "output": "0.000000015"}


@pytest.mark.parametrize("body", [{"previous_response_id": "resp_of_another_server"}, {"background": True}])
def test_a_server_that_remembers_nothing_answers_requests_as_they_stand(body):
    asked = {"model": "text", "input": "Hi", "store": True, **body}
    plain = asyncio.run(ask(server(parrot, remembers=False), "/v1/responses", asked))
    assert (plain.status, plain.json["store"]) == (200, True)
    assert asyncio.run(ask(server(parrot), "/v1/responses", asked)).status == 400
