"""Makes a failing exercise smaller as long as it still fails: by values alone, so that it works on any target.

The shrinking of Hypothesis replays its own choices and gives up with an error where a target does not answer alike
twice. This one only asks "does the smaller exercise still fail?", within a limit of time and of tries, so it shrinks a
fixed scenario and a kept failure just as well, and a flaky target costs tries, not the result.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from partstream.conformance.exercises import Relation
from partstream.devtools.conformance.scripts import Call, Ending, Say, Script, Think, pieces

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Mapping

    from partstream.conformance.exercises import Exercise
    from partstream.devtools.conformance.scripts import Block, Move, ScriptedAnswer

__all__ = ["MOST_TRIES", "shrink", "smaller_exercises"]

MOST_TRIES: Final = 400
"""The most exercises that are tried for one failure."""

_PLAINEST: Final = "a"


async def shrink(
    exercise: Exercise,
    still_fails: Callable[[Exercise], Awaitable[bool]],
    *,
    has_time: Callable[[], bool] = lambda: True,
    most_tries: int = MOST_TRIES,
) -> Exercise:
    """The smallest exercise found that still fails.

    Args:
        exercise: An exercise that fails.
        still_fails: Tries an exercise.
        has_time: Asked before each try.
        most_tries: The most exercises to try.
    """
    seen = {_key(exercise)}
    tries = 0
    progressed = True
    while progressed:
        progressed = False
        for candidate in smaller_exercises(exercise):
            if _key(candidate) in seen:
                continue
            if tries >= most_tries or not has_time():
                return exercise
            seen.add(_key(candidate))
            tries += 1
            if await still_fails(candidate):
                exercise, progressed = candidate, True
                break
    return exercise


def smaller_exercises(exercise: Exercise) -> Iterator[Exercise]:
    """Cases with less in them, those with much less first. Each is smaller by one measure, so shrinking ends."""
    for moves in _without_some(exercise.moves):
        if moves:
            yield replace(exercise, moves=moves)
    if exercise.script is not None:
        yield from (replace(exercise, script=script) for script in _smaller_scripts(exercise.script))
    for place, move in enumerate(exercise.moves):
        for plainer in _plainer_moves(move):
            yield replace(exercise, moves=(*exercise.moves[:place], plainer, *exercise.moves[place + 1 :]))
    if exercise.prompt != _PLAINEST:
        yield replace(exercise, prompt=_PLAINEST)
    if exercise.relation is not Relation.NONE:
        yield replace(exercise, relation=Relation.NONE)


def _key(exercise: Exercise) -> str:
    return str(exercise.to_json())


def _smaller_scripts(script: Script) -> Iterator[Script]:
    for answers in _without_some(script.answers):
        if answers:
            yield replace(script, answers=answers)
    for place, answer in enumerate(script.answers):
        for smaller in _smaller_answers(answer):
            yield replace(script, answers=(*script.answers[:place], smaller, *script.answers[place + 1 :]))


def _without_some(items: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    """The items without halves, quarters ... and single ones, from the end: what comes first leads to the rest."""
    size = len(items)
    while size > 0:
        for end in range(len(items), 0, -size):
            yield (*items[: max(end - size, 0)], *items[end:])
        size //= 2


def _smaller_answers(answer: ScriptedAnswer) -> Iterator[ScriptedAnswer]:
    for blocks in _without_some(answer.blocks):
        yield replace(answer, blocks=blocks)
    faults = tuple(filter(None, answer.fault.split(",")))
    for fewer in _without_some(faults):
        yield replace(answer, fault=",".join(fewer))
    if answer.pace:
        yield replace(answer, pace=0.0)
    if answer.ending is not Ending.DONE:
        yield replace(answer, ending=Ending.DONE)
    for place, block in enumerate(answer.blocks):
        for smaller in _smaller_blocks(block):
            yield replace(answer, blocks=(*answer.blocks[:place], smaller, *answer.blocks[place + 1 :]))


def _smaller_blocks(block: Block) -> Iterator[Block]:
    if isinstance(block, Call):
        yield from (replace(block, arguments=fewer) for fewer in _smaller_objects(block.arguments))
    elif isinstance(block, Say | Think):
        yield from (replace(block, text=text) for text in _smaller_texts(block.text))


def _smaller_objects(value: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for items in _without_some(tuple(value.items())):
        yield dict(items)
    for name, item in value.items():
        for smaller in _smaller_values(item):
            yield {**value, name: smaller}


def _smaller_values(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        yield from _smaller_objects(value)
    elif isinstance(value, list):
        yield from map(list, _without_some(tuple(value)))
    elif isinstance(value, str):
        yield from (text for text in ("", *_smaller_texts(value)) if text != value)


def _smaller_texts(text: str) -> Iterator[str]:
    """Fewer words, then a plainer one; never empty, for an empty text is another one."""
    for words in _without_some(tuple(pieces(text))):
        if words:
            yield "".join(words)
    if len(pieces(text)) == 1 and text != _PLAINEST:
        yield _PLAINEST
        if len(text) > 1:
            yield text[: len(text) // 2]


def _plainer_moves(move: Move) -> Iterator[Move]:
    head, _, rest = move.argument.partition(" ")
    if rest:
        yield replace(move, argument=head)
    if not head.isdecimal():
        if head:
            yield replace(move, argument="")
        return
    number = int(head)
    for lower in dict.fromkeys((0, number // 2, number - 1)):
        if 0 <= lower < number:
            yield replace(move, argument=f"{lower} {rest}".strip())
