"""Reads the messages of a run: those of the agent are its answer, those of sub-agents are progress.

Between two messages of the agent stands a blank line where something of its own work stood between them, or nothing:
each is a whole text (docs/wires/ai-sdk.md#activity-of-agents).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from partstream.outputs import StreamOutput, Unmapped
from partstream.parts import text_part
from partstream.protocols.read_response import Wire, identifier, text

if TYPE_CHECKING:
    from partstream.protocols.ag_ui.carrying import Carrying
    from partstream.protocols.ag_ui.thinking import Thinking

__all__ = ["SUBAGENT", "Texts"]

SUBAGENT: Final = "subagentRunId"
_ASSISTANT: Final = "assistant"
_BREAK: Final = "\n\n"


class Texts:
    """The messages of one run.

    Args:
        thinking: Shows what sub-agents say.
        carrying: Is told before text goes out.

    Attributes:
        any_shown: Whether the agent has said anything.
    """

    __slots__ = ("_break", "_carrying", "_closed", "_last_character", "_last_id", "_others", "_said_by_sub_agent",
                 "_sub_agents", "_thinking", "any_shown")  # fmt: skip

    def __init__(self, thinking: Thinking, carrying: Carrying) -> None:
        self.any_shown = False
        self._thinking = thinking
        self._carrying = carrying
        self._last_id: str | None = None
        self._closed = False  # whether the last event ended a message
        self._break = False  # whether the next text is a paragraph of its own
        self._last_character = ""
        self._others: set[str] = set()  # messages of other roles
        self._sub_agents: dict[str, str] = {}  # sub-agents by their messages
        self._said_by_sub_agent: tuple[str, list[str]] = ("", [])

    def start(self, event: Wire, outputs: list[StreamOutput]) -> None:
        """Takes the beginning of a message."""
        message_id = identifier(event, "messageId") or ""
        if self._closed and message_id != self._last_id:
            self._break = True
        self._closed = False
        self._last_id = message_id
        role = identifier(event, "role") or _ASSISTANT
        if role != _ASSISTANT:
            self._others.add(message_id)
            outputs.append(Unmapped(f"{event['type']} (of the role {role[:40]})", event))
        elif sub_agent := identifier(event, SUBAGENT):
            self._sub_agents[message_id] = sub_agent

    def content(self, event: Wire, outputs: list[StreamOutput]) -> None:
        """Takes a piece of a message, also of one that nothing has opened."""
        message_id = identifier(event, "messageId")
        if message_id is None:
            message_id = self._last_id or ""
        self._last_id = message_id
        self._closed = False
        piece = text(event, "delta")
        if not piece or message_id in self._others:
            return
        if identifier(event, SUBAGENT) or message_id in self._sub_agents:
            self._say_of_sub_agent(message_id, piece, outputs)
        else:
            self.show(piece, outputs)

    def chunk(self, event: Wire, outputs: list[StreamOutput]) -> None:
        """Takes a piece that also opens its message, if it names another one than the last."""
        message_id = identifier(event, "messageId")
        if message_id is not None and message_id != self._last_id:
            self._closed = self._last_id is not None
            self.start(event, outputs)
        self.content(event, outputs)

    def end(self, event: Wire, _outputs: list[StreamOutput]) -> None:
        """Takes the end of a message."""
        self._closed = identifier(event, "messageId") not in self._others

    def part(self) -> None:
        """The agent has worked between two texts: they are paragraphs."""
        self._break = True

    def show(self, piece: str, outputs: list[StreamOutput]) -> None:
        """Emits a piece of the answer."""
        self._thinking.settle()
        self._carrying.hand_out(outputs)
        if self._break and self.any_shown and self._last_character != "\n":
            piece = _BREAK + piece.lstrip("\n")
        self._break = False
        self.any_shown = True
        self._last_character = piece[-1:] or self._last_character
        outputs.append(text_part(piece))

    def interrupt(self) -> None:
        """Tells that something else than a text came."""
        self._closed = False

    @property
    def of_sub_agent(self) -> str:
        """The last message of a sub-agent: the answer, if the agent itself says nothing."""
        return "".join(self._said_by_sub_agent[1])

    def _say_of_sub_agent(self, message_id: str, piece: str, outputs: list[StreamOutput]) -> None:
        if self._said_by_sub_agent[0] != message_id:
            self._said_by_sub_agent = message_id, []
        self._said_by_sub_agent[1].append(piece)
        self._thinking.show(piece, message_id, outputs)
