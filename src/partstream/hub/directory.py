"""Who there is in a hub and what each may do: people, teams, keys, budgets, models, as one immutable snapshot.

Money is a whole number of nanodollars (10^-9 US dollars), tokens are whole numbers: nothing here is ever a float but a
time, in seconds since 1970. A snapshot holds digests of keys, never a key, and no key of an upstream: a route names a
provider of the worker's own settings.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar
from zoneinfo import ZoneInfo

from partstream.arguments import Expectation, check_fields, refuse

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = [
    "DOLLAR",
    "MOST_AMOUNT",
    "UNLIMITED",
    "AuditLevel",
    "BudgetRule",
    "BudgetUnit",
    "Directory",
    "Key",
    "ModelPrice",
    "ModelRoute",
    "Owner",
    "OwnerKind",
    "Period",
    "Person",
    "Policy",
    "RateLimits",
    "Route",
    "Team",
    "check_model_name",
    "check_name",
]

Value = TypeVar("Value")

DOLLAR: Final = 10**9
"""One US dollar, in nanodollars."""

MOST_AMOUNT: Final = 10**18
"""The most of a budget: a thousand million dollars, or a million million million tokens. Nine of them fit a BIGINT."""

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@+-]{0,79}", re.ASCII)
_MODEL_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@+:/~-]{0,199}", re.ASCII)
_NAME_EXPECTED: Final = "a name of letters, digits and . _ @ + -, which begins with a letter or a digit, up to 80 long"
_MODEL_EXPECTED: Final = "the id of a model: letters, digits and . _ @ + : / ~ -, up to 200 long"
_MOST_TEXT: Final = 200
_DIGEST: Final = Expectation("the 32 bytes of a digest", lambda value: isinstance(value, bytes) and len(value) == 32)


def check_name(where: str, name: object) -> None:
    """Checks the name of a person, a team or a worker, or the id of a key.

    Raises:
        InvalidArgumentError: It is none.
    """
    if not isinstance(name, str) or _NAME.fullmatch(name) is None:
        refuse(where, name, _NAME_EXPECTED)


def check_model_name(where: str, name: object) -> None:
    """Checks the name of a model.

    Raises:
        InvalidArgumentError: It is none.
    """
    if not isinstance(name, str) or _MODEL_NAME.fullmatch(name) is None:
        refuse(where, name, _MODEL_EXPECTED)


def _check_whole(where: str, value: object, least: int = 0) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= MOST_AMOUNT:
        refuse(where, value, f"a whole number from {least} to {MOST_AMOUNT:,}")


def _check_text(where: str, value: object) -> None:
    if not isinstance(value, str) or len(value) > _MOST_TEXT or not value.isprintable():
        refuse(where, value, f"a text of one line, up to {_MOST_TEXT} characters")


def _check_models(where: str, models: object) -> None:
    if models is None:
        return
    if not isinstance(models, tuple):
        refuse(where, models, "a tuple of ids of models or of patterns such as gpt-*, or None for all")
    for index, one in enumerate(models):
        _check_text(f"{where}[{index}]", one)


class OwnerKind(StrEnum):
    """Whom a budget belongs to."""

    TEAM = "team"
    PERSON = "person"
    KEY = "key"


class Owner(NamedTuple):
    """Whom a budget belongs to.

    Attributes:
        kind: A team, a person or a key.
        name: The name of the team or the person, or the id of the key.
    """

    kind: OwnerKind
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


class BudgetUnit(StrEnum):
    """What a budget counts."""

    MONEY = "money"
    """In nanodollars."""
    TOKENS = "tokens"
    """Input and output together."""


class Period(StrEnum):
    """How long the window of a budget lasts; the next begins empty."""

    DAY = "day"
    WEEK = "week"
    """From Monday."""
    MONTH = "month"
    TOTAL = "total"
    """For ever: there is one window."""


@dataclass(frozen=True, slots=True)
class BudgetRule:
    """How much an owner may use in each period. An owner has one rule for a unit and a period.

    Attributes:
        owner: Whose budget it is.
        unit: What it counts.
        period: How long a window lasts.
        limit: The most of one window, in nanodollars or in tokens; 0 refuses everything.
        time_zone: The IANA name of the zone in whose calendar a window begins, such as `Europe/Berlin`.
    """

    owner: Owner
    unit: BudgetUnit
    period: Period
    limit: int
    time_zone: str = "UTC"

    def __post_init__(self) -> None:
        check_name("BudgetRule.owner.name", self.owner.name)
        _check_whole("BudgetRule.limit", self.limit)
        try:
            ZoneInfo(self.time_zone)
        except (KeyError, ValueError, TypeError, OSError):
            refuse("BudgetRule.time_zone", self.time_zone, "the name of a time zone, such as Europe/Berlin")

    @property
    def id(self) -> str:
        """What the database calls it, such as `person/ana/money/day`: a rule that comes back finds its windows."""
        return f"{self.owner.kind}/{self.owner.name}/{self.unit}/{self.period}"


@dataclass(frozen=True, slots=True)
class RateLimits:
    """How fast an owner may ask; None is no limit.

    Attributes:
        requests_per_minute: The most requests that begin in a minute.
        tokens_per_minute: The most tokens of input and output in a minute.
        concurrent_answers: The most answers at the same time.
    """

    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None
    concurrent_answers: int | None = None

    def __post_init__(self) -> None:
        for name in ("requests_per_minute", "tokens_per_minute", "concurrent_answers"):
            if (value := getattr(self, name)) is not None:
                _check_whole(f"RateLimits.{name}", value)


UNLIMITED: Final = RateLimits()


class AuditLevel(StrEnum):
    """What is kept of each answer of a team, beside the row with which it is charged."""

    NONE = "none"
    """Nothing more: neither client nor session."""
    METADATA = "metadata"
    """Who asked which model when, with which client, how it ended; no word of a prompt or an answer."""
    CONTENT = "content"
    """The request and the answer as well."""


@dataclass(frozen=True, slots=True)
class Policy:
    """What holds for the answers of a team.

    Attributes:
        audit: What is kept of them.
        content_days: After how many days kept requests and answers are deleted.
    """

    audit: AuditLevel = AuditLevel.METADATA
    content_days: int = 30

    def __post_init__(self) -> None:
        _check_whole("Policy.content_days", self.content_days, 1)


@dataclass(frozen=True, slots=True)
class Team:
    """People who share budgets and a policy.

    Attributes:
        name: Its name.
        models: The ids of the models that it may use, or patterns such as `gpt-*`; None for all.
        rates: How fast all of it together may ask.
        policy: What holds for its answers.
        is_disabled: Whether nobody of it may ask.
    """

    name: str
    models: tuple[str, ...] | None = None
    rates: RateLimits = UNLIMITED
    policy: Policy = field(default_factory=Policy)
    is_disabled: bool = False

    def __post_init__(self) -> None:
        check_name("Team.name", self.name)
        _check_models("Team.models", self.models)


@dataclass(frozen=True, slots=True)
class Person:
    """Who asks. What a server remembers of answers belongs to a person.

    Attributes:
        name: The name, which is also what logs call the person.
        team: The name of the team, or None.
        is_admin: Whether the person may see and change the whole hub.
        models: As of a team; a model has to pass both.
        rates: How fast all keys of the person together may ask.
        is_disabled: Whether no key of the person is accepted.
    """

    name: str
    team: str | None = None
    is_admin: bool = False
    models: tuple[str, ...] | None = None
    rates: RateLimits = UNLIMITED
    is_disabled: bool = False

    def __post_init__(self) -> None:
        check_name("Person.name", self.name)
        if self.team is not None:
            check_name("Person.team", self.team)
        _check_models("Person.models", self.models)


@dataclass(frozen=True, slots=True)
class Key:
    """A key of a person, of which only the digest is known.

    Attributes:
        id: The public part of the key, by which it is found and named.
        digest: The digest of the secret part, 32 bytes.
        person: Whose it is.
        label: What the person calls it, such as `laptop`.
        models: As of a team; a model has to pass all.
        rates: How fast it may ask.
        created_at: When it was made, by the clock of the database; 0 before it is stored.
        expires_at: From when on it is not accepted; None for never.
        revoked_at: Since when it has been revoked; None if it has not.
    """

    id: str
    digest: bytes = field(repr=False)
    person: str
    label: str = ""
    models: tuple[str, ...] | None = None
    rates: RateLimits = UNLIMITED
    created_at: float = 0.0
    expires_at: float | None = None
    revoked_at: float | None = None

    def __post_init__(self) -> None:
        check_name("Key.id", self.id)
        check_name("Key.person", self.person)
        _check_text("Key.label", self.label)
        _check_models("Key.models", self.models)
        check_fields(self, {"digest": _DIGEST})


class Route(NamedTuple):
    """One upstream of a model.

    Attributes:
        provider: The name that the worker's settings give to the provider.
        model: The id of the model there.
        weight: Its share of the sessions, in proportion to the weights of the others; 0 for a reserve.
    """

    provider: str
    model: str
    weight: int = 1


@dataclass(frozen=True, slots=True)
class ModelPrice:
    """The price of a model, in nanodollars for a million tokens: $3 for a million are 3,000,000,000.

    Attributes:
        input: A million tokens of input.
        output: A million tokens of output.
        cached_input: A million tokens of input that the upstream had in its cache; None if they cost the same.
        cache_write: A million tokens of input that it wrote to its cache; None if they cost the same.
    """

    input: int
    output: int
    cached_input: int | None = None
    cache_write: int | None = None

    def __post_init__(self) -> None:
        for name in ("input", "output", "cached_input", "cache_write"):
            if (value := getattr(self, name)) is not None:
                _check_whole(f"ModelPrice.{name}", value)


@dataclass(frozen=True, slots=True)
class ModelRoute:
    """A model as people see it, and where it is answered.

    Attributes:
        name: Its id, as clients name it.
        upstreams: Where it is answered; empty for a model of the worker's own providers, which is only priced here.
        fallbacks: The names of models that answer when no upstream of this one can, in this order.
        affinity: Whether the requests of a session go to the same upstream, where its prompt is in the cache.
        price: Its price; None for what the upstream reports or lists.
    """

    name: str
    upstreams: tuple[Route, ...] = ()
    fallbacks: tuple[str, ...] = ()
    affinity: bool = True
    price: ModelPrice | None = None

    def __post_init__(self) -> None:
        check_model_name("ModelRoute.name", self.name)
        for index, route in enumerate(self.upstreams):
            check_name(f"ModelRoute.upstreams[{index}].provider", route.provider)
            check_model_name(f"ModelRoute.upstreams[{index}].model", route.model)
            _check_whole(f"ModelRoute.upstreams[{index}].weight", route.weight)
        for index, name in enumerate(self.fallbacks):
            check_model_name(f"ModelRoute.fallbacks[{index}]", name)


@dataclass(frozen=True, slots=True)
class Directory:
    """All that a worker knows of who may do what: one version of it, which nothing changes.

    Attributes:
        version: Grows with every change.
        teams: The teams by name.
        people: The people by name.
        keys: The keys by id; revoked and expired ones too.
        budgets: The rules of each owner that has some, in the order of their ids.
        routes: The models by name.
    """

    version: int = 0
    teams: Mapping[str, Team] = field(default_factory=dict)
    people: Mapping[str, Person] = field(default_factory=dict)
    keys: Mapping[str, Key] = field(default_factory=dict)
    budgets: Mapping[Owner, tuple[BudgetRule, ...]] = field(default_factory=dict)
    routes: Mapping[str, ModelRoute] = field(default_factory=dict)

    def team_of(self, person: Person) -> Team | None:
        """The team of a person, if the person has one."""
        return None if person.team is None else self.teams.get(person.team)

    def budgets_of(self, key: Key) -> tuple[BudgetRule, ...]:
        """The rules that a request with a key has to pass, all of them: the key's, the person's and the team's."""
        person = self.people.get(key.person)
        owners = [Owner(OwnerKind.KEY, key.id), Owner(OwnerKind.PERSON, key.person)]
        if person is not None and person.team is not None:
            owners.append(Owner(OwnerKind.TEAM, person.team))
        return tuple(rule for owner in owners for rule in self.budgets.get(owner, ()))

    def rules(self) -> Iterable[BudgetRule]:
        """All rules."""
        return (rule for rules in self.budgets.values() for rule in rules)
