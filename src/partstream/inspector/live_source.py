"""Answers that go on, as the source of a page: each is read again when more of it has come, and the others stay."""

from __future__ import annotations

import asyncio
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from partstream.devtools.inspector.view import ViewedFile, comparisons, view_of
from partstream.inspector.unfinished import as_running

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from partstream.devtools.capturing.door import FollowedAnswer
    from partstream.devtools.inspector.shapes import AnswerView, View

__all__ = ["LiveSource"]

_MOST_ANSWERS: Final = 20


class LiveSource:
    """The source of a page that follows answers; the newest 20 of them.

    Args:
        answers: Yields an answer whenever more of it has come (`door_client.follow`); its end is that of the views.
        title: What the page is called.
    """

    def __init__(self, answers: AsyncIterator[FollowedAnswer], title: str) -> None:
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
            # In a thread: the page is served meanwhile.
            name = self._name(answer)
            view = await asyncio.to_thread(view_of, [ViewedFile(name, "live", answer.bundle)], is_live=True)
            self._show(answer, name, view)
            yield self._joined(view)

    def bytes_of(self, _answer: str) -> bytes | None:
        """None: all bytes are in the view."""
        return None

    def _name(self, answer: FollowedAnswer) -> str:
        if answer.key not in self._shown:
            self._count += 1
            self._shown[answer.key] = _Shown(self._count)
            self._forget_oldest()
        known = answer.bundle.answers[0] if answer.bundle.answers else None
        said = (known.host, known.model) if known is not None else ()
        return ", ".join([f"#{self._shown[answer.key].number}", *filter(None, said)])

    def _show(self, answer: FollowedAnswer, name: str, view: View) -> None:
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
