"""What `chat` and `serve` keep of their answers, if the package that keeps them is installed.

The package adds a :class:`ChatCaptures` for each chat and a context manager for each application of `serve`. Without
it, nothing is kept, and `--record` says which line installs it.
"""

from __future__ import annotations
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Final, TypeAlias

import click

from partstream.plugins import CAPTURES, MissingPackageError, find

if TYPE_CHECKING:
    from partstream.server.application import ServingApp
    from partstream.upstream.context import AnswerTap

Say: TypeAlias = "Callable[[str, str], object]"
"""Says something beside the answers, in a style."""

KEPT: Final = ""
"""Instead of a file: the recording goes to the folder of recordings."""

_PACKAGE: Final = "partstream-devtools"


class ChatCaptures:
    """What is kept of the answers of one chat; without the package, nothing."""

    def capture(self, model: str) -> AbstractContextManager[AnswerTap | None]:
        """Shows what runs inside to a tap as an answer of that model, whose end the caller reports; None keeps none."""
        return nullcontext()

    def capture_socket(self) -> AbstractContextManager[None]:
        """Lets other programs of the user ask for the answers while the block runs."""
        return nullcontext()

    def inspect(self, say: Say) -> None:
        """Shows the last answer."""
        say(str(MissingPackageError("/inspect", _PACKAGE)), "yellow")

    def write(self, say: Say) -> None:
        """Writes the recording, if one is wanted, and says where it is."""


def chat_captures(file: str | None) -> ChatCaptures:
    """The captures of a chat.

    Args:
        file: The file of the recording; :data:`KEPT` for one in the folder of recordings, None for no recording.

    Raises:
        UsageError: The recording cannot be written there, or its package is missing.
    """
    make: Callable[[str | None], ChatCaptures] | None = find(CAPTURES, "chat")
    if make is not None:
        return make(file)
    if file is not None:
        raise click.UsageError(str(MissingPackageError("--record", _PACKAGE)))
    return ChatCaptures()


def serve_captures(application: ServingApp) -> AbstractAsyncContextManager[None]:
    """Keeps the last answers of an application while the block runs."""
    keep: Callable[[ServingApp], AbstractAsyncContextManager[None]] | None = find(CAPTURES, "serve")
    return nullcontext() if keep is None else keep(application)
