"""Who may have which answer of a hub: the key, the models, the rates, the budgets; in one transaction for each answer.

1. The rates, before a request is read: each worker keeps its share of a limit, which is the limit divided by the
   workers that live, so that all together keep it without asking each other. A person whose requests are balanced
   unevenly may be slowed down before the whole limit is reached. Budgets are exact, and kept elsewhere; that they cover
   the least that a large request takes is determined before it is read, too.
2. The policy, if the hub has one.
3. The budgets: what the request can take at most is reserved, by its bytes, else by a closer count; the output limit
   that is sent is the one that is reserved.
4. The permit settles in every case: what the answer took is charged, and its row is written. Texts are kept only where
   the policy of a team says so.

A refusal says whose budget it is, how much is left, when it resets, and whom to ask.
"""

from __future__ import annotations
import asyncio
import logging
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from zoneinfo import ZoneInfo

from partstream.codec.checks import dataclass, field
from partstream.codec.json_codec import dumps
from partstream.lm.parts import part_json
from partstream.protocols.failures import FailureKind, ServedFailure
from partstream.server.requests import RequestFailedError
from partstream.server.settings import Admitted, AnswerRequest, EndedAnswer, Entry, Reported
from partstream.tokens import Counters, bounds
from partstream.tokens.amounts import BudgetUnit, amount_text
from partstream.tokens.counting import counter_of, weight_of
from partstream.tokens.files import FileBound
from partstream.upstream.context import in_thread
from partstream_hub import pricing
from partstream_hub.budgets import BudgetError, BudgetSpentError, BudgetsUnreachableError
from partstream_hub.directory import AuditLevel, Need, Owner, OwnerKind, may_use
from partstream_hub.routing import ROUTES, is_behind_a_route
from partstream_hub.store.rows import COUNTS
from partstream_hub.store.values import AnswerContent, LedgerRow, Window

if TYPE_CHECKING:
    from partstream.lm.messages import ChatMessage
    from partstream.lm.outputs import InboundRequest
    from partstream.server.clients import Caller
    from partstream.server.models import CataloguedModel
    from partstream_hub.budgets import Reservation
    from partstream_hub.directory import BudgetRule, Directory, RateLimits
    from partstream_hub.hub import DirectoryCaller, Hub
    from partstream_hub.policy import HubPolicy

_logger = logging.getLogger("partstream.hub")

# ---- Admission ----

_TRUSTED_FACTOR: Final = 2
_TRUSTED_TOKENS: Final = 64
"""How far the count of an answer may exceed its limit, by estimate, before its upstream plainly keeps none."""
_BYTES_OF_A_TOKEN: Final = 128 * 1024
"""The most bytes of a body for each token of its input: files in base64 have the most."""
_MILLION: Final = 1_000_000
_NO_FILES: Final = FileBound(0, "")
_MOST_USABLE: Final = 64  # models of a caller that need not be looked for in the directory again
_STEP: Final = 256  # the tokens of output that an answer reserves more at a time, where it has outrun its limit


class HubAdmission:
    """Decides for the people of one hub, and asks the owner's policy; see
    :class:`partstream.server.settings.Admission`. A request that is refused ends with a `RequestFailedError`."""

    def __init__(self, hub: Hub, policy: HubPolicy | None = None) -> None:
        self._hub = hub
        self._policy = policy
        self._gate = RateGate()
        self._counters = Counters()
        hub.worker.on_did_change_directory(self._gate.keep)

    @property
    def is_ready(self) -> bool:
        """Whether it was read once who may ask."""
        return self._hub.directory() is not None

    def models_of(self, caller: Caller, models: Mapping[str, CataloguedModel]) -> Mapping[str, CataloguedModel]:
        """The models that a caller may use."""
        asking = self._hub.require(caller)
        directory, key, usable = asking.directory, asking.key, asking.usable
        if len(usable) > _MOST_USABLE:
            usable.clear()
        for name, model in models.items():
            if (
                usable.get(name) is not model
                and may_use(directory, key, name)
                and (model.provider_name == ROUTES or not is_behind_a_route(model, directory.routes))
            ):
                usable[name] = model
        return {name: model for name, model in models.items() if usable.get(name) is model}

    async def admit(self, request: AnswerRequest) -> Admitted:
        """Admits a request, and reserves what it can take at most."""
        asking = self._hub.require(request.caller)
        rate = self.enter(request.caller) if request.entry is None else request.entry
        try:
            if self._policy is not None:
                request = await self._policy.before_request(asking, request)
            if request.is_count:
                return Admitted(request.asked, request.model, CountPermit(rate))
            return await self._reserved(asking, request, rate)
        except BaseException:
            rate.end(0)
            raise

    def enter(self, caller: Caller) -> RatePass:
        """Lets a caller send a request, by his rates."""
        asking = self._hub.require(caller)
        now, workers = asyncio.get_running_loop().time(), max(1, self._hub.worker.live_workers)
        found = self._gate.enter(asking.limits, workers, now)
        if isinstance(found, TooFast):
            said = f"the limit of {found.owner} is {found.limit}; for more, ask {self._contact(asking.directory)}"
            raise RequestFailedError(ServedFailure(FailureKind.RATE_LIMITED, said, retry_after=found.retry_after))
        return found

    async def afford(self, caller: Caller, models: Mapping[str, CataloguedModel], request_id: str, size: int) -> None:
        """Looks whether the budgets of a caller cover the least that a request of so many bytes takes."""
        asking = self._hub.require(caller)
        directory, tokens = asking.directory, max(1, size // _BYTES_OF_A_TOKEN)
        prices = (pricing.charged_price(directory, one) for one in models.values())
        cheapest = min((one.price.input for one in prices if one is not None), default=_MILLION)
        least = {BudgetUnit.TOKENS: tokens, BudgetUnit.MONEY: tokens * cheapest // _MILLION}
        needs = [Need(rule, least[rule.unit], least[rule.unit]) for rule in asking.rules]
        person, time = asking.person, self._hub.settings.clock()
        row = LedgerRow(f"{request_id}-body", time, asking.key.id, person.name, person.team, "")
        try:
            (await self._hub.worker.reserve(row, needs, is_whole=True)).drop()
        except BudgetError as error:
            raise self._refusal(error, directory) from error

    async def _reserved(self, asking: DirectoryCaller, request: AnswerRequest, rate: Entry) -> Admitted:
        directory, model, rules = asking.directory, request.model, asking.rules
        price = await _charged_price(asking, request)
        bound = await in_thread(max(request.size, weight_of(request.asked.messages)), _bound, request, price)
        begun = begun_row(asking, request, self._hub.settings.clock())
        family, on_end = model.information.family, None if self._policy is None else self._policy.at_end
        is_kept = asking.audit is AuditLevel.CONTENT

        def admitted(reservation: Reservation, bound: pricing.RequestBound) -> Admitted:
            asked, reported = _within(request, reservation, rules, bound)
            permit = HubPermit(reservation, rules, rate, family, price, bound, reported, is_kept, on_end)
            return Admitted(asked, model, permit)

        made: dict[Reservation, Admitted] = {}

        def ahead(reservation: Reservation) -> None:
            made[reservation] = admitted(reservation, bound)
            if request.prepare is not None:
                request.prepare(made[reservation])

        worker, within = self._hub.worker, bound
        try:
            try:
                reservation = await worker.reserve(begun, bound.needs(rules), is_whole=True, ahead=ahead)
            except BudgetSpentError:  # as it is by bytes: by a closer count, or with a shorter output
                if not (request.asked.unmapped or request.asked.dropped):  # a tokenizer sees only what was read
                    weight = max(request.size, weight_of(request.asked.messages))
                    closer = await in_thread(weight, bounds.close_bound, family, request.asked, self._counters)
                    within = bound if closer is None else bound._replace(input_tokens=closer)
                reservation = await worker.reserve(begun, within.needs(rules))
        except BudgetError as error:
            raise self._refusal(error, directory, bound.files) from error
        try:
            return made.get(reservation) or admitted(reservation, within)
        except BaseException:
            reservation.drop()
            raise

    def _refusal(self, error: BudgetError, directory: Directory, files: FileBound = _NO_FILES) -> RequestFailedError:
        if isinstance(error, BudgetSpentError):
            return RequestFailedError(_spent(error, self._contact(directory), files))
        wait = error.retry_after if isinstance(error, BudgetsUnreachableError) else None
        return RequestFailedError(ServedFailure(FailureKind.OVERLOADED, str(error), retry_after=wait))

    def _contact(self, directory: Directory) -> str:
        if self._hub.settings.contact:
            return self._hub.settings.contact
        admins = sorted(one.name for one in directory.people.values() if one.is_admin and not one.is_disabled)
        named = ", ".join(admins[:_MOST_ADMINS])
        return f"an admin of the hub ({named})" if named else "the person who runs the hub"


async def _charged_price(asking: DirectoryCaller, request: AnswerRequest) -> pricing.ChargedPrice | None:
    """The price of a request; a `RequestFailedError` where a budget counts money and it may be higher."""
    price = pricing.charged_price(asking.directory, request.model)
    of_money = next((rule for rule in asking.rules if rule.unit is BudgetUnit.MONEY), None)
    if of_money is not None and price is None:
        raise unpriced(asking.directory, request.model.id, of_money)
    if of_money is not None and (name := pricing.dearer_field(request.asked)) is not None:
        cause = f"got a value that costs more than the price of {request.model.id}, by which your budget is charged"
        said = f"{name}: {cause}; leave it out"
        raise RequestFailedError(ServedFailure(FailureKind.INVALID_REQUEST, said, param=name))
    # Where writing costs no more than reading, no cache is paid for; and the hub's own price holds as it is.
    writes_cost = price is not None and not price.is_of_route and (price.price.cache_write or 0) > price.price.input
    if price is not None and writes_cost:
        lasts_long = await in_thread(request.size, pricing.asks_for_an_hour, request.asked.body)
        price = pricing.for_an_hour(price) if lasts_long else price
    return price


def _bound(request: AnswerRequest, price: pricing.ChargedPrice | None) -> pricing.RequestBound:
    """What a request can take at most."""
    asked, information = request.asked, request.model.information
    wanted, most = bounds.asked_output(asked), information.max_output_tokens
    output = (most if wanted is None else min(wanted, most)) * request.answers
    files = bounds.bound_of_files(information.family, asked)
    given = bounds.wide_bound(information.family, asked, files)
    if asked.unmapped or asked.dropped:  # it may go on as it came, with what was not read
        given = max(given, request.size - bounds.data_size(asked) + files.tokens)
    return pricing.RequestBound(given, output, None if price is None else price.highest, files)


def _within(
    request: AnswerRequest, reservation: Reservation, rules: tuple[BudgetRule, ...], bound: pricing.RequestBound
) -> tuple[InboundRequest, Reported | None]:
    """The request with a limit that its reservation covers, and what looks at the parts of its answer.

    The limit that is sent is the one that is reserved, under a name that every upstream understands. Some upstreams
    keep none, so every answer is counted, also one whose client has asked for a short one.
    """
    if not rules:
        return request.asked, None
    output = pricing.output_within(bound, reservation, rules)
    asked, wanted = request.asked, bounds.asked_output(request.asked)
    if output < bound.output_tokens:
        pricing.shrunk(bound, reservation, rules, output)
        asked = pricing.with_output_limit(asked, max(1, output // request.answers))
    elif wanted is not None and not pricing.is_plain_limit(asked):
        asked = pricing.with_output_limit(asked, wanted)

    def top_up(tokens: int) -> bool | asyncio.Future[bool]:
        return reservation.top_up({rule.id: bound.step(rule, tokens) for rule in rules})

    counter = counter_of(request.model.information.family)
    trusted = None if output < bound.output_tokens else _TRUSTED_FACTOR * output + _TRUSTED_TOKENS
    meter = pricing.AnswerMeter(output, _STEP, top_up, lambda text: counter.count_text(text).tokens, trusted)
    return asked, meter.reported


# ---- Rates ----

_MINUTE: Final = 60.0
_BUSY_SECONDS: Final = 1.0  # after how many seconds it makes sense to ask again while too many answers run
_NEVER_SECONDS: Final = 60.0  # after how many seconds it makes sense to ask again where the limit is 0


class TooFast(NamedTuple):
    """Why a request has to wait."""

    owner: Owner
    limit: str  # of the whole hub, in words, such as `60 requests a minute`
    retry_after: float


@dataclass(slots=True, eq=False)
class _Pace:
    """How fast one owner has asked at this worker. A rate fills up by itself, and may be overdrawn by one request."""

    levels: dict[str, float] = field(default_factory=dict)  # what may be used of each rate
    filled_at: float = 0.0
    answers: int = 0

    def refusal(self, owner: Owner, limits: RateLimits, workers: int, now: float) -> TooFast | None:
        """Why the owner may not ask now."""
        rates = {"requests": limits.requests_per_minute, "tokens": limits.tokens_per_minute}
        shares = {what: limit / workers for what, limit in rates.items() if limit is not None}
        minutes, self.filled_at = (now - self.filled_at) / _MINUTE, now
        self.levels = {what: min(one, self.levels.get(what, one) + one * minutes) for what, one in shares.items()}
        answers = limits.concurrent_answers
        if answers is not None and self.answers >= math.ceil(answers / workers):
            return TooFast(owner, f"{answers:,} answers at the same time", _BUSY_SECONDS if answers else _NEVER_SECONDS)
        for what, share in shares.items():
            # With more workers than requests a minute, a share is less than one request: it is saved up.
            if (missing := (min(1.0, share) or 1.0) - self.levels[what]) > 0:
                wait = _MINUTE * missing / share if share else _NEVER_SECONDS
                return TooFast(owner, f"{rates[what]:,} {what} a minute", wait)
        return None

    def take(self, requests: int, tokens: int, answers: int) -> None:
        """Notes what is used."""
        self.answers += answers
        for what, amount in (("requests", requests), ("tokens", tokens)):
            if what in self.levels:
                self.levels[what] -= amount


@dataclass(slots=True, eq=False)
class RatePass:
    """The leave of one answer to run; ended once."""

    paces: Sequence[_Pace]

    def end(self, tokens: int) -> None:
        """The answer is over and took these tokens; later calls do nothing."""
        for pace in self.paces:
            pace.take(0, tokens, -1)
        self.paces = ()


class RateGate:
    """What the owners of one hub have used of their rates at one worker."""

    def __init__(self) -> None:
        self._paces: dict[Owner, _Pace] = {}

    def enter(self, limits: Sequence[tuple[Owner, RateLimits]], workers: int, now: float) -> RatePass | TooFast:
        """Lets a request in if all its owners may ask now."""
        paces = []
        for owner, one in limits:
            paces.append(self._paces.setdefault(owner, _Pace()))
            if (refused := paces[-1].refusal(owner, one, workers, now)) is not None:
                return refused
        for pace in paces:
            pace.take(1, 0, 1)
        return RatePass(paces)

    def keep(self, directory: Directory) -> None:
        """Forgets all owners that are not in a directory, whose limits are gone."""
        names = zip(OwnerKind, (directory.teams, directory.people, directory.keys), strict=True)
        owners = {Owner(kind, name) for kind, of_kind in names for name in of_kind}
        self._paces = {owner: pace for owner, pace in self._paces.items() if owner in owners or pace.answers}


# ---- Refusals ----

_MOST_ADMINS: Final = 3


def _spent(error: BudgetSpentError, contact: str, files: FileBound) -> ServedFailure:
    (rule, amount, least), window = error.need, error.window
    unit = rule.unit
    reserved = f" and {amount_text(unit, window.reserved)} reserved by running answers" if window.reserved else ""
    resets = "it never resets"
    if window.ends_at is not None:
        at = datetime.fromtimestamp(window.ends_at, ZoneInfo(rule.time_zone))
        resets = f"it resets {at:%Y-%m-%d %H:%M} {rule.time_zone}"
    of_files = f", because its files can take {files.tokens:,} tokens ({files.why})" if files.tokens else ""
    said = (
        f"the budget of {rule.owner} does not cover this request: {amount_text(unit, window.spent)} spent{reserved} of "
        f"{amount_text(unit, window.limit)} {rule.period.each}, {amount_text(unit, window.free)} left, and it needs at "
        f"least {amount_text(unit, min(least, amount))}{of_files}; {resets}; for more, ask {contact}"
    )
    return ServedFailure(FailureKind.SPENT_BUDGET, said, fields={"budget": budget_document(rule, window)})


def budget_document(rule: BudgetRule, window: Window) -> dict[str, Any]:
    """A budget as programs read it: `owner`, `unit`, `period`, `limit`, `spent`, `reserved`, `remaining`, `resets_at`
    and `text`. Amounts are in nanodollars or tokens, times in RFC 3339.

    What remains is not spent yet; of that, answers that run have reserved a part.
    """
    remaining, unit = max(0, window.limit - window.spent), rule.unit
    reset = None if window.ends_at is None else datetime.fromtimestamp(window.ends_at, UTC).isoformat()
    return {
        "owner": str(rule.owner),
        "unit": unit.value,
        "period": rule.period.value,
        "limit": window.limit,
        "spent": window.spent,
        "reserved": window.reserved,
        "remaining": remaining,
        "resets_at": reset,
        "text": f"{amount_text(unit, remaining)} of {amount_text(unit, window.limit)} {rule.period.each} left",
    }


def unpriced(directory: Directory, model: str, rule: BudgetRule) -> RequestFailedError:
    """The error for a model without a price, where a budget counts money."""
    verb = "set" if model in directory.routes else "add"
    said = (
        f"the price of {model} is unknown, and the budget of {rule.owner} has to cover it; an admin sets what a "
        f"million tokens of input and of output cost in US dollars: partstream hub {verb} model {model} --price 0.25/2"
    )
    return RequestFailedError(ServedFailure(FailureKind.FORBIDDEN, said, "model", "model_without_price"))


# ---- Permits ----

_UNBELIEVABLE: Final = (
    "answer %s of %s: its upstream reports more than it can have taken; %s tokens are charged, its bound"
)


@dataclass(slots=True)
class HubPermit:
    """The leave for one answer."""

    reservation: Reservation
    rules: tuple[BudgetRule, ...]
    rate: Entry
    family: str  # of the model, for estimates
    price: pricing.ChargedPrice | None  # of the model; None if it is unknown
    bound: pricing.RequestBound
    reported: Reported | None  # looks at each part; None where the answer cannot take more than is reserved
    is_content_kept: bool  # by the policy of the team
    on_end: Callable[[LedgerRow], object] | None  # takes the row of the answer, after the charge

    def settle(self, ended: EndedAnswer) -> None:
        """Charges the answer, in every case."""
        if not ended.was_asked:
            self.rate.end(0)
            self.reservation.drop()
            return
        taken, row = pricing.taken_by(ended, self.family, self.price, self.bound), self.reservation.answer
        if taken.is_unbelievable:
            _logger.warning(_UNBELIEVABLE, row.answer_id, row.model, f"{taken.tokens:,}")
        self.rate.end(taken.tokens)
        end_row(row, ended, taken)
        content = None
        if self.is_content_kept:  # of a long answer the beginning
            texts = _messages(ended.asked.messages), _messages([ended.answer()])
            content = AnswerContent(row.answer_id, row.time, row.person, *texts)
        paid = {BudgetUnit.TOKENS: taken.tokens}
        charges = {rule.id: paid.get(rule.unit, taken.nanodollars or 0) for rule in self.rules}
        self.reservation.settle(charges, row, content)
        if self.on_end is not None:
            self.on_end(row)


@dataclass(frozen=True, slots=True)
class CountPermit:
    """The leave to count the tokens of a request, which takes nothing of any budget."""

    rate: Entry
    reported = None

    def settle(self, _ended: EndedAnswer) -> None:
        """Makes room for others."""
        self.rate.end(0)


# ---- What is kept of an answer ----


def _messages(messages: Iterable[ChatMessage]) -> str:
    said: list[dict[str, Any]] = [
        {"role": one.role.name.lower(), "content": [part_json(part) for part in one.content]} for one in messages
    ]
    return bytes(dumps(said)).decode(errors="replace")


def begun_row(asking: DirectoryCaller, request: AnswerRequest, time: float) -> LedgerRow:
    """The row of an answer as it begins: who asks for what."""
    is_audited, client = asking.audit is not AuditLevel.NONE, request.client
    return LedgerRow(
        answer_id=request.request_id,
        time=time,
        key_id=asking.key.id,
        person=asking.person.name,
        team=asking.person.team,
        model=request.model.id,
        provider=request.model.provider_name,
        upstream_model=request.model.information.id,
        client=client.name if is_audited else "",
        session=client.session if is_audited else None,
        wire=request.wire,
    )


def end_row(row: LedgerRow, ended: EndedAnswer, taken: pricing.AnswerCharge) -> None:
    """Fills in what is known of an answer that is over."""
    observation = ended.observation
    for name in COUNTS:
        setattr(row, name, getattr(taken.usage, name))
    row.provider = observation.provider or row.provider
    row.nanodollars, row.is_estimated = taken.nanodollars, taken.is_estimated
    outcome = "" if observation.outcome is None else observation.outcome.value
    row.status, row.outcome = observation.status, "cancelled" if observation.is_cancelled else outcome
    row.error = observation.error or (pricing.UNBELIEVABLE if taken.is_unbelievable else None)
    row.seconds, row.first_part_after = observation.duration, observation.first_part_after
