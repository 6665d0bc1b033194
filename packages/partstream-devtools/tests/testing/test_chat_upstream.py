"""The replay upstream as a server of Chat Completions: scenarios, recordings, faults and refusals over real HTTP."""

import json

import pytest

from partstream import Finish, StreamOptions, TextPart, ThinkingPart, ToolCallPart, Unmapped
from partstream.conversation.provider_state import ITEMS
from partstream.errors import TruncatedStreamError
from partstream.lm.outputs import Outcome
from partstream.protocols.protocol import PROTOCOLS
from partstream.protocols.reader import StreamReader
from partstream_devtools.testing.admission import endpoint_at
from partstream_devtools.testing.scripted_model import SCENARIOS
from partstream_devtools.testing.vendors import MOST_OF_AN_ID
from rows import one_test_for
from testing.clients import run

TOKEN = "sesame"  # noqa: S105 - invented
PATH = "/chat/completions"
TOOLS = [{"type": "function", "function": {"name": name, "parameters": {"type": "object"}}} for name in ("one", "two")]


def _body(text="Hi", *, stream=True, model="any", **fields):
    return {"model": model, "messages": [{"role": "user", "content": text}], "stream": stream} | fields


def _read(data):
    reader = StreamReader(PROTOCOLS["chat-completions"], StreamOptions(call_id_prefix=""))
    return [*reader.feed(data), *reader.end()]


def _chunks(response):
    *blocks, last = response.text.removesuffix("\n\n").split("\n\n")
    assert last == "data: [DONE]"
    return [json.loads(block.removeprefix("data: ")) for block in blocks]


def _calling(*call_ids):
    function = {"name": "one", "arguments": "{}"}
    calls = [{"id": call_id, "type": "function", "function": function} for call_id in call_ids]
    return {"role": "assistant", "content": None, "tool_calls": calls}


@pytest.mark.parametrize("stream", [True, False], ids=["stream", "document"])
def test_every_scenario_is_served(stream):
    async def check(upstream, client):
        for name in SCENARIOS:
            response = await client.post(PATH, json=_body("call:one{}", model=name, stream=stream, tools=TOOLS))
            assert response.status_code == (500 if name == "failed" and not stream else 200)
            assert upstream.exchanges[-1].choice == name
            if stream:
                *parts, finish = _read(response.content)
                assert isinstance(finish, Finish)
                assert not any(isinstance(part, Unmapped) for part in parts)
                assert finish.outcome is _OUTCOMES.get(name, Outcome.COMPLETED)

    run(check)


_OUTCOMES = {"failed": Outcome.FAILED, "incomplete": Outcome.INCOMPLETE}


def test_what_a_model_thinks_says_and_calls_arrives():
    async def check(upstream, client):
        question = _body('Look it up. call:one{"city":"Zürich"} call:two{}', model="tools", tools=TOOLS)
        *parts, finish = _read((await client.post(PATH, json=question)).content)
        assert "".join(part.value for part in parts if isinstance(part, TextPart)) == "Let me look that up."
        assert "".join(part.value for part in parts if isinstance(part, ThinkingPart)).startswith("I do not know")
        calls = [(part.name, part.input) for part in parts if isinstance(part, ToolCallPart)]
        assert calls == [("one", {"city": "Zürich"}), ("two", {})]
        assert finish.usage.input_tokens > 0

    run(check)


def test_the_state_of_thinking_comes_back_signed_as_it_went_out():
    async def check(upstream, client):
        first = await client.post(PATH, json=_body("call:one{}", model="tools", tools=TOOLS, stream=False))
        message = first.json()["choices"][0]["message"]
        results = [{"role": "tool", "tool_call_id": call["id"], "content": "42"} for call in message["tool_calls"]]
        history = [{"role": "user", "content": "Hi"}, message, *results]
        second = await client.post(PATH, json=_body(model="tools", messages=history, stream=False))
        assert "one: 42" in second.json()["choices"][0]["message"]["content"]
        endpoint = endpoint_at(f"/v1{PATH}")
        asked = endpoint.reads.read(endpoint.request(f"/v1{PATH}", upstream.requests[-1].body, {}))
        thinking = asked.messages[1].content[0]
        assert isinstance(thinking, ThinkingPart)
        assert [set(item["providerOptions"]) for item in thinking.metadata[ITEMS]] == [{"anthropic"}, {"google"}]

    run(check)


def test_the_models_are_listed():
    async def check(upstream, client):
        models = (await client.get("/models")).json()["data"]
        assert {model["id"] for model in models} == {*SCENARIOS}

    run(check)


def test_a_recording_is_replayed_byte_for_byte(tmp_path):
    recording = tmp_path / "made-up.sse"
    recording.write_bytes(
        b': OPENROUTER PROCESSING\r\n\r\ndata: {"choices":[{"delta":{"content":"Hi"}}]}\r\n\r\ndata: [DONE]\r\n\r\n'
    )

    async def check(upstream, client):
        response = await client.post(PATH, json=_body())
        assert response.content == recording.read_bytes()
        assert upstream.exchanges[-1].choice == "made-up.sse"

    run(check, replay=recording)


def test_a_stream_that_breaks_off_has_neither_an_end_nor_a_mark():
    async def check(upstream, client):
        response = await client.post(PATH, json=_body("fault:truncate=4"))
        *_, finish = _read(response.content)
        assert isinstance(finish.error, TruncatedStreamError)

    run(check)


def test_a_key_goes_into_the_usual_header():
    async def check(upstream, client):
        refused = await client.post(PATH, json=_body())
        assert (refused.status_code, refused.json()["error"]["code"]) == (401, "invalid_api_key")
        taken = await client.post(PATH, json=_body(), headers={"authorization": f"Bearer {TOKEN}"})
        assert taken.status_code == 200

    run(check, token=TOKEN)


@one_test_for(
    ("messages", "param", "code", "words"),
    [
        (
            [_calling("a", "b"), {"role": "user", "content": "?"}],
            "messages.[1].role",
            None,
            "did not have response messages: a, b",
        ),
        (
            [_calling("a")],
            "messages.[1].role",
            None,
            "must be followed by tool messages",
        ),
        (
            [{"role": "tool", "tool_call_id": "a", "content": "1"}],
            "messages.[0].role",
            None,
            "with role 'tool' must be",
        ),
        ([{"role": "assistant", "content": None}], "messages.[0].content", None, "expected a string, got null"),
        (
            [_calling("a" * (MOST_OF_AN_ID + 1))],
            "messages[0].tool_calls[0].id",
            "string_above_max_length",
            "maximum length 40, but got a string with length 41",
        ),
    ],
    ids=["no results in between", "no results at all", "no call", "nothing said", "a long id"],
)
def test_messages_that_do_not_fit_together_are_refused_in_openais_words(messages, param, code, words):
    async def check(upstream, client):
        response = await client.post(PATH, json=_body(messages=messages))
        error = response.json()["error"]
        assert (response.status_code, error["type"], error["param"], error["code"]) == (
            400,
            "invalid_request_error",
            param,
            code,
        )
        assert words in error["message"]

    run(check)


def test_a_mistake_in_the_request_is_named_with_its_place():
    async def check(upstream, client):
        response = await client.post(PATH, json=_body(messages=[{"role": "robot", "content": "Hi"}]))
        assert response.status_code == 400
        assert "messages[0].role: got 'robot'" in response.json()["error"]["message"]

    run(check)


def test_usage_has_a_chunk_of_its_own_for_who_asks_for_it():
    async def check(upstream, client):
        asked = _chunks(await client.post(PATH, json=_body(stream_options={"include_usage": True})))
        assert asked[-1]["choices"] == []
        assert asked[-1]["usage"]["total_tokens"] > 0
        unasked = _chunks(await client.post(PATH, json=_body()))
        assert all(chunk["choices"] for chunk in unasked)

    run(check)
