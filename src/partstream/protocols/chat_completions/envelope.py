"""What the chunks of an answer say about the answer as a whole: docs/wires/chat-completions.md#envelope."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from partstream.protocols.read_response import Wire, identifier

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Envelope"]

_METADATA: Final = "chatCompletions"


class Envelope:
    """Who answers, and under which id. The first word counts: some servers leave the first chunk blank, others give
    each chunk an id of its own.

    Attributes:
        response_id: The server's id of the response, or None.
        model: The server's name of the model that answers, or None.
        provider: The provider that a router chose, or None.
    """

    __slots__ = ("model", "provider", "response_id")

    def __init__(self) -> None:
        self.response_id: str | None = None
        self.model: str | None = None
        self.provider: str | None = None

    @property
    def is_known(self) -> bool:
        """Whether id and model have come."""
        return self.response_id is not None and self.model is not None

    def read(self, chunk: Wire) -> None:
        """Takes what a chunk says."""
        self.response_id = self.response_id or identifier(chunk, "id")
        self.model = self.model or identifier(chunk, "model")
        self.provider = self.provider or identifier(chunk, "provider")

    def metadata(self, native_finish_reason: str | None, cost: float | None) -> Mapping[str, Any]:
        """The server's other facts about the answer: which provider a router chose, that provider's own word for why
        the model stopped, and the cost in US dollars."""
        facts = {"provider": self.provider, "nativeFinishReason": native_finish_reason, "cost": cost}
        known = {name: fact for name, fact in facts.items() if fact is not None}
        return {_METADATA: known} if known else {}
