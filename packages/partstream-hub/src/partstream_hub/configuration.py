"""`hub.toml`, the form of a hub that people can review: reading, the plan as a diff, the changes, writing; no I/O.

A document holds one entry for each model, team and person, each in one form: however a file writes a value, the entry
is the same, and a field at its default is left out. :data:`FIELDS` has one row for each field, with the reader that
gives a value its form. The options of `partstream hub add` and `partstream hub set` are made from the same rows, and
their values go through the same readers, so a number may be a text of digits and a table has a short form on one line.

1. :func:`read_hub_file` reads a text into a document, or raises all faults at once. No fault shows a key.
2. :func:`document_of` says what the directory in the database holds, in the same words; :func:`entries_of` also what
   limits keys have of their own.
3. :func:`plan_of` compares the two. Entries are added before the entries that name them, and removed after.
   A table that the file leaves out is left alone; an entry that is missing in a table of the file is removed.
4. :func:`changes_of` gives the changes of one transaction that carry the plan out.
5. :func:`written_hub_file` writes a document; :func:`read_hub_file` reads it back as the same one. Keys are in no file.
"""

from __future__ import annotations
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from decimal import Decimal, InvalidOperation
from enum import StrEnum
from typing import Any, Final, NamedTuple, TypeAlias

from msgspec import convert, to_builtins

from partstream.codec.checks import Expectation, dataclass, replace
from partstream.codec.settings_files import loads_toml
from partstream.config.editing import written_name, written_value
from partstream.errors import CallerError, UnexpectedValueError
from partstream.settings.kinds import HIDDEN, KEY_IN_A_NAME, closest_name, shortened
from partstream.tokens.amounts import MOST_AMOUNT, BudgetAmount, budget_text, nanodollars, parsed_budget
from partstream_hub.directory import (
    ENTRIES,
    LABEL,
    MODEL_NAME,
    NAME,
    ZONE,
    AuditLevel,
    BudgetRule,
    Directory,
    DirectoryChange,
    Key,
    ModelRoute,
    Owner,
    OwnerKind,
    Person,
    RateLimits,
    Remove,
    Route,
    Team,
)

# ---- Documents ----


class Section(StrEnum):
    """The tables of the file, in the order in which they are written and applied; and keys, which are in no file."""

    MODELS = "models"
    TEAMS = "teams"
    PEOPLE = "people"
    KEYS = "keys"

    @property
    def one(self) -> str:
        """What one entry is called in sentences."""
        return "person" if self is Section.PEOPLE else self.removesuffix("s")


TABLES: Final = (Section.MODELS, Section.TEAMS, Section.PEOPLE)


class EntryId(NamedTuple):
    """The key of one entry: its table, and its name there."""

    section: Section
    name: str

    def __str__(self) -> str:
        return f"{self.section.one} {self.name}"


Fields: TypeAlias = Mapping[str, Any]
"""One entry in its one form, by the names of :data:`FIELDS`; a field at its default is left out."""


HubDocument: TypeAlias = Mapping[Section, Mapping[str, Fields]]
"""The entries of a file, or of a database, in the order of :class:`Section` and of their names. A table that is not
there is left alone; an entry that is missing in one that is there is to be removed."""


# ---- Faults ----

_SHOWN_CHARACTERS: Final = 60  # characters of a wrong value that a fault shows


class FaultError(UnexpectedValueError):
    """What is wrong at one place of the file, such as `teams.research.budgets[1]`, with a value as it was read."""

    def __init__(self, where: str, got: Any, expected: str) -> None:
        super().__init__(where, _shown(got), expected)


class UnusableHubFileError(CallerError):
    """A file cannot be used; nothing of it was applied."""

    def __init__(self, file: str, faults: Iterable[UnexpectedValueError]) -> None:
        self.faults = tuple(faults)
        super().__init__("\n".join(f"{file}: {fault}" for fault in self.faults))


def _shown(value: Any) -> str:
    """A value from the file in an error: its beginning, hidden where it may be a key."""
    if isinstance(value, str):
        return HIDDEN if KEY_IN_A_NAME.search(value) else f"{value[:_SHOWN_CHARACTERS]!r}"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return f"a table with {', '.join(map(str, value))[:_SHOWN_CHARACTERS]}" if value else "an empty table"
    if isinstance(value, list):
        return "a list" if value else "an empty list"
    return shortened(value) if value is None or isinstance(value, int) else str(value)[:_SHOWN_CHARACTERS]


def _unknown(where: str, name: str, known: Iterable[str], what: str) -> FaultError:
    """The fault of a name that nothing has, with the name that is probably meant; `what` is such as `fields`."""
    names = sorted(map(str, known))
    close = closest_name(name, names)
    hint = f"; did you mean {close!r}?" if close else ""
    listed = f"one of the {what} {', '.join(names)}" if names else f"none: there are no {what}"
    return FaultError(where, name, listed + hint)


# ---- Fields ----

_BUDGETS_EXPECTED: Final = 'a budget such as "5 USD/day", "2M tokens/week" or "250.50 USD/month"'
_PRICES: Final = ("input", "output", "cached_input", "cache_write")
_PRICE_EXPECTED: Final = (
    'the US dollars of a million tokens, such as "0.25/2" or {input = 0.25, output = 2.0}, beside which '
    "cached_input and cache_write may be"
)
_UPSTREAM_EXPECTED: Final = (
    'a provider of the workers and its model, such as "work/gpt-5" or {provider = "work", model = "gpt-5", weight = 3}'
)
_UPSTREAM: Final = re.compile(r"(?P<provider>[^/]+)/(?P<model>.+?)(?:=(?P<weight>\d{1,6}))?")


@dataclass(frozen=True, slots=True)
class Field:
    """One field of an entry; a default that is true or false makes its option a flag with a counterpart `--no-`."""

    name: str
    says: str  # what it sets, as a phrase
    read: Callable[[Any, str], Any]  # gives a value its one form; takes its place too, for the fault that it raises
    metavar: str = ""  # what follows the option in the help; empty for a flag
    default: Any = None  # the form of the value that holds where the field is left out
    is_many: bool = False  # its option may be given several times, each time for one value

    @property
    def option(self) -> str:
        """The option of the commands."""
        name = self.name.removesuffix("s") if self.is_many else self.name
        return f"--{name.replace('_', '-')}"


def _count(least: int) -> Callable[[Any, str], int]:
    def read(value: Any, where: str) -> int:
        number = int(value) if isinstance(value, str) and re.fullmatch(r"\d{1,18}", value, re.ASCII) else value
        if isinstance(number, bool) or not isinstance(number, int) or not least <= number <= MOST_AMOUNT:
            raise FaultError(where, value, f"a whole number from {least}")
        return number

    return read


def _fitting(expectation: Expectation, expected: str = "") -> Callable[[Any, str], Any]:
    def read(value: Any, where: str) -> Any:
        if expectation.fits(value):
            return value
        raise FaultError(where, value, expected or expectation.description)

    return read


_BOOLEAN: Final = _fitting(Expectation("true or false", lambda value: isinstance(value, bool)))
_model: Final = _fitting(MODEL_NAME, "the id of a model")


def _pattern(value: Any, where: str) -> str:
    if not LABEL.fits(value) or not value.strip():
        raise FaultError(where, value, "the id of a model, or a pattern such as gpt-*")
    return str(value).strip()


def _list_of(read: Callable[[Any, str], Any], what: str) -> Callable[[Any, str], list[Any]]:
    def read_all(value: Any, where: str) -> list[Any]:
        if not isinstance(value, list | tuple):
            raise FaultError(where, value, f"a list of {what}")
        return [read(one, f"{where}[{place}]") for place, one in enumerate(value)]

    return read_all


def _budgets(value: Any, where: str) -> tuple[str, ...]:
    """The budgets, one for a unit and a period, as the database has them."""
    found: dict[tuple[str, str], str] = {}

    def read(one: Any, spot: str) -> None:
        try:
            budget = parsed_budget(one)
        except (UnexpectedValueError, TypeError):
            raise FaultError(spot, one, _BUDGETS_EXPECTED) from None
        kind = budget.unit.value, budget.period.value
        if kind in found:
            raise FaultError(spot, one, f"one budget of {kind[0]} for a {kind[1]}; {found[kind]} is there already")
        found[kind] = budget_text(budget)

    _list_of(read, "budgets such as 5 USD/day")(value, where)
    return tuple(found[kind] for kind in sorted(found))


def _upstream(value: Any, where: str) -> dict[str, Any]:
    table = value
    if isinstance(value, str) and (found := _UPSTREAM.fullmatch(value)) is not None:
        table = {name: one for name, one in found.groupdict().items() if one is not None}
    if not isinstance(table, dict) or not {"provider", "model"} <= table.keys() <= {"provider", "model", "weight"}:
        raise FaultError(where, value, _UPSTREAM_EXPECTED)
    provider = _fitting(NAME, "the name of a provider of the workers")(table["provider"], f"{where}.provider")
    weight = _count(0)(table.get("weight", 1), f"{where}.weight")
    read = {"provider": provider, "model": _model(table["model"], f"{where}.model")}
    return read if weight == 1 else {**read, "weight": weight}


def _price(value: Any, where: str) -> dict[str, Decimal]:
    table = value
    if isinstance(value, str):
        named = re.sub(r"^([^=/]+)/([^=/]+)$", r"input=\1,output=\2", value)
        pairs = [(name.strip(), one) for name, _, one in (piece.partition("=") for piece in named.split(","))]
        table = dict(pairs) if len(dict(pairs)) == len(pairs) else None
    if not isinstance(table, dict) or not {"input", "output"} <= table.keys() <= {*_PRICES}:
        raise FaultError(where, value, _PRICE_EXPECTED)
    return {name: _dollars(table[name], f"{where}.{name}") for name in _PRICES if name in table}


def _dollars(value: Any, where: str) -> Decimal:
    """US dollars, no finer than a nanodollar."""
    with suppress(InvalidOperation, UnexpectedValueError):
        if isinstance(value, str | int | Decimal) and not isinstance(value, bool):
            amount = Decimal(value)
            if Decimal(nanodollars(amount)).scaleb(-9) == amount:
                return amount.normalize() + 0  # 1E+1 as 10, -0 as 0
    raise FaultError(where, value, "a number of US dollars from 0, with 9 decimals at most")


_BUDGETS: Final = Field(
    "budgets",
    "The limit for a period, as 5 USD/day or 2M tokens/week; every budget must have enough left",
    _budgets,
    "AMOUNT",
    (),
    is_many=True,
)
_TIME_ZONE: Final = Field(
    "time_zone", "The time zone in which days, weeks and months of its budgets begin", _fitting(ZONE), "ZONE", "UTC"
)
_MODELS: Final = Field(
    "models",
    "Which models may be used, as ids or patterns; without it, all",
    # In alphabetical order: an order has no meaning here.
    lambda value, where: tuple(
        sorted(set(_list_of(_pattern, "ids of models, or patterns such as gpt-*")(value, where)))
    ),
    "PATTERN",
    is_many=True,
)
_RATES: Final = (
    Field("requests_per_minute", "How many requests may begin in a minute", _count(1), "N"),
    Field("tokens_per_minute", "How many tokens may be used in a minute", _count(1), "N"),
    Field("concurrent_answers", "How many answers may run at once", _count(1), "N"),
)
_LIMITS: Final = (_BUDGETS, _TIME_ZONE, _MODELS, *_RATES)
_DISABLED: Final = Field("disabled", "Refuse every request", _BOOLEAN, default=False)
_ROWS: Final[Mapping[Section, tuple[Field, ...]]] = {
    Section.MODELS: (
        Field(
            "upstreams",
            "Where it is answered, as PROVIDER/MODEL, or PROVIDER/MODEL=WEIGHT for another share than the others; "
            "without it, by the provider of the workers that lists the model",
            lambda value, where: tuple(_list_of(_upstream, "upstreams such as work/gpt-5")(value, where)),
            "PROVIDER/MODEL",
            (),
            is_many=True,
        ),
        Field(
            "fallbacks",
            "Which models answer in its place, in this order, when no upstream of it can",
            lambda value, where: tuple(dict.fromkeys(_list_of(_model, "ids of models")(value, where))),
            "MODEL",
            (),
            is_many=True,
        ),
        Field(
            "affinity",
            "Send the requests of a conversation to the same upstream, where its prompt is cached",
            _BOOLEAN,
            default=True,
        ),
        Field(
            "price",
            "The US dollars of a million tokens, input/output; without it, what the upstream reports or lists",
            _price,
            "IN/OUT",
        ),
    ),
    Section.TEAMS: (
        *_LIMITS,
        Field(
            "audit",
            "What to keep of an answer: only its cost, user and outcome, or its texts too",
            _fitting(Expectation(f"one of {', '.join(AuditLevel)}", lambda value: value in [*AuditLevel])),
            "|".join(AuditLevel),
            AuditLevel.METADATA.value,
        ),
        Field("content_days", "After how many days kept texts are deleted", _count(1), "N", 30),
        _DISABLED,
    ),
    Section.PEOPLE: (
        Field("team", "The team of the person", _fitting(NAME, "the name of a team"), "NAME"),
        Field("admin", "Let the person see and change the whole hub", _BOOLEAN, default=False),
        *_LIMITS,
        _DISABLED,
    ),
    Section.KEYS: _LIMITS,
}
FIELDS: Final[Mapping[Section, Mapping[str, Field]]] = {
    section: {row.name: row for row in rows} for section, rows in _ROWS.items()
}
"""The rows of each table, by name, in the order in which they are written."""


# ---- Writing ----

_LONGEST_LINE: Final = 110
_HEAD: Final = "# The hub as `partstream hub export` wrote it; `partstream hub apply` reads it. It holds no keys.\n"


def written_hub_file(document: HubDocument) -> str:
    """The text of a file that says what the document says."""
    tables = [_HEAD]
    for section, entries in document.items():
        # A table without entries is written too: if the file left it out, apply would keep the entries that are there.
        tables += [] if entries else [f"[{section}]\n"]
        for entry, fields in entries.items():
            lines = [f"[{section}.{written_name(entry)}]"]
            for name, value in fields.items():
                line = f"{name} = {written_value(value)}"
                if len(line) > _LONGEST_LINE and isinstance(value, list | tuple):
                    line = "\n".join([f"{name} = [", *(f"  {written_value(one)}," for one in value), "]"])
                lines.append(line)
            tables.append("\n".join([*lines, ""]))
    return "\n".join(tables)


# ---- Plan ----


class StepKind(StrEnum):
    """What happens to one entry; the value is its sign in the diff."""

    ADDED = "+"
    CHANGED = "~"
    REMOVED = "-"


@dataclass(frozen=True, slots=True)
class Step:
    """One entry that changes; `before` is None for one that is added, `after` for one that is removed."""

    id: EntryId
    before: Fields | None
    after: Fields | None

    @property
    def kind(self) -> StepKind:
        """What happens to the entry."""
        return StepKind.ADDED if self.before is None else StepKind.REMOVED if self.after is None else StepKind.CHANGED

    def changed_fields(self) -> Iterator[tuple[str, Any, Any]]:
        """The fields that differ: name, the value as it is, the new value; None where there is none."""
        before, after = self.before or {}, self.after or {}
        for name, field in FIELDS[self.id.section].items():
            old, new = before.get(name, field.default), after.get(name, field.default)
            if old != new:
                yield name, old, new

    def as_json(self) -> dict[str, Any]:
        """The step for programs."""
        fields = {one: {"before": old, "after": new} for one, old, new in self.changed_fields()}
        return {"kind": self.kind.name.lower(), "entry": self.id.section.one, "name": self.id.name, "fields": fields}

    def lines(self) -> Iterator[str]:
        """The step as lines of a diff: the entry, then each field that differs."""
        yield f"{self.kind} {self.id}"
        for name, old, new in self.changed_fields():
            if self.before is not None and old is not None and old != ():
                yield f"    - {name} = {written_value(old)}"
            if new is not None and new != ():
                yield f"    + {name} = {written_value(new)}"


@dataclass(frozen=True, slots=True)
class Plan:
    """All steps, in the order in which they are carried out: an entry comes before the entries that name it."""

    directory: Directory  # for which it was made
    steps: tuple[Step, ...]

    @property
    def removed(self) -> tuple[EntryId, ...]:
        """The entries that would be gone."""
        return tuple(step.id for step in self.steps if step.kind is StepKind.REMOVED)

    def lines(self) -> Iterator[str]:
        """The plan as a diff, a line for each entry and each of its fields that differs."""
        return (line for step in self.steps for line in step.lines())

    def summary(self) -> str:
        """The plan in one sentence, such as `2 added, 1 changed`."""
        counts = Counter(step.kind for step in self.steps)
        shown = (f"{counts[kind]} {kind.name.lower()}" for kind in StepKind if counts[kind])
        return ", ".join(shown) or "nothing to change"


def plan_of(directory: Directory, wanted: HubDocument) -> Plan:
    """The steps from what there is to what is wanted; entries of tables that the document leaves out stay."""
    now = {section: entries_of(section, directory) for section in wanted}
    steps = [
        Step(EntryId(section, name), now[section].get(name), entries.get(name))
        for section, entries in wanted.items()
        for name in sorted(now[section].keys() | entries.keys())
        if now[section].get(name) != entries.get(name)
    ]
    put = [step for step in steps if step.after is not None]
    # An entry that names a team is removed before the team.
    removed = [step for one in reversed(Section) for step in steps if step.after is None and step.id.section is one]
    return Plan(directory, (*put, *removed))


# ---- The directory as a document, and the changes of a plan ----

_UTC: Final = "UTC"
_SWITCH: Final = "is_"  # what the name of a field that is true or false begins with in an entry of the directory


def document_of(directory: Directory) -> HubDocument:
    """What a directory says, in the words of a file, which holds no keys."""
    return {section: entries_of(section, directory) for section in TABLES}


def entries_of(section: Section, directory: Directory) -> dict[str, Fields]:
    """The entries of a directory, in their one form and in the order of their names."""
    found: dict[str, Fields] = {}
    for name, one in sorted(getattr(directory, ENTRIES[section.one]).items()):
        own = to_builtins(one)
        if isinstance(one, ModelRoute):
            upstreams = (
                {field: value for field, value in each._asdict().items() if value != 1} for each in one.upstreams
            )
            amounts = {kind: getattr(one.price, kind, None) for kind in _PRICES}
            price = {kind: Decimal(it).scaleb(-9).normalize() + 0 for kind, it in amounts.items() if it is not None}
            own |= {"upstreams": tuple(upstreams), "price": price or None}
        else:
            own = {field.removeprefix(_SWITCH): value for field, value in own.items()} | own.get("policy", {})
            rules = directory.budgets.get(Owner(OwnerKind(section.one), name), ())
            own |= own["rates"] | {
                "budgets": tuple(budget_text(BudgetAmount(rule.unit, rule.period, rule.limit)) for rule in rules),
                "time_zone": rules[0].time_zone if rules else _UTC,
                "models": None if one.models is None else tuple(sorted(set(one.models))),
            }
        found[name] = {row.name: own[row.name] for row in _ROWS[section] if own[row.name] != row.default}
    return found


def changes_of(plan: Plan) -> Iterator[DirectoryChange]:
    """The changes that carry a plan out, in order and for one transaction."""
    for step in plan.steps:
        if step.after is None:
            yield Remove(step.id.section.one, step.id.name)
        else:
            fields = {row.name: row.default for row in FIELDS[step.id.section].values()} | dict(step.after)
            changed = {name for name, _, _ in step.changed_fields()} - {"budgets", "time_zone"}
            if step.kind is StepKind.ADDED or changed:
                yield _made(*step.id, fields, plan.directory)
            if step.id.section is not Section.MODELS:
                owner = Owner(OwnerKind(step.id.section.one), step.id.name)
                yield from budget_changes(owner, fields, plan.directory)


def budget_changes(owner: Owner, fields: Fields, directory: Directory) -> Iterator[DirectoryChange]:
    """The changes that give an owner the budgets of fields in their one form: new and changed rules are put, unwanted
    ones removed."""
    zone, budgets = fields.get("time_zone", _UTC), map(parsed_budget, fields.get("budgets", ()))
    rules = [BudgetRule(owner, *budget, zone) for budget in budgets]
    yield from (rule for rule in rules if directory.rules.get(rule.id) != rule)
    unwanted = {rule.id for rule in directory.budgets.get(owner, ())} - {rule.id for rule in rules}
    yield from (Remove("budget", one) for one in sorted(unwanted))


def limited(key: Key, fields: Fields) -> Key:
    """A key with the models and rates of fields in their one form; those that are left out are no limits."""
    return replace(key, models=fields.get("models"), rates=convert(dict(fields), RateLimits))


def _made(section: Section, name: str, fields: Fields, directory: Directory) -> Team | Person | Key | ModelRoute:
    if section is Section.KEYS:
        return limited(directory.keys[name], fields)
    if section is Section.MODELS:
        price = fields["price"] and {kind: nanodollars(amount) for kind, amount in fields["price"].items()}
        return convert(
            {**fields, "name": name, "upstreams": [Route(**one) for one in fields["upstreams"]], "price": price},
            ModelRoute,
        )
    switches = {f"{_SWITCH}{one}": value for one, value in fields.items() if isinstance(value, bool)}
    parts = {"name": name, "rates": fields, "policy": fields}
    kind: type[Team | Person] = Team if section is Section.TEAMS else Person
    return convert({**fields, **switches, **parts}, kind)


# ---- Reading ----


_MOST_CHARACTERS: Final = 16 * 1024 * 1024


def read_hub_file(text: str, file: str = "hub.toml") -> HubDocument:
    """The document of a file; `file` is its name, for errors.

    Raises:
        UnusableHubFileError: It is no TOML, or says something that no hub can do; with every fault.
    """

    def unusable(got: str, expected: str = "TOML 1.0") -> UnusableHubFileError:
        return UnusableHubFileError(file, [UnexpectedValueError("the file", got, expected)])

    if len(text) > _MOST_CHARACTERS:
        raise unusable(f"{len(text):,} characters", f"{_MOST_CHARACTERS:,}")
    try:
        tables = loads_toml(text, parse_float=Decimal)
    except ValueError as error:  # of TOML, and of a number with more digits than Python reads
        raise unusable(f"invalid TOML ({error})") from None
    faults: list[UnexpectedValueError] = [
        _unknown("the file", name, TABLES, "tables") for name in tables if name not in TABLES
    ]
    document = {one: dict(_entries(one, tables[one], faults)) for one in TABLES if one in tables}
    # Teams of people that the file has not; a table that it leaves out is not known here.
    if (teams := document.get(Section.TEAMS)) is not None:
        for name, fields in document.get(Section.PEOPLE, {}).items():
            if (team := fields.get("team")) is not None and team not in teams:
                faults.append(_unknown(f"{Section.PEOPLE}.{name}.team", team, teams, Section.TEAMS))
    if faults:
        raise UnusableHubFileError(file, faults)
    return document


def read_entry(section: Section, table: Fields, where: str) -> tuple[Fields, list[UnexpectedValueError]]:
    """One entry in its one form, and what is wrong in it; `table` has its fields as they were written."""
    known = FIELDS[section]
    values: dict[str, Any] = {}
    faults: list[UnexpectedValueError] = []
    for name, value in table.items():
        try:
            if name not in known:
                raise _unknown(where, name, known, "fields")
            values[name] = known[name].read(value, f"{where}.{name}")
        except FaultError as fault:
            faults.append(fault)
    return {name: values[name] for name, row in known.items() if values.get(name, row.default) != row.default}, faults


def expected_name(section: Section) -> Expectation:
    """What the names of entries have to be."""
    return MODEL_NAME if section is Section.MODELS else NAME


def _entries(section: Section, table: object, faults: list[UnexpectedValueError]) -> Iterator[tuple[str, Fields]]:
    if not isinstance(table, dict):
        faults.append(FaultError(section, table, f"a table [{section}]"))
        return
    expected = expected_name(section)
    for name, fields in sorted(table.items()):
        where = f"{section}.{name}"
        if not expected.fits(name):
            faults.append(FaultError(section, name, expected.description))
        elif not isinstance(fields, dict):
            faults.append(FaultError(where, fields, f"a table [{where}]"))
        else:
            entry, found = read_entry(section, fields, where)
            faults += found
            yield name, entry
