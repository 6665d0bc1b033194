"""Reports one answer to its consumer: parts as they arrive, then the state for the next request and the usage."""

from __future__ import annotations

import logging
from collections import Counter
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final

from partstream.conversation.preparation import history_digest
from partstream.errors import EmptyAnswerError
from partstream.lm.outputs import Finish, Outcome, Unmapped
from partstream.lm.parts import DataPart, TextPart, ThinkingPart, ToolCallPart, UnifiedFinishReason

if TYPE_CHECKING:
    from partstream.conversation.preparation import ResponseState
    from partstream.lm.outputs import StreamOutput
    from partstream.upstreams.question import ModelCall
    from partstream.upstreams.request_tokens import RequestTokens

__all__ = ["AttemptReport"]

_logger = logging.getLogger("partstream.upstreams")


class AttemptReport:
    """The report of one attempt at an answer.

    Args:
        question: What is answered, and where the parts go.
        state: What the answer leaves behind.
        tokens: Learns how the answer ended, and gives its usage.
        stores: Whether the upstream was asked to store the answer.
    """

    def __init__(self, question: ModelCall, state: ResponseState, tokens: RequestTokens, *, stores: bool) -> None:
        self._question = question
        self._progress = question.progress
        self._state = state
        self._tokens = tokens
        self._stores = stores
        self._unmapped: Counter[str] = Counter()
        self._is_empty = True

    def hand_on(self, output: StreamOutput) -> None:
        """Takes the next output of the adapter.

        Raises:
            LanguageModelError: The answer ended with it.
        """
        match output:
            case TextPart() | ThinkingPart() | ToolCallPart() | DataPart():
                self._is_empty = self._is_empty and isinstance(output, ThinkingPart)
                self._progress.report(self._state.see(output))
            case Unmapped(type=kind):
                self._unmapped[kind] += 1
            case Finish():
                self._end(output)

    def _end(self, finish: Finish) -> None:
        if self._is_empty and finish.error is None:
            finish = replace(finish, outcome=Outcome.FAILED, error=_emptiness(finish))
        self._progress.attempt_ended(finish)
        reason = finish.reason
        if reason is not None and (cause := _CUTS.get(reason.unified)) is not None:
            # The hosts say it where a person looks: the chat, the log of VS Code, the line of a served answer.
            word = f" ({reason.raw})" if reason.raw else ""
            _logger.debug("the answer of %s was cut: %s%s", self._question.shown_model_id, cause, word)
        if self._unmapped:
            _logger.info("the answer held what has no part: %s", dict(self._unmapped))
        if finish.error is None:
            # Before the usage, which consumers take for the last part.
            self._leave_marker(finish.response_id if self._stores else None)
        usage = self._tokens.answered(finish)
        # Of an answer that failed before its first part nobody is told: another may still be had.
        if usage is not None and (self._progress.has_begun or finish.error is None):
            self._progress.report(usage)
        if finish.error is not None:
            raise finish.error

    def _leave_marker(self, response_id: str | None) -> None:
        question = self._question
        history = partial(history_digest, question.messages)
        marker = self._state.marker(question.shown_model_id, response_id, history)
        if marker is not None:
            self._progress.report(marker)


_CUTS: Final = {
    UnifiedFinishReason.LENGTH: "it reached its token limit",
    UnifiedFinishReason.CONTENT_FILTER: "a content filter stopped it",
}
"""Why an answer ends before the model has finished it."""

_HELP: Final = {
    UnifiedFinishReason.LENGTH: "allow more output tokens (`maxOutputTokens`), or less thinking (`reasoningEffort`)",
    UnifiedFinishReason.CONTENT_FILTER: "a filter of the server stopped the answer",
}
"""What helps against an empty answer, by its finish reason."""


def _emptiness(finish: Finish) -> EmptyAnswerError:
    """The error for an answer in which there is nothing to show."""
    reason, usage = finish.reason, finish.usage
    return EmptyAnswerError(
        None if reason is None else reason.raw or reason.unified,
        None if usage is None else usage.output_tokens,
        None if usage is None else usage.reasoning_tokens,
        advice=finish.explanation or ("" if reason is None else _HELP.get(reason.unified, "")),
    )
