"""The fields of a request that reach no model are named to the client and to the owner, or the request is refused."""

from __future__ import annotations
import asyncio
import json
import logging
from typing import TYPE_CHECKING, Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from listening import deliver, listening
from partstream import LanguageModelChatInformation, chat_model
from partstream.errors import UnsupportedParameterError
from partstream.lm.parts import TextPart
from partstream.server.application import app
from partstream.server.requests import DROPPED_HEADER, UNSAID_HEADER, DroppedFields, DroppedLog
from partstream.server.settings import ServingSettings
from partstream.server.telemetry import ServingMetrics
from partstream.upstream.context import report_dropped
from partstream_devtools.bundles.exchange import RecordedAnswer
from partstream_devtools.capturing.bundling import bundle_of, snapshot_of
from partstream_devtools.capturing.capture import LastAnswers
from partstream_devtools.inspector.answer_view import view_of_answer
from partstream_devtools.testing.faults import document
from serving.asgi import ask
from serving.hosted import hosted, posted
from serving.observations import an_answer
from serving.providers import Driven
from upstreams.upstreams import gateway_to

if TYPE_CHECKING:
    from partstream.server.loopback import ServerConnection

STRICT = ServingSettings(strict=True)


@chat_model(id="parrot")
async def parrot(messages, options):
    del messages, options
    yield "Hi"


def _logged(caplog) -> list[str]:
    return [one.getMessage() for one in caplog.records if one.name == "partstream.serving"]


REQUESTS: dict[str, tuple[str, dict[str, Any], str]] = {
    "OpenResponses": (
        "/v1/responses",
        {"input": "Hi", "tools": [{"type": "web_search"}, {"type": "mcp"}]},
        "tools[].mcp, tools[].web_search",
    ),
    "Chat Completions": (
        "/v1/chat/completions",
        {
            "messages": [{"role": "user", "content": "Hi"}],
            "tools": [{"type": "odd", "odd": {"name": "a"}}, {"type": "odd", "odd": {"name": "b"}}],
        },
        "tools[].odd",
    ),
    "Anthropic Messages": (
        "/v1/messages",
        {
            "max_tokens": 9,
            "messages": [{"role": "user", "content": "Hi"}],
            "tools": [{"type": "web_search_20250305", "name": "web_search"}],
        },
        "tools[].web_search_20250305",
    ),
    "Gemini": (
        "/v1beta/models/parrot:generateContent",
        {"contents": [{"parts": [{"text": "Hi"}]}], "tools": [{"googleSearch": {}}]},
        "tools[].googleSearch",
    ),
    "Ollama": ("/api/chat", {"messages": [{"role": "user", "content": "Hi"}], "keep_alive": "5m"}, "keep_alive"),
}
every_request = pytest.mark.parametrize(("path", "body", "names"), REQUESTS.values(), ids=REQUESTS)


@every_request
@pytest.mark.parametrize("stream", [False, True], ids=["document", "stream"])
def test_a_reply_names_them_in_its_head(path, body, names, stream):
    reply = asyncio.run(ask(app(parrot), path, {"model": "parrot", "stream": stream, **body}))
    assert reply.status == 200
    assert reply.headers[DROPPED_HEADER] == names


@every_request
def test_a_strict_server_refuses_the_request_and_names_them(path, body, names):
    provider = Driven(lambda progress, token: asyncio.sleep(0), model_id="parrot")
    reply = asyncio.run(ask(app(provider, STRICT), path, {"model": "parrot", "stream": False, **body}))
    assert reply.status == 400
    for name in names.split(", "):
        assert name.partition("[]")[2] in json.dumps(reply.json)
    assert provider.events == []


@pytest.mark.parametrize("settings", [None, STRICT], ids=["usual", "strict"])
def test_a_request_that_loses_nothing_is_answered_without_a_word(settings, caplog):
    reply = asyncio.run(ask(app(parrot, settings), "/v1/responses", {"model": "parrot", "input": "Hi", "store": True}))
    assert reply.status == 200
    assert DROPPED_HEADER not in reply.headers
    assert _logged(caplog) == []


PARSED_CALL = {"name": "f", "arguments": "{}", "parsed_arguments": {}}
PARSED = {
    "/v1/chat/completions": {
        "messages": [
            {"role": "user", "content": "Hi"},
            {"role": "assistant", "tool_calls": [{"id": "c1", "type": "function", "function": PARSED_CALL}]},
            {"role": "tool", "tool_call_id": "c1", "content": "r"},
            {"role": "assistant", "content": "{}", "parsed": {}},
            {"role": "user", "content": "More"},
        ]
    },
    "/v1/responses": {
        "input": [
            {"role": "user", "content": "Hi"},
            {"type": "function_call", "call_id": "c1", **PARSED_CALL},
            {"type": "function_call_output", "call_id": "c1", "output": "r"},
            {"role": "assistant", "content": [{"type": "output_text", "text": "{}", "parsed": {}}]},
            {"role": "user", "content": "More"},
        ]
    },
}


@pytest.mark.parametrize("path", PARSED)
def test_what_the_helpers_of_openai_have_parsed_of_an_answer_is_no_field_of_it(path):
    """They send back the objects that `parse()` and `stream()` have made (openai 3.57.0)."""
    reply = asyncio.run(ask(app(parrot, STRICT), path, {"model": "parrot", **PARSED[path]}))
    assert reply.status == 200, reply.body
    assert DROPPED_HEADER not in reply.headers


def test_the_log_names_each_set_once_and_no_value(caplog):
    application = app(parrot)
    searching = {"model": "parrot", "input": "Hi", "tools": [{"type": "web_search", "filters": "planted-secret"}]}
    more = {**searching, "tools": [*searching["tools"], {"type": "mcp", "server_label": "planted-secret"}]}

    async def run():
        for body in (searching, searching, more, searching, more):
            await ask(application, "/v1/responses", body)

    asyncio.run(run())
    first, second = _logged(caplog)
    assert "tools[].web_search" in first
    assert "tools[].mcp, tools[].web_search" in second
    assert all(one.levelno == logging.WARNING for one in caplog.records)
    assert "planted-secret" not in caplog.text


def test_clients_that_invent_names_do_not_fill_the_log(caplog):
    log = DroppedLog()
    for number in range(1000):
        log.note([f"invented_{number}"], "req_1")
    assert 100 < len(_logged(caplog)) < 300
    log.note(["what_another_sends"], "req_2", "ana")
    assert "what_another_sends" in _logged(caplog)[-1]


HOSTILE = {
    "line ends": ["a\r\nx-injected: 1"],
    "a comma": ["a, b"],
    "other alphabets": ["поле", "ж"],
    "half a character": ["\ud800"],
    "a null": ["\0"],
    "a long name": ["x" * 100_000],
    "a long name of another alphabet": ["щ" * 100_000],
    "many": [f"field_{number}" for number in range(10_000)],
    "many long ones": [f"{number}{'x' * 200}" for number in range(1000)],
}


@pytest.mark.parametrize("paths", HOSTILE.values(), ids=HOSTILE)
def test_a_header_takes_whatever_names_there_are(paths):
    dropped = DroppedFields("req_1", DroppedLog(), is_strict=False)
    dropped.add(paths)
    ((name, value),) = dropped.headers
    assert name == DROPPED_HEADER
    assert len(value) <= 1100
    assert value.isascii()
    assert value.isprintable()
    assert len(value.split(", ")) <= 21
    assert len(dropped.names) <= 200


def test_places_in_lists_are_one_name_and_the_error_says_the_place():
    dropped = DroppedFields("req_1", DroppedLog(), is_strict=False)
    dropped.add(f"messages[{place}].content[2].image_url.detail" for place in range(500))
    assert dropped.names == ("messages[].content[].image_url.detail",)
    strict = DroppedFields("req_1", DroppedLog(), is_strict=True)
    with pytest.raises(UnsupportedParameterError) as refused:
        strict.add(["tools[1].web_search", "tools[2].mcp"])
    assert refused.value.where == "tools[1].web_search"
    assert "tools[2].mcp" in str(refused.value)


# ---- What the wire of an upstream has no place for ----


@chat_model(id="narrow")
async def narrow(messages, options):
    del messages, options
    report_dropped(["options.seed"])
    report_dropped(["options.seed"])  # once more, for a second attempt
    yield "Hi"


@pytest.mark.parametrize("stream", [False, True], ids=["document", "stream"])
def test_what_a_provider_reports_before_its_first_part_stands_in_the_head_too(stream, caplog):
    body = {"model": "narrow", "input": "Hi", "stream": stream, "tools": [{"type": "mcp"}]}
    reply = asyncio.run(ask(app(narrow), "/v1/responses", body))
    assert reply.headers[DROPPED_HEADER] == "tools[].mcp, options.seed"
    assert len(_logged(caplog)) == 2


def test_a_strict_server_refuses_what_a_provider_reports():
    reply = asyncio.run(ask(app(narrow, STRICT), "/v1/responses", {"model": "narrow", "input": "Hi"}))
    assert reply.status == 400
    assert reply.json["error"]["param"] == "options.seed"


def test_a_provider_that_no_server_asks_reports_to_nobody():
    report_dropped(["options.seed"])


# ---- Where the owner reads of them ----


def test_the_observation_and_the_capture_of_an_answer_have_them():
    observed, answers = [], LastAnswers()
    application = app(parrot)
    application.on_did_finish_answer(observed.append)
    application.taps = answers
    asyncio.run(ask(application, "/v1/responses", {"model": "parrot", "input": "Hi", "tools": [{"type": "mcp"}]}))
    assert [one.dropped for one in observed] == [("tools[].mcp",)]
    bundle = bundle_of(snapshot_of(answers.answers), "serve")
    assert [one.dropped for one in bundle.answers] == [("tools[].mcp",)]


def test_the_inspector_names_them_with_the_answer():
    answer = RecordedAnswer(1, dropped=("tools[].mcp", *(f"field_{number}" for number in range(30))))
    (note,) = view_of_answer(answer, "the answer")["notes"]
    assert "tools[].mcp, field_0" in note
    assert note.endswith("field_18 and 11 more.")


def _counted(metrics: ServingMetrics, name: str = "partstream_dropped_fields_total") -> dict[tuple[str, str], float]:
    _, page = metrics.page()
    return {
        (sample.labels["wire"], sample.labels["field"]): sample.value
        for family in text_string_to_metric_families(page.decode())
        for sample in family.samples
        if sample.name == name
    }


def test_requests_are_counted_by_the_field_at_the_top():
    metrics = ServingMetrics(lambda: 0)
    metrics.observe(an_answer(dropped=("tools[].mcp", "tools[].web_search", "content[].input_image.detail")))
    metrics.observe(an_answer(dropped=("tools[].mcp",), wire="ollama"))
    metrics.observe(an_answer())
    assert _counted(metrics) == {
        ("openresponses", "tools"): 1,
        ("openresponses", "content"): 1,
        ("ollama", "tools"): 1,
    }


def test_names_that_clients_invent_make_no_series():
    metrics = ServingMetrics(lambda: 0)
    for number in range(1000):
        metrics.observe(an_answer(dropped=(f"invented_{number}", "%0A" * number, "x" * number)))
    assert len(_counted(metrics)) <= 65
    assert _counted(metrics)[("openresponses", "other")] > 900


# ---- What a client does not get of an answer ----

GEMINI = {
    "candidates": [
        {"content": {"parts": [{"text": "Hi"}]}, "finishReason": "STOP", "avgLogprobs": -0.5, "tone": "planted-secret"}
    ],
    "usageMetadata": {"promptTokenCount": 3, "candidatesTokenCount": 2, "cachedContentTokenCount": 1},
}
LOST = {"/v1/chat/completions": "", "/api/chat": ", usage.cached_tokens"}
MODEL = LanguageModelChatInformation("model-1", "Model", "f", "1", 200_000, 8000)


async def _asked_of_gemini(path: str, *, stream: bool, observed: list[Any]) -> Any:
    """The reply to a client of another wire, of a server of Gemini on loopback."""

    async def serve(connection: ServerConnection) -> None:
        while (request := await connection.next_request()) is not None:
            event = b"data: " + json.dumps(GEMINI).encode() + b"\n\n"
            await deliver(connection, request, document(200, event, "text/event-stream"))

    async with listening(serve) as url, gateway_to(url, protocol="gemini", models=(MODEL,)) as gateway:
        application = app(gateway)
        application.on_did_finish_answer(observed.append)
        body = {"model": "model-1", "messages": [{"role": "user", "content": "Hi"}], "stream": stream}
        return await ask(application, path, body)


@pytest.mark.parametrize("stream", [False, True], ids=["document", "stream"])
@pytest.mark.parametrize(("path", "more"), LOST.items(), ids=LOST)
def test_fields_of_an_answer_that_no_part_or_no_wire_holds_are_named_without_values(path, more, stream, caplog):
    observed: list[Any] = []
    reply = asyncio.run(_asked_of_gemini(path, stream=stream, observed=observed))
    names = f"candidates[].avgLogprobs, candidates[].tone{more}"
    assert reply.headers.get(UNSAID_HEADER) == (None if stream else names)
    assert DROPPED_HEADER not in reply.headers
    assert [one.unsaid for one in observed] == [tuple(names.split(", "))]
    (line,) = _logged(caplog)
    assert line.startswith(f"fields of an answer do not reach the client: {names} (request ")
    assert "planted-secret" not in caplog.text


def test_answers_are_counted_by_the_field_at_the_top():
    metrics = ServingMetrics(lambda: 0)
    metrics.observe(an_answer(unsaid=("candidates[].tone", "candidates[].avgLogprobs", "usage.cached_tokens")))
    metrics.observe(an_answer(dropped=("tools[].mcp",)))
    assert _counted(metrics, "partstream_unsaid_fields_total") == {
        ("openresponses", "candidates"): 1,
        ("openresponses", "usage"): 1,
    }


def test_over_the_real_server_the_header_comes_before_the_first_event():
    async def answer(progress, token):
        del token
        report_dropped(["seed"])
        progress.report(TextPart("hello"))

    body = {"model": "m", "stream": True, "input": "Hi", "tools": [{"type": "x" * 300}]}
    with hosted(Driven(answer)) as server:
        head = server.exchange(posted(b"/v1/responses", json.dumps(body).encode())).partition(b"\r\n\r\n")[0]
    assert b"x-partstream-dropped: tools[].xxx" in head
    assert head.endswith(b", seed") or b", seed\r\n" in head
