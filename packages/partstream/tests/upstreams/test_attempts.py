"""The one loop of attempts: each row of its table, and what holds for every sequence of failures."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import cycle
from typing import Any

import pytest
from hypothesis import HealthCheck, find, given, settings
from hypothesis import strategies as st

from partstream import LanguageModelChatInformation
from partstream.conversation.provider_state import Carried
from partstream.errors import (
    ContextLengthExceededError,
    EmptyAnswerError,
    TimeoutPhase,
    TruncatedStreamError,
    UpstreamConnectionError,
    UpstreamError,
    UpstreamFailureError,
    UpstreamHTTPError,
    UpstreamTimeoutError,
)
from partstream.upstream.attempts import (
    MOST_DROPS,
    MOST_PAUSES,
    ROWS,
    Asking,
    Attempts,
    Sending,
    carry_out,
    follow,
    has_more_room,
)
from partstream.upstream.configuration import RetryPolicy
from partstream.upstream.context import no_retries
from partstream.upstream.endpoint import Secret

POLICY = RetryPolicy(attempts=3, first_wait=0.00001, longest_wait=0.00003)
KEY = Secret("sk-first-0123456789")
MODELS = 3
SAME = POLICY.attempts - 1 + 1  # after a wait, and with another key
BEGINNINGS = MODELS + 1  # one more in another protocol
MOST_REQUESTS = BEGINNINGS * (1 + MOST_DROPS + SAME) + MOST_PAUSES * (1 + SAME)


class Paused:
    """An answer that its server has paused."""

    paused: Any = None


def _error(kind: type[UpstreamError], *given: Any, **fields: Any) -> UpstreamError:
    error = kind(*given)
    for name, value in fields.items():
        setattr(error, name, value)
    return error


FAILURES: dict[str, tuple[UpstreamError | None, bool]] = {
    "a pause": (None, False),
    "a refused key": (UpstreamHTTPError(401), True),
    "a busy server": (UpstreamHTTPError(503), True),
    "a busy server that asks for a short wait": (_error(UpstreamHTTPError, 429, retry_after=0.00002), True),
    "a busy server that asks for a long wait": (_error(UpstreamHTTPError, 429, retry_after=60.0), True),
    "a status said in the stream": (UpstreamFailureError("busy", provider_code="502", http_status=502), True),
    "no connection": (UpstreamConnectionError("http://host", "refused"), True),
    "no connection that can be": (UpstreamConnectionError("http://host", "no such host", lasts=True), True),
    "no connection in time": (UpstreamTimeoutError(TimeoutPhase.CONNECT, 1.0), True),
    "no first event": (UpstreamTimeoutError(TimeoutPhase.FIRST_EVENT, 1.0), True),
    "a connection that broke": (UpstreamConnectionError("http://host", "reset", established=True), False),
    "a stream that broke off": (TruncatedStreamError("created"), False),
    "a refused field": (_error(UpstreamHTTPError, 400, param="field"), True),
    "a field that is refused and makes the server fail": (_error(UpstreamHTTPError, 500, param="field"), True),
    "a missing path": (UpstreamHTTPError(404), True),
    "an input that is too long": (ContextLengthExceededError("Text", limit=10), True),
    "an empty answer": (EmptyAnswerError(None, None, None), False),
    "a bad request": (UpstreamHTTPError(400), True),
}
"""Each way in which a request ends without an answer, and whether nothing of a response was read before."""


@dataclass
class Step:
    """The fate of one request."""

    failure: str | None
    """None for an answer."""
    reports: bool
    """Whether a part is reported before."""


@dataclass
class Scripted(Asking):
    """A request whose sendings take the steps, again and again, and that can do something about every failure."""

    steps: Sequence[Step]
    redetects: bool = True
    rooms: bool = True
    begun: bool = False
    sent: int = 0
    begun_anew: int = 0
    waits: list[float] = field(default_factory=list)
    actions: set[str] = field(default_factory=set)
    models: int = 1
    keys: int = 0

    def __post_init__(self) -> None:
        self.policy = POLICY
        self.credentials = self
        self._rest = cycle(self.steps)
        self._paused = Paused()

    @property
    def may_begin_anew(self) -> bool:
        return not self.begun

    async def send(self, attempts: Attempts) -> Any:
        self.sent += 1
        assert self.sent <= MOST_REQUESTS
        self.begun_anew += self.begun and attempts.paused is None
        attempts.key, attempts.renewed = attempts.renewed or KEY, None
        step = next(self._rest)
        error, is_unread = FAILURES[step.failure] if step.failure is not None else (None, False)
        if step.reports:
            self.begun = True
        attempts.is_unread = is_unread and not step.reports
        if error is not None:
            raise error
        if step.failure is None or attempts.pauses >= MOST_PAUSES:
            return None
        self.actions.add("continue")
        return self._paused

    def with_less(self, error: UpstreamError, sending: Sending) -> Sending:
        if error.param is None:
            return sending
        self.actions.add("drop")
        return Sending(sending.carried, sending.left_out | {f"field {len(sending.left_out)}"})

    async def get(self) -> Secret:
        return KEY

    async def refresh(self, refused: Secret) -> Secret | None:
        self.actions.add("renew")
        self.keys += 1
        return Secret(f"sk-another-{self.keys:010}")

    async def redetect(self, error: UpstreamError) -> Sending | None:
        self.actions.add("redetect")
        return Sending() if self.redetects else None

    async def next_model(self, error: UpstreamError) -> Sending | None:
        if self.models == MODELS or (isinstance(error, ContextLengthExceededError) and not self.rooms):
            return None
        self.actions.add("next model")
        self.models += 1
        return Sending()

    def announce(self, reason: str, seconds: float) -> None:
        self.actions.add("retry")
        self.waits.append(seconds)

    def give_up(self, error: BaseException) -> None:
        self.actions.add("fail")


STEPS = st.lists(st.builds(Step, st.none() | st.sampled_from(list(FAILURES)), st.booleans()), min_size=1, max_size=12)
FAILING = st.lists(st.builds(Step, st.sampled_from(list(FAILURES)), st.just(False)), min_size=1, max_size=4)


def _carried_out(steps: Sequence[Step], *, redetects: bool = True, rooms: bool = True) -> Scripted:
    asking, attempts = Scripted(steps, redetects, rooms), Attempts()
    with suppress(UpstreamError):
        asyncio.run(carry_out(asking, attempts))
    return asking


@given(STEPS | FAILING, st.booleans(), st.booleans())
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_whatever_fails_requests_and_waits_are_bounded_and_an_answer_begins_once(
    steps: list[Step], redetects: bool, rooms: bool
):
    asking = _carried_out(steps, redetects=redetects, rooms=rooms)
    assert asking.sent <= MOST_REQUESTS
    assert asking.begun_anew == 0
    assert all(0 <= wait <= POLICY.longest_wait for wait in asking.waits)
    # As many waits as the policy has further attempts: for each model, the other protocol, and each continuation.
    assert len(asking.waits) <= (POLICY.attempts - 1) * (MODELS + 1 + MOST_PAUSES)


KINDS = ("renew", "retry", "drop", "redetect", "next model")
"""The actions in the order of the rows."""


@pytest.mark.parametrize("action", ["continue", *KINDS, "fail"])
def test_every_kind_of_action_follows_some_sequence(action: str):
    found = find(STEPS | FAILING, lambda steps: action in _carried_out(steps).actions)
    assert len(found) == 1, "one failure leads there"


@pytest.mark.parametrize(
    ("failures", "sent"),
    [
        (["a busy server"], MODELS * POLICY.attempts),
        (["a refused key"], 2),
        (["a refused field"], 1 + MOST_DROPS),
        (["a missing path"], 2),
        (["an input that is too long"], MODELS),
        (["a bad request"], 1),
        (["a pause"], 1 + MOST_PAUSES),
        (["a refused key", "a busy server"], 3),
        (["a pause", "a busy server", "a refused key"], 1 + MOST_PAUSES * (POLICY.attempts)),
    ],
)
def test_how_often_a_request_is_sent_that_always_meets(failures: list[str], sent: int):
    assert _carried_out([Step(failure, reports=False) for failure in failures]).sent == sent


# ---- the rows ----

ACTIONS: dict[str, tuple[str, dict[str, Any], str]] = {
    "a pause is gone on with": ("a pause", {}, "continue"),
    "a refused key is renewed": ("a refused key", {"key": KEY}, "renew"),
    "it is renewed once": ("a refused key", {"key": KEY, "has_renewed": True}, "fail"),
    "no key is not renewed": ("a refused key", {}, "fail"),
    "a busy server is asked again": ("a busy server", {}, "retry"),
    "a busy server that asks for a short wait too": ("a busy server that asks for a short wait", {}, "retry"),
    "one that asks for a long wait is not": ("a busy server that asks for a long wait", {}, "next model"),
    "as often as the policy says": ("a busy server", {"retries": POLICY.attempts - 1}, "next model"),
    "a status in the stream is one of the answer": ("a status said in the stream", {}, "retry"),
    "not once something was read": ("a status said in the stream", {"is_unread": False}, "next model"),
    "no connection is tried again": ("no connection", {}, "retry"),
    "unless it cannot be": ("no connection that can be", {}, "next model"),
    "a slow connection is tried again": ("no connection in time", {}, "retry"),
    "a slow model is not asked twice": ("no first event", {}, "next model"),
    "a connection that broke is not tried again": ("a connection that broke", {}, "next model"),
    "another model may do without breaking off": ("a stream that broke off", {}, "next model"),
    "a refused field is left out": ("a refused field", {}, "drop"),
    "so often and no more": ("a refused field", {"drops": MOST_DROPS}, "fail"),
    "only what lasts is left out": ("a field that is refused and makes the server fail", {}, "retry"),
    "that is left out then": ("a field that is refused and makes the server fail", {"retries": 2}, "drop"),
    "a missing path has the protocol detected": ("a missing path", {}, "redetect"),
    "it is detected once": ("a missing path", {"has_redetected": True}, "fail"),
    "another model may have more room": ("an input that is too long", {}, "next model"),
    "an empty answer is one": ("an empty answer", {}, "fail"),
    "a bad request stays one": ("a bad request", {}, "fail"),
    "what goes on is sent again": ("a busy server", {"paused": Paused()}, "retry"),
    "it is not left out of what goes on": ("a refused field", {"paused": Paused()}, "fail"),
    "no other model goes on": ("a stream that broke off", {"paused": Paused()}, "fail"),
}


def _what_follows(error: UpstreamError | None, attempts: Attempts, asking: Scripted) -> str:
    """The action after a failure, or after a pause."""
    if asyncio.run(follow(error or Paused(), attempts, asking)) and error is None:
        asking.actions.add("continue")
    return (asking.actions - {"fail"} or {"fail"}).pop()


@pytest.mark.parametrize(("failure", "state", "action"), ACTIONS.values(), ids=ACTIONS)
def test_what_follows(failure: str, state: dict[str, Any], action: str):
    error, is_unread = FAILURES[failure]
    attempts = Attempts(**{"is_unread": is_unread, **state})
    assert _what_follows(error, attempts, Scripted(())) == action


def test_an_input_that_is_too_long_fails_where_no_model_has_more_room():
    error = ContextLengthExceededError("Text", limit=10)
    assert _what_follows(error, Attempts(is_unread=True), Scripted((), rooms=False)) == "fail"


@pytest.mark.parametrize("failure", FAILURES)
def test_after_the_first_part_only_a_pause_is_followed_by_a_request(failure: str):
    error, _ = FAILURES[failure]
    action = _what_follows(error, Attempts(key=KEY, is_unread=True), Scripted((), begun=True))
    assert action == ("continue" if error is None else "fail")


def test_a_caller_that_has_other_upstreams_has_the_same_asked_once():
    with no_retries():
        action = _what_follows(UpstreamHTTPError(503), Attempts(is_unread=True), Scripted(()))
    assert action == "next model"


def test_each_row_does_one_kind_of_action():
    done = []
    for row in ROWS:
        found = set[str]()
        for error, _ in FAILURES.values():
            asking = Scripted(())
            if error is not None and asyncio.run(row(error, Attempts(key=KEY, is_unread=True), asking)):
                found |= asking.actions - {"fail"}
        done.append(found)
    assert done == [{kind} for kind in KINDS]


def test_what_an_impossible_action_leaves_goes_down_the_rows_again():
    asking = Scripted([Step("a missing path", reports=False)], redetects=False)
    with pytest.raises(UpstreamHTTPError):
        asyncio.run(carry_out(asking, Attempts()))
    assert (asking.sent, "redetect" in asking.actions) == (1, True)


def test_a_model_with_more_room_may_take_what_was_too_long():
    small = LanguageModelChatInformation("small", "Small", "s", "1", 1000, 100)
    large = LanguageModelChatInformation("large", "Large", "l", "1", 2000, 100)
    too_long = ContextLengthExceededError("Small", limit=1000, count=1500)
    assert has_more_room(large, small, too_long)
    assert not has_more_room(small, large, too_long)
    assert not has_more_room(large, small, UpstreamHTTPError(503))


def test_a_cancelled_request_is_given_up():
    class Waiting(Scripted):
        async def send(self, attempts: Attempts) -> None:
            raise asyncio.CancelledError

    asking = Waiting(())
    with pytest.raises(asyncio.CancelledError):
        asyncio.run(carry_out(asking, Attempts(Sending(Carried.EVERYTHING))))
    assert asking.actions == {"fail"}
