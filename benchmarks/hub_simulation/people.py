"""Who asks a simulated hub, how often, and what an answer takes. Amounts are nanodollars."""

from __future__ import annotations
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from partstream_hub.amounts import Need
from partstream_hub.directory import DOLLAR, BudgetRule, BudgetUnit, Owner, OwnerKind, Period

if TYPE_CHECKING:
    from random import Random

__all__ = ["Population", "Prompt", "Traffic", "prompt_of"]

_INPUT_PRICE = 3 * DOLLAR // 1_000_000
_OUTPUT_PRICE = 15 * DOLLAR // 1_000_000
"""Nanodollars for a token."""
_OUTPUT_LIMIT = 4_096
_LEAST_OUTPUT = 256


@dataclass(frozen=True, slots=True)
class Traffic:
    """How much is asked.

    Attributes:
        people: How many people there are.
        team_size: How many of them share a team.
        answers_a_second: About how many answers all of them ask for in a second.
        answers_in_session: The mean number of answers that somebody asks for one after the other.
        think_seconds: The mean of the seconds between the end of one and the next.
        person_limit: The budget of a person for a day, in nanodollars; 0 for none.
        team_limit: The budget of a team for a day.
        scarce: The part of the people, and of the teams, who have a twentieth of it.
        seconds_of_answer: The median of the time that an answer takes.
        input_tokens: The median of the tokens of a prompt.
    """

    people: int = 10_000
    team_size: int = 20
    answers_a_second: float = 100.0
    answers_in_session: int = 15
    think_seconds: float = 6.0
    person_limit: int = 10 * DOLLAR
    team_limit: int = 100 * DOLLAR
    scarce: float = 0.05
    seconds_of_answer: float = 8.0
    input_tokens: int = 6_000

    @property
    def sessions(self) -> int:
        """How many sessions there are at a time."""
        return min(self.people, round(self.answers_a_second * self.turn_seconds))

    @property
    def turn_seconds(self) -> float:
        """About how many seconds there are between two answers of a session."""
        return self.seconds_of_answer * 1.25 + self.think_seconds


@dataclass(frozen=True, slots=True)
class Prompt:
    """One answer that somebody asks for.

    Attributes:
        person: The number of the person.
        needs: What is reserved for it.
        cost: What it will cost, if it is not shortened.
        seconds: How long it will take.
    """

    person: int
    needs: tuple[Need, ...]
    cost: int
    seconds: float


class Population:
    """The people and their budgets.

    Args:
        traffic: How much is asked.
    """

    def __init__(self, traffic: Traffic) -> None:
        self.traffic = traffic
        self._rules: dict[int, tuple[BudgetRule, ...]] = {}
        every = max(1, round(1 / traffic.scarce)) if traffic.scarce else 0
        for person in range(traffic.people):
            team = person // traffic.team_size
            limits = (
                (Owner(OwnerKind.PERSON, f"p{person}"), traffic.person_limit, every and person % every == 0),
                (Owner(OwnerKind.TEAM, f"t{team}"), traffic.team_limit, every and team % every == 1 % every),
            )
            self._rules[person] = tuple(
                BudgetRule(owner, BudgetUnit.MONEY, Period.DAY, limit // 20 if is_scarce else limit)
                for owner, limit, is_scarce in limits
                if limit
            )

    def rules(self, person: int) -> tuple[BudgetRule, ...]:
        return self._rules[person]


def prompt_of(population: Population, person: int, random: Random) -> Prompt:
    """What somebody asks for next."""
    traffic = population.traffic
    given = min(200_000, round(random.lognormvariate(math.log(traffic.input_tokens), 0.8)))
    output = min(_OUTPUT_LIMIT, round(random.lognormvariate(math.log(400), 1.0)))
    at_most = given * _INPUT_PRICE + _OUTPUT_LIMIT * _OUTPUT_PRICE
    least = given * _INPUT_PRICE + _LEAST_OUTPUT * _OUTPUT_PRICE
    seconds = min(40.0, random.lognormvariate(math.log(traffic.seconds_of_answer), 0.7))
    needs = tuple(Need(rule, at_most, least) for rule in population.rules(person))
    return Prompt(person, needs, given * _INPUT_PRICE + output * _OUTPUT_PRICE, seconds)
