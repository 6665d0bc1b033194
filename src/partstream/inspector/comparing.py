"""Two answers beside each other, aligned by the structure of their parts, and not by time.

Deltas are joined first, because two answers hardly ever cut their texts alike. Then the longest common subsequence of
the runs is found, by kind and name of the tool; what stands for each other is compared.
"""

from __future__ import annotations

import re
from itertools import combinations
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Sequence

    from partstream.devtools.inspector.shapes import AnswerView, ComparedNumber, ComparisonRow, ComparisonView, RunView

__all__ = ["MOST_IN_PAIRS", "compare", "comparisons"]

MOST_IN_PAIRS: Final = 4
"""Answers of which all pairs are compared; of more, each with the first."""
_MOST_CELLS: Final = 4_000_000
"""Cells of the table that finds the longest common subsequence; of more, only beginnings and ends are paired."""
_AROUND: Final = 24
"""Characters that are shown around the place where two texts differ."""
_DIFFERS: Final = {"text": "texts differ", "call": "arguments differ", "data": "data differ"}
_CLASS_OF_ID: Final = re.compile(r"(?:[A-Za-z]+[-_])+")


def comparisons(answers: Sequence[AnswerView]) -> list[ComparisonView]:
    """The comparisons of answers: all pairs of four or fewer, else each with the first."""
    if len(answers) <= MOST_IN_PAIRS:
        return [compare(left, right) for left, right in combinations(answers, 2)]
    return [compare(answers[0], right) for right in answers[1:]]


def compare(left: AnswerView, right: AnswerView) -> ComparisonView:
    """One answer beside another."""
    rows = [_row(left, right, one, two) for one, two in _aligned(left["runs"], right["runs"])]
    ends = list(_differences_of_ends(left, right))
    if ends:
        rows.append({"left": None, "right": None, "label": "end", "same": False, "differences": ends})
    return {
        "left": left["id"],
        "right": right["id"],
        "same": all(row["same"] for row in rows),
        "rows": rows,
        "numbers": _numbers(left, right),
    }


def _key(run: RunView) -> Hashable:
    """What a run has to have in common with the one that stands for it."""
    return run["label"] if run["kind"] == "call" else run["kind"]


def _aligned(left: Sequence[RunView], right: Sequence[RunView]) -> list[tuple[int | None, int | None]]:
    """The runs of both sides in order, those that stand for each other together."""
    one, two = [_key(run) for run in left], [_key(run) for run in right]
    start = _common(one, two)
    end = _common(one[start:][::-1], two[start:][::-1])
    inner = (one[start : len(one) - end], two[start : len(two) - end])
    pairs: list[tuple[int | None, int | None]] = [(index, index) for index in range(start)]
    pairs += [(None if a is None else a + start, None if b is None else b + start) for a, b in _longest_common(*inner)]
    pairs += [(len(one) - end + index, len(two) - end + index) for index in range(end)]
    return pairs


def _common(one: Sequence[Hashable], two: Sequence[Hashable]) -> int:
    return next((index for index, (a, b) in enumerate(zip(one, two, strict=False)) if a != b), min(len(one), len(two)))


def _longest_common(one: Sequence[Hashable], two: Sequence[Hashable]) -> Iterator[tuple[int | None, int | None]]:
    """The pairs of the longest common subsequence, and between them what only one side has."""
    rows, columns = len(one), len(two)
    if rows * columns > _MOST_CELLS:
        yield from ((index, None) for index in range(rows))
        yield from ((None, index) for index in range(columns))
        return
    lengths = [[0] * (columns + 1) for _ in range(rows + 1)]
    for a in range(rows - 1, -1, -1):
        for b in range(columns - 1, -1, -1):
            longest = max(lengths[a + 1][b], lengths[a][b + 1])
            lengths[a][b] = lengths[a + 1][b + 1] + 1 if one[a] == two[b] else longest
    a = b = 0
    while a < rows or b < columns:
        if a < rows and b < columns and one[a] == two[b]:
            yield a, b
            a, b = a + 1, b + 1
        elif b == columns or (a < rows and lengths[a + 1][b] >= lengths[a][b + 1]):
            yield a, None
            a += 1
        else:
            yield None, b
            b += 1


# ---- what stands for each other ----


def _row(left: AnswerView, right: AnswerView, one: int | None, two: int | None) -> ComparisonRow:
    if one is None or two is None:
        run = right["runs"][two] if two is not None else left["runs"][one or 0]
        side = "right" if one is None else "left"
        label, differences = run["label"], [f"only on the {side}"]
    else:
        label = left["runs"][one]["label"]
        differences = list(_differences(left, right, left["runs"][one], right["runs"][two]))
    return {"left": one, "right": two, "label": label, "same": not differences, "differences": differences}


def _differences(left: AnswerView, right: AnswerView, one: RunView, two: RunView) -> Iterator[str]:
    texts = _text(left, one), _text(right, two)
    if texts[0] != texts[1]:
        yield _first_difference(*texts, _DIFFERS.get(one["kind"], f"{one['kind']} differs"))
    ids = _class_of_id(left, one), _class_of_id(right, two)
    if ids[0] != ids[1]:
        yield f"ids of another kind: {ids[0] or 'none'}, {ids[1] or 'none'}"


def _text(view: AnswerView, run: RunView) -> str:
    return "".join(part["text"] for part in view["parts"][run["from"] : run["to"] + 1])


def _class_of_id(view: AnswerView, run: RunView) -> str:
    """What ids begin with that are made alike, such as `call_`."""
    part = view["parts"][run["from"]]
    found = _CLASS_OF_ID.match(part["callId"] or part["id"] or "")
    return "" if found is None else found[0]


def _first_difference(left: str, right: str, what: str) -> str:
    place = _common(left, right)
    start = max(0, place - _AROUND)
    shown = (repr(text[start : place + _AROUND]) for text in (left, right))
    return f"{what} at character {place + 1:,} ({len(left):,} and {len(right):,} in all): {' and '.join(shown)}"


def _differences_of_ends(left: AnswerView, right: AnswerView) -> Iterator[str]:
    """What differs of the ends: outcome, reason, broken rules and types of events that no part represents."""
    values = (
        ("outcome", left["outcome"], right["outcome"]),
        ("finish reason", _reason(left), _reason(right)),
        ("broken rules", _rules(left), _rules(right)),
        ("events without a part", _types(left), _types(right)),
    )
    for name, one, two in values:
        if one != two:
            yield f"{name}: {one or 'none'}, {two or 'none'}"


def _reason(view: AnswerView) -> str:
    return "" if view["finishReason"] is None else view["finishReason"]["unified"]


def _rules(view: AnswerView) -> str:
    return ", ".join(sorted({one["rule"] for one in view["violations"]}))


def _types(view: AnswerView) -> str:
    return ", ".join(sorted({one["type"] for one in view["unmapped"]}))


def _numbers(left: AnswerView, right: AnswerView) -> list[ComparedNumber]:
    return [
        {
            "id": one["id"],
            "label": one["label"],
            "left": one["text"],
            "right": two["text"],
            "ratio": round(two["value"] / one["value"], 3) if one["value"] and two["value"] is not None else None,
        }
        for one, two in zip(left["numbers"], right["numbers"], strict=True)
    ]
