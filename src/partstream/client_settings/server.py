"""The server that a client shall ask: where it is, which of its models, and where the token is kept."""

from __future__ import annotations

import shlex
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["Server", "TokenPlace"]

_IS_WINDOWS: Final = sys.platform == "win32"
_ANY: Final = "none"
"""What is said in the place of a token to a server that asks for none."""


@dataclass(frozen=True, slots=True)
class TokenPlace:
    """Where a client finds the token. The token itself is in no setting.

    Attributes:
        variable: An environment variable that holds it, unless a file does.
        file: The file that holds it, or None.
        is_needed: Whether the server asks for one at all; without it, clients that insist on one say a word.
    """

    variable: str
    file: Path | None = None
    is_needed: bool = True

    @property
    def command(self) -> tuple[str, ...]:
        """A program that prints the token, with its arguments."""
        if not self.is_needed:
            return ("cmd", "/c", "echo", _ANY) if _IS_WINDOWS else ("echo", _ANY)
        if self.file is None:
            return ("cmd", "/c", f"echo %{self.variable}%") if _IS_WINDOWS else ("printenv", self.variable)
        return ("cmd", "/c", "type", str(self.file)) if _IS_WINDOWS else ("cat", str(self.file))

    @property
    def in_braces(self) -> str:
        """The token as opencode's own file refers to it."""
        if not self.is_needed:
            return _ANY
        return f"{{env:{self.variable}}}" if self.file is None else f"{{file:{self.file}}}"

    @property
    def in_shell(self) -> str:
        """The token as a POSIX shell writes it down without showing it."""
        if not self.is_needed:
            return _ANY
        return f'"${self.variable}"' if self.file is None else f'"$(cat {shlex.quote(str(self.file))})"'


@dataclass(frozen=True, slots=True)
class Server:
    """A server and one of its models.

    Attributes:
        root: Its URL, without a slash at the end and without a path of a wire.
        model: The id of the model.
        token: Where the token is.
        window: The tokens that the model takes and gives together, or None where nobody said.
        output: The tokens of its longest answer, or None.
    """

    root: str
    model: str
    token: TokenPlace
    window: int | None = None
    output: int | None = None

    @property
    def v1(self) -> str:
        """The base URL of clients that want the version in it."""
        return f"{self.root}/v1"
