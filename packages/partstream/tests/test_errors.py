"""Facts are fields: code that catches an error never has to read its message."""

import inspect
import pickle
from typing import Any

import pytest

from partstream import errors
from partstream.errors import LanguageModelErrorCode, TimeoutPhase
from rows import one_test_for

CLASSES = [
    value for name in vars(errors) if inspect.isclass(value := getattr(errors, name)) and issubclass(value, Exception)
]

EXAMPLES: dict[type[Exception], dict[str, Any]] = {
    errors.UnknownModelError: {"model_id": "m", "known": ("a", "b")},
    errors.UnexpectedValueError: {"where": "input[2]", "got": "a number", "expected": "a list"},
    errors.KeyNeededError: {"message": "The key of the forecast service."},
    errors.RequestNotExpressibleError: {"what": "audio", "where": "messages[0]", "expected": "text"},
    errors.UpstreamHTTPError: {"http_status": 503, "provider_message": "busy", "body": "{}", "retry_after": 2.0},
    errors.ContextLengthExceededError: {"model": "Large", "limit": 8, "count": 9, "http_status": 400},
    errors.UpstreamFailureError: {"provider_message": "broke", "provider_code": "c"},
    errors.UpstreamConnectionError: {"url": "http://h", "reason": "refused"},
    errors.UpstreamTimeoutError: {"phase": TimeoutPhase.IDLE, "seconds": 3.0},
    errors.UpstreamAbortedError: {"reason": "stopped by its user"},
    errors.TruncatedStreamError: {"state": "OPEN"},
    errors.EmptyStreamError: {"got": "no byte", "expected": "events"},
    errors.UnreadableStreamError: {"got": "a web page", "expected": "events", "like": None, "beginning": "a web page"},
    errors.EmptyAnswerError: {"finish_reason": "max_tokens", "output_tokens": 16, "reasoning_tokens": 12},
    errors.UpstreamProtocolError: {"event_type": "x", "field": "f", "got": "7", "expected": "a string"},
    errors.EventTooLargeError: {"size": 2000, "limit": 1000},
    errors.AnswerTooLargeError: {"what": "calls", "limit": 1000},
    errors.ToolArgumentsError: {"call_id": "c", "name": "look_up", "arguments": "["},
    errors.BudgetError: {"owner": "the profile work", "fault": "is used up", "advice": "wait"},
    errors.BudgetReachedError: {
        "owner": "",
        "budget": "5 USD/day",
        "spent": "4 USD",
        "reserved": "1 USD",
        "resets_at": 9.0,
        "when": "2026-11-30 at 00:00",
    },
    errors.BudgetUnknownError: {"owner": "", "reason": "m has no price", "advice": "set one"},
    errors.RateReachedError: {"setting": "parallelRequests", "limit": 2, "reason": "2 of 2 run", "retry_after": 3.0},
    errors.ToolRoundLimitError: {"max_rounds": 3, "pending": ("look_up",)},
    errors.ContractViolationError: {"rule_id": "r", "section": "2", "text": "one Finish", "detail": "two"},
    errors.DuplicateVendorError: {"vendor": "v"},
    errors.ProviderStuckError: {"vendor": "v", "model_id": "m", "seconds": 2.0},
}


@one_test_for("made", EXAMPLES, ids=lambda made: made.__name__)
def test_an_error_keeps_its_facts_as_fields_and_says_them(made: type[Exception]) -> None:
    facts = EXAMPLES[made]
    error = made(**facts)
    for name, value in facts.items():
        if name != "text":
            assert getattr(error, name) == value
    for value in facts.values():
        if isinstance(value, str) and not isinstance(value, TimeoutPhase) and value not in ("{}", "OPEN", "c", "2"):
            assert value in str(error), value


@one_test_for("made", EXAMPLES, ids=lambda made: made.__name__)
def test_an_error_reaches_another_process_with_its_facts_and_its_text(made: type[Exception]) -> None:
    error = made(**EXAMPLES[made])
    read = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own bytes
    assert (type(read), str(read), vars(read)) == (made, str(error), vars(error))


def test_every_error_with_facts_of_its_own_is_tried_above() -> None:
    own = {made for made in CLASSES if "__init__" in vars(made)}
    general = {errors.LanguageModelError, errors.UpstreamError}
    assert own - general == EXAMPLES.keys()


def test_the_tree_in_the_docstring_is_the_tree() -> None:
    assert errors.__doc__ is not None
    drawn = [
        line
        for line in errors.__doc__.splitlines()
        if "Error" in line and ("─" in line or line.strip() == "PartstreamError")
    ]
    parents: list[tuple[int, str]] = []
    for line in drawn:
        name = line.strip("│├└─ ").split()[0]
        depth = line.index(name)
        parents = [(at, parent) for at, parent in parents if at < depth]
        made: Any = getattr(errors, name)
        assert made.__base__.__name__ == (parents[-1][1] if parents else "Exception")
        parents.append((depth, name))
    assert len(drawn) == len(CLASSES)


@one_test_for(
    ("status", "code"),
    [
        (401, "NoPermissions"),
        (403, "NoPermissions"),
        (402, "Blocked"),
        (429, "Blocked"),
        (404, "NotFound"),
        (400, "Unspecified"),
        (500, "Unspecified"),
        (503, "Unspecified"),
    ],
)
def test_an_http_status_has_vs_codes_word(status: int, code: str) -> None:
    assert errors.UpstreamHTTPError(status).code == LanguageModelErrorCode(code)


@pytest.mark.parametrize(
    ("made", "code"), [("no_permissions", "NoPermissions"), ("blocked", "Blocked"), ("not_found", "NotFound")]
)
def test_an_error_of_ones_own_is_made_by_vs_codes_word(made: str, code: str) -> None:
    for owner in (errors.LanguageModelError, errors.UpstreamHTTPError):
        error = getattr(owner, made)("No more answers today.")
        assert type(error) is errors.LanguageModelError
        assert (str(error), error.message, error.code) == (
            *["No more answers today."] * 2,
            LanguageModelErrorCode(code),
        )


def test_a_code_may_be_written_as_its_text() -> None:
    made: Any = errors.LanguageModelError
    assert made("No.", "Blocked").code is LanguageModelErrorCode.BLOCKED
    with pytest.raises(ValueError, match="'Blockd' is not a valid LanguageModelErrorCode"):
        made("No.", "Blockd")


def test_every_limit_has_its_own_sentence() -> None:
    sentences = {str(errors.UpstreamTimeoutError(phase, 2)) for phase in TimeoutPhase}
    assert len(sentences) == len(TimeoutPhase)
    assert all("2 s" in sentence for sentence in sentences)


def test_long_texts_of_the_upstream_are_cut() -> None:
    assert len(errors.UpstreamHTTPError(500, body="x" * 10_000).body) == 2000
    error = errors.ToolArgumentsError(call_id=None, name=None, arguments="x" * 10_000)
    assert len(error.arguments) == 500
    assert len(str(error)) < 300
    assert "without a name" in str(error)


def test_a_connection_that_broke_in_the_middle_says_so() -> None:
    assert str(errors.UpstreamConnectionError("http://h", "refused")) == "refused (no connection to http://h)"
    assert "in the middle" in str(errors.UpstreamConnectionError("http://h", "reset", established=True))


def test_advice_follows_what_happened_without_two_marks_in_a_row() -> None:
    error = errors.UpstreamHTTPError(401, provider_message="Wrong key.", advice="is it whole?")
    assert str(error) == "the server answered HTTP 401: Wrong key; is it whole?"
    assert error.statement == "the server answered HTTP 401: Wrong key."


def test_a_place_and_a_value_of_any_length_are_shortened_in_a_message():
    error = errors.InvalidRequestError("input." + "k" * 10_000, "x" * 1_000_000, "a string")
    assert len(str(error)) < 1100
    assert str(error).endswith("..., expected a string")
