"""What the list of a Messages server says of its models counts in the requests to them, and the server counts them."""

from typing import Any

import pytest

from models.lists import ANTHROPIC
from models.server import ModelServer, serving
from partstream import CancellationTokenSource, RequestOptions
from partstream.codec.json_codec import loads
from partstream.upstream.provider import GatewayProvider
from partstream_devtools.testing.upstream import ReplayUpstream
from upstream_settings import gateway_of
from upstreams.test_messages_refusals import HELLO
from upstreams.upstreams import HELLO as SAID
from upstreams.upstreams import ask, run


async def listed(provider: GatewayProvider) -> list[str]:
    token = CancellationTokenSource().token
    return [model.id for model in await provider.provide_language_model_chat_information(True, token)]


def test_the_served_models_are_asked_as_their_list_says_and_the_server_counts_the_request():
    async def test() -> None:
        async with ReplayUpstream() as upstream:
            settings = {"baseUrl": upstream.base_url_of("anthropic-messages"), "protocol": "anthropic-messages"}
            provider = GatewayProvider(gateway_of({**settings, "request": {"countTokens": "upstream"}}))
            (model, *_) = await listed(provider)
            answer = await ask(provider, "Hi", model_id=model)
            assert (answer.text, answer.error) == (SAID, None)
            await provider.aclose()
            asked = [(request.method, request.path) for request in upstream.requests]
            assert asked == [("GET", "/v1/models"), ("POST", "/v1/messages/count_tokens"), ("POST", "/v1/messages")]
            counted, sent = (request.body for request in upstream.requests[1:])
            assert counted == {name: value for name, value in sent.items() if name not in {"max_tokens", "stream"}}
            assert sent["thinking"] == {"type": "adaptive", "display": "summarized"}
            assert sent["max_tokens"] == 16_384

    run(test())


class Messages(ModelServer):
    """A server that lists Anthropic's models and answers every question."""

    async def reply(self, request: Any) -> Any:
        if request.method == "GET":
            return await super().reply(request)
        self.requests.append(request)
        return HELLO


@pytest.mark.parametrize(
    ("model", "effort", "sent"),
    [
        ("claude-opus-5", "xhigh", ({"type": "adaptive", "display": "summarized"}, {"effort": "xhigh"}, 128_000)),
        ("claude-haiku-4-5-20251001", None, (None, None, 64_000)),
    ],
)
def test_what_a_list_says_of_a_model_is_in_the_body(model: str, effort: str | None, sent: tuple[Any, ...]):
    async def test() -> None:
        server = Messages({"/v1/models": ANTHROPIC})
        async with serving(server):
            configuration = gateway_of({"baseUrl": server.url, "protocol": "anthropic-messages"})
            provider = GatewayProvider(configuration)
            assert model in await listed(provider)
            options = RequestOptions(model_configuration={} if effort is None else {"reasoningEffort": effort})
            assert (await ask(provider, "Hi", options=options, model_id=model)).text == "Hello"
            await provider.aclose()
        body = loads(server.requests[-1].body)
        assert (body.get("thinking"), body.get("output_config"), body["max_tokens"]) == sent

    run(test())
