"""Each wire says a failure in its own words, with the status and the headers that its clients act on."""

from __future__ import annotations
from typing import Any

import pytest

from partstream.errors import (
    CallerError,
    ContextLengthExceededError,
    InvalidRequestError,
    LanguageModelError,
    RequestNotExpressibleError,
    TimeoutPhase,
    TruncatedStreamError,
    UnknownModelError,
    UnsupportedParameterError,
    UpstreamConnectionError,
    UpstreamFailureError,
    UpstreamHTTPError,
    UpstreamTimeoutError,
)
from partstream.lm.messages import ChatMessage, RequestOptions
from partstream.lm.outputs import Finish, InboundRequest, Outcome, Reply
from partstream.protocols.failures import FailureKind, RefusedRequestError, ServedFailure, failure_of
from partstream.protocols.protocol import PROTOCOLS
from partstream.protocols.serve import ResponseWriter
from rows import one_test_for

SERVED = [name for name, one in PROTOCOLS.items() if one.read_request is not None and one.write_response is not None]


def _writes(name: str) -> type[ResponseWriter]:
    corner = PROTOCOLS[name].write_response
    assert corner is not None
    return corner()


@one_test_for(
    ("error", "kind"),
    [
        (InvalidRequestError("input[0]", "a number", "an object"), "invalid request"),
        (UnsupportedParameterError("n", "2", "1"), "unsupported parameter"),
        (RefusedRequestError("too many", status=413), "too large"),
        (RequestNotExpressibleError("audio", "messages[0]", "text"), "invalid request"),
        (UnknownModelError("m", ("a",)), "model not found"),
        (UnknownModelError("", ("a",)), "invalid request"),
        (ContextLengthExceededError("large", limit=8, count=9), "context length"),
        (UpstreamTimeoutError(TimeoutPhase.IDLE, 3), "timeout"),
        (UpstreamConnectionError("http://127.0.0.1:1", "refused"), "upstream"),
        (TruncatedStreamError("OPEN"), "upstream"),
        (UpstreamHTTPError(400, param="input"), "invalid request"),
        (UpstreamHTTPError(401), "forbidden"),
        (UpstreamHTTPError(402), "spent budget"),
        (UpstreamHTTPError(404), "model not found"),
        (UpstreamHTTPError(413), "too large"),
        (UpstreamHTTPError(422), "invalid request"),
        (UpstreamHTTPError(429), "rate limited"),
        (UpstreamHTTPError(429, provider_code="insufficient_quota"), "spent budget"),
        (UpstreamHTTPError(500), "upstream"),
        (UpstreamHTTPError(503), "overloaded"),
        (UpstreamHTTPError(504), "timeout"),
        (UpstreamHTTPError(529, provider_code="overloaded_error"), "overloaded"),
        (UpstreamFailureError("Busy.", provider_code="overloaded_error"), "overloaded"),
        (UpstreamFailureError("It broke.", provider_code="server_error"), "upstream"),
        (UpstreamFailureError("Wait.", provider_code="rate_limit_exceeded"), "rate limited"),
        (UpstreamFailureError("No.", provider_code="content_filter"), "invalid request"),
        (LanguageModelError.blocked("No more."), "rate limited"),
        (LanguageModelError.no_permissions("Not you."), "forbidden"),
        (LanguageModelError.not_found("Gone."), "model not found"),
        (LanguageModelError("It broke."), "internal"),
        (CallerError("a bug"), "internal"),
        (TimeoutError(), "timeout"),
        (ZeroDivisionError("division by zero"), "internal"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_an_error_is_told_by_what_it_means_for_the_client(error: BaseException, kind: str) -> None:
    assert failure_of(error).kind == kind


def test_the_text_of_an_error_that_is_none_of_ours_is_not_said() -> None:
    failure = failure_of(KeyError("sk-secret of the prompt"))
    assert "sk-secret" not in failure.message
    assert "KeyError" in failure.message


def test_the_facts_of_an_upstreams_error_go_on() -> None:
    error = UpstreamHTTPError(429, provider_message="Slow down.", provider_code="tokens", param="n", retry_after=2.5)
    assert failure_of(error) == ServedFailure(FailureKind.RATE_LIMITED, "Slow down.", "n", "tokens", 2.5)


# ---- replies ----

INVALID, UNSUPPORTED, UNAUTHENTICATED, FORBIDDEN, NOT_FOUND, METHOD, MODEL, LARGE = tuple(FailureKind)[:8]
LONG, RATE, SPENT, BUSY, TIME, UPSTREAM, BUG = tuple(FailureKind)[8:]
STATUSES = {
    "openresponses": (400, 400, 401, 403, 404, 405, 404, 413, 400, 429, 429, 503, 504, 502, 500),
    "chat-completions": (400, 400, 401, 403, 404, 405, 404, 413, 400, 429, 429, 503, 504, 502, 500),
    "anthropic-messages": (400, 400, 401, 403, 404, 405, 404, 413, 400, 429, 402, 529, 504, 500, 500),
    "gemini": (400, 400, 401, 403, 404, 405, 404, 413, 400, 429, 429, 503, 504, 500, 500),
    "gemini-interactions": (400, 400, 401, 403, 404, 405, 404, 413, 400, 429, 429, 503, 504, 500, 500),
    "ollama": (400, 400, 401, 403, 404, 405, 404, 413, 400, 429, 402, 503, 504, 502, 500),
    "ai-gateway": (400, 400, 401, 403, 404, 405, 404, 413, 400, 429, 402, 503, 504, 502, 500),
    "ag-ui": (400, 400, 401, 403, 404, 405, 404, 413, 400, 429, 429, 503, 504, 502, 500),
}


def test_every_served_wire_has_a_row_of_statuses() -> None:
    assert STATUSES.keys() == set(SERVED)


@one_test_for("name", STATUSES)
def test_each_kind_of_failure_has_the_status_of_the_wire(name: str) -> None:
    found = tuple(_writes(name).failed(ServedFailure(kind, "No.")).status for kind in FailureKind)
    assert found == STATUSES[name]


COMMON_WORDS: dict[FailureKind, tuple[str, str | None]] = {
    INVALID: ("invalid_request_error", None),
    UNSUPPORTED: ("invalid_request_error", "unsupported_parameter"),
    UNAUTHENTICATED: ("invalid_request_error", "invalid_api_key"),
    FORBIDDEN: ("permission_error", "permission_denied"),
    NOT_FOUND: ("not_found", "not_found"),
    METHOD: ("invalid_request_error", "method_not_allowed"),
    MODEL: ("not_found", "model_not_found"),
    LARGE: ("invalid_request_error", "request_too_large"),
    LONG: ("invalid_request_error", "context_length_exceeded"),
    RATE: ("too_many_requests", "rate_limit_exceeded"),
    SPENT: ("insufficient_quota", "insufficient_quota"),
    BUSY: ("server_error", "server_is_overloaded"),
    TIME: ("server_error", "timeout"),
    UPSTREAM: ("server_error", "server_error"),
    BUG: ("server_error", "server_error"),
}


@one_test_for("name", ["openresponses", "chat-completions"])
@one_test_for("kind", FailureKind)
def test_the_wires_of_openai_have_all_four_fields_and_the_codes_that_clients_act_on(
    name: str, kind: FailureKind
) -> None:
    reply = _writes(name).failed(ServedFailure(kind, "No.", param="n"))
    word, code = COMMON_WORDS[kind]
    assert reply.body == {"error": {"message": "No.", "type": word, "param": "n", "code": code}}


MESSAGES_WORDS = {
    INVALID: "invalid_request_error",
    UNSUPPORTED: "invalid_request_error",
    UNAUTHENTICATED: "authentication_error",
    FORBIDDEN: "permission_error",
    NOT_FOUND: "not_found_error",
    METHOD: "invalid_request_error",
    MODEL: "not_found_error",
    LARGE: "request_too_large",
    LONG: "invalid_request_error",
    RATE: "rate_limit_error",
    SPENT: "billing_error",
    BUSY: "overloaded_error",
    TIME: "timeout_error",
    UPSTREAM: "api_error",
    BUG: "api_error",
}


@one_test_for("kind", FailureKind)
def test_messages_have_a_type_for_each_kind(kind: FailureKind) -> None:
    body = _writes("anthropic-messages").failed(ServedFailure(kind, "No.")).body
    assert (body["type"], body["error"]["type"]) == ("error", MESSAGES_WORDS[kind])
    assert body["request_id"].startswith("req_")


@one_test_for(
    ("failure", "message"),
    [
        (ServedFailure(LONG, "It is too long."), "prompt is too long: It is too long."),
        (ServedFailure(LONG, "Long.", tokens=215, token_limit=200), "prompt is too long: 215 tokens > 200 maximum"),
        (ServedFailure(LONG, "prompt is too long: 3 tokens > 2 maximum"), "prompt is too long: 3 tokens > 2 maximum"),
        (ServedFailure(UNSUPPORTED, "not done here", param="container"), "container: not done here"),
        (ServedFailure(INVALID, "tools[0]: got nothing", param="tools[0]"), "tools[0]: got nothing"),
    ],
)
def test_messages_say_what_claude_code_looks_for_and_which_parameter_is_meant(
    failure: ServedFailure, message: str
) -> None:
    assert _writes("anthropic-messages").failed(failure).body["error"]["message"] == message


def test_gemini_says_the_details_that_its_clients_read() -> None:
    reply = _writes("gemini").failed(ServedFailure(RATE, "Wait.", retry_after=11.2))
    details = [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "12s"}]
    said = {"code": 429, "message": "Wait.", "status": "RESOURCE_EXHAUSTED", "details": details}
    assert reply.body == {"error": said}
    spent = _writes("gemini").failed(ServedFailure(SPENT, "No money.")).body["error"]
    assert (spent["status"], spent["details"][0]["violations"][0]["quotaId"][-6:]) == ("RESOURCE_EXHAUSTED", "PerDay")
    wrong = _writes("gemini").failed(ServedFailure(UNSUPPORTED, "One.", param="candidateCount")).body["error"]
    assert wrong["details"][0]["fieldViolations"] == [{"field": "candidateCount", "description": "One."}]


def test_ollama_says_one_sentence() -> None:
    assert _writes("ollama").failed(ServedFailure(MODEL, "unknown model 'm'")).body == {"error": "unknown model 'm'"}


@one_test_for("name", SERVED)
def test_headers_say_when_and_whether_to_ask_again(name: str) -> None:
    writes = _writes(name)
    assert writes.failed(ServedFailure(RATE, "Wait.", retry_after=1.2)).headers == (("retry-after", "2"),)
    for kind in (SPENT, UNAUTHENTICATED, FORBIDDEN):
        assert writes.failed(ServedFailure(kind, "It stays so.")).headers == (("x-should-retry", "false"),)
    assert writes.failed(ServedFailure(BUG, "A bug.")).headers == ()


def test_a_wire_without_words_of_its_own_says_the_status_and_the_message() -> None:
    class Plain(ResponseWriter):
        error = staticmethod(lambda status, message: {"went": [status, message]})

    reply = Plain.failed(ServedFailure(SPENT, "No money."))
    assert (reply.status, reply.body) == (429, {"went": [429, "No money."]})


# ---- inside a stream ----

LONG_ERROR = ContextLengthExceededError("large", limit=200, count=215)
WAIT_ERROR = UpstreamHTTPError(429, provider_message="Slow down.", provider_code="tokens", retry_after=11.2)
SPENT_ERROR = UpstreamHTTPError(402, provider_message="No money.", provider_code="billing")


def _last_events(name: str, error: LanguageModelError) -> list[dict[str, Any]]:
    asked = InboundRequest("small", (ChatMessage.user("Hi"),), RequestOptions())
    return _writes(name)(asked, Reply("identity", 1)).write(Finish(Outcome.FAILED, error=error))[-2:]


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (LONG_ERROR, "context_length_exceeded", LONG_ERROR.message),
        (WAIT_ERROR, "rate_limit_exceeded", "Slow down. Please try again in 12s."),
        (SPENT_ERROR, "insufficient_quota", "No money."),
        (UpstreamFailureError("Try again in 3s.", provider_code="rate_limit_exceeded", retry_after=3),
         "rate_limit_exceeded", "Try again in 3s."),
    ],
    ids=["too long", "rate limit", "spent budget", "a message that says the wait"],
)  # fmt: skip
def test_a_failed_answer_has_the_codes_that_codex_acts_on(error: LanguageModelError, code: str, message: str) -> None:
    said, failed = _last_events("openresponses", error)
    assert failed["response"]["error"] == {"code": code, "message": message}
    assert (said["type"], said["error"]["code"], said["error"]["message"]) == ("error", code, message)
    chunk = _last_events("chat-completions", error)[-1]["error"]
    assert (chunk["code"], chunk["message"]) == (code, message)


def test_messages_and_gemini_say_the_same_inside_a_stream() -> None:
    said = {name: [_last_events(name, one)[-1]["error"] for one in (LONG_ERROR, WAIT_ERROR, SPENT_ERROR)]
            for name in ("anthropic-messages", "gemini")}  # fmt: skip
    assert said["anthropic-messages"] == [
        {"type": "invalid_request_error", "message": "prompt is too long: 215 tokens > 200 maximum"},
        {"type": "rate_limit_error", "message": "Slow down."},
        {"type": "billing_error", "message": "No money."},
    ]
    assert [(one["code"], one["status"]) for one in said["gemini"]] == [
        (400, "INVALID_ARGUMENT"),
        (429, "RESOURCE_EXHAUSTED"),
        (429, "RESOURCE_EXHAUSTED"),
    ]
