"""The row of a setting: its name, values, default, secrecy and places; how values are read, and which texts are secret.

Rows are beside the code that uses them, also in the folder of a protocol; :mod:`partstream.config.table` gathers them.
Every text about settings is made from the rows.

Secrets are found in values of any form, also in unusable ones: a key under a misspelt name is a key.
`extension/src/redaction.ts` finds the same texts, by the same rows.
"""

from __future__ import annotations
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from functools import cached_property
from typing import Any, Final, TypeAlias
from urllib.parse import unquote, urlsplit, urlunsplit

from partstream.codec.checks import dataclass
from partstream.codec.json_codec import dumps
from partstream.settings import kinds


class SettingSource(StrEnum):
    """The places of a setting, strongest first: a narrower place wins over a wider one."""

    COMMAND_LINE = "command line"
    """One run."""
    GROUP = "VS Code group"
    """One upstream among several."""
    PROFILE = "profile"
    """One upstream among several of the user's file."""
    EDITOR = "VS Code settings"
    """One editor."""
    ENVIRONMENT = "environment"
    """Everything that was started from one shell."""
    FILE = "partstream.toml"
    """Everything that one user starts."""
    DEFAULT = "default"


EVERYWHERE: Final = frozenset(
    {
        SettingSource.COMMAND_LINE,
        SettingSource.GROUP,
        SettingSource.PROFILE,
        SettingSource.ENVIRONMENT,
        SettingSource.FILE,
    }
)
"""The places of most settings."""


class Secrecy(StrEnum):
    """Which part of a value is secret; see :mod:`partstream.settings.row`."""

    NOTHING = "nothing"
    WHOLE = "whole"
    HEADERS = "headers"
    """The values of an object of headers, with and without a scheme such as `Bearer` before them."""
    BODY = "body"
    """Strings at any depth of a JSON value, those that cannot be a key left out."""
    URL = "url"
    """The user name and the password of a URL, and the values of its query."""
    ARGUMENTS = "arguments"
    """Everything after the first string of a list, which is a program."""


class Nesting(StrEnum):
    """How rows are written within the value of another."""

    OBJECT = "object"
    BY_NAME = "by name"
    """They are the fields of every object in an object: the names are not those of settings."""
    LIST = "list"
    """They are the fields of every object in a list."""


@dataclass(frozen=True, slots=True)
class Contents:
    """The rows within the value of a row."""

    nesting: Nesting  # how they are written in it
    rows: Sequence[Setting]
    # gives the value in our own types from the fields that were read, one dictionary or several as `nesting` says, and
    # the place that errors name
    build: Callable[[Any, str], Any] = lambda fields, _where: fields
    # the row whose value may replace the object, as a model's id does; None for none
    short_for: str | None = None
    # the protocol that a setting belongs to which does not belong here; None for an unknown one
    elsewhere: Callable[[str], str | None] = lambda _name: None
    is_open: bool = False  # whether a protocol that is installed later may add rows


class LateRows(Sequence["Setting"]):
    """Rows that are made at their first use: those of a wire come with the modules of the wire."""

    def __init__(self, make: Callable[[], Iterable[Setting]]) -> None:
        self._make = make

    @cached_property
    def _rows(self) -> tuple[Setting, ...]:
        return tuple(self._make())

    def __getitem__(self, place: Any) -> Any:
        return self._rows[place]

    def __len__(self) -> int:
        return len(self._rows)


@dataclass(frozen=True, slots=True)
class Dialog:
    """How VS Code's editor of groups shows a setting."""

    title: str = ""  # what it is called there; empty for its name
    is_asked: bool = False  # whether a person is asked for it who adds a group
    is_required: bool = False  # whether the dialog accepts no empty answer
    hint: str = ""  # what a person has to know there beside what the setting says, as a sentence
    snippet: Mapping[str, Any] | None = None  # what the editor offers to insert, or None


OnUnknown: TypeAlias = "Callable[[kinds.ConfigurationError], None]"
"""Called with a setting that is invalid in its place; raises it, or continues without it."""


def refuse(error: kinds.ConfigurationError) -> None:
    """Raises it."""
    raise error


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting.

    Attributes:
        name: What it is called in a VS Code group, in `partstream.toml` and in errors.
        kind: What its value can be.
        says: What it says, in Markdown, without a full stop.
        default: The default in JSON's types; None for none.
        otherwise: The same in words, where no single value says it.
        sets: The field of our own object that it sets; dots lead into objects within.
        secrecy: What of its value is secret.
        places: Its possible places.
        protocol: The protocol that it belongs to, or None for all.
        contents: The rows within its value, or None.
        is_bound: Whether it belongs to the base URL beside it, and to no other upstream.
        is_required: Whether an object without it is unusable.
        may_be_empty: Whether the empty string is a value; otherwise it counts as left out.
        option: The option of the command line that sets it, such as `--base-url`; empty for none.
        metavar: The name of its value in the help of the command line.
        dialog: How VS Code's editor of groups shows it.
    """

    name: str
    kind: kinds.Kind
    says: str
    default: Any = None
    otherwise: str = ""
    sets: str = ""
    secrecy: Secrecy = Secrecy.NOTHING
    places: frozenset[SettingSource] = EVERYWHERE
    protocol: str | None = None
    contents: Contents | None = None
    is_bound: bool = True
    is_required: bool = False
    may_be_empty: bool = False
    option: str = ""
    metavar: str = "VALUE"
    dialog: Dialog = Dialog()

    @property
    def path(self) -> str:
        """The field that it sets: `field` if it is given, else the name in Python's spelling."""
        return self.sets or re.sub(r"(?<=[a-z])(?=[A-Z])", "_", self.name).lower()

    @property
    def shown_default(self) -> str:
        """The default in Markdown; empty if there is none."""
        if self.otherwise or self.default is None:
            return self.otherwise
        return f"`{self.default if isinstance(self.default, str) else dumps(self.default).decode()}`"

    @property
    def variable(self) -> str:
        """The environment variable that sets it."""
        return "PARTSTREAM_" + re.sub(r"(?<=[a-z])(?=[A-Z])", "_", self.name).upper()

    def read(self, value: Any, where: str, on_unknown: OnUnknown = refuse) -> Any:
        """The value in the package's own types.

        Args:
            on_unknown: Called with unknown settings within it.

        Raises:
            ConfigurationError: The value is unusable; the message shows no secret.
        """
        contents = self.contents
        if contents is None:
            return self.kind.read(value, where)
        given = self.kind.read(value, where)
        return contents.build(_read_contents(contents, given, where, on_unknown), where)


def by_name(rows: Iterable[Setting]) -> dict[str, Setting]:
    """Rows by their names."""
    return {row.name: row for row in rows}


def is_left_out(row: Setting | None, value: Any) -> bool:
    """Tells whether a value counts as absent: VS Code's dialog writes empty strings."""
    return value is None or (value == "" and (row is None or not row.may_be_empty))


def check_fields(holder: object, rows: Iterable[Setting]) -> None:
    """Refuses an object of ours with a field that the row of its setting would refuse; rows within others are left out.

    Raises:
        ConfigurationError: A field has an unusable value.
    """
    for row in rows:
        value = field_of(holder, row.path)
        if value is not None and row.contents is None:
            row.kind.read(value, row.name)


def field_of(holder: object, path: str) -> Any:
    """The field of an object; dots lead into objects and dictionaries within. None where there is none."""
    for name in path.split("."):
        holder = holder.get(name) if isinstance(holder, Mapping) else getattr(holder, name, None)
    return holder


def set_field(fields: dict[str, Any], path: str, value: Any) -> None:
    """Sets a field; dots in its path lead into dictionaries within."""
    *within, last = path.split(".")
    for name in within:
        fields = fields.setdefault(name, {})
    fields[last] = value


def holder_of(name: str, rows: Iterable[Setting]) -> str | None:
    """The setting with an object in it that has a setting of this name, or None."""
    holding = (row.name for row in rows if row.contents is not None and name in by_name(row.contents.rows))
    return next(holding, None)


def _read_object(contents: Contents, given: Any, where: str, on_unknown: OnUnknown) -> dict[str, Any]:
    given = (
        {contents.short_for: given}
        if contents.short_for and isinstance(given, str)
        else kinds.json_object(given, where)
    )
    known = by_name(contents.rows)
    fields: dict[str, Any] = {}
    for name, value in given.items():
        spot = f"{where}.{name}"
        if name in known:
            set_field(fields, known[name].path, known[name].read(value, spot, on_unknown))
        elif (owner := contents.elsewhere(name)) is not None:
            on_unknown(kinds.MisplacedSettingError(spot, name, owner))
        else:
            on_unknown(kinds.UnknownSettingError(spot, name, where, known))
    missing = next((row for row in contents.rows if row.is_required and row.name not in given), None)
    if missing is not None:
        raise kinds.ConfigurationError(f"{where}.{missing.name}", "nothing", missing.says[0].lower() + missing.says[1:])
    return fields


def _read_contents(contents: Contents, given: Any, where: str, on_unknown: OnUnknown) -> Any:
    if contents.nesting is Nesting.OBJECT:
        return _read_object(contents, given, where, on_unknown)
    if contents.nesting is Nesting.LIST:
        return [_read_object(contents, item, f"{where}[{index}]", on_unknown) for index, item in enumerate(given)]
    items = kinds.json_object(given, where).items()
    return {name: _read_object(contents, item, f"{where}.{name}", on_unknown) for name, item in items}


# ---- Secrecy ----

SHORTEST_SECRET: Final = 4
"""Characters; anything shorter is no key, and would blot out half of every text."""
SHORTEST_KEY: Final = 8
"""The same where a text may be a key or any other word."""
_VARIABLE_METAVAR: Final = "VARIABLE"
"""What the table of settings calls a value that is the name of an environment variable."""
_VARIABLE: Final = re.compile(r"[A-Z][A-Z0-9]*(_[A-Z0-9]+)*")
_LONGEST_VARIABLE: Final = 60
_LONGEST_WORD: Final = 12
"""Characters of a name without an underscore; some keys are capitals and digits alone, and longer."""
PLAIN_WORD: Final = re.compile(r"[a-z]{1,12}")
"""What is no key there, such as the name of a provider."""
SEPARATORS: Final = r"""[\s"'?&=:@/,;]+"""
"""The separators of the words of a text; a word with a digit may be a key too."""


def shown(row: Setting, value: Any) -> Any:
    """A value without its secrets."""
    if row.contents is not None:
        match row.contents.nesting:
            case Nesting.OBJECT:
                return _show_object(row.contents, value)
            case Nesting.BY_NAME if isinstance(value, dict):
                return {name: _show_object(row.contents, item) for name, item in value.items()}
            case Nesting.LIST if isinstance(value, list):
                return [_show_object(row.contents, item) for item in value]
        return kinds.HIDDEN
    if row.metavar == _VARIABLE_METAVAR and isinstance(value, str):
        return shown_variable(value)
    return _SHOW[row.secrecy](value)


def secrets_in(rows: Iterable[Setting], given: Mapping[str, Any]) -> set[str]:
    """Every text in an object of settings that may be a secret, including the values of unknown names."""
    return {text for text in _secrets_in(by_name(rows), given) if len(text) >= SHORTEST_SECRET}


def secrets_held(rows: Iterable[Setting], holder: object) -> set[str]:
    """Every secret in settings that were read into an object."""
    return {text for text in _secrets_held(rows, holder) if len(text) >= SHORTEST_SECRET}


def hidden_url(url: str) -> str:
    """A URL without its possible secrets: user name, password and the values of its query.

    What is no URL is hidden: it may be a key in the wrong place.
    """
    try:
        address = urlsplit(url)
    except ValueError:
        return kinds.HIDDEN
    if not address.scheme or not address.netloc:
        return kinds.HIDDEN
    host = f"{kinds.HIDDEN}@{address.netloc.rpartition('@')[2]}" if "@" in address.netloc else address.netloc
    query = "&".join(f"{name}={kinds.HIDDEN}" if equals else kinds.HIDDEN for name, equals, _ in _pairs(address.query))
    return urlunsplit((address.scheme, host, address.path, query, ""))


def shown_variable(name: str) -> str:
    """The name of an environment variable; hidden where it may be a key instead of the name."""
    is_name = _VARIABLE.fullmatch(name) and len(name) <= _LONGEST_VARIABLE
    return name if is_name and ("_" in name or len(name) <= _LONGEST_WORD) else kinds.HIDDEN


def _secrets_in(rows: Mapping[str, Setting], given: Mapping[str, Any]) -> Iterator[str]:
    for name, value in given.items():
        row = rows.get(name)
        if row is None:
            yield from _keys({name: value})
        elif row.contents is None:
            yield from _FIND[row.secrecy](value)
        else:
            known = by_name(row.contents.rows)
            for item in _objects(row.contents.nesting, value):
                if row.contents.short_for is not None and isinstance(item, str):
                    continue
                # What is no object may be a key in the wrong place.
                yield from _secrets_in(known, item) if isinstance(item, Mapping) else _keys(item)


def _objects(nesting: Nesting, value: Any) -> Iterable[Any]:
    if nesting is Nesting.BY_NAME and isinstance(value, Mapping):
        return value.values()
    return value if nesting is Nesting.LIST and isinstance(value, list | tuple) else (value,)


def _secrets_held(rows: Iterable[Setting], holder: object) -> Iterator[str]:
    for row in rows:
        value = field_of(holder, row.path)
        if row.contents is None:
            yield from _FIND[row.secrecy](value)
        else:
            for item in _objects(row.contents.nesting, value):
                yield from _secrets_held(row.contents.rows, item)


# ---- Which texts are secret ----


def _strings(value: Any) -> Iterator[str]:
    """Every string of a JSON value, at any depth."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for name, item in value.items():
            if kinds.KEY_IN_A_NAME.search(str(name)):
                yield str(name)
            yield from _strings(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _strings(item)


def _keys(value: Any) -> Iterator[str]:
    """The strings that may be keys, where most are none; and what may be one within them: `Bearer KEY`, `?key=KEY`."""
    for text in _strings(value):
        for word in (text, *(word for word in re.split(SEPARATORS, text) if any(map(str.isdigit, word)))):
            if len(word) >= SHORTEST_KEY and not PLAIN_WORD.fullmatch(word):
                yield word


def _header_values(value: Any) -> Iterator[str]:
    for text in _strings(value):
        yield text
        yield text.rpartition(" ")[2]  # `Bearer KEY`: the key alone is a secret too


def _of_url(value: Any) -> Iterator[str]:
    for text in _strings(value):
        try:
            address = urlsplit(text)
        except ValueError:
            yield text
            continue
        known = address.netloc.rpartition("@")[0]
        values = [value if equals else name for name, equals, value in _pairs(address.query)]
        for part in (known, *known.split(":", 1), *values):
            yield part
            yield unquote(part)


def _pairs(query: str) -> list[tuple[str, str, str]]:
    """Name, equals sign and value of each pair of a query; a text without an equals sign may be a key alone."""
    return [pair.partition("=") for pair in query.split("&") if pair]


_FIND: Final[Mapping[Secrecy, Callable[[Any], Iterable[str]]]] = {
    Secrecy.NOTHING: lambda value: (),
    Secrecy.WHOLE: _strings,
    Secrecy.HEADERS: _header_values,
    Secrecy.BODY: _keys,
    Secrecy.URL: _of_url,
    Secrecy.ARGUMENTS: lambda value: _keys(value[1:] if isinstance(value, list) else value),
}


# ---- What is shown of a value ----


def _without_values(value: Any) -> Any:
    return dict.fromkeys(map(kinds.shown_name, value), kinds.HIDDEN) if isinstance(value, dict) else kinds.HIDDEN


_SHOW: Final[Mapping[Secrecy, Callable[[Any], Any]]] = {
    Secrecy.NOTHING: lambda value: value,
    Secrecy.WHOLE: lambda value: kinds.HIDDEN,
    Secrecy.HEADERS: _without_values,
    Secrecy.BODY: _without_values,
    Secrecy.URL: lambda value: hidden_url(value) if isinstance(value, str) else kinds.HIDDEN,
    Secrecy.ARGUMENTS: lambda value: (
        [value[0], *([kinds.HIDDEN] * (len(value) - 1))] if isinstance(value, list) and value else kinds.HIDDEN
    ),
}


def _show_object(contents: Contents, value: Any) -> Any:
    if contents.short_for is not None and isinstance(value, str):
        return value
    if not isinstance(value, dict):
        return kinds.HIDDEN
    rows = by_name(contents.rows)
    return {name: shown(rows[name], item) if name in rows else kinds.HIDDEN for name, item in value.items()}
