"""Writes a document as `hub.toml`; `read_hub_file` reads it back as the same document."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from partstream.codec.json_codec import dumps
from partstream.hub.configuration.document import Section

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from partstream.hub.configuration.document import Entry, HubDocument

__all__ = ["written_hub_file", "written_value"]

_BARE_KEY: Final = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)
_LONGEST_LINE: Final = 110
_HEAD: Final = (
    "# The hub as `partstream hub export` wrote it; `partstream hub apply` reads it. Keys stand nowhere in it.\n"
)


def written_hub_file(document: HubDocument) -> str:
    """The text of a file that says what the document says."""
    tables = [_table(entry) for section in Section for entry in document.of(section)]
    # A table that is spoken of and has no entry: without it, apply would leave what is there.
    empty = [f"[{section}]\n" for section in Section if section in document.sections and not [*document.of(section)]]
    return "\n".join((_HEAD, *tables, *empty))


def written_value(value: Any) -> str:
    """A value in TOML, on one line."""
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(written_value, value))}]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_key(name)} = {written_value(one)}" for name, one in value.items()) + "}"
    if isinstance(value, Decimal):
        return f"{value:f}"
    # Texts, whole numbers and booleans are written as in JSON; JSON alone leaves U+007F as it is.
    return dumps(value).decode().replace("\x7f", "\\u007f")


def _table(entry: Entry) -> str:
    head = f"[{entry.id.section}.{_key(entry.id.name)}]"
    return "".join(f"{line}\n" for line in (head, *_lines(entry.fields)))


def _lines(fields: Mapping[str, Any]) -> Iterator[str]:
    for name, value in fields.items():
        line = f"{_key(name)} = {written_value(value)}"
        if len(line) <= _LONGEST_LINE or not isinstance(value, list | tuple):
            yield line
            continue
        yield f"{_key(name)} = ["
        yield from (f"  {written_value(one)}," for one in value)
        yield "]"


def _key(name: str) -> str:
    return name if _BARE_KEY.fullmatch(name) else written_value(name)
