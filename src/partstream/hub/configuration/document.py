"""What `hub.toml` says, as values: one entry for each model, team and person."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["Entry", "EntryId", "HubDocument", "Section"]


class Section(StrEnum):
    """The tables of the file, in the order in which they are written and applied."""

    MODELS = "models"
    TEAMS = "teams"
    PEOPLE = "people"

    @property
    def one(self) -> str:
        """What one entry is called in sentences."""
        return _ONE[self]


_ONE = {Section.MODELS: "model", Section.TEAMS: "team", Section.PEOPLE: "person"}


class EntryId(NamedTuple):
    """Which entry is meant.

    Attributes:
        section: Its table.
        name: Its name in the table.
    """

    section: Section
    name: str

    def __str__(self) -> str:
        return f"{self.section.one} {self.name}"


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry, in its one form: of two ways to write a value, the values here are the same.

    Attributes:
        id: Which entry it is.
        fields: What it says, by the names of `fields.py`; a field that stands at its default is left out.
    """

    id: EntryId
    fields: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class HubDocument:
    """All entries of a file, or of a database.

    Attributes:
        entries: The entries, in the order of :class:`Section` and then of their names.
        sections: The tables that are spoken of: an entry that is missing in one of them shall not be. Of a table that
            is left out nothing is said.
    """

    entries: Mapping[EntryId, Entry]
    sections: frozenset[Section]

    def of(self, section: Section) -> Iterator[Entry]:
        """The entries of one table."""
        return (entry for identity, entry in self.entries.items() if identity.section is section)

    def names(self, section: Section) -> frozenset[str]:
        """The names of the entries of one table."""
        return frozenset(entry.id.name for entry in self.of(section))
