"""Changes a hub for an administrator, and finds what should be looked at.

Entries change by a plan, which is made first and carried out in one transaction; keys and codes are shown once.
`partstream hub check` asks for the findings: people who cannot ask, keys that end soon, budgets that do not add up.
"""

from __future__ import annotations
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from math import ceil
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from partstream.codec.checks import dataclass, replace
from partstream.tokens.amounts import BudgetUnit, amount_text
from partstream.upstream.endpoint import Secret
from partstream_hub import configuration
from partstream_hub.directory import RATE_NAMES, Directory, DirectoryChange, Key, Owner, OwnerKind, Put, RateLimits
from partstream_hub.hub import is_valid, new_code, new_key
from partstream_hub.store.rows import SQL
from partstream_hub.store.values import JoinCode

if TYPE_CHECKING:
    from partstream_hub.store.store import HubStore


# ---- Changes ----

_NO_FIELDS: Final[configuration.Fields] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Administration:
    """A hub for an administrator. Every method may raise the errors of its store."""

    store: HubStore
    by: str  # who changes it, for the record of changes

    def directory(self) -> Directory:
        """All that there is."""
        return self.store.directory() or Directory()

    def prepared(self, wanted: configuration.HubDocument) -> configuration.Plan:
        """What has to change for the hub to be what a document says; changes nothing."""
        return configuration.plan_of(self.directory(), wanted)

    def prepared_entry(self, one: configuration.EntryId, entry: configuration.Fields | None) -> configuration.Plan:
        """What has to change for one entry to be there as it is given, or to be gone for None."""
        wanted = configuration.HubDocument({} if entry is None else {one: entry}, frozenset({one.section}))
        plan = self.prepared(wanted)
        return replace(plan, steps=tuple(step for step in plan.steps if step.id == one))

    def carry_out(self, plan: configuration.Plan) -> int:
        """Carries out a plan in one transaction, unless another has changed the hub since it was made; the version of
        the directory afterwards."""
        changes, version = [*configuration.changes_of(plan)], plan.directory.version
        return self.store.change(changes, self.by, version) if changes else version

    def add_key(
        self, person: str, label: str = "", expires_at: float | None = None, fields: configuration.Fields = _NO_FIELDS
    ) -> tuple[Key, Secret]:
        """Makes a key for a person, with limits of its own as of :meth:`put_key`: the key as it is kept, and the key
        itself, which cannot be shown again."""
        made = new_key()
        return self.put_key(Key(made.id, made.digest, person, label, expires_at=expires_at), fields), made.secret

    def put_key(self, key: Key, fields: configuration.Fields) -> Key:
        """Adds a key, or replaces the one with its id. It may have limits of its own, which are fields of a person in
        their one form: budgets and their time zone, models and rates; those that are left out are no limits."""
        directory, owner = self.directory(), Owner(OwnerKind.KEY, key.id)
        before = directory.keys.get(key.id)
        rates = RateLimits(**{name: fields.get(name) for name in RATE_NAMES})
        key = replace(key, models=fields.get("models"), rates=rates)
        rules = configuration.budget_rules(owner, fields)
        changes: list[DirectoryChange] = [] if before == key else [Put(key)]
        if changes := [*changes, *configuration.budget_changes(owner, rules, directory)]:
            self.store.change(changes, self.by, None if before is None else directory.version)
        return key

    def revoke(self, key_ids: Sequence[str]) -> None:
        """Revokes keys for ever, from now on."""
        keys, now = self.directory().keys, self.store.time()
        self.store.change(
            [Put(replace(keys[one], revoked_at=now)) for one in key_ids if keys[one].revoked_at is None], self.by
        )

    def invite(self, person: str, expires_at: float, label: str = "", **of_key: Any) -> Secret:
        """Makes a code with which a person gets a key, once; see :class:`partstream_hub.store.values.JoinCode`."""
        made = new_code()
        self.store.add_join_code(JoinCode(made.digest, person, expires_at, label, **of_key))
        return made.secret


# ---- Findings ----

_SOON_SECONDS: Final = 7 * 86_400.0
_SILENT_SECONDS: Final = 60.0  # by the clock of the database: workers show every second that they are alive


@dataclass(frozen=True, slots=True)
class Finding:
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
    for person in sorted(people, key=lambda one: one.name):
        if not person.is_disabled and not any(key.person == person.name for key in valid):
            advice = f"`partstream hub key add {person.name}` makes one"
            yield Finding("people", f"{person.name} has no key that works", advice)
    if people and not any(person.is_admin for person in people):
        advice = f"`partstream hub set person {min(directory.people)} --admin` makes one"
        yield Finding("people", "there is no admin", advice)
    for key in valid:
        if key.expires_at is not None and key.expires_at - time < _SOON_SECONDS:
            days = ceil((key.expires_at - time) / 86_400)
            when = "a day" if days == 1 else f"{days} days"
            yield Finding("keys", f"the key {key.id} of {key.person} expires in less than {when}")
    yield from _unpriced(directory)
    for name, seen_at in store.read("SELECT name, seen_at FROM hub_workers ORDER BY name"):
        if time - seen_at > _SILENT_SECONDS:
            said = f"{name} has not been heard of for {(time - seen_at) / 60:.0f} minutes"
            yield Finding("workers", said, "start a server again: what its answers had reserved is charged then")


def _unpriced(directory: Directory) -> Iterator[Finding]:
    """Models without a price of the hub that a person with a budget of money may use. The provider may list a price,
    which only a worker knows; a model that is routed is asked for here."""
    of_money = {rule.owner for rule in directory.rules() if rule.unit is BudgetUnit.MONEY}
    limited = [
        person.models
        for person in directory.people.values()
        if not of_money.isdisjoint([(OwnerKind.PERSON, person.name), (OwnerKind.TEAM, person.team)])
    ]
    for name, route in sorted(directory.routes.items()):
        count = sum(models is None or any(fnmatchcase(name, one) for one in models) for models in limited)
        if count and route.upstreams and route.price is None:
            said = (
                f"{name} has no price here and {count} with a budget of money may ask it: unless its upstream lists one"
            )
            advice = f"`partstream hub set model {name} --price IN/OUT` sets one"
            yield Finding("models", f"{said} one, they are refused", advice)
