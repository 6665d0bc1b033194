"""The log names facts of a failed request beside its message."""

from partstream.errors import (
    ContextLengthExceededError,
    UpstreamConnectionError,
    UpstreamError,
    UpstreamFailureError,
    UpstreamHTTPError,
    with_facts,
)
from rows import one_test_for


def caused(error: Exception, by: Exception) -> Exception:
    error.__cause__ = by
    return error


BODY = '{"error":{"message":"slow down"}}'
REFUSED = UpstreamHTTPError(
    429,
    provider_message="slow down",
    provider_code="rate_limit_exceeded",
    retry_after=20.0,
    body=BODY,
    request_id="req_1",
    generation_id="gen_1",
)
SAID = {
    "a refusal": (
        REFUSED,
        f"said (HTTP 429, code rate_limit_exceeded, retry after 20 s, request req_1, generation gen_1)\nbody: {BODY}",
    ),
    "a field that is blamed": (UpstreamHTTPError(400, param="input[2]"), "said (HTTP 400, field input[2])"),
    "a failure in a stream": (UpstreamFailureError("no", provider_code="overloaded"), "said (code overloaded)"),
    "a connection": (UpstreamConnectionError("http://h", "refused"), "said"),
    "a cause with more facts": (
        caused(ContextLengthExceededError("M", limit=5), UpstreamHTTPError(400, body="too long", request_id="req_2")),
        "said (HTTP 400, request req_2)\ncaused by the server answered HTTP 400: it gave no reason\nbody: too long",
    ),
    "causes without facts": (
        caused(ValueError("x"), caused(OSError("y"), KeyError("z"))),
        "said\ncaused by y\ncaused by 'z'",
    ),
    "a cause that the message quotes": (caused(ValueError("x"), OSError("said")), "said"),
    "another error": (RuntimeError("x"), "said"),
    "a long body": (UpstreamHTTPError(500, body="x" * 5000), f"said (HTTP 500)\nbody: {'x' * 1000}"),
    "an empty code": (UpstreamError("x", provider_code=""), "said"),
}


@one_test_for(("error", "expected"), SAID.values(), ids=SAID)
def test_the_facts_stand_behind_the_message(error: Exception, expected: str):
    assert with_facts("said", error) == expected


def test_a_fact_that_the_message_says_is_not_repeated():
    said = "the server answered HTTP 429: slow down"
    assert with_facts(said, UpstreamHTTPError(429, request_id="req_1")) == f"{said} (request req_1)"


def test_fields_of_other_types_are_left_out():
    error = UpstreamError("x", http_status=True, provider_code=7, retry_after="soon")  # type: ignore[arg-type]
    assert with_facts("said", error) == "said"
    assert with_facts("said", UpstreamError("x", http_status=10**5000, retry_after=10**400)) == "said"


def test_a_circle_of_causes_ends():
    error = ValueError("round")
    error.__cause__ = error
    assert with_facts("said", error).count("caused by round") == 4


def test_a_cause_that_says_nothing_is_named():
    class MuteError(Exception):
        def __str__(self) -> str:
            raise RuntimeError

    assert with_facts("said", caused(ValueError("x"), MuteError())) == "said\ncaused by MuteError, which says nothing"
