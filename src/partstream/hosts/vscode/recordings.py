"""The last answers of the sidecar in memory, and those that somebody wants recorded as files."""

from __future__ import annotations

import asyncio
import logging
from contextlib import contextmanager
from typing import TYPE_CHECKING, cast

from partstream.devtools.capturing.last_answers import LastAnswers, NextAnswers
from partstream.upstream.configuration import is_off_here
from partstream.vscode.failures import run_in_thread

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator, Sequence

    from partstream.bundles.exchange import Bundle
    from partstream.devtools.capturing.capture import AnswerCapture
    from partstream.devtools.capturing.door import CaptureSocket
    from partstream.vscode import rpc_types as wire

__all__ = ["HostRecordings"]

_logger = logging.getLogger("partstream.hosts.vscode")

_SOURCE = "vscode"
_BY_ITSELF = "vscode by itself"


class HostRecordings:
    """Captures the answers of one connection.

    Args:
        redact: Removes the secrets of all groups from a text.
        on_recorded: Told of each recording that was asked for.
    """

    def __init__(self, redact: Callable[[str], str], on_recorded: Callable[[wire.DidRecordParams], object]) -> None:
        self._answers = LastAnswers(redact=redact)
        self._next = NextAnswers(self._answers, self._recorded)
        self._on_recorded = on_recorded
        self._versions: dict[str, str] = {}
        self._door: CaptureSocket | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    def begin(self, vscode_version: str) -> None:
        """Lets other programs of the user ask for the answers.

        Args:
            vscode_version: The version of VS Code.
        """
        self._versions = {"vscode": vscode_version}
        self._start(self._open_door())

    @property
    def is_off(self) -> bool:
        """Whether a setting wants no answer to be kept."""
        return is_off_here()

    @contextmanager
    def capture(self, model: str, *, is_of_chat: bool) -> Iterator[AnswerCapture]:
        """Captures what runs inside as an answer, whose end the caller says.

        Args:
            model: The model that answers.
            is_of_chat: Whether it belongs to a conversation; otherwise VS Code asks by itself, such as for a title.
        """
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

    async def last_bundle(self) -> Bundle | None:
        """The last answer without keys, as it is now; None where there is none."""
        answer = self._newest()
        return None if answer is None else await self._bundle([answer])

    async def aclose(self) -> None:
        """Closes the door, and waits until recordings are written."""
        if self._door is not None:
            await self._door.aclose()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _newest(self) -> AnswerCapture | None:
        """The answer that a person means by the last one: of a conversation, if there is any."""
        of_chats = (answer for answer in reversed(self._answers.answers) if answer.host == _SOURCE)
        return next(of_chats, self._answers.newest)

    async def _open_door(self) -> None:
        from partstream.devtools.capturing.door import CaptureSocket  # noqa: PLC0415 - not before the connection is open

        self._door = CaptureSocket(self._answers, _SOURCE, self._versions)
        await self._door.open()

    def _recorded(self, answers: Sequence[AnswerCapture]) -> None:
        self._start(self._tell(answers))

    async def _tell(self, answers: Sequence[AnswerCapture]) -> None:
        try:
            self._on_recorded({"recording": await self._write(answers), "problem": None})
        except OSError as error:
            said = f"the recording could not be written: {error.strerror or type(error).__name__}"
            self._on_recorded({"recording": None, "problem": said})
        except Exception as error:
            _logger.exception("the recording of an answer could not be made")
            self._on_recorded({"recording": None, "problem": f"the recording failed with {type(error).__name__}"})

    async def _bundle(self, answers: Sequence[AnswerCapture]) -> Bundle:
        from partstream.devtools.capturing.bundling import redacted_bundle, snapshot_of  # noqa: PLC0415 - at somebody's wish

        snapshot, versions = snapshot_of(answers), self._versions
        return await run_in_thread(lambda: redacted_bundle(snapshot, _SOURCE, versions), "partstream-recording")

    async def _write(self, answers: Sequence[AnswerCapture]) -> wire.RecordedFile:
        last = answers[-1]
        bundle = await self._bundle(answers)
        path = await run_in_thread(lambda: _written(bundle, last.model), "partstream-recording")
        outcome = cast("wire.AnswerOutcome | None", last.outcome)
        return {"path": path, "model": last.model, "outcome": outcome, "answers": len(answers)}

    def _start(self, work: Coroutine[object, object, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _written(bundle: Bundle, model: str | None) -> str:
    from partstream.bundles.writing import write_bundle  # noqa: PLC0415 - at somebody's wish
    from partstream.devtools.capturing.bundling import KeptRecordings  # noqa: PLC0415 - the same

    return str(KeptRecordings().write(write_bundle(bundle), model or ""))
