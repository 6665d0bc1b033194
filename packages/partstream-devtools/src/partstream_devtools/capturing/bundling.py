"""Makes a bundle of captured answers, without the secrets that their requests were sent with.

A snapshot takes microseconds and copies no text and no read, so that a bundle is made of it on any thread while the
answers go on. A server may repeat the key that it was sent, in any encoding, and any read may end in it: what the
redactor of an exchange finds is masked in the joined body, byte for byte, so that no length, no read and no time
changes. Recordings without a name of their own go to the user's data folder, where they age out.
"""

from __future__ import annotations
import platform
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from partstream._version import __version__
from partstream.codec.checks import dataclass, replace
from partstream.codec.redaction import Redactor
from partstream.codec.system import DATA
from partstream.lm.outputs import StreamOptions
from partstream.runtime.answer_files import BoundedFolder, FileLimits
from partstream_devtools.bundles import exchange as bundle
from partstream_devtools.capturing.capture import PART, AnswerCapture, Entry, ExchangeCapture

# ---- Bundles ----

_ANY_PREFIX: Final = StreamOptions().call_id_prefix
"""The prefix of call ids says nothing of what is shown, and no file holds it."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Captured answers as they were at the time `at` of their clock."""

    answers: tuple[AnswerCapture, ...]
    at: int


def snapshot_of(answers: Sequence[AnswerCapture]) -> Snapshot:
    """The answers (at least one, in the order of their beginnings) as they are now, in microseconds."""
    return Snapshot(tuple(answer.copied() for answer in answers), answers[0].clock())


def bundle_of(snapshot: Snapshot, source: str, versions: Mapping[str, str] | None = None) -> bundle.Bundle:
    """The bundle of a snapshot. It may take a second for the largest, which are searched for secrets.

    `source` says where the answers were captured, such as `vscode`; `versions` adds those of what took part.
    """
    first = snapshot.answers[0].started
    answers: list[bundle.RecordedAnswer] = []
    exchanges: list[bundle.RecordedExchange] = []
    for number, answer in enumerate(snapshot.answers, 1):
        entries = answer.entries
        reported = tuple(
            bundle.ReportedPart(at - answer.started, content)
            for index, at, content in entries
            if index == PART and not isinstance(content, bytes)
        )
        started_at = _wall_time(answer.started_at, 0)
        answers.append(
            bundle.RecordedAnswer(
                number,
                answer.host,
                answer.model,
                started_at,
                answer.started - first,
                reported,
                answer.outcome,
                answer.error,
                dropped=answer.dropped_fields,
            )
        )
        for index, exchange in enumerate(answer.exchanges):
            reads = [(at, content) for one, at, content in entries if one == index and isinstance(content, bytes)]
            offset = exchange.started - answer.started
            exchanges.append(
                bundle.RecordedExchange(
                    len(exchanges) + 1,
                    number,
                    exchange.protocol,
                    _wall_time(answer.started_at, offset),
                    *_sides_of(exchange, reads),
                    _end_of(exchange, snapshot.at),
                    offset=offset,
                    left_out=_left_out_of(exchange, index, answer.kept_before_gap),
                    shown=None if exchange.shown is None else replace(exchange.shown, call_id_prefix=_ANY_PREFIX),
                )
            )
    known = {**versions_here(), **(versions or {})}
    return bundle.Bundle(source, f"partstream {__version__}", known, None, tuple(exchanges), tuple(answers))


def redacted_bundle(snapshot: Snapshot, source: str, versions: Mapping[str, str] | None = None) -> bundle.Bundle:
    """The bundle as files hold it: also without what looks like a key, and without ids of people."""
    from partstream_devtools.redaction.redacting import redact  # noqa: PLC0415 - a capture socket does without

    captured = [exchange for one in snapshot.answers for exchange in one.exchanges]
    secrets = frozenset().union(*(exchange.redactor().secrets for exchange in captured))
    return redact(bundle_of(snapshot, source, versions), bundle.RedactionLevel.KEYS, secrets=secrets)[0]


def versions_here() -> dict[str, str]:
    """The versions of what captures: Partstream, Python and the system, and no name of a machine."""
    return {
        "partstream": __version__,
        "python": platform.python_version(),
        "os": f"{platform.system()} {platform.release()}".strip(),
    }


def _sides_of(
    exchange: ExchangeCapture, reads: Sequence[tuple[int, bytes]]
) -> tuple[bundle.RecordedRequest, bundle.ResponseHead | None, tuple[bundle.Chunk, ...]]:
    """The request and the response of an exchange, without the secrets of the request."""
    redactor, started = exchange.redactor(), exchange.started
    request = exchange.request
    sent = None if exchange.sent is None else exchange.sent - started
    asked = bundle.RecordedRequest(
        request.method,
        redactor.redact(request.path),
        redactor.redact(request.query),
        _without_secrets(request.headers, redactor),
        redactor.mask_bytes(request.body),
        sent,
    )
    head = exchange.head
    answered = (
        None
        if head is None
        else bundle.ResponseHead(
            _since(started, head.at),
            head.status,
            redactor.redact(head.reason),
            _without_secrets(head.headers, redactor),
        )
    )
    return asked, answered, tuple(masked_chunks([bundle.Chunk(at - started, data) for at, data in reads], redactor))


def masked_chunks(chunks: Sequence[bundle.Chunk], redactor: Redactor) -> list[bundle.Chunk]:
    """The reads of a body with its secrets masked; they are found in all reads together."""
    body = b"".join(chunk.data for chunk in chunks)
    masked = redactor.mask_bytes(body)
    if masked == body:
        return [*chunks]
    return [*bundle.cut_like(chunks, masked)]


def _without_secrets(headers: Iterable[tuple[str, str]], redactor: Redactor) -> tuple[tuple[str, str], ...]:
    return tuple((name, redactor.redact(value)) for name, value in headers)


def _end_of(exchange: ExchangeCapture, now: int) -> bundle.ExchangeEnd:
    """The end of an exchange; that of one that goes on is the moment in which it is looked at."""
    end = exchange.end
    if end is None:
        return bundle.ExchangeEnd(now - exchange.started, bundle.HowEnded.CUT)
    return replace(end, at=_since(exchange.started, end.at))


def _since(started: int, at: int | None) -> int | None:
    return None if at is None else at - started


def _left_out_of(exchange: ExchangeCapture, index: int, before: Sequence[Entry]) -> bundle.LeftOut | None:
    if not (exchange.left_out_reads or exchange.request.left_out):
        return None
    after = sum(1 for one, _, _ in before if one == index)
    return bundle.LeftOut(exchange.left_out_reads, exchange.left_out_bytes, after, exchange.request.left_out)


def _wall_time(start: datetime, nanoseconds: int) -> str:
    return (start + timedelta(microseconds=nanoseconds // 1000)).isoformat(timespec="microseconds")


# ---- Kept recordings ----

_FOLDER: Final = "recordings"
_NAMES: Final = re.compile(r"[0-9]{8}-[0-9]{6}-[a-z0-9.-]{1,60}\.partstream\.(?:zip|part)")
"""Also of recordings that were never finished, because the recorder was killed."""
_NO_WORDS: Final = re.compile(r"[^a-z0-9.]+")
_LONGEST: Final = 40
_LIMITS: Final = FileLimits(file_bytes=200 * 1024 * 1024, all_bytes=200 * 1024 * 1024, files=1_000)


class RecordingFolder:
    """The folder of recordings, by default in the user's data folder; holds at most 30 days and 200 MB."""

    def __init__(
        self, folder: Path | None = None, limits: FileLimits = _LIMITS, clock: Callable[[], float] = time.time
    ) -> None:
        self._folder = BoundedFolder(folder or DATA.path() / _FOLDER, _NAMES, limits, clock)
        self._clock = clock

    def write(self, data: bytes, about: str) -> Path:
        """Writes the bytes of a `.partstream.zip`; its name has the time, and what a file name can hold of `about`.

        Raises:
            OSError: The system refuses.
        """
        moment = datetime.fromtimestamp(self._clock(), UTC).strftime("%Y%m%d-%H%M%S")
        words = _NO_WORDS.sub("-", about.lower()).strip("-.")[:_LONGEST] or "answer"
        taken = {path.name for path in self._folder.newest_first()}
        numbers = ("", *(f"-{number}" for number in range(2, len(taken) + 2)))
        names = (f"{moment}-{words}{number}.partstream.zip" for number in numbers)
        return self._folder.write(next(name for name in names if name not in taken), data)

    def newest(self) -> Path | None:
        """The recording that was written last; None where there is none."""
        return next(iter(self._folder.newest_first()), None)
