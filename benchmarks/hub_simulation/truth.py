"""What is really used of each budget, known to nobody in the hub: by it every decision of the workers is judged."""

from __future__ import annotations
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from partstream_hub.amounts import Need
    from partstream_hub.directory import BudgetRule

__all__ = ["Truth", "Wait"]


@dataclass(slots=True, eq=False)
class Wait:
    """An answer that waits for its reservation.

    Attributes:
        needs: What it needs.
        at: When it came.
        least_left: What was left of each rule's budget all the time, by the rule's id.
    """

    needs: Sequence[Need]
    at: float
    least_left: dict[str, int]


@dataclass(slots=True)
class _Used:
    limit: int
    charged: int = 0
    reserved: int = 0

    @property
    def left(self) -> int:
        return self.limit - self.charged - self.reserved


@dataclass(slots=True)
class Truth:
    """All windows as they are.

    Attributes:
        most_over: The most by which charges and running reservations exceeded a limit together; 0 if never.
        refused_at: The part of the limit that was used when a budget refused for the first time, by the rule's id.
        charged: What was charged of each window, by its number.
    """

    most_over: int = 0
    refused_at: dict[str, float] = field(default_factory=dict)
    _used: dict[int, _Used] = field(default_factory=dict)
    _rules: dict[str, int] = field(default_factory=dict)
    _limits: dict[int, BudgetRule] = field(default_factory=dict)
    _waiting: defaultdict[str, set[Wait]] = field(default_factory=lambda: defaultdict(set))

    @property
    def charged(self) -> Mapping[int, int]:
        return {window: used.charged for window, used in self._used.items()}

    @property
    def limits(self) -> Mapping[int, int]:
        return {window: used.limit for window, used in self._used.items()}

    def begin_wait(self, needs: Sequence[Need], now: float) -> Wait:
        wait = Wait(needs, now, {need.rule.id: self._left(need.rule) for need in needs})
        for need in needs:
            self._waiting[need.rule.id].add(wait)
        return wait

    def end_wait(self, wait: Wait) -> None:
        for need in wait.needs:
            self._waiting[need.rule.id].discard(wait)

    def granted(self, needs: Iterable[Need], windows: Mapping[str, int], amounts: Mapping[int, int]) -> None:
        for need in needs:
            number = windows[need.rule.id]
            used = self._used.setdefault(number, _Used(need.rule.limit))
            self._rules[need.rule.id] = max(number, self._rules.get(need.rule.id, 0))
            self._limits[number] = need.rule
            used.reserved += amounts[number]
            self.most_over = max(self.most_over, -used.left)
            self._changed(need.rule)

    def ended(self, amounts: Mapping[int, int], charges: Mapping[int, int]) -> None:
        for number, amount in amounts.items():
            used = self._used[number]
            used.reserved -= amount
            used.charged += charges.get(number, 0)
            self.most_over = max(self.most_over, -used.left)
            self._changed(self._limits[number])

    def note_refusal(self, rule: BudgetRule) -> None:
        """A budget has refused an answer."""
        self.refused_at.setdefault(rule.id, 1 - self._left(rule) / rule.limit)

    def has_room(self, wait: Wait, rule: BudgetRule) -> bool:
        """Whether what was left covered the least that the answer needed, all the time that it waited."""
        least = next(need.least for need in wait.needs if need.rule.id == rule.id)
        return min(self._left(rule), wait.least_left[rule.id]) >= least

    def _left(self, rule: BudgetRule) -> int:
        number = self._rules.get(rule.id)
        return rule.limit if number is None else self._used[number].left

    def _changed(self, rule: BudgetRule) -> None:
        waiting = self._waiting.get(rule.id)
        if waiting:
            left = self._left(rule)
            for wait in waiting:
                wait.least_left[rule.id] = min(wait.least_left[rule.id], left)
