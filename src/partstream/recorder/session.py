"""One run of the recorder: the proxy, the file, the memory, and the door to it, put together."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

from partstream.devtools.capturing.door import CaptureSocket
from partstream.devtools.recorder.files import Recordings
from partstream.devtools.recorder.proxy import RecordingProxy, SeveralWatchers
from partstream.recorder.seen_answers import SeenAnswers

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from types import TracebackType

    from partstream.devtools.recorder.proxy import ExchangeWatcher, ForwardedRequest
    from partstream.recorder.seen_answers import AnswerFacts
    from partstream.upstream.configuration import GatewayConfiguration

__all__ = ["RecordingSession"]


class RecordingSession:
    """Records inside its `async with` block; the file is written at its end.

    Args:
        configuration: The server.
        file: The file to write.
        port: The port to listen on; 0 for any free port.
        on_answer: Called with the facts of each exchange that is over.
        on_failure: Called when a file cannot be written.

    Raises:
        OSError: The file cannot be made.
        ConnectionSetupError: At the beginning of the block: the proxy or the certificates are of no use.
    """

    def __init__(
        self,
        configuration: GatewayConfiguration,
        file: Path,
        port: int,
        on_answer: Callable[[AnswerFacts], object],
        on_failure: Callable[[Exception], object],
    ) -> None:
        self._recordings = Recordings(file, on_failure)
        self._seen = SeenAnswers(on_answer)
        self._proxy = RecordingProxy(configuration, self._watch, port)
        self._door = CaptureSocket(self._seen.answers, "record")

    @property
    def base_url(self) -> str:
        """What stands in the place of the server's base URL."""
        return self._proxy.base_url

    @property
    def part(self) -> Path:
        """The file that grows."""
        return self._recordings.growing

    @property
    def files(self) -> list[Path]:
        """The files that were written."""
        return self._recordings.files

    @property
    def left(self) -> dict[Path, Exception]:
        """Recordings that could not be finished, as they have grown, and why."""
        return self._recordings.left

    async def __aenter__(self) -> RecordingSession:
        await self._seen.open()
        # What is loaded now stays: a full collection would look at all of it, and hold up every answer for that long.
        gc.freeze()
        try:
            await self._proxy.__aenter__()
        except BaseException:
            await self._seen.close()
            await self._recordings.close()
            raise
        await self._door.open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            await self._door.aclose()
            await self._proxy.__aexit__(kind, error, traceback)
        finally:
            await self._seen.close()
            await self._recordings.close()

    def _watch(self, request: ForwardedRequest) -> ExchangeWatcher:
        return SeveralWatchers((self._recordings.watch(request), self._seen.watch(request)))
