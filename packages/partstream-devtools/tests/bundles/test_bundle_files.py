"""The file: what is written is read again, equal content gives equal bytes, and other programs can open it."""

import io
import json
import zipfile
from dataclasses import replace
from hashlib import sha256

import pytest
from hypothesis import given, settings

from bundles.made_bundles import BODY, FULL, REST, bundles
from partstream.lm.parts import TextPart, ToolCallPart
from partstream_devtools.bundles.archive import read_bundle, write_bundle
from partstream_devtools.bundles.documents import BundleContentError
from partstream_devtools.bundles.exchange import (
    Bundle,
    Chunk,
    ExchangeEnd,
    HowEnded,
    RecordedAnswer,
    RedactionLevel,
    ReportedPart,
)
from rows import one_test_for


@given(bundles)
@settings(max_examples=150)
def test_what_is_written_is_read_again(bundle: Bundle) -> None:
    assert read_bundle(write_bundle(bundle)) == bundle


def test_equal_content_gives_equal_bytes() -> None:
    other_order = replace(FULL, versions=dict(reversed(FULL.versions.items())))
    assert write_bundle(FULL) == write_bundle(other_order)
    assert write_bundle(read_bundle(write_bundle(FULL))) == write_bundle(FULL)
    assert write_bundle(FULL) != write_bundle(replace(FULL, source="chat"))


def test_a_zip_of_any_program_opens_it() -> None:
    with zipfile.ZipFile(io.BytesIO(write_bundle(FULL, "<!doctype html>"))) as archive:
        assert archive.testzip() is None
        assert archive.namelist() == [
            "README.txt",
            "answers/001/answer.json",
            "answers/001/parts.jsonl",
            "exchanges/001/exchange.json",
            "exchanges/001/request.json",
            "exchanges/002/exchange.json",
            "exchanges/002/request.json",
            "exchanges/002/response.chunks",
            "exchanges/002/response.head.json",
            "manifest.json",
            "report.html",
        ]
        assert {entry.date_time for entry in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
        assert {entry.external_attr >> 16 for entry in archive.infolist()} == {0o100600}
        assert archive.read("report.html") == b"<!doctype html>"


def test_the_manifest_lists_every_other_file_with_its_digest() -> None:
    with zipfile.ZipFile(io.BytesIO(write_bundle(FULL))) as archive:
        manifest = json.loads(archive.read("manifest.json"))
        assert manifest["format"] == 1
        assert manifest["redaction"] == {"level": "keys", "counts": {"bearer": 2, "cookie": 1}, "kept": ["text"]}
        assert set(manifest["files"]) == set(archive.namelist()) - {"manifest.json"}
        for name, digest in manifest["files"].items():
            assert sha256(archive.read(name)).hexdigest() == digest


def test_reads_stand_in_the_file_as_they_came() -> None:
    with zipfile.ZipFile(io.BytesIO(write_bundle(FULL))) as archive:
        chunks = archive.read("exchanges/002/response.chunks")
    first = (110).to_bytes(8, "big") + len(BODY).to_bytes(4, "big") + BODY
    assert chunks == first + (2**40).to_bytes(8, "big") + len(REST).to_bytes(4, "big") + REST


def test_a_read_without_a_time_says_so() -> None:
    exchange = replace(FULL.exchanges[1], chunks=(Chunk(None, b"a"),))
    with zipfile.ZipFile(io.BytesIO(write_bundle(replace(FULL, exchanges=(exchange,))))) as archive:
        assert archive.read("exchanges/002/response.chunks") == b"\xff" * 8 + b"\x00\x00\x00\x01a"


def test_a_part_that_json_cannot_hold_is_shown_and_marked() -> None:
    part = ToolCallPart("c", "f", {"x": float("inf")})
    answer = RecordedAnswer(1, reported=(ReportedPart(5, part), ReportedPart(6, TextPart("a"))))
    data = write_bundle(Bundle("chat", "p", answers=(answer,)))
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        first, second = map(json.loads, archive.read("answers/001/parts.jsonl").splitlines())
    assert (first["inexact"], "inexact" in second) == (True, False)
    read = read_bundle(data).answers[0].reported
    assert read[0].part == ToolCallPart("c", "f", {"shown": "{'x': inf}"})
    assert read[1].part == TextPart("a")


@one_test_for(
    ("bundle", "got"),
    [
        (replace(FULL, exchanges=FULL.exchanges * 2), r"the numbers \[1, 2, 1, 2\]"),
        (replace(FULL, exchanges=FULL.exchanges[::-1]), r"the numbers \[2, 1\]"),
        (replace(FULL, answers=(RecordedAnswer(0),)), r"the numbers \[0\]"),
        (replace(FULL, answers=(RecordedAnswer(1, offset=-1),)), "the time -1"),
        (
            replace(FULL, exchanges=(replace(FULL.exchanges[0], end=ExchangeEnd(2**63, HowEnded.CUT)),)),
            "the time 9223372036854775808",
        ),
    ],
)
def test_what_the_format_cannot_hold_is_not_written(bundle: Bundle, got: str) -> None:
    with pytest.raises(BundleContentError, match=got):
        write_bundle(bundle)


@pytest.mark.parametrize(
    ("level", "says"),
    [
        (RedactionLevel.KEYS, "TEXTS ARE NOT"),
        (RedactionLevel.STRUCTURE, "can recognize it by them"),
        (RedactionLevel.NONE, "NOTHING IS REPLACED"),
        (None, "THIS FILE IS NOT REDACTED"),
    ],
)
def test_the_readme_says_what_it_holds_how_to_open_and_delete_it_and_the_limits(
    level: RedactionLevel | None, says: str
) -> None:
    redaction = None if level is None or FULL.redaction is None else replace(FULL.redaction, level=level)
    with zipfile.ZipFile(io.BytesIO(write_bundle(replace(FULL, redaction=redaction)))) as archive:
        text = archive.read("README.txt").decode()
    for said in (says, "2 exchanges", "1 answer", "partstream inspect FILE", "How to delete it", "No list of rules"):
        assert said in text
    assert ("      2  bearer" in text) is (level is not None)
    assert "report.html" not in text
    assert max(map(len, text.splitlines())) <= 120
