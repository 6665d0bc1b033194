"""Cases are made smaller as long as they fail, within a limit of tries and of time."""

import asyncio
from collections.abc import Callable

import pytest

from partstream.errors import CallerError
from partstream_devtools.conformance.exercises import Exercise, shrink, smaller_exercises
from partstream_devtools.conformance.scripts import Call, Ending, Say, Script, ScriptedAnswer, Think, read_actions
from rows import one_test_for

LONG = "one two three four five six seven eight nine ten"
LARGE = Exercise(
    actions=read_actions("send", "wait", "answer_calls", "send", "cancel_after 9", "retry", "wait"),
    script=Script(
        (
            ScriptedAnswer(
                (
                    Think(LONG),
                    Say(LONG),
                    Call("get_weather", {"city": "Oslo", "days": [1, 2, 3]}),
                    Call("get_weather", {"city": "Rome", "nested": {"a": 1, "b": "x y z"}}),
                ),
                fault="split=3,keep_open=0",
                pace=0.01,
            ),
            ScriptedAnswer((Say(LONG),), Ending.LENGTH),
        )
    ),
)


def _shrunk(fails: Callable[[Exercise], bool], exercise: Exercise = LARGE, **limits: object) -> tuple[Exercise, int]:
    tried: list[Exercise] = []

    async def still_fails(candidate: Exercise) -> bool:
        tried.append(candidate)
        return fails(candidate)

    return asyncio.run(shrink(exercise, still_fails, **limits)), len(tried)


def _calls(exercise: Exercise) -> list[Call]:
    return [call for answer in exercise.script.answers for call in answer.calls]


def test_what_the_failure_does_not_need_is_left_out():
    smallest, _ = _shrunk(lambda exercise: len(_calls(exercise)) >= 2 and "send" in map(str, exercise.actions))
    assert LARGE.size == 41
    assert smallest.size == 3
    assert smallest.to_json() == {
        "prompt": "a",
        "script": {
            "answers": [
                {"blocks": [{"call": "get_weather", "arguments": {}}, {"call": "get_weather", "arguments": {}}]}
            ]
        },
        "moves": ["send"],
        "relation": "none",
    }


def test_the_one_word_that_matters_stays():
    smallest, _ = _shrunk(lambda exercise: any("seven" in answer.text for answer in exercise.script.answers))
    (answer,) = smallest.script.answers
    assert [block.text.strip() for block in answer.blocks] == ["seven"]


def test_numbers_of_moves_become_the_lowest_that_fail():
    smallest, _ = _shrunk(
        lambda exercise: any(action.name == "cancel_after" and int(action.argument) >= 3 for action in exercise.actions)
    )
    assert [str(action) for action in smallest.actions] == ["cancel_after 3"]


def test_deep_values_of_arguments_are_made_smaller():
    smallest, _ = _shrunk(lambda exercise: any("nested" in call.arguments for call in _calls(exercise)))
    assert [dict(call.arguments) for call in _calls(smallest)] == [{"nested": {}}]


def test_a_fault_and_an_ending_stay_only_if_they_matter():
    smallest, _ = _shrunk(lambda exercise: any("split" in answer.fault for answer in exercise.script.answers))
    (answer,) = smallest.script.answers
    assert (answer.fault, answer.pace, answer.ending) == ("split=3", 0.0, Ending.DONE)


def test_a_case_that_nothing_can_be_taken_from_stays_as_it_is():
    assert _shrunk(lambda _: False)[0] == LARGE


def test_no_more_cases_are_tried_than_allowed():
    smallest, tries = _shrunk(lambda exercise: len(_calls(exercise)) >= 2, most_tries=3)
    assert tries == 3
    assert smallest.size < LARGE.size


def test_without_time_nothing_is_tried():
    assert _shrunk(lambda _: True, has_time=lambda: False) == (LARGE, 0)


def test_whatever_fails_shrinking_ends():
    smallest, tries = _shrunk(lambda _: True)
    assert tries < 40
    assert smallest.size == 1
    assert len({str(exercise.to_json()) for exercise in smaller_exercises(smallest)}) <= 1


def test_a_case_is_the_same_behind_json():
    assert Exercise.from_json(LARGE.to_json()) == LARGE


@one_test_for(
    ("value", "says"),
    [
        ({}, "moves: got None"),
        ({"moves": [1]}, "moves: got"),
        ({"moves": ["dance"]}, "got 'dance'"),
        ({"moves": [], "prompt": 1}, "prompt: got 1"),
        ({"moves": [], "relation": "odd"}, "relation: got 'odd'"),
        ({"moves": [], "script": []}, "script: got"),
        ({"moves": [], "script": {"answers": []}}, "script: got"),
        ({"moves": [], "script": {"answers": [{"blocks": [{"sing": "x"}]}]}}, "script: got"),
    ],
)
def test_what_is_no_case_is_refused_with_its_place(value: dict, says: str):
    with pytest.raises(CallerError, match=says):
        Exercise.from_json(value)
