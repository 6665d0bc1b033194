"""`partstream hub add`, `set` and `remove`: one team, person, model or key at a time, in the words of `hub.toml`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import click

from partstream.cli.hub_options import field_options, given_fields, read_fields
from partstream.cli.hub_plans import carry_out
from partstream.hub.commands_database import hub_database, shown_argument
from partstream.hub.configuration import FIELDS, Entry, EntryId, Section, budgets_text, document_of, fault_of_name
from partstream.hub.directory import Owner, OwnerKind, RateLimits
from partstream.settings.errors import closest_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from partstream.hub.directory import Directory

__all__ = ["ENTRY_COMMANDS"]

_SECTIONS: Final = {"team": Section.TEAMS, "person": Section.PEOPLE, "model": Section.MODELS}
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
_RATES: Final = ("requests_per_minute", "tokens_per_minute", "concurrent_answers")
_UTC: Final = "UTC"
_KEY_FIELDS: Final = ("budgets", "time_zone", "models", *_RATES)


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


def _add_command(kind: str, section: Section) -> None:
    @add.command(kind, help=_ADD_HELP[kind])
    @click.argument("name")
    @field_options(section)
    def add_one(name: str, **options: Any) -> None:
        entry = read_fields(_identity(section, name), given_fields(options))
        with hub_database() as hub:
            if entry.id in document_of(hub.directory()).entries:
                raise click.UsageError(f"there is a {entry.id} already; `partstream hub set {kind} {name}` changes it")
            _check_team(options, hub.directory())
            carry_out(hub, hub.prepared_entry(entry))
        if section is Section.PEOPLE:
            click.echo(f"Next: `partstream hub key add {name}`, or `partstream hub invite {name}`.", err=True)


def _set_command(kind: str, section: Section) -> None:
    @change.command(kind, help=_SET_HELP[kind])
    @click.argument("name")
    @field_options(section)
    @_unset_option(tuple(FIELDS[section]))
    def set_one(name: str, unset: tuple[str, ...], **options: Any) -> None:
        identity, given = _identity(section, name), _given(options, unset)
        with hub_database() as hub:
            entries = document_of(hub.directory()).entries
            # What the workers' providers list is there without an entry.
            if identity not in entries and section is not Section.MODELS:
                raise click.UsageError(_missing(identity, (one.name for one in entries if one.section is section)))
            _check_team(options, hub.directory())
            before = entries.get(identity, Entry(identity, {})).fields
            kept = {one: value for one, value in before.items() if one not in unset}
            carry_out(hub, hub.prepared_entry(read_fields(identity, given, Entry(identity, kept))))


def _remove_command(kind: str, section: Section) -> None:
    @remove.command(kind, help=f"Remove a {kind}.")
    @click.argument("name")
    @click.option("--yes", is_flag=True, help="Do not ask.")
    def remove_one(name: str, *, yes: bool) -> None:
        identity = _identity(section, name)
        with hub_database() as hub:
            entries = document_of(hub.directory()).entries
            if identity not in entries:
                raise click.UsageError(_missing(identity, (one.name for one in entries if one.section is section)))
            carry_out(hub, hub.prepared_removal(identity), may_remove=yes)


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
@field_options(Section.PEOPLE, _KEY_FIELDS)
@_unset_option(_KEY_FIELDS)
def set_key(key_id: str, unset: tuple[str, ...], **options: Any) -> None:
    """Narrow what a key may do: budgets, models and rates of its own, beside those of its person and team."""
    given = _given(options, unset)
    # A key is no entry of the file; its fields are those of a person.
    fields = read_fields(EntryId(Section.PEOPLE, key_id), given).fields
    with hub_database() as hub:
        directory = hub.directory()
        if key_id not in directory.keys:
            raise click.UsageError(
                f"there is no key {shown_argument(key_id)}; `partstream hub key list` shows the ids of all keys"
            )
        key = directory.keys[key_id]
        rules = directory.budgets.get(Owner(OwnerKind.KEY, key_id), ())
        before = {
            "budgets": budgets_text(rules),
            "time_zone": rules[0].time_zone if rules else _UTC,
            "models": key.models,
            **{name: getattr(key.rates, name) for name in _RATES},
        }
        # A value that is the default stands in no entry.
        chosen = {name: fields.get(name, FIELDS[Section.PEOPLE][name].default) for name in (*given, *unset)}
        after = before | chosen
        rates = RateLimits(**{name: after[name] for name in _RATES})
        hub.change_key(replace(key, models=after["models"], rates=rates), after["budgets"], after["time_zone"])
    click.echo(f"Key {key_id} was changed; `partstream hub show {key_id}` shows it.")


def _given(options: Mapping[str, Any], unset: tuple[str, ...]) -> dict[str, Any]:
    given = given_fields(options)
    if twice := [name for name in unset if name in given]:
        raise click.UsageError(f"--unset: got {', '.join(twice)}, which an option sets")
    if not given and not unset:
        raise click.UsageError("nothing to change: give an option, or --unset FIELD")
    return given


def _identity(section: Section, name: str) -> EntryId:
    """Which entry is meant.

    Raises:
        UsageError: Nothing can have this name.
    """
    if (fault := fault_of_name(section, name)) is not None:
        raise click.UsageError(f"NAME: got {fault.got}, expected {fault.expected}")
    return EntryId(section, name)


def _check_team(options: Mapping[str, Any], directory: Directory) -> None:
    """Looks for the team of a person before a plan is shown that cannot be carried out.

    Raises:
        UsageError: There is none.
    """
    name = given_fields(options).get("team")
    if name and name not in directory.teams:
        raise click.UsageError("--team: " + _missing(EntryId(Section.TEAMS, name), directory.teams))


def _missing(identity: EntryId, known: Iterable[str]) -> str:
    close = closest_name(identity.name, known)
    hint = f"did you mean {close}?" if close else f"`partstream hub list {identity.section}` shows all"
    return f"there is no {identity.section.one} {shown_argument(identity.name)}; {hint}"


for _kind, _section in _SECTIONS.items():
    _add_command(_kind, _section)
    _set_command(_kind, _section)
    _remove_command(_kind, _section)

ENTRY_COMMANDS: Final[Mapping[str, click.Command]] = {"add": add, "set": change, "remove": remove}
