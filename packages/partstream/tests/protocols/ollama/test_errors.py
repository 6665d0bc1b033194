"""What Ollama says when something goes wrong (docs/wires/ollama.md#errors)."""

import json
from datetime import UTC, datetime

import pytest

from partstream.errors import LanguageModelErrorCode, UpstreamHTTPError
from partstream.protocols.ollama.read_response import ERRORS
from partstream.upstream.http_errors import http_error
from rows import one_test_for

NOW = datetime(2026, 11, 1, tzinfo=UTC)


def _error(status: int, **fields: object) -> UpstreamHTTPError:
    return http_error(status, {"content-type": "application/json"}, json.dumps(fields).encode(), NOW, ERRORS)


NUMBERS = "request (35012 tokens) exceeds the available context size (32768 tokens), try increasing it"
WORDS = (
    "the prompt is longer than the context length currently available to the model; shorten the prompt, adjust the "
    "context length in settings, or use a model with a longer context length"
)
_RUNNER = {
    "code": 400,
    "message": NUMBERS,
    "type": "exceed_context_size_error",
    "n_prompt_tokens": 35012,
    "n_ctx": 32768,
}


@one_test_for(
    ("said", "limit", "count"),
    [
        (WORDS, None, None),
        (NUMBERS, 32768, 35012),
        (json.dumps({"error": _RUNNER}), 32768, 35012),
        (json.dumps({"error": {"code": 400, "message": WORDS}}), None, None),
    ],
    ids=["plain", "plain with numbers", "nested with numbers", "nested"],
)
@one_test_for("status", [400, 500])
def test_a_prompt_that_is_too_long_is_known_plain_and_nested_with_its_numbers(
    said: str, limit: int | None, count: int | None, status: int
) -> None:
    overflow = ERRORS.overflow(_error(status, error=said))
    assert overflow is not None
    assert (overflow.limit, overflow.count) == (limit, count)
    in_stream = ERRORS.failure_in({"error": said})
    assert in_stream is not None
    assert ERRORS.overflow(in_stream) == overflow


def test_the_address_for_signing_in_is_shown() -> None:
    error = _error(401, error="unauthorized", signin_url="https://ollama.com/connect?name=me&key=abc")
    assert "sign in at https://ollama.com/connect?name=me&key=abc" in str(error)
    assert error.code is LanguageModelErrorCode.NO_PERMISSIONS


@one_test_for("url", ["javascript:alert(1)", "http://ollama.com", "https://a\x1b[2J", 5, "https://" + "a" * 3000])
def test_what_is_no_address_of_a_page_is_not_shown(url: object) -> None:
    assert "sign in" not in str(_error(401, error="unauthorized", signin_url=url))


@pytest.mark.parametrize("said", ["model 'x:1b' not found", 'model "x:1b" not found, try pulling it first'])
def test_a_model_that_is_missing_says_how_to_get_it(said: str) -> None:
    error = _error(404, error=said)
    assert "`ollama pull x:1b` gets it" in str(error)
    assert error.code is LanguageModelErrorCode.NOT_FOUND


RETRYABLE = {
    (503, "server busy, please try again.  maximum pending requests exceeded"): True,
    (500, "model runner has unexpectedly stopped, this may be due to resource limitations"): True,
    (404, "model 'x' not found"): False,
    (400, '"x" does not support tools'): False,
}


@pytest.mark.parametrize(("status", "said"), RETRYABLE)
def test_what_passes_by_itself_may_be_tried_again(status: int, said: str) -> None:
    kind = ERRORS.kind_of(_error(status, error=said))
    assert (kind is not None and kind.is_passing) is RETRYABLE[status, said]


def test_an_error_of_the_cloud_says_its_own_status() -> None:
    error = ERRORS.failure_in({"StatusCode": 429, "Status": "429 Too Many Requests", "error": "slow down"})
    assert error is not None
    assert error.http_status == 429
