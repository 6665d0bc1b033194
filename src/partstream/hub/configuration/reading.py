"""Reads `hub.toml`: text in, a document out, or all faults at once; opens nothing."""

from __future__ import annotations

import tomllib
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from partstream.errors import UnexpectedValueError
from partstream.hub.configuration.document import Entry, EntryId, HubDocument, Section
from partstream.hub.configuration.faults import (
    ConfigurationFault,
    FaultError,
    UnusableHubFileError,
    shown_value,
    unknown_name,
)
from partstream.hub.configuration.fields import FIELDS
from partstream.hub.directory import check_model_name, check_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["fault_of_name", "read_entry", "read_hub_file"]

_MOST_CHARACTERS: Final = 16 * 1024 * 1024


def read_hub_file(text: str, file: str = "hub.toml") -> HubDocument:
    """The document of a file.

    Args:
        text: What the file holds.
        file: Its name, for errors.

    Raises:
        UnusableHubFileError: It is no TOML, or says something that no hub can do; with every fault.
    """
    if len(text) > _MOST_CHARACTERS:
        raise UnusableHubFileError(
            file, [ConfigurationFault("the file", f"{len(text):,} characters", f"{_MOST_CHARACTERS:,}")]
        )
    try:
        tables = tomllib.loads(text, parse_float=Decimal)
    except RecursionError:
        raise UnusableHubFileError(
            file, [ConfigurationFault("the file", "values within values too deep", "TOML 1.0")]
        ) from None
    except ValueError as error:  # of TOML, and of a number with more digits than Python reads
        raise UnusableHubFileError(
            file, [ConfigurationFault("the file", f"invalid TOML ({error})", "TOML 1.0")]
        ) from None
    faults: list[ConfigurationFault] = []
    entries = [*_entries(tables, faults)]
    document = HubDocument(
        {entry.id: entry for entry in sorted(entries, key=_order)},
        frozenset(section for section in Section if section in tables),
    )
    faults += _missing_names(document)
    if faults:
        raise UnusableHubFileError(file, faults)
    return document


def read_entry(identity: EntryId, table: Mapping[str, Any], where: str) -> tuple[Entry, list[ConfigurationFault]]:
    """One entry in its one form, and what is wrong in it.

    Args:
        identity: Which entry it is.
        table: Its fields as somebody wrote them.
        where: Its place, for the faults.
    """
    known = FIELDS[identity.section]
    values: dict[str, Any] = {}
    faults: list[ConfigurationFault] = []
    for name, value in table.items():
        place = f"{where}.{name}"
        if name not in known:
            faults.append(unknown_name(where, name, known, "fields"))
            continue
        try:
            read = known[name].read(value, place)
        except FaultError as error:
            faults.append(error.fault)
        else:
            if read != known[name].default:
                values[name] = read
    return Entry(identity, {name: values[name] for name in known if name in values}), faults


def fault_of_name(section: Section, name: str) -> ConfigurationFault | None:
    """What is wrong with the name of an entry; None if nothing is."""
    try:
        (check_model_name if section is Section.MODELS else check_name)(section.value, name)
    except UnexpectedValueError as error:
        return ConfigurationFault(section.value, shown_value(name), error.expected)
    return None


def _order(entry: Entry) -> tuple[int, str]:
    return list(Section).index(entry.id.section), entry.id.name


def _entries(tables: Mapping[str, Any], faults: list[ConfigurationFault]) -> Iterator[Entry]:
    for name, table in tables.items():
        if name not in Section.__members__.values():
            faults.append(unknown_name("the file", name, [one.value for one in Section], "tables"))
        elif not isinstance(table, dict):
            faults.append(ConfigurationFault(name, shown_value(table), f"a table [{name}]"))
        else:
            yield from _entries_of(Section(name), table, faults)


def _entries_of(section: Section, table: Mapping[str, Any], faults: list[ConfigurationFault]) -> Iterator[Entry]:
    for name, fields in table.items():
        where = f"{section}.{name}"
        if (fault := fault_of_name(section, name)) is not None:
            faults.append(fault)
        elif not isinstance(fields, dict):
            faults.append(ConfigurationFault(where, shown_value(fields), f"a table [{section}.{name}]"))
        else:
            yield _read(EntryId(section, name), fields, where, faults)


def _read(identity: EntryId, table: Mapping[str, Any], where: str, faults: list[ConfigurationFault]) -> Entry:
    entry, found = read_entry(identity, table, where)
    faults += found
    return entry


def _missing_names(document: HubDocument) -> Iterator[ConfigurationFault]:
    """Names in fields that no entry of the file has; a table that the file leaves out is not known here."""
    for entry in document.entries.values():
        for name, value in entry.fields.items():
            section = FIELDS[entry.id.section][name].names
            if section is None or section not in document.sections:
                continue
            known = document.names(section)
            for one in (value,) if isinstance(value, str) else value:
                if one not in known:
                    yield unknown_name(f"{entry.id.section}.{entry.id.name}.{name}", one, known, section.value)
