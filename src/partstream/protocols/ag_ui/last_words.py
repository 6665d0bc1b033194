"""What an agent says that has streamed no text: its result, its snapshot of the conversation, or its sub-agent's words.

An answer without text and calls is none (agents facts 3), and not every agent streams.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from partstream.json_codec import dumps
from partstream.protocols.fields import identifier, objects, text

if TYPE_CHECKING:
    from partstream.protocols.fields import Wire

__all__ = ["LastWords"]


class LastWords:
    """What one run says beside its text.

    Attributes:
        result: The return value of the run, or None.
    """

    __slots__ = ("_snapshot", "result")

    def __init__(self) -> None:
        self.result: Any = None
        self._snapshot = ""

    def read_snapshot(self, event: Wire) -> None:
        """Takes the whole conversation as the agent sees it: what it has said last is its answer."""
        said: list[str] = []
        for message in objects(event, "messages"):
            role = identifier(message, "role")
            if role in {"user", "tool"}:
                said = []
            elif role == "assistant" and (words := text(message, "content")):
                said.append(words)
        self._snapshot = "\n\n".join(said)

    def words(self, of_sub_agent: str) -> str:
        """The text to show of an answer that has none; empty where there is nothing."""
        if isinstance(self.result, str) and self.result.strip():
            return self.result
        if self._snapshot or of_sub_agent:
            return self._snapshot or of_sub_agent
        return _as_code(self.result) if self.result not in (None, "", {}, []) else ""


def _as_code(value: Any) -> str:
    try:
        return f"```json\n{dumps(value).decode()}\n```"
    except (TypeError, ValueError, RecursionError):
        return str(value)
