"""Answers that go on, as the source of a page: each is read again when more of it has come, and the others stay.

Who tells of them is not known here: the doors of running hosts, or the memory of a proxy in this process.
"""

from __future__ import annotations

import asyncio
from datetime import datetime
from itertools import count
from typing import TYPE_CHECKING, Any, Final, Protocol

from partstream.inspector.comparing import comparisons
from partstream.inspector.unfinished import as_running
from partstream.inspector.view import ViewedFile, view_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from partstream.bundles.exchange import Bundle
    from partstream.capturing.capture import AnswerCapture
    from partstream.capturing.last_answers import LastAnswers
    from partstream.inspector.view_shapes import AnswerView, View

__all__ = ["AnswerNow", "LiveSource", "answers_in_memory"]

_MOST_ANSWERS: Final = 20
_SHORTEST_PAUSE: Final = 0.1
_PAUSE_FACTOR: Final = 10.0
"""A look is followed by a pause so many times as long: whoever follows takes a tenth of a processor at the most."""


class AnswerNow(Protocol):
    """An answer as it is now, such as a `FollowedAnswer` of a door."""

    @property
    def key(self) -> str:
        """Tells it from all others."""

    @property
    def started_at(self) -> str:
        """When it began, in ISO 8601."""

    @property
    def is_over(self) -> bool:
        """Whether nothing more of it will come."""

    @property
    def bundle(self) -> Bundle:
        """What is known of it."""


class LiveSource:
    """The source of a page that follows answers; the newest 20 of them.

    Args:
        answers: Yields an answer whenever more of it has come; ends when nothing will come any more.
        title: What the page is called.
    """

    def __init__(self, answers: AsyncIterator[AnswerNow], title: str) -> None:
        self._answers = answers
        self._title = title
        self._shown: dict[str, _Shown] = {}
        self._began: datetime | None = None
        self._count = 0

    async def views(self) -> AsyncIterator[Mapping[str, Any]]:
        """The view without any answer, then one whenever more has come."""
        view = view_of([], is_live=True)
        yield self._joined(view)
        async for answer in self._answers:
            # In a thread: a proxy in this process forwards on meanwhile.
            name = self._name(answer)
            view = await asyncio.to_thread(view_of, [ViewedFile(name, "live", answer.bundle)], is_live=True)
            self._show(answer, name, view)
            yield self._joined(view)

    def bytes_of(self, _answer: str) -> bytes | None:
        """None: all bytes are in the view."""
        return None

    def _name(self, answer: AnswerNow) -> str:
        if answer.key not in self._shown:
            self._count += 1
            self._shown[answer.key] = _Shown(self._count)
            self._forget_oldest()
        known = answer.bundle.answers[0] if answer.bundle.answers else None
        said = (known.host, known.model) if known is not None else ()
        return ", ".join([f"#{self._shown[answer.key].number}", *filter(None, said)])

    def _show(self, answer: AnswerNow, name: str, view: View) -> None:
        shown = self._shown[answer.key]
        offset = self._offset(answer.started_at)
        shown.is_over = answer.is_over
        shown.answers = [
            _renamed(one if answer.is_over else as_running(one), shown.number, name, offset) for one in view["answers"]
        ]

    def _offset(self, started_at: str) -> float:
        """Milliseconds from the first answer of this page."""
        try:
            began = datetime.fromisoformat(started_at)
        except ValueError:
            return 0.0
        self._began = self._began or began
        return (began - self._began).total_seconds() * 1000

    def _forget_oldest(self) -> None:
        while len(self._shown) > _MOST_ANSWERS:
            oldest = next((key for key, one in self._shown.items() if one.is_over), next(iter(self._shown)))
            del self._shown[oldest]

    def _joined(self, newest: View) -> View:
        answers = [answer for one in self._shown.values() for answer in one.answers]
        return {
            **newest,
            "title": self._title,
            "source": {**newest["source"], "name": self._title, "hasClock": True},
            "answers": answers,
            "comparisons": comparisons(answers),
        }


class _Shown:
    """What is shown of one answer.

    Args:
        number: Its number on the page.
    """

    def __init__(self, number: int) -> None:
        self.number = number
        self.is_over = False
        self.answers: list[AnswerView] = []


def _renamed(answer: AnswerView, number: int, name: str, offset: float) -> AnswerView:
    """The answer under an id and a title that no other answer of the page has, at its place on the axis."""
    title = answer["title"] if answer["title"].startswith(name) else f"{name}: {answer['title']}"
    return {**answer, "id": f"{number}-{answer['id']}", "title": title, "offset": answer["offset"] + offset}


class _InMemory:
    """An answer of this process, as it is now."""

    def __init__(self, key: str, started_at: str, bundle: Bundle, *, is_over: bool) -> None:
        self.key = key
        self.started_at = started_at
        self.is_over = is_over
        self.bundle = bundle


async def answers_in_memory(answers: LastAnswers, source: str) -> AsyncIterator[AnswerNow]:
    """The answers of a memory of this process, each whenever more of it has come; without end.

    Args:
        answers: The memory.
        source: What they are captured in, such as `record`.
    """
    from partstream.capturing.bundling import bundle_of, snapshot_of  # noqa: PLC0415 - only who follows needs it

    loop = asyncio.get_running_loop()
    told: dict[AnswerCapture, int] = {}
    keys: dict[AnswerCapture, str] = {}
    numbers = count(1)
    while True:
        started = loop.time()
        for answer in answers.answers:
            if told.get(answer) == answer.changes:
                continue
            told[answer] = answer.changes
            key = keys.get(answer) or keys.setdefault(answer, str(next(numbers)))
            is_over = answer.outcome is not None
            bundle = await asyncio.to_thread(bundle_of, snapshot_of([answer]), source)
            yield _InMemory(key, answer.started_at.isoformat(), bundle, is_over=is_over)
        kept = set(answers.answers)
        told = {answer: changes for answer, changes in told.items() if answer in kept}
        keys = {answer: key for answer, key in keys.items() if answer in kept}
        await asyncio.sleep(max(_SHORTEST_PAUSE, _PAUSE_FACTOR * (loop.time() - started)))
