"""The table of forms: a file is read by what its bytes show, and written by the ending of its name."""

import gzip

import pytest

from bundles.made_bundles import FULL
from partstream_devtools.bundles.archive import write_bundle
from partstream_devtools.bundles.documents import BundleContentError, BundleError, UnknownFormError
from partstream_devtools.bundles.exchange import HowEnded
from partstream_devtools.bundles.forms import FORMS, form_of, read_any, write_as
from partstream_devtools.bundles.partial import PartialRecording
from rows import one_test_for

SSE = b'data: {"a": 1}\n\ndata: [DONE]\n\n'
LINES = b'{"a": 1}\n{"b": 2}\n'


@pytest.mark.parametrize("name", ["a.partstream.zip", "a.zip", "download", "a.sse"])
def test_a_bundle_is_known_by_its_bytes_whatever_its_name(name: str) -> None:
    assert read_any(write_bundle(FULL), name) == FULL


def test_a_recording_that_grows_is_read_too() -> None:
    appended: list[bytes] = []
    PartialRecording(appended.append, "record", "p")
    assert read_any(b"".join(appended), "a.partstream.part").source == "record"


@one_test_for(
    ("data", "name", "source", "body"),
    [
        (SSE, "a.sse", "sse", SSE),
        (LINES, "a.jsonl", "jsonl", LINES),
        (LINES, "a.ndjson", "ndjson", LINES),
        (gzip.compress(SSE, mtime=0), "a.sse.gz", "sse", SSE),
        (b'[{"a": 1},\n {"b": 2}]', "a.json", "jsonl", b'{"a":1}\n{"b":2}\n'),
        (b"HTTP/1.1 200 OK\r\nServer: x\r\n\r\n" + SSE, "a.txt", "stream", SSE),
        (SSE, "-", "stream", SSE),
    ],
)
def test_a_stream_alone_is_an_exchange_without_a_clock(data: bytes, name: str, source: str, body: bytes) -> None:
    bundle = read_any(data, name)
    (exchange,) = bundle.exchanges
    assert (bundle.source, exchange.body, exchange.has_clock) == (source, body, False)
    assert (exchange.request, exchange.head, exchange.protocol) == (None, None, None), "nothing is invented"
    assert exchange.end.how is HowEnded.WHOLE


@pytest.mark.parametrize(
    ("data", "got"), [(b"", "nothing"), (b" \n", "nothing"), (b"\x1f\x8bxyz1234567", "gzip that cannot be unpacked")]
)
def test_what_holds_no_stream_is_refused(data: bytes, got: str) -> None:
    with pytest.raises(BundleError, match=got):
        read_any(data, "a.sse")


def test_a_body_is_written_alone() -> None:
    assert write_as(read_any(SSE, "a.sse"), "b.sse") == SSE
    with pytest.raises(BundleContentError, match="2 exchanges, expected one"):
        write_as(FULL, "b.sse")


def test_the_ending_of_the_name_says_the_form_that_is_written() -> None:
    assert write_as(FULL, "Some Name.PARTSTREAM.ZIP") == write_bundle(FULL)
    with pytest.raises(UnknownFormError, match=r"'a\.docx', expected a name that ends with one of \.partstream\.zip"):
        write_as(FULL, "a.docx")


def test_every_form_has_a_name_an_ending_and_a_use_of_its_own() -> None:
    endings = [ending for form in FORMS for ending in form.endings]
    assert len(endings) == len(set(endings))
    assert all(ending.startswith(".") for ending in endings)
    assert all(form.read is not None or form.write is not None for form in FORMS)
    assert form_of(b"data: {}") is None
