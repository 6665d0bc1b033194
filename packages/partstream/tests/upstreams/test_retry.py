"""A request is sent again without the state that its upstream refuses: each kind once, and never after a part."""

import asyncio

import pytest

from partstream import CancellationTokenSource, RequestOptions, TextPart
from partstream.conversation.provider_state import Carried
from partstream.errors import ContextLengthExceededError, UpstreamError, UpstreamHTTPError
from partstream.upstream.attempts import Asking, Attempts, Sending, carry_out
from partstream.upstream.requests import ForwardingProgress, ModelCall
from upstreams.upstreams import Answer

RESPONSE = UpstreamHTTPError(404, provider_code="response")
REASONING = UpstreamHTTPError(400, provider_code="reasoning")
EARLIER = UpstreamHTTPError(400, provider_code="earlier")
BOTH = UpstreamHTTPError(400, provider_code="both")
OTHER = UpstreamHTTPError(400, provider_code="something else")
TOO_LONG = ContextLengthExceededError("Text", provider_code="both")


def _refused(error: UpstreamError) -> Carried:
    kinds = {
        "response": Carried.RESPONSE,
        "reasoning": Carried.REASONING,
        "earlier": Carried.EARLIER,
        "both": Carried.RESPONSE | Carried.REASONING,
    }
    return kinds.get(error.provider_code or "", Carried.NOTHING)


class _Question(Asking):
    """A question whose first requests meet errors; notes the state that each carries."""

    def __init__(self, errors: list[UpstreamError], *, begun: bool, cancelled: bool) -> None:
        self._errors = errors
        self._begun, self._cancelled = begun, cancelled
        self._source = CancellationTokenSource()
        self._call = ModelCall("text", [], RequestOptions(), ForwardingProgress(Answer()), self._source.token)
        self.sent: list[Carried] = []

    @property
    def may_begin_anew(self) -> bool:
        return self._call.may_be_asked_again

    async def send(self, attempts: Attempts) -> None:
        self.sent.append(attempts.sending.carried)
        if self._begun:
            self._call.progress.report(TextPart("a"))
        if self._cancelled:
            self._source.cancel()
        if len(self.sent) <= len(self._errors):
            raise self._errors[len(self.sent) - 1]

    def with_less(self, error: UpstreamError, sending: Sending) -> Sending:
        return Sending(sending.carried.without_first(_refused(error)))


def _sent(
    carried: Carried, errors: list[UpstreamError], *, begun: bool = False, cancelled: bool = False
) -> tuple[list[Carried], UpstreamError | None]:
    """With which state a request was sent whose first attempts meet the errors, and what was raised in the end."""
    question = _Question(errors, begun=begun, cancelled=cancelled)
    try:
        asyncio.run(carry_out(question, Attempts(Sending(carried))))
    except UpstreamError as error:
        return question.sent, error
    return question.sent, None


ALL, NONE = Carried.EVERYTHING, Carried.NOTHING
NO_EARLIER = Carried.RESPONSE | Carried.REASONING
SENDINGS = {
    "nothing is refused": (ALL, [], [ALL], None),
    "the stored response": (ALL, [RESPONSE], [ALL, Carried.ALL_REASONING], None),
    "the reasoning": (ALL, [REASONING, REASONING], [ALL, NO_EARLIER, Carried.RESPONSE], None),
    "the reasoning of finished turns": (ALL, [REASONING], [ALL, NO_EARLIER], None),
    "the reasoning of finished turns alone": (ALL, [EARLIER], [ALL, NO_EARLIER], None),
    "one after the other": (
        ALL,
        [RESPONSE, REASONING, REASONING],
        [ALL, Carried.ALL_REASONING, Carried.REASONING, NONE],
        None,
    ),
    "both at once": (ALL, [BOTH], [ALL, Carried.REASONING], None),
    "what was left out already": (ALL, [RESPONSE, RESPONSE], [ALL, Carried.ALL_REASONING], RESPONSE),
    "what was not carried": (Carried.RESPONSE, [REASONING], [Carried.RESPONSE], REASONING),
    "something else": (ALL, [OTHER], [ALL], OTHER),
    "an input that is too long": (ALL, [TOO_LONG], [ALL], TOO_LONG),
}


@pytest.mark.parametrize(("carried", "errors", "sent", "raised"), SENDINGS.values(), ids=SENDINGS)
def test_what_is_sent_after_a_refusal_of(
    carried: Carried, errors: list[UpstreamError], sent: list[Carried], raised: UpstreamError | None
):
    assert _sent(carried, errors) == (sent, raised)


def test_nothing_is_sent_again_once_a_part_was_reported_or_nobody_waits():
    assert _sent(ALL, [RESPONSE], begun=True) == ([ALL], RESPONSE)
    assert _sent(ALL, [RESPONSE], cancelled=True) == ([ALL], RESPONSE)
