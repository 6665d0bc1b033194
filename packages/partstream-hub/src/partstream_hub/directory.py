"""Who there is in a hub and what each may do: people, teams, keys, budgets and models, as one immutable snapshot.

Money is a whole number of nanodollars (10^-9 US dollars), tokens are whole numbers; only times are floats, in seconds
since 1970. A snapshot holds digests of keys, never a key, and no key of an upstream: a route names a provider of the
worker's own settings.

:func:`changed_directory` makes the next snapshot from changes, without I/O, so that a plan can be shown before it is
carried out. The second half writes entries as JSON and reads them back: what the database keeps of an entry beside its
name, and what a record of a change shows. A digest is in none of it.
"""

from __future__ import annotations
import re
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar
from zoneinfo import ZoneInfo

from partstream.codec.checks import Expectation, check_fields, dataclass, field, fields, refuse, replace
from partstream.codec.json_codec import dumps, loads
from partstream_hub.store.values import DirectoryConflictError

# ---- Entries ----

Name = TypeVar("Name")
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
    """Refuses what is no name of a person, a team or a worker, and no id of a key, with `InvalidArgumentError`."""
    if not isinstance(name, str) or _NAME.fullmatch(name) is None:
        refuse(where, name, _NAME_EXPECTED)


def check_model_name(where: str, name: object) -> None:
    """Refuses what is no name of a model, with `InvalidArgumentError`."""
    if not isinstance(name, str) or _MODEL_NAME.fullmatch(name) is None:
        refuse(where, name, _MODEL_EXPECTED)


def _check_whole(where: str, value: object, least: int = 0) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= MOST_AMOUNT:
        refuse(where, value, f"a whole number from {least} to {MOST_AMOUNT:,}")


def check_text(where: str, value: object) -> None:
    """Refuses what people cannot be shown as a name or a label.

    Raises:
        InvalidArgumentError: It is no text of one line, or too long.
    """
    if not isinstance(value, str) or len(value) > _MOST_TEXT or not value.isprintable():
        refuse(where, value, f"a text of one line, up to {_MOST_TEXT} characters")


def _check_models(where: str, models: object) -> None:
    if models is None:
        return
    if not isinstance(models, tuple):
        refuse(where, models, "a tuple of ids of models or of patterns such as gpt-*, or None for all")
    for index, one in enumerate(models):
        check_text(f"{where}[{index}]", one)


class OwnerKind(StrEnum):
    """Whom a budget belongs to."""

    TEAM = "team"
    PERSON = "person"
    KEY = "key"


class Owner(NamedTuple):
    """Whom a budget belongs to: a team or a person by name, or a key by its id."""

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


RATE_NAMES: Final = ("requests_per_minute", "tokens_per_minute", "concurrent_answers")


@dataclass(frozen=True, slots=True)
class RateLimits:
    """How fast an owner may ask; None is no limit."""

    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None
    concurrent_answers: int | None = None

    def __post_init__(self) -> None:
        for name in RATE_NAMES:
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
    """What holds for the answers of a team."""

    audit: AuditLevel = AuditLevel.METADATA
    content_days: int = 30

    def __post_init__(self) -> None:
        _check_whole("Policy.content_days", self.content_days, 1)


@dataclass(frozen=True, slots=True)
class Team:
    """People who share budgets and a policy.

    Attributes:
        name: Its name.
        rates: How fast all of it together may ask.
        policy: What holds for its answers.
        is_disabled: Whether no person of it may ask.
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
        models: As of a team; a model has to pass both.
        rates: How fast all keys of the person together may ask.
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
        label: What the person calls it, such as `laptop`.
        models: As of a team; a model has to pass all.
        rates: How fast it may ask.
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
        check_text("Key.label", self.label)
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
        keys: The keys by id; revoked and expired ones too.
        budgets: The rules of each owner that has some, in the order of their ids.
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


# ---- Changes ----

Entry: TypeAlias = Team | Person | Key | BudgetRule | ModelRoute


class EntryKind(StrEnum):
    """What can be put into a directory and removed from it."""

    TEAM = "team"
    PERSON = "person"
    KEY = "key"
    BUDGET = "budget"
    MODEL = "model"


@dataclass(frozen=True, slots=True)
class Put:
    """Puts an entry, new or instead of the one with its name. The person and the digest of a key never change."""

    entry: Entry


@dataclass(frozen=True, slots=True)
class Remove:
    """Removes an entry, with what cannot be without it: the keys and budgets of a person, the budgets of a team.

    What was spent stays in the ledger. A team that has people cannot be removed. A key and a budget are named by id.
    """

    kind: EntryKind
    name: str


@dataclass(frozen=True, slots=True)
class RevokeKey:
    """Revokes a key for ever, at a time or, for None, at the time of the database; workers hear of it and refuse it."""

    key_id: str
    at: float | None = None


DirectoryChange: TypeAlias = Put | Remove | RevokeKey

_KINDS: Final[Mapping[type, EntryKind]] = {
    Team: EntryKind.TEAM,
    Person: EntryKind.PERSON,
    Key: EntryKind.KEY,
    BudgetRule: EntryKind.BUDGET,
    ModelRoute: EntryKind.MODEL,
}


def name_of(entry: Entry) -> str:
    """The name of an entry; of a key and of a budget its id."""
    return entry.id if isinstance(entry, Key | BudgetRule) else entry.name


def changed_directory(directory: Directory, changes: Sequence[DirectoryChange], time: float) -> Directory:
    """The directory after some changes, in their order; its version is the next one, and `time` that of new keys.

    Raises:
        DirectoryConflictError: A change names something that is not there, or that must not change.
    """
    for change in changes:
        if isinstance(change, Put):
            directory = _put(directory, change, time)
        elif isinstance(change, Remove):
            directory = _removed(directory, change)
        else:
            directory = _revoked(directory, change, time)
    return replace(directory, version=directory.version + 1)


_PLACES: Final[Mapping[EntryKind, str]] = {
    EntryKind.TEAM: "teams",
    EntryKind.PERSON: "people",
    EntryKind.KEY: "keys",
    EntryKind.MODEL: "routes",
}
"""The field of the directory that has the entries of a kind, by name; those of budgets are by their owner."""


def _without(values: Mapping[Name, Value], names: Iterable[Name]) -> dict[Name, Value]:
    gone = frozenset(names)
    return {name: value for name, value in values.items() if name not in gone}


def _refuse(change: DirectoryChange, reason: str) -> DirectoryConflictError:
    """The error for a change, which it calls such as `put person ana`."""
    if isinstance(change, Put):
        return DirectoryConflictError(f"put {_KINDS[type(change.entry)]} {name_of(change.entry)}", reason)
    said = f"remove {change.kind} {change.name}" if isinstance(change, Remove) else f"revoke key {change.key_id}"
    return DirectoryConflictError(said, reason)


def _put(directory: Directory, change: Put, time: float) -> Directory:
    entry = change.entry
    if (reason := _conflict(directory, entry)) is not None:
        raise _refuse(change, reason)
    if isinstance(entry, BudgetRule):
        others = (one for one in directory.budgets.get(entry.owner, ()) if one.id != entry.id)
        rules = tuple(sorted((*others, entry), key=lambda one: one.id))
        return replace(directory, budgets={**directory.budgets, entry.owner: rules})
    if isinstance(entry, Key) and entry.id not in directory.keys:
        entry = replace(entry, created_at=time)
    place = _PLACES[_KINDS[type(entry)]]
    changed: dict[str, Any] = {place: {**getattr(directory, place), name_of(entry): entry}}
    return replace(directory, **changed)


def _conflict(directory: Directory, entry: Entry) -> str | None:
    """Why an entry does not fit what is there; None if it does."""
    if isinstance(entry, Person):
        is_known = entry.team is None or entry.team in directory.teams
        return None if is_known else f"there is no team {entry.team}"
    if isinstance(entry, BudgetRule):
        place = getattr(directory, _PLACES[EntryKind(entry.owner.kind.value)])
        return None if entry.owner.name in place else f"there is no {entry.owner}"
    if not isinstance(entry, Key):
        return None
    if entry.person not in directory.people:
        return f"there is no person {entry.person}"
    known = directory.keys.get(entry.id, entry)
    if (known.digest, known.person) != (entry.digest, entry.person):
        return "a key with this id is there, and neither its person nor its digest ever changes"
    is_revived = known.revoked_at is not None and entry.revoked_at is None
    return "it was revoked, which is for ever" if is_revived else None


def _removed(directory: Directory, change: Remove) -> Directory:
    kind, name = change.kind, change.name
    if kind is EntryKind.BUDGET:
        rule = next((one for one in directory.rules() if one.id == name), None)
        if rule is None:
            raise _refuse(change, "it is not there")
        rest = tuple(one for one in directory.budgets[rule.owner] if one.id != name)
        others = _without(directory.budgets, [rule.owner])
        return replace(directory, budgets={**others, rule.owner: rest} if rest else others)
    place = _PLACES[kind]
    if name not in getattr(directory, place):
        raise _refuse(change, "it is not there")
    people = sorted(one.name for one in directory.people.values() if kind is EntryKind.TEAM and one.team == name)
    if people:
        raise _refuse(change, f"it has people: {', '.join(people[:5])}")
    keys = [one.id for one in directory.keys.values() if kind is EntryKind.PERSON and one.person == name]
    owners = [] if kind is EntryKind.MODEL else [Owner(OwnerKind(kind.value), name)]
    owners += (Owner(OwnerKind.KEY, key) for key in keys)
    directory = replace(directory, keys=_without(directory.keys, keys), budgets=_without(directory.budgets, owners))
    changed: dict[str, Any] = {place: _without(getattr(directory, place), [name])}
    return replace(directory, **changed)


def _revoked(directory: Directory, change: RevokeKey, time: float) -> Directory:
    key = directory.keys.get(change.key_id)
    if key is None:
        raise _refuse(change, "there is no such key")
    if key.revoked_at is not None:
        return directory
    revoked = replace(key, revoked_at=time if change.at is None else change.at)
    return replace(directory, keys={**directory.keys, key.id: revoked})


# ---- Entries as JSON ----


def settings_text(entry: Team | Person | Key | ModelRoute) -> str:
    """The models and rates of an entry, and the policy of a team; all of a model but its name."""
    if isinstance(entry, ModelRoute):
        return dumps(_route_json(entry)).decode()
    policy = {"policy": _policy_json(entry.policy)} if isinstance(entry, Team) else {}
    return dumps(_limits_json(entry) | policy).decode()


def limits_of(text: str) -> tuple[tuple[str, ...] | None, RateLimits]:
    """The models and rates in a text."""
    values = _values(text)
    models, rates = values.get("models"), values.get("rates")
    return None if models is None else tuple(models), RateLimits(**rates) if rates else UNLIMITED


def policy_of(text: str) -> Policy:
    """The policy in a text; the default where it says none."""
    values = _values(text).get("policy")
    return Policy() if values is None else Policy(AuditLevel(values["audit"]), values["content_days"])


def route_of(name: str, text: str) -> ModelRoute:
    """A model of its name and a text."""
    values = _values(text)
    price = values.get("price")
    return ModelRoute(
        name,
        tuple(Route(*one) for one in values.get("upstreams", ())),
        tuple(values.get("fallbacks", ())),
        values.get("affinity", True),
        None if price is None else ModelPrice(**price),
    )


_SHOWN_OF_KEY: Final = ("id", "person", "label", "created_at", "expires_at", "revoked_at")


def entry_json(entry: Entry) -> dict[str, Any]:
    """All of an entry that a record shows."""
    if isinstance(entry, BudgetRule):
        return {
            "owner": str(entry.owner),
            "unit": entry.unit.value,
            "period": entry.period.value,
            "limit": entry.limit,
            "time_zone": entry.time_zone,
        }
    if isinstance(entry, ModelRoute):
        return {"name": entry.name, **_route_json(entry)}
    if isinstance(entry, Team):
        extra: dict[str, Any] = {"name": entry.name, "policy": _policy_json(entry.policy)}
        return extra | {"is_disabled": entry.is_disabled, **_limits_json(entry)}
    names = ("name", "team", "is_admin", "is_disabled") if isinstance(entry, Person) else _SHOWN_OF_KEY
    return {name: getattr(entry, name) for name in names} | _limits_json(entry)


def _limits_json(entry: Team | Person | Key) -> dict[str, Any]:
    rates = {one.name: value for one in fields(entry.rates) if (value := getattr(entry.rates, one.name)) is not None}
    found: dict[str, Any] = {} if entry.models is None else {"models": list(entry.models)}
    return found | ({"rates": rates} if rates else {})


def _policy_json(policy: Policy) -> dict[str, Any]:
    return {"audit": policy.audit.value, "content_days": policy.content_days}


def _route_json(route: ModelRoute) -> dict[str, Any]:
    price = route.price
    return {
        "upstreams": [list(one) for one in route.upstreams],
        "fallbacks": list(route.fallbacks),
        "affinity": route.affinity,
        "price": None if price is None else {one.name: getattr(price, one.name) for one in fields(price)},
    }


def _values(text: str) -> Mapping[str, Any]:
    values = loads(text)
    return values if isinstance(values, Mapping) else {}


def may_use(directory: Directory, key: Key, model_id: str) -> bool:
    """Whether a key may use a model: its team, its person and the key itself must all allow the id."""
    person = directory.people.get(key.person)
    if person is None:
        return False
    team = directory.team_of(person)
    lists = (key.models, person.models, None if team is None else team.models)
    return all(one is None or any(fnmatchcase(model_id, pattern) for pattern in one) for one in lists)
