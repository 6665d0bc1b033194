"""Holds calls, and what follows, until no other model takes over (docs/wires/anthropic-messages.md#fallback-models).

With `fallbacks`, a filter may stop a model behind a whole call; another model goes on then, and the call is void. No
part overtakes another: what comes behind a call waits with it. Calls are the last blocks of nearly all answers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from partstream.parts import ToolCallPart

if TYPE_CHECKING:
    from partstream.outputs import StreamOutput

__all__ = ["PendingOutputs"]


class PendingOutputs:
    """What one answer holds back.

    Attributes:
        has_calls: Whether a call waits, or was released.
    """

    __slots__ = ("_outputs", "has_calls")

    def __init__(self) -> None:
        self._outputs: list[StreamOutput] = []
        self.has_calls = False

    def before(self, outputs: list[StreamOutput]) -> list[StreamOutput]:
        """Where the next output goes: behind what waits, or to those of the event."""
        return self._outputs or outputs

    def hold(self, call: ToolCallPart) -> None:
        """Holds a call back."""
        self._outputs.append(call)
        self.has_calls = True

    def drop_calls(self) -> None:
        """Takes back the calls that wait."""
        self._outputs = [one for one in self._outputs if not isinstance(one, ToolCallPart)]
        self.has_calls = False

    def release(self, outputs: list[StreamOutput]) -> None:
        """Hands out all that waits."""
        outputs += self._outputs
        self._outputs = []
