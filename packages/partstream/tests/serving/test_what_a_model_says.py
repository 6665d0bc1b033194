"""What a model says beside its text reaches the client in the fields of the client's own wire: refusals, arguments that
are no JSON object, and the sequence at which it stopped."""

from __future__ import annotations
import json
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any

import pytest

from partstream.lm.outputs import FileMode, StreamOptions
from partstream.lm.provider import LanguageModelChatInformation
from partstream.runtime.read_stream import read_stream
from partstream.server.application import app
from partstream.upstream.provider import GatewayProvider
from partstream_devtools.testing.faults import document
from protocols.chat_completions.wire import DONE, calls, chunk, finished, sse
from serving.asgi import Call, ask
from upstreams.upstreams import configuration, run, server_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

MODEL = LanguageModelChatInformation("m", "M", "f", "1", 200_000, 8000)
SAID = "Let me see."
TRANSLATED = StreamOptions(files=FileMode.ADDRESS)  # another setting than the usual one: no answer passes as it came
UNREAD = ["not json", "[1,2]", '{"a": NaN}', '{"a":1}{"b":2}', '{"path": "very lo']
TOOL = {"name": "f", "parameters": {"type": "object"}}
CHAT: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
RESPONSES: dict[str, Any] = {"model": "m", "input": "Hi", "store": False}
MESSAGES: dict[str, Any] = {**CHAT, "max_tokens": 50}
GEMINI: dict[str, Any] = {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]}
BODIES = {
    "/v1/chat/completions": CHAT,
    "/v1/responses": RESPONSES,
    "/v1/messages": MESSAGES,
    "/v1beta/models/m:generateContent": GEMINI,
    "/api/chat": {**CHAT, "stream": False},
}
CHAT_PATH, RESPONSES_PATH, MESSAGES_PATH, GEMINI_PATH, OLLAMA_PATH = BODIES


def called(arguments: str, word: str = "tool_calls") -> list[Any]:
    function = {"name": "f", "arguments": arguments}
    call = calls({"index": 0, "id": "call_1", "type": "function", "function": function})
    return [chunk({"content": SAID}), call, finished(word), DONE]


def asked(events: Sequence[Any], path: str, check: Callable[[Call, dict[str, Any]], object], **body: Any) -> None:
    """Asks a server whose model is behind Chat Completions; `check` gets the reply and what the upstream was asked."""

    async def test() -> None:
        async with AsyncExitStack() as stack:
            replied = document(200, b"".join(sse(events)), "text/event-stream")
            url, requests = await stack.enter_async_context(server_of(replied))
            provider = GatewayProvider(
                configuration(url, protocol="chat-completions", models=(MODEL,), stream=TRANSLATED)
            )
            stack.push_async_callback(provider.aclose)
            got = await ask(app(provider), path, {**BODIES[path], **body})
            check(got, json.loads(requests[0].body) if requests else {})

    run(test())


def data_of(got: Call) -> list[dict[str, Any]]:
    lines = (line.removeprefix(b"data: ") for line in got.body.split(b"\n") if line.startswith(b"data: "))
    return [json.loads(line) for line in lines if line != b"[DONE]"]


# ---- Arguments that are no JSON object ----


@pytest.mark.parametrize("arguments", UNREAD)
@pytest.mark.parametrize("word", ["tool_calls", "stop"])
def test_a_client_of_chat_completions_gets_them_as_they_are(arguments: str, word: str) -> None:
    def check(got: Call, _sent: Any) -> None:
        (choice,) = got.json["choices"]
        (call,) = choice["message"]["tool_calls"]
        assert (got.status, choice["message"]["content"], choice["finish_reason"]) == (200, SAID, "tool_calls")
        assert call["function"] == {"name": "f", "arguments": arguments}
        assert call["id"].endswith("call_1")

    asked(called(arguments, word), CHAT_PATH, check)


@pytest.mark.parametrize("arguments", UNREAD)
def test_a_client_of_openresponses_gets_them_as_they_are(arguments: str) -> None:
    def check(got: Call, _sent: Any) -> None:
        message, call = got.json["output"]
        assert (got.status, got.json["status"], message["content"][0]["text"]) == (200, "completed", SAID)
        assert (call["type"], call["name"], call["arguments"]) == ("function_call", "f", arguments)

    asked(called(arguments), RESPONSES_PATH, check)


def test_a_stream_of_messages_holds_their_text() -> None:
    def check(got: Call, _sent: Any) -> None:
        deltas = [one["delta"] for one in data_of(got) if one["type"] == "content_block_delta"]
        assert "".join(one.get("partial_json", "") for one in deltas) == "not json"
        assert data_of(got)[-2]["delta"]["stop_reason"] == "tool_use"

    asked(called("not json"), MESSAGES_PATH, check, stream=True)


def _parts_of(document: Any) -> tuple[Any, Any]:
    text, call = document["candidates"][0]["content"]["parts"]
    return text["text"], call["functionCall"]["args"]


OBJECTS = {
    MESSAGES_PATH: lambda document: (document["content"][0]["text"], document["content"][1]["input"]),
    GEMINI_PATH: _parts_of,
    OLLAMA_PATH: lambda document: (
        document["message"]["content"],
        document["message"]["tool_calls"][0]["function"]["arguments"],
    ),
}


@pytest.mark.parametrize(("path", "found"), OBJECTS.items(), ids=OBJECTS)
def test_a_document_whose_arguments_are_objects_holds_their_text_in_one(path: str, found: Callable[[Any], Any]) -> None:
    def check(got: Call, _sent: Any) -> None:
        assert (got.status, found(got.json)) == (200, (SAID, {"INVALID_JSON": "not json"}))

    asked(called("not json"), path, check)


def test_a_reader_of_a_stream_gets_the_text_and_the_error_that_names_the_call() -> None:
    *parts, finish = read_stream(sse(called("not json")), protocol="chat-completions")
    assert [part.value for part in parts] == [SAID]  # type: ignore[union-attr]
    assert "tool call f" in str(finish.error)  # type: ignore[union-attr]


def test_a_call_that_the_output_limit_cuts_is_no_call() -> None:
    def check(got: Call, _sent: Any) -> None:
        (choice,) = got.json["choices"]
        assert (choice["finish_reason"], "tool_calls" in choice["message"]) == ("length", False)

    asked(called('{"path": "very lo', "length"), CHAT_PATH, check)


@pytest.mark.parametrize("path", [CHAT_PATH, RESPONSES_PATH])
@pytest.mark.parametrize(
    ("arguments", "sent"), [("not json", "not json"), ("[1]", "[1]"), ("null", "{}"), (None, "{}")]
)
def test_a_history_with_them_goes_to_the_upstream_as_it_is(path: str, arguments: str | None, sent: str) -> None:
    function = {"name": "f", "arguments": arguments}
    call = {"id": "c1", "type": "function", "function": function}
    history = [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "That is no JSON."},
    ]
    items = [
        {"type": "function_call", "call_id": "c1", **function},
        {"type": "function_call_output", "call_id": "c1", "output": "That is no JSON."},
    ]
    given = {"messages": [*CHAT["messages"], *history]} if path == CHAT_PATH else {"input": items}

    def check(got: Call, asked_for: dict[str, Any]) -> None:
        assert got.status == 200
        (call,) = next(one["tool_calls"] for one in asked_for["messages"] if one["role"] == "assistant")
        assert call["function"]["arguments"] == sent

    asked([chunk({"content": "Sorry."}), finished(), DONE], path, check, **given)


# ---- Refusals ----

REFUSED = [chunk({"refusal": "I'm sorry, "}), chunk({"refusal": "I can't."}), finished(), DONE]
REFUSAL = "I'm sorry, I can't."


def test_a_refusal_is_in_its_field_of_chat_completions() -> None:
    def check(got: Call, _sent: Any) -> None:
        message = got.json["choices"][0]["message"]
        assert (message["content"], message["refusal"]) == (None, REFUSAL)

    asked(REFUSED, CHAT_PATH, check)


def test_a_refusal_streams_in_its_field_of_chat_completions() -> None:
    def check(got: Call, _sent: Any) -> None:
        deltas = [choice["delta"] for one in data_of(got) for choice in one["choices"]]
        assert "".join(one.get("refusal", "") for one in deltas) == REFUSAL
        assert "".join(one.get("content", "") for one in deltas) == ""

    asked(REFUSED, CHAT_PATH, check, stream=True)


def test_a_refusal_is_a_part_of_its_own_in_openresponses() -> None:
    def check(got: Call, _sent: Any) -> None:
        (message,) = got.json["output"]
        assert message["content"] == [{"type": "refusal", "refusal": REFUSAL}]

    asked(REFUSED, RESPONSES_PATH, check)


def test_a_refusal_streams_in_events_of_its_own_in_openresponses() -> None:
    def check(got: Call, _sent: Any) -> None:
        events = data_of(got)
        assert "".join(one["delta"] for one in events if one["type"] == "response.refusal.delta") == REFUSAL
        assert [one["refusal"] for one in events if one["type"] == "response.refusal.done"] == [REFUSAL]

    asked(REFUSED, RESPONSES_PATH, check, stream=True)


def test_a_refusal_is_text_on_a_wire_without_a_place_for_it() -> None:
    def check(got: Call, _sent: Any) -> None:
        assert got.json["content"] == [{"type": "text", "text": REFUSAL, "citations": None}]

    asked(REFUSED, MESSAGES_PATH, check)


# ---- The sequence at which the model stopped ----


@pytest.mark.parametrize("field", ["stop_reason", "matched_stop"])
@pytest.mark.parametrize(
    ("said", "reason", "sequence"),
    [("END", "stop_sequence", "END"), (151643, "end_turn", None), ("</s>", "end_turn", None)],
)
def test_a_matched_sequence_of_the_request_is_named(field: str, said: Any, reason: str, sequence: str | None) -> None:
    end = finished()
    end["choices"][0][field] = said

    def check(got: Call, _sent: Any) -> None:
        assert (got.json["stop_reason"], got.json["stop_sequence"]) == (reason, sequence)

    asked([chunk({"content": "abc"}), end, DONE], MESSAGES_PATH, check, stop_sequences=["END", "STOP"])
