"""The answers of a chat and of `partstream serve`, captured as they come.

The last answers of a chat are in memory, for `/inspect` and, through a capture socket, for other programs of the user;
with `--record` all of them go into a file at the end. `partstream serve` has the last answers and the capture socket
alone. A setting can say that no answer is kept.
"""

from __future__ import annotations
import errno
import os
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Final

from partstream.cli.program import program
from partstream.codec.system import replace_file
from partstream.upstream.context import is_off_here
from partstream_devtools.capturing.capture import LastAnswers
from partstream_devtools.capturing.capture_socket import CaptureSocket, CaptureSocketThread

if TYPE_CHECKING:
    from partstream.cli.captures import Say
    from partstream.server.application import ServingApp
    from partstream_devtools.bundles.exchange import Bundle
    from partstream_devtools.capturing.capture import AnswerCapture

_SOURCE: Final = "chat"
_STYLE: Final = "dim"
_MOST_RECORDED: Final = 1_000
_MOST_RECORDED_BYTES: Final = 200 * 1024 * 1024
_MOST_RECORDED_OF_ONE: Final = 64 * 1024 * 1024


class ChatCaptures:
    """Captures the answers of one chat, as a :class:`partstream.cli.captures.ChatCaptures`.

    Args:
        file: The file of the recording; :data:`~partstream.cli.captures.KEPT` for one in the folder of recordings,
            None for no recording.

    Raises:
        UsageError: The file exists already, or its name has the ending of no form that can be written.
    """

    def __init__(self, file: str | None = None) -> None:
        if file:
            from partstream_devtools.recordings import check_new_file  # noqa: PLC0415 - for recordings alone

            check_new_file("--record", Path(file), ", or the prompt before --record")
        self._file = file
        self._answers = (
            LastAnswers() if file is None else LastAnswers(_MOST_RECORDED, _MOST_RECORDED_BYTES, _MOST_RECORDED_OF_ONE)
        )
        self._is_kept = file is not None or not is_off_here()

    @contextmanager
    def capture(self, model: str) -> Iterator[AnswerCapture]:
        """Captures what runs inside as an answer of that model, whose end the caller says."""
        with self._answers.capture(_SOURCE, model) as answer:
            answer.is_wanted = self._file is not None
            if not self._is_kept:
                answer.leave_out()
            yield answer
        answer.is_wanted = False

    def capture_socket(self) -> AbstractContextManager[object]:
        """Lets other programs of the user ask for the answers while the block runs."""
        return CaptureSocketThread(CaptureSocket(self._answers, _SOURCE)) if self._is_kept else nullcontext()

    def inspect(self, say: Say) -> None:
        """Shows the last answer: as a page in the browser where there is one, else as a summary."""
        bundle = self._bundle(all_answers=False)
        if bundle is None:
            say(
                "No answer is kept yet." if self._is_kept else "A setting turns off the recording of answers.", "yellow"
            )
            return
        from partstream.cli.console import can_open_browser  # noqa: PLC0415 - `serve` does without rich
        from partstream_devtools.commands_inspect import page_beside, print_view  # noqa: PLC0415 - at a person's wish
        from partstream_devtools.inspector.view import ViewedFile  # noqa: PLC0415

        files = [ViewedFile("the last answer", _SOURCE, bundle)]
        if not can_open_browser():
            print_view(files)
            return
        threading.Thread(
            target=page_beside, args=(files, lambda text: say(text, _STYLE)), name="partstream-page", daemon=True
        ).start()

    def write(self, say: Say) -> None:
        """Writes the recording, if one is wanted, and says where it is."""
        if self._file is None:
            return
        bundle = self._bundle(all_answers=True)
        if bundle is None:
            say("Nothing was recorded: there was no answer.", "yellow")
            return
        try:
            path = self._written(bundle)
        except OSError as error:
            say(f"The recording could not be written: {error.strerror or type(error).__name__}.", "red")
            return
        say(f"The recording is in {path}: it holds no keys, but the texts of people and models.", _STYLE)
        say(f"Inspect it: {program()} inspect {path}. Share it: {program()} share {path} OUT.", _STYLE)

    def _written(self, bundle: Bundle) -> Path:
        from partstream_devtools.bundles.archive import write_bundle  # noqa: PLC0415
        from partstream_devtools.bundles.forms import write_as  # noqa: PLC0415 - for recordings alone
        from partstream_devtools.capturing.bundling import RecordingFolder  # noqa: PLC0415

        if not self._file:
            return RecordingFolder().write(write_bundle(bundle), bundle.answers[-1].model or "")
        path = Path(self._file)

        def check(_written: Path) -> None:
            if os.path.lexists(path):
                raise FileExistsError(errno.EEXIST, "another file has come there meanwhile")

        replace_file(path, write_as(bundle, path.name), check)
        return path

    def _bundle(self, *, all_answers: bool) -> Bundle | None:
        from partstream_devtools.capturing.bundling import redacted_bundle, snapshot_of  # noqa: PLC0415 - at a person's wish

        answers = self._answers.answers
        return redacted_bundle(snapshot_of(answers if all_answers else answers[-1:]), _SOURCE) if answers else None


@asynccontextmanager
async def captured_answers(application: ServingApp) -> AsyncIterator[None]:
    """Keeps the last answers of an application, and lets other programs of the user ask for them."""
    if is_off_here():
        yield
        return
    answers = LastAnswers()
    application.taps = answers
    capture_socket = CaptureSocket(answers, "serve")
    await capture_socket.open()
    try:
        yield
    finally:
        await capture_socket.aclose()
