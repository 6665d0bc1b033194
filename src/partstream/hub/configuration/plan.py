"""What has to change for a hub to be what a document says: a plan, shown as a diff before it is carried out."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from partstream.hub.configuration.document import Section
from partstream.hub.configuration.fields import FIELDS
from partstream.hub.configuration.writing import written_value

if TYPE_CHECKING:
    from collections.abc import Iterator

    from partstream.hub.configuration.document import Entry, EntryId, HubDocument

__all__ = ["ConfigurationPlan", "Step", "StepKind", "plan_of"]


class StepKind(StrEnum):
    """What happens to one entry; the value is its sign in the diff."""

    ADDED = "+"
    CHANGED = "~"
    REMOVED = "-"


@dataclass(frozen=True, slots=True)
class Step:
    """One entry that changes.

    Attributes:
        kind: What happens to it.
        id: Which entry it is.
        before: The entry as it is; None for one that is added.
        after: The entry as it shall be; None for one that is removed.
    """

    kind: StepKind
    id: EntryId
    before: Entry | None
    after: Entry | None

    def changed_fields(self) -> Iterator[tuple[str, Any, Any]]:
        """The fields that differ: name, the value as it is, the value as it shall be; None where there is none."""
        before = {} if self.before is None else self.before.fields
        after = {} if self.after is None else self.after.fields
        for name, field in FIELDS[self.id.section].items():
            old, new = before.get(name, field.default), after.get(name, field.default)
            if old != new:
                yield name, old, new

    def lines(self) -> Iterator[str]:
        """The step as lines of a diff: the entry, then each field that differs."""
        yield f"{self.kind} {self.id}"
        for name, old, new in self.changed_fields():
            if self.before is not None and old is not None and old != ():
                yield f"    - {name} = {written_value(old)}"
            if new is not None and new != ():
                yield f"    + {name} = {written_value(new)}"


@dataclass(frozen=True, slots=True)
class ConfigurationPlan:
    """All steps, in the order in which they are carried out: what is named stands before what names it.

    Attributes:
        steps: The steps.
    """

    steps: tuple[Step, ...]

    @property
    def removed(self) -> tuple[EntryId, ...]:
        """The entries that would be gone."""
        return tuple(step.id for step in self.steps if step.kind is StepKind.REMOVED)

    def lines(self) -> Iterator[str]:
        """The plan as a diff, a line for each entry and each of its fields that differs."""
        for step in self.steps:
            yield from step.lines()

    def summary(self) -> str:
        """The plan in one sentence, such as `2 added, 1 changed`."""
        words = {StepKind.ADDED: "added", StepKind.CHANGED: "changed", StepKind.REMOVED: "removed"}
        counts = {kind: sum(step.kind is kind for step in self.steps) for kind in words}
        return ", ".join(f"{count} {words[kind]}" for kind, count in counts.items() if count) or "nothing to change"


def plan_of(now: HubDocument, wanted: HubDocument) -> ConfigurationPlan:
    """The steps from one document to another.

    Args:
        now: What is there.
        wanted: What shall be there. Of tables that it leaves out, everything stays.
    """
    steps = [
        step
        for section in Section
        if section in wanted.sections
        for step in _steps(now, wanted, section)
        if step.kind is not StepKind.REMOVED
    ]
    # Whoever names a team goes before the team does.
    removed = [
        step
        for section in reversed(Section)
        if section in wanted.sections
        for step in _steps(now, wanted, section)
        if step.kind is StepKind.REMOVED
    ]
    return ConfigurationPlan((*steps, *removed))


def _steps(now: HubDocument, wanted: HubDocument, section: Section) -> Iterator[Step]:
    before = {entry.id: entry for entry in now.of(section)}
    after = {entry.id: entry for entry in wanted.of(section)}
    for identity in sorted(before.keys() | after.keys()):
        old, new = before.get(identity), after.get(identity)
        if old is None:
            yield Step(StepKind.ADDED, identity, None, new)
        elif new is None:
            yield Step(StepKind.REMOVED, identity, old, None)
        elif old.fields != new.fields:
            yield Step(StepKind.CHANGED, identity, old, new)
