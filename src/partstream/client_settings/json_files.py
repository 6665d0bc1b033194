"""Changes members of a JSON text, and leaves its comments, its order and its spaces as they are."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final

from partstream.codec.settings_files import Member, Node, Splice, UnusableTextError, applied, newline_of, read_nodes

if TYPE_CHECKING:
    from partstream.codec.settings_files import Key

__all__ = ["JsonFile"]

_INDENTATION: Final = re.compile(r"\n([ \t]+)\S")
_BLANK: Final = " \t"


class JsonFile:
    """JSON, also with comments. See :class:`~partstream.codec.settings_files.FileForm`."""

    def found(self, text: str, key: Key) -> str | None:
        """See the protocol."""
        node = _node(text, key)
        return None if node is None else text[node.start : node.end]

    def means(self, text: str, key: Key, value: Any) -> bool:
        """See the protocol."""
        node = _node(text, key)
        return node is not None and bool(node.value == value)

    def with_value(self, text: str, key: Key, value: Any) -> tuple[Splice, ...]:
        """See the protocol."""
        indentation = _indentation(text)
        written = json.dumps(value, ensure_ascii=False, indent=indentation)
        lines = written.splitlines()
        return self.with_written(text, key, (newline_of(text) + indentation * len(key)).join(lines))

    def with_written(self, text: str, key: Key, written: str) -> tuple[Splice, ...]:
        """See the protocol."""
        if not text.strip("\ufeff \t\r\n"):
            lines = self._nested(text, key, written, 0)
            return (Splice(0, text, "{" + lines + newline_of(text) + "}" + newline_of(text)),)
        node, depth = read_nodes(text), 0
        while depth < len(key):
            if node.members is None:
                raise UnusableTextError(f"no object in {'.'.join(key[:depth]) or 'the file'}", "an object")
            member = next((one for one in node.members if one.name == key[depth]), None)
            if member is None:
                return (self._added(text, node, key[depth:], written, depth),)
            node, depth = member.node, depth + 1
        return (Splice(node.start, text[node.start : node.end], written),)

    def without(self, text: str, key: Key) -> tuple[Splice, ...]:
        """See the protocol."""
        splices: list[Splice] = []
        for length in range(len(key), 0, -1):
            if _node(text, key[:length]) is None or (length < len(key) and _node(text, key[:length]).members):  # type: ignore[union-attr]
                break
            new = self._removed(text, key[:length])
            text = applied(text, new)
            splices += new
        return tuple(splices)

    def shown(self, values: dict[Key, Any]) -> str:
        """See the protocol."""
        text = ""
        for key, value in values.items():
            text = applied(text, self.with_value(text, key, value))
        return text

    def _nested(self, text: str, key: Key, written: str, depth: int) -> str:
        """A member and the objects around it, each on a line of its own."""
        line = newline_of(text) + _indentation(text) * (depth + 1)
        name = f"{line}{json.dumps(key[0], ensure_ascii=False)}: "
        return (
            name + written
            if len(key) == 1
            else name + "{" + self._nested(text, key[1:], written, depth + 1) + line + "}"
        )

    def _added(self, text: str, node: Node, key: Key, written: str, depth: int) -> Splice:
        """A new member behind the last one of an object."""
        member = self._nested(text, key, written, depth)
        if not node.members:
            said = text[node.start + 1 : node.end - 1].rstrip()
            gap = text[node.start + 1 + len(said) : node.end - 1]
            end = newline_of(text) + _indentation(text) * depth
            return Splice(node.start + 1 + len(said), gap, member + end)
        last = node.members[-1]
        if last.comma is not None:
            return Splice(last.comma + 1, "", member + ",")
        return Splice(last.node.end, "", "," + member)

    def _removed(self, text: str, key: Key) -> list[Splice]:
        """A member goes with its line, and with the comma behind or before it."""
        around = _node(text, key[:-1])
        members = [] if around is None or around.members is None else around.members
        place = next(number for number, one in enumerate(members) if one.name == key[-1])
        member = members[place]
        start, end = _line_of(text, member)
        is_last = place == len(members) - 1
        splices = [Splice(start, text[start:end], "")]
        if is_last and member.comma is None and place:
            comma = members[place - 1].comma
            if comma is not None:
                splices.append(Splice(comma, ",", ""))
        return splices


def _node(text: str, key: Key) -> Node | None:
    if not text.strip("\ufeff \t\r\n"):
        return None
    node: Node | None = read_nodes(text)
    for name in key:
        members = (node.members if node is not None else None) or []
        node = next((one.node for one in members if one.name == name), None)
    return node


def _line_of(text: str, member: Member) -> tuple[int, int]:
    """What a member takes: from its line's begin to its end with the comma, where nothing else is on the line."""
    end = member.node.end if member.comma is None else member.comma + 1
    start = member.start
    while start and text[start - 1] in _BLANK:
        start -= 1
    behind = end
    while behind < len(text) and text[behind] in _BLANK:
        behind += 1
    if start and text[start - 1] == "\n" and text[behind : behind + 1] in {"\r", "\n", "}", ""}:
        start -= 2 if text[start - 2 : start] == "\r\n" else 1
        return start, behind if text[behind : behind + 1] in {"\r", "\n"} else end
    return member.start, end


def _indentation(text: str) -> str:
    found = _INDENTATION.search(text)
    return "  " if found is None else found[1]
