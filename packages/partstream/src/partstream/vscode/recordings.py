"""What the sidecar keeps and shows of its answers, if the package that does so is installed.

The package adds a class: a :class:`Recordings` for each connection. Without it, nothing is kept, and a request for a
recording is refused with the line that installs the package. The extension carries it.
"""

from __future__ import annotations
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Final, NamedTuple, NoReturn

from partstream.plugins import SIDECAR, MissingPackageError, find

if TYPE_CHECKING:
    from partstream.pages.document import ContentPolicy
    from partstream.upstream.context import AnswerTap
    from partstream.vscode import rpc_types as wire


_PACKAGE: Final = "partstream-devtools"


class SharePreview(NamedTuple):
    """What a file to share will hold, in words, and the forms that it may have."""

    text: str
    forms: list[wire.ShareForm]


class Recordings:
    """The recordings of one connection; made with what redacts a text, and what takes each finished recording.

    Without the package, nothing is kept, and an error for who asks for a recording names what is missing.
    """

    @property
    def is_off(self) -> bool:
        """Whether a setting wants no answer to be kept."""
        return True

    def begin(self, vscode_version: str) -> None:
        """Lets other programs of the user ask for the answers."""

    def capture(self, model: str, *, is_of_chat: bool) -> AbstractContextManager[AnswerTap | None]:
        """Shows what runs inside to a tap as an answer, whose end the caller reports; None keeps none. One that belongs
        to no conversation, such as for a title, is not `is_of_chat`."""
        return nullcontext()

    def record_next(self, *, is_on: bool) -> None:
        """Has the next answer recorded, or calls that off."""
        if is_on:
            _refuse()

    async def page(self, path: str | None, policy: ContentPolicy) -> str | None:
        """The page of a recording, or of the last answer in memory; None where there is no answer.

        Raises:
            InvalidParamsError: The file is no recording.
        """
        _refuse()

    async def preview(self, path: str | None, *, is_last: bool = False) -> SharePreview | None:
        """What a file to share will hold; None where the last answer is asked for and none is in memory.

        Args:
            path: Its recording, or None for an answer in memory.
            is_last: Whether that is the last answer as it is now, and not the inspected one.

        Raises:
            InvalidParamsError: The file is no recording, or no answer was inspected.
        """
        _refuse()

    async def shared(self, path: str | None, name: str, *, is_last: bool = False) -> bytes:
        """The file to share, in the form that the ending of its name says; arguments and errors as of `preview`."""
        _refuse()

    async def aclose(self) -> None:
        """Ends what is open, and waits until recordings are written."""


def _refuse() -> NoReturn:
    raise MissingPackageError("a recording", _PACKAGE)


def open_recordings(redact: Callable[[str], str], on_recorded: Callable[[wire.DidRecordParams], object]) -> Recordings:
    """The recordings of a connection; `on_recorded` is called with each that was asked for."""
    make: Callable[..., Recordings] | None = find(SIDECAR, "recordings")
    return Recordings() if make is None else make(redact, on_recorded)
