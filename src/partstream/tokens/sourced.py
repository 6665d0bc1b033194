"""What a provider may offer beside the plain numbers of VS Code's contract: counts that say where they come from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from partstream.events import Event
    from partstream.messages import ChatMessage
    from partstream.provider import LanguageModelChatInformation
    from partstream.tokens.counting.count import TokenCount

__all__ = ["CorrectsTokenCounts", "FactoredTokenCounts", "SourcedTokenCounts"]


@runtime_checkable
class SourcedTokenCounts(Protocol):
    """Counts with their sources, at once and without waiting for anything."""

    def token_count(self, model: LanguageModelChatInformation, text: str | ChatMessage) -> TokenCount:
        """The tokens that `text` takes in a prompt of `model`."""
        ...


@runtime_checkable
class CorrectsTokenCounts(Protocol):
    """Learns how its models count.

    Attributes:
        on_did_correct_token_counts: Fires with a family whose texts count noticeably otherwise than before: counts
            that somebody keeps are not right any more.
    """

    on_did_correct_token_counts: Event[str]


@runtime_checkable
class FactoredTokenCounts(Protocol):
    """Says how far it corrects its estimates."""

    def token_count_factor(self, model: LanguageModelChatInformation) -> float:
        """What estimates for `model` are multiplied with; 1 while nothing is known."""
        ...
