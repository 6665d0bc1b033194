"""The token that clients of a server on this machine present: given by the user, or made once and kept in a file.

The file is readable for its user alone. The token is in no argument of a process, because others on the machine can see
those.
"""

from __future__ import annotations

import os
import re
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from partstream.codec.system import DATA
from partstream.errors import CallerError
from partstream.upstream.endpoint import Secret

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = [
    "SHORTEST_PUBLIC_TOKEN",
    "SHORTEST_TOKEN",
    "TOKEN_VARIABLE",
    "AccessToken",
    "UnusableTokenError",
    "given_token",
    "kept_token",
    "kept_token_file",
]

TOKEN_VARIABLE: Final = "PARTSTREAM_SERVE_TOKEN"  # noqa: S105 - the name of a variable
SHORTEST_TOKEN: Final = 8
"""Characters."""
SHORTEST_PUBLIC_TOKEN: Final = 16
"""Characters of a token that anybody in a network may try to guess."""

_FILE_NAME: Final = "serve-token"
_PREFIX: Final = "partstream-"
_RANDOM_BYTES: Final = 32
_MOST_BYTES: Final = 4096
_USABLE: Final = re.compile(rb"[\x21-\x7e]+")
"""What every client can write into a header: visible ASCII characters."""


class UnusableTokenError(CallerError):
    """A token cannot be read, or no client could send it. The message does not show it.

    Attributes:
        where: The place of the token.
        expected: What should be there.
    """

    def __init__(self, where: str, got: str, expected: str) -> None:
        super().__init__(f"{where}: got {got}, expected {expected}")
        self.where = where
        self.expected = expected


@dataclass(frozen=True, slots=True)
class AccessToken:
    """A token and its place.

    Attributes:
        secret: The token.
        where: The place in words: a file, or an environment variable.
        file: The file that holds it, or None.
        is_new: Whether it was made just now.
    """

    secret: Secret
    where: str
    file: Path | None = None
    is_new: bool = False


def kept_token_file() -> Path:
    """The file of the token that was made on this machine, whether it exists or not."""
    return DATA.path() / _FILE_NAME


def given_token(environment: Mapping[str, str], file: Path | None = None) -> AccessToken | None:
    """The token that the user gives: in a file, else in the environment variable; None for neither.

    Raises:
        UnusableTokenError: It cannot be read, or is of no use.
    """
    if file is not None:
        return AccessToken(_checked(_read(file), str(file)), str(file), file)
    value = environment.get(TOKEN_VARIABLE)
    if value is None:
        return None
    where = f"the environment variable {TOKEN_VARIABLE}"
    return AccessToken(_checked(value.encode(errors="surrogateescape"), where), where)


def kept_token(file: Path | None = None) -> AccessToken:
    """The token of this machine; made when there is none yet.

    Args:
        file: The file; None for :func:`kept_token_file`.

    Raises:
        UnusableTokenError: The file cannot be written or read, or holds something else.
    """
    path = file or kept_token_file()
    try:
        is_new = _make(path)
        if os.name == "posix" and not is_new and path.stat().st_uid == os.getuid():
            path.chmod(0o600)  # whoever copied it may have opened it to others; that of another is as its owner wants
    except OSError as error:
        raise UnusableTokenError(str(path), error.strerror or "an error", "a file that can be written") from error
    return AccessToken(_checked(_read(path), str(path)), str(path), path, is_new)


def _make(path: Path) -> bool:
    """Writes a new token unless there is one; whether it did. Of several processes at a time, one does."""
    if path.exists():
        return False
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    unfinished = path.with_name(f"{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    descriptor = os.open(unfinished, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="ascii") as stream:
            stream.write(f"{_PREFIX}{secrets.token_urlsafe(_RANDOM_BYTES)}\n")
        try:
            os.link(unfinished, path)  # unlike a rename, it fails where another process was faster
        except FileExistsError:
            return False
    finally:
        unfinished.unlink()
    return True


def _read(path: Path) -> bytes:
    try:
        with path.open("rb") as stream:
            return stream.read(_MOST_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UnusableTokenError(str(path), reason, "a file with the token in it") from error


def _checked(value: bytes, where: str) -> Secret:
    token = value.strip()
    expected = f"a token of at least {SHORTEST_TOKEN} visible ASCII characters without spaces"
    if not token:
        raise UnusableTokenError(where, "nothing", expected)
    if len(token) > _MOST_BYTES:
        raise UnusableTokenError(where, f"more than {_MOST_BYTES:,} bytes", expected)
    if _USABLE.fullmatch(token) is None:
        raise UnusableTokenError(where, "something with other characters", expected)
    if len(token) < SHORTEST_TOKEN:
        raise UnusableTokenError(where, f"{len(token)} characters", expected)
    return Secret(token.decode())
