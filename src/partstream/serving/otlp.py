"""Sends spans to a collector by OTLP over HTTP.

Needs the extra `telemetry`. The packages read the standard variables themselves: `OTEL_SERVICE_NAME`,
`OTEL_EXPORTER_OTLP_HEADERS`, `OTEL_RESOURCE_ATTRIBUTES`, `OTEL_TRACES_SAMPLER` and others. Spans are sent by a thread
of the packages, in batches from a bounded queue, so a collector that is away costs spans and no answer.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from partstream.errors import CallerError, to_install

if TYPE_CHECKING:
    from collections.abc import Mapping

    from opentelemetry.sdk.trace import TracerProvider

    from partstream.server.settings import StartTrace

__all__ = ["Tracing", "start_tracing"]

_ENDPOINTS: Final = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
_PATH: Final = "/v1/traces"
_SERVICE: Final = "partstream"


class Tracing:
    """The spans of a server, until it ends.

    Args:
        start_trace: Starts the trace of each request.
        exported: What sends the spans, if that was opened here.
    """

    def __init__(self, start_trace: StartTrace, exported: TracerProvider | None = None) -> None:
        self.start_trace = start_trace
        self._exported = exported

    def close(self) -> None:
        """Sends the spans that are left; blocks for as long as the exporter's own time limit."""
        if self._exported is not None:
            self._exported.shutdown()


def start_tracing(
    url: str | None = None, environment: Mapping[str, str] = os.environ, *, is_of_program: bool = False
) -> Tracing | None:
    """The spans that somebody wants: at a URL, by the standard variables, or where the program has set a provider.

    Args:
        url: The address of the collector, such as `http://127.0.0.1:4318`, or None.
        environment: The standard variables: one of the two for the endpoint turns spans on, `OTEL_SDK_DISABLED=true`
            and `OTEL_TRACES_EXPORTER=none` turn them off.
        is_of_program: Whether the spans of the program's own code go there too, unless it has set a place for them.

    Returns:
        None if nobody wants spans; no package of OpenTelemetry is imported then.

    Raises:
        CallerError: The URL is none, or the extra `telemetry` is missing.
    """
    if url is not None:
        return _exporting(_endpoint_of(url), is_of_program=is_of_program)
    is_off = environment.get("OTEL_SDK_DISABLED", "").lower() == "true"
    is_off = is_off or environment.get("OTEL_TRACES_EXPORTER", "").lower() == "none"
    if not is_off and any(environment.get(name) for name in _ENDPOINTS):
        return _exporting(None, is_of_program=is_of_program)
    if "opentelemetry.trace" in sys.modules:
        from partstream.serving.tracing import is_configured, trace_starter  # noqa: PLC0415 - an extra

        return Tracing(trace_starter()) if is_configured() else None
    return None


def _endpoint_of(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise CallerError(f"otlp: got {url!r}, expected the address of a collector, such as http://127.0.0.1:4318")
    return url if parts.path.endswith(_PATH) else url.rstrip("/") + _PATH


def _exporting(endpoint: str | None, *, is_of_program: bool) -> Tracing:
    """Sends spans to an endpoint, or to the one of the standard variables."""
    try:
        from opentelemetry import trace  # noqa: PLC0415 - an extra
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415
        from opentelemetry.sdk.resources import SERVICE_NAME, Resource  # noqa: PLC0415
        from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415
        from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415

        from partstream.serving.tracing import is_configured, trace_starter  # noqa: PLC0415
    except ImportError as error:
        message = f"spans need a package that is missing ({error.name}): {to_install('telemetry')}"
        raise CallerError(message) from error
    named = Resource.create() if os.environ.get("OTEL_SERVICE_NAME") else Resource.create({SERVICE_NAME: _SERVICE})
    provider = TracerProvider(resource=named)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint)))
    if is_of_program and not is_configured():
        trace.set_tracer_provider(provider)
    return Tracing(trace_starter(provider), provider)
