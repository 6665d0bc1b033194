"""Writes a bundle as one file: equal bundles give equal bytes."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING

from partstream.bundles.archive import pack
from partstream.bundles.files import (
    ANSWER,
    CHUNKS,
    EXCHANGE,
    FORMAT,
    HEAD,
    MANIFEST,
    PARTS,
    README,
    REPORT,
    REQUEST,
    folder_of_answer,
    folder_of_exchange,
    readme_of,
)
from partstream.codec.json_codec import dumps
from partstream.devtools.bundles.documents import (
    BundleContentError,
    answer_json,
    chunks_bytes,
    exchange_json,
    head_json,
    redaction_json,
    reported_lines,
    request_json,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from partstream.devtools.bundles.exchange import Bundle, RecordedAnswer, RecordedExchange

__all__ = ["write_bundle"]


def write_bundle(bundle: Bundle, report: str | None = None) -> bytes:
    """The bytes of a `.partstream.zip`.

    Args:
        bundle: What it holds.
        report: The page that shows the same, or None for a file without one.

    Raises:
        BundleContentError: Two exchanges or two answers have one number, or a time is negative.
        BundleTooLargeError: A zip cannot hold so much.
    """
    _check_numbers("exchanges", [exchange.number for exchange in bundle.exchanges])
    _check_numbers("answers", [answer.number for answer in bundle.answers])
    entries = {README: readme_of(bundle, has_report=report is not None).encode()}
    for exchange in bundle.exchanges:
        entries.update(_files_of_exchange(exchange))
    for answer in bundle.answers:
        entries.update(_files_of_answer(answer))
    if report is not None:
        entries[REPORT] = report.encode(errors="backslashreplace")
    entries[MANIFEST] = dumps(_manifest(bundle, entries)) + b"\n"
    return pack(entries)


def _manifest(bundle: Bundle, entries: dict[str, bytes]) -> dict[str, object]:
    return {
        "format": FORMAT,
        "made_by": bundle.made_by,
        "source": bundle.source,
        "versions": dict(sorted(bundle.versions.items())),
        "redaction": redaction_json(bundle.redaction),
        "notes": list(bundle.notes),
        "files": {name: sha256(entries[name]).hexdigest() for name in sorted(entries)},
    }


def _files_of_exchange(exchange: RecordedExchange) -> Iterator[tuple[str, bytes]]:
    folder = folder_of_exchange(exchange.number)
    _check_times(folder, _times_of(exchange))
    yield f"{folder}/{EXCHANGE}", dumps(exchange_json(exchange, exchange.end)) + b"\n"
    if exchange.request is not None:
        yield f"{folder}/{REQUEST}", dumps(request_json(exchange.request)) + b"\n"
    if exchange.head is not None:
        yield f"{folder}/{HEAD}", dumps(head_json(exchange.head)) + b"\n"
    if exchange.chunks:
        yield f"{folder}/{CHUNKS}", chunks_bytes(exchange.chunks)


def _files_of_answer(answer: RecordedAnswer) -> Iterator[tuple[str, bytes]]:
    folder = folder_of_answer(answer.number)
    _check_times(folder, (answer.offset, *(one.at for one in answer.reported)))
    yield f"{folder}/{ANSWER}", dumps(answer_json(answer)) + b"\n"
    if answer.reported:
        yield f"{folder}/{PARTS}", reported_lines(answer.reported)


def _times_of(exchange: RecordedExchange) -> Iterator[int | None]:
    yield exchange.offset
    yield exchange.end.at
    if exchange.request is not None:
        yield exchange.request.sent_at
    if exchange.head is not None:
        yield exchange.head.at
    for chunk in exchange.chunks:
        yield chunk.at


def _check_times(where: str, times: Iterable[int | None]) -> None:
    for at in times:
        if at is not None and not 0 <= at < 1 << 63:
            raise BundleContentError(where, f"the time {at}", "nanoseconds from 0, or None")


def _check_numbers(where: str, numbers: list[int]) -> None:
    if numbers != sorted(set(numbers)) or (numbers and not 1 <= numbers[0] <= numbers[-1] < 10**9):
        raise BundleContentError(where, f"the numbers {numbers[:20]}", "each number once, from 1, in order")
