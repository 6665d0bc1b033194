"""`partstream hub init`, `check`, `add`, `set`, `remove`, `apply`, `export`, `key`, `invite`: all that changes a hub.

The options of `add` and `set` are made from the fields of `hub.toml` (:data:`partstream_hub.configuration.FIELDS`), so
they say and read the same as a file. A change of entries is a plan: it is shown as a diff, a person is asked where
something would be lost, and one transaction carries it out. Where no person can be asked, `--yes` or `--remove` lets
it.

Keys and join links of people are shown once and kept by their digests alone. A command that makes or revokes a key
waits until the workers know of it: a key works, or works no more, when its command is over.
"""

from __future__ import annotations
import re
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import ceil
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

import click
from rich.text import Text

from partstream.cli.console import make_console, write_page
from partstream.cli.terminal import AnyCommand, ExitCode, all_options
from partstream.codec.json_codec import dumps
from partstream.codec.system import read_given
from partstream.codec.text import counted
from partstream.settings.kinds import closest_name
from partstream.tokens.amounts import BudgetUnit, amount_text
from partstream.upstream.endpoint import is_loopback
from partstream.upstream.hub import editor_link, page_link
from partstream_hub import configuration
from partstream_hub.commands_database import (
    Administration,
    End,
    Fitting,
    UnusableHubError,
    hub_database,
    hub_url,
    opened_database,
    show_table,
    shown_argument,
    time_text,
    url_option,
)
from partstream_hub.configuration import Plan
from partstream_hub.directory import LABEL, Directory, Key, may_use
from partstream_hub.hub import is_valid
from partstream_hub.store.rows import SQL
from partstream_hub.store.store import VERSIONS, HubStore

# ---- hub init and check ----

_NEXT: Final = """\
Next:
  partstream hub add person NAME --admin --budget "5 USD/day"
  partstream hub key add NAME
  partstream serve --hub --demo       (a built-in model; or your providers: partstream serve --hub my_model.py)"""


@click.command("init", short_help="Make the database of a hub, or bring an older one up to date.")
def init() -> None:
    """Make the database of a hub, or bring the tables of an older version up to date, with all that is in them.

    Without PARTSTREAM_HUB_DATABASE, it is a file of SQLite in your data folder, readable for you alone. Doing it again
    changes nothing.
    """
    with opened_database() as store:
        before = store.migrate()
        is_empty = not (directory := store.directory()) or not directory.people
    if before == 0:
        click.echo(f"Made a hub in {store.where}.")
    elif before < len(VERSIONS):
        click.echo(f"Brought the hub in {store.where} from version {before} to {len(VERSIONS)}.")
    else:
        click.echo(f"The hub in {store.where} is up to date.")
    if is_empty:
        click.echo(_NEXT)


_SOON_SECONDS: Final = 7 * 86_400.0
_SILENT_SECONDS: Final = 60.0  # by the clock of the database: workers show every second that they are alive


class Finding(NamedTuple):
    """Something that an administrator should look at."""

    kind: str  # what it is about: `people`, `keys`, `budgets`, `models`, `workers`
    what: str
    advice: str = ""


def findings_of(store: HubStore, directory: Directory) -> Iterator[Finding]:
    """All findings, the most important ones first."""
    time = store.time()
    # Windows that broke a promise: more than the limit, or sums that are not those of the ledger.
    for budget, overrun in store.read(SQL["overrun windows"]):
        unit = BudgetUnit.MONEY if f"/{BudgetUnit.MONEY}/" in budget else BudgetUnit.TOKENS
        said = f"answers took {amount_text(unit, int(overrun))} more than {budget} had left"
        yield Finding("budgets", said, "the upper bound of a request was too low; is the price of each model right?")
    yield from (Finding("budgets", one) for one in store.check())
    people, keys = directory.people.values(), sorted(directory.keys.values(), key=lambda one: (one.person, one.id))
    valid = [key for key in keys if is_valid(directory, key, time)]
    for name in sorted({one.name for one in people if not one.is_disabled} - {key.person for key in valid}):
        yield Finding("people", f"{name} has no key that works", f"`partstream hub key add {name}` makes one")
    if people and not any(person.is_admin for person in people):
        advice = f"`partstream hub set person {min(directory.people)} --admin` makes one"
        yield Finding("people", "there is no admin", advice)
    for key in valid:
        if key.expires_at is not None and key.expires_at - time < _SOON_SECONDS:
            days = counted(ceil((key.expires_at - time) / 86_400), "day")
            yield Finding("keys", f"the key {key.id} of {key.person} expires in less than {days}")
    limited = [one for one in people if any(rule.unit is BudgetUnit.MONEY for rule in directory.budgets_of(one))]
    # The provider may list a price, which only a worker knows; a model that is routed is asked for here.
    for name, route in sorted(directory.routes.items()):
        asking = [one for one in limited if may_use(directory, one, name)]
        if asking and route.upstreams and route.price is None:
            said = f"{name} has no price here and {len(asking)} with a budget of money may ask it: unless its upstream"
            advice = f"`partstream hub set model {name} --price IN/OUT` sets one"
            yield Finding("models", f"{said} lists one, they are refused", advice)
    silent = "SELECT name, seen_at FROM hub_workers WHERE seen_at < ? ORDER BY name"
    for name, seen_at in store.read(silent, [time - _SILENT_SECONDS]):
        said = f"{name} has not been heard of for {(time - seen_at) / 60:.0f} minutes"
        yield Finding("workers", said, "start a server again: what its answers had reserved is charged then")


@click.command("check", short_help="Find problems that block users, and budgets that do not add up.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array of findings.")
def check(*, as_json: bool) -> None:
    """Find problems that block users, and budgets that do not add up.

    It looks at the database, at keys, at budgets of money without a price for a model, at workers that are silent, and
    at each window of a budget: what is spent and reserved is never above its limit. The exit code is 0, or 1 if
    something was found.
    """
    with hub_database() as hub:
        findings = [*findings_of(hub.store, hub.directory())]
    if as_json:
        click.echo(dumps([one._asdict() for one in findings]))
    else:
        for one in findings:
            click.echo(f"{one.kind}: {one.what}" + (f"; {one.advice}" if one.advice else ""))
        if not findings:
            click.echo("Nothing was found.")
    if findings:
        sys.exit(ExitCode.FOUND)


# ---- Options from fields ----


def _field_options(section: configuration.Section) -> Callable[[AnyCommand], AnyCommand]:
    """Adds to a command an option for each field of a table; :func:`_read_fields` takes their values."""

    def option(field: configuration.Field) -> Callable[[Any], Any]:
        if isinstance(field.default, bool):
            named = f"{field.option}/--no-{field.option[2:]}"
            return click.option(named, field.name, default=None, help=f"{field.says}.")
        says = f"{field.says}{'; repeat for more' if field.is_many else ''}."
        return click.option(field.option, field.name, metavar=field.metavar, multiple=field.is_many, help=says)

    return all_options(*map(option, configuration.FIELDS[section].values()))


def _read_fields(
    section: configuration.Section, options: Mapping[str, Any], before: configuration.Fields | None = None
) -> configuration.Fields:
    """An entry with the fields that the options of a command give; the others stay as they are in `before`. A
    UsageError names the option whose value cannot be used."""
    given = {name: value for name, value in options.items() if value not in (None, ())}
    entry, faults = configuration.read_entry(section, {**(before or {}), **given}, "")
    said = []
    for fault in faults:
        name, *deeper = re.sub(r"\[\d+\]", "", fault.where).removeprefix(".").split(".", 1)
        option = " ".join([configuration.FIELDS[section][name].option, *(f"({one})" for one in deeper)])
        said.append(f"{option}: got {fault.got}, expected {fault.expected}")
    if said:
        raise click.UsageError("; ".join(said))
    return entry


# ---- Plans before a person ----

_STYLES: Final = {"+": "green", "-": "red", "~": "yellow"}


def _show_plan(plan: Plan) -> None:
    console = make_console()
    for line in plan.lines():
        console.print(Text(line, _STYLES[line.lstrip()[0]]))


def _carry_out(
    hub: Administration, plan: configuration.Plan, *, may_remove: bool = False, option: str = "--yes"
) -> None:
    """Shows a plan and carries it out in one transaction.

    Entries are removed without a question where an option of the command says so; else a person is asked, and a
    UsageError refuses it where there is none.
    """
    if not plan.steps:
        click.echo("Nothing changes.")
        return
    _show_plan(plan)
    if plan.removed and not may_remove:
        what = ", ".join(map(str, plan.removed))
        if not (sys.stdin.isatty() and sys.stdout.isatty()):
            raise click.UsageError(f"this removes {what}; {option} allows it. Nothing was changed")
        click.confirm(f"Remove {what}?", abort=True)
    hub.carry_out(plan)
    click.echo(f"Done: {plan.summary()}.")


# ---- hub add, set and remove ----

_HELP: Final = {
    "team": (
        "Add a team: people who share budgets, a list of models, and what is kept of their answers.",
        "Change a team; what no option names stays as it is.",
    ),
    "person": (
        "Add a person. `partstream hub key add NAME` makes a key, `partstream hub invite NAME` a join link.",
        "Change a person; what no option names stays as it is.",
    ),
    "model": (
        "Add a model: where it is answered, or the price of one that the workers' providers list.",
        "Change a model, or set the price of one that the workers' providers list.",
    ),
    "key": ("", "Narrow what a key may do: budgets, models and rates of its own, beside those of its person and team."),
}


@click.group("add", short_help="Add a team, a person or a model.")
def add() -> None:
    """Add a team, a person or a model."""


@click.group("set", short_help="Change what a team, a person, a model or a key may do.")
def change() -> None:
    """Change a team, a person, a model or a key; what no option names stays as it is.

    An option that may be repeated gives the whole list anew; `--unset FIELD` sets a field back. What has changed is
    printed. A limit that changes holds at once, for what was spent before too.
    """


@click.group("remove", short_help="Remove a team, a person or a model.")
def remove() -> None:
    """Remove a team, a person or a model; what was spent stays in the ledger.

    A person goes with all keys. A team that has people stays until they are in another.
    """


def _add_commands(section: configuration.Section) -> None:
    """Adds to each group its command for a table of entries; a key is only changed."""
    kind, fields = section.one, tuple(configuration.FIELDS[section])
    is_key = section is configuration.Section.KEYS

    @change.command(kind, help=_HELP[kind][1])
    @click.argument("name", metavar="ID" if is_key else "NAME")
    @_field_options(section)
    @click.option(
        "--unset",
        multiple=True,
        metavar="FIELD",
        type=click.Choice(fields),
        help="Set a field back to its default; repeat for more.",
    )
    def set_one(name: str, unset: tuple[str, ...], **options: Any) -> None:
        _put_entry(section, name, options, unset)

    if is_key:
        return

    @add.command(kind, help=_HELP[kind][0])
    @click.argument("name")
    @_field_options(section)
    def add_one(name: str, **options: Any) -> None:
        _put_entry(section, name, options)
        if section is configuration.Section.PEOPLE:
            click.echo(f"Next: `partstream hub key add {name}`, or `partstream hub invite {name}`.", err=True)

    @remove.command(kind, help=f"Remove a {kind}.")
    @click.argument("name")
    @click.option("--yes", is_flag=True, help="Do not ask.")
    def remove_one(name: str, *, yes: bool) -> None:
        with hub_database() as hub:
            directory = hub.directory()
            before = _known(section, name, directory)
            step = configuration.Step(configuration.EntryId(section, name), before, None)
            _carry_out(hub, Plan(directory, (step,)), may_remove=yes)


def _put_entry(
    section: configuration.Section, name: str, options: Mapping[str, Any], unset: Sequence[str] | None = None
) -> None:
    """Adds an entry, or, with a list of fields to unset, changes the one that is there."""
    if twice := [one for one in unset or () if options[one] not in (None, ())]:
        raise click.UsageError(f"--unset: got {', '.join(twice)}, which an option sets")
    if unset == () and all(one in (None, ()) for one in options.values()):
        raise click.UsageError("nothing to change: give an option, or --unset FIELD")
    if not (expected := configuration.expected_name(section)).fits(name):
        raise click.UsageError(str(configuration.FaultError("NAME", name, expected.description)))
    identity = configuration.EntryId(section, name)
    with hub_database() as hub:
        directory = hub.directory()
        before = configuration.entries_of(section, directory).get(name)
        # What the workers' providers list is there without an entry.
        if unset is not None and section is not configuration.Section.MODELS:
            before = _known(section, name, directory)
        if before is not None and unset is None:
            raise click.UsageError(
                f"there is a {identity} already; `partstream hub set {section.one} {name}` changes it"
            )
        kept = {one: value for one, value in (before or {}).items() if one not in (unset or ())}
        entry = _read_fields(section, options, kept)
        if team := entry.get("team"):
            _known(configuration.Section.TEAMS, team, directory, "--team: ")
        steps = () if entry == before else (configuration.Step(identity, before, entry),)
        _carry_out(hub, Plan(directory, steps))


def _known(section: configuration.Section, name: str, directory: Directory, place: str = "") -> configuration.Fields:
    """The entry of a name; one that nothing has is refused by a UsageError, which says what is probably meant."""
    known = configuration.entries_of(section, directory)
    if name in known:
        return known[name]
    advice = f"`partstream hub add {section.one} NAME` adds one"
    if section is configuration.Section.KEYS:
        advice = "`partstream hub key list` shows the ids of all keys"
    elif close := closest_name(name, known):
        advice = f"did you mean {close}?"
    raise click.UsageError(f"{place}there is no {section.one} {shown_argument(name)}; {advice}")


for _section in configuration.Section:
    _add_commands(_section)


# ---- hub apply and export ----

_INPUT: Final = "-"


@click.command("apply", short_help="Apply a file to the hub; shows the plan first.")
@click.argument("file", metavar="FILE")
@click.option("--dry-run", is_flag=True, help="Show the plan and change nothing.")
@click.option("--remove", "may_remove", is_flag=True, help="Remove what the file leaves out without asking.")
@click.option("--json", "as_json", is_flag=True, help="Print the plan as one JSON object.")
def apply(file: str, *, dry_run: bool, may_remove: bool, as_json: bool) -> None:
    """Apply FILE to the hub, in one transaction; - reads standard input.

    The file has the tables [models.NAME], [teams.NAME] and [people.NAME]. Entries that a table of the file leaves out
    are removed after you confirm; tables that the file leaves out stay unchanged. Files hold no keys, and keys stay as
    they are. The plan is shown before anything changes.
    """
    try:
        text = sys.stdin.read() if file == _INPUT else read_given(Path(file)).decode()
        wanted = configuration.read_hub_file(text, "standard input" if file == _INPUT else file)
    except OSError as error:
        raise UnusableHubError(f"{file}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise UnusableHubError(f"{file}: got byte {error.start} that is no UTF-8, expected TOML in UTF-8") from error
    except configuration.UnusableHubFileError as error:
        raise UnusableHubError(str(error)) from error
    with hub_database() as hub:
        plan = configuration.plan_of(hub.directory(), wanted)
        if as_json and (dry_run or not plan.removed or may_remove):
            if not dry_run:
                hub.carry_out(plan)
            click.echo(dumps({"applied": not dry_run, "steps": [step.as_json() for step in plan.steps]}))
        elif dry_run:
            _show_plan(plan)
            click.echo(f"Plan: {plan.summary()}.")
        else:
            _carry_out(hub, plan, may_remove=may_remove, option="--remove")


@click.command("export", short_help="Export the hub as a file that can be reviewed and applied.")
@click.argument("file", metavar="[FILE]", default=_INPUT)
def export(file: str) -> None:
    """Write teams, people and models into FILE, or to standard output: `partstream hub apply` reads it back.

    It holds no keys, and not what was spent. An existing file is replaced.
    """
    with hub_database() as hub:
        text = configuration.written_hub_file(configuration.document_of(hub.directory()))
    if file == _INPUT:
        click.echo(text, nl=False)
    else:
        write_page(Path(file), text)


# ---- hub key and invite ----

_SECONDS: Final = 3.0
"""How long a worker may be silent and still be waited for, and for how long. Each is heard of every second."""
_PAUSE: Final = 0.1
_HEARTBEATS: Final = 2  # a heartbeat that began after a change brings it; with the next one, the worker has taken it in
_WORKERS: Final = "SELECT name, counter FROM hub_workers WHERE seen_at > ?"


def _wait_for_workers(store: HubStore) -> None:
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
    "--label", type=Fitting(LABEL), default="", metavar="TEXT", help="What the key is called, such as laptop."
)
@click.option("--expires", type=End(), metavar="WHEN", help="When the key expires: 90d, 12h or a date.")
@_field_options(configuration.Section.KEYS)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, with the key in it.")
def add_key(person: str, label: str, expires: float | None, *, as_json: bool, **options: Any) -> None:
    """Make a key for PERSON and print it, this once: to standard output alone, so that a script can take it.

    The key may do what its person may do; budgets, models and rates of its own narrow that.
    """
    fields = _read_fields(configuration.Section.KEYS, options)
    with hub_database() as hub:
        _known(configuration.Section.PEOPLE, person, hub.directory())
        made, secret = hub.add_key(person, label, expires, fields)
        if as_json:
            click.echo(dumps({"id": made.id, "person": person, "key": secret.reveal(), "expires_at": expires}))
        else:
            click.echo(f"The key of {person}, with the id {made.id}; it is not shown again:", err=True)
            click.echo(secret.reveal())
        sys.stdout.flush()
        _wait_for_workers(hub.store)


@key.command("list")
@click.argument("person", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array.")
def list_keys(person: str | None, *, as_json: bool) -> None:
    """List the keys of PERSON, or of everybody, without the keys themselves."""
    with hub_database() as hub:
        directory, now = hub.directory(), hub.store.time()
    if person is not None:
        _known(configuration.Section.PEOPLE, person, directory)
    keys = sorted(
        (one for one in directory.keys.values() if person in (None, one.person)),
        key=lambda one: (one.person, one.created_at, one.id),
    )
    if as_json:
        fields = ("id", "person", "label", "created_at", "expires_at", "revoked_at", "models")
        shown = ({name: getattr(one, name) for name in fields} | {"state": _state(one, now)} for one in keys)
        click.echo(dumps([*shown]))
    elif keys:
        times = ((one, time_text(one.created_at), time_text(one.expires_at)) for one in keys)
        rows = ((one.id, one.person, one.label, made, expires, _state(one, now)) for one, made, expires in times)
        show_table(("id", "person", "label", "made", "expires", "state"), rows)
    else:
        click.echo("There are no keys; `partstream hub key add NAME` makes one.")


@key.command("revoke")
@click.argument("key_ids", metavar="ID...", nargs=-1, required=True)
def revoke(key_ids: tuple[str, ...]) -> None:
    """Revoke keys by their ids, permanently: within two seconds no worker accepts them."""
    with hub_database() as hub:
        known = hub.directory().keys
        if missing := [one for one in key_ids if one not in known]:
            said = f"ID: got {', '.join(map(shown_argument, missing))}, expected the id of a key"
            raise click.UsageError(f"{said}, as `partstream hub key list` shows them")
        hub.revoke(key_ids)
        _wait_for_workers(hub.store)
    click.echo("Revoked: " + ", ".join(f"{one} of {known[one].person}" for one in key_ids))


@click.command("invite", short_help="Print a join link, with which a person gets a key once.")
@click.argument("person", metavar="NAME")
@url_option("The address at which people reach the hub.")
@click.option(
    "--expires", type=End(), default="7d", show_default=True, metavar="WHEN", help="How long the link is valid."
)
@click.option("--label", type=Fitting(LABEL), default="", metavar="TEXT", help="What the key will be called.")
@click.option("--key-expires", type=End(), metavar="WHEN", help="When the key expires.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, with the link in it.")
def invite(person: str, url: str, expires: float, label: str, key_expires: float | None, *, as_json: bool) -> None:
    """Print a link with which NAME gets a key, once; for VS Code, and for `partstream add hub URL` elsewhere.

    Anyone who has the link can use it: send it as you would send a password. It is printed to standard output alone.
    """
    address = hub_url(url)
    with hub_database() as hub:
        _known(configuration.Section.PEOPLE, person, hub.directory())
        code = hub.invite(person, expires, label, key_expires_at=key_expires)
    link = page_link(address, code.reveal())
    if as_json:
        editor = editor_link(address, code.reveal())
        click.echo(dumps({"person": person, "link": link, "editor_link": editor, "expires_at": expires}))
        return
    if is_loopback(urlsplit(address).hostname or ""):
        click.echo("Valid on this machine only; for people on others, --url says where they reach the hub.", err=True)
    click.echo(f"The link for {person}, valid once until {time_text(expires)}; it is not shown again:", err=True)
    click.echo(link)


def _state(one: Key, now: float) -> str:
    if one.revoked_at is not None:
        return "revoked"
    return "expired" if one.expires_at is not None and one.expires_at <= now else "good"


COMMANDS: Final = {one.name: one for one in (init, check, add, change, remove, apply, export, key, invite)}
