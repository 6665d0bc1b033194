"""What the failure of an upstream means for the others and for itself."""

from __future__ import annotations
import math

from partstream.errors import (
    ContextLengthExceededError,
    InvalidRequestError,
    LanguageModelError,
    TimeoutPhase,
    TruncatedStreamError,
    UnknownModelError,
    UpstreamConnectionError,
    UpstreamFailureError,
    UpstreamHTTPError,
    UpstreamProtocolError,
    UpstreamTimeoutError,
)
from partstream.upstream.endpoint import CredentialError
from partstream_hub.routing import Blame, blame_of
from rows import one_test_for

OF_REQUEST = Blame(is_of_upstream=False)
PERHAPS = Blame(is_of_upstream=True)
LASTS = Blame(is_of_upstream=True, pause=math.inf)

ROWS = {
    "a server error": (UpstreamHTTPError(500), PERHAPS),
    "too many requests, with a wait": (UpstreamHTTPError(429, retry_after=20.0), Blame(True, 20.0, is_asked=True)),
    "too many requests": (UpstreamHTTPError(429), PERHAPS),
    "overloaded, with a wait": (UpstreamHTTPError(503, retry_after=2.0), Blame(True, 2.0, is_asked=True)),
    "no connection": (UpstreamConnectionError("http://host", "refused"), PERHAPS),
    "no first event": (UpstreamTimeoutError(TimeoutPhase.FIRST_EVENT, 1.0), PERHAPS),
    "broken off": (TruncatedStreamError("created"), PERHAPS),
    "the page of a login": (UpstreamHTTPError(200, said="a web page"), PERHAPS),
    "no answer in its protocol": (UpstreamProtocolError(event_type="x", field=None, got="y", expected="z"), PERHAPS),
    "a key that is revoked there": (UpstreamHTTPError(401), LASTS),
    "no credit there": (UpstreamHTTPError(402), LASTS),
    "a quota that is spent there": (UpstreamHTTPError(429, provider_code="insufficient_quota"), LASTS),
    "no such model there": (UpstreamHTTPError(404), LASTS),
    "no such model in its list": (UnknownModelError("m", ()), LASTS),
    "a key that cannot be read": (CredentialError("KEY", "nothing", "a key"), LASTS),
    "an error of a provider's own code": (OSError("no route to host"), PERHAPS),
    "a failure that blames no server": (LanguageModelError("it failed"), PERHAPS),
    "a bad request": (UpstreamHTTPError(400), OF_REQUEST),
    "a filter": (UpstreamFailureError("no", provider_code="content_policy_violation"), OF_REQUEST),
    "a conversation that is too long": (ContextLengthExceededError("m"), OF_REQUEST),
    "an answer that took too long in all": (UpstreamTimeoutError(TimeoutPhase.TOTAL, 1.0), OF_REQUEST),
    "an invalid request": (InvalidRequestError("messages[0]", "a list", "an object"), OF_REQUEST),
    "a refusal of a provider's own": (LanguageModelError.blocked("not this"), OF_REQUEST),
}


@one_test_for(("error", "blame"), ROWS.values(), ids=ROWS)
def test_the_blame_of(error: Exception, blame: Blame):
    assert blame_of(error) == blame
