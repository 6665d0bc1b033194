"""Reads a bundle from one file, which may come from a stranger."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

from partstream.bundles.archive import ARCHIVE_BEGINS, ArchiveLimits, unpack
from partstream.bundles.files import (
    ANSWER,
    CHUNKS,
    END_OF_NAMES,
    EXCHANGE,
    FORMAT,
    HEAD,
    MANIFEST,
    NUMBERED,
    PARTS,
    README,
    REPORT,
    REQUEST,
    folder_of_answer,
    folder_of_exchange,
)
from partstream.devtools.bundles.documents import (
    BundleContentError,
    MissingEntryError,
    NotABundleError,
    UnknownFormatError,
    UnlistedEntryError,
    WrongDigestError,
    read_answer,
    read_chunks,
    read_exchange,
    read_head,
    read_object,
    read_redaction,
    read_reported,
    read_request,
)
from partstream.devtools.bundles.exchange import Bundle

if TYPE_CHECKING:
    from collections.abc import Callable

    from partstream.devtools.bundles.documents import JSONFields
    from partstream.devtools.bundles.exchange import RecordedAnswer, RecordedExchange

__all__ = ["looks_like_a_bundle", "read_bundle"]

_LIMITS: Final = ArchiveLimits()


def looks_like_a_bundle(data: bytes) -> bool:
    """Whether the bytes begin as those of a bundle do."""
    return data.startswith(ARCHIVE_BEGINS)


def read_bundle(data: bytes, limits: ArchiveLimits = _LIMITS) -> Bundle:
    """What a `.partstream.zip` holds.

    Args:
        data: The whole file.
        limits: How much it may hold.

    Raises:
        BundleError: It cannot be read; :mod:`partstream.devtools.bundles.documents` has a class for each reason.
    """
    entries = unpack(data, limits)
    if MANIFEST not in entries:
        raise NotABundleError("the file", f"a zip without {MANIFEST}", "a bundle of partstream")
    manifest = read_object(entries[MANIFEST], MANIFEST)
    if manifest.raw("format") != FORMAT:
        got = repr(manifest.raw("format"))
        raise UnknownFormatError(MANIFEST, f"the format {got[:40]}", f"{FORMAT}; a newer partstream may read it")
    _check_files(entries, manifest)
    numbers = _numbers(entries)
    return Bundle(
        source=manifest.text("source"),
        made_by=manifest.text("made_by"),
        versions=manifest.text_by_name("versions"),
        redaction=read_redaction(manifest.optional_object("redaction")),
        exchanges=tuple(_exchange(entries, number) for number in numbers["exchanges"]),
        answers=tuple(_answer(entries, number) for number in numbers["answers"]),
        notes=manifest.texts("notes"),
    )


def _check_files(entries: dict[str, bytes], manifest: JSONFields) -> None:
    """Whether the files are those that the manifest lists, unchanged."""
    listed = manifest.text_by_name("files")
    for name, digest in listed.items():
        if name not in entries:
            raise MissingEntryError(name, "nothing", "the file that the manifest lists")
        if (got := sha256(entries[name]).hexdigest()) != digest:
            raise WrongDigestError(name, f"the SHA-256 {got}", f"{digest[:80]}, as the manifest says")
    for name in entries:
        if name not in listed and name != MANIFEST:
            raise UnlistedEntryError(name, "a file that the manifest does not list", "only listed files")


def _numbers(entries: dict[str, bytes]) -> dict[str, list[int]]:
    """The numbers of the exchanges and of the answers that have files.

    Raises:
        UnlistedEntryError: A file has no place in the format.
    """
    numbers: dict[str, set[int]] = {kind: set() for kind in END_OF_NAMES}
    folder_of: dict[str, Callable[[int], str]] = {"exchanges": folder_of_exchange, "answers": folder_of_answer}
    for name in entries:
        if name in (MANIFEST, README, REPORT):
            continue
        match = NUMBERED.fullmatch(name)
        if (
            match is None
            or match[3] not in END_OF_NAMES[match[1]]
            or not name.startswith(folder_of[match[1]](int(match[2])))
        ):
            raise UnlistedEntryError(name, "a file of no known name", "exchanges/001/exchange.json and the like")
        numbers[match[1]].add(int(match[2]))
    return {kind: sorted(found) for kind, found in numbers.items()}


def _read(entries: dict[str, bytes], name: str, read: Callable[[JSONFields], Any]) -> Any:
    """What a JSON file says; None where it is not there."""
    return read(read_object(entries[name], name)) if name in entries else None


def _own_facts(entries: dict[str, bytes], name: str, number: int) -> JSONFields:
    """The document of an exchange or an answer, which names its own number."""
    if name not in entries:
        raise MissingEntryError(name, "nothing", "the document that each folder has")
    said = read_object(entries[name], name)
    if said.number("number") != number:
        raise BundleContentError(name, f"the number {said.number('number')}", f"{number}, as in the name of its folder")
    return said


def _exchange(entries: dict[str, bytes], number: int) -> RecordedExchange:
    folder = folder_of_exchange(number)
    chunks = f"{folder}/{CHUNKS}"
    return read_exchange(
        _own_facts(entries, f"{folder}/{EXCHANGE}", number),
        _read(entries, f"{folder}/{REQUEST}", read_request),
        _read(entries, f"{folder}/{HEAD}", read_head),
        read_chunks(entries.get(chunks, b""), chunks),
    )


def _answer(entries: dict[str, bytes], number: int) -> RecordedAnswer:
    folder = folder_of_answer(number)
    parts = f"{folder}/{PARTS}"
    facts = _own_facts(entries, f"{folder}/{ANSWER}", number)
    return read_answer(facts, read_reported(entries.get(parts, b""), parts))
