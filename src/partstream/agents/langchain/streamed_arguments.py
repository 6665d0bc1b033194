"""The arguments of calls as the model streamed them, to see which are whole. Needs no framework.

LangChain completes JSON that breaks off (core 1.x, `parse_partial_json`): a call whose answer was cut at its limit of
tokens looks whole in `tool_calls`, with half a path or half a file in its arguments.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from partstream.codec.json_codec import JSONDecodeError, loads
from partstream.errors import ToolArgumentsError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from partstream.parts import ToolCallPart

__all__ = ["StreamedArguments"]


class StreamedArguments:
    """Collects the arguments of the calls of one run."""

    def __init__(self) -> None:
        self._texts: dict[str, list[str]] = {}
        self._open: dict[tuple[str, Any], str] = {}

    def add(self, message_id: str, pieces: Iterable[Any]) -> None:
        """Takes the `tool_call_chunks` of a chunk: only the first piece of a call has its id.

        Args:
            message_id: The id of the message.
            pieces: The pieces.
        """
        for piece in pieces:
            place = (message_id, piece.get("index"))
            if call_id := piece.get("id"):
                self._open[place] = call_id
            self._texts.setdefault(self._open.get(place, ""), []).append(piece.get("args") or "")

    def check(self, calls: Iterable[ToolCallPart]) -> None:
        """Refuses calls whose arguments came as a text that is no JSON object.

        Raises:
            ToolArgumentsError: The arguments of a call are not whole.
        """
        for call in calls:
            text = "".join(self._texts.get(call.call_id, ()))
            if text and not _is_object(text):
                raise ToolArgumentsError(call_id=call.call_id, name=call.name, arguments=text)


def _is_object(text: str) -> bool:
    try:
        return isinstance(loads(text), dict)
    except JSONDecodeError:
        return False
