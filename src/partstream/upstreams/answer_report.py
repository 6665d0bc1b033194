"""Reports one answer to its consumer: parts as they come, at the end what the answer leaves behind, and its usage."""

from __future__ import annotations

import logging
from collections import Counter
from typing import TYPE_CHECKING

from partstream.outputs import Finish, Unmapped
from partstream.parts import DataPart, TextPart, ThinkingPart, ToolCallPart

if TYPE_CHECKING:
    from collections.abc import Callable

    from partstream.conversation.answer import AnswerState
    from partstream.conversation.settings import RequestSettings
    from partstream.outputs import StreamOutput
    from partstream.parts import ResponsePart
    from partstream.provider import Progress
    from partstream.upstreams.answer_end import AnswerEnd
    from partstream.upstreams.request_tokens import RequestTokens

__all__ = ["AnswerReport"]

_logger = logging.getLogger("partstream.upstreams")


class AnswerReport:
    """One answer on its way to its consumer.

    Args:
        progress: Where its parts go.
        state: What it leaves behind.
        settings: How it was asked for.
        model_id: The model as the host names it.
        history: Gives the digest of the messages that are answered.
        tokens: Learns how the answer ended, and gives its usage.
        end: Told how this attempt at the answer ended.

    Attributes:
        progress: Where its parts go.
        reported: Whether a part has gone there.
    """

    def __init__(
        self,
        progress: Progress,
        state: AnswerState,
        settings: RequestSettings,
        model_id: str,
        history: Callable[[], str],
        tokens: RequestTokens,
        end: AnswerEnd,
    ) -> None:
        self.progress = progress
        self.reported = False
        self._state = state
        self._settings = settings
        self._model_id = model_id
        self._history = history
        self._tokens = tokens
        self._answer_end = end
        self._unmapped: Counter[str] = Counter()

    def hand_on(self, output: StreamOutput) -> None:
        """Takes the next output of the adapter.

        Raises:
            LanguageModelError: The answer ended with it.
        """
        match output:
            case TextPart() | ThinkingPart() | ToolCallPart() | DataPart():
                self._report(self._state.see(output))
            case Unmapped(type=kind):
                self._unmapped[kind] += 1
            case Finish():
                self._end(output)

    def _end(self, finish: Finish) -> None:
        self._answer_end.attempt_ended(finish)
        if self._unmapped:
            _logger.info("the answer held what has no part: %s", dict(self._unmapped))
        if finish.error is None:
            # Before the usage, which consumers take for the last part.
            response_id = finish.response_id if self._settings.stores else None
            if (marker := self._state.marker(self._model_id, response_id, self._history)) is not None:
                self._report(marker)
        usage = self._tokens.answered(finish)
        # Of an answer that failed before its first part nobody is told: another may still be had.
        if usage is not None and (self.reported or finish.error is None):
            self._report(usage)
        if finish.error is not None:
            raise finish.error

    def _report(self, part: ResponsePart) -> None:
        self.reported = True
        self.progress.report(part)
