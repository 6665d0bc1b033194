"""Shows the files of an answer: a chat of VS Code shows no data part, so a line of text links to each file.

VS Code shows an answer of data alone as "no response was returned" (docs/wires/vscode.md#responses-without-text).
:mod:`partstream.hosts.vscode.restored_files` reads the lines again.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from partstream.lm.parts import DataPart, TextPart
from partstream.lm.provider import WaitingProgress
from partstream.runtime.answer_files import NotKeptError, described, is_file

if TYPE_CHECKING:
    from partstream.lm.parts import ResponsePart
    from partstream.lm.provider import DrainingProgress
    from partstream.runtime.answer_files import KeptFiles

__all__ = ["ShownFiles"]

_logger = logging.getLogger("partstream.files")

_BLANK_LINE: Final = "\n\n"


class ShownFiles:
    """A progress that hands on everything, and a line with a link behind each file.

    Args:
        progress: Takes the parts.
        files: Keeps the files.
    """

    __slots__ = ("_files", "_is_begun", "_progress")

    def __init__(self, progress: DrainingProgress, files: KeptFiles) -> None:
        self._progress = progress
        self._files = files
        self._is_begun = False  # whether there is text that no blank line follows yet

    def report(self, part: ResponsePart) -> None:
        """Hands on a part."""
        self._progress.report(part)
        if isinstance(part, TextPart):
            self._is_begun = True
        elif isinstance(part, DataPart) and is_file(part):
            before = _BLANK_LINE if self._is_begun else ""
            self._progress.report(TextPart(f"{before}{self._line(part)}{_BLANK_LINE}"))
            self._is_begun = False

    def _line(self, part: DataPart) -> str:
        try:
            return self._files.keep(part).link
        except NotKeptError as error:
            _logger.warning("a file of an answer (%s) was not kept: %s", described(part), error)
            return f"*A file ({described(part)}) could not be kept: {error}.*"

    async def drain(self) -> None:
        """Waits for a slow reader."""
        await self._progress.drain()

    def wait(self, reason: str, seconds: float) -> None:
        """Tells why the answer does not begin yet."""
        if isinstance(self._progress, WaitingProgress):
            self._progress.wait(reason, seconds)
