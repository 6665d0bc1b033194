"""The metrics of a server: the names of the conventions, and one observation an answer."""

import math
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from partstream.lm.outputs import Outcome
from partstream.lm.parts import Usage
from partstream.server.clients import AnswerKind, ClientClass, RequestClient
from partstream.server.telemetry import ServingMetrics

from .observations import CODEX, an_answer

_OF_ANSWER = {"gen_ai_operation_name": "chat", "gen_ai_provider_name": "birds", "gen_ai_request_model": "parrot"}


def _samples(metrics: ServingMetrics) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    """Every number of the page as Prometheus reads it."""
    _, page = metrics.page()
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(page.decode())
        for sample in family.samples
    }


def _value(metrics: ServingMetrics, name: str, **labels: str) -> float | None:
    return _samples(metrics).get((name, frozenset(labels.items())))


def _metrics(*answers: Any, open_answers: int = 0) -> ServingMetrics:
    metrics = ServingMetrics(lambda: open_answers)
    for answer in answers:
        metrics.observe(answer)
    return metrics


@pytest.mark.parametrize("number", [1, 499, 500, 501])
def test_answers_before_the_first_one_who_asks_are_counted(number):
    metrics = _metrics(*[an_answer()] * number)
    assert _counts(metrics, "partstream_answers_total") == number
    metrics.observe(an_answer())
    assert _counts(metrics, "partstream_answers_total") == number + 1


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("gen_ai_server_request_duration_seconds", 2.5),
        ("gen_ai_server_time_to_first_token_seconds", 0.5),
        ("gen_ai_server_time_per_output_token_seconds", 0.02),
    ],
)
@pytest.mark.parametrize("events", [1, 20_000])
def test_a_time_is_observed_once_an_answer_however_many_events_it_had(name: str, value: float, events: int) -> None:
    metrics = _metrics(an_answer(events=events))
    assert _value(metrics, f"{name}_count", **_OF_ANSWER, error_type="") == 1
    assert _value(metrics, f"{name}_sum", **_OF_ANSWER, error_type="") == pytest.approx(value)


@pytest.mark.parametrize(("kind", "tokens"), [("input", 1_200), ("output", 101)])
def test_tokens_are_observed_by_type(kind: str, tokens: int) -> None:
    metrics = _metrics(an_answer())
    assert _value(metrics, "gen_ai_client_token_usage_count", **_OF_ANSWER, gen_ai_token_type=kind) == 1
    assert _value(metrics, "gen_ai_client_token_usage_sum", **_OF_ANSWER, gen_ai_token_type=kind) == tokens


@pytest.mark.parametrize(
    ("name", "bounds"),
    [
        ("gen_ai_server_request_duration_seconds", [0.01 * 2**step for step in range(14)]),
        ("gen_ai_client_token_usage", [4**step for step in range(14)]),
    ],
)
def test_the_buckets_are_those_of_the_conventions(name: str, bounds: list[float]) -> None:
    found = {
        float(dict(labels)["le"])
        for (one, labels), _ in _samples(_metrics(an_answer())).items()
        if one == f"{name}_bucket"
    }
    assert sorted(found) == [*map(pytest.approx, bounds), math.inf]


def _counts(metrics: ServingMetrics, name: str) -> float:
    return sum(value for (one, _), value in _samples(metrics).items() if one == name)


@pytest.mark.parametrize(
    ("changes", "first", "each"),
    [
        pytest.param({"outcome": Outcome.FAILED, "error": "UpstreamError"}, 0, 0, id="an answer that failed"),
        pytest.param({"first_part_after": None}, 0, 0, id="no part"),
        pytest.param({"usage": None}, 1, 0, id="unknown tokens"),
        pytest.param({"usage": Usage(3, 1)}, 1, 0, id="one token"),
        pytest.param({"is_usage_counted": True}, 1, 0, id="tokens that were counted here"),
    ],
)
def test_a_time_that_an_answer_does_not_have_is_not_observed(changes: dict[str, Any], first: int, each: int) -> None:
    metrics = _metrics(an_answer(**changes))
    assert _counts(metrics, "gen_ai_server_request_duration_seconds_count") == 1
    assert _counts(metrics, "gen_ai_server_time_to_first_token_seconds_count") == first
    assert _counts(metrics, "gen_ai_server_time_per_output_token_seconds_count") == each


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"outcome": Outcome.FAILED, "error": "RateLimitedError"}, "RateLimitedError"),
        ({"outcome": None, "is_cancelled": True}, "cancelled"),
        ({"outcome": None, "status": 429}, "429"),
    ],
)
def test_an_answer_that_did_not_end_well_names_its_error(changes: dict[str, Any], error: str) -> None:
    metrics = _metrics(an_answer(**changes))
    assert _value(metrics, "gen_ai_server_request_duration_seconds_count", **_OF_ANSWER, error_type=error) == 1


@pytest.mark.parametrize(
    ("changes", "labels"),
    [
        ({}, {"client": "codex", "kind": "turn", "outcome": "completed"}),
        ({"outcome": None, "status": 401}, {"client": "codex", "kind": "turn", "outcome": "refused"}),
        ({"outcome": None, "is_cancelled": True}, {"client": "codex", "kind": "turn", "outcome": "cancelled"}),
        ({"client": RequestClient("made-up/1")}, {"client": "other", "kind": "turn", "outcome": "completed"}),
        (
            {"client": RequestClient("opencode", "1", ClientClass.AGENT, kind=AnswerKind.TITLE)},
            {"client": "opencode", "kind": "title", "outcome": "completed"},
        ),
    ],
)
def test_answers_are_counted_by_client_kind_and_outcome(changes: dict[str, Any], labels: dict[str, str]) -> None:
    metrics = _metrics(an_answer(**changes))
    assert _value(metrics, "partstream_answers_total", wire="openresponses", **labels) == 1


def test_names_that_clients_make_up_make_no_series() -> None:
    made_up = [
        an_answer(
            provider="", model=f"made-up-{number}", status=404, outcome=None, client=RequestClient(f"tool-{number}")
        )
        for number in range(50)
    ]
    assert "made-up" not in (page := _metrics(*made_up).page()[1].decode())
    assert "tool-" not in page
    assert 'gen_ai_request_model="unknown"' in page


def test_a_request_that_was_sent_before_is_counted_as_such() -> None:
    again = an_answer(client=RequestClient(CODEX.name, "1", CODEX.of_class, retry=2))
    assert _value(_metrics(an_answer(), again), "partstream_repeated_requests_total", client="codex") == 1


def test_open_answers_are_read_when_the_page_is() -> None:
    assert _value(_metrics(open_answers=7), "partstream_open_answers") == 7


def test_two_servers_of_a_process_count_apart() -> None:
    one, other = _metrics(an_answer()), _metrics()
    assert _counts(one, "partstream_answers_total") == 1
    assert _counts(other, "partstream_answers_total") == 0


@pytest.mark.parametrize(
    ("accept", "content_type"),
    [
        ("", "text/plain; version=0.0.4"),
        ("application/openmetrics-text;version=1.0.0,text/plain;q=0.5", "application/openmetrics-text; version=1.0.0"),
    ],
)
def test_the_page_has_the_form_that_was_asked_for(accept: str, content_type: str) -> None:
    assert _metrics(an_answer()).page(accept)[0].startswith(content_type)


def test_names_that_one_caller_invents_leave_room_for_those_of_others() -> None:
    invented = [an_answer(caller="zoe", dropped=(f"invented_{number}",)) for number in range(500)]
    metrics = _metrics(*invented, an_answer(caller="ana", dropped=("tools[].mcp",)))
    fields = {dict(labels)["field"] for name, labels in _samples(metrics) if name == "partstream_dropped_fields_total"}
    assert (len(fields), "tools" in fields, "other" in fields) == (66, True, True)
