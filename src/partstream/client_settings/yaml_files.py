"""Changes the two simple forms of YAML that clients keep: names with a text each, and a list of such.

No YAML is read beyond its lines: what is more than that is left to a person, and said so. Source: YAML 1.2.2, of which
JSON's texts are a part.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final

from partstream.codec.settings_files import Splice, UnusableTextError, applied, newline_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from partstream.codec.settings_files import Key

__all__ = ["YamlList", "YamlNames"]

_NOTHING: Final = re.compile(r"[ \t]*(#.*)?|---|%.*")
_PLAIN: Final = re.compile(r"[A-Za-z][\w./-]*", re.ASCII)
_WORDS: Final = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n"})
_ONE_LINE: Final = re.compile(
    r"""("(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^\s"'&*!|>{}\[\]#%@`][^#\r\n]*?)(?=[ \t]*(?:#.*)?$)"""
)
"""A text that ends on its line."""


class YamlNames:
    """A file of names with a text each. See :class:`~partstream.codec.settings_files.FileForm`."""

    def found(self, text: str, key: Key) -> str | None:
        """See the protocol."""
        place = _text_of(text, key[0])
        return None if place is None else text[place[0] : place[1]]

    def means(self, text: str, key: Key, value: Any) -> bool:
        """See the protocol."""
        return self.found(text, key) in {_written(value), json.dumps(value, ensure_ascii=False), f"'{value}'"}

    def with_value(self, text: str, key: Key, value: Any) -> tuple[Splice, ...]:
        """See the protocol."""
        return self.with_written(text, key, _written(value))

    def with_written(self, text: str, key: Key, written: str) -> tuple[Splice, ...]:
        """See the protocol."""
        _check_lines(text, re.compile(r"[^\s\-?&*!|>%@`,\[\]{}].*:.*"), "names with a value each")
        if (place := _text_of(text, key[0])) is not None:
            return (Splice(place[0], text[place[0] : place[1]], written),)
        return (_at_the_end(text, f"{key[0]}: {written}" + newline_of(text)),)

    def without(self, text: str, key: Key) -> tuple[Splice, ...]:
        """See the protocol."""
        if (place := _text_of(text, key[0])) is None:
            return ()
        start = text.rfind("\n", 0, place[0]) + 1
        end = text.find("\n", place[1]) + 1 or len(text)
        return (Splice(start, text[start:end], ""),)

    def shown(self, values: dict[Key, Any]) -> str:
        """See the protocol."""
        return "".join(f"{key[0]}: {_written(value)}\n" for key, value in values.items())


class YamlList:
    """A file that is a list. A key is the name and the text by which an entry is known.

    See :class:`~partstream.codec.settings_files.FileForm`.
    """

    def found(self, text: str, key: Key) -> str | None:
        """See the protocol."""
        place = _entry(text, key)
        return None if place is None else text[place[0] : place[1]]

    def means(self, text: str, key: Key, value: Any) -> bool:
        """See the protocol."""
        return self.found(text, key) == _block(value, newline_of(text))

    def with_value(self, text: str, key: Key, value: Any) -> tuple[Splice, ...]:
        """See the protocol."""
        return self.with_written(text, key, _block(value, newline_of(text)))

    def with_written(self, text: str, key: Key, written: str) -> tuple[Splice, ...]:
        """See the protocol."""
        _check_lines(text, re.compile(r"-[ \t].*|-"), "a list of entries that begin with a dash at the margin")
        if (place := _entry(text, key)) is not None:
            return (Splice(place[0], text[place[0] : place[1]], written),)
        return (_at_the_end(text, written),)

    def without(self, text: str, key: Key) -> tuple[Splice, ...]:
        """See the protocol."""
        place = _entry(text, key)
        return () if place is None else (Splice(place[0], text[place[0] : place[1]], ""),)

    def shown(self, values: dict[Key, Any]) -> str:
        """See the protocol."""
        text = ""
        for key, value in values.items():
            text = applied(text, self.with_value(text, key, value))
        return text


def _check_lines(text: str, form: re.Pattern[str], expected: str) -> None:
    """Lets a text pass whose lines at the margin have a form.

    Raises:
        UnusableTextError: One has another.
    """
    for number, line in enumerate(text.splitlines(), 1):
        if line[:1] not in {" ", "\t"} and not _NOTHING.fullmatch(line) and not form.fullmatch(line):
            raise UnusableTextError(f"another form in line {number}", expected)


def _text_of(text: str, name: str) -> tuple[int, int] | None:
    """Where the text of a name is.

    Raises:
        UnusableTextError: It does not end on the line of its name.
    """
    line = re.search(rf"^(?:{re.escape(name)}|\"{re.escape(name)}\"|'{re.escape(name)}')[ \t]*:", text, re.MULTILINE)
    if line is None:
        return None
    found = re.compile(r"[ \t]+" + _ONE_LINE.pattern, re.MULTILINE).match(text.replace("\r\n", " \n"), line.end())
    if found is None:
        raise UnusableTextError(f"{name} with a value of more than one line", "a text on its line")
    return found.span(1)


def _entry(text: str, key: Key) -> tuple[int, int] | None:
    """The lines of the entry that says a text for a name; comments behind it belong to what follows."""
    lines = text.splitlines(keepends=True)
    starts = [number for number, line in enumerate(lines) if line.startswith("-")]
    name, value = map(re.escape, key)
    says = re.compile(rf"^(?:- |  )[ \t]*{name}[ \t]*:[ \t]+[\"']?{value}[\"']?[ \t]*(?:#.*)?\r?$", re.MULTILINE)
    for start, following in zip(starts, [*starts[1:], len(lines)], strict=False):
        end = following
        while end > start and _NOTHING.fullmatch(lines[end - 1].rstrip("\r\n")):
            end -= 1
        if says.search("".join(lines[start:end])):
            return sum(map(len, lines[:start])), sum(map(len, lines[:end]))
    return None


def _at_the_end(text: str, new: str) -> Splice:
    before = "" if not text or text.endswith("\n") else newline_of(text)
    return Splice(len(text), "", before + new)


def _block(values: Mapping[str, Any], newline: str) -> str:
    """An entry of a list."""
    lines = (f"{name}: {_written(value)}" for name, value in values.items())
    return "- " + f"{newline}  ".join(lines) + newline


def _written(value: Any) -> str:
    if isinstance(value, str) and _PLAIN.fullmatch(value) and value.lower() not in _WORDS:
        return value
    return json.dumps(value, ensure_ascii=False)
