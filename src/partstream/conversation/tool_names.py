"""Makes tool names that a server accepts, at most `^[a-zA-Z0-9_-]{1,64}$`, and maps them back to the given names.

A sent name depends only on the given name, not on the request: later requests send the same name, and the server's
prompt cache stays valid.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from partstream.conversation.digest import short_digest

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["ANY_NAME", "MAX_NAME_LENGTH", "NameForm", "ToolNames"]

MAX_NAME_LENGTH: Final = 64
_VALID: Final = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_LETTER_FIRST: Final = re.compile(r"[a-zA-Z_][a-zA-Z0-9_-]{0,63}")
_INVALID_CHARACTERS: Final = re.compile(r"[^a-zA-Z0-9_-]+")
_NAMESPACES: Final = ("default_api:", "default_api.", "functions.", "functions:")
_LETTER: Final = "t_"
"""What is put before a name that begins with no letter."""


@dataclass(frozen=True, slots=True)
class NameForm:
    """The form of the names of tools that a server accepts.

    Attributes:
        letter_first: Whether a name has to begin with a letter or an underscore.
    """

    letter_first: bool = False

    def fits(self, name: str) -> bool:
        """Whether a server accepts the name."""
        return (_LETTER_FIRST if self.letter_first else _VALID).fullmatch(name) is not None

    def derive(self, name: str, attempt: int) -> str:
        """A name of this form: `mcp_find_it_7c8f5051` of `mcp.find/it`, `t_1st` of `1st`.

        Args:
            name: A name that is not of this form, or that was used.
            attempt: How many derived names were used before.
        """
        if not attempt and _VALID.fullmatch(name) and self.fits(f"{_LETTER}{name}"):
            return f"{_LETTER}{name}"
        suffix = f"_{short_digest(f'{attempt or str()}{name}', 4)}"
        readable = _INVALID_CHARACTERS.sub("_", name).strip("_") or "tool"
        if self.letter_first and not self.fits(readable[:1]):
            readable = f"{_LETTER}{readable}"
        return readable[: MAX_NAME_LENGTH - len(suffix)] + suffix


ANY_NAME: Final = NameForm()


class ToolNames:
    """The sent and given tool names of one request.

    Args:
        names: All given names in the request; valid names are sent unchanged, so no other name can take them.
        form: The names that the server accepts.
    """

    def __init__(self, names: Iterable[str], form: NameForm = ANY_NAME) -> None:
        names = list(dict.fromkeys(names))
        self._form = form
        self._sent = {name: name for name in names if form.fits(name)}
        self._given = dict(self._sent)
        for name in names:
            if name not in self._sent:
                self._add(name)

    def to_upstream(self, name: str) -> str:
        """The name to send for a given name."""
        return self._sent.get(name) or self._add(name)

    def from_upstream(self, name: str) -> str:
        """The given name for a sent one; a name that was not sent stays unchanged, and the consumer refuses it.

        Models put the namespace of their own format before a name: Gemini `default_api:`, Kimi and gpt-oss
        `functions.`. It is taken off where a sent name remains.
        """
        given = self._given.get(name)
        if given is None:
            bare = next((name.removeprefix(one) for one in _NAMESPACES if name.startswith(one)), name)
            given = self._given.get(bare, name)
        return given

    def _add(self, name: str) -> str:
        attempt = 0
        sent = name if self._form.fits(name) else self._form.derive(name, attempt)
        while sent in self._given:
            attempt += 1
            sent = self._form.derive(name, attempt)
        self._sent[name] = sent
        self._given[sent] = name
        return sent
