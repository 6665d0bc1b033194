"""Asks a policy about requests and tells it of answers; whatever it does, a request gets no more than it may have."""

from __future__ import annotations

import asyncio
import copy
import inspect
import logging
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from partstream.errors import PartstreamError
from partstream.hub.policy.checking import checked_result
from partstream.hub.policy.threads import PolicyBusyError, PolicyFailedError, PolicyThreads
from partstream.hub.policy.values import PolicyAnswer, PolicyRequest
from partstream.hub.pricing import asked_output, with_output_limit
from partstream.protocols.failures import FailureKind, ServedFailure
from partstream.serving.failures import RequestFailedError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping
    from concurrent.futures import Future

    from partstream.hub.hub import DirectoryCaller
    from partstream.hub.policy.checking import CheckedResult
    from partstream.hub.policy.loading import PolicyFunctions
    from partstream.hub.store.values import LedgerRow
    from partstream.serving.admission import AnswerRequest
    from partstream.serving.authentication import Caller
    from partstream.serving.models import CataloguedModel

__all__ = ["HubPolicy"]

_logger = logging.getLogger("partstream.hub")

_RETRY_SECONDS: Final = 5.0
_SECRET_HEADERS: Final = frozenset({"authorization", "cookie", "proxy-authorization"})


class HubPolicy:
    """The policy of one worker.

    Args:
        functions: The functions of the policy.
        seconds: How long it may take to decide.
        most_bytes: The most bytes of a conversation that it gives back.
        key_headers: The headers that may hold keys.
        find_model: Finds a model that a caller may use; raises for every other one.
    """

    def __init__(
        self,
        functions: PolicyFunctions,
        seconds: float,
        most_bytes: int,
        key_headers: Iterable[str],
        find_model: Callable[[str, Caller], Awaitable[CataloguedModel]],
    ) -> None:
        self._functions = functions
        self._seconds = seconds
        self._most_bytes = most_bytes
        self._hidden = _SECRET_HEADERS | frozenset(key_headers)
        self._find_model = find_model
        self._threads = PolicyThreads(seconds)

    async def before_request(self, asking: DirectoryCaller, request: AnswerRequest) -> AnswerRequest:
        """The request as the policy lets it go on.

        Raises:
            RequestFailedError: It refuses the request, or does not decide as it should.
        """
        function = self._functions.before_request
        if function is None:
            return request
        decided = await self._decided(function, _described(asking, request, self._shown(request.headers)))
        if decided.refusal is not None:
            failure = ServedFailure(FailureKind.FORBIDDEN, decided.refusal, code="refused_by_policy")
            raise RequestFailedError(failure)
        return await self._changed(request, decided)

    def at_end(self, row: LedgerRow) -> None:
        """Tells the policy of an answer that is over; returns at once."""
        function = self._functions.at_end
        if function is None:
            return
        try:
            self._threads.call(function, _ended(row), lambda _: None).add_done_callback(_say_failure)
        except PolicyBusyError:
            _logger.warning("the policy was not told of the end of an answer: too many calls of it have not ended")

    async def start(self) -> None:
        """Does nothing: threads start with the first call."""

    async def stop(self) -> None:
        """Begins no more calls."""
        self._threads.close()

    # ---- one decision ----

    async def _decided(self, function: Callable[..., object], described: PolicyRequest) -> CheckedResult:
        try:
            # A copy is made where it is used: it is work, and what the policy does to it is seen by nobody.
            calling = self._threads.call(_with_copy(function), described, self._read)
        except PolicyBusyError:
            raise self._undecided("calls of it that have not ended are too many") from None
        try:
            async with asyncio.timeout(self._seconds):
                return await asyncio.wrap_future(calling)
        except TimeoutError:
            raise self._undecided(f"it has not decided within {self._seconds:g} s") from None
        except PolicyFailedError as error:
            raise self._failed(error.reason) from None

    def _read(self, result: object) -> CheckedResult:
        return checked_result(result, self._most_bytes)

    @staticmethod
    def _undecided(reason: str) -> RequestFailedError:
        _logger.error("the policy of the hub holds up a request: %s", reason)
        said = "the policy of this hub has not decided on this request in time; ask again"
        return RequestFailedError(ServedFailure(FailureKind.OVERLOADED, said, retry_after=_RETRY_SECONDS))

    @staticmethod
    def _failed(reason: str) -> RequestFailedError:
        _logger.error("the policy of the hub failed: %s", reason)
        said = "the policy of this hub could not decide on this request; the hub's log says why"
        return RequestFailedError(ServedFailure(FailureKind.FORBIDDEN, said, code="policy_failed"))

    # ---- what it gives back ----

    async def _changed(self, request: AnswerRequest, decided: CheckedResult) -> AnswerRequest:
        asked, model = request.asked, request.model
        if decided.model is not None and decided.model != model.id:
            try:
                model = await self._find_model(decided.model, request.caller)
            except PartstreamError as error:
                raise self._failed(f"{error}") from None
        if decided.messages is not None:
            asked = replace(asked, messages=decided.messages)
        wanted = asked_output(asked)
        if decided.max_output_tokens is not None and (wanted is None or decided.max_output_tokens < wanted):
            asked = with_output_limit(asked, decided.max_output_tokens)
        return (
            request if asked is request.asked and model is request.model else replace(request, asked=asked, model=model)
        )

    def _shown(self, headers: Mapping[str, str]) -> Mapping[str, str]:
        return MappingProxyType({name: value for name, value in headers.items() if name not in self._hidden})


def _with_copy(function: Callable[..., object]) -> Callable[[PolicyRequest], object]:
    """The same function, given a copy of its own."""
    if inspect.iscoroutinefunction(function):

        async def call_later(request: PolicyRequest) -> object:
            return await function(_copied(request))

        return call_later
    return lambda request: function(_copied(request))


def _copied(request: PolicyRequest) -> PolicyRequest:
    return replace(request, messages=copy.deepcopy(request.messages))


def _described(asking: DirectoryCaller, request: AnswerRequest, headers: Mapping[str, str]) -> PolicyRequest:
    asked, client = request.asked, request.client
    return PolicyRequest(
        request_id=request.request_id,
        person=asking.person.name,
        team=asking.person.team,
        key_id=asking.key.id,
        model=request.model.id,
        messages=asked.messages,
        tools=tuple(tool.name for tool in asked.options.tools),
        max_output_tokens=asked_output(asked),
        wire=request.wire,
        client=client.name,
        session=client.session,
        headers=headers,
        is_count=request.is_count,
    )


def _ended(row: LedgerRow) -> PolicyAnswer:
    return PolicyAnswer(
        row.answer_id,
        row.person,
        row.team,
        row.key_id,
        row.model,
        row.provider,
        row.input_tokens,
        row.output_tokens,
        row.nanodollars,
        row.is_estimated,
        row.status,
        row.outcome,
        row.seconds,
    )


def _say_failure(calling: Future[None]) -> None:
    if not calling.cancelled() and (error := calling.exception()) is not None:
        _logger.error("the policy failed at the end of an answer: %s", error)
