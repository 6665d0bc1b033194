"""Spans of an answer: their names, their order, and what they never hold."""

import asyncio
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.baggage import get_all
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from partstream.lm.outputs import Outcome
from partstream.server.settings import AnswerObservation
from partstream.server.tracing import trace_starter
from rows import one_test_for

from .observations import an_answer

_TRACE, _PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
_HEADERS = {"traceparent": f"00-{_TRACE}-{_PARENT}-01"}


class _Traced:
    """Traces into memory."""

    def __init__(self) -> None:
        self.exporter = InMemorySpanExporter()
        self.provider = TracerProvider()
        self.provider.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.start = trace_starter(self.provider)

    def answer(
        self, answer: AnswerObservation, headers: dict[str, str] | None = None, *, is_asked: bool = True
    ) -> dict[SpanKind, ReadableSpan]:
        """The spans of an answer, by kind."""
        begun = self.start("POST", "/v1/responses", headers or {})
        if is_asked:
            with begun.calling(answer.provider, answer.model):
                pass
        begun.finish(answer)
        return {span.kind: span for span in self.exporter.get_finished_spans()}


def _attributes(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})


def test_a_request_is_a_span_of_a_server_with_the_call_of_the_model_below_it() -> None:
    spans = _Traced().answer(an_answer(), _HEADERS)
    request, call = spans[SpanKind.SERVER], spans[SpanKind.CLIENT]
    assert (request.name, call.name) == ("POST /v1/responses", "chat parrot")
    assert call.parent is not None
    assert request.context is not None
    assert call.parent.span_id == request.context.span_id


def test_a_request_belongs_to_the_trace_that_its_header_names() -> None:
    request = _Traced().answer(an_answer(), _HEADERS)[SpanKind.SERVER]
    assert request.parent is not None
    assert request.context is not None
    assert (f"{request.parent.span_id:016x}", f"{request.context.trace_id:032x}") == (_PARENT, _TRACE)


@one_test_for("value", ["", "nonsense", "00-0-0-01", "ff-" + "0" * 32 + "-" + "0" * 16 + "-01", "\x00"])
def test_a_header_that_names_no_trace_begins_one(value: str) -> None:
    request = _Traced().answer(an_answer(), {"traceparent": value})[SpanKind.SERVER]
    assert request.parent is None


@one_test_for(
    ("name", "value"),
    [
        ("baggage", "person=ada"),
        ("baggage", f"person=ada{' ' * 200}x"),
        ("baggage", "forged line"),
        ("baggage", "\x9b2J,a b=1"),
        ("tracestate", f"a=b{' ' * 200}c"),
        ("tracestate", "forged line"),
        ("tracestate", "\x9b2J=1"),
        ("tracestate", "," * 200),
    ],
)
def test_what_a_stranger_says_beside_the_trace_is_neither_kept_nor_logged_nor_split(
    caplog: pytest.LogCaptureFixture, name: str, value: str
) -> None:
    begun = _Traced().start("POST", "/v1/responses", {**_HEADERS, name: value})
    with begun.calling("birds", "parrot"):
        span = trace.get_current_span().get_span_context()
        assert (f"{span.trace_id:032x}", dict(span.trace_state), get_all()) == (_TRACE, {}, {})
    assert caplog.messages == []


def test_the_state_of_a_trace_goes_on_with_it() -> None:
    begun = _Traced().start("POST", "/v1/responses", {**_HEADERS, "tracestate": "rojo=00f067aa0ba902b7, a@b=t61;x:1"})
    with begun.calling("birds", "parrot"):
        state = trace.get_current_span().get_span_context().trace_state
    assert dict(state) == {"rojo": "00f067aa0ba902b7", "a@b": "t61;x:1"}


def test_the_call_has_the_names_of_the_conventions() -> None:
    assert _attributes(_Traced().answer(an_answer())[SpanKind.CLIENT]) == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "birds",
        "gen_ai.request.model": "parrot",
        "gen_ai.response.id": "resp_1",
        "gen_ai.response.finish_reasons": ("stop",),
        "gen_ai.usage.input_tokens": 1_200,
        "gen_ai.usage.output_tokens": 101,
        "gen_ai.usage.cache_read.input_tokens": 800,
        "gen_ai.usage.reasoning.output_tokens": 40,
        "gen_ai.conversation.id": "session-1",
    }


def test_the_request_says_who_asked() -> None:
    assert _attributes(_Traced().answer(an_answer())[SpanKind.SERVER]) == {
        "http.request.method": "POST",
        "http.route": "/v1/responses",
        "http.response.status_code": 200,
        "user_agent.name": "codex",
        "user_agent.version": "0.169.0",
        "gen_ai.conversation.id": "session-1",
        "partstream.request_id": "req_1",
        "partstream.wire": "openresponses",
        "partstream.caller": "ada",
        "partstream.turn": "turn-1",
        "partstream.answer_kind": "turn",
        "partstream.events": 120,
    }


@pytest.mark.parametrize(
    ("changes", "error", "of_request", "of_call"),
    [
        ({"outcome": Outcome.FAILED, "error": "UpstreamError"}, "UpstreamError", StatusCode.UNSET, StatusCode.ERROR),
        ({"status": 503, "error": "UpstreamError"}, "UpstreamError", StatusCode.ERROR, StatusCode.ERROR),
        ({"outcome": None, "is_cancelled": True}, "cancelled", StatusCode.UNSET, StatusCode.UNSET),
    ],
)
def test_an_answer_that_did_not_end_well_says_why(
    changes: dict[str, Any], error: str, of_request: StatusCode, of_call: StatusCode
) -> None:
    spans = _Traced().answer(an_answer(**changes))
    request, call = spans[SpanKind.SERVER], spans[SpanKind.CLIENT]
    assert (request.status.status_code, call.status.status_code) == (of_request, of_call)
    assert _attributes(call)["error.type"] == error


def test_a_refused_request_has_no_call() -> None:
    spans = _Traced().answer(an_answer(status=401, provider="", outcome=None), is_asked=False)
    assert set(spans) == {SpanKind.SERVER}
    assert _attributes(spans[SpanKind.SERVER])["error.type"] == "401"


def test_spans_of_the_provider_stand_below_its_call_also_when_answers_run_side_by_side() -> None:
    traced = _Traced()
    own = traced.provider.get_tracer("own")

    async def provide(model: str) -> None:
        begun = traced.start("POST", "/v1/responses", {})
        with begun.calling("birds", model):
            await asyncio.sleep(0)
            with own.start_as_current_span(f"own of {model}"):
                await asyncio.sleep(0)
        begun.finish(an_answer(model=model))

    async def both() -> None:
        await asyncio.gather(provide("one"), provide("two"))
        assert not trace.get_current_span().get_span_context().is_valid

    asyncio.run(both())
    spans = {span.name: span for span in traced.exporter.get_finished_spans()}
    for model in ("one", "two"):
        below, call = spans[f"own of {model}"], spans[f"chat {model}"]
        assert below.parent is not None
        assert call.context is not None
        assert below.parent.span_id == call.context.span_id
