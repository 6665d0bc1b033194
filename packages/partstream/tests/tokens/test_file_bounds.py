"""What a file takes at most: a bound that no file exceeds, whatever its header or its label claims."""

import asyncio
import io
import struct
import time
import tracemalloc
import zipfile
import zlib
from collections.abc import Callable

import pytest

from partstream.tokens.files import estimate_file_tokens, file_bound, most_input, pages_of
from rows import one_test_for
from serving.waits import in_short_waits

MOST = most_input("claude")
PDF = "application/pdf"


def pdf(*objects: bytes, trailer: bytes = b"<</Root 1 0 R>>") -> bytes:
    """A document of these objects, whose numbers begin with 1."""
    numbered = b"".join(b"%d 0 obj%sendobj\n" % (number, one) for number, one in enumerate(objects, 1))
    return b"%PDF-1.7\n" + numbered + b"trailer" + trailer + b"\n%%EOF"


def refs(*numbers: int) -> bytes:
    """References to objects."""
    return b" ".join(b"%d 0 R" % number for number in numbers)


def packed(*objects: tuple[int, bytes]) -> bytes:
    """A stream that holds objects with these numbers."""
    offset, head, body = 0, b"", b""
    for number, one in objects:
        head += b"%d %d " % (number, offset)
        body += one + b" "
        offset = len(body)
    data = zlib.compress(head + body)
    said = b"<</Type/ObjStm/N %d/First %d/Filter/FlateDecode/Length %d>>" % (len(objects), len(head), len(data))
    return said + b"stream\n" + data + b"\nendstream"


def content(text: bytes) -> bytes:
    """A stream that shows a text."""
    data = zlib.compress(b"BT (" + text + b") Tj ET")
    return b"<</Filter/FlateDecode/Length %d>>stream\n%s\nendstream" % (len(data), data)


CATALOG, PAGE = b"<</Type/Catalog/Pages 2 0 R>>", b"<</Type/Page/Parent 2 0 R>>"
TREE = b"<</Type/Pages/Count 3/Kids[%s]>>" % refs(3, 4, 5)
PLAIN = pdf(CATALOG, TREE, PAGE, PAGE, PAGE)
SHARED = pdf(CATALOG, b"<</Type/Pages/Count 2/Kids[%s]>>" % refs(*[3] * 600), PAGE)
COUNTED = {
    "plain": (PLAIN, 3),
    "a tree that says fewer than it has": (PLAIN.replace(b"/Count 3", b"/Count 1"), 3),
    "a tree that says more than it has": (PLAIN.replace(b"/Count 3", b"/Count 90"), 90),
    "one page six hundred times": (SHARED, 600),
    "levels that share their parts": (
        pdf(CATALOG, *(b"<</Type/Pages/Kids[%s]>>" % refs(*[number + 1] * 10) for number in range(2, 5)), PAGE),
        1000,
    ),
    "an array elsewhere": (
        pdf(CATALOG, b"<</Type/Pages/Count 1/Kids 6 0 R>>", PAGE, PAGE, PAGE, b"[%s]" % refs(3, 4, 5)),
        3,
    ),
    "a packed tree": (pdf(CATALOG, packed((2, TREE)), PAGE, PAGE, PAGE), 3),
    "a catalog and a tree that are packed": (pdf(packed((7, b"<</Pages 2 0 R>>"), (2, TREE)), PAGE), 3),
    "versions, of which the older is larger": (PLAIN + pdf(CATALOG, b"<</Type/Pages/Count 1/Kids[3 0 R]>>"), 3),
    "line breaks": (PLAIN.replace(b" 0 R", b"\r\n0\r\nR").replace(b"Kids[", b"Kids\n[ "), 3),
    "a form, whose fields are no pages": (
        PLAIN.replace(b"trailer", b"9 0 obj<</Kids[%s]>>endobj trailer" % refs(*[8] * 99)),
        3,
    ),
}
HIDDEN = {
    "encrypted": pdf(CATALOG, TREE, PAGE, trailer=b"<</Root 1 0 R/Encrypt 9 0 R>>"),
    "a name with an escape": PLAIN.replace(b"/Kids", b"/K#69ds"),
    "a comment in the tree": PLAIN.replace(b"/Kids[", b"/Kids%x\n["),
    "a comment in a number": PLAIN.replace(b"4 0 R", b"4%x\n0 R"),
    "a count elsewhere": PLAIN.replace(b"/Count 3", b"/Count 9 0 R"),
    "a tree in a circle": PLAIN.replace(b"4 0 R", b"2 0 R"),
    "no catalog": pdf(b"<<>>", TREE, PAGE),
    "no object": b"%PDF-1.7\n" + bytes(1000),
    "a page that is no reference": PLAIN.replace(b"Kids[", b"Kids[<</Type/Page>> "),
    "packed by another filter": pdf(CATALOG, packed((2, TREE)).replace(b"FlateDecode", b"LZWDecode"), PAGE),
    "packed and damaged": pdf(CATALOG, packed((2, TREE)).replace(b"stream\nx", b"stream\ny"), PAGE),
    "packed without a number": pdf(CATALOG, packed((2, TREE)).replace(b"/N 1", b"/N 9 0 R"), PAGE),
    "nested too deeply": pdf(CATALOG, *(b"<</Kids[%d 0 R]>>" % number for number in range(3, 100))),
}


@one_test_for("name", list(COUNTED))
def test_the_pages_of_a_document_are_counted_as_the_reader_that_finds_most_does(name: str):
    document, pages = COUNTED[name]
    assert pages_of(document) == pages
    bound = file_bound("claude", PDF, document)
    assert bound.tokens >= min(MOST, pages * 3000)
    assert f"up to {pages:,} pages" in bound.why


@one_test_for("name", list(HIDDEN))
def test_a_document_that_hides_its_pages_takes_what_the_provider_takes_at_most(name: str):
    assert pages_of(HIDDEN[name]) is None
    bound = file_bound("claude", PDF, HIDDEN[name])
    assert bound.tokens == MOST
    assert "cannot be counted" in bound.why


@pytest.mark.parametrize(
    ("document", "least"),
    [
        (pdf(CATALOG, b"<</Kids[3 0 R]>>", b"<</Contents 4 0 R>>", content(b"word " * 40_000)), 200_000),
        (pdf(CATALOG, b"<</Kids[%s]>>" % refs(*[3] * 50), b"<</Contents 4 0 R>>", content(b"word " * 2000)), 500_000),
        (
            pdf(CATALOG, b"<</Kids[%s]>>" % refs(3, 4), *[b"<</Contents 5 0 R>>"] * 2, content(b"word " * 20_000)),
            200_000,
        ),
    ],
    ids=["a full page", "a full page fifty times", "pages with one content"],
)
def test_all_text_that_pages_show_counts(document: bytes, least: int):
    assert file_bound("claude", PDF, document).tokens >= least


def test_a_usual_page_takes_a_few_thousand_tokens():
    document = pdf(CATALOG, b"<</Kids[3 0 R]>>", b"<</Contents 4 0 R>>", content(b"word " * 600))
    assert 3000 < file_bound("claude", PDF, document).tokens < 15_000


def wave(rate: int, seconds: int, kind: int = 1, bits: int = 16) -> bytes:
    """A mono WAVE file of silence, whose header claims a tenth of its length."""
    data = bytes(rate * seconds * bits // 8)
    said = struct.pack("<HHIIHH", kind, 1, rate, rate * 20, bits // 8, bits)
    return (
        b"RIFF"
        + bytes(4)
        + b"WAVEfmt "
        + struct.pack("<I", 16)
        + said
        + b"data"
        + struct.pack("<I", len(data) // 10)
        + data
    )


def ogg(packets: int, first: bytes) -> bytes:
    """An Ogg file with one page of a header and pages of small packets, whose times say nothing."""

    def page(*sizes: int, data: bytes) -> bytes:
        return b"OggS" + bytes(22) + bytes([len(sizes), *sizes]) + data

    body = b"".join(page(*[3] * 200, data=bytes(600)) for _ in range(packets // 200))
    return page(len(first), data=first) + body


VORBIS = b"\x01vorbis" + bytes(5) + struct.pack("<I", 8000) + bytes(12) + b"\xb8\x01"
MOVIE = (
    b"\x00\x00\x00\x20ftypM4A " + bytes(16) + b"\x00\x00\x00\x6cmvhd" + bytes(12) + struct.pack(">II", 1000, 7_200_000)
)
SECONDS: list[tuple[str, bytes, int]] = [
    ("audio/mpeg", bytes(5_000_000), 5000),
    ("audio/wav", wave(24_000, 60), 60),
    ("audio/wav", wave(8000, 60, bits=8), 60),
    ("audio/wav", wave(8000, 60, kind=0x55), 1616),
    ("audio/ogg", ogg(20_000, b"OpusHead" + bytes(11)), 2400),
    ("audio/ogg", ogg(20_000, VORBIS), 5120),
    ("audio/mp4", MOVIE, 7200),
    ("audio/mp4", MOVIE + bytes(594 * 9000), 9000),
    ("audio/aac", bytes(594 * 100), 100),
]


@one_test_for("row", SECONDS, ids=lambda row: f"{row[0]} {row[2]}")
def test_sound_lasts_as_long_as_its_bytes_can(row: tuple[str, bytes, int]):
    media_type, data, seconds = row
    assert seconds * 32 <= file_bound("gemini", media_type, data).tokens <= (seconds * 1.02 + 3) * 32


def archive(size: int) -> bytes:
    """A document in a zip file."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("word/document.xml", b"word " * (size // 5))
    return buffer.getvalue()


GIF = b"GIF89a\x10\x00\x10\x00\x00\x00\x00"
FRAME = b"\x00\x2c" + bytes(9) + b"\x02\x01\x00"
ANY: list[tuple[str, bytes | None]] = [
    ("video/mp4", bytes(1000)),
    ("audio/flac", b"fLaC" + bytes(1000)),
    ("audio/ogg", b"OggS" + bytes(1000)),
    ("audio/mpeg", None),
    (PDF, None),
    ("application/octet-stream", None),
    ("image/tiff", b"II*\x00" + bytes(100)),
    ("application/gzip", b"\x1f\x8b" + bytes(100)),
    ("application/zip", b"PK\x03\x04" + bytes(100)),
    ("application/msword", b"\x1f\x8b" + bytes(100)),
]


@one_test_for("row", ANY, ids=lambda row: f"{row[0]} {'elsewhere' if row[1] is None else 'here'}")
def test_what_may_hold_anything_takes_the_largest_window(row: tuple[str, bytes | None]):
    media_type, data = row
    assert file_bound("claude", media_type, data).tokens >= min(MOST, 34_200 * 32)


@pytest.mark.parametrize(
    ("media_type", "make", "least"),
    [
        ("application/vnd.openxmlformats-officedocument.wordprocessingml.document", lambda: archive(500_000), 500_000),
        ("application/msword", lambda: bytes(70_000), 70_000),
        ("image/gif", lambda: GIF + FRAME * 100, 100 * 85),
        ("image/png", lambda: b"\x89PNG\r\n\x1a\n" + bytes(8) + b"fcTL" * 50, 50 * 85),
        ("image/webp", lambda: b"RIFF\0\0\0\0WEBP" + b"ANMF" * 50, 50 * 85),
    ],
)
def test_what_is_packed_and_what_is_animated_counts_whole(media_type: str, make: Callable[[], bytes], least: int):
    assert file_bound("f", media_type, make()).tokens >= least


@one_test_for(
    "family", ["claude", "claude-opus-4.8", "gpt-4o", "gpt-4o-mini", "gpt-5.4", "gemini", "gemini-3", "qwen", "f"]
)
def test_no_readable_image_exceeds_one_behind_an_address(family: str):
    behind = file_bound(family, "image/png", None).tokens
    for width, height in ((1, 1), (640, 480), (3072, 384), (3000, 3000), (768, 2048)):
        data = b"\x89PNG\r\n\x1a\n" + bytes(4) + b"IHDR" + struct.pack(">II", width, height)
        assert 0 < file_bound(family, "image/png", data).tokens <= behind


DIGITS = b"9" * 5_000
NUMBERS = {
    "a kid": b"2 0 obj<</Kids[%s 0 R]>>endobj" % DIGITS,
    "an array of kids": b"2 0 obj<</Kids %s 0 R>>endobj" % DIGITS,
    "a root": b"9 0 obj<</Pages %s 0 R>>endobj" % DIGITS,
    "contents": b"9 0 obj<</Contents %s 0 R>>endobj" % DIGITS,
    "several contents": b"9 0 obj<</Contents[%s 0 R]>>endobj" % DIGITS,
    "packed objects": b"9 0 obj" + packed((5, b"<<>>")).replace(b"/N 1", b"/N " + DIGITS),
    "the first packed object": b"9 0 obj<</Type/ObjStm/N 1/First %s/Filter/FlateDecode>>stream\nx" % DIGITS,
    "a packed object": b"9 0 obj" + packed((int("9" * 4_000), b"<<>>")),
    "a count": b"2 0 obj<</Kids[3 0 R]/Count %s>>endobj" % DIGITS,
    "a count after a megabyte": b"2 0 obj<</Kids[3 0 R]/Count%s99>>endobj" % (b" " * 1_048_569),
}


@one_test_for("more", NUMBERS.values(), ids=NUMBERS)
def test_a_document_with_a_number_of_too_many_digits_takes_the_largest_window(more: bytes):
    assert file_bound("claude", PDF, _with_page(more)).tokens == MOST


def test_a_bound_is_read_in_linear_time_from_hostile_documents():
    for size in (1, 2):
        many = b"".join(b"%d 0 obj<</Kids[1 0 R]>>>>stream\n" % number for number in range(20_000 * size))
        assert pages_of(b"%PDF-1.7" + many) is None
        assert file_bound("claude", PDF, b"%PDF-1.7 1 0 obj<</Pages 1 0 R>>" + b">>stream\n" * 20_000 * size).tokens


def _plain_head(size: int) -> bytes:
    """A stream of objects whose head says many numbers."""
    head = b"1 0 " * size
    data = zlib.compress(head)
    said = b"<</Type/ObjStm/N %d/First %d/Filter/FlateDecode>>" % (size, len(head))
    return b"%PDF-1.7 9 0 obj" + said + b"stream\n" + data + b"\nendstream"


def _with_page(more: bytes) -> bytes:
    tree = b"1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj 2 0 obj<</Type/Pages/Kids[3 0 R]>>endobj "
    return b"%PDF-1.7 " + tree + b"3 0 obj<</Type/Page>>endobj " + more


MANY: dict[str, tuple[str, Callable[[int], bytes]]] = {
    "numbers in a packed head": (PDF, _plain_head),
    "kids": (PDF, lambda size: _with_page(b"2 0 obj<</Kids[" + b"3 0 R " * size + b"]>>endobj")),
    "contents": (PDF, lambda size: _with_page(b"3 0 obj<</Contents[" + b"4 0 R " * size + b"]>>endobj")),
    "one array for many kids": (
        PDF,
        lambda size: _with_page(
            b"2 0 obj<</Kids 9 0 R>>endobj " * (size // 100) + b"9 0 obj[" + b"3 0 R " * (size // 100) + b"]endobj"
        ),
    ),
    "entries of a zip file": ("application/zip", lambda size: b"PK" + (b"PK\x01\x02" + bytes(42)) * size),
}


@pytest.mark.parametrize(("media_type", "make"), MANY.values(), ids=MANY)
def test_no_file_has_more_looked_at_than_fits_into_little_memory(media_type: str, make: Callable[[int], bytes]):
    data = make(400_000)
    tracemalloc.start()
    try:
        bound = file_bound("claude", media_type, data)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert bound.tokens == MOST
    assert peak < 40_000_000


MEGABYTES = 12_000_000
LONG = {
    "counts": lambda: _with_page(b"2 0 obj/Kids[]" + b"/Count 1" * (MEGABYTES // 8)),
    "kids": lambda: _with_page(b"2 0 obj<</Kids[" + b"3 0 R " * (MEGABYTES // 6) + b"]>>endobj"),
    "contents": lambda: _with_page(b"3 0 obj<</Contents[" + b"3 0 R " * (MEGABYTES // 6) + b"]>>endobj"),
    "pages without a tree": lambda: b"%PDF-1.7" + b"/Type/Page " * (MEGABYTES // 11),
    "slashes": lambda: _with_page(b"/" * MEGABYTES),
    "blanks": lambda: _with_page(b"2 0 obj<</Kids[3 0 R" + b" " * MEGABYTES + b"]>>endobj"),
}


@one_test_for("make", LONG.values(), ids=LONG)
def test_others_have_their_turn_while_a_thread_reads_a_long_document(make: Callable[[], bytes]):
    data = make()

    async def main() -> None:
        await asyncio.to_thread(file_bound, "claude", PDF, data)
        await asyncio.to_thread(estimate_file_tokens, "claude", PDF, data)

    in_short_waits(main)


SMALL = {
    "streams of objects": b"9 0 obj" + packed((1, b"")) + b" endobj ",
    "streams of text": b"4 0 obj" + content(b"a") + b" endobj ",
    "kids in one object": b"/Kids[3 0 R]",
    "streams without an end": b"4 0 obj<<>>stream\n",
}


@pytest.mark.parametrize("piece", SMALL.values(), ids=SMALL)
def test_four_times_as_many_small_pieces_take_no_more_than_eight_times_the_work(piece: bytes):
    def work(size: int) -> float:
        data, begun = _with_page(b"2 0 obj<</Pages 2 0 R " + piece * size), time.process_time()
        file_bound("claude", PDF, data)
        return time.process_time() - begun

    assert work(24_000) < 8 * min(work(6_000) for _ in range(3))


SHORT = {
    "a packed head": lambda: _plain_head(3_000_000),
    "a text": lambda: _with_page(b"4 0 obj" + content(b"a) Tj (" * 3_000_000)),
}


@pytest.mark.parametrize("make", SHORT.values(), ids=SHORT)
def test_of_a_short_document_little_is_unpacked_and_read(make: Callable[[], bytes]):
    data = make()
    assert len(data) < 50_000
    tracemalloc.start()
    try:
        file_bound("claude", PDF, data)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 15_000_000
