"""The database of a hub for one command: opened, read or changed, closed; and tables and times as people see them.

Entries change by a plan, which is made first and carried out in one transaction; keys and codes are shown once.
What is wrong with the database ends the command: with exit code 3 where it cannot be reached, else with 2.
"""

from __future__ import annotations
import getpass
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime
from typing import Any, Final

import click
from rich.table import Table
from rich.text import Text

from partstream.cli.console import make_console
from partstream.cli.terminal import ExitCode
from partstream.codec.checks import Expectation, dataclass, replace
from partstream.settings.kinds import ConfigurationError
from partstream.upstream.endpoint import Secret
from partstream_hub import configuration
from partstream_hub.directory import Directory, Key, Owner, OwnerKind
from partstream_hub.hub import new_code, new_key
from partstream_hub.store.opening import database_address, opened_store
from partstream_hub.store.store import VERSIONS, HubStore
from partstream_hub.store.values import JoinCode, StoreError, StoreUnreachableError, calendar_time

_KEY: Final = re.compile(r"ps[kj]_\S+")
_LONGEST: Final = 80


# ---- A hub for an administrator ----


@dataclass(frozen=True, slots=True)
class Administration:
    """A hub for an administrator. Every method may raise the errors of its store."""

    store: HubStore
    by: str  # who changes it, for the record of changes

    def directory(self) -> Directory:
        """All that there is."""
        return self.store.directory() or Directory()

    def carry_out(self, plan: configuration.Plan) -> int:
        """Carries out a plan in one transaction, unless another has changed the hub since it was made; the version of
        the directory afterwards."""
        changes, version = [*configuration.changes_of(plan)], plan.directory.version
        return self.store.change(changes, self.by, version) if changes else version

    def add_key(
        self, person: str, label: str = "", expires_at: float | None = None, fields: configuration.Fields | None = None
    ) -> tuple[Key, Secret]:
        """Makes a key for a person, which may have limits of its own: the key as it is kept, and the key itself, which
        cannot be shown again."""
        made, fields = new_key(), fields or {}
        key = configuration.limited(Key(made.id, made.digest, person, label, expires_at=expires_at), fields)
        budgets = configuration.budget_changes(Owner(OwnerKind.KEY, key.id), fields, self.directory())
        self.store.change([key, *budgets], self.by)
        return key, made.secret

    def revoke(self, key_ids: Sequence[str]) -> None:
        """Revokes keys for ever, from now on."""
        keys, now = self.directory().keys, self.store.time()
        self.store.change(
            [replace(keys[one], revoked_at=now) for one in key_ids if keys[one].revoked_at is None], self.by
        )

    def invite(self, person: str, expires_at: float, label: str = "", **of_key: Any) -> Secret:
        """Makes a code with which a person gets a key, once; see :class:`partstream_hub.store.values.JoinCode`."""
        made = new_code()
        self.store.add_join_code(JoinCode(made.digest, person, expires_at, label, **of_key))
        return made.secret


# ---- Opening ----


class UnusableHubError(click.ClickException):
    """The database cannot be used, or what it was asked cannot be done, as with a wrong option."""

    exit_code = ExitCode.UNUSABLE


class FailedHubError(click.ClickException):
    """The database cannot be reached; the exit code is 3, as of a server that fails."""

    exit_code = ExitCode.FAILED


@contextmanager
def opened_database() -> Iterator[HubStore]:
    """The database, whatever is in it."""
    try:
        with closing(opened_store(database_address(os.environ))) as store:
            yield store
    except StoreUnreachableError as error:
        raise FailedHubError(f"the hub's database cannot be reached: {error.reason}") from error
    except StoreError as error:
        raise UnusableHubError(str(error)) from error


@contextmanager
def hub_database() -> Iterator[Administration]:
    """A hub that is there and up to date, opened for the person who runs the command; what keeps it from that, or a
    change that does not fit what is there, ends the command."""
    with opened_database() as store:
        version = store.version()
        if version == 0:
            raise UnusableHubError(f"there is no hub in {store.where}: `partstream hub init` makes one")
        if version < len(VERSIONS):
            said = f"{store.where}: got tables of version {version}, expected {len(VERSIONS)}"
            raise UnusableHubError(f"{said}: `partstream hub init` brings them up to date")
        try:
            user = getpass.getuser()
        except (OSError, KeyError):  # a container may have a user without a name
            user = "somebody"
        yield Administration(store, f"{user} on the command line")


# ---- Options, tables and times ----


def hub_url(url: str) -> str:
    """The address of a hub, as an option `--url` gives it; a UsageError where it is none."""
    from partstream.upstream.hub import hub_address  # noqa: PLC0415 - with httpx2, which takes 0.1 s

    try:
        return hub_address(url, "--url", allow_insecure_http=True)
    except ConfigurationError as error:
        raise click.UsageError(str(error).removeprefix("setting ")) from None


def url_option(says: str) -> Callable[[Any], Any]:
    """The option `--url` for the address of a hub; its default is where `partstream serve` listens."""
    from partstream.server.listening import DEFAULT_HOST, DEFAULT_PORT  # noqa: PLC0415 - most commands have no address

    default = f"http://{DEFAULT_HOST}:{DEFAULT_PORT}"
    return click.option("--url", default=default, show_default=True, metavar="URL", help=says)


def shown_argument(text: str) -> str:
    """A name that was typed and is unknown, for an error: people also type whole keys and codes in its place."""
    return repr(_KEY.sub("***", text)[:_LONGEST])


def show_table(columns: Sequence[str], rows: Iterable[Sequence[str]], *, right: Sequence[str] = ()) -> None:
    """Prints a table, with a dash in place of an empty cell; `right` are the heads of columns of numbers."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column, overflow="fold", justify="right" if column in right else "left")
    for row in rows:
        table.add_row(*(Text(cell or "–") for cell in row))
    make_console().print(table)


_SECONDS: Final = {"m": 60, "h": 3600, "d": 86_400, "w": 7 * 86_400}
_FOR: Final = re.compile(r"(\d{1,5})([mhdw])", re.ASCII)
_EXPECTED: Final = "how long from now, such as 12h, 90d or 8w, or a date such as 2027-01-31"


class Fitting(click.ParamType[str]):
    """The type of an option whose text has to fit an expectation."""

    name = "text"

    def __init__(self, expectation: Expectation) -> None:
        self._expectation = expectation

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The text as it is."""
        if not self._expectation.fits(value):
            self.fail(f"got {shown_argument(value)}, expected {self._expectation.description}", param, ctx)
        return str(value)


class End(click.ParamType[float]):
    """The type of an option that says when something ends: seconds since 1970, by the clock of this machine."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The instant that a text means; a date ends when its day begins, here."""
        if isinstance(value, float):
            return value
        now, end = datetime.now(UTC).timestamp(), -1.0
        if (found := _FOR.fullmatch(str(value))) is not None:
            end = now + int(found[1]) * _SECONDS[found[2]]
        else:
            with suppress(ValueError, OverflowError, OSError):
                end = datetime.fromisoformat(str(value)).astimezone().timestamp()
        if end != calendar_time(end):
            self.fail(f"got {value!r}, expected {_EXPECTED}", param, ctx)
        if end <= now:
            self.fail(f"got {value!r}, which is over, expected {_EXPECTED}", param, ctx)
        return end


def time_text(time: float | None) -> str:
    """An instant in the time of this machine, to the minute; a dash for none."""
    return "–" if time is None else f"{datetime.fromtimestamp(time, UTC).astimezone():%Y-%m-%d %H:%M}"
