"""The numbers of an answer, by streams with known times; and each row's reason where it is missing."""

from __future__ import annotations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from inspector import sample_streams as streams
from inspector.sample_streams import answer, bundle, exchange, paced
from partstream.lm.parts import TextPart
from partstream_devtools.bundles.exchange import HowEnded
from partstream_devtools.inspector.metrics import NUMBERS, Moment, rhythm_of, shown_number
from partstream_devtools.inspector.view import ViewedFile, view_of
from rows import one_test_for

if TYPE_CHECKING:
    from collections.abc import Sequence

    from partstream_devtools.bundles.exchange import Bundle
    from partstream_devtools.inspector.shapes import AnswerView, NumberView


def _answer(made: Bundle) -> AnswerView:
    (shown,) = view_of([ViewedFile("answer", "bundle", made)])["answers"]
    return shown


def _numbers(made: Bundle) -> dict[str, NumberView]:
    return {number["id"]: number for number in _answer(made)["numbers"]}


def _values(made: Bundle) -> dict[str, float | None]:
    return {name: number["value"] for name, number in _numbers(made).items()}


def _missing(made: Bundle) -> dict[str, str | None]:
    return {name: number["missing"] for name, number in _numbers(made).items() if number["missing"] is not None}


# The request's last byte is written at 2 ms. Twelve texts, of which the last six come in two reads.
_TEXTS = [streams.text(f"t{index} ") for index in range(12)]
KNOWN: list[tuple[float | None, bytes]] = [
    (102.0, streams.created()[:30]),
    (112.0, streams.created()[30:]),
    (130.0, streams.KEEP_ALIVE),
    (202.0, streams.thinking("Hm.")),
    (302.0, _TEXTS[0]),
    *[(302.0 + 100 * index, _TEXTS[index]) for index in range(1, 6)],
    (1302.0, b"".join(_TEXTS[6:9])),
    (1600.0, streams.KEEP_ALIVE),
    (3802.0, b"".join(_TEXTS[9:])),
    (3852.0, streams.completed(output=120, reasoning=50)),
    (3902.0, streams.DONE),
]


def test_every_number_of_a_stream_with_known_times():
    values = _values(bundle(exchange(KNOWN, end=4002)))
    assert values == {
        "time_to_first_byte": 100,
        "time_to_first_event": 110,
        "time_to_first_thinking": 200,
        "time_to_first_chunk": 300,
        "shown": 300,
        "longest_gap": 2500,  # the keep-alive in it does not count
        "time_per_output_chunk": 100,
        "time_per_output_chunk_p95": 1500,  # 0 0 0 0 100 100 100 100 100 500 2500: between the last two
        "lumps": pytest.approx(100 * 4 / 12),
        "tokens_per_second": pytest.approx(70 / 3.5),
        "stalls": 1,
        "closing_delay": 150,
        "total": 4000,
    }


def test_a_number_says_what_it_is_and_how_much():
    number = _numbers(bundle(exchange(KNOWN, end=4002)))["longest_gap"]
    assert number["text"] == "2,500 ms"
    assert number["definition"].startswith("The longest time between two events that changed the answer.")
    assert number["missing"] is None


CASES: dict[str, tuple[Bundle, dict[str, str]]] = {
    "nothing came": (
        bundle(exchange([], end=50, how=HowEnded.NO_RESPONSE, has_head=False)),
        {
            "time_to_first_byte": "no byte came",
            "time_to_first_event": "no event came",
            "time_to_first_thinking": "no thinking",
            "time_to_first_chunk": "neither text nor a call came",
            "shown": "neither text nor a call came",
            "longest_gap": "fewer than two events changed the answer",
            "time_per_output_chunk": "fewer than 10 text events",
            "time_per_output_chunk_p95": "fewer than 10 text events",
            "lumps": "fewer than 10 text events",
            "tokens_per_second": "no usage",
            "stalls": "fewer than two events changed the answer",
            "closing_delay": "no event ended the answer",
        },
    ),
    "only keep-alives": (
        bundle(exchange([(10.0, streams.KEEP_ALIVE), (20.0, streams.KEEP_ALIVE)])),
        {"time_to_first_event": "no event came", "longest_gap": "fewer than two events changed the answer"},
    ),
    "a short answer": (
        bundle(exchange(paced([streams.text("a"), streams.text("b"), streams.completed()]))),
        {"tokens_per_second": "less than 1 s", "lumps": "fewer than 10 text events"},
    ),
    "parts alone": (
        bundle(answers=[answer([(5.0 + 200 * index, TextPart("a")) for index in range(12)])]),
        {
            "time_to_first_byte": "no bytes in the recording",
            "time_to_first_event": "no bytes in the recording",
            "lumps": "no bytes in the recording",
            "tokens_per_second": "no usage",
        },
    ),
}


@pytest.mark.parametrize(("made", "reasons"), CASES.values(), ids=CASES)
def test_a_number_that_is_missing_says_why(made: Bundle, reasons: dict[str, str]):
    assert reasons.items() <= _missing(made).items()


def test_without_a_clock_every_number_is_missing_and_says_so():
    made = bundle(exchange([(None, b"".join(streams.usual()))]))
    numbers = _numbers(made)
    assert {number["missing"] for number in numbers.values()} == {"no clock in the recording"}
    assert {number["text"] for number in numbers.values()} == {"-"}
    shown = _answer(made)
    assert (shown["shown"], shown["gaps"], shown["events"][0]["at"]) == ([], [], None)


def test_a_lane_that_is_off_does_not_keep_the_other_numbers_away():
    parts = [(10.0, TextPart("a")), (None, TextPart("b"))]
    numbers = _numbers(bundle(answers=[answer(parts)]))
    assert {number["missing"] for number in numbers.values()} == {"no clock in the recording"}


def _moments(times: Sequence[float]) -> list[Moment]:
    return [Moment(number, at, "text", number) for number, at in enumerate(times, start=1)]


@pytest.mark.parametrize(
    ("times", "stalls"),
    [
        ([0, 50, 100, 2100, 2150], []),  # 2,000 ms are not more than 2 s
        ([0, 50, 100, 2101, 2151], [(3, 4)]),
        ([0, 200, 400, 4400, 4600], []),  # nor 4,000 more than 20 times 200
        ([0, 200, 400, 4401, 4601], [(3, 4)]),
    ],
)
def test_a_stall_is_longer_than_two_seconds_and_than_twenty_medians(times: list[float], stalls: list[Any]):
    assert [(gap["after"], gap["before"]) for gap in rhythm_of(_moments(times)).notable if gap["stall"]] == stalls


def test_the_longest_gap_is_between_two_events_that_changed_the_answer():
    assert rhythm_of(_moments([0, 10, 700, 710])).longest == {"after": 2, "before": 3, "ms": 690, "stall": False}
    assert rhythm_of(_moments([0])).longest is None


@one_test_for(
    ("value", "unit", "text"),
    [
        (4.26, "ms", "4.3 ms"),
        (1234.5, "ms", "1,234 ms"),
        (79.43, "tokens/s", "79.4 tokens/s"),
        (2, "", "2"),
        (31, "%", "31 %"),
    ],
)
def test_numbers_are_shown_as_people_read_them(value: float, unit: str, text: str):
    assert shown_number(value, unit) == text


def test_the_page_of_the_documentation_has_the_definition_of_each_number():
    page = (Path(__file__).resolve().parents[4] / "docs" / "inspector.md").read_text()
    for row in NUMBERS:
        assert f"| {row['label']} | {row['definition']} |" in page.replace("`", "")
