"""The recordings of the sidecar: the last answers in memory, those recorded as files, and what the extension shows.

:class:`SidecarRecordings` captures the answers of one connection, opens the capture socket through which other programs
of the user read them, and writes the next answer into a file when a person asks for that. It makes of a recording a
page for a webview, a preview of what a file to share will hold, and that file, without keys and texts. The work is done
in a thread, and its modules are imported at the first wish: the sidecar starts without them.
"""

from __future__ import annotations
import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

from partstream.codec.system import read_given
from partstream.codec.text import counted
from partstream.errors import UnexpectedValueError
from partstream.upstream.context import is_off_here, run_in_thread
from partstream.vscode.methods import InvalidParamsError
from partstream.vscode.recordings import SharePreview
from partstream_devtools.capturing.capture import LastAnswers, NextAnswers

if TYPE_CHECKING:
    from partstream.pages.document import ContentPolicy
    from partstream.vscode import rpc_types as wire
    from partstream_devtools.bundles.exchange import Bundle, RecordedExchange
    from partstream_devtools.capturing.capture import AnswerCapture
    from partstream_devtools.capturing.capture_socket import CaptureSocket

_logger = logging.getLogger("partstream.hosts.vscode")

_THREAD: Final = "partstream-recording"
_SOURCE = "vscode"
_BY_ITSELF = "vscode by itself"
_LAST: Final = "last answer"


class SidecarRecordings:
    """Captures the answers of one connection, as :class:`partstream.vscode.recordings.Recordings`.

    Args:
        redact: Removes the secrets of all groups from a text.
        on_recorded: Called with each recording that was asked for.
    """

    def __init__(self, redact: Callable[[str], str], on_recorded: Callable[[wire.DidRecordParams], object]) -> None:
        self._answers = LastAnswers(redact=redact)
        self._next = NextAnswers(self._answers, lambda answers: self._start(self._tell(answers)))
        self._on_recorded = on_recorded
        self._versions: dict[str, str] = {}
        self._socket: CaptureSocket | None = None
        self._inspected: Bundle | None = None
        self._previewed: Bundle | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    def begin(self, vscode_version: str) -> None:
        """See :meth:`partstream.vscode.recordings.Recordings.begin`."""
        self._versions = {"vscode": vscode_version}
        self._start(self._open_door())

    @property
    def is_off(self) -> bool:
        """Whether a setting wants no answer to be kept."""
        return is_off_here()

    @contextmanager
    def capture(self, model: str, *, is_of_chat: bool) -> Iterator[AnswerCapture]:
        """See :meth:`partstream.vscode.recordings.Recordings.capture`."""
        with self._answers.capture(_SOURCE if is_of_chat else _BY_ITSELF, model) as answer:
            if is_off_here():
                answer.leave_out()
            yield answer

    def record_next(self, *, is_on: bool) -> None:
        """Has the next answer recorded, or calls that off."""
        if is_on:
            self._next.arm()
        else:
            self._next.disarm()

    async def page(self, path: str | None, policy: ContentPolicy) -> str | None:
        """See :meth:`partstream.vscode.recordings.Recordings.page`."""
        earlier: tuple[RecordedExchange, ...] = ()
        if path is None:
            if (last := self._last()) is None:
                self._inspected = None
                return None
            of_host = [one for one in self._answers.answers if one.host == last.host and one.number < last.number]
            # Of one redaction, so that they can be compared.
            whole = await self._redacted([*of_host[-_EARLIER:], last])
            self._inspected, earlier = whole.last_alone()
        bundle = await self._bundle(path)
        name = _LAST if path is None else Path(path).name
        return await run_in_thread(lambda: _page(bundle, name, policy, earlier), _THREAD)

    async def preview(self, path: str | None, *, is_last: bool = False) -> SharePreview | None:
        """See :meth:`partstream.vscode.recordings.Recordings.preview`."""
        if path is None and is_last:
            if (last := self._last()) is None:
                self._previewed = None
                return None
            self._previewed = await self._redacted([last])
        bundle = await self._bundle(path, is_last=is_last)
        return await run_in_thread(lambda: _preview(bundle), _THREAD)

    async def shared(self, path: str | None, name: str, *, is_last: bool = False) -> bytes:
        """See :meth:`partstream.vscode.recordings.Recordings.shared`."""
        bundle = await self._bundle(path, is_last=is_last)
        return await run_in_thread(lambda: _shared(bundle, name), _THREAD)

    async def aclose(self) -> None:
        """Waits until recordings are written, and closes the capture socket."""
        await asyncio.gather(*self._tasks, return_exceptions=True)  # among them the one that opens the socket
        if self._socket is not None:
            await self._socket.aclose()

    async def _bundle(self, path: str | None, *, is_last: bool = False) -> Bundle:
        if path is not None:
            return await run_in_thread(lambda: _read(path), _THREAD)
        chosen, what = (self._previewed, "previewed") if is_last else (self._inspected, "inspected")
        if chosen is None:
            raise InvalidParamsError("params.path", "null", f"a recording, since no answer was {what}")
        return chosen

    def _last(self) -> AnswerCapture | None:
        """The last answer; a person means that of a conversation, if there is any."""
        of_chats = (answer for answer in reversed(self._answers.answers) if answer.host == _SOURCE)
        return next(of_chats, self._answers.newest)

    async def _open_door(self) -> None:
        from partstream_devtools.capturing.capture_socket import CaptureSocket  # noqa: PLC0415 - not before the connection is open

        self._socket = CaptureSocket(self._answers, _SOURCE, self._versions)
        await self._socket.open()

    async def _tell(self, answers: Sequence[AnswerCapture]) -> None:
        try:
            self._on_recorded({"recording": await self._write(answers), "problem": None})
        except OSError as error:
            said = f"the recording could not be written: {error.strerror or type(error).__name__}"
            self._on_recorded({"recording": None, "problem": said})
        except Exception as error:
            _logger.exception("the recording of an answer could not be made")
            self._on_recorded({"recording": None, "problem": f"the recording failed with {type(error).__name__}"})

    async def _redacted(self, answers: Sequence[AnswerCapture]) -> Bundle:
        from partstream_devtools.capturing.bundling import redacted_bundle, snapshot_of  # noqa: PLC0415 - at a person's wish

        snapshot, versions = snapshot_of(answers), self._versions
        return await run_in_thread(lambda: redacted_bundle(snapshot, _SOURCE, versions), _THREAD)

    async def _write(self, answers: Sequence[AnswerCapture]) -> wire.RecordedFile:
        last = answers[-1]
        bundle = await self._redacted(answers)
        path = await run_in_thread(lambda: _written(bundle, last.model), _THREAD)
        outcome = cast("wire.AnswerOutcome | None", last.outcome)
        return {"path": path, "model": last.model, "outcome": outcome, "answers": len(answers)}

    def _start(self, work: Coroutine[object, object, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _written(bundle: Bundle, model: str | None) -> str:
    from partstream_devtools.bundles.archive import write_bundle  # noqa: PLC0415 - at a person's wish
    from partstream_devtools.capturing.bundling import RecordingFolder  # noqa: PLC0415 - the same

    return str(RecordingFolder().write(write_bundle(bundle), model or ""))


# ---- What the extension shows and shares ----


def _read(path: str) -> Bundle:
    from partstream_devtools.bundles.forms import read_any  # noqa: PLC0415 - at a person's wish
    from partstream_devtools.recorded_stream import MOST_FILE_BYTES  # noqa: PLC0415 - the same

    try:
        data = read_given(Path(path), MOST_FILE_BYTES + 1)
        if len(data) > MOST_FILE_BYTES:
            raise InvalidParamsError("params.path", f"more than {MOST_FILE_BYTES:,} bytes", "a recording")
        return read_any(data, path)
    except OSError as error:
        raise InvalidParamsError("params.path", error.strerror or type(error).__name__, "a recording") from error
    except UnexpectedValueError as error:
        raise InvalidParamsError("params.path", str(error), "a recording") from error


_EARLIER: Final = 3
"""A conversation of an agent has few requests of other conversations between its own."""


def _page(bundle: Bundle, name: str, policy: ContentPolicy, earlier: tuple[RecordedExchange, ...]) -> str:
    from partstream_devtools.inspector.cache import prices_of_settings  # noqa: PLC0415 - at a person's wish
    from partstream_devtools.inspector.page.assembly import page_html  # noqa: PLC0415 - the same
    from partstream_devtools.inspector.view import ViewedFile, view_of  # noqa: PLC0415 - the same

    file = ViewedFile(name, "bundle", bundle, earlier=earlier)
    return page_html(view_of([file], prices=prices_of_settings()), policy)


def _shared(bundle: Bundle, name: str) -> bytes:
    from partstream_devtools.inspector.sharing import shared_bytes  # noqa: PLC0415 - the same
    from partstream_devtools.redaction.redacting import redact  # noqa: PLC0415 - at a person's wish

    try:
        return shared_bytes(redact(bundle)[0], name)
    except UnexpectedValueError as error:
        raise InvalidParamsError("params.name", name, str(error)) from error


def _preview(bundle: Bundle) -> SharePreview:
    from partstream_devtools.inspector.sharing import SHARED_FORMS, preview_lines  # noqa: PLC0415 - the same
    from partstream_devtools.redaction.redacting import redact  # noqa: PLC0415 - at a person's wish

    _, report = redact(bundle)
    forms: list[wire.ShareForm] = [
        {"name": name, "endings": [ending.removeprefix(".") for ending in endings]}
        for name, endings in SHARED_FORMS.items()
    ]
    size = sum(len(exchange.body) for exchange in bundle.exchanges)
    counts = f"{counted(len(bundle.answers), 'answer')}, {counted(len(bundle.exchanges), 'request')}, {size:,} bytes."
    kept = "Keys, ids and everything that people, models and tools wrote are replaced; lengths, order and times stay."
    return SharePreview("\n".join((counts, kept, "", *preview_lines(report))), forms)
