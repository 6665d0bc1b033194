"""A bundle as one file: a zip that is written so that equal bundles give equal bytes, and read with suspicion.

A reader of archives from strangers has to refuse more than the standard library's does: overlapping entries, which
unpack a few kilobytes to terabytes; two entries of one name, of which two programs read different ones; names that lead
out of a folder; links. So the few structures of the form are read here (APPNOTE.TXT 6.3.10, sections 4.3 and 4.4), in
memory, and every entry has to agree with the directory. The manifest lists every file with its digest; a file that it
does not list, or that was changed, is refused.
"""

from __future__ import annotations
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from hashlib import sha256
from importlib.resources import files
from struct import Struct
from typing import Any, Final

from partstream.codec.checks import dataclass
from partstream.codec.json_codec import dumps
from partstream.codec.text import counted
from partstream_devtools.bundles import documents
from partstream_devtools.bundles.documents import (
    BrokenArchiveError,
    BundleContentError,
    BundleTooLargeError,
    JSONFields,
    NotABundleError,
    UnknownFormError,
    UnsafeEntryError,
    read_object,
)
from partstream_devtools.bundles.exchange import Bundle, RecordedAnswer, RecordedExchange, Redaction
from partstream_devtools.recorded_stream import UnpackingLimits

# ---- Zip archives ----

_LIMITS: Final = UnpackingLimits()

ARCHIVE_BEGINS: Final = b"PK\x03\x04"
"""What an archive with entries begins with."""

_LOCAL: Final = Struct("<4s5H3I2H")
"""Signature, version needed, flags, method, time, date, CRC, packed size, size, lengths of name and extra field."""
_CENTRAL: Final = Struct("<4s6H3I5H2I")
"""Signature, version made by, then as in the local header; then the lengths of name, extra field and comment, disk,
internal attributes, external attributes, offset of the local header."""
_END: Final = Struct("<4s4H2IH")
"""Signature, this disk, disk of the directory, entries here, entries, size and offset of the directory, comment."""
_CENTRAL_BEGINS: Final = b"PK\x01\x02"
_END_BEGINS: Final = b"PK\x05\x06"

_VERSION: Final = 20
_MADE_ON_UNIX: Final = 3
_STORED, _DEFLATED = 0, 8
_RAW_DEFLATE: Final = -15
_LEVEL: Final = 6
"""Of 20 MB of a stream, 9 takes four times as long for two percent less."""
_FIRST_OF_JANUARY_1980: Final = 0x21
_PRIVATE_FILE: Final = 0o100600 << 16
_ENCRYPTED: Final = 0b10_0000_0100_0001
"""The flags of encryption: of the entry, strong, of the directory."""
_MOST_IN_16_BITS, _MOST_IN_32_BITS = 0xFFFF, 0xFFFFFFFF
_KIND_OF_FILE: Final = 0o170000
_PLAIN, _FOLDER = 0o100000, 0o040000

_NOT_IN_NAMES: Final = re.compile(r'[\x00-\x1f\x7f\\:*?"<>|]')
"""Signs that a system takes for more than a letter of a name."""


@dataclass(frozen=True, slots=True)
class _Entry:
    """A row of the directory."""

    name: str
    flags: int
    method: int
    crc: int
    packed_size: int
    size: int
    kind: int
    offset: int


# ---- Writing a zip ----


def pack(entries: Mapping[str, bytes]) -> bytes:
    """An archive of plain files, sorted by name, with fixed dates; names are ASCII, with `/` between folders.

    Raises:
        BundleTooLargeError: There is more than a zip without extensions holds: 4 GB, or 65,534 entries.
        UnsafeEntryError: A name leads out of its folder.
    """
    if len(entries) >= _MOST_IN_16_BITS:
        raise BundleTooLargeError("the file", len(entries), _MOST_IN_16_BITS - 1, "entries")
    body, directory = bytearray(), bytearray()
    for name in sorted(entries):
        _check_name(name)
        data, offset = entries[name], len(body)
        packer = zlib.compressobj(_LEVEL, zlib.DEFLATED, _RAW_DEFLATE)
        packed = packer.compress(data) + packer.flush()
        method, packed = (_DEFLATED, packed) if len(packed) < len(data) else (_STORED, data)
        if max(offset + len(packed), len(data)) >= _MOST_IN_32_BITS:
            raise BundleTooLargeError("the file", offset + len(data), _MOST_IN_32_BITS - 1, "bytes")
        path = name.encode("ascii")
        facts = (0, method, 0, _FIRST_OF_JANUARY_1980, zlib.crc32(data), len(packed), len(data), len(path), 0)
        body += _LOCAL.pack(ARCHIVE_BEGINS, _VERSION, *facts) + path + packed
        made_by = _MADE_ON_UNIX << 8 | _VERSION
        directory += _CENTRAL.pack(_CENTRAL_BEGINS, made_by, _VERSION, *facts, 0, 0, 0, _PRIVATE_FILE, offset) + path
    count = len(entries)
    return bytes(body + directory) + _END.pack(_END_BEGINS, 0, 0, count, count, len(directory), len(body), 0)


# ---- Reading a zip ----


def unpack(data: bytes, limits: UnpackingLimits = _LIMITS) -> dict[str, bytes]:
    """The files of an archive by name; folders are left out.

    Raises:
        BundleError: It is no archive within the limits that is safe and agrees with itself; the class says why.
    """
    entries, directory_at = _directory(data, limits)
    _check_all(entries, len(data), limits)
    files: dict[str, bytes] = {}
    read_to = 0
    for entry in sorted(entries, key=lambda one: one.offset):
        start = _data_of(data, entry, read_to)
        read_to = start + entry.packed_size
        if read_to > directory_at:
            raise BrokenArchiveError(entry.name, f"data up to byte {read_to}", f"data before byte {directory_at}")
        content = _unpacked(data[start:read_to], entry)
        if entry.kind != _FOLDER:
            files[entry.name] = content
    return {name: files[name] for name in sorted(files)}


def _end_of(data: bytes) -> tuple[int, tuple[int, ...]]:
    """The place of the record at the end of the archive, and its numbers."""
    place = len(data) - _END.size
    lowest = max(0, place - _MOST_IN_16_BITS)
    while place >= 0 and (place := data.rfind(_END_BEGINS, lowest, place + len(_END_BEGINS))) >= 0:
        _, *numbers = _END.unpack_from(data, place)
        if place + _END.size + numbers[-1] == len(data):
            return place, tuple(numbers)
        place -= 1
    if data.startswith(ARCHIVE_BEGINS):
        raise BrokenArchiveError("the file", f"{len(data):,} bytes without the end of a zip", "a whole zip")
    raise NotABundleError("the file", f"bytes that begin with {data[:8]!r}", "a zip, which begins with b'PK'")


def _directory(data: bytes, limits: UnpackingLimits) -> tuple[list[_Entry], int]:
    """The rows of the directory, and its place."""
    end_at, (disk, first_disk, here, count, size, place, _) = _end_of(data)
    if _MOST_IN_16_BITS in (here, count) or _MOST_IN_32_BITS in (size, place):
        raise BrokenArchiveError("the file", "a zip of the form Zip64", "one below 4 GB without that extension")
    if disk or first_disk or here != count:
        raise BrokenArchiveError("the file", "a zip of several disks", "a zip in one file")
    if count > limits.entries:
        raise BundleTooLargeError("the file", count, limits.entries, "entries")
    if place + size != end_at:
        raise BrokenArchiveError("the directory", f"bytes {place} to {place + size}", f"bytes that end at {end_at}")
    entries = list(_rows(data[place:end_at]))
    if len(entries) != count:
        raise BrokenArchiveError("the directory", f"{len(entries)} entries", f"{count} as the end of the zip says")
    return entries, place


def _rows(directory: bytes) -> Iterator[_Entry]:
    place = 0
    while place < len(directory):
        if len(directory) - place < _CENTRAL.size or not directory.startswith(_CENTRAL_BEGINS, place):
            raise BrokenArchiveError("the directory", f"no entry at its byte {place}", "an entry")
        row = _CENTRAL.unpack_from(directory, place)
        _, made_by, _, flags, method, _, _, crc, packed, size, name_size, extra, comment, _, _, attributes, at = row
        name_at = place + _CENTRAL.size
        place = name_at + name_size + extra + comment
        if place > len(directory):
            raise BrokenArchiveError("the directory", "an entry that passes its end", "a whole entry")
        name = _name(directory[name_at : name_at + name_size])
        if _MOST_IN_32_BITS in (packed, size, at):
            raise BrokenArchiveError(name, "an entry of the form Zip64", "one below 4 GB")
        mode = attributes >> 16 if made_by >> 8 == _MADE_ON_UNIX else 0
        kind = (mode & _KIND_OF_FILE) or (_FOLDER if name.endswith("/") else _PLAIN)
        yield _Entry(name, flags, method, crc, packed, size, kind, at)


def _name(raw: bytes) -> str:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UnsafeEntryError("the directory", f"the name {raw!r}", "a name in UTF-8") from error


def _check_all(entries: list[_Entry], archive_size: int, limits: UnpackingLimits) -> None:
    """Whether the entries are what a bundle may hold, as far as the directory says."""
    names: set[str] = set()
    for entry in entries:
        _check_name(entry.name.removesuffix("/"))
        if entry.flags & _ENCRYPTED:
            raise UnsafeEntryError(entry.name, "an encrypted entry", "one in clear")
        if entry.method not in (_STORED, _DEFLATED):
            raise BrokenArchiveError(entry.name, f"the compression {entry.method}", "0 (stored) or 8 (deflate)")
        if entry.kind not in (_PLAIN, _FOLDER) or (entry.kind == _FOLDER) != entry.name.endswith("/"):
            raise UnsafeEntryError(entry.name, f"an entry of the kind {entry.kind:o}, such as a link", "a plain file")
        if entry.kind == _FOLDER and entry.size:
            raise UnsafeEntryError(entry.name, f"a folder that holds {entry.size} bytes", "an empty folder")
        if (name := entry.name.removesuffix("/").casefold()) in names:
            raise UnsafeEntryError(entry.name, "a second entry of this name", "each name once")
        names.add(name)
        if entry.size > limits.entry_size:
            raise BundleTooLargeError(entry.name, entry.size, limits.entry_size, "bytes unpacked")
    total = sum(entry.size for entry in entries)
    if total > (most := limits.most_of(archive_size)):
        raise BundleTooLargeError("the file", total, most, "bytes unpacked")


def _check_name(name: str) -> None:
    if _NOT_IN_NAMES.search(name) or any(part in ("", ".", "..") for part in name.split("/")):
        raise UnsafeEntryError("the directory", f"the name {name!r}", "a path within the file, such as a/b.json")


def _data_of(data: bytes, entry: _Entry, read_to: int) -> int:
    """The place of an entry's packed bytes, after its header."""
    if entry.offset < read_to:
        raise BrokenArchiveError(
            entry.name, f"data at byte {entry.offset}", f"none of another entry's, up to {read_to}"
        )
    if len(data) - entry.offset < _LOCAL.size or not data.startswith(ARCHIVE_BEGINS, entry.offset):
        raise BrokenArchiveError(entry.name, f"no header at byte {entry.offset}", "its header")
    _, _, flags, method, _, _, _, _, _, name_size, extra = _LOCAL.unpack_from(data, entry.offset)
    name_at = entry.offset + _LOCAL.size
    said = data[name_at : name_at + name_size]
    if (said, method) != (entry.name.encode(), entry.method) or flags & _ENCRYPTED:
        raise BrokenArchiveError(entry.name, f"a header of {said!r}", "a header that agrees with the directory")
    return name_at + int(name_size) + int(extra)


def _unpacked(packed: bytes, entry: _Entry) -> bytes:
    content = packed
    if entry.method == _DEFLATED:
        unpacker = zlib.decompressobj(_RAW_DEFLATE)
        try:
            # At most one byte more than the directory says: what it does not say is not unpacked.
            content = unpacker.decompress(packed, entry.size + 1)
        except zlib.error as error:
            raise BrokenArchiveError(entry.name, f"bytes that do not unpack ({error})", "deflate") from error
        if len(content) <= entry.size and (not unpacker.eof or unpacker.unused_data):
            raise BrokenArchiveError(entry.name, "packed bytes that do not end where they should", "a whole entry")
    if len(content) != entry.size:
        raise BrokenArchiveError(
            entry.name, f"{len(content):,} bytes or more", f"{entry.size:,}, as the directory says"
        )
    if zlib.crc32(content) != entry.crc:
        raise BrokenArchiveError(entry.name, f"the checksum {zlib.crc32(content):08x}", f"{entry.crc:08x}")
    return content


# ---- The files of a bundle ----

FORMAT: Final = 1
"""The version of the format; increases with every change that a reader of it would misunderstand."""

BUNDLE_ENDING: Final = ".partstream.zip"

MANIFEST: Final = "manifest.json"
README: Final = "README.txt"
REPORT: Final = "report.html"

EXCHANGE: Final = "exchange.json"
REQUEST: Final = "request.json"
HEAD: Final = "response.head.json"
CHUNKS: Final = "response.chunks"
ANSWER: Final = "answer.json"
PARTS: Final = "parts.jsonl"

NUMBERED: Final = re.compile(r"(exchanges|answers)/([0-9]{3,9})/([a-z.]+)")
"""The name of a file that belongs to an exchange or to an answer."""

END_OF_NAMES: Final = {"exchanges": frozenset({EXCHANGE, REQUEST, HEAD, CHUNKS}), "answers": frozenset({ANSWER, PARTS})}
"""The files that a folder of each kind may have."""


def _folder(kind: str, number: int) -> str:
    """The folder of an exchange or an answer, such as `exchanges/001`."""
    return f"{kind}/{number:03}"


_README, *_TEXTS = (files(__package__) / "readme.txt").read_text(encoding="utf-8").split("\n[")
_REPLACED: Final = {level: text for level, _, text in (one.partition("]\n") for one in _TEXTS)}
"""What a redaction of each level has replaced and left, for people; `unknown` of a file that says nothing of it."""


def readme_of(bundle: Bundle, *, has_report: bool) -> str:
    """The text for a person who unpacks the file."""
    open_page = "Open report.html in a browser: it needs no network and sends nothing.\n" if has_report else ""
    return _README.format(
        made_by=bundle.made_by,
        exchanges=counted(len(bundle.exchanges), "exchange"),
        answers=counted(len(bundle.answers), "answer"),
        open_page=open_page,
        replaced=_replaced(bundle.redaction),
    )


def _replaced(redaction: Redaction | None) -> str:
    if redaction is None:
        return _REPLACED["unknown"]
    kept = f"Kept at the wish of who made it: {', '.join(redaction.kept)}.\n" if redaction.kept else ""
    lines = "".join(f"    {count:>7,}  {rule}\n" for rule, count in sorted(redaction.counts.items()))
    counts = f"\nHow often each rule has replaced something:\n\n{lines}" if lines else ""
    return _REPLACED[redaction.level] + kept + counts


# ---- Reading a bundle ----


def read_bundle(data: bytes, limits: UnpackingLimits = _LIMITS) -> Bundle:
    """What a `.partstream.zip` holds, within the limits.

    Raises:
        BundleError: It cannot be read; :mod:`partstream_devtools.bundles.documents` has a class for each reason.
    """
    entries = unpack(data, limits)
    if MANIFEST not in entries:
        raise NotABundleError("the file", f"a zip without {MANIFEST}", "a bundle of partstream")
    manifest = read_object(entries[MANIFEST], MANIFEST)
    if manifest.raw("format") != FORMAT:
        got = repr(manifest.raw("format"))
        raise UnknownFormError(MANIFEST, f"the format {got[:40]}", f"{FORMAT}; a newer partstream may read it")
    _check_files(entries, manifest)
    numbers = _numbers(entries)
    return Bundle(
        source=manifest.text("source"),
        made_by=manifest.text("made_by"),
        versions=manifest.text_by_name("versions"),
        redaction=documents.read_redaction(manifest.optional_object("redaction")),
        exchanges=tuple(_exchange(entries, number) for number in numbers["exchanges"]),
        answers=tuple(_answer(entries, number) for number in numbers["answers"]),
        notes=manifest.texts("notes"),
    )


def _check_files(entries: dict[str, bytes], manifest: JSONFields) -> None:
    """Whether the files are those that the manifest lists, unchanged."""
    listed = manifest.text_by_name("files")
    for name, digest in listed.items():
        if name not in entries:
            raise BundleContentError(name, "nothing", "the file that the manifest lists")
        if (got := sha256(entries[name]).hexdigest()) != digest:
            raise BundleContentError(name, f"the SHA-256 {got}", f"{digest[:80]}, as the manifest says")
    for name in entries:
        if name not in listed and name != MANIFEST:
            raise BundleContentError(name, "a file that the manifest does not list", "only listed files")


def _numbers(entries: dict[str, bytes]) -> dict[str, list[int]]:
    """The numbers of the exchanges and of the answers that have files."""
    numbers: dict[str, set[int]] = {kind: set() for kind in END_OF_NAMES}
    for name in entries:
        if name in (MANIFEST, README, REPORT):
            continue
        match = NUMBERED.fullmatch(name)
        if (
            match is None
            or match[3] not in END_OF_NAMES[match[1]]
            or not name.startswith(_folder(match[1], int(match[2])))
        ):
            raise BundleContentError(name, "a file of no known name", "exchanges/001/exchange.json and the like")
        numbers[match[1]].add(int(match[2]))
    return {kind: sorted(found) for kind, found in numbers.items()}


def _read(entries: dict[str, bytes], name: str, read: Callable[[JSONFields], Any]) -> Any:
    """What a JSON file says; None where it is not there."""
    return read(read_object(entries[name], name)) if name in entries else None


def _own_facts(entries: dict[str, bytes], name: str, number: int) -> JSONFields:
    """The document of an exchange or an answer, which names its own number."""
    if name not in entries:
        raise BundleContentError(name, "nothing", "the document that each folder has")
    said = read_object(entries[name], name)
    if said.number("number") != number:
        raise BundleContentError(name, f"the number {said.number('number')}", f"{number}, as in the name of its folder")
    return said


def _exchange(entries: dict[str, bytes], number: int) -> RecordedExchange:
    folder = _folder("exchanges", number)
    chunks = f"{folder}/{CHUNKS}"
    return documents.read_exchange(
        _own_facts(entries, f"{folder}/{EXCHANGE}", number),
        _read(entries, f"{folder}/{REQUEST}", documents.read_request),
        _read(entries, f"{folder}/{HEAD}", documents.read_head),
        documents.read_chunks(entries.get(chunks, b""), chunks),
    )


def _answer(entries: dict[str, bytes], number: int) -> RecordedAnswer:
    folder = _folder("answers", number)
    parts = f"{folder}/{PARTS}"
    facts = _own_facts(entries, f"{folder}/{ANSWER}", number)
    return documents.read_answer(facts, documents.read_reported(entries.get(parts, b""), parts))


# ---- Writing a bundle ----


def write_bundle(bundle: Bundle, report: str | None = None) -> bytes:
    """The bytes of a `.partstream.zip`, with a page that shows the same, or without one.

    Raises:
        BundleContentError: Two exchanges or two answers have one number, or a time is negative.
        BundleTooLargeError: A zip cannot hold so much.
    """
    _check_numbers("exchanges", [exchange.number for exchange in bundle.exchanges])
    _check_numbers("answers", [answer.number for answer in bundle.answers])
    entries = {README: readme_of(bundle, has_report=report is not None).encode(errors="backslashreplace")}
    for exchange in bundle.exchanges:
        entries.update(_files_of_exchange(exchange))
    for answer in bundle.answers:
        entries.update(_files_of_answer(answer))
    if report is not None:
        entries[REPORT] = report.encode(errors="backslashreplace")
    manifest = {
        "format": FORMAT,
        "made_by": bundle.made_by,
        "source": bundle.source,
        "versions": dict(sorted(bundle.versions.items())),
        "redaction": documents.redaction_json(bundle.redaction),
        "notes": list(bundle.notes),
        "files": {name: sha256(entries[name]).hexdigest() for name in sorted(entries)},
    }
    entries[MANIFEST] = dumps(manifest) + b"\n"
    return pack(entries)


def _files_of_exchange(exchange: RecordedExchange) -> Iterator[tuple[str, bytes]]:
    folder = _folder("exchanges", exchange.number)
    _check_times(folder, (exchange.offset, exchange.end.at, *(chunk.at for chunk in exchange.chunks)))
    yield f"{folder}/{EXCHANGE}", dumps(documents.exchange_json(exchange, exchange.end)) + b"\n"
    if exchange.request is not None:
        _check_times(folder, [exchange.request.sent_at])
        yield f"{folder}/{REQUEST}", dumps(documents.request_json(exchange.request)) + b"\n"
    if exchange.head is not None:
        _check_times(folder, [exchange.head.at])
        yield f"{folder}/{HEAD}", dumps(documents.head_json(exchange.head)) + b"\n"
    if exchange.chunks:
        yield f"{folder}/{CHUNKS}", b"".join(documents.chunk_bytes(chunk) for chunk in exchange.chunks if chunk.data)


def _files_of_answer(answer: RecordedAnswer) -> Iterator[tuple[str, bytes]]:
    folder = _folder("answers", answer.number)
    _check_times(folder, (answer.offset, *(one.at for one in answer.reported)))
    yield f"{folder}/{ANSWER}", dumps(documents.answer_json(answer)) + b"\n"
    if answer.reported:
        yield f"{folder}/{PARTS}", documents.reported_lines(answer.reported)


def _check_times(where: str, times: Iterable[int | None]) -> None:
    for at in times:
        if at is not None and not 0 <= at < 1 << 63:
            raise BundleContentError(where, f"the time {at}", "nanoseconds from 0, or None")


def _check_numbers(where: str, numbers: list[int]) -> None:
    if numbers != sorted(set(numbers)) or (numbers and not 1 <= numbers[0] <= numbers[-1] < 10**9):
        raise BundleContentError(where, f"the numbers {numbers[:20]}", "each number once, from 1, in order")
