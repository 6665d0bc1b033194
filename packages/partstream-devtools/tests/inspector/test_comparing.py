"""Two answers that differ in one known place: the comparison names that place, however the two are cut and timed."""

from __future__ import annotations
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from hypothesis import given
from hypothesis import strategies as st

from inspector.sample_streams import answer, bundle
from inspector.sample_views import SAMPLES
from partstream.lm.parts import DataPart, TextPart, ThinkingPart, ToolCallPart
from partstream_devtools.inspector.view import ViewedFile, compare, comparisons, view_of

if TYPE_CHECKING:
    from partstream_devtools.inspector.shapes import AnswerView, ComparisonRow, ComparisonView

Run = tuple[str, str]
"""What a run of parts is: its kind, or the name of a tool, and its text."""


def _answer(runs: list[Run], cut: int = 3, pace: float = 10) -> AnswerView:
    """An answer of runs, whose texts are cut into pieces of a size."""
    parts: list[Any] = []
    for number, (kind, text) in enumerate(runs):
        pieces = [text[start : start + cut] for start in range(0, len(text), cut)]
        if kind == "text":
            parts += map(TextPart, pieces)
        elif kind == "thinking":
            parts += [ThinkingPart(piece, f"rs_{number}") for piece in pieces]
        elif kind == "data":
            parts.append(DataPart(text.encode(), "image/png"))
        else:
            parts.append(ToolCallPart(f"call_{number}", kind, {"text": text}))
    reported = [(pace * index, part) for index, part in enumerate(parts)]
    (shown,) = view_of([ViewedFile("f", "bundle", bundle(answers=[answer(reported)]))])["answers"]
    return shown


def _different(compared: ComparisonView) -> list[ComparisonRow]:
    return [row for row in compared["rows"] if not row["same"]]


KINDS = st.sampled_from(["text", "thinking", "read_file", "write_file", "data"])
RUNS = st.lists(st.tuples(KINDS, st.text(alphabet="ab 😀", min_size=4, max_size=12)), min_size=1, max_size=7).filter(
    lambda runs: all(a[0] != b[0] or a[0] not in {"text", "thinking"} for a, b in pairwise(runs))
)


@given(RUNS, st.integers(1, 9), st.integers(1, 9))
def test_the_same_answer_is_the_same_however_it_is_cut_and_timed(runs: list[Run], cut: int, other: int):
    compared = compare(_answer(runs, cut, 10), _answer(runs, other, 33))
    assert (compared["same"], _different(compared)) == (True, [])


@given(RUNS, st.data())
def test_the_one_place_where_a_text_or_an_argument_differs_is_named(runs: list[Run], data: st.DataObject):
    place = data.draw(st.sampled_from([index for index, (kind, _) in enumerate(runs) if kind != "data"] or [0]))
    kind, text = runs[place]
    at = data.draw(st.integers(0, len(text) - 1))
    other = [*runs[:place], (kind, f"{text[:at]}X{text[at:]}"), *runs[place + 1 :]]
    if kind == "data":
        return
    compared = compare(_answer(runs), _answer(other, 5))
    (row,) = _different(compared)
    assert (row["left"], row["right"]) == (place, place)
    before = len('{"text":"') if kind not in {"text", "thinking"} else 0
    assert f"differ{'s' if kind == 'thinking' else ''} at character {before + at + 1:,} " in row["differences"][0]


@given(RUNS, st.data())
def test_the_one_call_that_only_one_answer_has_is_named(runs: list[Run], data: st.DataObject):
    place = data.draw(st.integers(0, len(runs)))
    compared = compare(_answer(runs), _answer([*runs[:place], ("new_tool", "x"), *runs[place:]]))
    only = [row for row in compared["rows"] if row["label"] == "call new_tool"]
    assert [(row["left"], row["right"], row["differences"]) for row in only] == [(None, place, ["only on the right"])]
    assert [row for row in _different(compared) if row["label"] != "end"] == only


def test_ids_of_another_kind_are_a_difference_and_other_ids_are_none():
    left = _answer([("read_file", "a")])
    same = _answer([("text", "hello"), ("read_file", "a")])
    assert [row["label"] for row in _different(compare(left, same))] == ["text, 5 characters"]
    parts = [(1.0, ToolCallPart("toolu_9", "read_file", {"text": "a"}))]
    (other,) = view_of([ViewedFile("f", "bundle", bundle(answers=[answer(parts)]))])["answers"]
    (row,) = _different(compare(left, other))
    assert row["differences"] == ["ids of another kind: call_, toolu_"]


def test_the_end_is_compared_too():
    whole, failed = SAMPLES["usual"]()["answers"][0], SAMPLES["failed"]()["answers"][0]
    row = compare(whole, failed)["rows"][-1]
    assert row["label"] == "end"
    assert row["differences"][0] == "outcome: completed, failed"


def test_numbers_stand_beside_each_other_with_their_ratio():
    (compared,) = SAMPLES["compared"]()["comparisons"]
    numbers = {one["id"]: one for one in compared["numbers"]}
    assert (numbers["time_to_first_chunk"]["left"], numbers["time_to_first_chunk"]["right"]) == ("358 ms", "498 ms")
    assert numbers["time_to_first_chunk"]["ratio"] == 1.391
    assert numbers["stalls"]["ratio"] is None  # nothing can be divided by none


def test_all_pairs_of_four_are_compared_and_of_more_each_with_the_first():
    answers = [_answer([("text", "same")]) for _ in range(5)]
    assert len(comparisons(answers[:4])) == 6
    assert len(comparisons(answers)) == 4
    assert comparisons(answers[:1]) == []


def test_answers_of_thousands_of_runs_are_compared_by_their_beginnings_and_ends():
    runs = [(f"tool_{index}", "x") for index in range(2100)]
    compared = compare(_answer(runs), _answer([("other", "x"), *runs[1:-1][::-1], runs[-1]]))
    assert compared["rows"][-1]["same"]
    assert not compared["same"]
