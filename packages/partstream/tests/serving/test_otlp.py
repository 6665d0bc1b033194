"""Spans that go to a collector, and the packages that are not loaded without them."""

import subprocess
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from partstream.errors import CallerError, to_install
from partstream.server.tracing import start_tracing

from .observations import an_answer


class _Collector(BaseHTTPRequestHandler):
    received: list[tuple[str, bytes]]

    def do_POST(self) -> None:
        self.received.append((self.path, self.rfile.read(int(self.headers["content-length"]))))
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


def test_spans_reach_a_collector_at_the_latest_when_the_server_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OTEL_SERVICE_NAME", raising=False)
    monkeypatch.setattr("opentelemetry.trace.set_tracer_provider", lambda _provider: None)  # of all other tests too
    received: list[tuple[str, bytes]] = []
    handler = type("Collector", (_Collector,), {"received": received})
    with HTTPServer(("127.0.0.1", 0), handler) as server:
        serving = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        serving.start()
        try:
            tracing = start_tracing(f"http://127.0.0.1:{server.server_port}")
            assert tracing is not None
            trace = tracing.start_trace("POST", "/v1/messages", {})
            with trace.calling("birds", "parrot"):
                pass
            trace.finish(an_answer())
            tracing.close()
        finally:
            server.shutdown()
            serving.join()
    [(path, body)] = received
    [spans] = ExportTraceServiceRequest.FromString(body).resource_spans
    assert path == "/v1/traces"
    assert {span.name for one in spans.scope_spans for span in one.spans} == {"POST /v1/messages", "chat parrot"}
    assert ("service.name", "partstream") in {(one.key, one.value.string_value) for one in spans.resource.attributes}


@pytest.mark.parametrize("url", ["", "localhost:4318", "ftp://127.0.0.1", "http://"])
def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(CallerError, match="expected the address of a collector"):
        start_tracing(url)


_WANTED = """
import sys
from partstream.server.tracing import start_tracing
for environment in {environments}:
    tracing = start_tracing(None, environment)
    print(tracing is not None, any(name.startswith("opentelemetry") for name in sys.modules))
"""
NOWHERE = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"}


@pytest.mark.parametrize(
    ("environments", "said"),
    [
        ([{}, {"OTEL_SDK_DISABLED": "true", **NOWHERE}, {"OTEL_TRACES_EXPORTER": "none", **NOWHERE}], "False False"),
        ([NOWHERE], "True True"),
    ],
)
def test_the_standard_variables_turn_spans_on_and_nothing_is_loaded_without_them(
    environments: list[dict[str, str]], said: str
) -> None:
    code = _WANTED.format(environments=environments)
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30, check=True)
    assert run.stdout.splitlines() == [said] * len(environments)


def test_a_missing_extra_is_named() -> None:
    code = (
        "import sys; sys.modules['opentelemetry'] = None\n"
        "from partstream.server.tracing import start_tracing\n"
        "start_tracing('http://127.0.0.1:4318')"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30, check=False)
    assert to_install("telemetry") in run.stderr
