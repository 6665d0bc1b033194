"""A recording that grows: whatever was appended before a program died is read."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bundles.made_bundles import FULL, bundles
from partstream_devtools.bundles.documents import BundleError, NotABundleError, UnknownFormError
from partstream_devtools.bundles.exchange import Bundle, Chunk, ExchangeEnd, HowEnded, RecordedExchange
from partstream_devtools.bundles.partial import PartialRecording, read_partial
from rows import one_test_for


def _appended(bundle: Bundle) -> list[bytes]:
    """What is appended for a bundle, call by call."""
    appended: list[bytes] = []
    recording = PartialRecording(
        appended.append, bundle.source, bundle.made_by, dict(bundle.versions), bundle.redaction
    )
    for exchange in bundle.exchanges:
        recording.begin(exchange)
        if exchange.head is not None:
            recording.head(exchange.number, exchange.head)
        for chunk in exchange.chunks:
            recording.chunk(exchange.number, chunk)
        recording.end(exchange.number, exchange.end)
    for answer in bundle.answers:
        recording.answer(answer)
    return appended


@given(bundles)
@settings(max_examples=100)
def test_what_was_recorded_to_its_end_is_the_bundle(bundle: Bundle) -> None:
    assert read_partial(b"".join(_appended(bundle))) == replace(bundle, notes=())


def test_everything_is_appended_at_once() -> None:
    appended = _appended(FULL)
    # The recording, two exchanges (one with a head and two reads), their ends, an answer.
    assert len(appended) == 1 + 2 + 3 + 2 + 1


@given(st.integers(0, len(b"".join(_appended(FULL)))))
def test_a_recording_that_stops_anywhere_holds_what_came(end: int) -> None:
    data = b"".join(_appended(FULL))[:end]
    if end < 8:
        with pytest.raises(NotABundleError):
            read_partial(data)
        return
    read = read_partial(data)
    for exchange, whole in zip(read.exchanges, FULL.exchanges, strict=False):
        assert whole.chunks[: len(exchange.chunks)] == exchange.chunks
        assert exchange.request == whole.request


def test_an_exchange_that_was_interrupted_is_cut_where_its_last_read_came() -> None:
    appended = _appended(replace(FULL, exchanges=FULL.exchanges[1:], answers=()))
    (exchange,) = read_partial(b"".join(appended[:-2])).exchanges
    assert (exchange.end.how, exchange.end.at, len(exchange.chunks)) == (HowEnded.CUT, 110, 1)
    assert exchange.end.error is not None
    assert exchange.end.error.type == "InterruptedRecording"
    (exchange,) = read_partial(b"".join(appended[:2])).exchanges
    assert exchange.end.how is HowEnded.NO_RESPONSE


def test_answers_that_run_at_once_do_not_mix() -> None:
    appended: list[bytes] = []
    recording = PartialRecording(appended.append, "record", "p")
    none = ExchangeEnd(None, HowEnded.NO_RESPONSE)
    for number in (1, 2):
        recording.begin(RecordedExchange(number, number, None, None, None, None, (), none))
    for at in range(4):
        recording.chunk(1 + at % 2, Chunk(at, b"%d" % at))
    recording.end(2, ExchangeEnd(9, HowEnded.WHOLE))
    first, second = read_partial(b"".join(appended)).exchanges
    assert (first.body, first.protocol, first.end.how) == (b"02", None, HowEnded.CUT)
    assert (second.body, second.protocol, second.end.how) == (b"13", None, HowEnded.WHOLE)


def test_an_end_of_an_older_file_may_name_the_protocol() -> None:
    begun = b"".join(_appended(FULL)[:2])
    end = _record(b'{"kind":"end","number":1,"at":null,"how":"whole","error":null,"protocol":"gemini"}')
    assert read_partial(begun + end).exchanges[0].protocol == "gemini"


def _record(data: bytes, sign: bytes = b"J") -> bytes:
    return sign + len(data).to_bytes(4, "big") + data


@one_test_for(
    ("record", "says"),
    [
        (_record(b"{}"), "field 'kind'"),
        (_record(b'{"kind": "picture"}'), "one of recording, exchange"),
        (_record(b'{"kind": "head", "number": 7}'), "the exchange 7"),
        (_record(b"\0" * 3, b"C"), "3 bytes"),
        (_record(b"\0\0\0\1" + b"\0" * 11 + b"\1ab", b"C"), "1 bytes after the read"),
        (_record(b"\0\0\0\1" + b"\0" * 11 + b"\1a", b"C"), "the exchange 1"),
        (_record(b"", b"X"), "the sign b'X'"),
    ],
)
def test_a_wrong_record_is_named_by_its_place(record: bytes, says: str) -> None:
    start: list[bytes] = []
    PartialRecording(start.append, "record", "p")
    (begins,) = start
    with pytest.raises(BundleError, match=f"the record at byte {len(begins)}") as caught:
        read_partial(begins + record)
    assert says in str(caught.value)


def test_a_format_of_a_newer_version_is_refused() -> None:
    begins: list[Any] = []
    PartialRecording(begins.append, "record", "p")
    with pytest.raises(UnknownFormError, match="the format 2"):
        read_partial(begins[0].replace(b'"format":1', b'"format":2'))
