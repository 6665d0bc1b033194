"""The forms of settings files, each as what can be read of it and changed in its text; touches no disk."""

from __future__ import annotations
import json
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

from partstream.codec.checks import dataclass, field

Key = tuple[str, ...]
"""The names that lead to a value, from the outermost."""


class UnusableTextError(Exception):
    """A text has not the form of its file, or one in which it cannot be changed safely.

    Attributes:
        got: What the file has there.
        expected: What is valid there.
    """

    def __init__(self, got: str, expected: str) -> None:
        super().__init__(f"got {got}, expected {expected}")
        self.got = got
        self.expected = expected


def loads_toml(text: str, **options: Any) -> dict[str, Any]:
    """The tables of a TOML text; the options are those of `tomllib.loads`.

    Raises:
        tomllib.TOMLDecodeError: It is none, or nests too deeply.
    """
    import tomllib  # noqa: PLC0415 - most files are JSON

    try:
        return tomllib.loads(text, **options)
    except RecursionError:
        raise tomllib.TOMLDecodeError("nested too deeply") from None


class FileForm(ABC):
    """A form of settings files. All methods raise :class:`UnusableTextError`."""

    def found(self, text: str, key: Key) -> str | None:
        """The value of a key as the text writes it; None where the key is not there."""
        place = self._place(text, key)
        return None if place is None else text[slice(*place)]

    def means(self, text: str, key: Key, value: Any) -> bool:
        """Whether the text says this value for a key."""
        return self.found(text, key) in self._written(text, key, value)

    def with_value(self, text: str, key: Key, value: Any) -> tuple[Splice, ...]:
        """The changes that make a key have a value."""
        return self.with_written(text, key, self._written(text, key, value)[0])

    def with_written(self, text: str, key: Key, written: str) -> tuple[Splice, ...]:
        """The changes that put back a value as another text wrote it; what :meth:`found` gave."""
        if (place := self._place(text, key)) is not None:
            return (Splice(place[0], text[slice(*place)], written),)
        return (self._added(text, key, written),)

    def without(self, text: str, key: Key) -> tuple[Splice, ...]:
        """The changes that take a key away, and the tables around it that are empty then; none if it is not there."""
        place = self._whole_place(text, key)
        return () if place is None else (Splice(place[0], text[slice(*place)], ""),)

    @abstractmethod
    def _place(self, text: str, key: Key) -> tuple[int, int] | None:
        """Where the value of a key begins and ends."""

    def _whole_place(self, text: str, key: Key) -> tuple[int, int] | None:
        """Where the key begins and its value ends, in whole lines."""
        return self._place(text, key)

    @abstractmethod
    def _written(self, text: str, key: Key, value: Any) -> tuple[str, ...]:
        """A value in the ways in which it can be written, that of ours first."""

    @abstractmethod
    def _added(self, text: str, key: Key, written: str) -> Splice:
        """The change for a key that is not there."""


# ---- Changes that can be reverted ----


class Splice(NamedTuple):
    """A piece of a text instead of another."""

    start: int
    old: str
    new: str


def applied(text: str, splices: Iterable[Splice]) -> str:
    """The text with the changes, one after the other.

    Raises:
        ValueError: The text does not hold there what a change takes away.
    """
    for start, old, new in splices:
        end = start + len(old)
        if text[start:end] != old:
            raise ValueError(f"the text differs at character {start}")
        text = text[:start] + new + text[end:]
    return text


def taken_back(text: str, splices: Sequence[Splice]) -> str:
    """The text before the changes.

    Raises:
        ValueError: The text does not hold what a change has put there.
    """
    return applied(text, [Splice(start, new, old) for start, old, new in reversed(splices)])


def newline_of(text: str) -> str:
    """What ends a line of the text."""
    return "\r\n" if "\r\n" in text else "\n"


# ---- The members of a JSON text and their places ----
# Comments and a comma after the last member are allowed (RFC 8259; Visual Studio Code's "JSON with Comments").

_SPACE: Final = re.compile(r"(?:[ \t\r\n\ufeff]+|//[^\r\n]*|/\*.*?\*/)*", re.DOTALL)
_STRING: Final = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_WORD: Final = re.compile(r"[-+.\w]+")
_DEEPEST: Final = 100
_EXPECTED: Final = "JSON, with or without comments"


@dataclass(slots=True)
class Member:
    """A member of an object."""

    name: str
    start: int
    node: Node
    comma: int | None = None


@dataclass(slots=True)
class Node:
    """A value and its place.

    Attributes:
        members: The members of an object, in their order; None for any other value.
    """

    start: int
    end: int
    value: Any
    members: list[Member] | None = field(default=None)


def read_nodes(text: str) -> Node:
    """The value of a whole text, with the places of all members.

    Raises:
        UnusableTextError: The text is not JSON, has a name twice, or is nested too deeply.
    """
    reader = _Reader(text)
    node, end = reader.value(reader.skip(0), 0)
    if reader.skip(end) != len(text):
        raise reader.wrong(end, "more after the value")
    return node


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text

    def skip(self, at: int) -> int:
        """Where the next token begins."""
        found = _SPACE.match(self._text, at)
        return at if found is None else found.end()

    def wrong(self, at: int, what: str) -> UnusableTextError:
        return UnusableTextError(f"{what} in line {self._text.count(chr(10), 0, at) + 1}", _EXPECTED)

    def value(self, at: int, depth: int) -> tuple[Node, int]:
        if depth > _DEEPEST:
            raise self.wrong(at, f"more than {_DEEPEST} levels")
        match self._text[at : at + 1]:
            case "{":
                node = self._object(at, depth)
            case "[":
                node = self._array(at, depth)
            case _:
                node = self._scalar(at)
        return node, node.end

    def _scalar(self, at: int) -> Node:
        found = _STRING.match(self._text, at) or _WORD.match(self._text, at)
        try:
            if found is not None:
                return Node(at, found.end(), json.loads(found[0]))
        except ValueError:
            pass
        raise self.wrong(at, "no value")

    def _object(self, at: int, depth: int) -> Node:
        members: dict[str, Member] = {}
        here, has_comma = self.skip(at + 1), True
        while self._text[here : here + 1] != "}":
            if not has_comma:
                raise self.wrong(here, "no comma between two members")
            name = self._scalar(here)
            colon = self.skip(name.end)
            if not isinstance(name.value, str) or self._text[colon : colon + 1] != ":":
                raise self.wrong(here, "a member without a name")
            if name.value in members:
                raise self.wrong(here, "a name that occurs twice in an object")
            node, end = self.value(self.skip(colon + 1), depth + 1)
            here = self.skip(end)
            has_comma = self._text[here : here + 1] == ","
            members[name.value] = Member(name.value, name.start, node, here if has_comma else None)
            here = self.skip(here + 1) if has_comma else here
        return Node(at, here + 1, {name: one.node.value for name, one in members.items()}, [*members.values()])

    def _array(self, at: int, depth: int) -> Node:
        values: list[Any] = []
        here, may_go_on = self.skip(at + 1), True
        while self._text[here : here + 1] != "]":
            if not may_go_on:
                raise self.wrong(here, "no comma between two values")
            node, end = self.value(here, depth + 1)
            values.append(node.value)
            here = self.skip(end)
            may_go_on = self._text[here : here + 1] == ","
            here = self.skip(here + 1) if may_go_on else here
        return Node(at, here + 1, values)
