"""Keeps a key in the system's keyring or in a file, and puts back what was there when a later step fails."""

from __future__ import annotations

import asyncio
import os
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, Final, TypeAlias

from partstream.codec.system import DATA
from partstream.errors import CallerError
from partstream.settings.kinds import shown_name
from partstream.upstream.endpoint import Secret

__all__ = ["KEYRING_SERVICE", "KeyFile", "KeyNotKeptError", "KeyPlace", "KeyringEntry", "keyring_fault"]

KEYRING_SERVICE: Final = "partstream"
"""The service under which our entries stand; the user of an entry is the name of a profile."""

_SECONDS: Final = 60.0
"""A keyring may ask a person for its password."""

_NO_KEYRINGS: Final = frozenset({"keyring.backends.fail", "keyring.backends.null"})
"""The backends that the package has where there is no keyring."""


class KeyNotKeptError(CallerError):
    """The keyring did not take a key; the message holds nothing of it.

    Attributes:
        entry: The entry.
        got: What the keyring did.
        expected: What would help.
    """

    def __init__(self, entry: str, got: str, expected: str) -> None:
        super().__init__(f"the key was not kept in {entry}: got {got}, expected {expected}")
        self.entry = entry
        self.got = got
        self.expected = expected


def keyring_fault() -> str:
    """Why no key can be kept in a keyring here, as a clause; empty where it seems to work."""
    try:
        keyring = import_module("keyring")
    except ImportError:
        return "this Python has no package `keyring` (`pip install keyring`)"
    except Exception as error:
        return f"the package `keyring` cannot be loaded ({type(error).__name__})"
    try:
        backend = type(keyring.get_keyring()).__module__
    except Exception as error:
        return f"the keyring cannot be opened ({type(error).__name__})"
    return "this system has no keyring that the package `keyring` knows" if backend in _NO_KEYRINGS else ""


@dataclass(frozen=True, slots=True)
class KeyringEntry:
    """An entry of the keyring.

    Attributes:
        user: The user of the entry; the service is :data:`KEYRING_SERVICE`.
    """

    name: ClassVar = "apiKeyKeyring"
    """The setting that names it."""
    user: str

    @property
    def setting(self) -> str:
        """The value of that setting."""
        return f"{KEYRING_SERVICE}/{self.user}"

    @property
    def shown(self) -> str:
        """Where it is, for people."""
        return f"the keyring, as {self.setting}"

    async def keep(self, key: Secret) -> Secret | None:
        """Keeps a key.

        Returns:
            The key that stood there before, for :meth:`put_back`; None if there was none.

        Raises:
            KeyNotKeptError: The keyring does not take it.
        """
        before = await self._call("get_password")
        await self._call("set_password", key.reveal())
        return Secret(before) if before else None

    async def put_back(self, before: Secret | None) -> None:
        """Undoes :meth:`keep`.

        Raises:
            KeyNotKeptError: The keyring does not do it.
        """
        await (self._call("delete_password") if before is None else self._call("set_password", before.reveal()))

    async def remove(self) -> bool:
        """Removes the key; whether there was one.

        Raises:
            KeyNotKeptError: The keyring does not do it.
        """
        if not await self._call("get_password"):
            return False
        await self._call("delete_password")
        return True

    async def _call(self, name: str, *arguments: str) -> Any:
        failure = ""
        try:
            keyring = import_module("keyring")
            async with asyncio.timeout(_SECONDS):
                return await asyncio.to_thread(getattr(keyring, name), KEYRING_SERVICE, self.user, *arguments)
        except TimeoutError:
            failure = f"no answer within {_SECONDS:g} s"
        except Exception as error:
            # Its backends raise errors of their own, which are not known to be free of secrets: none travels along.
            failure = keyring_fault() or type(error).__name__
        raise KeyNotKeptError(f"the keyring's entry {shown_name(self.setting)}", failure, "a keyring that is open")


@dataclass(frozen=True, slots=True)
class KeyFile:
    """A file in the data folder that holds a key, readable for the user alone.

    Attributes:
        user: The name of the profile; the file is called like it.
    """

    name: ClassVar = "apiKeyFile"
    """The setting that names it."""
    user: str

    @property
    def setting(self) -> str:
        """The value of that setting: the path."""
        return str(DATA.path().absolute() / "keys" / f"{self.user}.key")

    @property
    def shown(self) -> str:
        """Where it is, for people."""
        return f"the file {self.setting}, which you alone can read"

    async def keep(self, key: Secret) -> Secret | None:
        """Keeps a key.

        Returns:
            The key that was in the file before, for :meth:`put_back`; None if there was none.

        Raises:
            KeyNotKeptError: The file cannot be written.
        """
        before = None
        try:
            with suppress(FileNotFoundError):
                before = Secret(Path(self.setting).read_text(encoding="ascii"))
            self._write(key)
        except (OSError, ValueError) as error:
            raise self._failed(error) from None
        return before

    async def put_back(self, before: Secret | None) -> None:
        """Undoes :meth:`keep`.

        Raises:
            KeyNotKeptError: The file cannot be written.
        """
        try:
            if before is None:
                Path(self.setting).unlink(missing_ok=True)
            else:
                self._write(before)
        except OSError as error:
            raise self._failed(error) from None

    async def remove(self) -> bool:
        """Removes the key; whether there was one.

        Raises:
            KeyNotKeptError: The file cannot be removed.
        """
        try:
            Path(self.setting).unlink()
        except FileNotFoundError:
            return False
        except OSError as error:
            raise self._failed(error) from None
        return True

    def _write(self, key: Secret) -> None:
        """Replaces the file at once; it is never readable for others."""
        path = Path(self.setting)
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor, written = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")  # mode 0600
        try:
            with os.fdopen(descriptor, "w", encoding="ascii") as file:
                file.write(key.reveal())
            os.replace(written, path)
        except BaseException:
            Path(written).unlink(missing_ok=True)
            raise

    def _failed(self, error: Exception) -> KeyNotKeptError:
        got = error.strerror if isinstance(error, OSError) and error.strerror else type(error).__name__
        return KeyNotKeptError(f"the file {self.setting}", got, "a folder that can be written")


KeyPlace: TypeAlias = KeyringEntry | KeyFile
"""Where a key is kept."""
