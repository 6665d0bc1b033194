"""Changes keys of the head and whole tables of a TOML text, and leaves all else as it is, its comments too.

As in the user's own file (docs/decisions/0014-the-file-is-changed-as-text.md), a change counts only if the standard
library reads the new text as the old document with the change in it.
"""

from __future__ import annotations

import json
import re
import tomllib
from typing import TYPE_CHECKING, Any, Final

from partstream.codec.settings_files import Splice, UnusableTextError, applied, newline_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from partstream.codec.settings_files import Key

__all__ = ["TomlFile"]

_BARE: Final = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)
_TABLE: Final = re.compile(r"[ \t]*\[")
_NOTHING: Final = re.compile(r"[ \t]*(#.*)?")
_VALUE: Final = r"""("(?:[^"\\]|\\.)*"|'[^']*'|[^\s#"'\[{][^\s#]*)(?=[ \t]*(?:#.*)?$)"""
"""A value that is on one line, whatever is said behind it."""


class TomlFile:
    """TOML 1.0. A key of one name is one of the head, a longer one is a table of values.

    See :class:`~partstream.codec.settings_files.FileForm`.
    """

    def found(self, text: str, key: Key) -> str | None:
        """See the protocol."""
        if _value(_read(text), key) is None:
            return None
        start, end = _place(text, key)
        return text[start:end]

    def means(self, text: str, key: Key, value: Any) -> bool:
        """See the protocol."""
        return bool(_value(_read(text), key) == value)

    def with_value(self, text: str, key: Key, value: Any) -> tuple[Splice, ...]:
        """See the protocol."""
        written = _table(key, value, newline_of(text)) if isinstance(value, dict) else _written(value)
        splices = self.with_written(text, key, written)
        wanted = _changed(_read(text), key, value)
        if len(key) == 1 and not _makes(text, splices, wanted):
            splices = (Splice(0, "", f"{_name(key[0])} = {written}{newline_of(text)}"),)
        return _checked(text, splices, wanted, written)

    def with_written(self, text: str, key: Key, written: str) -> tuple[Splice, ...]:
        """See the protocol."""
        newline = newline_of(text)
        if _value(_read(text), key) is not None:
            start, end = _place(text, key)
            return (Splice(start, text[start:end], written),)
        if len(key) > 1:
            gap = "" if not text.strip() else newline if text.endswith("\n") else newline * 2
            return (Splice(len(text), "", gap + written),)
        return (self._line(text, f"{_name(key[0])} = {written}", newline),)

    def without(self, text: str, key: Key) -> tuple[Splice, ...]:
        """See the protocol."""
        if _value(_read(text), key) is None:
            return ()
        start, end = _place(text, key)
        if len(key) == 1:
            start = text.rfind("\n", 0, start) + 1
            end = text.find("\n", end) + 1 or len(text)
        else:
            before = text[:start].rstrip("\r\n")
            start = max(len(before) + len(newline_of(text)), 0) if before else 0
        return _checked(text, (Splice(start, text[start:end], ""),), _changed(_read(text), key, None), "")

    def shown(self, values: dict[Key, Any]) -> str:
        """See the protocol."""
        text = ""
        for key, value in values.items():
            text = applied(text, self.with_value(text, key, value))
        return text

    def _line(self, text: str, line: str, newline: str) -> Splice:
        """A new line of the head: behind its last key, before what is said of the first table."""
        lines = text.splitlines(keepends=True)
        head = next((number for number, one in enumerate(lines) if _TABLE.match(one)), len(lines))
        while head and _NOTHING.fullmatch(lines[head - 1].rstrip("\r\n")):
            head -= 1
        at = sum(map(len, lines[:head]))
        before = "" if not at or text[:at].endswith("\n") else newline
        behind = newline if at == 0 and text.strip() else ""
        return Splice(at, "", before + line + newline + behind)


def _read(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UnusableTextError(f"invalid TOML: {error}", "TOML 1.0 in UTF-8") from None
    except RecursionError:
        raise UnusableTextError("tables or lists nested too deeply", "fewer levels") from None


def _value(document: Mapping[str, Any], key: Key) -> Any:
    value: Any = document
    for name in key:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _changed(document: dict[str, Any], key: Key, value: Any) -> dict[str, Any]:
    """The document with a value for a key; without the key, and the tables that are empty then, for None."""
    name, *rest = key
    inner = document.get(name)
    new = _changed(inner if isinstance(inner, dict) else {}, tuple(rest), value) if rest else value
    others = {one: kept for one, kept in document.items() if one != name}
    return others if new is None or (rest and not new) else {**document, name: new}


def _checked(text: str, splices: tuple[Splice, ...], wanted: dict[str, Any], written: str) -> tuple[Splice, ...]:
    """The changes, if they make what is wanted.

    Raises:
        UnusableTextError: They make something else: the text has an unusual form.
    """
    if _makes(text, splices, wanted):
        return splices
    raise UnusableTextError("a form that is not changed by a program", f"this by hand:\n{written}".rstrip("\n"))


def _makes(text: str, splices: tuple[Splice, ...], wanted: dict[str, Any]) -> bool:
    try:
        return tomllib.loads(applied(text, splices)) == wanted
    except tomllib.TOMLDecodeError:
        return False


def _place(text: str, key: Key) -> tuple[int, int]:
    """Where the value of a key of the head is, or the lines of a table.

    Raises:
        UnusableTextError: It is written in a form that is not changed here.
    """
    if len(key) == 1:
        head = _TABLE_LINE.search(text)
        own = re.compile(rf"^[ \t]*{_key_pattern(key[0])}[ \t]*=[ \t]*{_VALUE}", re.MULTILINE)
        found = own.search(text.replace("\r\n", " \n"), 0, len(text) if head is None else head.start())
        if found is not None:
            return found.span(1)
    else:
        lines = text.splitlines(keepends=True)
        own = re.compile(r"[ \t]*\[[ \t]*" + r"[ \t]*\.[ \t]*".join(map(_key_pattern, key)) + r"[ \t]*(\.|\])")
        start = next((number for number, line in enumerate(lines) if own.match(line)), None)
        if start is not None:
            others = (n for n in range(start, len(lines)) if _TABLE.match(lines[n]) and not own.match(lines[n]))
            end = next(others, len(lines))
            while _NOTHING.fullmatch(lines[end - 1].rstrip("\r\n")):
                end -= 1
            return sum(map(len, lines[:start])), sum(map(len, lines[:end]))
    raise UnusableTextError(f"{'.'.join(key)} in a form that is not changed by a program", "that it is removed by hand")


_TABLE_LINE: Final = re.compile(r"^[ \t]*\[", re.MULTILINE)


def _key_pattern(name: str) -> str:
    return rf"(?:{re.escape(name)}|{re.escape(_written(name))}|'{re.escape(name)}')"


def _table(key: Key, values: Mapping[str, Any], newline: str) -> str:
    """A table; the tables in it are written in one line each."""
    lines = [
        f"[{'.'.join(map(_name, key))}]",
        *(f"{_name(name)} = {_written(value)}" for name, value in values.items()),
    ]
    return newline.join(lines) + newline


def _name(name: str) -> str:
    return name if _BARE.fullmatch(name) else _written(name)


def _written(value: Any) -> str:
    """A value in TOML, whose texts and numbers are written as in JSON; JSON alone leaves U+007F as it is."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{_name(name)} = {_written(one)}" for name, one in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(_written, value)) + "]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
