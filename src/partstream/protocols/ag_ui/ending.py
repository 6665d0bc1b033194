"""How a run ends, and what is known of it as a whole."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from partstream.outputs import Outcome
from partstream.protocols.ag_ui.usage import model_of, read_usage
from partstream.protocols.read_response import identifier, mapping
from partstream.usage import FinishReason, UnifiedFinishReason

if TYPE_CHECKING:
    from partstream.protocols.read_response import Wire
    from partstream.usage import Usage

__all__ = ["CANCELLED", "FINISH_REASON", "INTERRUPT", "IS_CUT", "MODEL", "OURS", "SUCCESS", "Ending"]

SUCCESS: Final = "success"
INTERRUPT: Final = "interrupt"
CANCELLED: Final = "cancelled"

OURS: Final = "partstream"
"""The key of the metadata of a last event in which we say what no field of the wire says."""
FINISH_REASON: Final = "finishReason"
MODEL: Final = "model"
IS_CUT: Final = "isCut"
"""Whether a limit or a filter ended the answer."""


class Ending:
    """What one run says of itself.

    Attributes:
        thread_id: The conversation, or None.
        run_id: The run, or None.
        word: How the run ended in the wire's word; None before its end, and where it does not say.
        usage: The reported tokens, or None.
        model: The model, or None.
    """

    __slots__ = ("_is_cut", "_reason", "model", "run_id", "thread_id", "usage", "word")

    def __init__(self) -> None:
        self.thread_id: str | None = None
        self.run_id: str | None = None
        self.word: str | None = None
        self.usage: Usage | None = None
        self.model: str | None = None
        self._reason: UnifiedFinishReason | None = None
        self._is_cut = False

    def begin(self, event: Wire) -> None:
        """Takes the beginning of the run."""
        self.thread_id = identifier(event, "threadId") or self.thread_id
        self.run_id = identifier(event, "runId") or self.run_id

    def read(self, event: Wire, requests: int) -> None:
        """Takes the last event of the run, whichever it is.

        Args:
            event: The event.
            requests: How many requests the run made of its model.
        """
        self.begin(event)
        self.word = identifier(mapping(event, "outcome"), "type")
        self.usage = read_usage(event.get("usage"), requests)
        ours = mapping(mapping(event, "metadata"), OURS)
        self.model = model_of(event.get("usage")) or identifier(ours, MODEL)
        said = identifier(ours, FINISH_REASON)
        self._reason = next((one for one in UnifiedFinishReason if one == said), None)
        self._is_cut = ours.get(IS_CUT) is True or self.word == CANCELLED

    @property
    def outcome(self) -> Outcome:
        """How a run ended that did not fail."""
        return Outcome.INCOMPLETE if self._is_cut else Outcome.COMPLETED

    def reason(self, *, has_calls: bool) -> FinishReason:
        """Why a run ended that did not fail."""
        if self._reason is not None:
            return FinishReason(self._reason, self.word)
        if self.word == CANCELLED:
            return FinishReason(UnifiedFinishReason.OTHER, self.word)
        return FinishReason(UnifiedFinishReason.TOOL_CALLS if has_calls else UnifiedFinishReason.STOP, self.word)
