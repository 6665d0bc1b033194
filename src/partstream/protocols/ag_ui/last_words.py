"""What an agent says that has streamed no text: its result, its snapshot of the conversation, or its sub-agent's words.

An answer without text and calls counts as none (docs/wires/ai-sdk.md#activity-of-agents), and not every agent streams.
Where a run ends with a tool's result, that is the answer; pydantic-ai gives an object as a call of `final_result`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from partstream.codec.json_codec import dumps
from partstream.protocols.read_response import identifier, objects, text

if TYPE_CHECKING:
    from partstream.inner_activity import InnerCall
    from partstream.protocols.read_response import Wire

__all__ = ["LastWords"]

_OUTPUT_TOOL: Final = "final_result"
"""The beginning of the names of the tools by which a model of pydantic-ai gives an output that is an object."""


class LastWords:
    """What one run says beside its text.

    Attributes:
        result: The return value of the run, or None.
    """

    __slots__ = ("_of_tool", "_snapshot", "result")

    def __init__(self) -> None:
        self.result: Any = None
        self._of_tool: Any = None
        self._snapshot = ""

    def read_tool(self, call: InnerCall | None, content: Any) -> None:
        """Takes the result of a call that the agent has run: the answer, if nothing follows."""
        is_output = call is not None and call.name.startswith(_OUTPUT_TOOL)
        self._of_tool = call.arguments if call is not None and is_output else content

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
        if said := _words_of(self.result):
            return said
        return self._snapshot or of_sub_agent or _words_of(self._of_tool)


def _words_of(value: Any) -> str:
    """A text as it is, any other value as a block of JSON; empty for what says nothing."""
    if isinstance(value, str) or value in (None, {}, []):
        return value.strip() if isinstance(value, str) else ""
    try:
        return f"```json\n{dumps(value).decode()}\n```"
    except (TypeError, ValueError, RecursionError):
        return str(value)
