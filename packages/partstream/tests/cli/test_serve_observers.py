"""Who hears of the answers of `partstream serve`: each answer once, and never a word of it."""

import asyncio
import json
from pathlib import Path

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from prometheus_client.parser import text_string_to_metric_families

from commands import call
from partstream import chat_model
from partstream.cli.serve_plan import _MOST_TOGETHER, AnswerLines, MetricsAccess, Observers
from partstream.server.application import ServingApp, app
from partstream.server.settings import ServingSettings
from partstream.server.tracing import Tracing, trace_starter
from partstream.tokens.ledger import open_ledger
from partstream.upstream.endpoint import Secret
from partstream.upstream.provider import GatewayProvider
from partstream_devtools.testing.upstream import ReplayUpstream
from serving.asgi import Call, ask
from upstreams.upstreams import configuration

KEY = "key-of-this-server-0123456789"
PROMPT = "a prompt that no other person may read"
EVENTS = 2_000
CODEX = {
    "user-agent": "codex_exec/0.169.0 (linux; x64)",
    "session-id": "0199-session",
    "x-codex-turn-metadata": json.dumps({"turn_id": "turn-7", "workspace": "/home/ada/secret-project"}),
}


@chat_model(id="parrot")
async def parrot(messages, options):
    del messages, options
    with trace.get_tracer("own", tracer_provider=SPANS).start_as_current_span("own"):
        for number in range(EVENTS):
            yield f"{number} "


MEMORY = InMemorySpanExporter()
SPANS = TracerProvider()
SPANS.add_span_processor(SimpleSpanProcessor(MEMORY))


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("PARTSTREAM_DATA", str(tmp_path))
    MEMORY.clear()
    return tmp_path


def _observers(log="json", metrics=MetricsAccess.TOKEN, tracing=None) -> Observers:
    return Observers(log, metrics, tracing, as_json=True)


async def _asked(application: ServingApp, key: str = KEY, model: str = "parrot", **headers: str) -> Call:
    body = {"model": model, "stream": True, "messages": [{"role": "user", "content": PROMPT}]}
    return await ask(
        application, "/v1/chat/completions", body, headers={"authorization": f"Bearer {key}", **CODEX, **headers}
    )


def _served(observers: Observers, *keys: str, **headers: str) -> ServingApp:
    """The application after a request with each key."""
    application = app({"birds": parrot}, ServingSettings(token=Secret(KEY)))

    async def run() -> None:
        with observers.of(application):
            for key in keys:
                await _asked(application, key, **headers)

    asyncio.run(run())
    return application


def _page(application: ServingApp, key: str | None = KEY) -> Call:
    headers = {} if key is None else {"authorization": f"Bearer {key}"}
    return asyncio.run(ask(application, "/metrics", headers=headers))


def test_a_stream_of_thousands_of_events_is_one_observation():
    page = _page(_served(_observers(), KEY))
    counts = {
        sample.name: sample.value
        for family in text_string_to_metric_families(page.body.decode())
        for sample in family.samples
        if sample.name.endswith("_count")
    }
    assert page.headers["content-type"].startswith("text/plain")
    assert counts["gen_ai_server_request_duration_seconds_count"] == 1
    assert counts["gen_ai_server_time_to_first_token_seconds_count"] == 1


@pytest.mark.parametrize(
    ("access", "key", "status"),
    [
        (MetricsAccess.TOKEN, None, 401),
        (MetricsAccess.TOKEN, "wrong", 401),
        (MetricsAccess.TOKEN, KEY, 200),
        (MetricsAccess.OPEN, None, 200),
        (MetricsAccess.OFF, KEY, 404),
    ],
)
def test_the_metrics_are_read_with_the_key_unless_a_setting_opens_them(access, key, status):
    assert _page(_served(_observers(metrics=access)), key).status == status


def test_every_answer_is_a_line_without_a_word_of_it(capsys):
    _served(_observers(), KEY, "wrong", **{"user-agent": "claude-cli/2.1.330 \x1b[2J"})
    lines = capsys.readouterr().out.splitlines()
    well, refused = map(json.loads, lines)
    assert (well["type"], well["status"], well["ended"], well["client"]) == ("answer", 200, "stop", "claude-code")
    assert (refused["status"], refused["ended"], refused["error"]) == (401, "refused", "unauthenticated")
    said = "\n".join(lines)
    for secret in (PROMPT, KEY, "wrong", "secret-project", "\x1b"):
        assert secret not in said


def test_the_log_can_be_off(capsys):
    _served(_observers(log="off"), KEY)
    assert capsys.readouterr().out == ""


def test_session_turn_and_client_are_in_the_ledger_and_the_workspace_is_not(folder: Path):
    _served(_observers(log="off"), KEY)

    async def usage() -> list[dict[str, object]]:
        ended = await call("usage", "--by", "session", "--json", PARTSTREAM_DATA=str(folder))
        return json.loads(ended.output)

    (row,) = asyncio.run(usage())
    assert (row["client"], row["session"], row["model"], row["answers"]) == ("codex", "0199-session", "parrot", 1)
    kept = b"".join(file.read_bytes() for file in folder.iterdir())
    assert b"turn-7" in kept
    for secret in (b"secret-project", PROMPT.encode(), KEY.encode()):
        assert secret not in kept


def test_the_spans_of_an_answer_belong_to_the_clients_trace_and_hold_those_of_the_provider():
    trace_id, parent = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
    observers = _observers(log="off", tracing=Tracing(trace_starter(SPANS)))
    _served(observers, KEY, traceparent=f"00-{trace_id}-{parent}-01")
    spans = {span.name: span for span in MEMORY.get_finished_spans()}
    request, call_of_model, own = (spans[name] for name in ("POST /v1/chat/completions", "chat parrot", "own"))
    assert f"{request.parent.span_id:016x}" == parent
    assert call_of_model.parent.span_id == request.context.span_id
    assert own.parent.span_id == call_of_model.context.span_id
    assert {f"{span.context.trace_id:032x}" for span in spans.values()} == {trace_id}
    assert call_of_model.attributes["gen_ai.provider.name"] == "birds"
    assert not any(PROMPT in str(span.attributes) for span in spans.values())


def test_a_refused_request_is_a_span_without_a_call():
    _served(_observers(log="off", tracing=Tracing(trace_starter(SPANS))), "wrong")
    (span,) = MEMORY.get_finished_spans()
    assert span.attributes["http.response.status_code"] == 401
    assert span.attributes["error.type"] == "unauthenticated"


def test_tokens_that_an_upstream_has_entered_are_not_added_up_twice(folder: Path):
    async def run() -> list[dict[str, object]]:
        ledger = open_ledger(folder)
        async with ReplayUpstream() as upstream:
            provider = GatewayProvider(configuration(upstream.base_url), ledger=ledger)
            application = app(provider)
            with _observers(log="off").of(application):
                await _asked(application, model="text")
            await provider.aclose()
        ledger.close()
        shown = [await call("usage", *more, "--json", PARTSTREAM_DATA=str(folder)) for more in ([], ["--by", "client"])]
        return [json.loads(one.output) for one in shown]

    by_model, by_client = asyncio.run(run())
    assert [row["answers"] for row in by_model] == [1]
    assert [(row["client"], row["answers"], row["inputTokens"]) for row in by_client] == [
        ("codex", 1, by_model[0]["inputTokens"])
    ]


def test_an_upstream_may_go_on_with_the_trace_and_hears_no_baggage():
    async def run() -> dict[str, str]:
        async with ReplayUpstream() as upstream:
            provider = GatewayProvider(configuration(upstream.base_url))
            application = app(provider)
            with _observers(log="off", tracing=Tracing(trace_starter(SPANS))).of(application):
                await _asked(application, model="text", baggage="person=ada")
            await provider.aclose()
            return dict(upstream.exchanges[-1].request.headers)

    headers = asyncio.run(run())
    (call_of_model,) = [span for span in MEMORY.get_finished_spans() if span.name == "chat text"]
    traced = call_of_model.context
    assert headers["traceparent"].startswith(f"00-{traced.trace_id:032x}-{traced.span_id:016x}-")
    assert "baggage" not in headers


def test_the_lines_of_a_moment_are_printed_at_once_in_order_and_none_is_lost(capsys):
    async def serve() -> None:
        lines = AnswerLines(str)
        for number in range(_MOST_TOGETHER + 2):
            lines.observe(number)
        assert capsys.readouterr().out.splitlines() == [str(number) for number in range(_MOST_TOGETHER)]
        lines.flush()
        lines.flush()

    asyncio.run(serve())
    assert capsys.readouterr().out.splitlines() == [str(_MOST_TOGETHER), str(_MOST_TOGETHER + 1)]
