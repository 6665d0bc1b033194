"""The one loop of attempts: what follows when a request to an upstream fails.

`carry_out` sends a request and looks at how it ended. What ended it, an error or a pause of the server, goes down the
rows of `ROWS`; the first that fits acts. Where its action turns out to be impossible, it is spent, and the failure goes
on down the rows. After the last row, the request has failed.

| row | fits | action |
|---|---|---|
| a pause | the server paused its answer | a request that goes on with it |
| a refused key | HTTP 401, once for each response | `_renew`: the same with another key |
| a passing failure | nothing was read, and the status or the connection passes | `_retry`: the same after a wait |
| a refused field | the error names what the request holds | `_drop`: the same without that |
| a missing path | HTTP 404 or 405 that blames no model, once | `_redetect`: in the protocol detected now |
| a failing model | another model may do better | `_next_model`: the next fallback model |

The order is that of cost: what comes first asks the same again, what comes last asks something else. Nothing begins
an answer anew once a part was reported or the caller has left: then a pause is gone on with, and the request that goes
on may be sent again. Each kind of action has its allowance, so that the number of requests is bounded,
and no wait is longer than the retry policy allows.

`Attempts` is the state of one request. `Asking` is what the loop knows of the request: how it is sent, and what its
sender can do about a failure. Answers, lists of models and documents have one each.
"""

from __future__ import annotations
import asyncio
import logging
import random
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Final, TypeAlias

from partstream import errors
from partstream.codec.checks import dataclass
from partstream.conversation.provider_state import Carried
from partstream.errors import UpstreamError
from partstream.lm.outputs import PausingStream
from partstream.protocols.errors import COMMON_ERRORS, Errors
from partstream.upstream.context import IS_ONE_ATTEMPT, in_thread
from partstream.upstream.http_errors import says_path_is_missing

if TYPE_CHECKING:
    from partstream.lm.provider import LanguageModelChatInformation
    from partstream.upstream.configuration import RetryPolicy
    from partstream.upstream.endpoint import CredentialSource, Secret

_logger = logging.getLogger("partstream.upstreams")

MOST_PAUSES: Final = 10
"""The most continuations of one answer: the tools of a server that never ends would cost without end."""
MOST_DROPS: Final = 16
"""How often a request to one model is sent with less; each time it lacks something more."""

Failure: TypeAlias = UpstreamError | PausingStream
"""What ended a request without an answer that is whole."""


# ---- The state ----


@dataclass(frozen=True, slots=True)
class Sending:
    """How a request is sent: the state of earlier answers that it carries, and the optional fields that it lacks, see
    :attr:`partstream.protocols.protocol.RequestWriter.leave_out`."""

    carried: Carried = Carried.NOTHING
    left_out: frozenset[str] = frozenset()


@dataclass(slots=True)
class Attempts:
    """The state of one request: how it is sent next, and how much of each allowance was spent.

    Attributes:
        key: The key of the last request; None where it was sent without one.
        renewed: The key for the next request, where the one before was refused.
        paused: The answer that the next request goes on with; None where it begins one.
        is_unread: Whether the last request failed before anything of its response was read.
        retries: How often the same was sent after a wait, since the last response.
        drops: How often the request to this model was sent with less.
        has_renewed: Whether another key was asked for, since the last response.
    """

    sending: Sending = Sending()
    key: Secret | None = None
    renewed: Secret | None = None
    paused: PausingStream | None = None
    is_unread: bool = False
    pauses: int = 0
    retries: int = 0
    drops: int = 0
    has_renewed: bool = False
    has_redetected: bool = False

    def begin_response(self, paused: PausingStream | None = None) -> None:
        """The next request asks for another response than the ones before."""
        self.paused, self.retries, self.has_renewed = paused, 0, False

    def begin_request(self, sending: Sending | None) -> bool:
        """The next request goes to another model, or in another protocol, if there is one."""
        if sending is not None:
            self.sending, self.drops = sending, 0
            self.begin_response()
        return sending is not None


class Asking:
    """One request as the loop sees it. The defaults can do nothing about a failure.

    Attributes:
        policy: When the same is sent again; None for never.
        errors: How the upstream reports errors.
        credentials: The source of the key; None where no other key is asked for.
        weight: The bytes of the request, or about as many.
    """

    policy: RetryPolicy | None = None
    weight: int = 0
    errors: Errors = COMMON_ERRORS
    credentials: CredentialSource | None = None

    @property
    def may_begin_anew(self) -> bool:
        """Whether another answer may take the place of this one: nothing was reported, and the caller still waits."""
        return True

    async def send(self, attempts: Attempts) -> PausingStream | None:
        """Sends the request once and reports its answer; gives the answer if the server has paused it and it is to be
        gone on with.

        Raises:
            UpstreamError: There is no answer, or it failed.
        """
        raise NotImplementedError

    def with_less(self, error: UpstreamError, sending: Sending) -> Sending:
        """The way of sending without what an error refuses; the same way where the error is about something else. It
        holds less each time."""
        return sending

    async def redetect(self, error: UpstreamError) -> Sending | None:
        """How the request is sent in the protocol that is detected now; None where it is the one before."""
        return None

    async def next_model(self, error: UpstreamError) -> Sending | None:
        """How the request is sent to the next fallback model; None where none may do better."""
        return None

    def announce(self, reason: str, seconds: float) -> None:
        """Takes what failed, in a sentence, and the seconds until the next request."""

    def give_up(self, error: BaseException) -> None:
        """Takes the failure of the request in this protocol to this model; another may follow."""


# ---- The table: each row acts if it fits, and says whether another request follows ----


async def _renew(error: UpstreamError, attempts: Attempts, asking: Asking) -> bool:
    refused, source = attempts.key, asking.credentials
    is_refused = isinstance(error, errors.UpstreamHTTPError) and error.http_status == _UNAUTHORIZED
    if not is_refused or attempts.has_renewed or refused is None or source is None:
        return False
    attempts.has_renewed = True
    attempts.renewed = await source.refresh(refused)
    if attempts.renewed is not None:
        _logger.info("sending the request again with a new key: the upstream refused the one before")
    return attempts.renewed is not None


async def _retry(error: UpstreamError, attempts: Attempts, asking: Asking) -> bool:
    policy, wait = asking.policy, error.retry_after
    if policy is None or not attempts.is_unread or attempts.retries + 1 >= policy.attempts:
        return False
    if IS_ONE_ATTEMPT.get() or not can_be_retried(error, asking.errors):
        return False
    if wait is None:
        most = min(policy.longest_wait, policy.first_wait * 2**attempts.retries)
        wait = random.uniform(most / 2, most)  # noqa: S311 - spreads clients, guards nothing
    elif wait > policy.longest_wait:
        return False
    attempts.retries += 1
    said, _, more = errors.with_facts(error.statement, error).partition("\n")
    _logger.warning("attempt %d failed, the next in %.1f s: %s", attempts.retries, wait, said)
    if more:
        _logger.debug("attempt %d: %s", attempts.retries, more)
    asking.announce(error.statement, wait)
    await asyncio.sleep(wait)
    return True


async def _drop(error: UpstreamError, attempts: Attempts, asking: Asking) -> bool:
    # What is left out makes no input shorter.
    if isinstance(error, errors.ContextLengthExceededError) or attempts.drops >= MOST_DROPS:
        return False
    before = attempts.sending
    attempts.sending = await in_thread(asking.weight, asking.with_less, error, before)
    is_less = attempts.sending != before
    attempts.drops += is_less
    return is_less


async def _redetect(error: UpstreamError, attempts: Attempts, asking: Asking) -> bool:
    if attempts.has_redetected or not says_path_is_missing(error):
        return False
    attempts.has_redetected = True
    asking.give_up(error)
    return attempts.begin_request(await asking.redetect(error))


async def _next_model(error: UpstreamError, attempts: Attempts, asking: Asking) -> bool:
    if not isinstance(error, errors.ContextLengthExceededError) and not helps_another_model(error, asking.errors):
        return False
    asking.give_up(error)
    return attempts.begin_request(await asking.next_model(error))


ROWS: Final[tuple[Callable[[UpstreamError, Attempts, Asking], Awaitable[bool]], ...]] = (
    *(_renew, _retry, _drop, _redetect, _next_model),
)

_ROWS_OF_AN_ANSWER: Final = {True: ROWS[:2], False: ()}
"""The rows for an answer that cannot begin anew, by whether the request goes on with it."""
_UNAUTHORIZED: Final = 401
_RETRIED_STATUSES: Final = frozenset({408, 409, 425, 429})
"""Beside those from 500 on except 501, for what the server cannot do at all."""
_STATUSES_OF_A_MODEL: Final = frozenset({408, 425, 429})
"""Beside those from 500 on. Other statuses blame the request or the key, and another model would get the same."""


async def follow(failure: Failure, attempts: Attempts, asking: Asking) -> bool:
    """Acts after a failure; whether another request follows."""
    is_continued = attempts.paused is not None
    if not isinstance(failure, UpstreamError):
        attempts.pauses += 1
        left = MOST_PAUSES - attempts.pauses
        _logger.info("the upstream paused its answer; going on with it, at most %d times more", left)
        attempts.begin_response(failure)
        return True
    rows = ROWS if asking.may_begin_anew and not is_continued else _ROWS_OF_AN_ANSWER[is_continued]
    for row in rows:
        if await row(failure, attempts, asking):
            return True
    return False


def can_be_retried(error: UpstreamError, wire: Errors) -> bool:
    """Whether the same request may have an answer after a while."""
    if isinstance(error, errors.UpstreamHTTPError | errors.UpstreamFailureError):
        kind = wire.kind_of(error)
        if (kind is not None and kind.outranks_status) or wire.overflow(error) is not None:
            return False  # no credit, and what a filter or the model's window refuses, stays so
        if isinstance(error, errors.UpstreamHTTPError) and error.should_retry is not None:
            return error.should_retry
        status = error.http_status or 0
        return status in _RETRIED_STATUSES or (status >= 500 and status != 501)
    if isinstance(error, errors.UpstreamTimeoutError):
        return error.phase is errors.TimeoutPhase.CONNECT  # a slow model would only be asked twice
    return isinstance(error, errors.UpstreamConnectionError) and not error.lasts


def helps_another_model(error: UpstreamError, wire: Errors) -> bool:
    """Tells whether another model can answer after this error of the first."""
    if isinstance(error, errors.UpstreamHTTPError):
        status = error.http_status or 0
        return status in _STATUSES_OF_A_MODEL or status >= 500
    if isinstance(error, errors.UpstreamFailureError):
        kind = wire.kind_of(error)
        return kind is not None and kind.is_passing
    if isinstance(error, errors.UpstreamTimeoutError):
        return error.phase is not errors.TimeoutPhase.TOTAL  # a person has waited for that long: enough
    return isinstance(error, errors.UpstreamConnectionError | errors.TruncatedStreamError)


def has_more_room(
    other: LanguageModelChatInformation, refused_by: LanguageModelChatInformation, error: UpstreamError
) -> bool:
    """Tells whether another model may take an input that was too long for the first: it has a larger known limit."""
    if not isinstance(error, errors.ContextLengthExceededError):
        return False
    return other.max_input_tokens > max(error.limit or 0, error.count or 0, refused_by.max_input_tokens)


# ---- The loop ----


async def carry_out(asking: Asking, attempts: Attempts) -> None:
    """Sends a request until it is answered, or nothing helps.

    Raises:
        CredentialError: The key cannot be had.
        UpstreamError: The last request could not be answered.
    """
    try:
        while True:
            try:
                paused = await asking.send(attempts)
            except UpstreamError as error:
                if not await follow(error, attempts, asking):
                    raise
            else:
                if paused is None:
                    return
                await follow(paused, attempts, asking)
    except BaseException as error:
        asking.give_up(error)
        raise
