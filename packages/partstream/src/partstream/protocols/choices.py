"""Several choices of one answer: Chat Completions' `choices`, Gemini's `candidates`; one rule for both.

No request of ours asks for more than one choice, so several are one answer as a rule. GitHub Copilot puts the text of
an answer into one choice and its calls into the next; LiteLLM's bridge to OpenResponses gives each message a choice.
Others compete, because a program asked for them (`n`): their texts come in turns, or two of them bring a call at the
same index. Of those the first counts, and the others are dropped and named.

:class:`Choices` decides it by what each piece of a choice brings, a :class:`Said`. The first choice is read at once. A
piece of another one waits until the first choice has ended, at the latest until the end of the answer, because it may
compete with what still comes. Two choices compete where one of them goes on after the other has begun:

- A choice brings more, and another one has spoken since, or a later one before it.
- A choice ended after another one had spoken, and that one says more, or ends by itself.
- Both bring a call at the same index, and one of them is the first choice. Two others may bring a call each.
"""

from __future__ import annotations
from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

from partstream.protocols.read_response import Wire, index


class Said(NamedTuple):
    """What a piece of a choice brings.

    Attributes:
        speaks: Whether it has text, thinking or a file.
        calls: The indexes of its calls.
        ends: Whether it says why the choice ends.
    """

    speaks: bool
    calls: frozenset[int]
    ends: bool


SPEAKS: Final = Said(speaks=True, calls=frozenset(), ends=False)
"""Text and no more, as nearly all pieces are."""


class Choices:
    """The choices of one answer.

    Args:
        said: Tells what a piece of a choice brings.

    Attributes:
        lost: The choices that were found to compete since the last look, each with its place and its first piece.
    """

    __slots__ = (
        "_callers",
        "_ended_late",
        "_first_ended",
        "_is_alone",
        "_losers",
        "_said",
        "_spoke",
        "_steps",
        "_waiting",
        "lost",
    )

    def __init__(self, said: Callable[[Wire], Said]) -> None:
        self.lost: list[tuple[int, Wire]] = []
        self._losers: set[int] = set()
        self._said = said
        self._steps = 0
        self._spoke: dict[int, int] = {}  # by place, the step at which it spoke last
        self._callers: dict[int, set[int]] = {}  # by the index of a call, the choices that have one there
        self._first_ended = False
        self._is_alone = True  # whether every piece was of the first choice
        self._ended_late: dict[int, set[int]] = {}  # by place, the choices that ended after it had spoken
        self._waiting: dict[int, list[Wire]] = {}

    def take(self, listed: list[Wire], *, whole: bool) -> list[tuple[int, Wire]]:
        """The pieces to read now, each with its place.

        Args:
            listed: The pieces of one chunk.
            whole: Whether they are whole choices of a document, where some servers repeat an index.
        """
        if len(listed) == 1 and self._is_alone and not index(listed[0], "index"):
            self._note_first(self._said(listed[0]))
            return [(0, listed[0])]
        now: list[tuple[int, Wire]] = []
        given = [index(piece, "index") for piece in listed]
        places = [number or 0 for number in given]
        if len(places) > 1 and (whole or None in given) and len(set(places)) < len(places):
            places = [*range(len(places))]
        for place, piece in zip(places, listed, strict=True):
            if place in self._losers:
                continue
            if place == 0:
                now.append((0, piece))
            else:
                self._is_alone = False
                self._waiting.setdefault(place, []).append(piece)
            self._watch(place, self._said(piece))
            if self._first_ended and next(iter(self._waiting), None) == place and place not in self._ended_late:
                now += ((place, one) for one in self._waiting.pop(place))
        return now

    def _note_first(self, said: Said) -> None:
        """Notes what a piece of the first choice brings while there is no other one: nothing competes with it yet."""
        if said.speaks:
            self._steps += 1
            self._spoke[0] = self._steps
        for number in said.calls:
            self._callers.setdefault(number, set()).add(0)
        self._first_ended |= said.ends

    def rest(self) -> list[tuple[int, Wire]]:
        """The pieces that waited for the end of the answer, choice by choice."""
        waiting, self._waiting = self._waiting, {}
        return [(place, piece) for place in sorted(waiting) for piece in waiting[place]]

    def _watch(self, place: int, said: Said) -> None:
        """Notes what a piece brings, and which choices compete by it."""
        before = self._spoke.get(place)
        since: list[int] = []
        if before is not None and before != self._steps:
            since = [one for one, step in self._spoke.items() if step > before]
        elif before is None and place == 0 and said.speaks:
            since = [*self._spoke]
        if said.speaks or said.calls:
            self._compete(place, since)
        for number in said.calls:
            callers = self._callers.setdefault(number, set())
            self._compete(place, callers - {0} if place == 0 else callers & {0})
            callers.add(place)
        if said.speaks or said.ends:
            self._compete(place, self._ended_late.get(place, ()))
        if said.speaks:
            self._steps += 1
            self._spoke[place] = self._steps
        elif said.ends:
            for other in since:
                self._ended_late.setdefault(other, set()).add(place)
        self._first_ended |= said.ends and place == 0

    def _compete(self, place: int, others: Iterable[int]) -> None:
        for other in others:
            loser = max(place, other)
            if loser not in self._losers:
                self._losers.add(loser)
                self._spoke.pop(loser, None)
                self.lost.append((loser, self._waiting.pop(loser, [{"index": loser}])[0]))
