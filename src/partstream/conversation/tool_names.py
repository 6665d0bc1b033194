"""Makes tool names that every server accepts, `^[a-zA-Z0-9_-]{1,64}$`, and maps them back to the given names.

A sent name depends only on the given name, not on the request: later requests send the same name, and the server's
prompt cache stays valid.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from partstream.conversation.digest import short_digest

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["MAX_NAME_LENGTH", "ToolNames"]

MAX_NAME_LENGTH: Final = 64
_VALID: Final = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_INVALID_CHARACTERS: Final = re.compile(r"[^a-zA-Z0-9_-]+")


class ToolNames:
    """The sent and given tool names of one request.

    Args:
        names: All given names in the request; valid names are sent unchanged, so no other name can take them.
    """

    def __init__(self, names: Iterable[str]) -> None:
        names = list(dict.fromkeys(names))
        self._sent = {name: name for name in names if _VALID.fullmatch(name)}
        self._given = dict(self._sent)
        for name in names:
            if name not in self._sent:
                self._add(name)

    def to_upstream(self, name: str) -> str:
        """The name to send for a given name."""
        return self._sent.get(name) or self._add(name)

    def from_upstream(self, name: str) -> str:
        """The given name for a sent one; a name that was not sent stays unchanged, and the consumer refuses it."""
        return self._given.get(name, name)

    def _add(self, name: str) -> str:
        attempt = 0
        sent = name if _VALID.fullmatch(name) else _valid(name, attempt)
        while sent in self._given:
            attempt += 1
            sent = _valid(name, attempt)
        self._sent[name] = sent
        self._given[sent] = name
        return sent


def _valid(name: str, attempt: int) -> str:
    suffix = f"_{short_digest(f'{attempt or str()}{name}', 4)}"
    readable = _INVALID_CHARACTERS.sub("_", name).strip("_") or "tool"
    return readable[: MAX_NAME_LENGTH - len(suffix)] + suffix
