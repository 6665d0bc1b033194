"""Servers of Chat Completions that refuse a field, or fail with a status in the stream; how often each is asked."""

import json
import logging
import threading
from collections.abc import Callable
from typing import Any

import pytest

from partstream import ChatMessage, RequestOptions, Tool
from partstream.codec.json_codec import dumps
from partstream.conversation.preparation import RequestSettings
from partstream.errors import LanguageModelErrorCode, UpstreamFailureError, UpstreamHTTPError
from partstream.upstream import requests
from partstream_devtools.testing.faults import Step, document
from rows import one_test_for
from upstreams.test_refusals import Body, asked, server
from upstreams.upstreams import ask, gateway_to, run

CHAT: dict[str, Any] = {"protocol": "chat-completions"}


def streamed(*chunks: dict[str, Any], done: bool = True) -> list[Step]:
    lines = [f"data: {json.dumps(chunk)}\n\n" for chunk in chunks]
    return list(document(200, "".join([*lines, "data: [DONE]\n\n" if done else ""]).encode(), "text/event-stream"))


def chunk(finish: str | None = None, **delta: Any) -> dict[str, Any]:
    return {"id": "c1", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


HELLO = streamed(chunk(content="Hello"), chunk("stop"))


def refusal(status: int, body: Any) -> list[Step]:
    return list(document(status, dumps(body)))


MISTRAL = {
    "object": "error",
    "message": {"detail": [{"loc": ["body", "stream_options"], "msg": "Extra inputs are not permitted"}]},
    "type": "invalid_request_error",
}


def test_a_server_that_knows_no_stream_options_answers_and_is_asked_without_them_from_then_on() -> None:
    async def check() -> None:
        def answer_to(body: Body) -> list[Step]:
            return refusal(422, MISTRAL) if "stream_options" in body else HELLO

        async with server(answer_to) as (url, came), gateway_to(url, **CHAT) as provider:
            for _ in range(2):
                assert (await asked(provider)).text == "Hello"
            assert ["stream_options" in body for body in came] == [True, False, False]

    run(check())


NO_TOOLS = {
    "error": {
        "message": "Function tools with reasoning_effort are not supported for text in /v1/chat/completions.",
        "type": "invalid_request_error",
        "param": "reasoning_effort",
    }
}


@pytest.mark.parametrize("effort", [None, "high"])
def test_a_model_that_does_not_reason_beside_tools_is_asked_not_to_and_the_log_says_so(
    effort: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    async def check() -> None:
        def answer_to(body: Body) -> list[Step]:
            return HELLO if body.get("reasoning_effort") == "none" else refusal(400, NO_TOOLS)

        chosen = {} if effort is None else {"model_configuration": {"reasoningEffort": effort}}
        async with server(answer_to) as (url, came), gateway_to(url, **CHAT) as provider:
            tools = (Tool("look_up", "", {"type": "object"}),)
            for _ in range(2):
                assert (await asked(provider, tools=tools, **chosen)).text == "Hello"
            assert [body.get("reasoning_effort") for body in came] == [effort, "none", "none"]
            (warning,) = (record for record in caplog.records if record.levelno == logging.WARNING)
            assert "sent again with reasoning_effort 'none'" in warning.getMessage()

    run(check())


NO_MAX_TOKENS = {
    "error": {
        "message": "Unsupported parameter: 'max_tokens' is not supported with this model. Use "
        "'max_completion_tokens' instead.",
        "param": "max_tokens",
        "code": "unsupported_parameter",
    }
}


def test_a_limit_of_the_answer_is_sent_under_the_name_that_the_model_knows() -> None:
    async def check() -> None:
        def answer_to(body: Body) -> list[Step]:
            return refusal(400, NO_MAX_TOKENS) if "max_tokens" in body else HELLO

        settings = {"request": RequestSettings(max_output_tokens=500)}
        async with server(answer_to) as (url, came), gateway_to(url, **CHAT, **settings) as provider:
            for _ in range(2):
                assert (await asked(provider)).text == "Hello"
            limits = [(body.get("max_tokens"), body.get("max_completion_tokens")) for body in came]
            assert limits == [(500, None), (None, 500), (None, 500)]

    run(check())


def test_reasoning_that_a_server_does_not_take_back_is_left_out() -> None:
    """Cerebras and Groq: the field that other servers demand."""

    async def check() -> None:
        def answer_to(body: Body) -> list[Step]:
            if any("reasoning_content" in message for message in body["messages"]):
                said = "messages.1.assistant.reasoning_content: property 'reasoning_content' is unsupported"
                return refusal(400, {"message": said, "type": "invalid_request_error", "code": "wrong_api_format"})
            call = {"index": 0, "id": "c", "function": {"name": "look_up", "arguments": "{}"}}
            return streamed(chunk(reasoning_content="Hm."), chunk(tool_calls=[call]), chunk("tool_calls"))

        async with server(answer_to) as (url, came), gateway_to(url, **CHAT) as provider:
            options = RequestOptions((Tool("look_up", "", {"type": "object"}),))
            question = ChatMessage.user("Hi")
            first = await ask(provider, [question], options=options)
            answer = ChatMessage.assistant(first.parts)
            for _ in range(2):
                assert (await ask(provider, [question, answer], options=options)).error is None
            has_reasoning = [any("reasoning_content" in one for one in body["messages"]) for body in came]
            assert has_reasoning == [False, True, False, False]

    run(check())


BUSY = {"error": {"code": 429, "message": "Rate limited. Please try again in 20ms."}, "choices": []}
OVERLOADED = {
    "error": {"code": 502, "message": "Upstream error"},
    "choices": [{"index": 0, "delta": {"content": ""}, "finish_reason": "error"}],
}


@pytest.mark.parametrize("failure", [BUSY, OVERLOADED], ids=["a rate limit", "a server that is down"])
def test_a_busy_server_that_says_so_in_the_stream_is_asked_again(failure: dict[str, Any]) -> None:
    """OpenRouter answers 200 once a model has begun."""
    replies = [streamed({"id": "c1", "choices": []}, failure), HELLO]

    async def check() -> None:
        async with (
            server(lambda body: replies[min(len(came) - 1, 1)]) as (url, came),
            gateway_to(url, **CHAT) as provider,
        ):
            answer = await asked(provider)
            assert (answer.text, answer.error, len(came)) == ("Hello", None, 2)

    run(check())


ONCE: dict[str, tuple[Callable[[Body], list[Step]], str, LanguageModelErrorCode]] = {
    "once a part was reported": (
        lambda body: streamed(chunk(content="So"), BUSY),
        "So",
        LanguageModelErrorCode.BLOCKED,
    ),
    "without credit": (
        lambda body: streamed({"error": {"code": 402, "message": "Insufficient credits"}}),
        "",
        LanguageModelErrorCode.BLOCKED,
    ),
    "after a refusal of the filter": (
        lambda body: streamed(
            {"error": {"code": 403, "message": "Your input requires moderation", "metadata": {"reasons": ["hate"]}}}
        ),
        "",
        LanguageModelErrorCode.BLOCKED,
    ),
    "without a status": (
        lambda body: streamed({"error": {"message": "It broke.", "type": "server_error"}}),
        "",
        LanguageModelErrorCode.UNSPECIFIED,
    ),
}


@pytest.mark.parametrize("reason", ONCE)
def test_a_failure_in_the_stream_is_final(reason: str) -> None:
    answer_to, text, code = ONCE[reason]

    async def check() -> None:
        async with server(answer_to) as (url, came), gateway_to(url, **CHAT) as provider:
            answer = await asked(provider)
            assert (answer.text, len(came)) == (text, 1)
            assert isinstance(answer.error, UpstreamFailureError)
            assert answer.error.code is code

    run(check())


def test_a_field_that_is_refused_in_the_stream_is_left_out() -> None:
    async def check() -> None:
        failure = {"error": {"code": 400, "message": "Unrecognized request argument supplied: stream_options"}}

        def answer_to(body: Body) -> list[Step]:
            return streamed(failure) if "stream_options" in body else HELLO

        async with server(answer_to) as (url, came), gateway_to(url, **CHAT) as provider:
            assert (await asked(provider)).text == "Hello"
            assert len(came) == 2

    run(check())


UNDER_SUCCESS: dict[str, tuple[Any, str, LanguageModelErrorCode, int]] = {
    "MiniMax": (
        {"base_resp": {"status_code": 1008, "status_msg": "insufficient balance"}},
        "insufficient balance (1008)",
        LanguageModelErrorCode.BLOCKED,
        1,
    ),
    "MiniMax, its filter": (
        {"choices": None, "base_resp": {"status_code": 1026, "status_msg": "input new_sensitive"}},
        "input new_sensitive (1026)",
        LanguageModelErrorCode.BLOCKED,
        1,
    ),
    "xAI": ({"code": "invalid", "error": "No such thing."}, "No such thing.", LanguageModelErrorCode.UNSPECIFIED, 1),
    "Gemini": (
        [{"error": {"code": 503, "message": "The model is overloaded.", "status": "UNAVAILABLE"}}],
        "The model is overloaded.",
        LanguageModelErrorCode.UNSPECIFIED,
        3,
    ),
    "OpenRouter": (
        {"error": {"code": 429, "message": "Provider returned error", "metadata": {"raw": "Slow down."}}},
        "Provider returned error: Slow down.",
        LanguageModelErrorCode.BLOCKED,
        3,
    ),
}


@one_test_for("content_type", ["application/json", "text/event-stream", "text/plain", ""])
@one_test_for(("body", "message", "code", "times"), UNDER_SUCCESS.values(), ids=UNDER_SUCCESS)
def test_an_error_under_a_status_of_success_is_that_error(
    body: Any, message: str, code: LanguageModelErrorCode, times: int, content_type: str
) -> None:
    reply = list(document(200, dumps(body), content_type))

    async def check() -> None:
        async with server(lambda _: reply) as (url, came), gateway_to(url, **CHAT) as provider:
            error = (await asked(provider)).error
            assert isinstance(error, UpstreamFailureError | UpstreamHTTPError)
            assert (error.provider_message, error.code, len(came)) == (message, code, times)

    run(check())


@pytest.mark.parametrize(("said", "wait"), [("try again in 3000 seconds", None), ("Hi", 40.0)])
def test_a_wait_that_a_server_repeats_of_a_request_is_none_that_it_asks_for(said: str, wait: float | None) -> None:
    async def check() -> None:
        def answer_to(body: Body) -> list[Step]:
            own = "" if wait is None else ", try again in 40 s"
            return refusal(503, {"error": {"message": f"no worker took '{body['messages'][0]['content']}'{own}"}})

        async with server(answer_to) as (url, _), gateway_to(url, **CHAT) as provider:
            error = (await asked(provider, said)).error
            assert isinstance(error, UpstreamHTTPError)
            assert error.retry_after == wait

    run(check())


@one_test_for(
    "said",
    [
        "the temperature is not supported, nor is top_p",
        "unsupported temperature",
        "temperature",
        "Function tools with reasoning_effort are not supported",
    ],
)
def test_a_field_that_only_a_text_of_the_caller_names_is_not_forgotten_for_others(said: str) -> None:
    """As servers of vLLM and FastAPI do, whose errors hold what they were sent."""

    async def check() -> None:
        def answer_to(body: Body) -> list[Step]:
            repeated = f"Extra inputs are not permitted: stream_options, beside '{body['messages'][0]['content']}'"
            return refusal(400, {"error": {"message": repeated}}) if "stream_options" in body else HELLO

        options = {"temperature": 0.3, "reasoning_effort": "high"}
        tools = (Tool("look_up", "", {"type": "object"}),)
        async with server(answer_to) as (url, came), gateway_to(url, **CHAT) as provider:
            for one in (said, "Hi"):
                assert (await asked(provider, one, tools=tools, model_options=options)).text == "Hello"
            assert ["stream_options" in body for body in came] == [True, False, False]
            assert [{name: body.get(name) for name in options} for body in came] == [options] * 3

    run(check())


def test_a_large_request_that_is_refused_is_looked_through_beside_the_event_loop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It takes seconds for 30 MB, in which no other request would be answered."""
    threads: list[bool] = []

    def in_own_words(error: Any, body: Any) -> Any:
        threads.append(threading.current_thread() is threading.main_thread())
        return error

    async def check() -> None:
        def answer_to(body: Body) -> list[Step]:
            return refusal(422, MISTRAL) if "stream_options" in body else HELLO

        async with server(answer_to) as (url, _), gateway_to(url, **CHAT) as provider:
            assert (await asked(provider, "many words " * 30_000)).text == "Hello"

    monkeypatch.setattr(requests, "in_own_words", in_own_words)
    run(check())
    assert threads == [False]
