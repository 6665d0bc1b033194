"""The replay upstream as an AI Gateway: paths, lists of models, errors and faults over real HTTP."""

import json

import pytest

from partstream.errors import CallerError
from partstream_devtools.testing.admission import BASE_PATHS, ENDPOINTS
from partstream_devtools.testing.replaying import Outcome
from partstream_devtools.testing.scripted_model import SCENARIOS, UnknownScenarioError, find_scenario
from partstream_devtools.testing.upstream import ReplayUpstream
from testing.clients import run

HEADERS = {
    "ai-gateway-protocol-version": "0.0.1",
    "ai-language-model-specification-version": "3",
    "ai-language-model-id": "text",
    "ai-language-model-streaming": "true",
}
BODY = {"prompt": [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}]}


async def _ask(upstream, client, *, body=BODY, **changes):
    headers = HEADERS | {name.replace("_", "-"): value for name, value in changes.items()}
    return await client.post(f"{upstream.base_url_of('ai-gateway')}/language-model", json=body, headers=headers)


def _events(response):
    blocks = response.text.removesuffix("\n\n").split("\n\n")
    return [json.loads(block.removeprefix("data: ")) for block in blocks]


def test_every_base_path_leads_to_a_protocol_that_is_served():
    for name, base in BASE_PATHS.items():
        assert any(path.startswith(f"{base}/") and one.protocol.name == name for path, one in ENDPOINTS.items())


def test_the_base_url_of_a_protocol_that_is_not_served_is_refused():
    with pytest.raises(CallerError, match="ai-gateway"):
        ReplayUpstream().base_url_of("nonsense")


def test_the_model_in_the_header_is_the_scenario():
    async def check(upstream, client):
        events = _events(await _ask(upstream, client, ai_language_model_id="thinking"))
        assert upstream.exchanges[-1].choice == "thinking"
        assert [event["modelId"] for event in events if event["type"] == "response-metadata"] == ["thinking"]
        assert events[-1]["finishReason"]["unified"] == "stop"

    run(check)


def test_without_a_stream_the_answer_is_a_document():
    async def check(upstream, client):
        response = await _ask(upstream, client, ai_language_model_streaming="false")
        assert response.headers["content-type"] == "application/json"
        assert response.json()["content"][0]["text"].startswith("Hello from Partstream!")

    run(check)


@pytest.mark.parametrize(("path", "version"), [("/v1/ai", "v2"), ("/v3/ai", "v3"), ("/v4/ai", "v4")])
def test_each_path_lists_models_of_its_version(path, version):
    async def check(upstream, client):
        listing = (await client.get(f"http://127.0.0.1:{upstream.port}{path}/config")).json()
        assert [model["id"] for model in listing["models"]] == list(SCENARIOS)
        assert {model["specification"]["specificationVersion"] for model in listing["models"]} == {version}

    run(check)


def test_the_list_of_models_says_what_the_gateway_says_beside_what_openai_says():
    async def check(upstream, client):
        for model in (await client.get("/models")).json()["data"]:
            assert model["object"] == "model"
            assert model["type"] == "language"
            assert model["context_window"] > model["max_tokens"] > 0

    run(check)


def test_a_wrong_request_is_an_error_in_the_gateway_s_form():
    async def check(upstream, client):
        response = await _ask(upstream, client, body={"prompt": []})
        assert response.status_code == 400
        error = response.json()["error"]
        assert error["type"] == "invalid_request_error"
        assert error["message"] == "prompt: got an empty list, expected at least one message"
        assert response.json()["generationId"].startswith("gen_")

    run(check)


def test_the_token_is_asked_for_on_every_path():
    async def check(upstream, client):
        assert (await _ask(upstream, client)).status_code == 401
        assert (await client.get(f"{upstream.base_url_of('ai-gateway')}/config")).status_code == 401

    run(check, token="wanted")  # noqa: S106 - invented


def test_faults_and_paces_work_as_for_every_protocol():
    async def check(upstream, client):
        assert (await _ask(upstream, client, x_partstream_fault="status=429")).json()["error"]["type"] == (
            "rate_limit_exceeded"
        )
        cut = await _ask(upstream, client, x_partstream_fault="truncate=3")
        assert [event["type"] for event in _events(cut)] == ["stream-start", "text-start", "text-delta"]
        missing = await _ask(upstream, client, x_partstream_fault="missing=finish")
        assert [event["type"] for event in _events(missing)[-2:]] == ["text-end", "response-metadata"]

    run(check)


def test_a_pace_holds_back_the_second_piece():
    async def check(upstream, client):
        headers = HEADERS | {"x-partstream-pace-ms": "60000"}
        url = f"{upstream.base_url_of('ai-gateway')}/language-model"
        received = b""
        async with client.stream("POST", url, json=BODY, headers=headers) as response:
            async for piece in response.aiter_raw():
                received += piece
                if b"text-delta" in received:
                    break
        exchange = await upstream.wait_for_end()
        assert exchange.delivery.outcome is Outcome.CLIENT_CLOSED
        assert exchange.delivery.events_sent == received.count(b"data: ")
        assert received.count(b"text-delta") == 1

    run(check)


def test_an_answer_can_be_cut_by_a_filter():
    async def check(upstream, client):
        body = {
            "prompt": [{"role": "user", "content": [{"type": "text", "text": "scenario:incomplete=content_filter"}]}]
        }
        assert _events(await _ask(upstream, client, body=body))[-1]["finishReason"]["unified"] == "content-filter"

    run(check)


def test_an_answer_is_not_cut_by_what_cuts_none():
    with pytest.raises(UnknownScenarioError, match="content_filter"):
        find_scenario("incomplete")(None, "boredom")


def test_a_recording_is_replayed_on_these_paths_too(tmp_path):
    path = tmp_path / "stream.jsonl"
    path.write_text('{"type":"text-start","id":"0"}\n{"type":"text-end","id":"0"}\n')

    async def check(upstream, client):
        response = await _ask(upstream, client)
        assert response.content == b'data: {"type":"text-start","id":"0"}\n\ndata: {"type":"text-end","id":"0"}\n\n'

    run(check, replay=path)
