"""A provider that enters what its answers took into the ledger itself, because only it knows all of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from partstream.tokens.ledger.ledger import Ledger

__all__ = ["LedgerUser"]


@runtime_checkable
class LedgerUser(Protocol):
    """A provider with answers that take several requests to a model, of which a host sees only the last.

    A host that has a ledger gives it to such a provider when it loads it.
    """

    def use_ledger(self, ledger: Ledger, /) -> None:
        """Enters the usage of all later answers into the ledger; its owner closes it."""
        ...
