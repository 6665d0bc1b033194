"""The events of a stream as blocks of its bytes, with what a browser shows of each.

Apart from :mod:`partstream.codec.sse`, which reads what servers send wrong: a block here ends where a browser's does, at an
empty line (HTML Standard, section 9.2.6), and its bytes are known.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["EventBlock", "event_blocks", "written_event"]

_LINE_END: Final = re.compile(rb"\r\n|\n|\r")
_BLOCK_END: Final = re.compile(rb"(?:\r\n|\n|\r)(?:\r\n|\n|\r)+")
_MARK: Final = b"\xef\xbb\xbf"


class EventBlock(NamedTuple):
    """An event that a browser hands out.

    Attributes:
        end: The byte behind its last empty line.
        name: Its name; `message` where it has none.
        id: Its own id; empty where it has none.
        data: The lines of its data, joined.
    """

    end: int
    name: str
    id: str
    data: str


def event_blocks(body: bytes) -> Iterator[EventBlock]:
    """The events of a body that are whole and have data."""
    start = len(_MARK) if body.startswith(_MARK) else 0
    for ending in _BLOCK_END.finditer(body):
        fields: dict[bytes, list[bytes]] = {}
        for line in _LINE_END.split(body[start : ending.start()]):
            name, _, value = line.partition(b":")
            fields.setdefault(name, []).append(value.removeprefix(b" "))
        start = ending.end()
        if b"data" in fields:
            yield EventBlock(
                start,
                fields.get(b"event", [b"message"])[-1].decode(errors="replace") or "message",
                fields.get(b"id", [b""])[-1].decode(errors="replace"),
                b"\n".join(fields[b"data"]).decode(errors="replace"),
            )


def written_event(name: str, event_id: str, data: str) -> bytes:
    """An event as a server writes it; a line break in its name or its id would be another field, and is left out."""
    lines = [] if name in ("", "message") else [f"event: {_one_line(name)}"]
    lines += [f"id: {_one_line(event_id)}"] if event_id else []
    lines += [f"data: {line}" for line in re.split(r"\r\n|\n|\r", data)]
    return "".join(f"{line}\n" for line in (*lines, "")).encode(errors="replace")


def _one_line(text: str) -> str:
    return re.sub(r"[\r\n]", "", text)
