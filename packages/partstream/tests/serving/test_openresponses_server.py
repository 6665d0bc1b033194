"""What the specification of OpenResponses asks of a server, over HTTP and WebSocket: shapes by the published schema,
order, identities, numbers and ends; and that our own reader and contract checker take every answer."""

import asyncio
import base64
import json
from collections.abc import Callable
from typing import Any

import openresponses_types.types as schema
import pytest

from openresponses_schema import validate_event, validate_response
from partstream.errors import UpstreamFailureError
from partstream.lm.contract import CheckMode, ContractChecker
from partstream.lm.outputs import CitationMode, Finish, Outcome, StreamOptions, Unmapped
from partstream.lm.parts import (
    DataPart,
    FinishReason,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    UnifiedFinishReason,
    Usage,
    thinking_part,
)
from partstream.protocols.openresponses import PROTOCOL
from partstream.runtime.demo_provider import DemoProvider
from partstream.runtime.translation import read_answer, read_document
from partstream.server.application import ServingApp, app
from rows import one_test_for
from serving.asgi import ask
from serving.asgi_socket import Socket
from serving.openresponses_order import check_order

PATH = "/v1/responses"
WEATHER = {
    "type": "function",
    "name": "get_weather",
    "description": "Get the current weather for a location",
    "parameters": {"type": "object", "properties": {"location": {"type": "string"}}, "required": ["location"]},
}
PIXEL = "data:image/png;base64," + base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(16)).decode()
SOURCE = DataPart.json({"url": "https://a.test", "title": "A"}, "application/vnd.vscode.citation+json")
USAGE = Usage(7, 3, 10)


class Scripted(DemoProvider):
    """Reports what it is given, then ends as the last of it says."""

    def __init__(self, *outputs: Any) -> None:
        super().__init__()
        self.outputs = outputs

    async def provide_language_model_chat_response(self, model, messages, options, progress, token) -> None:  # type: ignore[no-untyped-def]
        for output in self.outputs:
            if isinstance(output, Finish):
                progress.finish(output)
                if output.error is not None:
                    raise output.error
            else:
                progress.report(output)


LIMITED = Finish(Outcome.INCOMPLETE, FinishReason(UnifiedFinishReason.LENGTH), USAGE)
FILTERED = Finish(Outcome.INCOMPLETE, FinishReason(UnifiedFinishReason.CONTENT_FILTER), USAGE)
BROKEN = Finish(Outcome.FAILED, error=UpstreamFailureError("it broke", provider_code="model_error"))
ANSWERS: dict[str, tuple[Any, ...]] = {
    "text": (TextPart("Hel"), TextPart("lo")),
    "thinking": (ThinkingPart("let me "), ThinkingPart("see"), TextPart("42")),
    "thinking with state": (
        thinking_part("", "rs_1", {"id": "rs_1", "encrypted_content": "opaque"}),
        ToolCallPart("call_1", "get_weather", {}),
    ),
    "a call": (TextPart("I look."), ToolCallPart("call_1", "get_weather", {"location": "Rome"})),
    "two calls": (ToolCallPart("call_1", "f", {"a": [1]}), ToolCallPart("call_2", "g", {})),
    "text behind a call": (ToolCallPart("call_1", "f", {}), TextPart("and on")),
    "a citation": (TextPart("It is so. "), SOURCE),
    "a limit": (TextPart("cut of"), LIMITED),
    "a filter": (TextPart("I must"), FILTERED),
    "a failure": (ThinkingPart("hm"), TextPart("half"), BROKEN),
}


def streamed(application: ServingApp, **body: Any) -> tuple[list[dict[str, Any]], bytes]:
    """The events of a stream over HTTP, whose framing is checked, and its bytes."""

    async def main() -> bytes:
        reply = await ask(application, PATH, {"model": "demo", "input": "Hi", "stream": True, **body})
        assert reply.headers["content-type"].startswith("text/event-stream")
        return reply.body

    data = asyncio.run(main())
    *frames, done, nothing = data.decode().split("\n\n")
    assert (done, nothing) == ("data: [DONE]", "")
    events = []
    for frame in frames:
        name, text = frame.split("\n")
        events.append(json.loads(text.removeprefix("data: ")))
        assert name == f"event: {events[-1]['type']}"
    return events, data


def spoken(application: ServingApp, *bodies: Any) -> list[list[dict[str, Any]]]:
    """The events of turns on one socket; a body may be made of the turns before."""

    async def main() -> list[list[dict[str, Any]]]:
        socket = await Socket(application, PATH).opened()
        turns: list[list[dict[str, Any]]] = []
        for body in bodies:
            turns.append(await socket.turn(**(body(turns) if callable(body) else body)))
        await socket.close()
        return turns

    return asyncio.run(main())


def whole(application: ServingApp, path: str = PATH, **body: Any) -> tuple[int, dict[str, Any]]:
    async def main() -> tuple[int, dict[str, Any]]:
        reply = await ask(application, path, body)
        return reply.status, reply.json

    return asyncio.run(main())


@pytest.mark.parametrize("name", ANSWERS)
def test_every_stream_is_valid_ordered_and_the_same_on_both_transports(name: str) -> None:
    application = app(Scripted(*ANSWERS[name]))
    include = {"include": ["reasoning.encrypted_content"]}
    events, _ = streamed(application, **include)
    for event in events:
        validate_event(event)
    response = check_order(events)
    validate_response(response)
    [turn] = spoken(application, {"input": "Hi", **include})
    said = [event["type"] for event in events if event["type"] != "error"]
    assert [event["type"] for event in turn] == said


@one_test_for("name", ANSWERS)
def test_our_own_reader_and_contract_checker_take_every_answer(name: str) -> None:
    application = app(Scripted(*ANSWERS[name]))
    options = StreamOptions(citations=CitationMode.DATA, call_id_prefix="")
    _, data = streamed(application, include=["reasoning.encrypted_content"])
    *parts, finish = read_answer(PROTOCOL, data, options)
    assert not [one for one in parts if isinstance(one, Unmapped)]
    checker = ContractChecker({"get_weather", "f", "g"}, CheckMode.STRICT)
    for part in parts:
        checker.check(part)
    assert isinstance(finish, Finish)
    given = [one for one in ANSWERS[name] if isinstance(one, Finish)]
    assert finish.outcome is (given[-1].outcome if given else Outcome.COMPLETED)
    for kind in (TextPart, ThinkingPart):
        texts = ["".join(one.value for one in some if isinstance(one, kind)) for some in (parts, ANSWERS[name])]
        assert texts[0] == texts[1]
    calls = [[one for one in some if isinstance(one, ToolCallPart)] for some in (parts, ANSWERS[name])]
    assert calls[0] == calls[1]


@pytest.mark.parametrize("name", [name for name in ANSWERS if name != "a failure"])
def test_a_document_says_what_the_stream_says(name: str) -> None:
    application = app(Scripted(*ANSWERS[name]))
    status, response = whole(application, model="demo", input="Hi")
    assert status == 200
    validate_response(response)
    events, _ = streamed(application)
    own = ("id", "created_at", "completed_at")
    stream = {field: value for field, value in events[-1]["response"].items() if field not in own}
    document = {field: value for field, value in response.items() if field not in own}
    assert _without_ids(document) == _without_ids(stream)
    read = read_document(PROTOCOL, json.dumps(response).encode(), StreamOptions())
    assert isinstance(read[-1], Finish)


def _without_ids(response: dict[str, Any]) -> dict[str, Any]:
    return {**response, "output": [{**item, "id": ""} for item in response["output"]]}


def test_a_failure_says_its_code_as_an_event_then_in_the_response() -> None:
    events, _ = streamed(app(Scripted(*ANSWERS["a failure"])))
    error, failed = events[-2:]
    assert (error["type"], failed["type"]) == ("error", "response.failed")
    assert error["error"]["message"] == failed["response"]["error"]["message"] == "it broke"
    assert set(error["error"]) == {"type", "code", "message", "param"}
    assert set(failed["response"]["error"]) == {"code", "message"}


def test_a_failure_before_the_first_part_is_a_status_with_all_four_fields() -> None:
    status, said = whole(app(Scripted(BROKEN)), model="demo", input="Hi", stream=True)
    assert status >= 400
    assert set(said["error"]) == {"message", "type", "param", "code"}


def test_thinking_is_on_the_channel_that_every_client_reads() -> None:
    events, _ = streamed(app(Scripted(*ANSWERS["thinking"])))
    thought = [event for event in events if "reasoning" in event["type"]]
    assert {event["type"] for event in thought} == {
        "response.reasoning_summary_part.added",
        "response.reasoning_summary_text.delta",
        "response.reasoning_summary_text.done",
        "response.reasoning_summary_part.done",
    }
    assert all("summary_index" in event for event in thought)


def test_sources_are_annotations_of_the_text() -> None:
    events, _ = streamed(app(Scripted(*ANSWERS["a citation"])))
    [added] = [event for event in events if event["type"] == "response.output_text.annotation.added"]
    [message] = events[-1]["response"]["output"]
    assert message["content"][0]["annotations"] == [added["annotation"]]
    assert added["annotation"]["url"] == "https://a.test"


@pytest.mark.parametrize(("name", "reason"), [("a limit", "max_output_tokens"), ("a filter", "content_filter")])
def test_what_stopped_the_model_is_the_reason_of_an_incomplete_response(name: str, reason: str) -> None:
    events, _ = streamed(app(Scripted(*ANSWERS[name])))
    assert events[-1]["response"]["incomplete_details"] == {"reason": reason}
    assert events[-1]["response"]["output"][-1]["status"] == "incomplete"


def test_a_response_repeats_what_was_asked_and_leaves_out_what_its_schema_has_not() -> None:
    asked = {
        "temperature": 0.5, "top_p": 0.9, "metadata": {"a": "b"}, "tools": [WEATHER, {"type": "web_search"}],
        "tool_choice": "auto", "reasoning": {"effort": "minimal"}, "text": {"verbosity": "low"}, "store": False,
        "instructions": "Be terse.", "max_output_tokens": 64, "surprise": True,
    }  # fmt: skip
    status, response = whole(app(DemoProvider()), model="demo", input="Hi", **asked)
    assert status == 200
    validate_response(response)
    assert [tool["name"] for tool in response["tools"]] == ["get_weather"]
    assert response["reasoning"] == {"effort": None, "summary": None}
    assert (response["temperature"], response["metadata"], response["store"]) == (0.5, {"a": "b"}, False)


INPUTS: dict[str, Any] = {
    "one message": [{"type": "message", "role": "user", "content": "Say hello in exactly 3 words."}],
    "phases": [
        {"type": "message", "role": "assistant", "phase": "commentary", "content": "I use the saved number."},
        {"type": "message", "role": "assistant", "phase": "final_answer", "content": "The number is four."},
        {"type": "message", "role": "user", "content": "Repeat only the number."},
    ],
    "a system message": [
        {"type": "message", "role": "system", "content": "You are a pirate."},
        {"type": "message", "role": "user", "content": "Say hello."},
    ],
    "an image without detail": [
        {
            "type": "message",
            "role": "user",
            "content": [
                {"type": "input_text", "text": "What is in this image?"},
                {"type": "input_image", "image_url": PIXEL},
            ],
        }
    ],
    "several turns": [
        {"type": "message", "role": "user", "content": "My name is Alice."},
        {"type": "message", "role": "assistant", "content": "Hello Alice!"},
        {"type": "message", "role": "user", "content": "What is my name?"},
    ],
    "a message without its type": [{"role": "user", "content": "Hi"}],
    "a text": "Hi",
}


@one_test_for("name", INPUTS)
def test_every_form_of_input_is_answered_with_a_whole_response(name: str) -> None:
    status, response = whole(app(DemoProvider()), model="demo", input=INPUTS[name])
    assert (status, response["status"]) == (200, "completed")
    validate_response(response)
    assert response["output"]


def test_a_question_about_the_weather_calls_the_tool_that_is_offered() -> None:
    status, response = whole(
        app(DemoProvider()), model="demo", input="What's the weather like in San Francisco?", tools=[WEATHER]
    )
    assert status == 200
    [called] = [item for item in response["output"] if item["type"] == "function_call"]
    assert json.loads(called["arguments"]) == {"location": "San Francisco"}


def test_a_compacted_conversation_is_valid_and_accepted_on_a_socket() -> None:
    application = app(DemoProvider())
    items = [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "The word is slate."}]},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "OK."}]},
    ]
    status, compacted = whole(application, f"{PATH}/compact", model="demo", input=items, prompt_cache_key="k")
    assert status == 200
    schema.CompactResource.model_validate(compacted)
    assert [item["type"] for item in compacted["output"]][-1] == "compaction"
    question = {"type": "message", "role": "user", "content": "Reply with exactly: compacted"}
    [turn] = spoken(application, {"store": False, "tools": [], "input": [*compacted["output"], question]})
    assert check_order(turn)["status"] == "completed"


def test_a_compaction_without_a_model_is_refused() -> None:
    assert whole(app(DemoProvider()), f"{PATH}/compact", input="Hi")[0] == 400


def _again(**body: Any) -> Callable[[list[Any]], dict[str, Any]]:
    """A turn that continues the first one."""
    return lambda turns: {"store": False, "previous_response_id": turns[0][-1]["response"]["id"], **body}


def test_turns_of_a_socket_are_valid_and_continue_and_forget_as_the_specification_says() -> None:
    lonely = {"type": "function_call_output", "call_id": "call_missing", "output": "none"}
    turns = spoken(
        app(DemoProvider()),
        {"input": "Remember: ember.", "store": False},
        _again(input=[lonely]),
        _again(input="Try to go on."),
        {"input": "Anew.", "store": False, "previous_response_id": "resp_missing"},
        {"input": "Anew."},
    )
    assert check_order(turns[0])["status"] == check_order(turns[4])["status"] == "completed"
    for turn in turns:
        for event in turn:
            if event["type"] == "error":
                schema.WebSocketErrorEvent.model_validate(event)
            else:
                validate_event(event)
    codes = [turn[0]["error"]["code"] for turn in turns[1:4]]
    assert codes[1:] == ["previous_response_not_found"] * 2
    assert codes[0] != "previous_response_not_found"
