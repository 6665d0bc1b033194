"""The files of a run of the recorder: reads are appended while they come, without keys, by a thread.

A disk that is slow or full holds up no exchange: a thread of its own writes each piece with one call and without a
buffer, so that what was written stays when the process is killed. A file that is full is finished beside the proxy,
while the next one grows.

A server may repeat a key, and cut it over two reads. A read whose end may be the beginning of a key is held back until
the next one has come, or the response has ended; no length changes. Nothing here tells the protocol of an exchange:
what reads a recording tells it by events and path.
"""

from __future__ import annotations
import asyncio
import os
import re
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import Final

from partstream._version import __version__
from partstream.codec.redaction import Redactor, names_a_secret, query_without_secrets, without_secrets_by_name
from partstream.upstream.endpoint import redactor_of, secrets_in_url
from partstream_devtools.bundles import exchange
from partstream_devtools.bundles.forms import FORMS
from partstream_devtools.bundles.partial import PARTIAL_ENDING, PartialRecording
from partstream_devtools.capturing.bundling import masked_chunks, versions_here
from partstream_devtools.capturing.capture import recorded_error
from partstream_devtools.recorder.beside import finish_in_a_process
from partstream_devtools.recorder.proxy import ExchangeWatcher, ForwardedRequest, HeaderFields, text_fields

# ---- A file written by a thread ----

_MOST_BEHIND: Final = 64 * 1024 * 1024  # bytes that are not written yet; with more, their source has to wait


class BackgroundFile:
    """A new file, for the user alone; belongs to one event loop. `size` is the bytes that were written.

    `on_failure` is called in the event loop when it cannot be written any more; what comes afterwards is lost.

    Raises:
        OSError: It cannot be made.
    """

    def __init__(self, path: Path, on_failure: Callable[[OSError], object] = lambda error: None) -> None:
        self.path = path
        self.size = 0
        self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o600)
        self._on_failure = on_failure
        self._loop = asyncio.get_running_loop()
        self._jobs: SimpleQueue[tuple[Callable[[], object], int] | None] = SimpleQueue()
        self._brought = 0  # bytes; changed in the event loop alone
        self._done = 0  # bytes; changed in the thread alone
        self._is_waited_for = False
        self._room = asyncio.Event()
        self._failed = False
        # A daemon: a disk that hangs must not keep the process from ending.
        self._thread = threading.Thread(target=self._run, name="recording", daemon=True)
        self._thread.start()

    @property
    def is_behind(self) -> bool:
        """Whether so much waits to be written that no more should come."""
        return self._brought - self._done > _MOST_BEHIND

    def do(self, job: Callable[[], object], size: int) -> None:
        """Has the thread do something that appends about `size` bytes, after all that was brought before."""
        self._brought += size
        self._jobs.put((job, size))

    def append(self, data: bytes) -> None:
        """Writes bytes; called in the thread."""
        if self._failed:
            return
        try:
            rest = memoryview(data)
            while rest:
                rest = rest[os.write(self._descriptor, rest) :]
            self.size += len(data)
        except OSError as error:
            self._failed = True
            self._loop.call_soon_threadsafe(self._on_failure, error)

    async def caught_up(self) -> None:
        """Waits while :attr:`is_behind`."""
        while self.is_behind:
            self._room.clear()
            self._is_waited_for = True
            if self.is_behind:  # the thread may have looked before the change
                await self._room.wait()

    async def close(self) -> None:
        """Closes the file when all that was brought is written."""
        self._jobs.put(None)
        await asyncio.to_thread(self._thread.join)

    def _run(self) -> None:
        while (brought := self._jobs.get()) is not None:
            job, size = brought
            job()
            self._done += size
            if self._is_waited_for and not self.is_behind:
                self._is_waited_for = False
                self._loop.call_soon_threadsafe(self._room.set)
        os.close(self._descriptor)


# ---- Reads without keys ----

_MOST_HELD: Final = 64 * 1024
_PIECE: Final = 16 * 1024  # bytes of a request's body that are searched at once
_LONGEST_END: Final = 4 * 1024  # bytes at the end of what is held in which a key may begin


class MaskedReads:
    """The reads of one response, without the keys that a redactor knows."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._held: list[exchange.Chunk] = []

    def take(self, at: int, data: bytes) -> list[exchange.Chunk]:
        """Takes a read, gives those that can be kept now."""
        self._held.append(exchange.Chunk(at, data))
        joined = b"".join(chunk.data for chunk in self._held)
        if len(joined) <= _MOST_HELD and self._redactor.may_go_on(joined[-_LONGEST_END:]):
            return []
        return self.end()

    def end(self) -> list[exchange.Chunk]:
        """The reads that are still held back."""
        held, self._held = self._held, []
        return masked_chunks(held, self._redactor)


# ---- One file ----

_MODEL: Final = re.compile(rb'"model"\s*:\s*"([^"\\\x00-\x1f]{1,200})"')
_PATH_OF_MODEL: Final = re.compile(r"/models/([^/:?]{1,200}):")


class RecordingFile(BackgroundFile):
    """A recording that grows, with the ending of partial recordings; `recording` is what is appended to it.

    `exchanges` have begun in it, `open_exchanges` of them go on, and `secrets` are the keys that were sent.

    Raises:
        OSError: It cannot be made.
    """

    def __init__(self, path: Path, on_failure: Callable[[OSError], object] = lambda error: None) -> None:
        super().__init__(path, on_failure)
        self.exchanges = self.open_exchanges = 0
        self.secrets: set[str] = set()
        self.recording = PartialRecording(self.append, "record", f"partstream {__version__}", versions_here())
        self._first: int | None = None

    def watch(self, request: ForwardedRequest) -> _Watcher:
        """What records an exchange."""
        self.exchanges += 1
        self.open_exchanges += 1
        self._first = request.at if self._first is None else self._first
        redactor = redactor_of_request(request)
        self.secrets |= redactor.secrets
        return _Watcher(self, request, redactor, request.at - self._first)


class _Watcher:
    """One exchange as records of the file.

    All but the times of sending is done in the thread of the file: no call takes longer than a queue does.
    """

    def __init__(self, owner: RecordingFile, request: ForwardedRequest, redactor: Redactor, offset: int) -> None:
        self._file = owner
        self._recording = owner.recording
        self._number = owner.exchanges
        self._request = request
        self._offset = offset
        self._sending_at = request.at
        self._started_at = datetime.now(UTC).isoformat(timespec="microseconds")
        self._redactor = redactor
        self._reads = MaskedReads(redactor)
        self._has_begun = False

    @property
    def is_behind(self) -> bool:
        return self._file.is_behind

    async def caught_up(self) -> None:
        await self._file.caught_up()

    def sending(self, at: int) -> None:
        self._sending_at = at

    def sent(self, at: int) -> None:
        self._file.do(partial(self._begin, at), len(self._request.body))

    def head(self, at: int, status: int, reason: str, headers: HeaderFields) -> None:
        self._file.do(partial(self._write_head, at, status, reason, headers), 0)

    def chunk(self, at: int, data: bytes) -> None:
        self._file.do(partial(self._write_chunk, at, data), len(data))

    def end(self, at: int, how: exchange.HowEnded, error: Exception | None) -> None:
        self._file.open_exchanges -= 1
        self._file.do(partial(self._write_end, at, how, error), 0)

    # ---- in the thread of the file ----

    def _begin(self, sent_at: int | None) -> None:
        """The request was sent, or the time of its last byte is unknown."""
        if self._has_begun:
            return
        self._has_begun = True
        request = self._request
        asked = exchange.RecordedRequest(
            request.method,
            self._redactor.redact(request.path),
            query_without_secrets(request.query),
            _without_secrets(request.headers, self._redactor),
            self._masked(request.body),
            None if sent_at is None else self._since(sent_at),
        )
        unknown = exchange.ExchangeEnd(None, exchange.HowEnded.NO_RESPONSE)
        self._recording.begin(
            exchange.RecordedExchange(
                self._number, self._number, None, self._started_at, asked, None, (), unknown, offset=0
            )
        )

    def _masked(self, body: bytes) -> bytes:
        """A body without keys; one search of all of it would stop the proxy as long."""
        reads = MaskedReads(self._redactor)
        pieces = (body[place : place + _PIECE] for place in range(0, len(body), _PIECE))
        kept = [chunk for piece in pieces for chunk in reads.take(0, piece)]
        return b"".join([chunk.data for chunk in (*kept, *reads.end())])

    def _write_head(self, at: int, status: int, reason: str, headers: HeaderFields) -> None:
        self._begin(None)
        fields = _without_secrets(headers, self._redactor)
        head = exchange.ResponseHead(self._since(at), status, self._redactor.redact(reason), fields)
        self._recording.head(self._number, head)

    def _write_chunk(self, at: int, data: bytes) -> None:
        for chunk in self._reads.take(self._since(at), data):
            self._recording.chunk(self._number, chunk)

    def _write_end(self, at: int, how: exchange.HowEnded, error: Exception | None) -> None:
        self._begin(None)
        for chunk in self._reads.end():
            self._recording.chunk(self._number, chunk)
        said = None if error is None else recorded_error(error, self._redactor.redact)
        self._recording.end(self._number, exchange.ExchangeEnd(self._since(at), how, said))
        model = model_asked(self._request)
        self._recording.answer(
            exchange.RecordedAnswer(self._number, model=model, started_at=self._started_at, offset=self._offset)
        )

    def _since(self, at: int) -> int:
        return max(0, at - self._sending_at)


def redactor_of_request(request: ForwardedRequest) -> Redactor:
    """Removes the keys that a request is sent with from what is kept of its exchange."""
    named = {name: value for name, value in text_fields(request.headers) if names_a_secret(name)}
    return redactor_of(named, secrets_in_url(f"//_/?{request.query}"))


def model_asked(request: ForwardedRequest) -> str | None:
    """The model that a request names in its body or its path, as most wires have it; None where it names none."""
    in_body = _MODEL.search(request.body)
    if in_body is not None:
        return in_body[1].decode(errors="replace")
    in_path = _PATH_OF_MODEL.search(request.path)
    return None if in_path is None else in_path[1]


def _without_secrets(headers: HeaderFields, redactor: Redactor) -> tuple[tuple[str, str], ...]:
    fields = without_secrets_by_name(text_fields(headers))
    return tuple((name, redactor.redact(value)) for name, value in fields)


# ---- All files of a run ----

_MOST_BYTES: Final = 64 * 1024 * 1024
_MOST_EXCHANGES: Final = 1_000  # of one file: what is longer is slow to look at, and takes much memory


class Recordings:
    """Records exchanges; belongs to one event loop.

    Further files have a number before the ending; `most_bytes` (about) and `most_exchanges` are limits of one file.
    When a file cannot be written, `on_failure` is called, and exchanges are forwarded still.

    Attributes:
        files: The files that were finished.
        left: Recordings that could not be finished, as they have grown, and why; every command reads them.

    Raises:
        OSError: The file cannot be made.
    """

    def __init__(
        self,
        file: Path,
        on_failure: Callable[[Exception], object],
        most_bytes: int = _MOST_BYTES,
        most_exchanges: int = _MOST_EXCHANGES,
    ) -> None:
        self.files: list[Path] = []
        self.left: dict[Path, Exception] = {}
        self._file = file
        self._on_failure = on_failure
        self._most_bytes = most_bytes
        self._most_exchanges = most_exchanges
        self._number = 1
        self._growing = self._new()
        self._full: list[tuple[RecordingFile, Path]] = []
        self._finishing: set[asyncio.Task[None]] = set()
        self._one_at_a_time = asyncio.Lock()

    @property
    def growing(self) -> Path:
        """The file that grows."""
        return self._growing.path

    def watch(self, request: ForwardedRequest) -> ExchangeWatcher:
        """What records an exchange."""
        growing = self._growing
        if growing.size >= self._most_bytes or growing.exchanges >= self._most_exchanges:
            self._turn_over()
        return self._growing.watch(request)

    async def close(self) -> None:
        """Finishes all files; one without an exchange is removed."""
        await asyncio.gather(*self._finishing)
        for recording, file in (*self._full, (self._growing, self._path(self._number))):
            await self._finish(recording, file)

    def _turn_over(self) -> None:
        """Begins the next file, and has those finished that are full and whose exchanges are over."""
        full = (self._growing, self._path(self._number))
        try:
            self._number += 1
            self._growing = self._new()
        except OSError as error:
            self._number -= 1
            self._on_failure(error)  # it grows on
            return
        self._full.append(full)
        over = [one for one in self._full if not one[0].open_exchanges]
        self._full = [one for one in self._full if one[0].open_exchanges]
        for recording, file in over:
            task = asyncio.get_running_loop().create_task(self._finish(recording, file))
            self._finishing.add(task)
            task.add_done_callback(self._finishing.discard)

    async def _finish(self, recording: RecordingFile, file: Path) -> None:
        await recording.close()
        if not recording.exchanges:
            recording.path.unlink(missing_ok=True)
            return
        async with self._one_at_a_time:
            try:
                await finish_in_a_process(recording.path, file, recording.secrets)
            except OSError as error:  # the recording stays as it has grown
                self.left[recording.path] = error
            else:
                self.files.append(file)

    def _new(self) -> RecordingFile:
        file = self._path(self._number)
        return RecordingFile(file.with_name(_stem(file.name) + PARTIAL_ENDING), self._on_failure)

    def _path(self, number: int) -> Path:
        if number == 1:
            return self._file
        name = self._file.name
        stem = _stem(name)
        return self._file.with_name(f"{stem}-{number}{name[len(stem) :]}")


def _stem(name: str) -> str:
    """A name without the ending that says its form."""
    endings = (ending for form in FORMS for ending in form.endings if name.lower().endswith(ending))
    return name[: len(name) - max(map(len, endings), default=0)]
