"""`partstream hub page`: a link that opens the page of a running hub, once."""

from __future__ import annotations

import sys
import webbrowser
from html import escape
from typing import TYPE_CHECKING, Final

import click

from partstream.cli.inspect_page import can_open_browser
from partstream.cli.page_files import write_page
from partstream.hub.client import hub_address
from partstream.hub.commands_database import hub_database, shown_argument
from partstream.hub.page.routes import LINK_SECONDS, one_time_link
from partstream.serving.listening import DEFAULT_HOST, DEFAULT_PORT
from partstream.settings.errors import ConfigurationError
from partstream.user_folders import CACHE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from partstream.hub.directory import Directory

__all__ = ["PAGE_COMMANDS"]

_HUB: Final = f"http://{DEFAULT_HOST}:{DEFAULT_PORT}"
_FILE: Final = "hub-page.html"


@click.command("page", short_help="Open the page of a running hub: budgets, usage, workers, changes.")
@click.option("--url", default=_HUB, show_default=True, metavar="URL", help="The address at which the hub is reached.")
@click.option("--person", metavar="NAME", help="Whose page it is. Default: that of the only admin.")
@click.option(
    "--browser/--no-browser",
    "opens",
    default=None,
    help="Whether a browser opens the link. Default: in a terminal, where there is a browser.",
)
def page(url: str, person: str | None, *, opens: bool | None) -> None:
    """Print a link that opens the page of a running hub, once, and open it where there is a browser.

    An admin sees the whole hub, every other person what is the person's. The link is good for ten minutes, the page for
    twelve hours; the key that the page gets asks no model, and `partstream hub key revoke` ends it.
    """
    try:
        address = hub_address(url, "--url", allow_insecure_http=True)
    except ConfigurationError as error:
        raise click.UsageError(str(error).removeprefix("setting ")) from None
    with hub_database() as hub:
        link = one_time_link(hub, _person(hub.directory(), person), address)
    click.echo(f"The page, good once in the next {LINK_SECONDS / 60:.0f} minutes:", err=True)
    click.echo(link)
    if opens or (opens is None and sys.stdout.isatty() and can_open_browser()):
        _open(link)


def _person(directory: Directory, name: str | None) -> str:
    """Whose page it is.

    Raises:
        UsageError: There is no such person, or not one admin alone.
    """
    if name is not None:
        if name not in directory.people:
            raise click.UsageError(f"--person: there is no person {shown_argument(name)}")
        return name
    admins = [one.name for one in directory.people.values() if one.is_admin and not one.is_disabled]
    if len(admins) == 1:
        return admins[0]
    if not admins:
        raise click.UsageError(
            "there is no admin: `partstream hub set person NAME --admin` makes one, --person names one"
        )
    raise click.UsageError(f"--person: expected one of {', '.join(sorted(admins))}, or another person")


def _open(link: str) -> None:
    """Opens the link by a file that leads there: others on this machine can read the arguments of a browser."""
    path = CACHE.path() / _FILE
    leads = f'<meta http-equiv="refresh" content="0;url={escape(link)}">'
    write_page(path, f'<!doctype html>\n<meta charset="utf-8"><meta name="referrer" content="no-referrer">{leads}\n')
    webbrowser.open(path.absolute().as_uri())


PAGE_COMMANDS: Final[Mapping[str, click.Command]] = {"page": page}
