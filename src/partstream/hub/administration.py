"""Changes a hub for whoever administers it: a plan first, then one transaction; keys and codes that are shown once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from partstream.hub.authentication import new_code, new_key
from partstream.hub.configuration import (
    HubDocument,
    Section,
    budget_changes,
    budget_rules,
    changes_of,
    document_of,
    plan_of,
)
from partstream.hub.directory import UNLIMITED, Directory, Key, Owner, OwnerKind, Put, RateLimits, RevokeKey
from partstream.hub.store.values import JoinCode

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from partstream.hub.configuration import ConfigurationPlan, Entry, EntryId
    from partstream.hub.directory import DirectoryChange
    from partstream.hub.store.store import HubStore
    from partstream.upstreams.secret import Secret

__all__ = ["Administration", "PreparedPlan"]


@dataclass(frozen=True, slots=True)
class PreparedPlan:
    """A plan, and what it was made for.

    Attributes:
        plan: The plan.
        directory: What there was.
    """

    plan: ConfigurationPlan
    directory: Directory

    @property
    def lost_keys(self) -> dict[str, int]:
        """How many keys that work go with the people that the plan removes, by their names."""
        people = {one.name: 0 for one in self.plan.removed if one.section is Section.PEOPLE}
        for key in self.directory.keys.values():
            if key.person in people and key.revoked_at is None:
                people[key.person] += 1
        return people


@dataclass(frozen=True, slots=True)
class Administration:
    """A hub in the hands of somebody who may change it. Every method may raise the errors of its store.

    Attributes:
        store: The database.
        by: Who changes it, for the record of changes.
    """

    store: HubStore
    by: str

    def directory(self) -> Directory:
        """All that there is."""
        return self.store.directory() or Directory()

    def prepared(self, wanted: HubDocument) -> PreparedPlan:
        """What has to change for the hub to be what a document says; changes nothing."""
        directory = self.directory()
        return PreparedPlan(plan_of(document_of(directory), wanted), directory)

    def prepared_entry(self, entry: Entry) -> PreparedPlan:
        """What has to change for one entry to be there as it is given."""
        return self._with_entry(entry.id, entry)

    def prepared_removal(self, identity: EntryId) -> PreparedPlan:
        """What has to change for one entry to be gone."""
        return self._with_entry(identity, None)

    def carry_out(self, prepared: PreparedPlan) -> int:
        """Carries out a plan in one transaction.

        Returns:
            The version of the directory afterwards.

        Raises:
            DirectoryChangedError: Somebody else has changed the hub since the plan was made.
            DirectoryConflictError: The plan does not fit what is there.
        """
        changes = [*changes_of(prepared.plan, prepared.directory)]
        return self._change(changes, prepared.directory) if changes else prepared.directory.version

    def add_key(
        self,
        person: str,
        *,
        label: str = "",
        expires_at: float | None = None,
        models: tuple[str, ...] | None = None,
        rates: RateLimits = UNLIMITED,
        budgets: Iterable[str] = (),
        time_zone: str = "UTC",
    ) -> tuple[Key, Secret]:
        """Makes a key for a person.

        Args:
            person: Whose it is.
            label: What the person calls it.
            expires_at: From when on it is not accepted, in seconds since 1970; None for never.
            models: The models that it may use, of those that its person may use; None for all of these.
            rates: How fast it may ask.
            budgets: Its own budgets, in their one form.
            time_zone: In whose calendar their windows begin.

        Returns:
            The key as it is kept, and the key itself, which nobody can be shown again.
        """
        made = new_key()
        key = Key(made.id, made.digest, person, label, models, rates, expires_at=expires_at)
        rules = budget_rules(Owner(OwnerKind.KEY, made.id), budgets, time_zone)
        self.store.change([Put(key), *map(Put, rules)], self.by)
        return key, made.secret

    def change_key(self, key: Key, budgets: Iterable[str], time_zone: str = "UTC") -> None:
        """Puts a key in the place of the one with its id.

        Args:
            key: The key as it shall be.
            budgets: Its budgets in their one form.
            time_zone: In whose calendar their windows begin.
        """
        directory = self.directory()
        changes: list[DirectoryChange] = [] if directory.keys.get(key.id) == key else [Put(key)]
        owner = Owner(OwnerKind.KEY, key.id)
        changes += budget_changes(owner, budget_rules(owner, budgets, time_zone), directory)
        if changes:
            self._change(changes, directory)

    def revoke(self, key_ids: Sequence[str]) -> None:
        """Revokes keys for ever."""
        self.store.change([RevokeKey(one) for one in key_ids], self.by)

    def invite(
        self,
        person: str,
        *,
        expires_at: float,
        label: str = "",
        key_expires_at: float | None = None,
        key_models: tuple[str, ...] | None = None,
    ) -> Secret:
        """Makes a code with which a person gets a key, once.

        Args:
            person: Who joins with it.
            expires_at: From when on it is worth nothing.
            label: What the key will be called.
            key_expires_at: From when on the key is not accepted; None for never.
            key_models: The models that the key may use; None for all that the person may use.
        """
        made = new_code()
        self.store.add_join_code(JoinCode(made.digest, person, expires_at, label, key_expires_at, key_models))
        return made.secret

    def _with_entry(self, identity: EntryId, entry: Entry | None) -> PreparedPlan:
        directory = self.directory()
        now = document_of(directory)
        entries = {one: value for one, value in now.entries.items() if one != identity}
        wanted = replace(now, entries=entries if entry is None else {**entries, identity: entry})
        return PreparedPlan(plan_of(now, wanted), directory)

    def _change(self, changes: Sequence[DirectoryChange], directory: Directory) -> int:
        return self.store.change(changes, self.by, directory.version).version
