"""The provider of the routed models: an ordinary provider that stands for several.

One answer is asked of one upstream after the other until one has begun it. Nothing is sent twice to the same upstream
as long as there is another one, and nothing is asked again once a part was reported.
"""

from __future__ import annotations

import logging
import time
from contextlib import nullcontext
from dataclasses import dataclass
from secrets import token_hex
from typing import TYPE_CHECKING, Final

from partstream.error_facts import with_facts
from partstream.errors import (
    ContextLengthExceededError,
    LanguageModelErrorCode,
    UnknownModelError,
    UpstreamError,
)
from partstream.events import EventEmitter
from partstream.hub.routing.affinity import ranked
from partstream.hub.routing.attempt_progress import AttemptProgress
from partstream.hub.routing.circuit import CircuitRules
from partstream.hub.routing.failures import blame_of
from partstream.hub.routing.listing import is_routed, routed_information
from partstream.hub.routing.selection import Circuits, Selection
from partstream.hub.routing.upstream_models import UpstreamModels
from partstream.outputs import InboundRequest
from partstream.provider import LanguageModelChatProvider
from partstream.serving.counting import counted_request
from partstream.serving.current_answer import current_answer
from partstream.upstreams.fallbacks import has_more_room
from partstream.upstreams.one_attempt import one_attempt

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from partstream.cancellation import CancellationToken
    from partstream.hub.directory import ModelRoute, Route
    from partstream.hub.routing.circuit import CircuitState
    from partstream.hub.routing.selection import Selected
    from partstream.messages import ChatMessage, RequestOptions
    from partstream.provider import LanguageModelChatInformation, Progress
    from partstream.serving.authentication import Caller
    from partstream.serving.models import CataloguedModel

__all__ = ["ROUTES", "RoutedProvider", "UpstreamsBusyError"]

ROUTES: Final = "routes"
"""What the provider of the routed models is called among the providers of a worker."""

_logger = logging.getLogger("partstream.hub")


class UpstreamsBusyError(UpstreamError):
    """All upstreams of a model have asked to be left alone for a while.

    Attributes:
        model: The routed model.
    """

    def __init__(self, model: str, seconds: float) -> None:
        super().__init__(
            f"all upstreams of {model} ask to wait, the first of them for {seconds:.0f} s",
            code=LanguageModelErrorCode.BLOCKED,
            http_status=429,
            retry_after=seconds,
        )
        self.model = model


class RoutedProvider(LanguageModelChatProvider):
    """Offers the routed models of a hub, each of which several upstreams answer.

    Args:
        providers: The worker's own providers by name; whoever made them closes them.
        routes: The routed models by name; those without upstreams and fallbacks are not offered here.
        rules: When an upstream is left alone.
        may_use: Whether a caller may use a model, for the models that answer in place of another.
        now: A clock that only goes forward, in seconds.
    """

    def __init__(
        self,
        providers: Mapping[str, LanguageModelChatProvider],
        routes: Mapping[str, ModelRoute],
        *,
        rules: CircuitRules = CircuitRules(),  # noqa: B008 - immutable
        may_use: Callable[[Caller, str], bool] = lambda caller, model: True,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._models = UpstreamModels(providers)
        self._routes = routes
        self._circuits = Circuits(rules)
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
        self._circuits.keep_only(one for route in routes.values() for one in route.upstreams)
        self._did_change.fire(None)

    def circuits(self) -> Mapping[tuple[str, str], CircuitState]:
        """The state of each upstream that was asked, by provider and model."""
        return self._circuits.states(self._now())

    async def provide_language_model_chat_information(
        self, silent: bool, token: CancellationToken
    ) -> Sequence[LanguageModelChatInformation]:
        """The routed models, each once; without those of which no upstream can be listed now."""
        routed = {name: route for name, route in self._routes.items() if is_routed(route)}
        upstreams = {name: await self._upstreams_of(name) for name in routed}
        in_place = {
            name: [one for other in route.fallbacks for one in await self._upstreams_of(other)]
            for name, route in routed.items()
        }
        known = await self._models.known(one for routes in (*upstreams.values(), *in_place.values()) for one in routes)
        listed = []
        for name, routes in upstreams.items():
            by_share = sorted(routes, key=lambda one: one.weight, reverse=True)
            informations = [known[one.provider, one.model] for one in by_share if (one.provider, one.model) in known]
            if informations and name in self._routes:
                others = [
                    known[one.provider, one.model] for one in in_place[name] if (one.provider, one.model) in known
                ]
                listed.append(routed_information(self._routes[name], informations, others))
        return listed

    async def provide_language_model_chat_response(
        self,
        model: LanguageModelChatInformation,
        messages: Sequence[ChatMessage],
        options: RequestOptions,
        progress: Progress,
        token: CancellationToken,
    ) -> None:
        """Asks the upstreams in the order in which the conversation prefers them, until one begins to answer.

        Raises:
            UpstreamsBusyError: All of them asked to be left alone.
            UnknownModelError: The model is routed no more.
            Exception: What the last upstream that was asked raised.
        """
        answer = _Answer(model.id, messages, options, progress, token)
        selection = Selection(await self._ranking(model.id), self._circuits)
        failure: _Failure | None = None
        while (selected := selection.next(self._now())) is not None:
            failure = await self._attempt(selected, answer, failure)
            if failure is None:
                return
        if failure is None:
            raise UpstreamsBusyError(model.id, selection.shortest_wait(self._now()) or 0.0)
        failure.progress.end()
        raise failure.error

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

    # ---- one attempt ----

    async def _attempt(self, selected: Selected, answer: _Answer, before: _Failure | None) -> _Failure | None:
        """Asks one upstream.

        Returns:
            Why it could not answer, where another upstream may; None once the answer is whole.
        """
        progress, found = AttemptProgress(answer.progress, selected.began), None
        try:
            found = await self._models.find(selected.route)
            if before is not None and not before.is_helped_by(found.information):
                selected.left()
                return before
            _tell_of(selected.route, answer, before)
            with nullcontext() if selected.is_last else one_attempt():
                await found.provider.provide_language_model_chat_response(
                    found.information, answer.messages, answer.options, progress, answer.token
                )
        except Exception as error:
            return self._failed(
                selected, answer, _Failure(error, progress, None if found is None else found.information)
            )
        except BaseException:
            selected.left()
            raise
        self._returned(selected, answer, progress)
        return None

    def _returned(self, selected: Selected, answer: _Answer, progress: AttemptProgress) -> None:
        """Notes that an upstream has answered; one may say its failure as a text of the answer."""
        said = None if progress.said_finish is None else progress.said_finish.error
        if answer.token.is_cancellation_requested:
            selected.left()
        elif said is not None:
            selected.failed(blame_of(said), self._now())
        else:
            selected.completed()
        progress.end()

    def _failed(self, selected: Selected, answer: _Answer, failure: _Failure) -> _Failure:
        """Notes that an upstream could not answer.

        Raises:
            Exception: The failure, where no other upstream may answer.
        """
        if answer.token.is_cancellation_requested:
            selected.left()
            raise failure.error
        blame = blame_of(failure.error)
        selected.failed(blame, self._now())
        may_help = blame.is_of_upstream or isinstance(failure.error, ContextLengthExceededError)
        if failure.progress.has_begun or not may_help:
            failure.progress.end()
            raise failure.error
        return failure

    # ---- who answers ----

    async def _ranking(self, name: str) -> list[Route]:
        """The upstreams of a model, then those of the models that answer in its place, as a conversation prefers them.

        Raises:
            UnknownModelError: The model is routed no more.
        """
        route = self._routes.get(name)
        if route is None:
            raise UnknownModelError(name, tuple(self._routes))
        key = _conversation() if route.affinity else token_hex(8)
        names = [name, *filter(self._is_allowed, route.fallbacks)]
        return [upstream for one in names for upstream in ranked(key, await self._upstreams_of(one))]

    def _is_allowed(self, name: str) -> bool:
        """Whether the caller may use a model that answers in place of the one that he asked for."""
        answer = current_answer()
        return answer is None or self._may_use(answer.caller, name)

    async def _upstreams_of(self, name: str) -> tuple[Route, ...]:
        route = self._routes.get(name)
        return route.upstreams if route is not None and route.upstreams else await self._models.offering(name)

    async def _first(self, name: str) -> CataloguedModel:
        """The upstream of a model with the largest share."""
        upstreams = await self._upstreams_of(name)
        if not upstreams:
            raise UnknownModelError(name, tuple(self._routes))
        return await self._models.find(max(upstreams, key=lambda one: one.weight))


@dataclass(frozen=True, slots=True)
class _Answer:
    """What is asked, for whichever upstream."""

    model_id: str
    messages: Sequence[ChatMessage]
    options: RequestOptions
    progress: Progress
    token: CancellationToken


@dataclass(frozen=True, slots=True)
class _Failure:
    """Why an upstream could not answer.

    Attributes:
        error: What it raised.
        progress: What it had reported.
        information: Its model; None where that could not be had.
    """

    error: Exception
    progress: AttemptProgress
    information: LanguageModelChatInformation | None

    def is_helped_by(self, other: LanguageModelChatInformation) -> bool:
        """Whether another model may do better."""
        error, own = self.error, self.information
        return not isinstance(error, ContextLengthExceededError) or own is None or has_more_room(other, own, error)


def _conversation() -> str:
    """What tells the conversation from others: the caller with his session, else the caller."""
    answer = current_answer()
    return "" if answer is None else f"{answer.caller.name}\0{answer.client.session or ''}"


def _tell_of(route: Route, answer: _Answer, before: _Failure | None) -> None:
    """Says which upstream is asked, to the client, and in the log where it stands in for another one."""
    current = current_answer()
    if current is not None:
        current.upstream = route.provider
    if before is not None:
        said = with_facts(str(before.error), before.error)
        _logger.warning("asking %s of %s for %s in place of: %s", route.model, route.provider, answer.model_id, said)
