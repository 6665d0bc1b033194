"""Names of tools that every server takes, `^[a-zA-Z0-9_-]{1,64}$`, and the way back to the names that were given.

A name depends on the given one alone, not on the request it is in: a later request says it the same way, and the
server's prompt cache still holds.
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
    """Both directions, for one request.

    Args:
        names: Every name that the request will hold; valid ones are kept, so they cannot be taken by others.
    """

    def __init__(self, names: Iterable[str]) -> None:
        names = list(dict.fromkeys(names))
        self._sent = {name: name for name in names if _VALID.fullmatch(name)}
        self._given = dict(self._sent)
        for name in names:
            if name not in self._sent:
                self._add(name)

    def to_upstream(self, name: str) -> str:
        """The name that is sent for a given one."""
        return self._sent.get(name) or self._add(name)

    def from_upstream(self, name: str) -> str:
        """The name that was given; a name that was not sent stays as it is, for the consumer to refuse."""
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
