"""What the adapters of several wires do alike: they hold how far a response has come, and end it.

A protocol reads its events in :meth:`Adapter.feed_into`, says when an answer is whole, and what the Finish says.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Final

from partstream.errors import AdapterUsageError, TruncatedStreamError
from partstream.outputs import Outcome
from partstream.protocols.life import LifecycleState
from partstream.usage import FinishReason, UnifiedFinishReason

if TYPE_CHECKING:
    from collections.abc import Mapping

    from partstream.errors import LanguageModelError
    from partstream.outputs import FastPath, StreamOutput

__all__ = ["Adapter"]


class Adapter(ABC):
    """One answer; see :class:`partstream.outputs.ResponseStream`.

    Attributes:
        sink: The short way, or None.
    """

    def __init__(self) -> None:
        self.sink: FastPath | None = None
        self._state = LifecycleState.IDLE
        self._error: LanguageModelError | None = None  # what the upstream has reported, and may say more about

    @property
    def finished(self) -> bool:
        """Whether the :class:`partstream.outputs.Finish` is out."""
        return self._state in _OVER

    @property
    def failing(self) -> bool:
        """Whether an error came, and what is said of it may follow, such as the usage."""
        return self._state is LifecycleState.FAILING

    def feed(self, event: Mapping[str, Any]) -> list[StreamOutput]:
        """Takes the next event and returns what it means, in order."""
        outputs: list[StreamOutput] = []
        self.feed_into(event, outputs)
        return outputs

    @abstractmethod
    def feed_into(self, event: Mapping[str, Any], outputs: list[StreamOutput]) -> None:
        """Takes the next event and appends what it means."""

    def end(self, *, whole: bool = False) -> list[StreamOutput]:
        """Ends the events."""
        if self._state is LifecycleState.ENDED:
            raise AdapterUsageError("the stream was ended before")
        outputs: list[StreamOutput] = []
        if not self.finished:
            if self._is_whole(told=whole):
                self._complete(outputs)
            else:
                outputs = self.fail(self._error or TruncatedStreamError(self._state.name))
        self._state = LifecycleState.ENDED
        return outputs

    def fail(self, error: LanguageModelError) -> list[StreamOutput]:
        """Ends the response with an error; nothing if it has finished already."""
        outputs: list[StreamOutput] = []
        if not self.finished:
            self.sink = None
            self._settle(outputs)
            is_cut = isinstance(error, TruncatedStreamError)
            reason = None if is_cut else FinishReason(UnifiedFinishReason.ERROR, self._word)
            self._emit_finish(Outcome.TRUNCATED if is_cut else Outcome.FAILED, reason, outputs, error)
        return outputs

    # What a protocol says

    @property
    @abstractmethod
    def _word(self) -> str | None:
        """The provider's own word for why the model stopped, as far as it came."""

    @abstractmethod
    def _is_whole(self, *, told: bool) -> bool:
        """Whether the answer is whole if nothing follows.

        Args:
            told: Whether the mark of the end said so.
        """

    @abstractmethod
    def _complete(self, outputs: list[StreamOutput]) -> None:
        """Ends a whole answer."""

    def _settle(self, outputs: list[StreamOutput]) -> None:  # noqa: B027 - most wires hold back nothing
        """Appends what is held back of an answer that fails."""

    @abstractmethod
    def _emit_finish(
        self,
        outcome: Outcome,
        reason: FinishReason | None,
        outputs: list[StreamOutput],
        error: LanguageModelError | None = None,
    ) -> None:
        """Appends the Finish; the response is finished then."""


_OVER: Final = (LifecycleState.FINISHED, LifecycleState.ENDED)
