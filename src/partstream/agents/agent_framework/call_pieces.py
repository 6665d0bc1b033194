"""Calls that stream in pieces: which piece belongs to which call, and when a call is whole."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from partstream.protocols.read_response import read_arguments

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["CallPieces", "StreamedCall", "parsed"]


@dataclass(slots=True)
class StreamedCall:
    """A call as far as it has come.

    Attributes:
        call_id: Its id.
        name: The name of the tool; empty until it comes.
        pieces: The pieces of its arguments as text.
        given: The arguments as an object, where they came as one.
    """

    call_id: str
    name: str
    pieces: list[str] = field(default_factory=list)
    given: dict[str, Any] | None = None

    @property
    def arguments(self) -> object:
        """The arguments: an object, or the text as it came where that is none."""
        return self.given if self.given is not None else parsed("".join(self.pieces))


class CallPieces:
    """The calls of one inner response, in the model's order.

    A piece belongs to the call with its id, and a piece without an id to the call before it. A call that comes once
    more without arguments is the same call: at the end of a batch the framework repeats the calls that it leaves to
    its caller (docs/wires/agents.md#microsoft-agent-framework).
    """

    def __init__(self) -> None:
        self._calls: dict[str, StreamedCall] = {}
        self._last = ""

    def __iter__(self) -> Iterator[StreamedCall]:
        return iter(self._calls.values())

    def __len__(self) -> int:
        return len(self._calls)

    def add(self, content: Any) -> StreamedCall:
        """Takes the next piece; returns the call that it belongs to."""
        call_id = content.call_id or self._last
        call = self._calls.get(call_id)
        if call is None:
            call = self._calls[call_id] = StreamedCall(call_id, "")
        self._last = call_id
        call.name = call.name or content.name or ""
        arguments = content.arguments
        replaces = getattr(content, "merge_mode", None) == "replace"
        if isinstance(arguments, str):
            call.pieces = [arguments] if replaces else [*call.pieces, arguments]
        elif arguments is not None:
            call.given = dict(arguments) if replaces else {**(call.given or {}), **arguments}
        return call


def parsed(arguments: object) -> object:
    """Arguments as an object, or as they came where they are none."""
    if arguments is None:
        return {}
    read = read_arguments(arguments)
    return arguments if read is None else read
