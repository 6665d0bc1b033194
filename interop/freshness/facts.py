"""A protocol's facts about its wire beside those of a package, and what differs; without I/O."""

from __future__ import annotations
from dataclasses import dataclass, field
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

__all__ = ["Difference", "Fact", "Kind", "Members", "Wire", "changes", "differences"]

Members: TypeAlias = "Mapping[str, Mapping[str, list[str]]]"
"""The members of a type by their label, each with its fields and the words that a field may be.

The fields of one object are members themselves; the words of an enumeration are members without fields.
"""


@dataclass(frozen=True, slots=True)
class Fact:
    """One thing that a protocol knows of its wire, and the type that says it.

    Attributes:
        title: What is known, such as `the events of a stream`.
        of: The type: `module:Name`, or `module:Name.field` for the type of a field. In a package of npm `$` stands for
            the package, as in `package:$.Name<$.Other>`.
        by: The field whose word tells the members of a union apart; empty for the fields of one object, and for words.
        ours: What our tables have a row for; None if no table names it, and only changes are of interest.
        unmapped: What is known and has no row, each with the reason; a name may be a pattern, such as `*_call`.
        foreign: What our tables have and the package does not name, each with who sends it; patterns too.
    """

    title: str
    of: str
    by: str = ""
    ours: Collection[str] | None = None
    unmapped: Mapping[str, str] = field(default_factory=dict)
    foreign: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Wire:
    """A protocol, and the package that says what its wire is.

    Attributes:
        name: What it is called; `--only` takes it.
        package: The package.
        registry: A key of the table of registries.
        facts: What is compared.
        beside: Other packages of the registry that are needed beside it.
    """

    name: str
    package: str
    registry: str
    facts: tuple[Fact, ...]
    beside: tuple[str, ...] = ()


class Kind(StrEnum):
    """How something differs."""

    NEW = "new"
    """The package names it, and nothing here does."""
    GONE = "gone"
    """A table or a reason here names it, and the package does not."""
    CHANGED = "changed"
    """It has other fields or other words than when it was looked at last."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A difference that a person has to look at.

    Attributes:
        kind: How it differs.
        title: The title of its fact.
        name: The member.
        says: What differs, in words.
    """

    kind: Kind
    title: str
    name: str
    says: str

    @property
    def is_accepted_by_looking(self) -> bool:
        """Whether it is over once the fields of today are kept; what is new or gone needs a row or a reason."""
        return self.kind is Kind.CHANGED


def differences(fact: Fact, members: Members) -> Iterator[Difference]:
    """Compares the names of a fact.

    Args:
        fact: What is known.
        members: What the package says.
    """
    if fact.ours is None:
        return
    known, theirs = {*fact.ours}, {*members}
    for name in sorted(theirs - known):
        if not _is_named(name, fact.unmapped):
            yield Difference(Kind.NEW, fact.title, name, "no table has a row for it, and no reason is given")
    for name in sorted(known - theirs):
        if not _is_named(name, fact.foreign):
            yield Difference(Kind.GONE, fact.title, name, "a table has a row for it, and the package does not name it")
    for pattern in sorted(fact.unmapped):
        if not any(fnmatchcase(name, pattern) for name in theirs - known):
            yield Difference(Kind.GONE, fact.title, pattern, "a reason is given for it, and it needs none")
    for pattern in sorted(fact.foreign):
        if not any(fnmatchcase(name, pattern) for name in known - theirs):
            yield Difference(Kind.GONE, fact.title, pattern, "it is said to be of others, and is not")


def changes(title: str, seen: Members, members: Members) -> Iterator[Difference]:
    """Compares the fields of all members, and their words, with those that were looked at last.

    Args:
        title: The title of the fact.
        seen: What the package said then.
        members: What it says now.
    """
    for name in sorted({*seen, *members}):
        if name not in members or name not in seen:
            yield Difference(Kind.CHANGED, title, name, "it is new" if name in members else "it is gone")
            continue
        said = "; ".join(_changed_fields(seen[name], members[name]))
        if said:
            yield Difference(Kind.CHANGED, title, name, said)


def _changed_fields(was: Mapping[str, list[str]], now: Mapping[str, list[str]]) -> Iterator[str]:
    for name in sorted({*was, *now}):
        shown = f"the field {name}" if name else "its word"
        if name not in was or name not in now:
            yield f"{shown} is {'new' if name in now else 'gone'}"
        elif {*was[name]} != {*now[name]}:
            pairs = (("may also be", {*now[name]} - {*was[name]}), ("is no longer", {*was[name]} - {*now[name]}))
            yield ", ".join(f"{shown} {how} {' or '.join(sorted(words))}" for how, words in pairs if words)


def _is_named(name: str, patterns: Mapping[str, str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)
