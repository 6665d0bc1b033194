"""Who there is in a hub and what each may do: people, teams, keys, budgets and models, as one immutable snapshot.

Money is a whole number of nanodollars (10^-9 US dollars), tokens are whole numbers; only times are floats, in seconds
since 1970. A snapshot holds digests of keys, never a key, and no key of an upstream: a route names a provider of the
worker's own settings. :func:`changed_directory` makes the next snapshot from changes, without I/O, so that a plan can
be shown before it is carried out.
"""

from __future__ import annotations
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar
from zoneinfo import ZoneInfo

from msgspec import convert, to_builtins

from partstream.codec.checks import Expectation, check_fields, dataclass, field, replace
from partstream.codec.json_codec import loads
from partstream.tokens.amounts import BudgetUnit, Period, Span, span_at
from partstream_hub.store.values import DirectoryConflictError

# ---- Values of fields ----

Value = TypeVar("Value")


def _matching(pattern: str, description: str) -> Expectation:
    form = re.compile(pattern, re.ASCII)
    return Expectation(description, lambda value: isinstance(value, str) and form.fullmatch(value) is not None)


def known_zone(name: Any) -> ZoneInfo | None:
    """The time zone of a name; None if there is none."""
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, TypeError, OSError):
        return None


NAME: Final = _matching(
    r"[A-Za-z0-9][A-Za-z0-9._@+-]{0,79}",
    "a name of letters, digits and . _ @ + -, which begins with a letter or a digit, up to 80 long",
)
"""Of a person, a team or a worker, or the id of a key."""
MODEL_NAME: Final = _matching(
    r"[A-Za-z0-9][A-Za-z0-9._@+:/~-]{0,199}", "the id of a model: letters, digits and . _ @ + : / ~ -, up to 200 long"
)
LABEL: Final = Expectation(
    "a text of one line, up to 200 characters",
    lambda value: isinstance(value, str) and len(value) <= 200 and value.isprintable(),
)
"""What people can be shown as a name."""
ZONE: Final = Expectation(
    "the name of a time zone, such as Europe/Berlin",
    lambda value: isinstance(value, str) and known_zone(value) is not None,
)


# ---- Entries ----


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


@dataclass(frozen=True, slots=True)
class BudgetRule:
    """How much an owner may use in each period. An owner has one rule for a unit and a period."""

    owner: Owner
    unit: BudgetUnit
    period: Period
    limit: int  # of one window, in nanodollars or in tokens; 0 refuses everything
    time_zone: str = "UTC"  # in whose calendar a window begins: an IANA name, such as `Europe/Berlin`

    @property
    def id(self) -> str:
        """What the database calls it, such as `person/ana/money/day`: a rule that comes back finds its windows."""
        return f"{self.owner.kind}/{self.owner.name}/{self.unit}/{self.period}"

    def span_at(self, time: float) -> Span:
        """The window in which a time lies."""
        return span_at(self.period, ZoneInfo(self.time_zone), time)


class Need(NamedTuple):
    """What an answer needs of one budget, in nanodollars or in tokens."""

    rule: BudgetRule
    amount: int  # an upper bound of what it will take
    least: int  # with which it can be begun; from there on it gets a shorter limit


@dataclass(frozen=True, slots=True)
class RateLimits:
    """How fast an owner may ask; None is no limit."""

    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None
    concurrent_answers: int | None = None


UNLIMITED: Final = RateLimits()


class AuditLevel(StrEnum):
    """What is kept of each answer of a team, beside the row with which it is charged."""

    NONE = "none"  # nothing more: neither client nor session
    METADATA = "metadata"  # who asked which model when, with which client, how it ended; no word of a text
    CONTENT = "content"  # the request and the answer as well


@dataclass(frozen=True, slots=True)
class Policy:
    """What holds for the answers of a team."""

    audit: AuditLevel = AuditLevel.METADATA
    content_days: int = 30


@dataclass(frozen=True, slots=True)
class Team:
    """People who share budgets and a policy."""

    name: str
    models: tuple[str, ...] | None = None  # ids, or patterns such as gpt-*; None for all
    rates: RateLimits = UNLIMITED  # of all of it together
    policy: Policy = field(default_factory=Policy)
    is_disabled: bool = False  # no person of it may ask

    def __post_init__(self) -> None:
        check_fields(self, {"name": NAME})


@dataclass(frozen=True, slots=True)
class Person:
    """Who asks. What a server remembers of answers belongs to a person."""

    name: str
    team: str | None = None
    is_admin: bool = False
    models: tuple[str, ...] | None = None  # as of a team; a model has to pass both
    rates: RateLimits = UNLIMITED  # of all keys of the person together
    is_disabled: bool = False

    def __post_init__(self) -> None:
        check_fields(self, {"name": NAME})


@dataclass(frozen=True, slots=True)
class Key:
    """A key of a person, of which only the digest is known."""

    id: str  # the public part of the key, by which it is found and named
    digest: bytes = field(repr=False)
    person: str
    label: str = ""  # what the person calls it, such as `laptop`
    models: tuple[str, ...] | None = None  # as of a team; a model has to pass all
    rates: RateLimits = UNLIMITED
    created_at: float = 0.0
    expires_at: float | None = None  # from when on it is not accepted; None for never
    revoked_at: float | None = None  # None if it has not been revoked

    def __post_init__(self) -> None:
        check_fields(self, {"id": NAME, "person": NAME})


class Route(NamedTuple):
    """One upstream of a model."""

    provider: str  # the name that the worker's settings give to it
    model: str  # the id of the model there
    weight: int = 1  # its share of the sessions, in proportion to the weights of the others; 0 for a reserve


@dataclass(frozen=True, slots=True)
class ModelPrice:
    """The price of a model, in nanodollars for a million tokens: $3 for a million are 3,000,000,000."""

    input: int
    output: int
    cached_input: int | None = None  # of input that the upstream had in its cache; None if it costs the same
    cache_write: int | None = None  # of input that it wrote to its cache; None if it costs the same


@dataclass(frozen=True, slots=True)
class ModelRoute:
    """A model as people see it, and where it is answered."""

    name: str  # its id, as clients name it
    upstreams: tuple[Route, ...] = ()  # empty for a model of the worker's own providers, which is only priced here
    fallbacks: tuple[str, ...] = ()  # the models that answer when no upstream of this one can, in this order
    affinity: bool = True  # whether the requests of a session go to the same upstream, where its prompt is cached
    price: ModelPrice | None = None  # None for what the upstream reports or lists


@dataclass(frozen=True)
class Directory:
    """All that a worker knows of who may do what: one version of it, which nothing changes."""

    version: int = 0
    teams: Mapping[str, Team] = field(default_factory=dict)
    people: Mapping[str, Person] = field(default_factory=dict)
    keys: Mapping[str, Key] = field(default_factory=dict)  # by id; revoked and expired ones too
    rules: Mapping[str, BudgetRule] = field(default_factory=dict)  # by id
    routes: Mapping[str, ModelRoute] = field(default_factory=dict)

    @cached_property
    def budgets(self) -> Mapping[Owner, tuple[BudgetRule, ...]]:
        """The rules of each owner, in the order of their ids."""
        found: dict[Owner, tuple[BudgetRule, ...]] = {}
        for _, rule in sorted(self.rules.items()):
            found[rule.owner] = (*found.get(rule.owner, ()), rule)
        return found

    def team_of(self, person: Person) -> Team | None:
        """The team of a person, if the person has one."""
        return None if person.team is None else self.teams.get(person.team)

    def owners_of(self, one: Key | Person | Team | None) -> Iterator[tuple[Owner, Key | Person | Team]]:
        """Whose limits hold for a key, a person or a team: its own, of a key the person's, and the team's of that."""
        if isinstance(one, Key):
            yield Owner(OwnerKind.KEY, one.id), one
            one = self.people.get(one.person)
        if isinstance(one, Person):
            yield Owner(OwnerKind.PERSON, one.name), one
            one = self.team_of(one)
        if isinstance(one, Team):
            yield Owner(OwnerKind.TEAM, one.name), one

    def budgets_of(self, one: Key | Person | Team) -> tuple[BudgetRule, ...]:
        """The rules that its requests have to pass, all of them."""
        return tuple(rule for owner, _ in self.owners_of(one) for rule in self.budgets.get(owner, ()))


# ---- Changes ----

Entry: TypeAlias = Team | Person | Key | BudgetRule | ModelRoute


@dataclass(frozen=True, slots=True)
class Remove:
    """Removes an entry, with what cannot be without it: the keys and budgets of a person, the budgets of a team.

    What was spent stays in the ledger. A team that has people cannot be removed. A key and a budget are named by id.
    """

    kind: str  # team, person, key, budget or model
    name: str


DirectoryChange: TypeAlias = Entry | Remove
"""An entry is put, new or in place of the one with its name; the person and the digest of a key never change."""
ENTRIES: Final = {"team": "teams", "person": "people", "key": "keys", "budget": "rules", "model": "routes"}
"""The field of the directory that has the entries of a kind, by name."""
_KINDS: Final = {Team: "team", Person: "person", Key: "key", BudgetRule: "budget", ModelRoute: "model"}


def name_of(entry: Entry) -> str:
    """The name of an entry; of a key and of a budget its id."""
    return entry.id if isinstance(entry, Key | BudgetRule) else entry.name


def changed_directory(directory: Directory, changes: Sequence[DirectoryChange], time: float) -> Directory:
    """The directory after some changes, in their order; its version is the next one, and `time` that of new keys. A
    `DirectoryConflictError` is raised for a change of something that is not there, or that must not change."""
    for change in changes:
        directory = _removed(directory, change) if isinstance(change, Remove) else _put(directory, change, time)
    return replace(directory, version=directory.version + 1)


def _put(directory: Directory, entry: Entry, time: float) -> Directory:
    kind, name = _KINDS[type(entry)], name_of(entry)
    if (reason := _conflict(directory, entry)) is not None:
        raise DirectoryConflictError(f"put {kind} {name}", reason)
    if isinstance(entry, Key) and name not in directory.keys:
        entry = replace(entry, created_at=time)
    changed: dict[str, Any] = {ENTRIES[kind]: {**getattr(directory, ENTRIES[kind]), name: entry}}
    return replace(directory, **changed)


def _conflict(directory: Directory, entry: Entry) -> str | None:
    """Why an entry does not fit what is there; None if it does."""
    if isinstance(entry, Person):
        is_known = entry.team is None or entry.team in directory.teams
        return None if is_known else f"there is no team {entry.team}"
    if isinstance(entry, BudgetRule):
        place = getattr(directory, ENTRIES[entry.owner.kind])
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
    reason = None if name in getattr(directory, ENTRIES[kind]) else "it is not there"
    if kind == "team" and (people := sorted(one.name for one in directory.people.values() if one.team == name)):
        reason = f"it has people: {', '.join(people[:5])}"
    if reason is not None:
        raise DirectoryConflictError(f"remove {kind} {name}", reason)
    keys = {one.id for one in directory.keys.values() if kind == "person" and one.person == name}
    owners = {(kind, name), *((OwnerKind.KEY, key) for key in keys)}
    gone = {"keys": keys, "rules": {rule.id for rule in directory.rules.values() if rule.owner in owners}}
    gone.setdefault(ENTRIES[kind], set()).add(name)
    left: dict[str, Any] = {
        place: {one: entry for one, entry in getattr(directory, place).items() if one not in names}
        for place, names in gone.items()
    }
    return replace(directory, **left)


# ---- Entries as JSON ----

COLUMNS: Final[Mapping[type, tuple[str, ...]]] = {
    Team: ("name", "is_disabled"),
    Person: ("name", "team", "is_admin", "is_disabled"),
    Key: ("id", "digest", "person", "label", "created_at", "expires_at", "revoked_at"),
    ModelRoute: ("name",),
}
"""The fields of an entry that are columns of the database; the others are in one text of JSON."""


def settings_json(entry: Team | Person | Key | ModelRoute) -> dict[str, Any]:
    """The fields of an entry that are no columns; a list of models and rates only where there are some."""
    found = {name: one for name, one in to_builtins(entry).items() if name not in COLUMNS[type(entry)]}
    if not isinstance(entry, ModelRoute):
        found["rates"] = {name: value for name, value in found["rates"].items() if value is not None}
        found = {name: one for name, one in found.items() if one not in (None, {})}
    return found


def made_entry(kind: type[Value], columns: Iterable[object], settings: str) -> Value:
    """An entry of its columns, of which SQLite writes a truth as a number, and of those other fields that are known."""
    return convert({**loads(settings), **dict(zip(COLUMNS[kind], columns, strict=True))}, kind, strict=False)


def entry_json(entry: Entry) -> dict[str, Any]:
    """All of an entry that a record shows: of a key no digest."""
    if isinstance(entry, BudgetRule):
        return {**to_builtins(entry), "owner": str(entry.owner)}
    return {name: getattr(entry, name) for name in COLUMNS[type(entry)] if name != "digest"} | settings_json(entry)


def may_use(directory: Directory, one: Key | Person, model_id: str) -> bool:
    """Whether a key or a person may use a model: its team, its person and the key itself must all allow the id."""
    lists = [owner.models for _, owner in directory.owners_of(one) if owner.models is not None]
    allowed = all(any(fnmatchcase(model_id, pattern) for pattern in patterns) for patterns in lists)
    return allowed and (isinstance(one, Person) or one.person in directory.people)
