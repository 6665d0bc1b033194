"""Requests and answers that are kept because a policy says so: each function is a part of one transaction."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from partstream.hub.store.engine import places
from partstream.hub.store.values import AnswerContent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from partstream.hub.store.engine import Transaction

__all__ = ["forget_contents", "forget_contents_of", "read_content"]

_READ: Final = "SELECT answer_id, time, person, request, response FROM hub_contents WHERE answer_id = ?"
_FORGET: Final = "DELETE FROM hub_contents WHERE time < ? RETURNING answer_id"


_FORGET_OF_TEAMS: Final = (
    "DELETE FROM hub_contents WHERE time < ? AND person IN (SELECT name FROM hub_people WHERE team IN ({teams})) "
    "RETURNING answer_id"
)
_FORGET_OF_OTHERS: Final = (
    "DELETE FROM hub_contents WHERE time < ? AND person NOT IN (SELECT name FROM hub_people WHERE team IS NOT NULL) "
    "RETURNING answer_id"
)


def read_content(work: Transaction, answer_id: str) -> AnswerContent | None:
    """The request and the answer, if they are kept."""
    return next((AnswerContent(*row) for row in work.rows(_READ, (answer_id,))), None)


def forget_contents(work: Transaction, before: float) -> int:
    """Deletes those that are older than a time."""
    return len(work.rows(_FORGET, (before,)))


def forget_contents_of(work: Transaction, before: float, teams: Sequence[str]) -> int:
    """Deletes those of the people of some teams, or of people in no team, that are older than a time."""
    if not teams:
        return len(work.rows(_FORGET_OF_OTHERS, (before,)))
    return len(work.rows(_FORGET_OF_TEAMS.format(teams=places(len(teams))), (before, *teams)))
