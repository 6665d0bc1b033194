"""Handles the events of function calls: collects arguments, and hands each call out once."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from partstream.outputs import StreamOutput, Unmapped
from partstream.parts import tool_call_part
from partstream.protocols.openresponses.fields import Wire, identifier, index, text
from partstream.protocols.openresponses.tool_calls import ARGUMENTS_DONE, ITEM_DONE, RESPONSE_DONE, ToolCalls

if TYPE_CHECKING:
    from collections.abc import Callable

    from partstream.outputs import FastPath
    from partstream.protocols.openresponses.items import Close
    from partstream.protocols.openresponses.tool_calls import EmissionPoint, ToolCall

__all__ = ["CallEvents"]


class CallEvents:
    """Handlers of the events of function calls, and the calls that they fill.

    Args:
        prefix: What is put before the call ids.
        release: Emits the text that was held back, before a call is emitted.
    """

    def __init__(self, prefix: str, release: Callable[[list[StreamOutput]], None]) -> None:
        self._prefix = prefix
        self._release = release
        self._calls = ToolCalls()

    def arguments_delta(self, event: Wire, _outputs: list[StreamOutput], _argument: None) -> FastPath:
        """Adds a piece of the arguments; returns the fast path for further pieces."""
        self._call(event).deltas.append(text(event, "delta"))
        return self._calls.sink

    def arguments_done(self, event: Wire, outputs: list[StreamOutput], _argument: None) -> None:
        """Takes the whole arguments."""
        self._release(outputs)
        call = self._call(event)
        call.say_arguments("done", event.get("arguments"))
        self._emit(call, ARGUMENTS_DONE, outputs)

    def added(self, event: Wire, _outputs: list[StreamOutput], item: Wire) -> None:
        """A call begins."""
        call = self._calls.announce(identifier(item, "id"), index(event, "output_index"))
        if not call.closed:
            call.read(item)
            call.say_arguments("added", item.get("arguments"))

    def done(self, event: Wire, outputs: list[StreamOutput], item: Wire) -> None:
        """A call ends."""
        self._release(outputs)
        call = self._calls.closing(identifier(item, "id"), index(event, "output_index"), item)
        call.closed = True
        call.read(item)
        call.say_arguments("item", item.get("arguments"))
        self._emit(call, ITEM_DONE, outputs)

    def pair(self, snapshot: list[tuple[int, Wire]], status: str) -> dict[int, Close]:
        """Closes each call in the final snapshot of a response with this status, by its place."""
        return {place: partial(self._in_snapshot, call, status) for place, call in self._calls.pair(snapshot).items()}

    def _in_snapshot(self, call: ToolCall, status: str, _event: Wire, outputs: list[StreamOutput], item: Wire) -> None:
        if call.emitted or status == "failed":
            return
        if status == "incomplete" and item.get("status") != "completed":
            return
        call.read(item)
        call.say_arguments("item", item.get("arguments"))
        self._emit(call, RESPONSE_DONE, outputs)

    def at_end(self, status: str, event: Wire, outputs: list[StreamOutput]) -> None:
        """Hands out the calls that no event closed.

        A completed response has completed them too; one that was cut has not, and half a call is never handed
        out.
        """
        for call in self._calls.all:
            if self._calls.was_emitted(call):
                continue
            if call.cut or status == "incomplete":
                outputs.append(Unmapped("function_call (incomplete)", event))
            elif call.name is None and self.any_emitted:
                # Arguments that could not be told whose they are; the calls themselves were said whole elsewhere.
                outputs.append(Unmapped("function_call_arguments (of no call)", event))
            else:
                self._emit(call, RESPONSE_DONE, outputs)

    @property
    def any_emitted(self) -> bool:
        """Tells whether a call was handed out."""
        return any(call.emitted for call in self._calls.all)

    def _call(self, event: Wire) -> ToolCall:
        return self._calls.find(identifier(event, "item_id"), index(event, "output_index"))

    def _emit(self, call: ToolCall, point: EmissionPoint, outputs: list[StreamOutput]) -> None:
        complete = self._calls.take(call, point)
        if complete is not None:
            self._release(outputs)
            outputs.append(tool_call_part(self._prefix + complete.call_id, complete.name, complete.input))
