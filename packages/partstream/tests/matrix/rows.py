"""A row of the matrix, and how the events of each wire are framed."""

from __future__ import annotations
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Final

Event = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Expected:
    """The one right answer.

    Attributes:
        text, thinking: The fragments, joined.
        calls: Name and input of each tool call, in order; every call has an id of its own.
        media: The MIME type of each data part, in order.
        finish: The unified reason; None where the server gave none.
        outcome: How the response ended.
        error: Words that the message of the error holds; empty for no error.
        unmapped: The types of what is counted and named, sorted.
    """

    text: str = ""
    thinking: str = ""
    calls: tuple[tuple[str, Mapping[str, Any]], ...] = ()
    media: tuple[str, ...] = ()
    finish: str | None = "stop"
    outcome: str = "completed"
    error: str = ""
    unmapped: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Row:
    """One shape of a kind on one wire.

    Attributes:
        shape: The shape, in a few words that are the same on every wire.
        wire: The protocol.
        body: The events of a stream, in order; or the one document of an answer without streaming; or the very bytes.
        expected: The right answer.
        source: Where it was seen, such as a report; empty for a shape of our own.
    """

    shape: str
    wire: str
    body: Sequence[Event] | Event | bytes
    expected: Expected
    source: str = ""

    @property
    def form(self) -> str:
        """`document`, `stream` or `bytes`."""
        return "bytes" if isinstance(self.body, bytes) else "document" if isinstance(self.body, Mapping) else "stream"

    def data(self) -> bytes:
        """The body as the server sends it."""
        if isinstance(self.body, bytes):
            return self.body
        if isinstance(self.body, Mapping):
            return _json(self.body)
        return b"".join(_FRAMES.get(self.wire, _data_only)(event) for event in self.body) + _ENDS.get(self.wire, b"")


def _json(event: Event) -> bytes:
    return json.dumps(event, ensure_ascii=False, separators=(",", ":")).encode()


def _data_only(event: Event) -> bytes:
    return b"data: " + _json(event) + b"\n\n"


def _named(event: Event) -> bytes:
    kind = event.get("type")
    return (f"event: {kind}\n".encode() if isinstance(kind, str) else b"") + _data_only(event)


def _line(event: Event) -> bytes:
    return _json(event) + b"\n"


_FRAMES: Final = {"openresponses": _named, "anthropic-messages": _named, "ollama": _line, "ai-sdk": _line}
_ENDS: Final = dict.fromkeys(("chat-completions", "ai-sdk-ui"), b"data: [DONE]\n\n")


def kinds() -> dict[str, tuple[str, tuple[Row, ...]]]:
    """The kinds by the names of their modules, each with its sentence and its rows."""
    modules = sorted(path.stem for path in Path(__file__).parent.glob("rows_*.py"))
    loaded = {name.removeprefix("rows_"): import_module(f"matrix.{name}") for name in modules}
    return {name: (module.KIND, tuple(module.ROWS)) for name, module in loaded.items()}
