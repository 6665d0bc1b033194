"""What the chunks of an answer say about the answer as a whole (docs/wires/gemini.md#chunks)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from partstream.protocols.read_response import identifier

if TYPE_CHECKING:
    from partstream.protocols.read_response import Wire

__all__ = ["Envelope"]


class Envelope:
    """Who answers, and under which id. The first word counts.

    Attributes:
        response_id: The server's id of the response, or None.
        model: The server's name of the model that answers, which may differ from the requested one; or None.
        created_at: When the answer was made, as Vertex writes it; or None.
    """

    __slots__ = ("created_at", "model", "response_id")

    def __init__(self) -> None:
        self.response_id: str | None = None
        self.model: str | None = None
        self.created_at: str | None = None

    def read(self, chunk: Wire) -> None:
        """Takes what a chunk says."""
        self.response_id = self.response_id or identifier(chunk, "responseId")
        self.model = self.model or identifier(chunk, "modelVersion")
        self.created_at = self.created_at or identifier(chunk, "createTime")

    @property
    def metadata(self) -> Wire:
        """The server's other facts about the answer, by its names."""
        return {} if self.created_at is None else {"createTime": self.created_at}
