"""One run of the recorder: the proxy, the file, the memory, and the capture socket, put together.

Each exchange goes into the file, and then into the memory, for the line that a person reads about it and for a page
that follows. What is over is judged in a process of its own before it is reported.
"""

from __future__ import annotations
import asyncio
import gc
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from partstream.codec.checks import dataclass, replace
from partstream.codec.redaction import query_without_secrets, without_secrets_by_name
from partstream.upstream.context import CapturedRequest
from partstream_devtools.bundles.exchange import Chunk, HowEnded, RecordedExchange, RecordedRequest
from partstream_devtools.capturing.capture import LastAnswers
from partstream_devtools.capturing.capture_socket import CaptureSocket
from partstream_devtools.recorder.beside import JudgingProcess
from partstream_devtools.recorder.files import Recordings, model_asked, redactor_of_request
from partstream_devtools.recorder.proxy import RecordingProxy, text_fields

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType

    from partstream.upstream.configuration import GatewayConfiguration
    from partstream_devtools.recorder.proxy import ExchangeWatcher, ForwardedRequest, HeaderFields, Watch

# ---- Seen answers ----

_LARGEST_JUDGED: Final = 8 * 1024 * 1024
"""Bytes of a body: a larger one takes seconds, in which answers that go on would be late."""
_ASKED_WITH: Final = "POST"
_FEW: Final = 16
_OUTCOMES: Final = {HowEnded.CUT: "truncated", HowEnded.CANCELLED: "cancelled", HowEnded.NO_RESPONSE: "failed"}


@dataclass(frozen=True, slots=True)
class AnswerFacts:
    """The facts of an exchange that is over: its request, how its bytes ended, and the answer in it.

    `seconds` are those from the request to the end, `bytes` those of the body. `outcome`, such as `completed`, is None
    for what is no answer of a model, and `broken`, the number of broken rules of the contract, for what was not judged.
    """

    number: int
    method: str
    path: str
    status: int | None
    ending: HowEnded
    seconds: float
    bytes: int
    outcome: str | None = None
    protocol: str | None = None
    events: int = 0
    broken: int | None = None
    error: str | None = None


class SeenAnswers:
    """Keeps the last answers, and reports each that is over; belongs to one event loop.

    Args:
        report: Called with the facts of each exchange, a moment after it is over.
        record: What else watches each exchange, before it is kept.

    Attributes:
        answers: The last answers; their headers hold no keys.
        beside: What passed beside them, such as lists of models: no page shows it, and no answer has to go for it.
    """

    def __init__(self, report: Callable[[AnswerFacts], object], record: Watch) -> None:
        self.answers = LastAnswers()
        self.beside = LastAnswers(_FEW, _LARGEST_JUDGED)
        self._report = report
        self._record = record
        self._judging: set[asyncio.Task[None]] = set()
        self._process = JudgingProcess()

    async def open(self) -> None:
        """Starts what judges."""
        await self._process.start()

    def watch(self, request: ForwardedRequest) -> _Watcher:
        """What sees an exchange."""
        return _Watcher(self, request, self._record(request))

    async def close(self) -> None:
        """Waits until all that is over was reported."""
        await asyncio.gather(*self._judging, return_exceptions=True)
        await self._process.close()

    def judge(self, seen: _Watcher, facts: AnswerFacts) -> None:
        """Reports an exchange that is over, once it is judged."""
        task = asyncio.get_running_loop().create_task(self._judge(seen, facts))
        self._judging.add(task)
        task.add_done_callback(self._judging.discard)

    async def _judge(self, seen: _Watcher, facts: AnswerFacts) -> None:
        exchange = None if facts.bytes > _LARGEST_JUDGED else seen.recorded()
        judged = None if exchange is None else await self._process.judge(exchange)
        told = facts
        if judged is not None:
            error = facts.error if judged["error"] is None else seen.redacted(judged["error"])
            told = replace(facts, **{**judged, "error": error})
        seen.answer.end(told.outcome or _OUTCOMES.get(facts.ending, "completed"))
        self._report(told)


class _Watcher:
    """Shows one exchange to the watcher of the file, and puts it into the memory, which lets the oldest go."""

    def __init__(self, owner: SeenAnswers, request: ForwardedRequest, file: ExchangeWatcher) -> None:
        self._owner = owner
        self._file = file
        self._request = request
        self._bytes = 0
        self._status: int | None = None
        kept_in = owner.answers if request.method == _ASKED_WITH else owner.beside
        self.answer = kept_in.begin("record", model_asked(request))
        kept = CapturedRequest(
            request.method,
            request.path,
            query_without_secrets(request.query),
            without_secrets_by_name(text_fields(request.headers)),
            request.body,
        )
        self._exchange = self.answer.exchange(None, kept, lambda: redactor_of_request(request))

    @property
    def is_behind(self) -> bool:
        return self._file.is_behind

    async def caught_up(self) -> None:
        await self._file.caught_up()

    def recorded(self) -> RecordedExchange | None:
        """The exchange as its bytes came; None where the memory has let it go, or a part of it."""
        exchange = self._exchange
        if exchange.end is None or self.answer.is_dropped or exchange.left_out_bytes:
            return None
        chunks = tuple(Chunk(at, content) for _, at, content in self.answer.entries if isinstance(content, bytes))
        request = exchange.request
        asked = RecordedRequest(request.method, request.path, request.query, request.headers, request.body)
        return RecordedExchange(1, 1, exchange.protocol, None, asked, exchange.head, chunks, exchange.end)

    def redacted(self, text: str) -> str:
        """A text without the keys of the request."""
        return self._exchange.redactor().redact(text)

    def sending(self, at: int) -> None:
        self._file.sending(at)
        self._exchange.sending()

    def sent(self, at: int) -> None:
        self._file.sent(at)
        self._exchange.was_sent()

    def head(self, at: int, status: int, reason: str, headers: HeaderFields) -> None:
        self._file.head(at, status, reason, headers)
        self._status = status
        self._exchange.responded(status, reason, text_fields(headers))

    def chunk(self, at: int, data: bytes) -> None:
        self._file.chunk(at, data)
        self._bytes += len(data)
        self._exchange.chunk(data)

    def end(self, at: int, how: HowEnded, error: Exception | None) -> None:
        self._file.end(at, how, error)
        self._exchange.ended(how, error)
        request = self._request
        seconds = (time.monotonic_ns() - request.at) / 1e9
        said = None if error is None else str(error)
        facts = AnswerFacts(
            request.number, request.method, request.path, self._status, how, seconds, self._bytes, error=said
        )
        self._owner.judge(self, facts)


# ---- The session ----


class RecordingSession:
    """Records inside its `async with` block; the file is written at its end.

    It listens on a port, 0 for any free one. `on_answer` is called with the facts of each exchange that is over,
    `on_failure` when a file cannot be written. `recordings` are the files.

    Raises:
        OSError: The file cannot be made.
        ConnectionSetupError: At the beginning of the block: the proxy or the certificates are unusable.
    """

    def __init__(
        self,
        configuration: GatewayConfiguration,
        file: Path,
        port: int,
        on_answer: Callable[[AnswerFacts], object],
        on_failure: Callable[[Exception], object],
    ) -> None:
        self.recordings = Recordings(file, on_failure)
        self._seen = SeenAnswers(on_answer, self.recordings.watch)
        self._proxy = RecordingProxy(configuration, self._seen.watch, port)
        self._socket = CaptureSocket(self._seen.answers, "record")

    @property
    def base_url(self) -> str:
        """What replaces the server's base URL."""
        return self._proxy.base_url

    async def __aenter__(self) -> RecordingSession:
        await self._seen.open()
        # What is loaded now stays: a full collection would look at all of it, and hold up every answer for that long.
        gc.freeze()
        try:
            await self._proxy.__aenter__()
        except BaseException:
            await self._seen.close()
            await self.recordings.close()
            raise
        await self._socket.open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            await self._socket.aclose()
            await self._proxy.__aexit__(kind, error, traceback)
        finally:
            await self._seen.close()
            await self.recordings.close()
