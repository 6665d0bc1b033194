"""Each row of the matrix of requests: exactly the JSON that the server takes, and a note for what it does not say."""

import pytest

from matrix.requests import RequestRow, kinds_of_requests, value_at
from rows import one_test_for

KINDS = kinds_of_requests()
ROWS = [
    pytest.param(row, id=f"{name}-{row.wire}-{row.shape}-{row.url}-{row.model}")
    for name, (_, rows) in KINDS.items()
    for row in rows
]


@one_test_for("row", ROWS)
def test_a_request_goes_out_as_the_server_takes_it(row: RequestRow):
    body = row.body()
    assert {place: value_at(body, place) for place in row.expected} == row.expected


@one_test_for("row", ROWS)
def test_what_the_server_has_no_place_for_is_named(row: RequestRow):
    prepared = row.prepared()
    notes = [*prepared.notes, *row.corner.notes(prepared.whole)]
    assert len(notes) == len(row.notes), notes
    assert all(words in note.subject for words, note in zip(row.notes, notes, strict=True)), notes


@pytest.mark.parametrize("name", KINDS)
def test_a_kind_of_requests_has_a_sentence_and_no_row_twice(name: str):
    kind, rows = KINDS[name]
    assert kind.endswith(".")
    places = [(row.wire, row.shape, row.url, row.model, row.asked_in) for row in rows]
    assert len(places) == len(set(places))
