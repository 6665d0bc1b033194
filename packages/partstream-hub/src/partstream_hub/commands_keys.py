"""`partstream hub key` and `invite`: keys and join links of people, each shown once and kept by its digest alone.

A command that makes or revokes a key waits until the workers know of it: a key works, or works no more, when its
command is over.
"""

from __future__ import annotations
import sys
import time
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlsplit

import click

from partstream.codec.json_codec import dumps
from partstream.settings.kinds import closest_name
from partstream.upstream.endpoint import is_loopback
from partstream.upstream.hub import editor_link, page_link
from partstream_hub import commands_database
from partstream_hub.commands_directory import KEY_FIELDS, field_options, given_fields, read_fields
from partstream_hub.configuration import EntryId, Section
from partstream_hub.directory import RATE_NAMES, Directory, Key, RateLimits
from partstream_hub.store.store import HubStore

_SECONDS: Final = 3.0
"""How long a worker may be silent and still be waited for, and for how long. Each is heard of every second."""
_PAUSE: Final = 0.1
_HEARTBEATS: Final = 2
"""A heartbeat that began after a change brings it; with the next one, the worker has taken it in."""
_WORKERS: Final = "SELECT name, counter FROM hub_workers WHERE seen_at > ?"


def wait_for_workers(store: HubStore) -> None:
    """Waits until all workers that are alive have asked for changes; says which have not."""
    waited_for = {name: counter + _HEARTBEATS for name, counter in store.read(_WORKERS, [store.time() - _SECONDS])}
    deadline = time.monotonic() + _SECONDS
    while waited_for and time.monotonic() < deadline:
        time.sleep(_PAUSE)
        counters = dict(store.read("SELECT name, counter FROM hub_workers"))
        waited_for = {name: wanted for name, wanted in waited_for.items() if counters.get(name, wanted) < wanted}
    for name in sorted(waited_for):
        click.echo(f"Worker {name} has not been heard of since; it knows of the change when it comes back.", err=True)


@click.group("key", short_help="Make, list and revoke the keys of people.")
def key() -> None:
    """Make, list and revoke the keys of people. The database has digests alone, so a key is shown once."""


@key.command("add")
@click.argument("person")
@click.option(
    "--label", type=commands_database.LABEL, default="", metavar="TEXT", help="What the key is called, such as laptop."
)
@click.option(
    "--expires", type=commands_database.END, metavar="WHEN", help="From when on it is not accepted: 90d, 12h or a date."
)
@field_options(Section.PEOPLE, KEY_FIELDS)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, with the key in it.")
def add_key(person: str, label: str, expires: float | None, *, as_json: bool, **options: Any) -> None:
    """Make a key for PERSON and print it, this once: to standard output alone, so that a script can take it.

    The key may do what its person may do; budgets, models and rates of its own narrow that.
    """
    fields = read_fields(EntryId(Section.PEOPLE, "key"), given_fields(options)).fields
    rates = RateLimits(**{name: fields.get(name) for name in RATE_NAMES})
    with commands_database.hub_database() as hub:
        _check_person(hub.directory(), person)
        made, secret = hub.add_key(
            person,
            label=label,
            expires_at=expires,
            models=fields.get("models"),
            rates=rates,
            budgets=fields.get("budgets", ()),
            time_zone=fields.get("time_zone", "UTC"),
        )
        if as_json:
            click.echo(dumps({"id": made.id, "person": person, "key": secret.reveal(), "expires_at": expires}))
        else:
            click.echo(f"The key of {person}, with the id {made.id}; it is not shown again:", err=True)
            click.echo(secret.reveal())
        sys.stdout.flush()
        wait_for_workers(hub.store)


@key.command("list")
@click.argument("person", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array.")
def list_keys(person: str | None, *, as_json: bool) -> None:
    """List the keys of PERSON, or of everybody, without the keys themselves."""
    with commands_database.hub_database() as hub:
        directory, now = hub.directory(), hub.store.time()
    if person is not None:
        _check_person(directory, person)
    keys = sorted(
        (one for one in directory.keys.values() if person in (None, one.person)),
        key=lambda one: (one.person, one.created_at, one.id),
    )
    if as_json:
        fields = ("id", "person", "label", "created_at", "expires_at", "revoked_at", "models")
        shown = ({name: getattr(one, name) for name in fields} | {"state": _state(one, now)} for one in keys)
        click.echo(dumps([*shown]))
    elif keys:
        columns = ("id", "person", "label", "made", "expires", "state")
        rows = (
            (
                one.id,
                one.person,
                one.label,
                commands_database.time_text(one.created_at),
                commands_database.time_text(one.expires_at),
                _state(one, now),
            )
            for one in keys
        )
        commands_database.show_table(columns, rows)
    else:
        click.echo("There are no keys; `partstream hub key add NAME` makes one.")


@key.command("revoke")
@click.argument("key_ids", metavar="ID...", nargs=-1, required=True)
def revoke(key_ids: tuple[str, ...]) -> None:
    """Revoke keys by their ids, for ever: within two seconds no worker accepts them."""
    with commands_database.hub_database() as hub:
        known = hub.directory().keys
        if missing := [one for one in key_ids if one not in known]:
            shown = ", ".join(map(commands_database.shown_argument, missing))
            raise click.UsageError(
                f"ID: got {shown}, expected the id of a key, as `partstream hub key list` shows them"
            )
        hub.revoke(key_ids)
        wait_for_workers(hub.store)
    click.echo("Revoked: " + ", ".join(f"{one} of {known[one].person}" for one in key_ids))


@click.command("invite", short_help="Print a link with which a person gets a key, once.")
@click.argument("person", metavar="NAME")
@commands_database.url_option("The address at which people reach the hub.")
@click.option(
    "--expires",
    type=commands_database.END,
    default="7d",
    show_default=True,
    metavar="WHEN",
    help="How long the link is good.",
)
@click.option("--label", type=commands_database.LABEL, default="", metavar="TEXT", help="What the key will be called.")
@click.option("--key-expires", type=commands_database.END, metavar="WHEN", help="From when on the key is not accepted.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, with the link in it.")
def invite(person: str, url: str, expires: float, label: str, key_expires: float | None, *, as_json: bool) -> None:
    """Print a link with which NAME gets a key, once; for VS Code, and for `partstream add hub URL` elsewhere.

    Whoever has the link can use it, so send it as you would send a password. It is printed to standard output alone.
    """
    address = commands_database.hub_url(url)
    with commands_database.hub_database() as hub:
        _check_person(hub.directory(), person)
        code = hub.invite(person, expires_at=expires, label=label, key_expires_at=key_expires)
    link = page_link(address, code.reveal())
    if as_json:
        editor = editor_link(address, code.reveal())
        click.echo(dumps({"person": person, "link": link, "editor_link": editor, "expires_at": expires}))
        return
    if is_loopback(urlsplit(address).hostname or ""):
        click.echo("Good on this machine alone; for people on others, --url says where they reach the hub.", err=True)
    click.echo(
        f"The link for {person}, good once until {commands_database.time_text(expires)}; it is not shown again:",
        err=True,
    )
    click.echo(link)


def _check_person(directory: Directory, name: str) -> None:
    """Refuses a name that no person has.

    Raises:
        UsageError: There is none.
    """
    if name in directory.people:
        return
    close = closest_name(name, directory.people)
    ways = f"did you mean {close}?" if close else "`partstream hub add person NAME` adds one"
    raise click.UsageError(f"there is no person {commands_database.shown_argument(name)}; {ways}")


def _state(one: Key, now: float) -> str:
    if one.revoked_at is not None:
        return "revoked"
    return "expired" if one.expires_at is not None and one.expires_at <= now else "good"


COMMANDS: Final[Mapping[str, click.Command]] = {"key": key, "invite": invite}
