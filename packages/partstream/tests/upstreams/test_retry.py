"""A request is sent again without the state that its upstream refuses: each kind once, and never after a part."""

import asyncio

import pytest

from partstream import CancellationTokenSource, RequestOptions, TextPart
from partstream.conversation.provider_state import Carried
from partstream.errors import ContextLengthExceededError, UpstreamError, UpstreamHTTPError
from partstream.upstream.requests import ForwardingProgress, ModelCall, Sending, send_without_what_is_refused
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


def _less_of(error: UpstreamError, sending: Sending) -> Sending:
    return Sending(sending.carried.without_first(_refused(error)))


def _sent(
    carried: Carried, errors: list[UpstreamError], *, begun: bool = False, cancelled: bool = False
) -> tuple[list[Carried], UpstreamError | None]:
    """With which state a request was sent whose first attempts meet the errors, and what was raised in the end."""
    source = CancellationTokenSource()
    question = ModelCall("text", [], RequestOptions(), ForwardingProgress(Answer()), source.token)
    sent: list[Carried] = []

    async def send(sending: Sending) -> None:
        sent.append(sending.carried)
        if begun:
            question.progress.report(TextPart("a"))
        if cancelled:
            source.cancel()
        if len(sent) <= len(errors):
            raise errors[len(sent) - 1]

    try:
        asyncio.run(send_without_what_is_refused(question, send, Sending(carried), _less_of))
    except UpstreamError as error:
        return sent, error
    return sent, None


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
