"""Files from strangers: each that is wrong is refused with an error that says where, what was got and expected."""

import io
import json
import stat
import tracemalloc
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from hashlib import sha256
from struct import pack, unpack_from
from typing import Any
from zlib import compressobj

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bundles.made_bundles import FULL
from partstream_devtools.bundles import documents as errors
from partstream_devtools.bundles.archive import read_bundle, write_bundle
from partstream_devtools.bundles.exchange import RedactionLevel, ResponseHead
from partstream_devtools.bundles.forms import read_any
from partstream_devtools.inspector.sharing import shared_bytes
from partstream_devtools.inspector.view import ViewedFile, view_of
from partstream_devtools.recorded_stream import UnpackingLimits
from partstream_devtools.redaction.redacting import redact

GOOD = write_bundle(FULL)
CHUNKS = "exchanges/002/response.chunks"
EXCHANGE = "exchanges/002/exchange.json"


def _files() -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(GOOD)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def _zip(files: dict[str, bytes], *more: tuple[zipfile.ZipInfo | str, bytes]) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in (*files.items(), *more):
            archive.writestr(name, content)
    return data.getvalue()


def _with(name: str, content: bytes) -> bytes:
    """The good bundle with one file in place of another, and a manifest that agrees with it."""
    files = {**_files(), name: content}
    manifest = json.loads(files["manifest.json"])
    manifest["files"] = {one: sha256(files[one]).hexdigest() for one in files if one != "manifest.json"}
    return _zip({**files, "manifest.json": json.dumps(manifest).encode()})


def _manifest(**changes: Any) -> bytes:
    files = _files()
    return _zip({**files, "manifest.json": json.dumps({**json.loads(files["manifest.json"]), **changes}).encode()})


def _without(name: str) -> bytes:
    return _zip({one: content for one, content in _files().items() if one != name})


def _changed(name: str, **changes: Any) -> bytes:
    return _with(name, json.dumps({**json.loads(_files()[name]), **changes}).encode())


def _link() -> bytes:
    entry = zipfile.ZipInfo("exchanges/003/request.json")
    entry.create_system, entry.external_attr = 3, (stat.S_IFLNK | 0o777) << 16
    return _zip(_files(), (entry, b"/etc/passwd"))


def _patched(offset_in_row: int, form: str, value: int) -> bytes:
    """The good bundle with one number of the first row of its directory changed."""
    place = GOOD.index(b"PK\x01\x02") + offset_in_row
    new = pack(form, value)
    return GOOD[:place] + new + GOOD[place + len(new) :]


def _overlapping() -> bytes:
    """Two names for the same bytes: a zip that unpacks to more than its packed bytes can say."""
    row = GOOD.index(b"PK\x01\x02")
    name_size, extra, comment = unpack_from("<3H", GOOD, row + 28)
    second = row + 46 + name_size + extra + comment
    return GOOD[: second + 42] + pack("<I", 0) + GOOD[second + 46 :]


def _bomb() -> bytes:
    return _zip({"manifest.json": b"\0" * (100 * 1024 * 1024)})


def _liar() -> bytes:
    """An entry that unpacks to more than the directory says."""
    data = _zip({"manifest.json": b"\0" * 20_000_000})
    place = data.index(b"PK\x01\x02") + 24
    return data[:place] + pack("<I", 10) + data[place + 4 :]


CONTENT = errors.BundleContentError
DUPLICATED = pytest.mark.filterwarnings("ignore:Duplicate name:UserWarning")

HOSTILE: list[Any] = [
    pytest.param(lambda: b"", errors.NotABundleError, "the file", id="empty"),
    pytest.param(lambda: b"data: {}\n\n", errors.NotABundleError, "begin with b'data: {}", id="no zip"),
    pytest.param(lambda: _zip({"a.txt": b"a"}), errors.NotABundleError, "without manifest.json", id="another zip"),
    pytest.param(lambda: GOOD[:-1], errors.BrokenArchiveError, "without the end", id="cut at the end"),
    pytest.param(lambda: GOOD[:100], errors.BrokenArchiveError, "without the end", id="cut early"),
    pytest.param(lambda: b"x" + GOOD, errors.BrokenArchiveError, "the directory", id="bytes before it"),
    pytest.param(lambda: _patched(8, "<H", 1), errors.UnsafeEntryError, "README.txt", id="encrypted"),
    pytest.param(lambda: _patched(10, "<H", 93), errors.BrokenArchiveError, "compression 93", id="method"),
    pytest.param(lambda: _patched(16, "<I", 1), errors.BrokenArchiveError, "the checksum", id="CRC"),
    pytest.param(lambda: _patched(24, "<I", 1), errors.BrokenArchiveError, "1, as the directory says", id="size"),
    pytest.param(lambda: _patched(24, "<I", 2**32 - 1), errors.BrokenArchiveError, "Zip64", id="zip64"),
    pytest.param(lambda: _patched(24, "<I", 2**32 - 2), errors.BundleTooLargeError, "at most", id="claimed size"),
    pytest.param(lambda: _patched(42, "<I", 10**6), errors.BrokenArchiveError, "no header", id="offset"),
    pytest.param(_overlapping, errors.BrokenArchiveError, "none of another entry's", id="overlapping"),
    pytest.param(_bomb, errors.BundleTooLargeError, "104,857,600 bytes unpacked", id="bomb"),
    pytest.param(_liar, errors.BrokenArchiveError, "as the directory says", id="unpacks to more"),
    pytest.param(lambda: _zip(_files(), ("../a", b"")), errors.UnsafeEntryError, "'../a'", id="parent"),
    pytest.param(lambda: _zip(_files(), ("a/../../b", b"")), errors.UnsafeEntryError, "'a/../../b'", id="inner parent"),
    pytest.param(lambda: _zip(_files(), ("/etc/passwd", b"")), errors.UnsafeEntryError, "'/etc/passwd'", id="absolute"),
    pytest.param(lambda: _zip(_files(), ("C:/a", b"")), errors.UnsafeEntryError, "'C:/a'", id="drive"),
    pytest.param(lambda: _zip(_files(), ("a\\b", b"")), errors.UnsafeEntryError, "a path within", id="backslash"),
    pytest.param(_link, errors.UnsafeEntryError, "a link", id="link"),
    pytest.param(lambda: _zip(_files(), ("MANIFEST.JSON", b"")), errors.UnsafeEntryError, "MANIFEST.JSON", id="case"),
    pytest.param(
        lambda: _zip(_files(), ("manifest.json", b"{}")),
        errors.UnsafeEntryError,
        "manifest.json",
        id="twice",
        marks=DUPLICATED,
    ),
    pytest.param(
        lambda: _zip({f"{n}": b"" for n in range(101)}), errors.BundleTooLargeError, "101 entries", id="too many"
    ),
    pytest.param(lambda: _manifest(format=2), errors.UnknownFormError, "the format 2", id="format"),
    pytest.param(lambda: _manifest(files=[]), CONTENT, "field 'files'", id="manifest's files"),
    pytest.param(lambda: _manifest(source=None), CONTENT, "field 'source'", id="manifest's source"),
    pytest.param(lambda: _manifest(redaction={"level": "all"}), CONTENT, "keys, structure", id="level"),
    pytest.param(lambda: _without(CHUNKS), CONTENT, CHUNKS, id="missing"),
    pytest.param(lambda: _zip(_files(), ("a.txt", b"")), CONTENT, "a.txt", id="unlisted"),
    pytest.param(lambda: _with("a.txt", b""), CONTENT, "no known name", id="no place in the format"),
    pytest.param(lambda: _with("exchanges/0003/request.json", b"{}"), CONTENT, "0003", id="two numbers"),
    pytest.param(lambda: _with("exchanges/003/request.json", b"{}"), CONTENT, "003", id="no own facts"),
    pytest.param(lambda: _zip({**_files(), CHUNKS: b"x"}), errors.BundleContentError, "the SHA-256", id="changed"),
    pytest.param(lambda: _with(CHUNKS, b"\0" * 11), CONTENT, "byte 0: got 11 bytes", id="short read"),
    pytest.param(lambda: _with(CHUNKS, b"\0" * 12), CONTENT, "a read of 0 bytes", id="empty read"),
    pytest.param(lambda: _with(CHUNKS, b"\0" * 11 + b"\5aa"), CONTENT, "a read of 5 bytes", id="long read"),
    pytest.param(lambda: _with(CHUNKS, b"\x80" + b"\0" * 10 + b"\1a"), CONTENT, "the time", id="late read"),
    pytest.param(lambda: _with(EXCHANGE, b"[]"), CONTENT, "a JSON object", id="no object"),
    pytest.param(lambda: _with(EXCHANGE, b"{"), CONTENT, "no JSON", id="no JSON"),
    pytest.param(lambda: _with(EXCHANGE, b'{"a":' * 999), CONTENT, "a JSON object", id="deep JSON"),
    pytest.param(lambda: _changed(EXCHANGE, number=3), CONTENT, "the number 3", id="another number"),
    pytest.param(lambda: _changed(EXCHANGE, number=True), CONTENT, "True", id="no number"),
    pytest.param(lambda: _changed(EXCHANGE, offset=-1), CONTENT, "field 'offset'", id="negative time"),
    pytest.param(lambda: _changed(EXCHANGE, end={"how": "gone"}), CONTENT, "field 'end', field 'how'", id="how"),
    pytest.param(
        lambda: _changed("exchanges/002/request.json", headers=[["a"]]),
        CONTENT,
        "a list of pairs",
        id="headers",
    ),
    pytest.param(
        lambda: _changed("exchanges/002/request.json", body_base64="?"),
        CONTENT,
        "base64",
        id="base64",
    ),
    pytest.param(lambda: _changed("exchanges/002/response.head.json", status=7), CONTENT, "status", id="status"),
    pytest.param(
        lambda: _with("answers/001/parts.jsonl", b'{"at": 1, "part": {"type": "video"}}\n'),
        CONTENT,
        "line 1, field 'part': got 'video'",
        id="kind of part",
    ),
    pytest.param(
        lambda: _with("answers/001/parts.jsonl", b'{"part": {"type": "data", "mime_type": "a", "data": "?"}}\n'),
        CONTENT,
        "bytes in base64",
        id="data of a part",
    ),
]


@pytest.mark.parametrize(("make", "kind", "says"), HOSTILE)
def test_a_wrong_file_is_refused_with_what_was_got_and_expected(
    make: Callable[[], bytes], kind: type[errors.BundleError], says: str
) -> None:
    with pytest.raises(errors.BundleError) as caught:
        read_bundle(make(), UnpackingLimits(entries=100))
    error = caught.value
    assert type(error) is kind
    assert says in str(error)
    assert error.where
    assert error.got
    assert error.expected


def test_a_bundle_that_was_packed_again_by_another_program_is_read() -> None:
    assert read_bundle(_zip(_files())) == FULL
    assert read_bundle(_zip(_files(), ("exchanges/", b""))) == FULL


def test_a_zip_with_a_comment_is_read() -> None:
    commented = GOOD[:-2] + pack("<H", 5) + b"PK\5\6!"
    assert read_bundle(commented) == FULL


@contextmanager
def _taking_at_most(size: int) -> Iterator[None]:
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < size
    finally:
        tracemalloc.stop()


def test_of_a_bomb_no_more_is_unpacked_than_the_directory_says() -> None:
    bomb = _liar()
    with _taking_at_most(1_000_000), pytest.raises(errors.BrokenArchiveError):
        read_bundle(bomb)


def _gzip_bomb(size: int) -> bytes:
    packer = compressobj(9, wbits=31)
    return packer.compress(b"data: ") + b"".join(packer.compress(bytes(1 << 20)) for _ in range(size)) + packer.flush()


def test_a_packed_stream_is_given_up_at_the_limit_of_what_it_may_unpack_to() -> None:
    bomb = _gzip_bomb(80)
    with _taking_at_most(140_000_000), pytest.raises(errors.BundleContentError, match="more than 67,108,864 bytes"):
        read_any(bomb, "a.sse.gz")


NESTED = 20_000


@pytest.mark.parametrize(
    "body",
    [
        b'{"error":' + b"[" * NESTED + b"]" * NESTED + b"}",
        b'data: {"error":' + b"[" * NESTED + b"]" * NESTED + b"}\n\n",
        b"data: " + b'{"a":' * NESTED + b'"said"' + b"}" * NESTED + b"\n\n",
        b"data: " + b'{"a":[' * NESTED,
    ],
    ids=["lists", "lists in an event", "objects", "cut"],
)
def test_values_in_values_without_an_end_are_redacted_in_little_memory(body: bytes) -> None:
    bundle = read_any(body, "a.sse")
    with _taking_at_most(100_000_000):
        redacted, _ = redact(bundle)
    assert b"said" not in redacted.exchanges[0].body


@pytest.mark.parametrize(
    "text",
    ["/" * 100_000, "\\" * 100_000, "eyJ" * 100_000, "call" * 50_000, f"{'1' * 100_000}x"],
    ids=["slashes", "backslashes", "tokens", "calls", "digits"],
)
def test_a_text_that_repeats_itself_is_redacted_and_inspected_in_one_search(text: str) -> None:
    body = f"data: {json.dumps({'type': text, 'delta': text})}\n\n".encode()
    bundle = read_any(body, "a.sse")
    head = ResponseHead(0, 200, "OK", (("x-request-count", text), ("x-other", text)))
    exchanges = tuple(replace(one, head=head) for one in bundle.exchanges)
    versions = {f"program-{number}": "1" * 80 for number in range(2_000)}
    redacted, _ = redact(replace(bundle, exchanges=exchanges, versions=versions))
    assert len(redacted.exchanges[0].body) == len(body)
    assert view_of([ViewedFile("a", "stream", bundle)])["answers"]


def _texts(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The places of all texts in a document."""
    if isinstance(value, str):
        yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for place, one in items:
        yield from _texts(one, (*path, place))


def test_a_null_and_half_a_character_in_any_text_of_a_bundle_are_read_or_refused_shown_and_shared() -> None:
    hostile, read = "\x00\ud800\x1b[2J<script>", 0
    for name, content in _files().items():
        if not name.endswith(".json"):
            continue
        for path in _texts(json.loads(content)):
            document = json.loads(content)
            place = document
            for step in path[:-1]:
                place = place[step]
            place[path[-1]] = hostile
            with suppress(errors.BundleError):
                bundle = read_bundle(_with(name, json.dumps(document).encode()))
                read += 1
                assert view_of([ViewedFile("a", "bundle", bundle)])["answers"]
                shared, _ = redact(bundle, RedactionLevel.KEYS)
                assert write_bundle(shared)
                for ending in (".har", ".md", ".otlp.json"):
                    assert shared_bytes(shared, f"a{ending}")
    assert read > 20


@given(st.data())
@settings(max_examples=200)
def test_a_damaged_file_is_read_or_refused_and_nothing_else(data: st.DataObject) -> None:
    damaged = bytearray(GOOD)
    for _ in range(data.draw(st.integers(1, 4))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(damaged)))
    for one in (bytes(damaged), bytes(damaged[:cut])):
        with suppress(errors.BundleError):
            read_bundle(one)
