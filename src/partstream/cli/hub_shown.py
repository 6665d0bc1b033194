"""`partstream hub list`, `show` and `changes`: what there is, what is left of budgets, and who changed what."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import click

from partstream.codec.json_codec import dumps
from partstream.hub.amounts import BudgetAmount, amount_text, budget_text
from partstream.hub.commands_database import hub_database, show_table, shown_argument, time_text
from partstream.hub.configuration import Section, document_of, written_value
from partstream.hub.directory import Owner, OwnerKind

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from partstream.hub.administration import Administration
    from partstream.hub.configuration import Entry, HubDocument
    from partstream.hub.directory import BudgetRule, Directory
    from partstream.hub.store.values import DirectoryRecord, Window

__all__ = ["LISTING_COMMANDS"]

_EVERYTHING: Final = "all"
_COLUMNS: Final = {
    Section.TEAMS: ("team", "people", "budgets", "models"),
    Section.PEOPLE: ("person", "team", "keys", "budgets", "models"),
    Section.MODELS: ("model", "upstreams", "price", "fallbacks"),
}
_BUDGET_COLUMNS: Final = ("budget", "of", "spent", "reserved", "left", "resets")


@click.command("list", short_help="List teams, people and models.")
@click.argument("what", type=click.Choice([_EVERYTHING, *(one.value for one in Section)]), default=_EVERYTHING)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, with the fields of hub.toml.")
def list_(what: str, *, as_json: bool) -> None:
    """List teams, people and models; `partstream hub key list` lists keys."""
    with hub_database() as hub:
        directory = hub.directory()
    sections = [section for section in Section if what in (_EVERYTHING, section.value)]
    document = document_of(directory)
    if as_json:
        click.echo(dumps({section.value: _fields_of(document, section) for section in sections}))
        return
    is_empty = True
    for section in sections:
        entries = [*document.of(section)]
        if entries:
            if not is_empty:
                click.echo()
            show_table(_COLUMNS[section], [_ROWS[section](entry, directory) for entry in entries])
            is_empty = False
    if is_empty:
        click.echo("There is nothing yet; `partstream hub add person NAME` adds a person.")


def _fields_of(document: HubDocument, section: Section) -> dict[str, Any]:
    return {entry.id.name: _plain(entry.fields) for entry in document.of(section)}


def _plain(value: Any) -> Any:
    """A value in JSON's types; a price is a text, so that nothing of it is lost."""
    if hasattr(value, "items"):
        return {name: _plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return value if value is None or isinstance(value, str | bool | int) else f"{value:f}"


def _team_row(entry: Entry, directory: Directory) -> Sequence[str]:
    people = sum(person.team == entry.id.name for person in directory.people.values())
    return (_named(entry), str(people), ", ".join(entry.fields.get("budgets", ())), _models(entry))


def _person_row(entry: Entry, directory: Directory) -> Sequence[str]:
    keys = sum(key.person == entry.id.name and key.revoked_at is None for key in directory.keys.values())
    budgets = ", ".join(entry.fields.get("budgets", ()))
    return (_named(entry), entry.fields.get("team", ""), str(keys), budgets, _models(entry))


def _model_row(entry: Entry, _directory: Directory) -> Sequence[str]:
    upstreams = ", ".join(f"{one['provider']}/{one['model']}" for one in entry.fields.get("upstreams", ()))
    price = entry.fields.get("price")
    shown = "" if price is None else f"${price['input']:f} / ${price['output']:f}"
    return (entry.id.name, upstreams, shown, ", ".join(entry.fields.get("fallbacks", ())))


_ROWS: Final = {Section.TEAMS: _team_row, Section.PEOPLE: _person_row, Section.MODELS: _model_row}


def _named(entry: Entry) -> str:
    marks = [mark for mark in ("admin", "disabled") if entry.fields.get(mark)]
    return f"{entry.id.name} ({', '.join(marks)})" if marks else entry.id.name


def _models(entry: Entry) -> str:
    models = entry.fields.get("models")
    return "all" if models is None else ", ".join(models) or "none"


# ---- one of them ----


@click.command("show", short_help="Show one team, person, model or key, with what is left of its budgets.")
@click.argument("name")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array: one object for each that has the name.")
def show(name: str, *, as_json: bool) -> None:
    """Show the team, person, model or key NAME, with what was spent of each budget that holds for it.

    Reserved is what workers hold for answers that run or may come soon. The numbers are those of this moment.
    """
    with hub_database() as hub:
        directory = hub.directory()
        found = [*_found(name, directory)]
        if not found:
            raise click.UsageError(
                f"there is no team, person, model or key {shown_argument(name)}; `partstream hub list` shows all"
            )
        shown = [_shown(kind, one, fields, _standings(hub, kind, one, directory)) for kind, one, fields in found]
    if as_json:
        click.echo(dumps(shown))
        return
    for number, one in enumerate(shown):
        if number:
            click.echo()
        _print(one)


def _found(name: str, directory: Directory) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """All that has a name: what it is, its name, its fields."""
    for identity, entry in document_of(directory).entries.items():
        if identity.name == name:
            yield identity.section.one, name, entry.fields
    if (key := directory.keys.get(name)) is not None:
        fields = {
            "person": key.person,
            "label": key.label,
            "models": key.models,
            "made": time_text(key.created_at),
            "expires": None if key.expires_at is None else time_text(key.expires_at),
            "revoked": None if key.revoked_at is None else time_text(key.revoked_at),
        }
        yield "key", name, {one: value for one, value in fields.items() if value not in (None, "")}


def _standings(hub: Administration, kind: str, name: str, directory: Directory) -> list[dict[str, Any]]:
    """What is left of each budget that holds for a team, a person or a key."""
    rules = [*_rules(kind, name, directory)]
    windows = hub.store.open_windows(rules) if rules else {}
    return [_standing(rule, windows[rule.id]) for rule in rules]


def _rules(kind: str, name: str, directory: Directory) -> Iterator[BudgetRule]:
    if kind == OwnerKind.KEY:
        yield from directory.budgets_of(directory.keys[name])
        return
    owners = [Owner(OwnerKind(kind), name)] if kind in (OwnerKind.TEAM, OwnerKind.PERSON) else []
    if kind == OwnerKind.PERSON and (team := directory.people[name].team) is not None:
        owners.append(Owner(OwnerKind.TEAM, team))
    for owner in owners:
        yield from directory.budgets.get(owner, ())


def _standing(rule: BudgetRule, window: Window) -> dict[str, Any]:
    return {
        "budget": budget_text(BudgetAmount(rule.unit, rule.period, rule.limit)),
        "of": str(rule.owner),
        "unit": rule.unit.value,
        "period": rule.period.value,
        "limit": window.limit,
        "spent": window.spent,
        "reserved": window.leased,
        "remaining": window.free,
        "overrun": window.overrun,
        "resets_at": window.ends_at,
        "text": {one: amount_text(rule.unit, getattr(window, one)) for one in ("spent", "leased", "free")},
    }


def _shown(kind: str, name: str, fields: Mapping[str, Any], standings: list[dict[str, Any]]) -> dict[str, Any]:
    return {"kind": kind, "name": name, "fields": _plain(fields), "budgets": standings}


def _print(one: dict[str, Any]) -> None:
    click.echo(f"{one['kind']} {one['name']}")
    for name, value in one["fields"].items():
        if name != "budgets":
            click.echo(f"    {name} = {written_value(value)}")
    if one["budgets"]:
        rows = [
            (
                standing["budget"],
                standing["of"],
                # The first column says what is counted.
                *(text.rpartition(" ")[0] for text in standing["text"].values()),
                time_text(standing["resets_at"]) if standing["resets_at"] else "never",
            )
            for standing in one["budgets"]
        ]
        click.echo()
        show_table(_BUDGET_COLUMNS, rows, right=("spent", "reserved", "left"))


# ---- changes ----


@click.command("changes", short_help="Show who changed what.")
@click.option("--most", type=click.IntRange(1, 10_000), default=50, show_default=True, help="The most changes.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array, with each entry before and after.")
def changes(most: int, *, as_json: bool) -> None:
    """Show who changed what, the newest first. No key stands in it."""
    with hub_database() as hub:
        records = hub.store.records(most)
    if as_json:
        click.echo(dumps([_record(one) for one in records]))
    elif records:
        rows = [(time_text(one.time), str(one.version), one.by, one.action) for one in records]
        show_table(("time", "version", "by", "what"), rows, right=("version",))
    else:
        click.echo("Nothing has been changed yet.")


def _record(record: DirectoryRecord) -> dict[str, Any]:
    return {
        "version": record.version,
        "time": record.time,
        "by": record.by,
        "action": record.action,
        "before": record.before,
        "after": record.after,
    }


LISTING_COMMANDS: Final[Mapping[str, click.Command]] = {"list": list_, "show": show, "changes": changes}
