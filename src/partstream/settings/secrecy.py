"""The secrets in a setting's value: how the value is shown without them, and which texts no log may hold.

Works on values as they stand somewhere, also on those that are of no use: a key under a misspelt name is a key.
extension/src/redaction.ts finds the same texts, by the same rows.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote, urlsplit, urlunsplit

from partstream.settings.kinds import HIDDEN, KEY_IN_A_NAME, shown_name
from partstream.settings.row import Contents, Nesting, Secrecy, Setting, by_name, field_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

__all__ = [
    "PLAIN_WORD",
    "SEPARATORS",
    "SHORTEST_KEY",
    "SHORTEST_SECRET",
    "hidden_url",
    "secrets_held",
    "secrets_in",
    "shown",
    "shown_variable",
]

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
"""What stands between the words of a text; a word with a digit may be a key too."""


def shown(row: Setting, value: Any) -> Any:
    """A value without its secrets."""
    if row.contents is not None:
        return _SHOW_CONTENTS[row.contents.nesting](row.contents, value)
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

    What is no URL is hidden: it may be a key that stands in the wrong place.
    """
    try:
        address = urlsplit(url)
    except ValueError:
        return HIDDEN
    if not address.scheme or not address.netloc:
        return HIDDEN
    host = f"{HIDDEN}@{address.netloc.rpartition('@')[2]}" if "@" in address.netloc else address.netloc
    query = "&".join(f"{name}={HIDDEN}" if equals else HIDDEN for name, equals, _ in _pairs(address.query))
    return urlunsplit((address.scheme, host, address.path, query, ""))


def shown_variable(name: str) -> str:
    """The name of an environment variable; hidden where it may be a key that stands in the place of the name."""
    is_name = _VARIABLE.fullmatch(name) and len(name) <= _LONGEST_VARIABLE
    return name if is_name and ("_" in name or len(name) <= _LONGEST_WORD) else HIDDEN


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
                # What is no object is of no use, and may be a key that stands in the wrong place.
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


# ---- which texts are secret ----


def _strings(value: Any) -> Iterator[str]:
    """Every string of a JSON value, at any depth."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for name, item in value.items():
            if KEY_IN_A_NAME.search(str(name)):
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


def _arguments(value: Any) -> Iterator[str]:
    yield from _keys(value[1:] if isinstance(value, list) else value)


_FIND: Final[Mapping[Secrecy, Callable[[Any], Iterable[str]]]] = {
    Secrecy.NOTHING: lambda value: (),
    Secrecy.WHOLE: _strings,
    Secrecy.HEADERS: _header_values,
    Secrecy.BODY: _keys,
    Secrecy.URL: _of_url,
    Secrecy.ARGUMENTS: _arguments,
}


# ---- what is shown of a value ----


def _without_values(value: Any) -> Any:
    return dict.fromkeys(map(shown_name, value), HIDDEN) if isinstance(value, dict) else HIDDEN


def _program(value: Any) -> Any:
    return [value[0], *([HIDDEN] * (len(value) - 1))] if isinstance(value, list) and value else HIDDEN


_SHOW: Final[Mapping[Secrecy, Callable[[Any], Any]]] = {
    Secrecy.NOTHING: lambda value: value,
    Secrecy.WHOLE: lambda value: HIDDEN,
    Secrecy.HEADERS: _without_values,
    Secrecy.BODY: _without_values,
    Secrecy.URL: lambda value: hidden_url(value) if isinstance(value, str) else HIDDEN,
    Secrecy.ARGUMENTS: _program,
}


def _show_object(contents: Contents, value: Any) -> Any:
    if contents.short_for is not None and isinstance(value, str):
        return value
    if not isinstance(value, dict):
        return HIDDEN
    rows = by_name(contents.rows)
    return {name: shown(rows[name], item) if name in rows else HIDDEN for name, item in value.items()}


def _show_by_name(contents: Contents, value: Any) -> Any:
    if not isinstance(value, dict):
        return HIDDEN
    return {name: _show_object(contents, item) for name, item in value.items()}


def _show_list(contents: Contents, value: Any) -> Any:
    return [_show_object(contents, item) for item in value] if isinstance(value, list) else HIDDEN


_SHOW_CONTENTS: Final[Mapping[Nesting, Callable[[Contents, Any], Any]]] = {
    Nesting.OBJECT: _show_object,
    Nesting.BY_NAME: _show_by_name,
    Nesting.LIST: _show_list,
}
