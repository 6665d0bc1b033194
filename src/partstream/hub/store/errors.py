"""What can be wrong with the database of a hub. No error holds an address with a password, a statement or a value."""

from __future__ import annotations

from partstream.errors import CallerError, PartstreamError
from partstream.extras import to_install

__all__ = [
    "DirectoryChangedError",
    "DirectoryConflictError",
    "DriverMissingError",
    "HubStoreUnusableError",
    "StoreError",
    "StoreUnreachableError",
]


class StoreError(PartstreamError):
    """The database of a hub could not do what it was asked."""


class StoreUnreachableError(StoreError):
    """The database cannot be reached now; what was asked may or may not have been done. Ask again later.

    Attributes:
        reason: Why, in a few words.
        retry_after: After how many seconds it makes sense to ask again.
    """

    def __init__(self, reason: str, retry_after: float) -> None:
        super().__init__(f"the hub's database cannot be reached: {reason}; ask again in {retry_after:g} s")
        self.reason = reason
        self.retry_after = retry_after


class HubStoreUnusableError(StoreError, CallerError):
    """The database is there and cannot be used as it is.

    Attributes:
        where: The database, without a password.
        got: What is wrong with it.
        expected: What it should be.
    """

    def __init__(self, where: str, got: str, expected: str) -> None:
        super().__init__(f"{where}: got {got}, expected {expected}")
        self.where = where
        self.got = got
        self.expected = expected


class DriverMissingError(StoreError, CallerError):
    """The package is not installed that speaks to the database."""

    def __init__(self) -> None:
        super().__init__(f"a hub on Postgres needs one more package: {to_install('postgres')}")


class DirectoryConflictError(StoreError, CallerError):
    """A change does not fit what is there, such as a person of a team that does not exist; nothing was changed.

    Attributes:
        change: The change, in a few words.
        reason: Why it does not fit.
    """

    def __init__(self, change: str, reason: str) -> None:
        super().__init__(f"{change}: {reason}")
        self.change = change
        self.reason = reason


class DirectoryChangedError(StoreError):
    """Somebody else has changed the directory since it was read; nothing was changed.

    Attributes:
        expected: The version that the changes were made for.
        version: The version that is there.
    """

    def __init__(self, expected: int, version: int) -> None:
        super().__init__(f"the hub has been changed meanwhile: got version {version}, expected {expected}; look again")
        self.expected = expected
        self.version = version
