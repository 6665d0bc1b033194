"""The file of a recording while it grows: what goes by is appended read by read, without keys, by a thread."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Final

from partstream._version import __version__
from partstream.codec.redaction import names_a_secret, query_without_secrets, without_secrets_by_name
from partstream.codec.text import bare_media_type
from partstream.devtools.bundles.exchange import (
    ExchangeEnd,
    HowEnded,
    RecordedAnswer,
    RecordedExchange,
    RecordedRequest,
    ResponseHead,
)
from partstream.devtools.bundles.partial import PartialRecording
from partstream.devtools.capturing.bundling import versions_here
from partstream.devtools.capturing.capture import recorded_error
from partstream.recorder.background_file import BackgroundFile
from partstream.recorder.masked_reads import MaskedReads
from partstream.recorder.spoken import protocol_at
from partstream.upstream.endpoint import redactor_of, secrets_in_url

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from partstream.codec.redaction import Redactor
    from partstream.devtools.recorder.proxy import ForwardedRequest, HeaderFields

__all__ = ["RecordingFile", "is_document", "model_asked", "redactor_of_request"]

_MODEL: Final = re.compile(rb'"model"\s*:\s*"([^"\\\x00-\x1f]{1,200})"')
_PATH_OF_MODEL: Final = re.compile(r"/models/([^/:?]{1,200}):")


class RecordingFile:
    """A recording that grows; belongs to one event loop.

    Args:
        path: Where it is, with the ending of partial recordings.
        on_failure: Called when it cannot be written any more.

    Attributes:
        exchanges: How many exchanges have begun in it.
        open_exchanges: How many of them go on.

    Raises:
        OSError: It cannot be made.
    """

    def __init__(self, path: Path, on_failure: Callable[[OSError], object] = lambda error: None) -> None:
        self.exchanges = self.open_exchanges = 0
        self._file = BackgroundFile(path, on_failure)
        self._recording = PartialRecording(self._file.append, "record", f"partstream {__version__}", versions_here())
        self._first: int | None = None

    @property
    def path(self) -> Path:
        """Where it is."""
        return self._file.path

    @property
    def size(self) -> int:
        """The bytes that were written."""
        return self._file.size

    def watch(self, request: ForwardedRequest) -> _Watcher:
        """What records an exchange."""
        self.exchanges += 1
        self.open_exchanges += 1
        self._first = request.at if self._first is None else self._first
        return _Watcher(self, self._file, _Life(self._recording, self.exchanges, request, request.at - self._first))

    async def close(self) -> None:
        """Closes the file when all is written."""
        await self._file.close()


class _Watcher:
    """Hands on what it sees to the thread of the file: no call takes longer than a queue does."""

    def __init__(self, owner: RecordingFile, file: BackgroundFile, life: _Life) -> None:
        self._owner = owner
        self._file = file
        self._life = life

    @property
    def is_behind(self) -> bool:
        return self._file.is_behind

    async def caught_up(self) -> None:
        await self._file.caught_up()

    def sending(self, at: int) -> None:
        self._life.sending_at = at

    def sent(self, at: int) -> None:
        self._file.do(partial(self._life.begin, at), self._life.size)

    def head(self, at: int, status: int, reason: str, headers: HeaderFields) -> None:
        self._file.do(partial(self._life.head, at, status, reason, headers), 0)

    def chunk(self, at: int, data: bytes) -> None:
        self._file.do(partial(self._life.chunk, at, data), len(data))

    def end(self, at: int, how: HowEnded, error: Exception | None) -> None:
        self._owner.open_exchanges -= 1
        self._file.do(partial(self._life.end, at, how, error), 0)


class _Life:
    """One exchange as records of the file. All but the times of sending is done in the thread of the file."""

    def __init__(self, recording: PartialRecording, number: int, request: ForwardedRequest, offset: int) -> None:
        self.sending_at = request.at
        self._recording = recording
        self._number = number
        self._request = request
        self._offset = offset
        self._started_at = datetime.now(UTC).isoformat(timespec="microseconds")
        self._redactor = redactor_of_request(request)
        self._reads = MaskedReads(self._redactor)
        self._has_begun = False
        self._protocol: str | None = None

    @property
    def size(self) -> int:
        """About how many bytes its request takes."""
        return len(self._request.body)

    def begin(self, sent_at: int | None) -> None:
        """The request was sent, or nobody knows when its last byte was."""
        if self._has_begun:
            return
        self._has_begun = True
        request = self._request
        asked = RecordedRequest(
            request.method,
            self._redactor.redact(request.path),
            query_without_secrets(request.query),
            _without_secrets(request.headers, self._redactor),
            self._redactor.mask_bytes(request.body),
            None if sent_at is None else self._since(sent_at),
        )
        unknown = ExchangeEnd(None, HowEnded.NO_RESPONSE)
        self._recording.begin(
            RecordedExchange(self._number, self._number, None, self._started_at, asked, None, (), unknown, offset=0)
        )

    def head(self, at: int, status: int, reason: str, headers: HeaderFields) -> None:
        """The head came."""
        self.begin(None)
        fields = _without_secrets(headers, self._redactor)
        head = ResponseHead(self._since(at), status, self._redactor.redact(reason), fields)
        self._recording.head(self._number, head)
        if is_document(status, fields):
            self._protocol = protocol_at(self._request.method, self._request.path)

    def chunk(self, at: int, data: bytes) -> None:
        """A read came."""
        for chunk in self._reads.take(self._since(at), data):
            self._recording.chunk(self._number, chunk)

    def end(self, at: int, how: HowEnded, error: Exception | None) -> None:
        """It is over."""
        self.begin(None)
        for chunk in self._reads.end():
            self._recording.chunk(self._number, chunk)
        said = None if error is None else recorded_error(error, self._redactor.redact)
        self._recording.end(self._number, ExchangeEnd(self._since(at), how, said), self._protocol)
        model = model_asked(self._request)
        self._recording.answer(
            RecordedAnswer(self._number, model=model, started_at=self._started_at, offset=self._offset)
        )

    def _since(self, at: int) -> int:
        return max(0, at - self.sending_at)


def redactor_of_request(request: ForwardedRequest) -> Redactor:
    """Removes the keys that a request is sent with from what is kept of its exchange."""
    fields = {name.decode("latin-1"): value.decode("latin-1") for name, value in request.headers}
    named = {name: value for name, value in fields.items() if names_a_secret(name)}
    return redactor_of(named, secrets_in_url(f"//_/?{request.query}"))


def is_document(status: int, headers: Iterable[tuple[str, str]]) -> bool:
    """Whether a response is an answer in one document."""
    kind = bare_media_type(next((value for name, value in headers if name == "content-type"), ""))
    return kind == "application/json" and status // 100 == 2


def model_asked(request: ForwardedRequest) -> str | None:
    """The model that a request names in its body or its path, as most wires have it; None where it names none."""
    in_body = _MODEL.search(request.body)
    if in_body is not None:
        return in_body[1].decode(errors="replace")
    in_path = _PATH_OF_MODEL.search(request.path)
    return None if in_path is None else in_path[1]


def _without_secrets(headers: HeaderFields, redactor: Redactor) -> tuple[tuple[str, str], ...]:
    fields = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in headers]
    return tuple((name, redactor.redact(value)) for name, value in without_secrets_by_name(fields))
