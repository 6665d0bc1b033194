"""What happens at the providers without having been asked for, and who is told of it; knows no connection."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from partstream.hosts.vscode import wire

__all__ = ["HostListener"]


class HostListener(Protocol):
    """Told from any thread; a group is named by its id, None stands for the user's own providers."""

    def models_did_change(self, group: str | None) -> None:
        """The list of models may have changed."""
        ...

    def token_counts_did_change(self, group: str | None, models: Sequence[str]) -> None:
        """These models count texts otherwise than before."""
        ...

    def did_answer(self, params: wire.DidAnswerParams) -> None:
        """An answer ended."""
        ...
