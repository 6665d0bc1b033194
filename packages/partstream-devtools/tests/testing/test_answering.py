"""Which reply a request gets: routes, checks, and who decides on scenario, fault and pace."""

import json
from pathlib import Path
from secrets import token_hex

import pytest

from partstream.errors import CallerError
from partstream_devtools.testing.admission import DEFAULT_PATH, ENDPOINTS, ReplayAdmission
from partstream_devtools.testing.replaying import CURRENT, Current, ReceivedRequest, ServedExchange
from partstream_devtools.testing.scripted_model import SCENARIOS, UnknownScenarioError
from partstream_devtools.testing.upstream import ReplayUpstream
from rows import one_test_for
from testing.clients import body, read_events, run, said

TOKEN = token_hex(8)


def _error(response):
    error = response.json()["error"]
    assert set(error) == {"message", "type", "param", "code"}
    return response.status_code, error["message"]


async def _scenario(upstream, client, **request):
    response = await client.post("/responses", json=body(**request))
    assert response.status_code == 200
    return upstream.exchanges[-1].choice


def test_the_health_is_told_without_a_token():
    async def check(upstream, client):
        response = await client.get(f"http://127.0.0.1:{upstream.port}/healthz")
        assert (response.status_code, response.json()) == (200, {"status": "ok"})

    run(check, token=TOKEN)


def test_the_models_are_the_scenarios():
    async def check(upstream, client):
        listing = (await client.get("/models")).json()
        assert listing["object"] == "list"
        assert [model["id"] for model in listing["data"]] == list(SCENARIOS)
        assert all(model["object"] == "model" for model in listing["data"])

    run(check)


def test_the_last_user_text_goes_before_the_model_and_that_before_the_option():
    async def check(upstream, client):
        assert await _scenario(upstream, client, text="Hi", model="unknown") == "refusal"
        assert await _scenario(upstream, client, text="Hi", model="thinking") == "thinking"
        assert await _scenario(upstream, client, text="scenario:long=5", model="thinking") == "long=5"

    run(check, scenario="refusal")


def test_a_fault_in_the_header_goes_before_the_text_and_that_before_the_option():
    async def check(upstream, client):
        async def status(text, **headers):
            return (await client.post("/responses", json=body(text), headers=headers)).status_code

        assert await status("Hi") == 500
        assert await status("fault:status=429") == 429
        assert await status("fault:status=429", **{"x-partstream-fault": "status=403"}) == 403
        assert await status("fault:status=429", **{"x-partstream-fault": ""}) == 200

    run(check, fault="status=500")


def test_a_pace_in_the_header_goes_before_the_text_and_that_before_the_option():
    endpoint = ENDPOINTS[DEFAULT_PATH]
    admission = ReplayAdmission("long=5", replay=None, pace=0.2, fault=None)

    def pace(text, **headers):
        request = endpoint.request(DEFAULT_PATH, body(text), headers)
        received = ReceivedRequest(1, "POST", DEFAULT_PATH, headers, request.body, b"")
        current = Current(ServedExchange(received, 0.0), now=0.0)
        CURRENT.set(current)
        admission.admit(endpoint, request, endpoint.reads.read(request))
        return current.plan.pace

    assert pace("Hi") == 0.2
    assert pace("pace:10") == 0.01
    assert pace("pace:10", **{"x-partstream-pace-ms": "20"}) == 0.02
    assert pace("pace:60000", **{"x-partstream-pace-ms": "0"}) == 0.0


@pytest.mark.parametrize("stream", [True, False], ids=["stream", "document"])
def test_no_scenario_makes_the_server_warn(stream, caplog):
    async def check(upstream, client):
        for name in SCENARIOS:
            await client.post("/responses", json=body(f"scenario:{name}", stream=stream))

    run(check)
    assert not caplog.records


def test_without_a_stream_the_answer_is_one_document():
    async def check(upstream, client):
        response = await client.post("/responses", json=body(stream=False))
        assert response.headers["content-type"] == "application/json"
        assert response.json()["output"][0]["content"][0]["text"].startswith("Hello from Partstream!")
        failed = await client.post("/responses", json=body("scenario:failed", stream=False))
        assert _error(failed) == (500, "The model broke while it was answering.")

    run(check)


def test_a_stream_is_framed_and_ends_with_done():
    async def check(upstream, client):
        response = await client.post("/responses", json=body())
        assert response.headers["content-type"] == "text/event-stream; charset=utf-8"
        events, done = read_events(response.content)
        assert done
        assert said(events) == events[-1]["response"]["output"][0]["content"][0]["text"]

    run(check)


@pytest.mark.parametrize("path", ["/models", "/responses"])
def test_with_a_token_only_those_who_have_it_are_answered(path):
    async def check(upstream, client):
        for authorization in (None, "Bearer", "Bearer wrong", TOKEN, f"Basic {TOKEN}", f"Bearer {TOKEN}é"):
            headers = {} if authorization is None else {"authorization": authorization.encode()}
            response = await client.request("GET" if path == "/models" else "POST", path, json=body(), headers=headers)
            status, message = _error(response)
            assert status == 401
            assert TOKEN not in message
            assert response.headers["www-authenticate"] == "Bearer"
        headers = {"authorization": f"Bearer {TOKEN}"}
        response = await client.request("GET" if path == "/models" else "POST", path, json=body(), headers=headers)
        assert response.status_code == 200

    run(check, token=TOKEN)


def test_an_unknown_path_is_not_found():
    async def check(upstream, client):
        status, message = _error(await client.post("/embeddings", json=body()))
        assert status == 404
        assert "/v1/embeddings" in message
        assert "/v1/responses" in message
        assert "/v1/chat/completions" in message

    run(check)


@pytest.mark.parametrize(
    ("method", "path", "allowed"), [("GET", "/responses", "POST"), ("POST", "/models", "GET, HEAD")]
)
def test_a_wrong_method_is_refused_with_the_right_one(method, path, allowed):
    async def check(upstream, client):
        response = await client.request(method, path)
        status, message = _error(response)
        assert (status, response.headers["allow"]) == (405, allowed)
        assert method in message

    run(check)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", "an empty body"),
        (b"{", "not JSON"),
        (b"\xff\xfe", "not JSON"),
        (b"[1]", "list"),
        (b"[" * 100_000, "more than 256 levels"),
        (b'{"input":3}', "input: got int"),
        (b'{"input":[{"role":"robot"}]}', "input[0].role"),
        (b'{"input":"scenario:nonsense"}', "unknown scenario 'nonsense'"),
        (b'{"input":"scenario:long=x"}', "unknown scenario 'long=x'"),
        (b'{"input":"fault:nonsense"}', "unknown fault 'nonsense'"),
        (b'{"input":"fault:status"}', "status=CODE"),
    ],
)
def test_a_bad_request_is_told_what_was_got_and_what_is_expected(content, expected):
    async def check(upstream, client):
        status, message = _error(await client.post("/responses", content=content))
        assert status == 400
        assert expected in message
        assert "expected" in message

    run(check)


@pytest.mark.parametrize(
    "header", [("x-partstream-pace-ms", "fast"), ("x-partstream-pace-ms", "60001"), ("x-partstream-fault", "nonsense")]
)
def test_a_bad_header_is_told_what_is_expected(header):
    async def check(upstream, client):
        status, message = _error(await client.post("/responses", json=body(), headers=dict([header])))
        assert status == 400
        assert "expected" in message

    run(check)


@one_test_for(
    ("settings", "error"),
    [
        ({"scenario": "nonsense"}, UnknownScenarioError),
        ({"scenario": ""}, UnknownScenarioError),
        ({"fault": "nonsense"}, CallerError),
        ({"fault": "status=nonsense"}, CallerError),
        ({"pace": -1}, CallerError),
        ({"pace": 61}, CallerError),
        ({"replay": Path("nowhere.sse")}, OSError),
        ({"replay": Path(__file__)}, CallerError),
    ],
)
def test_a_wrong_setting_is_refused_at_the_start(settings, error):
    with pytest.raises(error):
        ReplayUpstream(**settings)


def test_two_answers_to_the_same_request_differ_in_their_identifiers_only():
    async def check(upstream, client):
        first, second = [(await client.post("/responses", json=body())).content for _ in range(2)]
        ids = [read_events(content)[0][-1]["response"]["id"] for content in (first, second)]
        assert ids[0] != ids[1]
        assert said(read_events(first)[0]) == said(read_events(second)[0])

    run(check)


def test_a_request_of_a_whole_conversation_is_answered_from_its_tool_outputs():
    async def check(upstream, client):
        tools = [
            {"type": "function", "name": "get_weather", "parameters": {"type": "object", "properties": {"city": {}}}}
        ]
        request = body("scenario:tools in Lisbon", tools=tools)
        events, _ = read_events((await client.post("/responses", json=request)).content)
        output = events[-1]["response"]["output"]
        calls = [item for item in output if item["type"] == "function_call"]
        assert [json.loads(call["arguments"]) for call in calls] == [{"city": "Lisbon"}, {"city": "Paris"}]
        results = [{"type": "function_call_output", "call_id": call["call_id"], "output": "sun"} for call in calls]
        conversation = [{"role": "user", "content": request["input"]}, *output, *results]
        events, _ = read_events((await client.post("/responses", json=request | {"input": conversation})).content)
        assert said(events).count("get_weather: sun") == 2

    run(check)
