"""JSON in an event stream without `data:` is an event, and nothing else changes."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from partstream.codec.sse import BareJSONDecoder, SSEDecoder
from rows import one_test_for

DOCUMENT = {"a": 'b"}{[\\', "c": [{"d": [1, {}]}], "é": "😀"}


def _events(decoder: SSEDecoder, data: bytes, size: int | None = None) -> list[tuple[bytes, bytes]]:
    size = size or len(data) or 1
    pieces = [data[at : at + size] for at in range(0, len(data), size)]
    return [*(event for piece in pieces for event in decoder.feed(piece)), *decoder.end()]


def _values(data: str, size: int | None = None) -> list[Any]:
    return [json.loads(value) for _, value in _events(BareJSONDecoder(), data.encode(), size)]


FORMS = {
    "one line": json.dumps(DOCUMENT),
    "many lines": json.dumps(DOCUMENT, indent=2),
    "blank lines around": "\n\r\n \n" + json.dumps(DOCUMENT, indent=1) + "\n\n\n",
    "CR LF": json.dumps(DOCUMENT, indent=1).replace("\n", "\r\n") + "\r\n",
    "behind a comment": ": wait\n" + json.dumps(DOCUMENT),
    "after an event of its own": "event: x\n\n" + json.dumps(DOCUMENT),
}


@one_test_for("size", [None, 1, 3, 7])
@one_test_for("form", FORMS.values(), ids=FORMS)
def test_a_value_is_an_event_however_it_is_written_and_cut(form: str, size: int | None) -> None:
    assert _values(form, size) == [DOCUMENT]


@pytest.mark.parametrize("size", [None, 1, 5])
def test_values_and_events_follow_each_other(size: int | None) -> None:
    data = '{"a":1}\n{"b":\n2}data: {"c":3}\n\n[{"d":4}]\ndata: {"e":5}\n\n'
    assert _values(data, size) == [{"a": 1}, {"b": 2}, {"c": 3}, {"d": 4}, {"e": 5}]


LISTS = {
    "one line": json.dumps([DOCUMENT, {"b": []}]),
    "many lines": json.dumps([DOCUMENT, {"b": []}], indent=2),
    "as Gemini's servers write it": "[" + json.dumps(DOCUMENT, indent=1) + "\r\n,\r\n" + '{"b": []}\r\n]\r\n',
    "blank lines between": "[\n\n" + json.dumps(DOCUMENT) + "\n\n,\n\n" + '{"b": []}\n\n]\n',
    "without its end": "[" + json.dumps(DOCUMENT, indent=1) + "\n,\n" + '{"b": []}',
    "events behind it": json.dumps([DOCUMENT]) + '\ndata: {"b": []}\n\n',
    "events behind one without its end": "[" + json.dumps(DOCUMENT) + '\ndata: {"b": []}\n\n',
}


@one_test_for("size", [None, 1, 3])
@one_test_for("form", LISTS.values(), ids=LISTS)
def test_each_object_of_a_list_is_a_value(form: str, size: int | None) -> None:
    assert _values(form, size) == [DOCUMENT, {"b": []}]


def test_an_object_of_a_list_is_there_before_the_list_ends() -> None:
    assert BareJSONDecoder().feed(b'[{"a":\n1}\n,') == [(b"", b'{"a":\n1}')]


@pytest.mark.parametrize("size", [None, 1])
def test_an_object_ends_the_event_before_it(size: int | None) -> None:
    """An error that a server writes into the middle of its stream: docs/wires/gemini.md#framing."""
    assert _values('data: {"a":1}\n{"error":{}}\n', size) == [{"a": 1}, {"error": {}}]


def test_a_mark_of_the_end_needs_no_name() -> None:
    assert _events(BareJSONDecoder(), b'{"a":1}\n[DONE]\n') == [(b"", b'{"a":1}'), (b"", b"[DONE]")]


def test_words_in_brackets_are_no_value() -> None:
    assert _events(BareJSONDecoder(), b'[info] model loaded\n{broken\ndata: {"a":1}\n\n') == [(b"", b'{"a":1}')]


def test_a_value_that_is_too_large_is_an_error_as_an_event_is() -> None:
    decoder = BareJSONDecoder(100)
    assert _events(decoder, b'{"a":\n"' + b"x" * 200 + b'"}\n{"b":1}\n') == []
    assert decoder.error is not None


LINES = st.sampled_from(["data: {}", "data: [1", "data:", ": x", "event: a", "id: 1", "", "", "x", "data: 1]", "]"])


@given(st.lists(LINES, max_size=12), st.integers(1, 9))
def test_a_stream_without_bare_json_means_what_the_standard_says(lines: list[str], size: int) -> None:
    data = "\n".join([*lines, "", ""]).encode()
    assert _events(BareJSONDecoder(), data, size) == _events(SSEDecoder(), data)
