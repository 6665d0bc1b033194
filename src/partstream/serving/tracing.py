"""Spans of OpenTelemetry for each answer: one for the request, and below it one for the provider's call.

Needs the package `opentelemetry-api`, of the extra `telemetry`; whoever wants no spans does not import this module. The
request is an ordinary span of an HTTP server, whose parent is what the header `traceparent` names. The span of the call
has the conventions' names for generative AI and is current while the provider answers, so that spans of the provider's
own are below it. No span holds a word of a prompt or an answer. Source: docs/wires/serving.md#metrics-and-traces.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from opentelemetry import context, propagate, trace
from opentelemetry.trace import SpanKind, Status, StatusCode

from partstream._version import __version__
from partstream.codec.checks import storable_text
from partstream.server.telemetry import OPERATION, OURSELVES, Attribute, error_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from opentelemetry.context import Context
    from opentelemetry.trace import Span, Tracer, TracerProvider

    from partstream.server.settings import AnswerObservation, AnswerTrace, StartTrace

__all__ = ["is_configured", "trace_starter"]

_TRACER: Final = "partstream.serving"


def is_configured() -> bool:
    """Whether the program has said where its spans go (`trace.set_tracer_provider`)."""
    return not isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider | trace.NoOpTracerProvider)


def trace_starter(provider: TracerProvider | None = None) -> StartTrace:
    """What starts the trace of each request.

    Args:
        provider: Where the spans go; None for the one that the program has set.
    """
    tracer = trace.get_tracer(_TRACER, __version__, provider)

    def start(method: str, route: str, headers: Mapping[str, str]) -> AnswerTrace:
        return _AnswerSpans(tracer, method, route, propagate.extract(headers))

    return start


class _AnswerSpans:
    """The spans of one request."""

    def __init__(self, tracer: Tracer, method: str, route: str, parent: Context) -> None:
        self._tracer = tracer
        attributes = {Attribute.METHOD.value: method, Attribute.ROUTE.value: route}
        self._request = tracer.start_span(f"{method} {route}", parent, SpanKind.SERVER, attributes)
        self._context = trace.set_span_in_context(self._request, parent)
        self._call: Span | None = None

    @contextmanager
    def calling(self, provider: str, model: str) -> Iterator[None]:
        attributes = {
            Attribute.OPERATION.value: OPERATION,
            Attribute.PROVIDER.value: storable_text(provider) or OURSELVES,
            Attribute.MODEL.value: storable_text(model),
        }
        name = f"{OPERATION} {storable_text(model)}"
        self._call = self._tracer.start_span(name, self._context, SpanKind.CLIENT, attributes)
        token = context.attach(trace.set_span_in_context(self._call, self._context))
        try:
            yield
        finally:
            context.detach(token)

    def finish(self, answer: AnswerObservation) -> None:
        error = error_of(answer)
        if self._call is not None:
            _set(self._call, _facts_of_call(answer, error))
            if error and not answer.is_cancelled:
                self._call.set_status(Status(StatusCode.ERROR))
            self._call.end()
        _set(self._request, _facts_of_request(answer, error))
        if answer.status >= 500:  # the conventions: what the client did wrong is no error of the server
            self._request.set_status(Status(StatusCode.ERROR))
        self._request.end()


def _facts_of_call(answer: AnswerObservation, error: str) -> dict[Attribute, object]:
    usage = answer.usage
    return {
        Attribute.RESPONSE_ID: answer.response_id,
        Attribute.FINISH_REASONS: None if answer.reason is None else (answer.reason.unified.value,),
        Attribute.INPUT_TOKENS: None if usage is None else usage.input_tokens,
        Attribute.OUTPUT_TOKENS: None if usage is None else usage.output_tokens,
        Attribute.CACHED_TOKENS: None if usage is None else usage.cached_tokens,
        Attribute.REASONING_TOKENS: None if usage is None else usage.reasoning_tokens,
        Attribute.IS_COUNTED: answer.is_usage_counted or None,
        Attribute.CONVERSATION: answer.client.session,
        Attribute.IS_CANCELLED: answer.is_cancelled or None,
        Attribute.ERROR: error,
    }


def _facts_of_request(answer: AnswerObservation, error: str) -> dict[Attribute, object]:
    client = answer.client
    return {
        Attribute.STATUS: answer.status,
        Attribute.WIRE: answer.wire,
        Attribute.REQUEST_ID: answer.request_id,
        Attribute.CLIENT: client.name,
        Attribute.CLIENT_VERSION: client.version,
        Attribute.CALLER: answer.caller,
        Attribute.CONVERSATION: client.session,
        Attribute.TURN: client.turn,
        Attribute.KIND: client.kind.value,
        Attribute.RESENT: client.retry or None,
        Attribute.EVENTS: answer.events,
        Attribute.ERROR: error,
    }


def _set(span: Span, facts: Mapping[Attribute, object]) -> None:
    """Sets what is known; what is not is left out, as the conventions ask."""
    for name, value in facts.items():
        if value is not None and value != "":
            span.set_attribute(name.value, storable_text(value) if isinstance(value, str) else value)  # type: ignore[arg-type]
