"""The last answers of one host in memory, so that one that went wrong can be looked at afterwards.

Nothing is written anywhere until it is asked for. The room is bounded: the oldest answers go first, those that have
ended before those that go on. :class:`NextAnswers` records the next answer whole, as a user asks: it stays in memory
until it has ended, whatever else comes. A host asks several models at once, such as one for the title of a chat, so
that every answer is recorded that begins while another one is being recorded; the recording ends when none of them goes
on.
"""

from __future__ import annotations
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Final

from partstream.upstream.context import capturing
from partstream_devtools.capturing.capture import AnswerCapture

# ---- The last answers ----

MOST_ANSWERS: Final = 20
MOST_BYTES: Final = 20 * 1024 * 1024
"""All answers together."""
MOST_BYTES_OF_ONE: Final = 10 * 1024 * 1024
"""Of a larger answer, the beginning and the end are kept."""


class LastAnswers:
    """The captures of the last answers of one host, running ones too; belongs to one event loop.

    Args:
        most_answers: The most answers.
        most_bytes: The most bytes of all of them.
        most_bytes_of_one: The most bytes of one.
        redact: Removes secrets from what errors say.
        clock: Returns nanoseconds.
        now: Returns the wall time.
    """

    def __init__(
        self,
        most_answers: int = MOST_ANSWERS,
        most_bytes: int = MOST_BYTES,
        most_bytes_of_one: int = MOST_BYTES_OF_ONE,
        *,
        redact: Callable[[str], str] = str,
        clock: Callable[[], int] = time.monotonic_ns,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._most_answers = most_answers
        self._most_bytes = most_bytes
        self._most_bytes_of_one = most_bytes_of_one
        self._redact = redact
        self._clock = clock
        self._now = now
        self._answers: list[AnswerCapture] = []
        self._listeners: list[Callable[[AnswerCapture], object]] = []
        self._begun = 0

    @property
    def answers(self) -> tuple[AnswerCapture, ...]:
        """The answers, in the order in which they began."""
        return tuple(self._answers)

    @property
    def newest(self) -> AnswerCapture | None:
        """The answer that began last; None where there is none."""
        return self._answers[-1] if self._answers else None

    @property
    def size(self) -> int:
        """The bytes that the answers have taken."""
        return sum([answer.size for answer in self._answers])

    def on_change(self, listener: Callable[[AnswerCapture], object]) -> Callable[[], None]:
        """Has a function called with each answer when it has begun, and again when it has ended.

        Returns:
            Ends that.
        """
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    @contextmanager
    def capture(self, host: str, model: str | None) -> Iterator[AnswerCapture]:
        """Captures what runs inside as a new answer. An answer without an end by then was cancelled."""
        answer = self.begin(host, model)
        try:
            with capturing(answer):
                yield answer
        finally:
            answer.end("cancelled")

    def begin(self, host: str, model: str | None) -> AnswerCapture:
        """The capture of a new answer, for a host and the model that is asked; the caller says its end."""
        self._begun += 1
        answer = AnswerCapture(
            host,
            model,
            owner=self,
            number=self._begun,
            most_bytes=self._most_bytes_of_one,
            redact=self._redact,
            clock=self._clock,
            now=self._now,
        )
        self._answers.append(answer)
        if len(self._answers) > self._most_answers:
            self.forget(self._oldest(answer))
        self._changed(answer)
        return answer

    def forget(self, answer: AnswerCapture | None) -> None:
        """Lets go of an answer, if it is still here: it must not be kept."""
        if answer is not None and answer in self._answers:
            self._answers.remove(answer)
            answer.drop()

    def more_room(self, answer: AnswerCapture, size: int) -> bool:
        """Whether an answer may take so many bytes more; others may have to go for it."""
        while self.size + size > self._most_bytes:
            oldest = self._oldest(answer)
            if oldest is None:
                return False
            self.forget(oldest)
        return True

    def ended(self, answer: AnswerCapture) -> None:
        """Hears that an answer has ended."""
        self._changed(answer)

    def _changed(self, answer: AnswerCapture) -> None:
        for listener in [*self._listeners]:
            listener(answer)

    def _oldest(self, besides: AnswerCapture) -> AnswerCapture | None:
        """The answer that goes first: the oldest that has ended, else the oldest; none that is wanted or spared."""
        others = [answer for answer in self._answers if answer is not besides and not answer.is_wanted]
        ended = [answer for answer in others if answer.outcome is not None]
        return next(iter(ended or others), None)


# ---- The next answers ----


class NextAnswers:
    """The answers that are to be recorded.

    Args:
        answers: Tells when an answer begins and ends.
        on_recorded: Called with the answers of a recording that has ended.

    Attributes:
        is_armed: Whether the next answer is recorded.
    """

    def __init__(self, answers: LastAnswers, on_recorded: Callable[[Sequence[AnswerCapture]], object]) -> None:
        self.is_armed = False
        self._recorded: list[AnswerCapture] = []
        self._on_recorded = on_recorded
        answers.on_change(self._changed)

    def arm(self) -> None:
        """Has the next answer recorded."""
        self.is_armed = True

    def disarm(self) -> None:
        """Records nothing more, also not what is being recorded."""
        self.is_armed = False
        self._let_go()

    def _changed(self, answer: AnswerCapture) -> None:
        if answer.outcome is None and (self.is_armed or self._recorded):
            self.is_armed = False
            answer.is_wanted = True
            self._recorded.append(answer)
        elif self._recorded and all(one.outcome is not None for one in self._recorded):
            recorded = tuple(self._recorded)
            self._let_go()
            self._on_recorded(recorded)

    def _let_go(self) -> None:
        for answer in self._recorded:
            answer.is_wanted = False
        self._recorded.clear()
