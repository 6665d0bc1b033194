"""What a message of a model shows: text, thinking, files, tools that its server runs. Needs no framework.

Reads `content_blocks`, the standard form of LangChain core 1.x, in which the packages for models say the same alike.
"""

from __future__ import annotations

from base64 import b64decode
from binascii import Error as Base64Error
from typing import TYPE_CHECKING, Any, Final

from partstream.agents.adapter import AgentFile
from partstream.inner_activity import InnerCall, InnerResult
from partstream.outputs import CitationMode, Unmapped
from partstream.parts import TextPart, ThinkingPart
from partstream.protocols.citations import Citation, Citations, RecentText, markdown_link

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from partstream.agents.adapter import AgentOutput

__all__ = ["MessageContent"]

_Outputs = list[Any]

_READ_ELSEWHERE: Final = frozenset({"tool_call", "tool_call_chunk", "invalid_tool_call"})
"""Blocks that repeat what the fields of the message say."""
_DEFAULT_MEDIA_TYPE: Final = {
    "image": "image/png",
    "audio": "audio/wav",
    "video": "video/mp4",
    "file": "application/octet-stream",
}


class MessageContent:
    """Reads the contents of one run's messages, whole or in chunks."""

    def __init__(self) -> None:
        self._citations = Citations(CitationMode.INLINE)
        self._said = RecentText()
        self._server_calls = _ServerCalls()

    def read(self, message: Any, step: int) -> list[AgentOutput]:
        """The outputs of a message or a chunk.

        Args:
            message: The message.
            step: The number of the inner request.
        """
        content = message.content
        if content.__class__ is str and not message.additional_kwargs:
            return self._text({"text": content}, message, step) if content else []
        outputs: _Outputs = []
        for block in message.content_blocks:
            kind = block.get("type")
            if kind in _READ_ELSEWHERE:
                continue
            handler = _HANDLERS.get(kind, MessageContent._unknown)
            outputs += handler(self, block, message, step)
        return outputs

    def end_step(self, step: int) -> list[AgentOutput]:
        """What only the end of a message tells: calls of the server's own tools that nothing has answered."""
        return list(self._server_calls.close_all(step))

    def _text(self, block: Mapping[str, Any], _message: Any, _step: int) -> _Outputs:
        text = block.get("text") or ""
        outputs: _Outputs = [TextPart(text)] if text else []
        self._said.add(text)
        for annotation in block.get("annotations") or ():
            outputs += self._annotation(annotation)
        return outputs

    def _annotation(self, annotation: Mapping[str, Any]) -> _Outputs:
        name = f"annotation.{annotation.get('type')}"
        if annotation.get("type") != "citation":
            return [Unmapped(name, dict(annotation))]
        url, title = annotation.get("url"), annotation.get("title")
        citation = Citation(url=url, title=title, name=name, data=dict(annotation))
        return list(self._citations.render(citation, self._said, (url, title)))

    def _refusal(self, block: Mapping[str, Any], _message: Any, _step: int) -> _Outputs:
        text = block.get("refusal") or block.get("text") or ""
        return [TextPart(text)] if text else []

    def _reasoning(self, block: Mapping[str, Any], message: Any, _step: int) -> _Outputs:
        text = block.get("reasoning") or ""
        return [ThinkingPart(text, block.get("id") or message.id)] if text else []

    def _unknown(self, block: Mapping[str, Any], _message: Any, _step: int) -> _Outputs:
        return [Unmapped(f"content.{block.get('type')}", dict(block))]

    def _file(self, block: Mapping[str, Any], _message: Any, _step: int) -> _Outputs:
        kind = block["type"]
        if data := _bytes_of(block):
            return [AgentFile(data, block.get("mime_type") or _DEFAULT_MEDIA_TYPE[kind], block.get("name"))]
        link = markdown_link(str(block.get("url") or ""), block.get("name") or kind)
        if link is None:
            return [Unmapped(f"content.{kind}", dict(block))]
        return [TextPart(f"\n\n{'!' if kind == 'image' else ''}{link}\n\n")]

    def _server_call(self, block: Mapping[str, Any], _message: Any, step: int) -> _Outputs:
        call_id = str(block.get("id") or "")
        return [InnerCall(call_id, str(block.get("name") or "tool"), block.get("args") or {}, step)]

    def _server_call_chunk(self, block: Mapping[str, Any], _message: Any, _step: int) -> _Outputs:
        self._server_calls.add(block)
        return []

    def _server_result(self, block: Mapping[str, Any], _message: Any, step: int) -> _Outputs:
        call_id = str(block.get("tool_call_id") or "")
        calls = self._server_calls.close_all(step)
        name = next((call.name for call in calls if call.call_id == call_id), "tool")
        return [*calls, InnerResult(call_id, name, block.get("output"), block.get("status") == "error", step)]


_HANDLERS: Final[Mapping[Any, Callable[[MessageContent, Mapping[str, Any], Any, int], _Outputs]]] = {
    "text": MessageContent._text,  # noqa: SLF001 - the table of handlers stands beside the class
    "refusal": MessageContent._refusal,  # noqa: SLF001
    "reasoning": MessageContent._reasoning,  # noqa: SLF001
    "image": MessageContent._file,  # noqa: SLF001
    "audio": MessageContent._file,  # noqa: SLF001
    "video": MessageContent._file,  # noqa: SLF001
    "file": MessageContent._file,  # noqa: SLF001
    "server_tool_call": MessageContent._server_call,  # noqa: SLF001
    "server_tool_call_chunk": MessageContent._server_call_chunk,  # noqa: SLF001
    "server_tool_result": MessageContent._server_result,  # noqa: SLF001
}
"""What becomes of a block, by its type."""


class _ServerCalls:
    """Calls of the server's own tools that come in pieces: only the first has name and id."""

    def __init__(self) -> None:
        self._pieces: dict[Any, list[Mapping[str, Any]]] = {}

    def add(self, block: Mapping[str, Any]) -> None:
        self._pieces.setdefault(block.get("index"), []).append(block)

    def close_all(self, step: int) -> list[InnerCall]:
        calls = [
            InnerCall(_first(pieces, "id") or "", _first(pieces, "name") or "tool", _arguments(pieces), step)
            for pieces in self._pieces.values()
        ]
        self._pieces.clear()
        return calls


def _bytes_of(block: Mapping[str, Any]) -> bytes:
    """The bytes that a block holds itself; none where they are somewhere else, or cannot be read."""
    try:
        return b64decode(block.get("base64") or "", validate=True)
    except (Base64Error, TypeError, ValueError):
        return b""


def _first(pieces: list[Mapping[str, Any]], field: str) -> str | None:
    return next((str(piece[field]) for piece in pieces if piece.get(field)), None)


def _arguments(pieces: list[Mapping[str, Any]]) -> str:
    return "".join(str(piece.get("args") or "") for piece in pieces)
