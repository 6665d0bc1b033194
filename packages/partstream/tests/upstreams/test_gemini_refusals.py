"""Servers of Gemini that refuse a request: what is sent in its place, over real HTTP, and what is remembered."""

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from conversation.samples import WEATHER, assistant, called, user
from conversation.samples import gave as gave_back
from partstream import ChatMessage, RequestOptions
from partstream.codec.json_codec import dumps
from partstream.errors import ContextLengthExceededError, UpstreamHTTPError
from partstream.protocols.gemini.provider_state import DUMMY
from partstream_devtools.testing.faults import Step, document
from protocols.gemini import wire
from protocols.gemini.wire import chunk
from upstreams.test_refusals import Body, server
from upstreams.upstreams import Answer, ask, gateway_to, run

NEW = "gemini-3.5-flash"
SOME = "house-model"
"""A name that tells nothing of the model."""


def streamed(*chunks: dict[str, Any]) -> list[Step]:
    return list(document(200, b"".join(wire.sse(chunks)), "text/event-stream"))


HELLO = streamed(chunk({"text": "Hello"}, finish="STOP"))


def refusal(message: str, code: int = 400, status: str = "INVALID_ARGUMENT", *details: dict[str, Any]) -> list[Step]:
    body = {"error": {"code": code, "message": message, "status": status, "details": list(details)}}
    return list(document(code, dumps(body)))


def answered(
    answer_to: Callable[[Body], list[Step]], *questions: Sequence[ChatMessage], model: str = NEW, **options: Any
) -> tuple[list[Answer], list[Body]]:
    """What comes of questions to one provider, and the bodies that its server got."""
    answers: list[Answer] = []
    bodies: list[Body] = []

    async def check() -> None:
        async with server(answer_to) as (url, came), gateway_to(url, protocol="gemini") as provider:
            for question in questions:
                answers.append(await ask(provider, question, model_id=model, options=RequestOptions(**options)))
            bodies.extend(came)

    run(check())
    return answers, bodies


HI = [user("Hi")]
CALLED = [user("?"), assistant([called("gw-1"), called("gw-2")]), user([gave_back("gw-1"), gave_back("gw-2")])]
MISSING = (
    "Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, "
    "and missing thought_signature may lead to degraded model performance. Additional data, function call "
    "default_api:f, position 2."
)


def signatures(body: Body) -> list[str | None]:
    parts = [part for content in body["contents"] for part in content["parts"] if "functionCall" in part]
    return [part.get("thoughtSignature") for part in parts]


def test_a_model_of_which_nobody_knew_that_it_demands_signatures_gets_the_dummy_then_and_from_then_on() -> None:
    def answer_to(body: Body) -> list[Step]:
        return HELLO if signatures(body)[0] else refusal(MISSING)

    answers, bodies = answered(answer_to, CALLED, CALLED, model=SOME)
    assert [answer.text for answer in answers] == ["Hello", "Hello"]
    assert [signatures(body) for body in bodies] == [[None, None], [DUMMY, None], [DUMMY, None]]


def test_a_signature_that_is_missing_all_the_same_is_an_error_and_is_tried_once() -> None:
    answers, bodies = answered(lambda _body: refusal(MISSING), CALLED, model=SOME)
    assert isinstance(answers[0].error, UpstreamHTTPError)
    assert len(bodies) == 2


def test_corrupted_signatures_give_way_to_the_dummy() -> None:
    async def check() -> None:
        def answer_to(body: Body) -> list[Step]:
            if len(body["contents"]) == 1:
                return streamed(chunk(wire.call("f", "bad"), finish="STOP"))
            return refusal("Corrupted thought signature.") if "bad" in signatures(body) else HELLO

        async with server(answer_to) as (url, came), gateway_to(url, protocol="gemini") as provider:
            first = await ask(provider, HI, model_id=NEW)
            call_id = next(part.call_id for part in first.parts if hasattr(part, "call_id"))
            history = [*HI, ChatMessage.assistant(first.parts), user([gave_back(call_id, "1")])]
            assert (await ask(provider, history, model_id=NEW)).text == "Hello"
            assert [signatures(body) for body in came] == [[], ["bad"], [DUMMY]]

    run(check())


def level(body: Body) -> str | None:
    return body["generationConfig"].get("thinkingConfig", {}).get("thinkingLevel")


def test_decision_16_a_model_that_takes_no_minimal_gets_low_then_and_from_then_on() -> None:
    def answer_to(body: Body) -> list[Step]:
        said = "Thinking level MINIMAL is not supported for this model. Please retry with other thinking level."
        return refusal(said) if level(body) == "MINIMAL" else HELLO

    minimal = {"model_configuration": {"reasoningEffort": "minimal"}}
    answers, bodies = answered(answer_to, HI, HI, **minimal)
    assert [answer.text for answer in answers] == ["Hello", "Hello"]
    assert [level(body) for body in bodies] == ["MINIMAL", "LOW", "LOW"]


@pytest.mark.parametrize(
    ("said", "left"),
    [
        ("Thinking level is not supported for this model.", {"includeThoughts": True}),
        ("thinking_config is not supported", None),
        ("Unable to submit request because thinking is not supported by this model.", None),
    ],
)
def test_a_model_that_takes_no_level_or_no_thinking_at_all_is_asked_without(said: str, left: Any) -> None:
    def answer_to(body: Body) -> list[Step]:
        return HELLO if body.get("generationConfig", {}).get("thinkingConfig") == left else refusal(said)

    answers, bodies = answered(answer_to, HI, model_configuration={"reasoningEffort": "low"})
    assert answers[0].text == "Hello"
    assert len(bodies) == 2


def test_decision_11_a_proxy_that_knows_no_json_schema_gets_the_subset_then_and_from_then_on() -> None:
    def answer_to(body: Body) -> list[Step]:
        (declared,) = body["tools"][0]["functionDeclarations"]
        where = "at 'tools[0].function_declarations[0]': Cannot find field."
        said = f'Invalid JSON payload received. Unknown name "parametersJsonSchema" {where}'
        return refusal(said) if "parametersJsonSchema" in declared else HELLO

    answers, bodies = answered(answer_to, HI, HI, tools=[WEATHER])
    assert [answer.text for answer in answers] == ["Hello", "Hello"]
    assert [*bodies[1]["tools"][0]["functionDeclarations"][0]] == ["name", "description", "parameters"]
    assert len(bodies) == 3


def test_decision_4_a_server_that_takes_no_ids_gets_none() -> None:
    async def check() -> None:
        def answer_to(body: Body) -> list[Step]:
            if len(body["contents"]) == 1:
                return streamed(chunk(wire.call("f", "s", id="c1"), finish="STOP"))
            said = "Invalid JSON payload received. Unknown name \"id\" at 'contents[1].parts[0].function_call'"
            return refusal(f"{said}: Cannot find field.") if "c1" in json.dumps(body) else HELLO

        async with server(answer_to) as (url, came), gateway_to(url, protocol="gemini") as provider:
            first = await ask(provider, HI, model_id=NEW)
            history = [*HI, ChatMessage.assistant(first.parts), user([gave_back("c1", "1")])]
            assert (await ask(provider, history, model_id=NEW)).text == "Hello"
            assert [json.dumps(body).count('"c1"') for body in came] == [0, 2, 0]
            assert signatures(came[2]) == ["s"]

    run(check())


def test_an_option_that_a_model_does_not_take_is_left_out() -> None:
    def answer_to(body: Body) -> list[Step]:
        said = "Penalty is not enabled for this model: `presencePenalty` is not supported."
        return refusal(said) if "presencePenalty" in body["generationConfig"] else HELLO

    answers, bodies = answered(answer_to, HI, model_options={"presence_penalty": 1, "temperature": 1})
    assert answers[0].text == "Hello"
    assert bodies[1]["generationConfig"]["temperature"] == 1


QUOTA = {"@type": "type.googleapis.com/google.rpc.QuotaFailure"}
RETRY = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "0.01s"}


@pytest.mark.parametrize(
    ("quota_id", "requests"),
    [("GenerateRequestsPerMinutePerProjectPerModel", 3), ("GenerateRequestsPerDayPerProjectPerModel-FreeTier", 1)],
)
def test_a_limit_of_a_minute_is_waited_for_as_long_as_it_says_and_a_quota_of_a_day_is_not(
    quota_id: str, requests: int
) -> None:
    violations = QUOTA | {"violations": [{"quotaId": quota_id}]}
    limited = refusal("You exceeded your current quota.", 429, "RESOURCE_EXHAUSTED", violations, RETRY)
    answers, bodies = answered(lambda _body: limited, HI)
    error = answers[0].error
    assert isinstance(error, UpstreamHTTPError)
    assert (error.provider_code, error.retry_after, len(bodies)) == (quota_id, 0.01, requests)


@pytest.mark.parametrize(("code", "status"), [(500, "INTERNAL"), (503, "UNAVAILABLE"), (504, "DEADLINE_EXCEEDED")])
def test_a_server_that_is_busy_is_asked_again(code: int, status: str) -> None:
    replies = iter([refusal("The model is overloaded. Please try again later.", code, status), HELLO])
    answers, bodies = answered(lambda _body: next(replies), HI)
    assert (answers[0].text, len(bodies)) == ("Hello", 2)


def test_decision_14_an_input_that_is_too_long_is_that_error_and_is_not_sent_again() -> None:
    said = "The input token count (1054016) exceeds the maximum number of tokens allowed (1048576)."
    answers, bodies = answered(lambda _body: refusal(said), HI)
    error = answers[0].error
    assert isinstance(error, ContextLengthExceededError)
    assert (error.limit, error.count, len(bodies)) == (1_048_576, 1_054_016, 1)


def test_a_wrong_key_says_what_helps() -> None:
    reason = {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"}
    refused = refusal("API key not valid. Please pass a valid API key.", 400, "INVALID_ARGUMENT", reason)
    answers, bodies = answered(lambda _body: refused, HI)
    assert "no key was sent, and the server wants one" in str(answers[0].error)
    assert len(bodies) == 1
