"""The options of `partstream hub add` and `hub set`, made from the fields of `hub.toml`: they say and read the same."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, ParamSpec, TypeVar, cast

import click

from partstream.hub.configuration import FIELDS, Form, read_entry

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from partstream.hub.configuration import ConfigurationFault, Entry, EntryId, Field, Section

__all__ = ["field_options", "given_fields", "read_fields"]

_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")

_PREFIX: Final = "field_"


def field_options(
    section: Section, names: Sequence[str] | None = None
) -> Callable[[Callable[_Parameters, _Result]], Callable[_Parameters, _Result]]:
    """Adds to a command an option for each field of a table; :func:`given_fields` takes their values.

    Args:
        section: The table.
        names: The fields; None for all of them.
    """

    def add(function: Callable[_Parameters, _Result]) -> Callable[_Parameters, _Result]:
        with_options: Any = function
        for field in reversed([*FIELDS[section].values()]):
            if names is None or field.name in names:
                with_options = _option(field)(with_options)
        return cast("Callable[_Parameters, _Result]", with_options)

    return add


def given_fields(options: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that the options of a command give, by their names, as they were written."""
    given = {name.removeprefix(_PREFIX): value for name, value in options.items() if name.startswith(_PREFIX)}
    return {name: value for name, value in given.items() if value not in (None, ())}


def read_fields(identity: EntryId, given: Mapping[str, Any], before: Entry | None = None) -> Entry:
    """An entry with the fields that somebody gave; the others stay as they are.

    Args:
        identity: Which entry it is.
        given: The fields, as of :func:`given_fields`.
        before: The entry as it is; None for a new one.

    Raises:
        UsageError: A value is of no use; it names the option.
    """
    fields = {} if before is None else dict(before.fields)
    entry, faults = read_entry(identity, {**fields, **given}, "")
    if faults:
        raise click.UsageError("\n".join(_said(identity.section, fault) for fault in faults))
    return entry


def _said(section: Section, fault: ConfigurationFault) -> str:
    name, bracket, rest = fault.where.removeprefix(".").partition("[")
    name, _, inner = name.partition(".")
    option = FIELDS[section][name].option
    deeper = (rest.partition("]")[2] if bracket else f".{inner}" if inner else "").removeprefix(".")
    return f"{option}{f' ({deeper})' if deeper else ''}: got {fault.got}, expected {fault.expected}"


def _option(field: Field) -> Callable[[Any], Any]:
    name = _PREFIX + field.name
    if field.form is Form.FLAG:
        return click.option(f"{field.option}/--no-{field.option[2:]}", name, default=None, help=f"{field.says}.")
    more = "; repeat for more" if field.form is Form.MANY else ""
    return click.option(
        field.option,
        name,
        metavar=field.metavar,
        multiple=field.form is Form.MANY,
        help=f"{field.says}{more}.",
    )
