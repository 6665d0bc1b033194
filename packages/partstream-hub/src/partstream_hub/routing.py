"""One model of a hub over several upstreams: an ordinary provider whose models several providers answer.

A request asks one upstream after the other until one has begun to answer. Nothing is sent twice to the same upstream
while another one is left, and nothing is asked again once a part was reported.

1. The order comes from rendezvous hashing of the conversation, by weight, without a memory of conversations: every
   worker computes the same order, so a conversation stays where its prompt is cached, and a new or removed upstream
   moves only the conversations that gain or lose by it. Affinity only saves money
   (docs/wires/serving.md#affinity-of-sessions). The upstreams of the fallbacks follow.
2. A circuit for each upstream leaves it alone after failures in a row, or for as long as it asked, and then tries it
   with one request. Circuits and selection have no clock: the caller gives the time, in seconds that only grow.
3. A failure blames the upstream, and another one may answer, or the request, and it ends. An
   error of its key, its account or its model lasts.
4. The listing shows one model: the limits and capabilities that all upstreams have, and the highest price.
"""

from __future__ import annotations
import asyncio
import logging
import math
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from hashlib import blake2b
from math import inf, log
from secrets import token_hex
from typing import TYPE_CHECKING, Final, TypeAlias

from partstream import errors
from partstream.codec.checks import dataclass, replace
from partstream.lm.cancellation import CancellationToken, EventEmitter
from partstream.lm.outputs import HOSTED, Finish, InboundRequest
from partstream.lm.provider import LanguageModelChatProvider
from partstream.protocols.errors import COMMON_ERRORS, ErrorKind
from partstream.server.models import ForwardingProvider, ModelCatalogue, counted_request, unhosted_tools
from partstream.server.settings import CURRENT_ANSWER
from partstream.upstream.attempts import has_more_room, helps_another_model
from partstream.upstream.context import no_retries, report_dropped
from partstream.upstream.endpoint import CredentialError
from partstream.upstream.requests import ForwardingProgress
from partstream_hub.directory import ModelRoute, Route
from partstream_hub.pricing import COSTS, LONG_COSTS

if TYPE_CHECKING:
    from partstream.lm.messages import ChatMessage, RequestOptions
    from partstream.lm.parts import ResponsePart
    from partstream.lm.provider import LanguageModelChatInformation, Progress
    from partstream.server.clients import Caller
    from partstream.server.models import CataloguedModel
    from partstream.upstream.forwarding import RawRequest

# ---- Affinity ----

_BYTES: Final = 8
_STEPS: Final = 2 ** (8 * _BYTES)


def ranked(key: str, routes: Iterable[Route]) -> tuple[Route, ...]:
    """The upstreams in the order in which a conversation prefers them: of many keys, each is the first of its weight's
    share. Those of weight 0 are the last: a reserve."""

    def score(route: Route) -> tuple[bool, float]:
        # The weight divided by an exponential variable that the key and the name draw: the largest of these is that of
        # an upstream with the probability of its weight's share (weighted rendezvous hashing).
        named = "\0".join((key, route.provider, route.model)).encode(errors="replace")
        drawn = (int.from_bytes(blake2b(named, digest_size=_BYTES).digest(), "big") + 0.5) / _STEPS
        return route.weight > 0, (route.weight or 1) / -log(drawn) if drawn < 1.0 else inf

    return tuple(sorted(routes, key=score, reverse=True))


# ---- Attempts ----


class _AttemptProgress(ForwardingProgress):
    """Passes the parts of one attempt on, after which no other may follow, and keeps its end until it is the last."""

    information: LanguageModelChatInformation | None = None  # of the upstream's model, once that is known
    error: Exception | None = None  # why it could not answer

    def __init__(self, progress: Progress, attempt: Attempt) -> None:
        super().__init__(progress)
        self.attempt = attempt

    def report(self, part: ResponsePart, /) -> None:
        if not self._has_parts:
            self.attempt.circuit.began(self.attempt)
        super().report(part)

    async def drain(self) -> None:
        if (waiting := super().drain()) is not None:
            await waiting

    def finish(self, finish: Finish, /) -> None:
        self.last = finish


# ---- Circuits ----


_FAILURES: Final = 3  # in a row: requests that got no part, or answers that broke off
_FIRST_PAUSE: Final = 5.0
_LONGEST_PAUSE: Final = 60.0
_LONGEST_WAIT: Final = 3600.0
"""For how many seconds an upstream is left alone the first time, and at most, as each probe that fails doubles it; and
at most where it has asked for it itself."""


@dataclass(slots=True, eq=False)
class Circuit:
    """What is known of the health of one upstream."""

    _failures: int = 0
    _breaks: int = 0
    _generation: int = 0
    opens_until: float | None = None  # None while it is closed
    _pause: float = 0.0
    _asked_to_wait: bool = False
    _probe: Attempt | None = None

    def admits(self, now: float) -> bool:
        """Whether a request may go there: always while it is closed, never while it is open, and then one at a time."""
        return self.opens_until is None or (now >= self.opens_until and self._probe is None)

    def asked_wait(self, now: float) -> float | None:
        """The seconds that the upstream itself still asks to wait; None if it does not."""
        left = (self.opens_until or now) - now
        return left if self._asked_to_wait and left > 0 else None

    def begin(self) -> Attempt:
        """A request goes there; one of the next four calls says how it went."""
        attempt = Attempt(self, self._generation)
        if self.opens_until is not None and self._probe is None:
            self._probe = attempt
        return attempt

    def began(self, attempt: Attempt) -> None:
        """The upstream has begun to answer."""
        if not self._is_older(attempt):
            self._failures = 0
            if self.opens_until is not None:
                self._turn(None)
                attempt.generation = self._generation
        attempt.has_begun = True

    def failed(self, attempt: Attempt, now: float, pause: float | None = None, *, is_asked: bool = False) -> None:
        """The upstream could not answer, or broke its answer off; it is to be left alone at once for a pause, which it
        may have asked for itself. Without one, the failure may be one of its kind."""
        is_known = attempt is not self._probe if self.opens_until is not None else self._is_older(attempt)
        if is_known:
            return  # the circuit has opened since it began, for failures of the same time
        if attempt.has_begun:
            self._breaks += 1
        else:
            self._failures += 1
        if pause is not None:
            self._turn(now + min(pause, _LONGEST_WAIT if is_asked else _LONGEST_PAUSE), is_asked=is_asked)
        elif self.opens_until is not None or max(self._failures, self._breaks) >= _FAILURES:
            self._pause = min(2 * self._pause, _LONGEST_PAUSE) or _FIRST_PAUSE
            self._turn(now + self._pause)

    def completed(self, attempt: Attempt) -> None:
        """The answer is whole."""
        self.began(attempt)
        if not self._is_older(attempt):
            self._breaks = 0
            self._pause = 0.0

    def left(self, attempt: Attempt) -> None:
        """Nothing more is learned from a request: its client has left, or it is to blame itself."""
        if attempt is self._probe:
            self._probe = None

    def _is_older(self, attempt: Attempt) -> bool:
        return attempt.generation != self._generation

    def _turn(self, opens_until: float | None, *, is_asked: bool = False) -> None:
        self.opens_until, self._asked_to_wait = opens_until, is_asked
        self._failures = self._breaks = 0
        self._probe = None
        self._generation += 1


@dataclass(slots=True, eq=False)
class Attempt:
    """One request to an upstream."""

    circuit: Circuit
    generation: int  # how often the circuit had changed when it began
    has_begun: bool = False
    route: Route = Route("", "")
    is_last: bool = False  # no other upstream was left when it was selected

    def ended(self, blame: Blame | None, now: float) -> None:
        """The answer is whole, or failed with some blame."""
        if blame is None:
            self.circuit.completed(self)
        elif blame.is_of_upstream:
            self.circuit.failed(self, now, blame.pause, is_asked=blame.is_asked)
        else:
            self.circuit.left(self)


# ---- Failures ----

_OF_THE_ACCOUNT: Final = frozenset(
    {ErrorKind.NO_PERMISSION, ErrorKind.NO_CREDIT, ErrorKind.QUOTA_SPENT, ErrorKind.UNKNOWN_MODEL}
)
"""Errors about the key, the account or the model there: another upstream has its own; this one would repeat them."""


@dataclass(frozen=True, slots=True)
class Blame:
    """What a failure means for its upstream."""

    is_of_upstream: bool  # another upstream may answer; else the request is to blame
    pause: float | None = None  # the seconds for which it is left alone at once; None where one failure says too little
    is_asked: bool = False  # the upstream asked for that pause itself


_OF_THE_REQUEST: Final = Blame(is_of_upstream=False)
_ONE_OF_ITS_KIND: Final = Blame(is_of_upstream=True)
_LASTS: Final = Blame(is_of_upstream=True, pause=math.inf)


def blame_of(error: Exception) -> Blame:
    """What a failure means for its upstream.

    An error that is none of ours comes from the code of a provider, which could not reach what it asks, or has a fault:
    another provider may do better.
    """
    if isinstance(error, CredentialError | errors.UnknownModelError):
        return _LASTS
    if not isinstance(error, errors.UpstreamError):
        # The failure of a provider's own code, which blames neither the request nor the upstream.
        is_unspecified = (
            type(error) is errors.LanguageModelError and error.code is errors.LanguageModelErrorCode.UNSPECIFIED
        )
        return _OF_THE_REQUEST if isinstance(error, errors.PartstreamError) and not is_unspecified else _ONE_OF_ITS_KIND
    # Something came with a status of success that is no answer, such as the page of a login.
    is_no_answer = isinstance(error, errors.UpstreamHTTPError) and (error.http_status or 0) < 400
    if isinstance(error, errors.UpstreamProtocolError) or is_no_answer:
        return _ONE_OF_ITS_KIND
    is_of_account = COMMON_ERRORS.kind_of(error) in _OF_THE_ACCOUNT
    may_help = is_of_account or helps_another_model(error, COMMON_ERRORS)
    if isinstance(error, errors.ContextLengthExceededError) or not may_help:
        return _OF_THE_REQUEST
    if error.retry_after is not None:
        return Blame(is_of_upstream=True, pause=error.retry_after, is_asked=True)
    return _LASTS if is_of_account else _ONE_OF_ITS_KIND


# ---- Listing ----


def is_behind_a_route(model: CataloguedModel, routes: Mapping[str, ModelRoute]) -> bool:
    """Whether a model of one of the worker's own providers is to be had by its route alone: it is not listed beside
    it, and a request that names it cannot go around the route."""
    name, model_id = model.provider_name, model.information.id
    if any((one.provider, one.model) == (name, model_id) for route in routes.values() for one in route.upstreams):
        return True
    own = routes.get(model_id)
    return own is not None and not own.upstreams and bool(own.fallbacks)


def routed_information(
    route: ModelRoute,
    upstreams: Sequence[LanguageModelChatInformation],
    in_its_place: Sequence[LanguageModelChatInformation] = (),
) -> LanguageModelChatInformation:
    """The description of a routed model: the name and the look of its first upstream, the limits, capabilities and
    choices that all of them have, and the highest price that an answer may have, also of those that answer in its
    place. A price that one of its own upstreams does not report is unknown: it may be higher.

    The models of the upstreams, at least one, begin with those of the largest share.
    """
    first, tools = upstreams[0], [one.capabilities.tool_calling for one in upstreams]
    extra = dict(first.extra)
    if any(one.extra.get("configurationSchema") != extra.get("configurationSchema") for one in upstreams):
        extra.pop("configurationSchema", None)
    for name in (*COSTS, *LONG_COSTS):
        extra.pop(name, None)
        prices = [one.extra.get(name) for one in (*upstreams, *in_its_place)]
        if all(isinstance(one, int | float) for one in prices[: len(upstreams)]):
            extra[name] = max(one for one in prices if isinstance(one, int | float))
    return replace(
        first,
        id=route.name,
        max_input_tokens=min(one.max_input_tokens for one in upstreams),
        max_output_tokens=min(one.max_output_tokens for one in upstreams),
        capabilities=replace(
            first.capabilities,
            image_input=all(one.capabilities.image_input for one in upstreams),
            # The smallest number of tools where one says a number.
            tool_calling=all(tools) and min((one for one in tools if one is not True), default=True),
        ),
        extra=extra,
    )


# ---- Selection ----


Circuits: TypeAlias = "defaultdict[tuple[str, str], Circuit]"
"""The circuits of all upstreams, each by its provider and its model."""


class Selection:
    """The upstreams of one answer, each asked once at most, in their order; of two that are alike, the first counts."""

    def __init__(self, ranking: Iterable[Route], circuits: Circuits) -> None:
        self._left = [*{one[:2]: one for one in ranking}.values()]
        self._circuits = circuits
        self._has_asked = False

    def next(self, now: float) -> Attempt | None:
        """The upstream that is asked next: the first one left whose circuit admits a request.

        A circuit only chooses between upstreams. Where it admits to none, the first one is asked all the same, once,
        unless it asked to be left alone itself.
        """
        left = [self._circuits[one[:2]] for one in self._left]
        place = next((at for at, one in enumerate(left) if one.admits(now)), None)
        if place is None and not self._has_asked:
            place = next((at for at, one in enumerate(left) if one.asked_wait(now) is None), None)
        if place is None:
            return None
        self._has_asked = True
        attempt = left.pop(place).begin()
        attempt.route, attempt.is_last = self._left.pop(place), not any(one.admits(now) for one in left)
        return attempt

    def shortest_wait(self, now: float) -> float | None:
        """The seconds until the first of those that are left may be asked again; None where none asked to wait."""
        waits = (self._circuits[route[:2]].asked_wait(now) for route in self._left)
        return min((wait for wait in waits if wait is not None), default=None)


# ---- Models of the upstreams ----

_LIST_SECONDS: Final = 10.0  # how long a list is waited for
_KEPT_SECONDS: Final = 300.0  # how long a list is kept


class UpstreamModels:
    """The models of the providers that routes name."""

    def __init__(self, providers: Mapping[str, LanguageModelChatProvider]) -> None:
        self._lists = {name: ModelCatalogue({name: one}, (), _KEPT_SECONDS) for name, one in providers.items()}

    async def find(self, route: Route) -> CataloguedModel:
        """The model of an upstream; a `LanguageModelError` where there is none, or it cannot be found out in time."""
        own = self._lists.get(route.provider)
        if own is None:
            raise errors.UnknownModelError(f"{route.provider}/{route.model}", ())
        try:
            async with asyncio.timeout(_LIST_SECONDS):
                return await own.find(route.model)
        except TimeoutError:
            raise errors.UpstreamTimeoutError(errors.TimeoutPhase.FIRST_EVENT, _LIST_SECONDS) from None

    async def known(self, routes: Iterable[Route]) -> dict[tuple[str, str], LanguageModelChatInformation]:
        """What is known of upstreams, by provider and model; those are missing whose list cannot be had now."""
        wanted = sorted({route.provider for route in routes} & self._lists.keys())
        lists = await asyncio.gather(*map(self._list, wanted))
        return {(one.provider_name, one.information.id): one.information for models in lists for one in models}

    async def offering(self, model_id: str) -> tuple[Route, ...]:
        """The upstreams that a model has by its id alone: the first provider that offers it."""
        for seconds in (0.0, _LIST_SECONDS):  # one whose list could not be had is waited for where no other offers it
            lists = await asyncio.gather(*(self._list(name, seconds) for name in self._lists))
            for name, models in zip(self._lists, lists, strict=True):
                if any(one.information.id == model_id for one in models):
                    return (Route(name, model_id),)
        return ()

    async def _list(self, name: str, *seconds: float) -> tuple[CataloguedModel, ...]:
        try:
            async with asyncio.timeout(_LIST_SECONDS):
                return tuple((await self._lists[name].models(*seconds)).values())
        except TimeoutError:
            return ()


# ---- The provider ----

ROUTES: Final = "routes"  # what the provider of the routed models is called among the providers of a worker
_logger = logging.getLogger("partstream.hub")


class RoutedProvider(LanguageModelChatProvider):
    """Offers the routed models of a hub, each of which several upstreams answer.

    Args:
        providers: The worker's own providers by name; their maker closes them.
        routes: The routed models by name; those without upstreams and fallbacks are not offered here.
        may_use: Whether a caller may use a model, for the models that answer in place of another.
    """

    hosts_tools = True

    def __init__(
        self,
        providers: Mapping[str, LanguageModelChatProvider],
        routes: Mapping[str, ModelRoute],
        *,
        may_use: Callable[[Caller, str], bool] = lambda caller, model: True,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._models = UpstreamModels(providers)
        self._routes = routes
        self._circuits: Circuits = defaultdict(Circuit)
        self._may_use = may_use
        self._now = now
        self._did_change: EventEmitter[None] = EventEmitter()
        self.on_did_change_language_model_chat_information = self._did_change.event
        for provider in providers.values():
            changed = provider.on_did_change_language_model_chat_information
            if changed is not None:
                changed(self._did_change.fire)

    def set_routes(self, routes: Mapping[str, ModelRoute]) -> None:
        """Takes other routes from now on; answers that run keep the upstreams that they were to be asked of."""
        if routes == self._routes:
            return
        self._routes = routes
        self._did_change.fire(None)

    async def provide_language_model_chat_information(
        self, silent: bool, token: CancellationToken
    ) -> Sequence[LanguageModelChatInformation]:
        """The routed models, each once; without those of which no upstream can be listed now."""
        routed = {name: route for name, route in self._routes.items() if route.upstreams or route.fallbacks}
        # Of each model its own upstreams, those of the largest share first, and those that answer in its place.
        found, names = {}, [*{*routed, *(name for route in routed.values() for name in route.fallbacks)}]
        upstreams = dict(zip(names, await asyncio.gather(*map(self._upstreams_of, names)), strict=True))
        for name, route in routed.items():
            own = sorted(upstreams[name], key=lambda one: one.weight, reverse=True)
            found[name] = own, [one for other in route.fallbacks for one in upstreams[other]]
        known = await self._models.known(one for pair in found.values() for routes in pair for one in routes)
        listed = []
        for name, pair in found.items():
            own_models, others = ([known[one[:2]] for one in routes if one[:2] in known] for routes in pair)
            if own_models and name in self._routes:
                listed.append(routed_information(self._routes[name], own_models, others))
        return listed

    async def provide_language_model_chat_response(
        self,
        model: LanguageModelChatInformation,
        messages: Sequence[ChatMessage],
        options: RequestOptions,
        progress: Progress,
        token: CancellationToken,
    ) -> None:
        """Asks the upstreams in the order in which the conversation prefers them, until one begins to answer; raises
        what the last of them raised.

        Raises:
            UpstreamError: All of them asked to be left alone for a while.
            UnknownModelError: The model is routed no more.
        """
        selection = Selection(await self._ranking(model.id), self._circuits)
        before, current = None, CURRENT_ANSWER.get()
        while (attempt := selection.next(self._now())) is not None:
            tried = _AttemptProgress(progress, attempt)
            try:
                found = await self._models.find(attempt.route)
                tried.information = found.information
                if not _has_room(found.information, before):
                    attempt.circuit.left(attempt)
                    continue
                if current is not None:
                    current.upstream = attempt.route.provider
                if before is not None and before.error is not None:
                    said = errors.with_facts(str(before.error), before.error)
                    place = (attempt.route.model, attempt.route.provider, model.id)
                    _logger.warning("asking %s of %s for %s in place of: %s", *place, said)
                if tried.passage is not None and not isinstance(found.provider, ForwardingProvider):
                    tried.passage.leave()
                    tried.passage.request.check_translatable()
                    report_dropped(tried.passage.request.unread)  # it gets what was read, and nothing else
                report_dropped(unhosted_tools(found.provider, options.model_options.get(HOSTED, ())))
                with nullcontext() if attempt.is_last else no_retries():
                    await found.provider.provide_language_model_chat_response(
                        found.information, messages, options, tried, token
                    )
            except Exception as error:
                tried.error = error
            except BaseException:
                attempt.circuit.left(attempt)
                raise
            if self._is_over(tried, token):
                return
            before = tried
        if before is None or before.error is None:
            wait = selection.shortest_wait(self._now()) or 0.0
            said = f"all upstreams of {model.id} ask to wait, the first of them for {wait:.0f} s"
            raise errors.UpstreamError(
                said, code=errors.LanguageModelErrorCode.BLOCKED, http_status=429, retry_after=wait
            )
        before.ended()
        raise before.error

    async def provide_token_count(
        self, model: LanguageModelChatInformation, text: str | ChatMessage, token: CancellationToken
    ) -> int:
        """The tokens as the upstream with the largest share counts them."""
        found = await self._first(model.id)
        return await found.provider.provide_token_count(found.information, text, token)

    async def provide_request_token_count(
        self,
        model: LanguageModelChatInformation,
        messages: Sequence[ChatMessage],
        options: RequestOptions,
        token: CancellationToken,
    ) -> int:
        """The tokens of a whole request, as the upstream with the largest share counts them."""
        found = await self._first(model.id)
        return await counted_request(found, InboundRequest(found.id, tuple(messages), options), token)

    async def forward_count(
        self, model: LanguageModelChatInformation, request: RawRequest, token: CancellationToken
    ) -> bytes | None:
        """A request's tokens as the upstream with the largest share counts them, in the document of its wire."""
        found = await self._first(model.id)
        if not isinstance(found.provider, ForwardingProvider):
            return None
        return await found.provider.forward_count(found.information, request, token)

    def _is_over(self, tried: _AttemptProgress, token: CancellationToken) -> bool:
        """Notes how an upstream did, and whether the answer is whole; an error of it is raised, unless another upstream
        may answer."""
        attempt, error, is_cancelled = tried.attempt, tried.error, token.is_cancellation_requested
        # One that has answered may say its failure as a text of the answer.
        said = tried.last.error if error is None and tried.last is not None else error
        blame = None if said is None else blame_of(said)
        attempt.ended(_OF_THE_REQUEST if is_cancelled else blame, self._now())
        if error is None:
            tried.ended()
            return True
        may_help = isinstance(error, errors.ContextLengthExceededError) or (blame is not None and blame.is_of_upstream)
        if not is_cancelled:
            if may_help and not tried.has_begun:
                return False
            tried.ended()
        raise error

    async def _ranking(self, name: str) -> list[Route]:
        """The upstreams of a model, then those of the models that answer in its place, as a conversation prefers them;
        an `UnknownModelError` where it is routed no more."""
        route = self._routes.get(name)
        if route is None:
            raise errors.UnknownModelError(name, tuple(self._routes))
        answer = CURRENT_ANSWER.get()
        # What tells the conversation from others: the caller with his session, else the caller.
        conversation = "" if answer is None else f"{answer.caller.name}\0{answer.client.session or ''}"
        key = conversation if route.affinity else token_hex(8)
        others = (one for one in route.fallbacks if answer is None or self._may_use(answer.caller, one))
        return [upstream for one in (name, *others) for upstream in ranked(key, await self._upstreams_of(one))]

    async def _upstreams_of(self, name: str) -> tuple[Route, ...]:
        route = self._routes.get(name)
        return route.upstreams if route is not None and route.upstreams else await self._models.offering(name)

    async def _first(self, name: str) -> CataloguedModel:
        """The upstream of a model with the largest share."""
        upstreams = await self._upstreams_of(name)
        if not upstreams:
            raise errors.UnknownModelError(name, tuple(self._routes))
        return await self._models.find(max(upstreams, key=lambda one: one.weight))


def _has_room(other: LanguageModelChatInformation, before: _AttemptProgress | None) -> bool:
    """Whether another model may do better with a conversation that may have been too long."""
    error, own = (None, None) if before is None else (before.error, before.information)
    return not isinstance(error, errors.ContextLengthExceededError) or own is None or has_more_room(other, own, error)
