"""Observations of answers for tests: a whole one, of which a test changes what it looks at."""

from dataclasses import replace
from typing import Any

from partstream.lm.outputs import Outcome
from partstream.lm.parts import FinishReason, UnifiedFinishReason, Usage
from partstream.server.clients import ClientClass, RequestClient
from partstream.server.settings import AnswerObservation

CODEX = RequestClient("codex", "0.169.0", ClientClass.AGENT, "session-1", "turn-1")

_ANSWER = AnswerObservation(
    time=1_790_000_000.0,
    wire="openresponses",
    model="parrot",
    provider="birds",
    status=200,
    duration=2.5,
    request_id="req_1",
    client=CODEX,
    caller="ada",
    outcome=Outcome.COMPLETED,
    reason=FinishReason(UnifiedFinishReason.STOP),
    usage=Usage(1_200, 101, cached_tokens=800, reasoning_tokens=40),
    first_part_after=0.5,
    bytes=9_000,
    events=120,
    response_id="resp_1",
)


def an_answer(**changes: Any) -> AnswerObservation:
    """The observation of an answer that went well, but for the changes."""
    return replace(_ANSWER, **changes)
