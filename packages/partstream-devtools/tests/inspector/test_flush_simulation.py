"""What VS Code shows when: as it was measured in a real one, with and without the extension's pacing."""

from __future__ import annotations
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from partstream.lm.parts import TextPart, ThinkingPart, ToolCallPart
from partstream_devtools.inspector.metrics import PADDING, REPORT_INTERVAL, flushes

if TYPE_CHECKING:
    from partstream_devtools.inspector.shapes import ShownView

TRANSPORT = 50.0
"""Milliseconds that a measured arrival may be later than the simulated one: processes, and the timers of a browser."""


def _texts(count: int, every: float, first: float = 0) -> list[tuple[float, object]]:
    return [(first + every * index, TextPart(f"t{index}")) for index in range(count)]


def _times(shown: list[ShownView]) -> list[float]:
    return [flush["at"] for flush in shown]


# Measured in VS Code 1.139 with 60 texts that came 20 ms apart.


def test_a_steady_stream_without_pacing_comes_in_two_lumps_as_it_was_measured():
    shown = flushes(_texts(60, 20), 60 * 20, paced=False)
    assert [(flush["from"], flush["to"], flush["forced"]) for flush in shown] == [(0, 30, True), (31, 59, True)]
    for simulated, measured in zip(_times(shown), (616, 1238), strict=True):
        assert simulated <= measured <= simulated + TRANSPORT


def test_the_first_text_with_pacing_is_shown_at_once_and_the_others_in_turn_as_it_was_measured():
    shown = flushes(_texts(60, 20), 60 * 20, paced=True)
    assert (shown[0]["at"], shown[0]["to"], shown[0]["forced"]) == (0, 0, True)  # measured: at 10 ms
    gaps = [after - before for before, after in pairwise(_times(shown)[1:-1])]
    assert abs(median(gaps) - 40) <= 5  # measured: every 40 ms; 41.6 ms on a machine with much to do
    assert abs(len(shown) - 35) <= 1  # measured: 35 arrivals


def test_thirty_empty_parts_are_one_less_than_the_queue_takes():
    """Without the first text's own part, the padding alone would wait."""
    shown = flushes([(0, TextPart("a")), (1000, TextPart("b"))], 2000, paced=True)
    assert PADDING == 30
    assert [(flush["at"], flush["forced"]) for flush in shown] == [(0, True), (1030, False)]


def test_the_timer_starts_anew_with_every_part():
    shown = flushes([(0, TextPart("a")), (29, TextPart("b")), (58, TextPart("c"))], 500, paced=False)
    assert [(flush["at"], flush["from"], flush["to"], flush["forced"]) for flush in shown] == [(88, 0, 2, False)]


def test_the_end_of_the_answer_shows_what_waits():
    shown = flushes([(0, TextPart("a")), (10, TextPart("b"))], 15, paced=False)
    assert [(flush["at"], flush["to"], flush["forced"]) for flush in shown] == [(15, 1, True)]


def test_calls_and_other_thinking_wait_for_nothing_and_take_what_waits_along():
    parts = [
        (0.0, ThinkingPart("a", "t1")),
        (5.0, ThinkingPart("b", "t1")),
        (10.0, ThinkingPart("c", "t2")),
        (12.0, ToolCallPart("c1", "read", {})),
    ]
    shown = flushes(parts, 1000, paced=True)
    assert [(flush["at"], flush["from"], flush["to"]) for flush in shown] == [(42, 0, 3)]


def test_no_answer_shows_nothing():
    assert flushes([], 100, paced=True) == []


TIMES = st.lists(st.integers(0, 90), max_size=80)
KINDS = st.sampled_from(
    [TextPart("a"), TextPart(""), ThinkingPart("t", "1"), ThinkingPart("t"), ToolCallPart("c", "n", {})]
)


@given(TIMES, st.data(), st.booleans())
def test_every_part_is_shown_once_in_order_and_never_before_it_came(steps: list[int], data: st.DataObject, paced: bool):
    at, parts = 0.0, []
    for step in steps:
        at += step
        parts.append((at, data.draw(KINDS)))
    shown = flushes(parts, at + 7, paced=paced)
    said = [index for index, (_, part) in enumerate(parts) if not (paced and part == TextPart(""))]
    seen = [index for flush in shown for index in range(flush["from"], flush["to"] + 1) if index in set(said)]
    assert seen == said
    assert _times(shown) == sorted(_times(shown))
    for flush in shown:
        assert flush["at"] >= parts[flush["to"]][0]


def test_the_constants_are_those_of_the_extension():
    source = (Path(__file__).resolve().parents[4] / "extension" / "src" / "pacing.ts").read_text()
    assert f"REPORT_INTERVAL = {REPORT_INTERVAL:g};" in source
    assert f"FLUSH_PADDING = {PADDING};" in source


@pytest.mark.parametrize("paced", [True, False])
def test_a_long_answer_takes_time_by_its_length(paced: bool):
    shown = flushes(_texts(20_000, 2), 40_000, paced=paced)
    assert shown[-1]["to"] == 19_999
