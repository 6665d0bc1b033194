"""Who may have which answer of a hub: the key, the models, the rates, the budgets; without I/O while leases last."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from partstream.hub.audit import begun_row, keeps_content
from partstream.hub.budgets.errors import BudgetError, JournalError
from partstream.hub.directory import BudgetUnit, Owner, OwnerKind, may_use
from partstream.hub.input_bound import close_bound, wide_bound
from partstream.hub.meter import AnswerMeter
from partstream.hub.needs import RequestBound, output_within, shrunk
from partstream.hub.output_limit import asked_output, is_plain_limit, with_output_limit
from partstream.hub.permit import CountPermit, HubPermit
from partstream.hub.pricing import charged_price
from partstream.hub.rate_limits import RateGate, TooFast
from partstream.hub.refusals import not_admitted, too_fast, unpriced, whom_to_ask
from partstream.hub.routing.listing import is_behind_a_route
from partstream.hub.routing.provider import ROUTES
from partstream.protocols.failures import FailureKind, ServedFailure
from partstream.serving.admission import Admitted
from partstream.serving.failures import RequestFailedError
from partstream.tokens import Counters, MessageCounter

if TYPE_CHECKING:
    from collections.abc import Mapping

    from partstream.hub.budgets.reservation import Reservation
    from partstream.hub.directory import BudgetRule, Directory, RateLimits
    from partstream.hub.hub import DirectoryCaller, Hub
    from partstream.hub.policy.deciding import HubPolicy
    from partstream.hub.pricing import ChargedPrice
    from partstream.hub.rate_limits import RatePass
    from partstream.hub.store.values import LedgerRow
    from partstream.outputs import InboundRequest
    from partstream.serving.admission import AnswerRequest, Reported
    from partstream.serving.authentication import Caller
    from partstream.serving.models import CataloguedModel

__all__ = ["HubAdmission"]

_TRUSTED_FACTOR: Final = 2
_TRUSTED_TOKENS: Final = 64
"""How far the count of an answer may exceed its limit, by estimate, before its upstream plainly keeps none."""
_STEP: Final = 256
"""The tokens of output that an answer reserves more at a time, where it has outrun its limit."""
_RETRY_SECONDS: Final = 1.0


class HubAdmission:
    """Decides for the people of one hub, see :class:`partstream.serving.admission.Admission`.

    Args:
        hub: The worker.
        policy: What of the owner's own looks at every request; None for nothing.
        counters: The tokenizers that are installed; None for those that are found.
    """

    def __init__(self, hub: Hub, policy: HubPolicy | None = None, counters: Counters | None = None) -> None:
        self._hub = hub
        self._policy = policy
        self._gate = RateGate()
        self._counters = counters or Counters()
        hub.worker.on_did_change_directory(self._forget_rates)

    @property
    def is_ready(self) -> bool:
        """Whether it was read once who may ask."""
        return self._hub.directory() is not None

    def models_of(self, caller: Caller, models: Mapping[str, CataloguedModel]) -> Mapping[str, CataloguedModel]:
        """The models that a caller may use.

        Raises:
            RequestFailedError: The key is accepted no more.
        """
        asking = self._hub.require(caller)
        directory, key = asking.directory, asking.key
        return {
            name: model
            for name, model in models.items()
            if may_use(directory, key, name)
            and (model.provider_name == ROUTES or not is_behind_a_route(model, directory.routes))
        }

    async def admit(self, request: AnswerRequest) -> Admitted:
        """Admits a request, and reserves what it can take at most.

        Raises:
            RequestFailedError: It is refused.
        """
        asking = self._hub.require(request.caller)
        rate = self._enter(asking, request)
        try:
            if self._policy is not None:
                request = await self._policy.before_request(asking, request)
            if request.is_count:
                return Admitted(request.asked, request.model, CountPermit(rate))
            return await self._reserved(asking, request, rate)
        except BaseException:
            rate.end(0)
            raise

    # ---- rates ----

    def _enter(self, asking: DirectoryCaller, request: AnswerRequest) -> RatePass:
        now, workers = asyncio.get_running_loop().time(), max(1, self._hub.worker.live_workers)
        found = self._gate.enter(_limits(asking), 0, workers, now)
        if isinstance(found, TooFast):
            raise too_fast(found, self._contact(asking.directory))
        return found

    def _forget_rates(self, directory: Directory) -> None:
        owners = (Owner(OwnerKind.TEAM, name) for name in directory.teams)
        people = (Owner(OwnerKind.PERSON, name) for name in directory.people)
        self._gate.keep(frozenset((*owners, *people, *(Owner(OwnerKind.KEY, key) for key in directory.keys))))

    # ---- budgets ----

    async def _reserved(self, asking: DirectoryCaller, request: AnswerRequest, rate: RatePass) -> Admitted:
        directory, model = asking.directory, request.model
        rules = directory.budgets_of(asking.key)
        price = charged_price(directory, model)
        of_money = next((rule for rule in rules if rule.unit is BudgetUnit.MONEY), None)
        if of_money is not None and price is None:
            raise unpriced(directory, model.id, of_money)
        bound = self._bound(request.asked, model, price)
        begun = begun_row(asking, request, self._hub.settings.clock())
        try:
            reservation, bound = await self._reserve(begun, rules, request, bound)
        except (BudgetError, JournalError) as error:
            raise self._refusal(error, directory) from error
        try:
            asked, reported = _within(request, reservation, rules, bound)
        except BaseException:
            reservation.drop()
            raise
        family, is_kept = model.information.family, keeps_content(asking)
        permit = HubPermit(reservation, rules, rate, family, price, reported, is_kept, self._ended)
        return Admitted(asked, model, permit)

    async def _reserve(
        self, begun: LedgerRow, rules: tuple[BudgetRule, ...], request: AnswerRequest, bound: RequestBound
    ) -> tuple[Reservation, RequestBound]:
        """Reserves by the bytes of the request, at once; where that is too much, by a closer count, or with waiting."""
        worker = self._hub.worker
        reservation = worker.try_reserve(begun, bound.needs(rules))
        if reservation is not None:
            return reservation, bound
        closer = close_bound(request.model.information.family, request.asked, self._counters)
        if closer is not None:
            bound = bound._replace(input_tokens=closer)
        return await worker.reserve(begun, bound.needs(rules)), bound

    @staticmethod
    def _bound(asked: InboundRequest, model: CataloguedModel, price: ChargedPrice | None) -> RequestBound:
        information = model.information
        wanted, most = asked_output(asked), information.max_output_tokens
        output = most if wanted is None else min(wanted, most)
        return RequestBound(wide_bound(information.family, asked), output, None if price is None else price.highest)

    def _refusal(self, error: BudgetError | JournalError, directory: Directory) -> RequestFailedError:
        if isinstance(error, BudgetError):
            return not_admitted(error, self._contact(directory))
        said = "the hub cannot write down what this answer would take; ask again"
        return RequestFailedError(ServedFailure(FailureKind.OVERLOADED, said, retry_after=_RETRY_SECONDS))

    def _contact(self, directory: Directory) -> str:
        return whom_to_ask(directory, self._hub.settings.contact)

    def _ended(self, row: LedgerRow) -> None:
        """Tells of an answer that was charged."""
        if self._policy is not None:
            self._policy.at_end(row)


def _limits(asking: DirectoryCaller) -> list[tuple[Owner, RateLimits]]:
    team = asking.directory.team_of(asking.person)
    return [
        (Owner(OwnerKind.KEY, asking.key.id), asking.key.rates),
        (Owner(OwnerKind.PERSON, asking.person.name), asking.person.rates),
        *([] if team is None else [(Owner(OwnerKind.TEAM, team.name), team.rates)]),
    ]


def _within(
    request: AnswerRequest, reservation: Reservation, rules: tuple[BudgetRule, ...], bound: RequestBound
) -> tuple[InboundRequest, Reported | None]:
    """The request with a limit that its reservation covers, and what looks at the parts of its answer.

    The limit that is sent is the one that is reserved, under a name that every upstream understands. Some upstreams
    keep none, so every answer is counted, also one whose client has asked for a short one.
    """
    if not rules:
        return request.asked, None
    output = output_within(bound, reservation, rules)
    asked, wanted = request.asked, asked_output(request.asked)
    if output < bound.output_tokens:
        shrunk(bound, reservation, rules, output)
        asked = with_output_limit(asked, output)
    elif wanted is not None and not is_plain_limit(asked):
        asked = with_output_limit(asked, wanted)

    def top_up(tokens: int) -> bool:
        return all(reservation.top_up(rule, bound.step(rule, tokens)) for rule in rules)

    counter = MessageCounter(request.model.information.family)
    trusted = None if output < bound.output_tokens else _TRUSTED_FACTOR * output + _TRUSTED_TOKENS
    return asked, AnswerMeter(output, _STEP, top_up, lambda text: counter.count_text(text).tokens, trusted).reported
