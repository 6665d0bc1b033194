"""Each row of the matrix, in every way that its bytes can come."""

from collections.abc import Callable, Iterable

import pytest

from matrix.rows import Expected, Row, kinds
from partstream import (
    DataPart,
    Finish,
    StreamOptions,
    StreamReader,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    Unmapped,
    read_stream,
)
from partstream.lm.outputs import CitationMode
from protocols.feeding import byte_by_byte, pieces_of_any_size, whole
from rows import one_test_for

KINDS = kinds()
OPTIONS = StreamOptions(call_id_prefix="", citations=CitationMode.OFF)


def _read(row: Row, feed: Callable[[bytes], Iterable[bytes]]) -> tuple[Expected, str]:
    """What comes of a row, and the message of its error. The bytes of a document are known to be one."""
    unmapped: list[Unmapped] = []
    if row.form == "document":
        reader = StreamReader(row.wire, OPTIONS)
        outputs = [*reader.feed_document(b"".join(feed(row.data()))), *reader.end()]
        unmapped += (one for one in outputs if isinstance(one, Unmapped))
        parts = [one for one in outputs if not isinstance(one, Unmapped)]
    else:
        parts = [*read_stream(feed(row.data()), protocol=row.wire, options=OPTIONS, on_unmapped=unmapped.append)]
    *answer, finish = parts
    assert isinstance(finish, Finish)
    calls = [part for part in answer if isinstance(part, ToolCallPart)]
    assert len({call.call_id for call in calls}) == len(calls), "every call has an id of its own"
    thoughts = [part.value for part in answer if isinstance(part, ThinkingPart)]
    said = "" if finish.error is None else finish.error.message
    return Expected(
        text="".join(part.value for part in answer if isinstance(part, TextPart)),
        thinking="".join(one if isinstance(one, str) else "".join(one) for one in thoughts),
        calls=tuple((call.name, dict(call.input)) for call in calls),
        media=tuple(part.mime_type for part in answer if isinstance(part, DataPart)),
        finish=None if finish.reason is None else finish.reason.unified.value,
        outcome=finish.outcome.value,
        error=row.expected.error if row.expected.error in said and bool(row.expected.error) == bool(said) else said,
        unmapped=tuple(sorted(one.type for one in unmapped)),
    ), said


@pytest.mark.parametrize(
    ("name", "wire"), [(name, wire) for name, (_, rows) in KINDS.items() for wire in sorted({row.wire for row in rows})]
)
def test_a_fault_of_a_server_gives_the_one_right_answer(name: str, wire: str):
    """A document is read once it is there; a stream also in pieces, and the first of each wire byte by byte."""
    rows = [row for row in KINDS[name][1] if row.wire == wire]
    streams = [row for row in rows if row.form != "document"]
    for row in streams[:1]:
        _gives_the_one_right_answer(row, byte_by_byte)
    one_test_for("row", rows, [f"{row.shape}-{row.form}" for row in rows])(_gives_the_one_right_answer)()


def _gives_the_one_right_answer(row: Row, *feeds: Callable[[bytes], Iterable[bytes]]) -> None:
    for feed in feeds or ((whole,) if row.form == "document" else (whole, pieces_of_any_size)):
        answer, said = _read(row, feed)
        assert answer == row.expected, f"{feed.__name__}: {said}"


@one_test_for("name", KINDS)
def test_a_kind_has_a_sentence_and_no_row_twice(name: str):
    kind, rows = KINDS[name]
    assert kind.endswith(".")
    places = [(row.wire, row.shape, row.form) for row in rows]
    assert len(places) == len(set(places))
