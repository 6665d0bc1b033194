"""Optional abilities of a provider beside VS Code's plain numbers: counts with their sources, a ledger for usage."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from partstream.lm.cancellation import Event
    from partstream.lm.messages import ChatMessage
    from partstream.lm.provider import LanguageModelChatInformation
    from partstream.tokens.families import TokenCount
    from partstream.tokens.ledger.ledger import Ledger

__all__ = ["CorrectsTokenCounts", "FactoredTokenCounts", "LedgerUser", "SourcedTokenCounts"]


@runtime_checkable
class SourcedTokenCounts(Protocol):
    """Counts tokens with their source, at once and without waiting."""

    def token_count(self, model: LanguageModelChatInformation, text: str | ChatMessage) -> TokenCount:
        """The tokens that `text` takes in a prompt for `model`."""
        ...


@runtime_checkable
class CorrectsTokenCounts(Protocol):
    """Learns how its models count.

    Attributes:
        on_did_correct_token_counts: Fires with a family when the counts of its texts have noticeably changed: kept
            counts are no longer right.
    """

    on_did_correct_token_counts: Event[str]


@runtime_checkable
class FactoredTokenCounts(Protocol):
    """Tells the factor that corrects its estimates."""

    def token_count_factor(self, model: LanguageModelChatInformation) -> float:
        """The factor that multiplies estimates for `model`; 1 before anything is learned."""
        ...


@runtime_checkable
class LedgerUser(Protocol):
    """A provider with answers that take several requests to a model, of which a host sees only the last.

    A host that has a ledger gives it to such a provider when it loads it. Agents are such providers; a host that loads
    one does not import them for that.
    """

    def use_ledger(self, ledger: Ledger, /) -> None:
        """Enters the usage of all later answers into the ledger; its owner closes it."""
        ...
