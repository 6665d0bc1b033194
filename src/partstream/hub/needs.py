"""What a request needs of each budget, and how long its answer may be with what is reserved; pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from partstream.hub.budgets.needs import Need
from partstream.hub.directory import BudgetUnit
from partstream.hub.pricing import highest_cost, output_covered

if TYPE_CHECKING:
    from collections.abc import Iterable

    from partstream.hub.budgets.reservation import Reservation
    from partstream.hub.directory import BudgetRule, ModelPrice

__all__ = ["LEAST_OUTPUT", "RequestBound", "output_within", "shrunk"]

LEAST_OUTPUT: Final = 256
"""The tokens of output with which it still makes sense to begin an answer; fewer where fewer are asked for."""


class RequestBound(NamedTuple):
    """The most that a request can take.

    Attributes:
        input_tokens: The most tokens of its input.
        output_tokens: The most tokens of its output.
        price: The highest prices that may hold for it; None where no budget counts money.
    """

    input_tokens: int
    output_tokens: int
    price: ModelPrice | None

    def amount(self, rule: BudgetRule, output_tokens: int) -> int:
        """What the request takes of a budget at most, with this much output."""
        if rule.unit is BudgetUnit.TOKENS or self.price is None:
            return self.input_tokens + output_tokens
        return highest_cost(self.price, self.input_tokens, output_tokens)

    def step(self, rule: BudgetRule, output_tokens: int) -> int:
        """What as much more output takes of a budget at most."""
        if rule.unit is BudgetUnit.TOKENS or self.price is None:
            return output_tokens
        return highest_cost(self.price, 0, output_tokens)

    def needs(self, rules: Iterable[BudgetRule]) -> tuple[Need, ...]:
        """What the request needs of all budgets."""
        least = min(self.output_tokens, LEAST_OUTPUT)
        return tuple(Need(rule, self.amount(rule, self.output_tokens), self.amount(rule, least)) for rule in rules)


def output_within(bound: RequestBound, reservation: Reservation, rules: Iterable[BudgetRule]) -> int:
    """The most tokens of output that all that is reserved covers, however the tokens of the input are billed."""
    covered = [bound.output_tokens]
    for rule in rules:
        amount = reservation.amount(rule)
        if rule.unit is BudgetUnit.TOKENS or bound.price is None:
            covered.append(amount - bound.input_tokens)
        elif (output := output_covered(bound.price, bound.input_tokens, amount)) is not None:
            covered.append(output)
    return max(0, min(covered))


def shrunk(bound: RequestBound, reservation: Reservation, rules: Iterable[BudgetRule], output_tokens: int) -> None:
    """Frees what is reserved of each budget beyond a shorter output, which another budget has made so short."""
    for rule in rules:
        surplus = reservation.amount(rule) - bound.amount(rule, output_tokens)
        if surplus > 0:
            reservation.reduce(rule, surplus)
