"""What is reserved for one answer in each of its budgets, until it ends; and the answers that wait for that.

An answer first asks for all that it may take. Where that is missing, other workers are asked to give back what they
hold and do not use. Only when they have done so, or after the longest wait, is the answer content with less, and only
when less is missing too is it refused. Waiting has no I/O and no clock.
"""

from __future__ import annotations
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TYPE_CHECKING, Final, Protocol

from partstream_hub.amounts import BudgetsUnreachableError, Need, ReservationEndedError
from partstream_hub.directory import BudgetRule, BudgetUnit
from partstream_hub.store.values import SCARCE_SECONDS, AnswerContent, Charge, LedgerRow

if TYPE_CHECKING:
    from partstream_hub.leases import BudgetRequest, DatabaseClock, Outcome, WindowLeases, WindowView, WorkerSettings

# ---- Reservations ----

LOST: Final = "lost"
"""The outcome of an answer whose worker died before its end."""


class ReservationOwner(Protocol):
    """Who keeps the account and the journal of reservations: a worker, which makes them and so imports this module."""

    def top_up(self, rule: BudgetRule, window: int, amount: int) -> int | None:
        """Reserves more, in a window or in the one after it; the number of the window, or None if it is not free."""
        ...

    def changed(self, reservation: Reservation) -> bool:
        """Notes what is reserved now; whether it could be noted."""
        ...

    def reduce(self, amounts: Mapping[int, int]) -> None:
        """Frees a part of what is reserved."""
        ...

    def settle(
        self, reservation: Reservation, charges: Mapping[int, int], row: LedgerRow, content: AnswerContent | None
    ) -> None:
        """Ends a reservation with what the answer took."""
        ...

    def drop(self, reservation: Reservation) -> None:
        """Ends a reservation of which nothing was used."""
        ...


class Reservation:
    """What is reserved for one answer. It ends exactly once: settled, or dropped if no provider was asked.

    Args:
        owner: Who keeps account and journal.
        windows: The number of the window of each rule, by the rule's id.
        amounts: What is reserved, by the number of the window.
    """

    def __init__(
        self,
        owner: ReservationOwner,
        answer: LedgerRow,
        needs: Sequence[Need],
        windows: Mapping[str, int],
        amounts: Mapping[int, int],
    ) -> None:
        self._owner = owner
        self._windows = {rule: [window] for rule, window in windows.items()}
        self._money = next((need.rule.id for need in needs if need.rule.unit is BudgetUnit.MONEY), None)
        self.answer = answer
        self.amounts = dict(amounts)
        self.has_ended = False

    def amount(self, rule: BudgetRule) -> int:
        """What is reserved of a rule's budget: the need, or less down to what it needs at least."""
        return self._reserved(rule.id)

    def top_up(self, rule: BudgetRule, amount: int) -> bool:
        """Reserves more, from what the worker holds; whether it is reserved.

        If not, the worker asks for more in the background, and a later call may find it.

        Raises:
            ReservationEndedError: The reservation has ended.
        """
        self._check()
        windows = self._windows[rule.id]
        window = self._owner.top_up(rule, windows[-1], amount)
        if window is None:
            return False
        if window not in windows:  # the first window is over
            windows.append(window)
        self.amounts[window] = self.amounts.get(window, 0) + amount
        if self._owner.changed(self):
            return True
        self.amounts[window] -= amount
        self._owner.reduce({window: amount})
        return False

    def reduce(self, rule: BudgetRule, amount: int) -> None:
        """Frees what of a reservation will not be needed, such as the rest of a shortened output.

        Raises:
            ReservationEndedError: The reservation has ended.
        """
        self._check()
        window = self._windows[rule.id][-1]
        freed = min(amount, self.amounts[window])
        self.amounts[window] -= freed
        if self._owner.changed(self):
            self._owner.reduce({window: freed})
        else:
            self.amounts[window] += freed

    def settle(self, charges: Mapping[str, int], row: LedgerRow, content: AnswerContent | None = None) -> None:
        """Ends the reservation with what the answer took; the row is in the journal when this returns.

        Args:
            charges: What it took, by the id of the rule; a rule that is missing is charged nothing. More than was
                reserved is taken from what the worker or the window has left.
            row: The row for the ledger, of the same answer; its `charges` are filled in here.
            content: The request and the answer, where the policy of the team has them kept.

        Raises:
            ReservationEndedError: The reservation has ended.
            ValueError: The row is of another answer.
        """
        self._check()
        if row.answer_id != self.answer.answer_id:
            raise ValueError(f"got the row of answer {row.answer_id}, expected that of {self.answer.answer_id}")
        of_windows = dict(charge for rule, amount in charges.items() for charge in self._split(rule, amount))
        self.has_ended = True
        self._owner.settle(self, of_windows, replace(row, charges=_charges(of_windows)), content)

    def drop(self) -> None:
        """Ends the reservation without a trace: no provider was asked. Does nothing if it has ended."""
        if not self.has_ended:
            self.has_ended = True
            self._owner.drop(self)

    def row_if_lost(self) -> LedgerRow:
        """The row that is entered if the worker dies now: all that is reserved, as an estimate."""
        cost = self.answer.nanodollars
        if cost is None and self._money is not None:
            cost = self._reserved(self._money)
        charges = _charges(self.amounts)
        return replace(self.answer, charges=charges, nanodollars=cost, is_estimated=True, outcome=LOST)

    def _reserved(self, rule: str) -> int:
        return sum(self.amounts[window] for window in self._windows[rule])

    def _split(self, rule: str, amount: int) -> Iterator[tuple[int, int]]:
        """A charge by window: what was reserved in each, and what is more in the last."""
        windows = self._windows[rule]
        for window in windows[:-1]:
            part = min(amount, self.amounts[window])
            amount -= part
            yield window, part
        yield windows[-1], amount

    def _check(self) -> None:
        if self.has_ended:
            raise ReservationEndedError(self.answer.answer_id)


def _charges(amounts: Mapping[int, int]) -> tuple[Charge, ...]:
    return tuple(Charge(window, amount) for window, amount in sorted(amounts.items()) if amount)


# ---- Waiting ----

RECALL_SECONDS: Final = SCARCE_SECONDS / 2
"""The seconds between two recalls of a window by any worker, as long as answers wait."""
_AWAY: Final = "the hub's database does not answer"
_STOPPING: Final = "the server is being stopped"


class WaitingAnswers:
    """The answers that wait, in the order in which they came; those of the same budgets are looked at together."""

    def __init__(self, leases: WindowLeases, settings: WorkerSettings, clock: DatabaseClock) -> None:
        self._leases = leases
        self._settings = settings
        self._clock = clock
        self._queues: dict[tuple[str, ...], _Queue] = {}

    def __bool__(self) -> bool:
        return bool(self._queues)

    def __iter__(self) -> Iterator[BudgetRequest]:
        return chain.from_iterable(queue.asks for queue in tuple(self._queues.values()))

    def add(self, ask: BudgetRequest, now: float) -> None:
        """Decides about a new answer, or lets it wait."""
        outcome = self._outcome(ask, {}, now)
        if outcome is not None:
            ask.decided(outcome)
            return
        queue = self._queues.setdefault(tuple(rule for rule, _ in ask.rules), _Queue())
        queue.asks.append(ask)
        targets = tuple(map(ask.target, ask.needs))
        queue.smallest = [min(pair) for pair in zip(queue.smallest or targets, targets, strict=True)]

    def remove(self, ask: BudgetRequest) -> None:
        """Forgets an answer that is wanted no more."""
        key = tuple(rule for rule, _ in ask.rules)
        queue = self._queues.get(key)
        if queue is not None and ask in queue.asks:
            queue.asks.remove(ask)
            if not queue.asks:
                del self._queues[key]

    def windows(self) -> tuple[int, ...]:
        """The windows whose state may decide about them."""
        rules = {rule for rules in self._queues for rule in rules}
        current = self._leases.current
        return tuple(window for rule in rules if (window := current.get(rule)) is not None)

    def recalls(self, now: float) -> dict[int, int]:
        """The windows of which others are to give back what they do not use, with the recalls that were seen last."""
        windows = {}
        for ask in self:
            for rule, need in ask.rules:
                number = self._leases.current.get(rule)
                if number is None or self._leases.table.lease(number).free >= ask.target(need):
                    continue
                view = self._leases.views[number]
                is_undecided = view.proven_at < ask.at <= view.failed_at
                if is_undecided and now >= view.recalled_at + RECALL_SECONDS:
                    windows[number] = view.window.recall
        return windows

    def serve(self, now: float) -> None:
        """Decides about every answer, as far as that is possible now."""
        states: dict[str, _State | None] = {}
        for key, queue in tuple(self._queues.items()):
            first = queue.asks[0]
            needs = [self._state(rule, need, states, now) for rule, need in first.rules]
            # What decides beside what is free: as long as it is the same, nothing else is decided.
            seen = (self._leases.is_closing, *(None if state is None else state.seen for state in needs))
            is_same = seen == queue.seen and now < first.deadline and self._clock.is_connected
            if not is_same or queue.may_fit(needs):
                self._serve(queue, states, now, needs if is_same else None)
            queue.seen = seen
            if not queue.asks:
                del self._queues[key]

    def _serve(
        self,
        queue: _Queue,
        states: dict[str, _State | None],
        now: float,
        only_while_fits: Sequence[_State | None] | None,
    ) -> None:
        """Looks at the answers of a queue one by one; if nothing but free amounts decides, while one may still fit."""
        decided = []
        waiting = []
        for index, ask in enumerate(queue.asks):
            if only_while_fits is not None and not queue.may_fit(only_while_fits):
                waiting += queue.asks[index:]
                break
            outcome = self._outcome(ask, states, now)
            if outcome is None:
                waiting.append(ask)
            else:
                decided.append((ask, outcome))
        queue.asks = waiting
        queue.smallest = [
            min(targets) for targets in zip(*(map(one.target, one.needs) for one in waiting), strict=True)
        ]
        for ask, outcome in decided:
            ask.decided(outcome)

    def _outcome(self, ask: BudgetRequest, states: dict[str, _State | None], now: float) -> Outcome | None:
        if self._leases.is_closing:
            return BudgetsUnreachableError(_STOPPING, self._settings.heartbeat_seconds)
        found = [(need, self._state(rule, need, states, now)) for rule, need in ask.rules]
        needs = [(need, state) for need, state in found if state is not None]
        if len(needs) < len(found):
            return self._given_up(ask.deadline, now)
        if all(need.amount <= state.free for need, state in needs):
            return self._reserved(needs, now)
        for need, state in needs:
            if state.is_fresh and state.unspent < need.least:
                return self._refusal(need, state.view)
        if ask.less_at is None and self._must_be_content(ask, needs, now):
            ask.less_at = now
            for _, state in needs:
                state.view.lease_at = -math.inf
        return None if ask.less_at is None else self._less(ask, needs, now)

    def _state(self, rule: str, need: Need, states: dict[str, _State | None], now: float) -> _State | None:
        """How the current window of a rule is, looked up once for all answers; None if it has to be opened first."""
        if rule not in states:
            windows = self._leases.windows((need,), now)
            states[rule] = None
            if windows is not None:
                view, lease = self._leases.views[windows[rule]], self._leases.table.lease(windows[rule])
                is_fresh = self._clock.is_connected and now - view.seen_at <= self._settings.heartbeat_seconds
                states[rule] = _State(view, lease.free, view.window.limit - view.window.spent, is_fresh)
        return states[rule]

    def _reserved(self, needs: Sequence[tuple[Need, _State]], now: float) -> Outcome | None:
        windows = {need.rule.id: state.view.window.id for need, state in needs}
        amounts = {need.rule.id: min(need.amount, state.free) for need, state in needs}
        granted = self._leases.reserve(windows, amounts, now)
        for _, state in needs:
            state.free = self._leases.table.lease(state.view.window.id).free
        return granted

    def _must_be_content(self, ask: BudgetRequest, needs: Sequence[tuple[Need, _State]], now: float) -> bool:
        """Whether the whole will not fit, or has been waited for long enough."""
        if not self._clock.is_connected or now >= ask.deadline:
            return True
        return any(
            (state.view.proven_at >= ask.at and state.free < need.amount)
            or (state.is_fresh and state.unspent < need.amount)
            for need, state in needs
        )

    def _less(self, ask: BudgetRequest, needs: Sequence[tuple[Need, _State]], now: float) -> Outcome | None:
        """What becomes of an answer that is content with less."""
        short = [(need, state.view) for need, state in needs if need.least > state.free]
        if not short:
            return self._reserved(needs, now)
        if not self._clock.is_connected:
            return self._given_up(ask.deadline, now)
        for need, view in short:
            # Whether the least was asked for when nothing was free anywhere, or waiting is over.
            is_proven = view.proven_at >= ask.at
            has_tried_least = ask.less_at is not None and view.failed_at >= ask.less_at
            is_decided = is_proven or now >= ask.deadline
            if (is_proven and need.least == need.amount) or (has_tried_least and is_decided):
                return self._refusal(need, view)
        return self._given_up(ask.deadline + self._settings.wait_seconds, now)

    def _refusal(self, need: Need, view: WindowView) -> Outcome:
        return view.refusal(need.least, self._leases.table.lease(view.window.id), self._settings.silent_seconds)

    def _given_up(self, deadline: float, now: float) -> Outcome | None:
        """The error for an answer for which the database has been away too long."""
        away_since = self._clock.away_since
        is_away = away_since is not None and now - away_since >= self._settings.wait_seconds
        return BudgetsUnreachableError(_AWAY, 1.0) if is_away or now >= deadline else None


@dataclass(slots=True)
class _Queue:
    """The answers that need the same budgets.

    Attributes:
        smallest: By budget, the least that would help one of them.
        seen: How everything was when each of them was last looked at.
    """

    asks: list[BudgetRequest] = field(default_factory=list)
    smallest: list[int] = field(default_factory=list)
    seen: tuple[object, ...] | None = None

    def may_fit(self, states: Iterable[_State | None]) -> bool:
        """Whether what is free may be enough for one of the answers."""
        return all(
            state is not None and state.free >= least for state, least in zip(states, self.smallest, strict=False)
        )


@dataclass(slots=True)
class _State:
    """How a window is while answers are decided about.

    Attributes:
        unspent: What of its limit is not spent.
        is_fresh: Whether that was seen a moment ago.
    """

    view: WindowView
    free: int
    unspent: int
    is_fresh: bool

    @property
    def seen(self) -> tuple[object, ...]:
        """What decides about answers beside what is free."""
        return self.unspent, self.is_fresh, self.view.proven_at, self.view.failed_at
