"""Gives ids, names of tools and links other names of the same length: the same one wherever they stand."""

from __future__ import annotations

import re
from string import ascii_lowercase
from typing import TYPE_CHECKING, Final

from partstream.bundles.redaction.stand_ins import stand_in
from partstream.devtools.redaction.rules import ID_PREFIXES, LINKED_ENDINGS, TOOL_NAMES, WRAPPINGS

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Renaming", "id_form", "link_form", "tool_form"]

_SHORT_NUMBER: Final = re.compile(r"[0-9]{1,3}")
_PREFIX: Final = re.compile(rf"(?:{'|'.join(sorted(ID_PREFIXES, key=len, reverse=True))})[_-]?")
_ANY: Final = re.compile(r"[A-Za-z0-9]")
_ERROR_CLASS: Final = re.compile(r"(?:[A-Z][A-Za-z]{0,30}_)?[A-Z][A-Za-z]{1,50}(?:Error|Exception)")
"""Errors of the AI SDK have their class in a field `name`."""
_LINK_HEAD: Final = re.compile(r"[a-z][a-z0-9+]{1,15}://", re.IGNORECASE)
_LINK_END: Final = re.compile(rf"\.(?:{'|'.join(LINKED_ENDINGS)})\Z", re.IGNORECASE)


class Renaming:
    """New names for the values of one kind, in the order in which they come.

    Args:
        form: Makes of a value the template of its new name, and the places in it that a counter may fill; None for a
            value that stays.
    """

    __slots__ = ("_form", "_names", "_taken")

    def __init__(self, form: Callable[[str], tuple[str, list[int]] | None]) -> None:
        self._form = form
        self._names: dict[str, str] = {}
        self._taken: set[str] = set()

    def __len__(self) -> int:
        return len(self._names)

    def known(self, value: str) -> str | None:
        """The new name of a value that has one, or None."""
        return self._names.get(value)

    def name_of(self, value: str) -> str:
        """The new name of a value; of another value, it is another one, as far as the length leaves room."""
        name = self._names.get(value)
        if name is None:
            head = next((one for one in WRAPPINGS if value.startswith(one) and value[len(one) :] in self._names), None)
            if head is not None:  # the id of a server, as a reader hands it out
                return head + self._names[value[len(head) :]]
            formed = self._form(value)
            name = value if formed is None else self._new(*formed)
            self._names[value] = name
        return name

    def _new(self, template: str, places: list[int]) -> str:
        room = min(len(ascii_lowercase) ** len(places), 1 << 20)
        count = len(self._taken)
        name = template
        for number in range(count, count + min(room, 1000)):
            name = _numbered(template, places, number % room)
            if name not in self._taken:
                break
        self._taken.add(name)
        return name


def _numbered(template: str, places: list[int], number: int) -> str:
    """The template with a number in letters at its places, the last letter at the last one."""
    letters = list(template)
    for place in reversed(places):
        number, digit = divmod(number, len(ascii_lowercase))
        letters[place] = ascii_lowercase[digit]
    return "".join(letters)


def id_form(value: str) -> tuple[str, list[int]] | None:
    """An id: what says its kind stays, such as `call_`, and so do signs; a short number stays whole."""
    prefix = _PREFIX.match(value)
    start = prefix.end() if prefix is not None else 0
    if start == len(value) or _SHORT_NUMBER.fullmatch(value, start):
        return None
    body = stand_in(value[start:])
    return value[:start] + body, [start + at.start() for at in _ANY.finditer(body)]


def tool_form(value: str) -> tuple[str, list[int]] | None:
    """The name of a tool: those of VS Code and of servers stay, others become `tool_` and letters."""
    if value in TOOL_NAMES or _ERROR_CLASS.fullmatch(value):
        return None
    plain = stand_in(value)
    if not plain.isascii():
        return plain, [at.start() for at in _ANY.finditer(plain)]
    start = next((len(head) for head in ("tool_", "t") if len(plain) > len(head)), 0)
    return "tool_"[:start] + "a" * (len(plain) - start), list(range(start, len(plain)))


def link_form(value: str) -> tuple[str, list[int]] | None:
    """An address: its scheme stays, and the ending that says the kind of a file."""
    head, ending = _LINK_HEAD.match(value), _LINK_END.search(value)
    start, end = head.end() if head else 0, ending.start() if ending else len(value)
    if start >= end:
        return None
    body = stand_in(value[start:end])
    places = [start + at.start() for at in _ANY.finditer(body)]
    return value[:start] + body + value[end:], places[-3:]
