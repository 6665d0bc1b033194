"""Spans of OpenTelemetry for each response: one for the request, and below it one for the provider's call.

The request is an ordinary span of an HTTP server, whose parent is what the header `traceparent` names. The span of the
call has the conventions' names for generative AI and is current while the provider answers, so that spans of the
provider's own are below it. No span holds a word of a prompt or a response.
Source: docs/wires/serving.md#metrics-and-traces.

Spans need the extra `telemetry`; none of its packages is imported before spans are wanted. These packages read the
standard variables themselves, and send spans by OTLP over HTTP in batches from a bounded queue, in a thread of their
own, so a collector that is away costs spans and no response.
"""

from __future__ import annotations
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias
from urllib.parse import urlsplit

from partstream._version import __version__
from partstream.codec.checks import storable_text
from partstream.codec.system import LazyModule
from partstream.errors import CallerError, to_install
from partstream.lm.parts import Usage
from partstream.server import telemetry

if TYPE_CHECKING:
    from opentelemetry import context, propagate, trace

    from partstream.server.settings import AnswerObservation
else:
    context, propagate, trace = (LazyModule(f"opentelemetry.{name}") for name in ("context", "propagate", "trace"))

_TRACER: Final = "partstream.serving"
_STATE: Final = re.compile(r"(?:(?:^|, ?)[a-z0-9][a-z0-9_*/@-]{0,255}=[!-+.-<>-~-]{1,256})+")
"""A `tracestate` that OpenTelemetry can read."""


def is_configured() -> bool:
    """Whether the program has set the place of its spans (`trace.set_tracer_provider`)."""
    return not isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider | trace.NoOpTracerProvider)


StartTrace: TypeAlias = "Callable[[str, str, Mapping[str, str]], AnswerSpans]"
"""Starts the trace of a request, of which it gets the method, the route as a pattern (`/v1/responses`) and the headers,
with their names in lower case."""


def trace_starter(provider: trace.TracerProvider | None = None) -> StartTrace:
    """Makes the function that starts the trace of each request; by default for the provider of the program."""
    return partial(AnswerSpans, trace.get_tracer(_TRACER, __version__, provider))


class AnswerSpans:
    """The spans of one request."""

    def __init__(self, tracer: trace.Tracer, method: str, route: str, headers: Mapping[str, str]) -> None:
        self._tracer = tracer
        # Callers without a key say these too. OpenTelemetry logs what it cannot read of them, and takes the square of
        # the length for a row of blanks.
        told = {
            name: value
            for name, value in headers.items()
            if name != "baggage" and (name != "tracestate" or _STATE.fullmatch(value))
        }
        parent = propagate.extract(told)
        attributes = {"http.request.method": method, "http.route": route}
        self._request = tracer.start_span(f"{method} {route}", parent, trace.SpanKind.SERVER, attributes)
        self._context = trace.set_span_in_context(self._request, parent)
        self._call: trace.Span | None = None

    @contextmanager
    def calling(self, provider: str, model: str) -> Iterator[None]:
        """The time in which the provider is asked; entered and left in the task that asks it."""
        attributes = {
            telemetry.OPERATION_NAME: telemetry.OPERATION,
            telemetry.PROVIDER_NAME: storable_text(provider) or telemetry.OURSELVES,
            telemetry.MODEL_NAME: storable_text(model),
        }
        name = f"{telemetry.OPERATION} {storable_text(model)}"
        self._call = self._tracer.start_span(name, self._context, trace.SpanKind.CLIENT, attributes)
        token = context.attach(trace.set_span_in_context(self._call, self._context))
        try:
            yield
        finally:
            context.detach(token)

    def finish(self, answer: AnswerObservation) -> None:
        """Ends the spans with what is known of the answer; called once."""
        error, usage, client = telemetry.error_of(answer), answer.usage or Usage(), answer.client
        facts_of_call: dict[str, object] = {
            "gen_ai.response.id": answer.response_id,
            "gen_ai.response.finish_reasons": None if answer.reason is None else (answer.reason.unified.value,),
            "gen_ai.usage.input_tokens": usage.input_tokens,
            "gen_ai.usage.output_tokens": usage.output_tokens,
            "gen_ai.usage.cache_read.input_tokens": usage.cached_tokens,
            "gen_ai.usage.reasoning.output_tokens": usage.reasoning_tokens,
            "partstream.usage_is_counted": answer.is_usage_counted or None,
            "gen_ai.conversation.id": client.session,
            "partstream.cancelled_by_client": answer.is_cancelled or None,
            telemetry.ERROR_NAME: error,
        }
        facts_of_request: dict[str, object] = {
            "http.response.status_code": answer.status,
            "partstream.wire": answer.wire,
            "partstream.request_id": answer.request_id,
            "user_agent.name": client.name,
            "user_agent.version": client.version,
            "partstream.caller": answer.caller,
            "gen_ai.conversation.id": client.session,
            "partstream.turn": client.turn,
            "partstream.answer_kind": client.kind.value,
            "http.request.resend_count": client.retry or None,
            "partstream.events": answer.events,
            telemetry.ERROR_NAME: error,
        }
        # The conventions: a mistake of the client is no error of the server.
        ends = [(self._request, facts_of_request, answer.status >= 500)]
        if self._call is not None:
            ends.insert(0, (self._call, facts_of_call, bool(error) and not answer.is_cancelled))
        for span, facts, is_error in ends:
            for name, value in facts.items():
                if value is not None and value != "":  # what is not known is left out, as the conventions ask
                    fact = storable_text(value) if isinstance(value, str) else value
                    span.set_attribute(name, fact)  # type: ignore[arg-type]
            if is_error:
                span.set_status(trace.Status(trace.StatusCode.ERROR))
            span.end()


# ---- The collector ----

_ENDPOINTS: Final = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
_PATH: Final = "/v1/traces"
_SERVICE: Final = "partstream"


class Tracing(NamedTuple):
    """The spans of a server, until it ends: `close` sends those that are left, and blocks for as long as the exporter's
    own time limit."""

    start_trace: StartTrace
    close: Callable[[], object] = lambda: None


def start_tracing(url: str | None = None, environment: Mapping[str, str] = os.environ) -> Tracing | None:
    """The spans that are wanted, or None: at the URL of a collector, by the standard variables, or where the program
    has set a provider. No package of OpenTelemetry is imported before that is clear. The spans of the program's own
    code go to the collector too, unless it has set their place.

    Args:
        environment: The standard variables: one of the two for the endpoint turns spans on, `OTEL_SDK_DISABLED=true`
            and `OTEL_TRACES_EXPORTER=none` turn them off.

    Raises:
        CallerError: The URL is none, or the extra `telemetry` is missing.
    """
    endpoint = None  # that of the standard variables
    is_off = environment.get("OTEL_SDK_DISABLED", "").lower() == "true"
    is_off = is_off or environment.get("OTEL_TRACES_EXPORTER", "").lower() == "none"
    if url is not None:
        parts = urlsplit(url)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise CallerError(f"otlp: got {url!r}, expected the address of a collector, such as http://127.0.0.1:4318")
        endpoint = url if parts.path.endswith(_PATH) else url.rstrip("/") + _PATH
    elif is_off or not any(environment.get(name) for name in _ENDPOINTS):
        return Tracing(trace_starter()) if "opentelemetry.trace" in sys.modules and is_configured() else None
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415
        from opentelemetry.sdk.resources import SERVICE_NAME, Resource  # noqa: PLC0415
        from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415
        from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415

    except ImportError as error:
        message = f"spans need a package that is missing ({error.name}): {to_install('telemetry')}"
        raise CallerError(message) from error
    named = Resource.create() if os.environ.get("OTEL_SERVICE_NAME") else Resource.create({SERVICE_NAME: _SERVICE})
    provider = TracerProvider(resource=named)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint)))
    if not is_configured():
        trace.set_tracer_provider(provider)
    return Tracing(trace_starter(provider), provider.shutdown)
