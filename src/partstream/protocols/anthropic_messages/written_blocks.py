"""The blocks of an answer that is written, one after the other: the events that open, fill and close each.

Source: `anthropic` 2.12.0, `types/raw_content_block_*_event.py`. A block is closed before the next one opens, and its
index is its place in the content (docs/wires/anthropic-messages.md#order-of-blocks).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from partstream.codec.json_codec import dumps
from partstream.outputs import Repeated
from partstream.protocols.anthropic_messages.provider_state import UNSIGNED

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from partstream.parts import ToolCallPart

__all__ = ["WrittenBlocks"]

_TEXT: Final = "text"
_THINKING: Final = "thinking"


class WrittenBlocks:
    """The blocks of one answer.

    Args:
        size: How many characters of the arguments of a call an event holds at the most; None for all.
        shows_thinking: Whether the text of thinking is shown: `display` of the request.
    """

    __slots__ = ("_events", "_index", "_open", "_pieces", "_shows_thinking", "_size", "_thought_id")

    def __init__(self, size: int | None, *, shows_thinking: bool) -> None:
        self._size = size
        self._shows_thinking = shows_thinking
        self._events: list[dict[str, Any]] = []
        self._index = -1
        self._open: str | None = None
        self._pieces: list[str] = []
        self._thought_id: str | None = None

    @property
    def thought(self) -> str | None:
        """The text of the open thinking, or None where none is open."""
        return "".join(self._pieces) if self._open == _THINKING else None

    def take(self) -> list[dict[str, Any]]:
        """Hands out the events that wait."""
        events, self._events = self._events, []
        return events

    def say(self, text: str) -> None:
        """Adds to the open text, or opens one."""
        self._open_text()
        self._delta("text_delta", text=text)

    def cite(self, citation: Mapping[str, Any]) -> None:
        """Adds a source of the open text, or opens one."""
        self._open_text()
        self._delta("citations_delta", citation=citation)

    def think(self, text: str, thought_id: str | None) -> None:
        """Adds to the open thinking, or opens one; a thought with another id is a block of its own."""
        if self._open != _THINKING or self._thought_id != thought_id:
            self._start({"type": _THINKING, "thinking": "", "signature": ""})
            self._open, self._pieces, self._thought_id = _THINKING, [], thought_id
        self._pieces.append(text)
        if self._shows_thinking:
            self._delta("thinking_delta", thinking=text)

    def repeated(self) -> Repeated | None:
        """The texts or the thoughts that go on with the open block; None for thinking that is not shown."""
        if self._open == _TEXT:
            return Repeated(lambda text, _number: self._delta_event("text_delta", text=text))
        if self._open == _THINKING and self._shows_thinking:
            return Repeated(lambda text, _number: self._delta_event("thinking_delta", thinking=text), self._keep)
        return None

    def _keep(self, text: str) -> int:
        """Keeps a piece of the thinking; events have no number."""
        self._pieces.append(text)
        return 0

    def sign(self, signature: str) -> None:
        """Signs the open thinking, which ends with it."""
        self._delta("signature_delta", signature=signature)
        self._open = None
        self._stop()

    def call(self, part: ToolCallPart, fields: Mapping[str, Any]) -> None:
        """Adds a call.

        Args:
            part: The call.
            fields: Further fields of its block.
        """
        self._start({"type": "tool_use", "id": part.call_id, "name": part.name, "input": {}, **fields})
        self._input(part.input)
        self._stop()

    def whole(self, block: Mapping[str, Any]) -> None:
        """Adds a block as it came from a server; what is streamed in blocks of its type is streamed again."""
        given = block.get("input")
        if isinstance(given, dict):
            self._start({**block, "input": {}})
            self._input(given)
        elif block["type"] == _THINKING:
            self._start({**block, "thinking": "", "signature": ""})
            if self._shows_thinking and block.get("thinking"):
                self._delta("thinking_delta", thinking=block["thinking"])
            self._delta("signature_delta", signature=block.get("signature") or UNSIGNED)
        elif block["type"] == _COMPACTION:
            said = {name: value for name, value in block.items() if name != "type"}
            self._start({"type": _COMPACTION, "content": None})
            self._delta("compaction_delta", **said)
        else:
            self._start(block)
        self._stop()

    def close(self) -> None:
        """Ends the open block. Thinking that nobody has signed gets a signature that says so."""
        if self._open == _THINKING:
            self.sign(UNSIGNED)
        elif self._open is not None:
            self._open = None
            self._stop()

    def _open_text(self) -> None:
        if self._open != _TEXT:
            self._start({"type": _TEXT, "text": ""})
            self._open = _TEXT

    def _input(self, given: Mapping[str, Any]) -> None:
        """The arguments in pieces; none are an empty text (docs/wires/anthropic-messages.md#arguments-of-calls)."""
        self._delta("input_json_delta", partial_json="")
        for piece in self._cut(dumps(dict(given)).decode() if given else ""):
            self._delta("input_json_delta", partial_json=piece)

    def _cut(self, text: str) -> Iterator[str]:
        size = self._size or len(text) or 1
        return (text[start : start + size] for start in range(0, len(text), size))

    def _start(self, block: Mapping[str, Any]) -> None:
        self.close()
        self._index += 1
        self._events.append({"type": "content_block_start", "index": self._index, "content_block": dict(block)})

    def _delta(self, kind: str, **fields: Any) -> None:
        self._events.append(self._delta_event(kind, **fields))

    def _delta_event(self, kind: str, **fields: Any) -> dict[str, Any]:
        return {"type": "content_block_delta", "index": self._index, "delta": {"type": kind, **fields}}

    def _stop(self) -> None:
        self._events.append({"type": "content_block_stop", "index": self._index})


_COMPACTION: Final = "compaction"
