"""The database of a hub for one command: opened, looked at, closed; what is wrong with it ends the command."""

from __future__ import annotations

import getpass
import os
import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import click

from partstream.cli.exit_codes import ExitCode
from partstream.hub.administration import Administration
from partstream.hub.store.opening import database_address, opened_store, shown_address, tables_version
from partstream.hub.store.store import VERSIONS
from partstream.hub.store.values import StoreError, StoreUnreachableError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from partstream.hub.store.store import HubStore

__all__ = ["FailedHubError", "UnusableHubError", "hub_database", "opened_database", "shown_argument"]

_KEY: Final = re.compile(r"ps[kj]_\S+")
_LONGEST: Final = 80


class UnusableHubError(click.ClickException):
    """The database, or what it was asked, is of no use; the exit code is 2, as for wrong options."""

    exit_code = ExitCode.UNUSABLE


class FailedHubError(click.ClickException):
    """The database cannot be reached; the exit code is 3, as of a server that fails."""

    exit_code = ExitCode.FAILED


@contextmanager
def opened_database() -> Iterator[tuple[HubStore, str]]:
    """The database, whatever is in it, and how people are shown its place.

    Raises:
        FailedHubError: It cannot be reached.
        UnusableHubError: It cannot be used.
    """
    try:
        address = database_address(os.environ)
        store = opened_store(address)
        try:
            yield store, shown_address(address)
        finally:
            store.close()
    except StoreUnreachableError as error:
        raise FailedHubError(f"the hub's database cannot be reached: {error.reason}") from error
    except StoreError as error:
        raise UnusableHubError(str(error)) from error


@contextmanager
def hub_database() -> Iterator[Administration]:
    """A hub that is there and up to date, in the hands of whoever runs the command.

    Raises:
        FailedHubError: Its database cannot be reached.
        UnusableHubError: There is none, or a change does not fit what is there.
    """
    with opened_database() as (store, where):
        _check_tables(store, where)
        yield Administration(store, f"{_user()} on the command line")


def shown_argument(text: str) -> str:
    """A name that somebody typed and that there is not, for an error: whole keys and codes are typed in its place."""
    return repr(_KEY.sub("***", text)[:_LONGEST])


def _check_tables(store: HubStore, where: str) -> None:
    version = tables_version(store, database_address(os.environ))
    if version == 0:
        raise UnusableHubError(f"there is no hub in {where}: `partstream hub init` makes one")
    if version < len(VERSIONS):
        raise UnusableHubError(
            f"{where}: got tables of version {version}, expected {len(VERSIONS)}: `partstream hub init` brings them up "
            "to date"
        )


def _user() -> str:
    """The name of whoever runs the command, for the record of changes."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # a container may have a user without a name
        return "somebody"
