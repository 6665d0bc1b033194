"""`partstream hub init`, `check`, `add`, `set`, `remove`, `apply` and `export`: a hub is made, checked and changed.

The options of `add` and `set` are made from the fields of `hub.toml` (:data:`partstream_hub.configuration.FIELDS`), so
they say and read the same as a file. A change of entries is a plan: it is shown as a diff, a person is asked where
something would be lost, and one transaction carries it out. Where no person can be asked, `--yes` or `--remove` lets
it.
"""

from __future__ import annotations
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import click
from rich.text import Text

from partstream.cli.console import make_console, write_page
from partstream.cli.terminal import AnyCommand, ExitCode, all_options
from partstream.codec.json_codec import dumps
from partstream.settings.kinds import closest_name
from partstream_hub import configuration
from partstream_hub.administration import Administration, PreparedPlan, findings_of
from partstream_hub.commands_database import UnusableHubError, hub_database, opened_database, shown_argument
from partstream_hub.directory import RATE_NAMES, Directory, Owner, OwnerKind, RateLimits
from partstream_hub.store.store import VERSIONS

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
    with opened_database() as (store, where):
        before = store.migrate()
        is_empty = not (directory := store.directory()) or not directory.people
    if before == 0:
        click.echo(f"Made a hub in {where}.")
    elif before < len(VERSIONS):
        click.echo(f"Brought the hub in {where} from version {before} to {len(VERSIONS)}.")
    else:
        click.echo(f"The hub in {where} is up to date.")
    if is_empty:
        click.echo(_NEXT)


@click.command("check", short_help="Look for what keeps people from asking, and for budgets that do not add up.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array of findings.")
def check(*, as_json: bool) -> None:
    """Look for what keeps people from asking, and for budgets that do not add up.

    It looks at the database, at keys, at budgets of money without a price for a model, at workers that are silent, and
    at each window of a budget: what is spent and reserved is never above its limit. The exit code is 0, or 1 if
    something was found.
    """
    with hub_database() as hub:
        findings = [*findings_of(hub.store, hub.directory())]
    if as_json:
        click.echo(dumps([{"kind": one.kind, "what": one.what, "advice": one.advice} for one in findings]))
    else:
        for one in findings:
            click.echo(f"{one.kind}: {one.what}" + (f"; {one.advice}" if one.advice else ""))
        if not findings:
            click.echo("Nothing was found.")
    if findings:
        sys.exit(ExitCode.FOUND)


# ---- Options from fields ----

_PREFIX: Final = "field_"


def field_options(
    section: configuration.Section, names: Sequence[str] | None = None
) -> Callable[[AnyCommand], AnyCommand]:
    """Adds to a command an option for each field of a table; :func:`given_fields` takes their values.

    Args:
        section: The table.
        names: The fields; None for all of them.
    """

    fields = configuration.FIELDS[section]
    return all_options(*(_option(field) for name, field in fields.items() if names is None or name in names))


def given_fields(options: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that the options of a command give, by their names, as they were written."""
    given = {name.removeprefix(_PREFIX): value for name, value in options.items() if name.startswith(_PREFIX)}
    return {name: value for name, value in given.items() if value not in (None, ())}


def read_fields(
    identity: configuration.EntryId, given: Mapping[str, Any], before: configuration.Entry | None = None
) -> configuration.Entry:
    """An entry with the fields of :func:`given_fields`; the others stay as they are in `before`, None for a new one.

    Raises:
        UsageError: A value cannot be used; the message names the option.
    """
    fields = {} if before is None else dict(before.fields)
    entry, faults = configuration.read_entry(identity, {**fields, **given}, "")
    said = []
    for fault in faults:
        name, bracket, rest = fault.where.removeprefix(".").partition("[")
        name, _, inner = name.partition(".")
        option = configuration.FIELDS[identity.section][name].option
        deeper = (rest.partition("]")[2] if bracket else f".{inner}" if inner else "").removeprefix(".")
        said.append(f"{option}{f' ({deeper})' if deeper else ''}: got {fault.got}, expected {fault.expected}")
    if said:
        raise click.UsageError("\n".join(said))
    return entry


def _option(field: configuration.Field) -> Callable[[Any], Any]:
    name = _PREFIX + field.name
    if field.form is configuration.Form.FLAG:
        return click.option(f"{field.option}/--no-{field.option[2:]}", name, default=None, help=f"{field.says}.")
    is_many = field.form is configuration.Form.MANY
    says = f"{field.says}{'; repeat for more' if is_many else ''}."
    return click.option(field.option, name, metavar=field.metavar, multiple=is_many, help=says)


# ---- Plans before a person ----

_STYLES: Final = {"+": "green", "-": "red", "~": "yellow"}


def show_plan(prepared: PreparedPlan) -> None:
    """Prints a plan as a diff."""
    console = make_console()
    for line in prepared.plan.lines():
        console.print(Text(line, _STYLES[line.lstrip()[0]]))


def carry_out(hub: Administration, prepared: PreparedPlan, *, may_remove: bool = False, option: str = "--yes") -> None:
    """Shows a plan and carries it out in one transaction.

    Args:
        hub: The hub.
        prepared: The plan.
        may_remove: Whether entries may be removed without a question.
        option: The option of the command that says so.

    Raises:
        UsageError: Something would be removed, and no person can be asked.
        Abort: A person does not want it.
    """
    if not prepared.plan.steps:
        click.echo("Nothing changes.")
        return
    show_plan(prepared)
    if prepared.plan.removed and not may_remove:
        lost = [
            f"person {name}" + (f" with {keys} {'key' if keys == 1 else 'keys'}" if keys else "")
            for name, keys in prepared.lost_keys.items()
        ]
        others = [str(one) for one in prepared.plan.removed if one.name not in prepared.lost_keys]
        what = ", ".join([*others, *lost])
        if not (sys.stdin.isatty() and sys.stdout.isatty()):
            raise click.UsageError(f"this removes {what}; {option} lets it. Nothing was changed")
        click.confirm(f"Remove {what}?", abort=True)
    hub.carry_out(prepared)
    click.echo(f"Done: {prepared.plan.summary()}.")


# ---- hub add, set and remove ----

_ADD_HELP: Final = {
    "team": "Add a team: people who share budgets, a list of models, and what is kept of their answers.",
    "person": "Add a person. `partstream hub key add NAME` makes a key, `partstream hub invite NAME` a join link.",
    "model": "Add a model: where it is answered, or the price of one that the workers' providers list.",
}
_SET_HELP: Final = {
    "team": "Change a team; what no option names stays as it is.",
    "person": "Change a person; what no option names stays as it is.",
    "model": "Change a model, or set the price of one that the workers' providers list.",
}
KEY_FIELDS: Final = ("budgets", "time_zone", "models", *RATE_NAMES)
"""The fields that a key may have as well as its person."""


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


def _add_commands(kind: str, section: configuration.Section) -> None:
    """Adds to each group its command for a table of entries."""

    @add.command(kind, help=_ADD_HELP[kind])
    @click.argument("name")
    @field_options(section)
    def add_one(name: str, **options: Any) -> None:
        entry = read_fields(_identity(section, name), given_fields(options))
        with hub_database() as hub:
            if entry.id in configuration.document_of(hub.directory()).entries:
                raise click.UsageError(f"there is a {entry.id} already; `partstream hub set {kind} {name}` changes it")
            _check_team(options, hub.directory())
            carry_out(hub, hub.prepared_entry(entry.id, entry))
        if section is configuration.Section.PEOPLE:
            click.echo(f"Next: `partstream hub key add {name}`, or `partstream hub invite {name}`.", err=True)

    @change.command(kind, help=_SET_HELP[kind])
    @click.argument("name")
    @field_options(section)
    @_unset_option(tuple(configuration.FIELDS[section]))
    def set_one(name: str, unset: tuple[str, ...], **options: Any) -> None:
        identity, given = _identity(section, name), _given(options, unset)
        with hub_database() as hub:
            entries = configuration.document_of(hub.directory()).entries
            # What the workers' providers list is there without an entry.
            if section is not configuration.Section.MODELS:
                _check_entry(identity, entries)
            _check_team(options, hub.directory())
            before = entries.get(identity, configuration.Entry(identity, {})).fields
            kept = {one: value for one, value in before.items() if one not in unset}
            changed = read_fields(identity, given, configuration.Entry(identity, kept))
            carry_out(hub, hub.prepared_entry(identity, changed))

    @remove.command(kind, help=f"Remove a {kind}.")
    @click.argument("name")
    @click.option("--yes", is_flag=True, help="Do not ask.")
    def remove_one(name: str, *, yes: bool) -> None:
        identity = _identity(section, name)
        with hub_database() as hub:
            _check_entry(identity, configuration.document_of(hub.directory()).entries)
            carry_out(hub, hub.prepared_entry(identity, None), may_remove=yes)


def _unset_option(names: tuple[str, ...]) -> Callable[[Any], Any]:
    return click.option(
        "--unset",
        multiple=True,
        metavar="FIELD",
        type=click.Choice(names),
        help=f"Set a field back to its default: {', '.join(names)}; repeat for more.",
    )


@change.command("key")
@click.argument("key_id", metavar="ID")
@field_options(configuration.Section.PEOPLE, KEY_FIELDS)
@_unset_option(KEY_FIELDS)
def set_key(key_id: str, unset: tuple[str, ...], **options: Any) -> None:
    """Narrow what a key may do: budgets, models and rates of its own, beside those of its person and team."""
    given = _given(options, unset)
    # A key is no entry of the file; its fields are those of a person.
    fields = read_fields(configuration.EntryId(configuration.Section.PEOPLE, key_id), given).fields
    with hub_database() as hub:
        directory = hub.directory()
        if key_id not in directory.keys:
            raise click.UsageError(
                f"there is no key {shown_argument(key_id)}; `partstream hub key list` shows the ids of all keys"
            )
        key = directory.keys[key_id]
        before = configuration.fields_of_owner(key, Owner(OwnerKind.KEY, key_id), directory)
        # A value that is the default is in no entry.
        chosen = {
            name: fields.get(name, configuration.FIELDS[configuration.Section.PEOPLE][name].default)
            for name in (*given, *unset)
        }
        after = before | chosen
        rates = RateLimits(**{name: after[name] for name in RATE_NAMES})
        hub.change_key(replace(key, models=after["models"], rates=rates), after["budgets"], after["time_zone"])
    click.echo(f"Key {key_id} was changed; `partstream hub show {key_id}` shows it.")


def _given(options: Mapping[str, Any], unset: tuple[str, ...]) -> dict[str, Any]:
    given = given_fields(options)
    if twice := [name for name in unset if name in given]:
        raise click.UsageError(f"--unset: got {', '.join(twice)}, which an option sets")
    if not given and not unset:
        raise click.UsageError("nothing to change: give an option, or --unset FIELD")
    return given


def _identity(section: configuration.Section, name: str) -> configuration.EntryId:
    """Which entry is meant; a UsageError if nothing can have this name."""
    if (fault := configuration.fault_of_name(section, name)) is not None:
        raise click.UsageError(f"NAME: got {fault.got}, expected {fault.expected}")
    return configuration.EntryId(section, name)


def _check_team(options: Mapping[str, Any], directory: Directory) -> None:
    """Looks for the team of a person before a plan is shown that cannot be carried out; a UsageError for none."""
    name = given_fields(options).get("team")
    if name and name not in directory.teams:
        raise click.UsageError(
            "--team: " + _missing(configuration.EntryId(configuration.Section.TEAMS, name), directory.teams)
        )


def _check_entry(identity: configuration.EntryId, entries: Mapping[configuration.EntryId, configuration.Entry]) -> None:
    if identity not in entries:
        known = (one.name for one in entries if one.section is identity.section)
        raise click.UsageError(_missing(identity, known))


def _missing(identity: configuration.EntryId, known: Iterable[str]) -> str:
    close = closest_name(identity.name, known)
    hint = f"did you mean {close}?" if close else f"`partstream hub list {identity.section}` shows all"
    return f"there is no {identity.section.one} {shown_argument(identity.name)}; {hint}"


for _section in configuration.Section:
    _add_commands(_section.one, _section)


# ---- hub apply and export ----

_INPUT: Final = "-"


@click.command("apply", short_help="Make the hub what a file says; shows the plan before.")
@click.argument("file", metavar="FILE")
@click.option("--dry-run", is_flag=True, help="Show the plan and change nothing.")
@click.option("--remove", "may_remove", is_flag=True, help="Remove what the file leaves out without asking.")
@click.option("--json", "as_json", is_flag=True, help="Print the plan as one JSON object.")
def apply(file: str, *, dry_run: bool, may_remove: bool, as_json: bool) -> None:
    """Make the hub what FILE says, in one transaction; - reads standard input.

    The file has the tables [models.NAME], [teams.NAME] and [people.NAME]. Who is left out of a table that the file has
    is removed, if you say so; a table that the file leaves out is left alone. Keys stand in no file and stay as they
    are. The plan is shown before anything changes.
    """
    try:
        text = sys.stdin.read() if file == _INPUT else Path(file).read_text(encoding="utf-8")
        wanted = configuration.read_hub_file(text, "standard input" if file == _INPUT else file)
    except OSError as error:
        raise UnusableHubError(f"{file}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise UnusableHubError(f"{file}: got byte {error.start} that is no UTF-8, expected TOML in UTF-8") from error
    except configuration.UnusableHubFileError as error:
        raise UnusableHubError(str(error)) from error
    with hub_database() as hub:
        prepared = hub.prepared(wanted)
        if as_json and (dry_run or not prepared.plan.removed or may_remove):
            if not dry_run:
                hub.carry_out(prepared)
            steps = [
                {
                    "kind": step.kind.name.lower(),
                    "entry": step.id.section.one,
                    "name": step.id.name,
                    "fields": {one: {"before": old, "after": new} for one, old, new in step.changed_fields()},
                }
                for step in prepared.plan.steps
            ]
            click.echo(dumps({"applied": not dry_run, "steps": steps}))
        elif dry_run:
            show_plan(prepared)
            click.echo(f"Plan: {prepared.plan.summary()}.")
        else:
            carry_out(hub, prepared, may_remove=may_remove, option="--remove")


@click.command("export", short_help="Write what there is as a file that can be reviewed and applied.")
@click.argument("file", metavar="[FILE]", default=_INPUT)
def export(file: str) -> None:
    """Write teams, people and models into FILE, or to standard output: `partstream hub apply` reads it back.

    No key stands in it, and neither does what was spent. An existing file is replaced.
    """
    with hub_database() as hub:
        text = configuration.written_hub_file(configuration.document_of(hub.directory()))
    if file == _INPUT:
        click.echo(text, nl=False)
        return
    write_page(Path(file), text)


COMMANDS: Final[Mapping[str, click.Command]] = {
    "init": init,
    "check": check,
    "add": add,
    "set": change,
    "remove": remove,
    "apply": apply,
    "export": export,
}
