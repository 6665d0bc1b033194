"""The replay upstream on the wires of Anthropic, Gemini and Ollama: scenarios, faults, recordings and keys."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from partstream import Finish, StreamOptions, TextPart, ThinkingPart, ToolCallPart, Unmapped
from partstream.errors import TruncatedStreamError
from partstream.lm.outputs import Outcome
from partstream.protocols.protocol import PROTOCOLS
from partstream.protocols.reader import StreamReader
from partstream_devtools.testing.admission import BASE_PATHS
from partstream_devtools.testing.faults import FAULTS
from partstream_devtools.testing.scripted_model import SCENARIOS
from testing.clients import run

TOKEN = "sesame"  # noqa: S105 - invented
NAMES = ("one", "two")


@dataclass(frozen=True)
class Spoken:
    """How a test asks on one wire.

    Attributes:
        path: The path below the base URL, with its query, given the model and whether a stream is wanted.
        body: The body, given a text, the model and whether a stream is wanted.
        headers: The headers beside the key.
        key: The header that carries a key.
        text_of: The text of a whole document.
    """

    path: Callable[[str, bool], str]
    body: Callable[[str, str, bool], dict[str, Any]]
    headers: dict[str, str]
    key: str
    text_of: Callable[[Any], str]


def _messages(text: str, model: str, stream: bool) -> dict[str, Any]:
    tools = [{"name": name, "input_schema": {"type": "object"}} for name in NAMES]
    said = [{"role": "user", "content": text}]
    thinking = {"type": "adaptive"}
    return {
        "model": model,
        "max_tokens": 1000,
        "messages": said,
        "tools": tools,
        "thinking": thinking,
        "stream": stream,
    }


def _contents(text: str, _model: str, _stream: bool) -> dict[str, Any]:
    declared = [{"name": name, "parametersJsonSchema": {"type": "object"}} for name in NAMES]
    return {
        "contents": [{"role": "user", "parts": [{"text": text}]}],
        "tools": [{"functionDeclarations": declared}],
        "generationConfig": {"thinkingConfig": {"includeThoughts": True}},
    }


def _chat(text: str, model: str, stream: bool) -> dict[str, Any]:
    tools = [{"type": "function", "function": {"name": name, "parameters": {"type": "object"}}} for name in NAMES]
    return {"model": model, "messages": [{"role": "user", "content": text}], "tools": tools, "stream": stream}


def _gemini_path(model: str, stream: bool) -> str:
    return f"/models/{model}:" + ("streamGenerateContent?alt=sse" if stream else "generateContent")


def _gemini_text(document: Any) -> str:
    parts = document["candidates"][0]["content"]["parts"]
    return "".join(part.get("text", "") for part in parts if not part.get("thought"))


ALL = {
    "anthropic-messages": Spoken(
        lambda _model, _stream: "/messages",
        _messages,
        {"anthropic-version": "2023-06-01"},
        "x-api-key",
        lambda document: "".join(block.get("text", "") for block in document["content"]),
    ),
    "gemini": Spoken(_gemini_path, _contents, {}, "x-goog-api-key", _gemini_text),
    "ollama": Spoken(
        lambda _model, _stream: "/chat", _chat, {}, "authorization", lambda document: document["message"]["content"]
    ),
}
SPOKEN = {name: one for name, one in ALL.items() if name in BASE_PATHS}
every_wire = pytest.mark.parametrize("name", SPOKEN)


async def _ask(upstream, client, name, text="Hi", model="any", *, stream=True, **headers):
    spoken = SPOKEN[name]
    return await client.post(
        upstream.base_url_of(name) + spoken.path(model, stream),
        json=spoken.body(text, model, stream),
        headers={**spoken.headers, **headers},
    )


def _read(name, data):
    reader = StreamReader(PROTOCOLS[name], StreamOptions(call_id_prefix=""))
    return [*reader.feed(data), *reader.end()]


def _text(outputs):
    return "".join(one.value for one in outputs if isinstance(one, TextPart))


@every_wire
@pytest.mark.parametrize("stream", [True, False], ids=["stream", "document"])
def test_every_scenario_is_served(name, stream):
    async def check(upstream, client):
        for scenario in SCENARIOS:
            response = await _ask(upstream, client, name, "call:one{}", scenario, stream=stream)
            assert upstream.exchanges[-1].choice == scenario
            if not stream:
                assert isinstance(response.json(), dict)
                continue
            assert response.status_code == 200
            *parts, finish = _read(name, response.content)
            assert isinstance(finish, Finish)
            assert not any(isinstance(part, Unmapped) for part in parts), scenario
            assert finish.outcome is _OUTCOMES.get(scenario, Outcome.COMPLETED), scenario

    run(check)


_OUTCOMES = {"failed": Outcome.FAILED, "incomplete": Outcome.INCOMPLETE}


@every_wire
def test_what_a_model_thinks_says_and_calls_arrives(name):
    async def check(upstream, client):
        question = 'Look it up. call:one{"city":"Zürich"} call:two{}'
        *parts, finish = _read(name, (await _ask(upstream, client, name, question, "tools")).content)
        assert _text(parts) == "Let me look that up."
        assert "".join(part.value for part in parts if isinstance(part, ThinkingPart)).startswith("I do not know")
        calls = [(part.name, part.input) for part in parts if isinstance(part, ToolCallPart)]
        assert calls == [("one", {"city": "Zürich"}), ("two", {})]
        assert finish.usage.input_tokens > 0

    run(check)


@every_wire
def test_without_a_stream_the_answer_is_a_document(name):
    async def check(upstream, client):
        response = await _ask(upstream, client, name, stream=False)
        assert response.headers["content-type"] == "application/json"
        assert SPOKEN[name].text_of(response.json()).startswith("Hello from Partstream!")

    run(check)


@every_wire
def test_a_key_goes_into_the_header_of_the_wire(name):
    async def check(upstream, client):
        refused = await _ask(upstream, client, name)
        assert refused.status_code == 401
        errors = PROTOCOLS[name].write_request().errors
        assert errors.read_body(refused.json()).message
        header = SPOKEN[name].key
        key = f"Bearer {TOKEN}" if header == "authorization" else TOKEN
        assert (await _ask(upstream, client, name, **{header: key})).status_code == 200
        assert TOKEN not in str(upstream.requests), "the key is in what is kept of a request"

    run(check, token=TOKEN)


# ---- faults ----


WHOLE = (
    "split=1",
    "no_done",
    "keep_open=0.01",
    "stall=1:0.01",
    "stall_before_headers=0.01",
    "stall_before_events=0.01",
)
BROKEN_OFF = ("truncate=1", "truncate=0")
REFUSED = {"status=503": 503, "status=429:2": 429, "status_then_ok=1": 503, "context_length=10:20": 400}
OTHERS = ("html", "cut_before_headers", "cut", "close", "malformed=0", "duplicate", "missing=message")


def test_every_fault_is_tried():
    tried = (*WHOLE, *BROKEN_OFF, *REFUSED, *OTHERS)
    assert {fault.partition("=")[0] for fault in tried} == set(FAULTS)


@every_wire
def test_faults_that_lose_nothing_leave_the_answer_whole(name):
    async def check(upstream, client):
        whole = _text(_read(name, (await _ask(upstream, client, name)).content))
        for fault in WHOLE:
            response = await _ask(upstream, client, name, **{"x-partstream-fault": fault})
            assert _text(_read(name, response.content)) == whole, fault

    run(check)


@every_wire
def test_a_stream_that_breaks_off_has_no_end(name):
    async def check(upstream, client):
        for fault in BROKEN_OFF:
            response = await _ask(upstream, client, name, **{"x-partstream-fault": fault})
            *_, finish = _read(name, response.content)
            assert isinstance(finish.error, TruncatedStreamError), fault
            assert response.status_code == 200

    run(check)


@every_wire
def test_an_http_error_is_said_in_the_words_of_the_wire(name):
    async def check(upstream, client):
        for fault, status in REFUSED.items():
            response = await _ask(upstream, client, name, fault, **{"x-partstream-fault": fault})
            assert response.status_code == status
            body = PROTOCOLS[name].write_request().errors.read_body(response.json())
            assert body.message, fault

    run(check)


@every_wire
def test_an_event_that_is_cut_is_no_silent_loss(name):
    async def check(upstream, client):
        response = await _ask(upstream, client, name, **{"x-partstream-fault": "malformed=0"})
        *_, finish = _read(name, response.content)
        assert finish.error is not None

    run(check)


@every_wire
def test_events_that_come_twice_never_break_the_stream(name):
    async def check(upstream, client):
        response = await _ask(upstream, client, name, "call:one{}", "tools", **{"x-partstream-fault": "duplicate"})
        *parts, finish = _read(name, response.content)
        assert finish.error is None
        assert [part.name for part in parts if isinstance(part, ToolCallPart)][:1] == ["one"]

    run(check)


# ---- what only one wire has ----


@pytest.mark.skipif("gemini" not in SPOKEN, reason="it is not served")
def test_gemini_answers_with_an_array_where_no_event_stream_is_wanted():
    async def check(upstream, client):
        url = f"{upstream.base_url_of('gemini')}/models/tools:streamGenerateContent"
        body = SPOKEN["gemini"].body('call:one{"a":1}', "tools", True)
        response = await client.post(url, json=body)
        assert response.headers["content-type"].startswith("application/json")
        chunks = response.json()
        assert all("candidates" in chunk for chunk in chunks)
        *parts, finish = _read("gemini", response.content)
        assert [part.input for part in parts if isinstance(part, ToolCallPart)] == [{"a": 1}]
        assert finish.outcome is Outcome.COMPLETED
        for fault, events in {"duplicate": 2 * len(chunks), "missing=message": 0}.items():
            again = await client.post(url, json=body, headers={"x-partstream-fault": fault})
            assert len(again.json()) == events
        cut = await client.post(url, json=body, headers={"x-partstream-fault": "truncate=1"})
        assert isinstance(_read("gemini", cut.content)[-1].error, TruncatedStreamError)

    run(check)


@pytest.mark.skipif("ollama" not in SPOKEN, reason="it is not served")
def test_ollama_answers_line_by_line(tmp_path):
    recording = tmp_path / "made-up.ndjson"
    lines = [
        {"model": "m", "message": {"role": "assistant", "content": "Hi"}, "done": False},
        {"model": "m", "message": {"role": "assistant", "content": ""}, "done": True, "done_reason": "stop"},
    ]
    recording.write_bytes(b"".join(json.dumps(line).encode() + b"\n" for line in lines))

    async def served(upstream, client):
        response = await _ask(upstream, client, "ollama")
        assert response.headers["content-type"].startswith("application/x-ndjson")
        assert all(json.loads(line)["model"] for line in response.content.splitlines())

    async def replayed(upstream, client):
        response = await _ask(upstream, client, "ollama")
        assert response.content == recording.read_bytes()
        assert upstream.exchanges[-1].choice == "made-up.ndjson"

    run(served)
    run(replayed, replay=recording)


@every_wire
def test_an_input_that_is_too_long_is_known_as_such(name):
    async def check(upstream, client):
        response = await _ask(upstream, client, name, **{"x-partstream-fault": "context_length=8192:9412"})
        errors = PROTOCOLS[name].write_request().errors
        assert errors is not None
        assert "8192" in errors.read_body(response.json()).message

    run(check)
