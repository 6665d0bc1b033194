"""The published AI SDK, versions 5 to 7, against the replay upstream: what is served arrives as it was said."""

import asyncio
import json
from functools import cache
from typing import Any

import pytest

from ai_sdk import MAJORS, needs_ai_sdk, perform
from partstream.lm.parts import DataPart, TextPart, ThinkingPart, ToolCallPart
from partstream_devtools.testing.admission import endpoint_at, scenario_events
from partstream_devtools.testing.directives import NamedValue
from partstream_devtools.testing.scripted_model import SCENARIOS, play
from partstream_devtools.testing.upstream import ReplayUpstream

pytestmark = needs_ai_sdk

# Where the client of each major sends its requests by default.
BASES = {5: "/v1/ai", 6: "/v3/ai", 7: "/v4/ai"}
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
TOOLS = {name: {"description": f"Tells {name}.", "schema": SCHEMA} for name in ("get_weather", "get_time")}
QUESTION = [{"role": "user", "content": "How is it in Lisbon?"}]


def _talk(jobs: list[dict[str, Any]], **settings: Any) -> tuple[list[dict[str, Any]], list[Any]]:
    """What the SDK made of the jobs, and the exchanges that the upstream saw."""

    async def talk() -> tuple[list[dict[str, Any]], list[Any]]:
        async with ReplayUpstream(**settings) as upstream:
            origin = f"http://127.0.0.1:{upstream.port}"
            results = await perform(
                [{"apiKey": "made-up", "baseURL": f"{origin}{BASES[job['major']]}", **job} for job in jobs]
            )
            return results, upstream.exchanges

    return asyncio.run(talk())


def _job(major: int, scenario: str, kind: str = "stream", **more: Any) -> dict[str, Any]:
    tools = {"tools": TOOLS} if scenario == "tools" else {}
    return {"kind": kind, "major": major, "model": scenario, "messages": QUESTION} | tools | more


@cache
def _all_scenarios(kind: str) -> dict[tuple[int, str], tuple[dict[str, Any], Any]]:
    """Every scenario asked for by every version: what arrived, and the exchange; one Node for all."""
    keys = [(major, name) for major in MAJORS for name in SCENARIOS]
    results, exchanges = _talk([_job(major, name, kind) for major, name in keys])
    return dict(zip(keys, zip(results, exchanges, strict=True), strict=True))


def _said(exchange: Any) -> tuple[list[Any], dict[str, Any]]:
    """The answer of the scenario to the request that came, and the last event that was sent for it."""
    request = exchange.request
    endpoint = endpoint_at(request.path)
    asked = endpoint.reads.read(endpoint.request(request.path, request.body, request.headers))
    events = scenario_events(exchange.choice, request.body, path=request.path, headers=request.headers)
    return list(play(NamedValue(exchange.choice), asked, "any")), events[-1]


def _text(answer: list[Any], kind: type) -> str:
    return "".join(part.value for part in answer if isinstance(part, kind))


def _tokens(counts: dict[str, Any]) -> dict[str, Any]:
    """Usage as all versions of the client say it, out of what either form of the wire says."""
    if isinstance(counts["inputTokens"], int):
        return {name: counts[name] for name in ("inputTokens", "outputTokens", "totalTokens")}
    sent, got = counts["inputTokens"]["total"], counts["outputTokens"]["total"]
    return {"inputTokens": sent, "outputTokens": got, "totalTokens": sent + got}


@pytest.mark.parametrize("name", SCENARIOS)
@pytest.mark.parametrize("major", MAJORS)
def test_a_streamed_scenario_arrives_as_it_was_said(major: int, name: str) -> None:
    result, exchange = _all_scenarios("stream")[major, name]
    answer, finish = _said(exchange)
    assert result["text"] == _text(answer, TextPart)
    assert result["reasoning"] == _text(answer, ThinkingPart)
    assert [(call["name"], call["input"]) for call in result["calls"]] == [
        (part.name, part.input) for part in answer if isinstance(part, ToolCallPart)
    ]
    assert result["sources"] == [json.loads(part.data)["url"] for part in answer if isinstance(part, DataPart)]
    reason = finish["finishReason"]
    assert result["finish"] == (reason if isinstance(reason, str) else reason["unified"])
    assert _tokens(finish["usage"]).items() <= result["usage"].items()
    assert result["metadata"]["gateway"].keys() == {"routing", "cost", "generationId"}
    assert result["warnings"] == []
    assert len(result["errors"]) == (answer[-1].error is not None)


@pytest.mark.parametrize("name", [name for name in SCENARIOS if name != "failed"])
@pytest.mark.parametrize("major", MAJORS)
def test_the_same_comes_in_one_piece(major: int, name: str) -> None:
    result, exchange = _all_scenarios("generate")[major, name]
    answer, finish = _said(exchange)
    assert exchange.request.headers["ai-language-model-streaming"] == "false"
    assert result["text"] == _text(answer, TextPart)
    assert result["reasoning"] == _text(answer, ThinkingPart)
    assert len(result["calls"]) == sum(isinstance(part, ToolCallPart) for part in answer)
    assert len(result["sources"]) == len(_all_scenarios("stream")[major, name][0]["sources"])
    assert _tokens(finish["usage"]).items() <= result["usage"].items()


@pytest.mark.parametrize("major", MAJORS)
def test_an_answer_that_fails_is_an_error_in_one_piece(major: int) -> None:
    result, _ = _all_scenarios("generate")[major, "failed"]
    assert result["error"]["name"] == "GatewayInternalServerError"
    assert "The model broke while it was answering." in result["error"]["message"]


@pytest.mark.parametrize("major", MAJORS)
def test_a_tool_loop_of_the_sdk_runs_to_its_end_and_brings_back_what_was_signed(major: int) -> None:
    (result,), exchanges = _talk([_job(major, "tools", answer=True, steps=3)])
    assert (result["errors"], result["warnings"], result["steps"], result["finish"]) == ([], [], 2, "stop")
    assert 'get_weather says: {"city":"Lisbon"}' in result["text"]
    assert [exchange.delivery.status for exchange in exchanges] == [200, 200]
    user, assistant, tool = exchanges[1].request.body["prompt"]
    assert (user["role"], tool["role"]) == ("user", "tool")
    parts = {part["type"]: part for part in reversed(assistant["content"])}
    assert parts["reasoning"]["providerOptions"]["anthropic"]["signature"]
    assert parts["tool-call"]["providerOptions"]["google"]["thoughtSignature"]


@pytest.mark.parametrize("major", MAJORS)
def test_a_tool_loop_goes_on_from_the_messages_that_the_sdk_gives_back(major: int) -> None:
    (first,), _ = _talk([_job(major, "tools", answer=True, steps=3)])
    history = [*QUESTION, *first["messages"], {"role": "user", "content": "scenario:text And now?"}]
    (second,), exchanges = _talk([_job(major, "tools", messages=history)])
    assert (second["errors"], second["warnings"], second["finish"]) == ([], [], "stop")
    assert exchanges[0].choice == "text"
    assert second["usage"]["cachedInputTokens" if major == 5 else "inputTokenDetails"]


@pytest.mark.parametrize(
    ("status", "name"),
    [
        (400, "GatewayInvalidRequestError"),
        (429, "GatewayRateLimitError"),
        (500, "GatewayInternalServerError"),
        (503, "GatewayInternalServerError"),
    ],
)
def test_an_error_of_the_upstream_is_the_sdk_s_own_with_its_status(status: int, name: str) -> None:
    results, _ = _talk([_job(major, "text") for major in MAJORS], fault=f"status={status}")
    for result in results:
        (error,) = result["errors"]
        assert (error["name"], error["statusCode"]) == (name, status)
    # The id by which a support could find the request; version 5 does not read it.
    assert all(result["errors"][0]["generationId"].startswith("gen_") for result in results[1:])


@pytest.mark.parametrize("fault", ["cut=4", "malformed=4"])
def test_a_broken_stream_is_an_error_after_what_came(fault: str) -> None:
    results, _ = _talk([_job(major, "text") for major in MAJORS], fault=fault)
    for result in results:
        assert result["errors"]
        assert "finish" not in result


@pytest.mark.parametrize("major", MAJORS)
def test_the_models_are_listed_for_the_version_that_asks(major: int) -> None:
    (result,), _ = _talk([{"kind": "models", "major": major}])
    assert [model["id"] for model in result["models"]] == list(SCENARIOS)
    assert result["models"][0]["pricing"] == {"input": "0.000001", "output": "0.000002"}


def test_a_wrong_key_is_an_authentication_error() -> None:
    results, _ = _talk([_job(major, "text") for major in MAJORS], token="another")  # noqa: S106 - invented
    assert [result["errors"][0]["name"] for result in results] == ["GatewayAuthenticationError"] * 3
