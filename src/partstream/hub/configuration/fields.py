"""The fields of `hub.toml`: one row for each, with how a value is read into its one form.

The options of `partstream hub add` and `partstream hub set` are made from the same rows, and their values are read by
the same readers: a number may be a text of digits, a table has a short form on one line.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from enum import Enum
from typing import TYPE_CHECKING, Any, Final
from zoneinfo import ZoneInfo

from partstream.errors import UnexpectedValueError
from partstream.hub.amounts import budget_text, nanodollars, parsed_budget
from partstream.hub.configuration.document import Section
from partstream.hub.configuration.faults import FaultError
from partstream.hub.directory import MOST_AMOUNT, AuditLevel, check_model_name, check_name

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["FIELDS", "Field", "Form"]

_BUDGETS_EXPECTED: Final = 'a budget such as "5 USD/day", "2M tokens/week" or "250.50 USD/month"'
_PRICES: Final = ("input", "output", "cached_input", "cache_write")
_PRICE_EXPECTED: Final = (
    'the US dollars of a million tokens, such as "0.25/2" or {input = 0.25, output = 2.0}, beside which '
    "cached_input and cache_write may stand"
)
_UPSTREAM_EXPECTED: Final = (
    'a provider of the workers and its model, such as "work/gpt-5" or {provider = "work", model = "gpt-5", weight = 3}'
)
_UPSTREAM: Final = re.compile(r"(?P<provider>[^/]+)/(?P<model>.+?)(?:=(?P<weight>\d{1,6}))?")
_LONGEST: Final = 200


class Form(Enum):
    """What the option of a field looks like."""

    ONE = "one"
    MANY = "many"
    """It may be given several times."""
    FLAG = "flag"
    """It has a counterpart that begins with `--no-`."""


@dataclass(frozen=True, slots=True)
class Field:
    """One field of an entry.

    Attributes:
        name: Its name in the file.
        says: What it sets, as a phrase.
        read: Gives a value its one form; given its place for the :class:`FaultError` that it raises.
        default: The form of what holds where it is left out.
        form: What its option looks like.
        option: The option of the command line.
        metavar: What stands behind the option in the help; empty for a flag.
        names: The table whose entries it names, or None.
    """

    name: str
    says: str
    read: Callable[[Any, str], Any]
    option: str
    metavar: str = ""
    default: Any = None
    form: Form = Form.ONE
    names: Section | None = None


def _boolean(value: Any, where: str) -> bool:
    if not isinstance(value, bool):
        raise FaultError(where, value, "true or false")
    return value


def _count(least: int) -> Callable[[Any, str], int]:
    def read(value: Any, where: str) -> int:
        number = int(value) if isinstance(value, str) and re.fullmatch(r"\d{1,18}", value, re.ASCII) else value
        if isinstance(number, bool) or not isinstance(number, int) or not least <= number <= MOST_AMOUNT:
            raise FaultError(where, value, f"a whole number from {least}")
        return number

    return read


def _choice(*choices: str) -> Callable[[Any, str], str]:
    def read(value: Any, where: str) -> str:
        if value not in choices:
            raise FaultError(where, value, f"one of {', '.join(choices)}")
        return str(value)

    return read


def _pattern(value: Any, where: str) -> str:
    if not isinstance(value, str) or not value.strip() or len(value) > _LONGEST or not value.isprintable():
        raise FaultError(where, value, "the id of a model, or a pattern such as gpt-*")
    return value.strip()


def _name(value: Any, where: str) -> str:
    return _checked(check_name, value, where, "the name of a team")


def _model(value: Any, where: str) -> str:
    return _checked(check_model_name, value, where, "the id of a model")


def _checked(check: Callable[[str, object], None], value: Any, where: str, expected: str) -> str:
    try:
        check(where, value)
    except UnexpectedValueError:
        raise FaultError(where, value, expected) from None
    return str(value)


def _time_zone(value: Any, where: str) -> str:
    try:
        ZoneInfo(value)
    except (KeyError, ValueError, TypeError, OSError):
        raise FaultError(where, value, "the name of a time zone, such as Europe/Berlin") from None
    return str(value)


def _list_of(read: Callable[[Any, str], Any], what: str) -> Callable[[Any, str], list[Any]]:
    def read_all(value: Any, where: str) -> list[Any]:
        if not isinstance(value, list | tuple):
            raise FaultError(where, value, f"a list of {what}")
        return [read(one, f"{where}[{place}]") for place, one in enumerate(value)]

    return read_all


def _models(value: Any, where: str) -> tuple[str, ...]:
    """The models in alphabetical order: an order has no meaning here."""
    return tuple(sorted(set(_list_of(_pattern, "ids of models, or patterns such as gpt-*")(value, where))))


def _fallbacks(value: Any, where: str) -> tuple[str, ...]:
    """The models in the order in which they are asked."""
    return tuple(dict.fromkeys(_list_of(_model, "ids of models")(value, where)))


def _budgets(value: Any, where: str) -> tuple[str, ...]:
    """The budgets, one for a unit and a period, as the database has them."""
    found: dict[tuple[str, str], str] = {}
    for place, one in enumerate(_list_of(lambda one, _: one, "budgets such as 5 USD/day")(value, where)):
        spot = f"{where}[{place}]"
        if not isinstance(one, str):
            raise FaultError(spot, one, _BUDGETS_EXPECTED)
        try:
            budget = parsed_budget(one)
        except UnexpectedValueError:
            raise FaultError(spot, one, _BUDGETS_EXPECTED) from None
        kind = budget.unit.value, budget.period.value
        if kind in found:
            raise FaultError(spot, one, f"one budget of {kind[0]} for a {kind[1]}; {found[kind]} stands there already")
        found[kind] = budget_text(budget)
    return tuple(found[kind] for kind in sorted(found))


def _upstreams(value: Any, where: str) -> tuple[dict[str, Any], ...]:
    return tuple(_list_of(_upstream, "upstreams such as work/gpt-5")(value, where))


def _upstream(value: Any, where: str) -> dict[str, Any]:
    table = value
    if isinstance(value, str) and (found := _UPSTREAM.fullmatch(value)) is not None:
        table = {name: one for name, one in found.groupdict().items() if one is not None}
    if not isinstance(table, dict) or not {"provider", "model"} <= table.keys() <= {"provider", "model", "weight"}:
        raise FaultError(where, value, _UPSTREAM_EXPECTED)
    provider = _checked(check_name, table["provider"], f"{where}.provider", "the name of a provider of the workers")
    weight = _count(0)(table.get("weight", 1), f"{where}.weight")
    read = {"provider": provider, "model": _model(table["model"], f"{where}.model")}
    return read if weight == 1 else {**read, "weight": weight}


def _price(value: Any, where: str) -> dict[str, Decimal]:
    table = value
    if isinstance(value, str):
        named = [piece.partition("=") for piece in value.split(",")]
        is_short = "=" not in value
        pieces = value.split("/") if is_short else [one.strip() for _, _, one in named]
        table = dict(zip(_PRICES if is_short else [name.strip() for name, _, _ in named], pieces, strict=False))
        if len(table) != len(pieces):
            raise FaultError(where, value, _PRICE_EXPECTED)
    if not isinstance(table, dict) or not {"input", "output"} <= table.keys() <= {*_PRICES}:
        raise FaultError(where, value, _PRICE_EXPECTED)
    return {name: _dollars(table[name], f"{where}.{name}") for name in _PRICES if name in table}


def _dollars(value: Any, where: str) -> Decimal:
    """US dollars, no finer than a nanodollar."""
    expected = "a number of US dollars from 0, with 9 decimals at most"
    try:
        if isinstance(value, bool) or not isinstance(value, str | int | Decimal):
            raise FaultError(where, value, expected)
        amount = Decimal(value.strip() if isinstance(value, str) else value)
        if Decimal(nanodollars(amount)).scaleb(-9) != amount:
            raise FaultError(where, value, expected)
    except (InvalidOperation, UnexpectedValueError):
        raise FaultError(where, value, expected) from None
    return amount.normalize() + 0  # 1E+1 as 10, -0 as 0


_BUDGETS: Final = Field(
    "budgets",
    "What may be used in a period, as 5 USD/day or 2M tokens/week; every one has to have enough left",
    _budgets,
    "--budget",
    "AMOUNT",
    (),
    Form.MANY,
)
_TIME_ZONE: Final = Field(
    "time_zone",
    "In whose calendar days, weeks and months of its budgets begin",
    _time_zone,
    "--time-zone",
    "ZONE",
    "UTC",
)
_MODELS: Final = Field(
    "models",
    "Which models may be used, as ids or patterns; without it, all",
    _models,
    "--model",
    "PATTERN",
    form=Form.MANY,
)
_RATES: Final = (
    Field("requests_per_minute", "How many requests may begin in a minute", _count(1), "--requests-per-minute", "N"),
    Field("tokens_per_minute", "How many tokens may be used in a minute", _count(1), "--tokens-per-minute", "N"),
    Field("concurrent_answers", "How many answers may run at once", _count(1), "--concurrent-answers", "N"),
)
_DISABLED: Final = Field("disabled", "Refuse every request", _boolean, "--disabled", default=False, form=Form.FLAG)

_ROWS: Final[Mapping[Section, tuple[Field, ...]]] = {
    Section.MODELS: (
        Field(
            "upstreams",
            "Where it is answered, as PROVIDER/MODEL, or PROVIDER/MODEL=WEIGHT for another share than the others; "
            "without it, by the provider of the workers that lists the model",
            _upstreams,
            "--upstream",
            "PROVIDER/MODEL",
            (),
            Form.MANY,
        ),
        Field(
            "fallbacks",
            "Which models answer in its place, in this order, when no upstream of it can",
            _fallbacks,
            "--fallback",
            "MODEL",
            (),
            Form.MANY,
        ),
        Field(
            "affinity",
            "Send the requests of a conversation to the same upstream, where its prompt is cached",
            _boolean,
            "--affinity",
            default=True,
            form=Form.FLAG,
        ),
        Field(
            "price",
            "The US dollars of a million tokens, input/output; without it, what the upstream reports or lists",
            _price,
            "--price",
            "IN/OUT",
        ),
    ),
    Section.TEAMS: (
        _BUDGETS,
        _TIME_ZONE,
        _MODELS,
        *_RATES,
        Field(
            "audit",
            "What is kept of an answer: nothing more than its cost, who asked and how it ended, or its texts too",
            _choice(*AuditLevel),
            "--audit",
            "|".join(AuditLevel),
            AuditLevel.METADATA.value,
        ),
        Field("content_days", "After how many days kept texts are deleted", _count(1), "--content-days", "N", 30),
        _DISABLED,
    ),
    Section.PEOPLE: (
        Field("team", "The team of the person", _name, "--team", "NAME", names=Section.TEAMS),
        Field(
            "admin", "Let the person see and change the whole hub", _boolean, "--admin", default=False, form=Form.FLAG
        ),
        _BUDGETS,
        _TIME_ZONE,
        _MODELS,
        *_RATES,
        _DISABLED,
    ),
}

FIELDS: Final[Mapping[Section, Mapping[str, Field]]] = {
    section: {row.name: row for row in rows} for section, rows in _ROWS.items()
}
"""The rows of each table, by name, in the order in which they are written."""
