"""How an answer ended, for the debug information."""

import pytest

from partstream.errors import TruncatedStreamError, UpstreamFailureError, UpstreamHTTPError
from partstream.lm.outputs import Finish, Outcome
from partstream.lm.parts import FinishReason, UnifiedFinishReason
from partstream.vscode import rpc_types as wire
from partstream.vscode.hosted import answer_end
from partstream.vscode.methods import check

BUSY = UpstreamFailureError("busy", provider_code="overloaded")
CUT_OFF = TruncatedStreamError("created")


@pytest.mark.parametrize(
    ("finish", "error", "cancelled", "outcome"),
    [
        (None, None, False, "completed"),
        (Finish(Outcome.COMPLETED), None, False, "completed"),
        (Finish(Outcome.INCOMPLETE), None, False, "incomplete"),
        (Finish(Outcome.FAILED, error=BUSY), None, False, "failed"),
        (Finish(Outcome.FAILED, error=BUSY), BUSY, False, "failed"),
        (Finish(Outcome.COMPLETED), ValueError("a bug after the end"), False, "failed"),
        (Finish(Outcome.TRUNCATED, error=CUT_OFF), CUT_OFF, False, "truncated"),
        (None, ValueError("a bug"), False, "failed"),
        (None, None, True, "cancelled"),
        (None, ValueError("a bug on the way out"), True, "cancelled"),
    ],
)
def test_the_outcome_is_what_happened_and_then_what_was_said(finish, error, cancelled, outcome):
    end = answer_end("own", "m", finish, error, cancelled=cancelled, now=7.0)
    check(end, wire.AnswerEnd, "end")
    assert end["outcome"] == outcome
    assert end["error"] == (None if error is None else type(error).__name__)


def test_an_error_of_an_upstream_is_told_by_its_codes_and_not_by_its_words():
    end = answer_end("own", "m", None, UpstreamHTTPError(429, provider_message="words"), cancelled=False, now=7.0)
    assert (end["error"], end["httpStatus"], end["providerCode"]) == ("UpstreamHTTPError", 429, None)
    assert "words" not in str(end)


FACTS = ("finishReason", "providerFinishReason", "responseId", "answeredBy")


@pytest.mark.parametrize(
    ("finish", "facts"),
    [
        *(
            (
                Finish(Outcome.COMPLETED, FinishReason(unified, "own"), response_id="resp_1", model="m-1"),
                (unified.value, "own", "resp_1", "m-1"),
            )
            for unified in UnifiedFinishReason
        ),
        (None, (None, None, None, None)),
        (Finish(Outcome.COMPLETED), (None, None, None, None)),
        (Finish(Outcome.COMPLETED, FinishReason(UnifiedFinishReason.STOP)), ("stop", None, None, None)),
        (Finish(Outcome.COMPLETED, response_id=7, model=["m"]), (None, None, None, None)),
    ],
)
def test_of_an_end_what_was_said_is_told_and_nothing_else(finish, facts):
    end = answer_end("own", "m", finish, None, cancelled=False, now=7.0)
    check(end, wire.AnswerEnd, "end")
    assert tuple(end[name] for name in FACTS) == facts
